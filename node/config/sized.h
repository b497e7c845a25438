/* sized.h - structs of the interface may grow; programs need not be compiled again.
 *
 * What a struct of moot.h and its companions gains in a later release stands behind its
 * last field, so what a program was compiled with begins like what the library has.
 *
 * A struct that a program fills says in its first field, `size`, how much of it there
 * is; 0 is as much as the first release of this ABI (libmoot.so.0) had, so that an
 * initialiser that leaves it out means the same for ever.  The library takes what a
 * shorter one lacks as zero, which is every field's default.  One that is longer than
 * its own it takes if it is zero there: a program of a later release that makes no use
 * of what came with it.  Anything else it refuses.
 *
 * A struct that the library fills in the program's memory need not be initialised, so
 * it cannot say its size; the call does (a macro adds sizeof).  It gets so much, and
 * zeros where the program knows more.  What the library shows in its own memory, to
 * watches and listings, needs neither.
 *
 * Handles, moot_hash, moot_access, moot_ranks and moot_place never grow.
 */
#ifndef NODE_CONFIG_SIZED_H
#define NODE_CONFIG_SIZED_H

#include "node/api/moot.h"
#include "node/api/moot_array.h"
#include "node/api/moot_reference.h"

#include <assert.h>

/* Why such a struct is refused, and what to do: of one that a program fills; of one
 * that it is given; `call` is the macro's name. */
#define SIZED_REFUSAL(type)                                                            \
    "no release has a " #type " of this .size, or it sets a field that this library "  \
    "lacks: set .size to sizeof(" #type ") or 0"
#define SIZED_REFUSAL_OUT(type)                                                        \
    "no release has a " #type " of this size: give sizeof(" #type ")"

/* Where a struct ends whose last field is this.  If there were padding behind the last,
 * two releases could have one size. */
#define SIZED_END(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define SIZED_FULL(type, last)                                                         \
    static_assert(SIZED_END(type, last) == sizeof(type), #type " ends with a field")

/* What remains to be done where the sizes differ: writes to `room`, of `own` bytes,
 * what `given`, of `size`, is here, and returns it; NULL if it is refused. */
const void *sized_copy(const void *given, size_t size, size_t least, void *room,
                       size_t own);

/* Defines sized_NAME(given, room), which returns what `given` is here, itself or in
 * `room`; NULL if it is refused.  `first` and `last`: the last fields of the first
 * release, and of this. */
#define SIZED_TAKE(name, type, first, last)                                            \
    SIZED_FULL(type, last);                                                            \
    static_assert(offsetof(type, size) == 0, #type " begins with its size");           \
    static inline const type *sized_##name(const type *given, type *room)              \
    {                                                                                  \
        const size_t least = SIZED_END(type, first);                                   \
        const size_t size = given->size != 0 ? given->size : least;                    \
        return size == sizeof(type)                                                    \
                   ? given                                                             \
                   : sized_copy(given, size, least, room, sizeof(type));               \
    }

SIZED_TAKE(options, moot_options, knobs, knobs)
SIZED_TAKE(kernel, moot_kernel, retry_backoff, retry_backoff)
SIZED_TAKE(spec, moot_task_spec, label, beside)
SIZED_TAKE(map, moot_map, user, user)
SIZED_TAKE(array, moot_array_spec, beside, beside)
SIZED_TAKE(custom, moot_queue_custom, user, user)
SIZED_TAKE(filter, moot_task_filter, label_prefix, label_prefix)
SIZED_TAKE(watch, moot_watch, user, user)
SIZED_TAKE(session, moot_session_options, leave, grow)
SIZED_TAKE(data, moot_data_options, user, user)
SIZED_TAKE(checkpoint, moot_checkpoint_options, timeout, timeout)

/* What the call says is at least what the first release had. */
#define SIZED_ADMITS(size, type, first) ((size) >= SIZED_END(type, first))
SIZED_FULL(moot_task_info, code_rank);
SIZED_FULL(moot_stats, elements_taken);
SIZED_FULL(moot_session_info, process);
SIZED_FULL(moot_pset_info, size);
SIZED_FULL(moot_ticket_view, site);

/* Gives out `size` bytes of what is `own` here. */
void sized_give(void *out, size_t size, const void *full, size_t own);

#endif
