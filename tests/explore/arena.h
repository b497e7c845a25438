/* arena.h - the memory of a world: put aside, taken back, and told apart.
 *
 * The explorer runs the real core, which keeps its state in memory that it allocates.
 * Between arena_enter() and arena_leave() every allocation of the process comes from
 * one piece of memory at a fixed place.  So a whole world, cores and messages and all,
 * is put aside by copying that piece (arena_save), and taken back by copying it again
 * (arena_restore): pointers stay right.
 *
 * arena_digest() tells states apart.  It goes from the root along every pointer, names
 * a block by when it first came to it, and digests what the blocks hold.  Where a block
 * lies does not count, nor what is not reached any more, so two orders of events that
 * lead to the same state have the same digest.  A word is taken for a pointer if it
 * points into a block of the arena; nothing else in a core looks like the place that
 * the arena has.
 *
 * One arena for a process; one thread.
 */
#ifndef TESTS_EXPLORE_ARENA_H
#define TESTS_EXPLORE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest128 {
    uint64_t low, high;
};

/* Bytes that do not count: inside a block, by address. */
struct arena_blind {
    const void *from;
    size_t size;
};

void arena_open(void); /* exits with a message if the place is taken */
void arena_enter(void);
void arena_leave(void);
/* All is free again. */
void arena_reset(void);

/* A copy of all that the arena holds, in memory outside of it; room for it is kept from
 * the copy before (NULL: none). */
struct arena_copy;
struct arena_copy *arena_save(struct arena_copy *room);
void arena_restore(const struct arena_copy *copy);
void arena_copy_free(struct arena_copy *copy); /* accepts NULL */

struct digest128 arena_digest(const void *root, const struct arena_blind *blind,
                              size_t blind_count);
size_t arena_used(void); /* bytes */

#endif
