/* self_end.h - kernels that end their process by what the rank itself sees.
 *
 * The board says which it was (node/tasks/board.h): no signal tells.
 */
#ifndef NODE_SCHEDULE_SELF_END_H
#define NODE_SCHEDULE_SELF_END_H

#include "node/context/context.h"

/* A chore of the loop: ends the process if a kernel has run for longer than
 * MOOT_KERNEL_LIMIT; one that waits for its children does not run.  Under the lock. */
void self_end_look(struct moot *m, uint64_t now_ns);

/* The process passes exit(): if this thread does so from a kernel, that is to blame. */
void self_end_on_exit(void);

#endif
