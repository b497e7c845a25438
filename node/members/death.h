/* death.h - how a peer died, as far as this rank can know.
 *
 * The kernels that it was in stand on its board, if that is shared
 * (node/tasks/board.h); the signal is told by whoever waited for it
 * (node/config/ending.h), a moment after its end is seen.  Under a launcher of which
 * nobody waits for us it stays unknown.
 *
 * A death *counts* against a task if the rank died of a fault of its own in that task's
 * kernel, the innermost one.  Which thread died nobody tells: where several kernels
 * ran, or the rank has workers beside its program, all that ran are suspects, unless
 * one of them was to run alone.
 */
#ifndef NODE_MEMBERS_DEATH_H
#define NODE_MEMBERS_DEATH_H

#include "node/context/context.h"

/* Whether it is known how the process of that rank ended, or will not be any more, as
 * it has been seen ended for that long. */
bool death_is_told(const struct moot *m, uint32_t rank, uint64_t for_ns);

/* Writes down what that rank died of: m->members.all[rank].death. */
void death_note(struct moot *m, uint32_t rank);

/* "of signal 11 (Segmentation fault) in kernel 'x', task 1a2b3c4d (FILE:LINE), on host
 * h";
 * "" if nothing is known. */
const char *death_story(const struct moot *m, uint32_t rank);

void death_release(struct moot *m);

#endif
