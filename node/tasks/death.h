/* death.h - how a peer died, as far as this rank can know.
 *
 * The kernels that it was in stand on its board, if that is shared
 * (node/tasks/board.h); the signal is told by whoever waited for it
 * (node/config/ending.h), a moment after its end is seen.  Under a launcher of which
 * nobody waits for us it stays unknown, and so it does of a rank of another host, whose
 * end its launcher tells (channel.h).
 *
 * A death *counts* against a task if the rank died of a fault of its own in that task's
 * kernel, the innermost one.  Which thread died the system does not tell.  The rank may
 * have left word of it; one kernel may have run, and no thread of the program have been
 * in its own code; or the one that ran was to run alone.  Else all that ran are
 * suspects (PROTOCOL.md, T10).  A thread that never calls moot is not seen.
 */
#ifndef NODE_TASKS_DEATH_H
#define NODE_TASKS_DEATH_H

#include "node/context/context.h"

/* Whether it is known how the process of that rank ended, or will not be any more, as
 * it has been seen ended for that long. */
bool death_is_told(const struct moot *m, uint32_t rank, uint64_t for_ns);

/* Somebody waits for the ranks of this job who tells how they end. */
bool death_has_witness(void);

/* Looks what that rank died of, whose end is seen; NULL without memory. */
struct death *death_look(const struct moot *m, uint32_t rank);
void death_free(struct death *death); /* NULL is accepted */

/* "of signal 11 (Segmentation fault) in kernel NAME, task HASH (FILE:LINE), on host h";
 * "" if nothing is known. */
const char *death_story(const struct death *death);

/* Calls `see` with each task in whose kernel that rank died of a fault of its own, or
 * may have: one of several. */
void death_each_culprit(const struct moot *m, uint32_t rank,
                        void (*see)(struct moot *m, uint32_t rank,
                                    const moot_hash *hash, bool perhaps),
                        struct moot *user);

/* Adds which ranks died in that task's kernel, and how: "\n  rank 1 died of ...".  If
 * none did, and `or_others`, how other ranks died, as far as that is known. */
void death_add_stories(struct text *text, const struct moot *m, const moot_hash *hash,
                       bool or_others);

#endif
