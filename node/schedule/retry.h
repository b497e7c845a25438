/* retry.h - kernels that failed and are to be tried again.
 *
 * A kernel that was registered with .retries is run again, up to so many times, before
 * its task fails; a pause before each try, twice as long as the one before.  To the
 * core and to its peers the task runs all the while: there is one result or one
 * failure, with the last story and the number of tries.
 *
 * An element of an array is tried again likewise, on the rank that ran it.
 *
 * A task that rests is in no ready queue.  Whoever looks for something to run puts back
 * what is due.  Under the engine lock.
 */
#ifndef NODE_SCHEDULE_RETRY_H
#define NODE_SCHEDULE_RETRY_H

#include "node/context/context.h"

struct elements;

/* True if the failed task, which ran that kernel, is to be tried again: it rests now
 * (or is ready again), and its inputs stay pinned. */
bool retry_later(struct moot *m, struct task *task, const struct kernel *kernel);
/* Likewise the element of an array that none has cancelled. */
bool retry_element(struct moot *m, struct elements *elements, uint64_t place);
/* Makes ready what has rested long enough. */
void retry_wake(struct moot *m);
/* It rests, and is cancelled. */
void retry_forget(struct moot *m, const struct task *task);
/* The array is cancelled: none of its elements rests. */
void retry_forget_array(struct moot *m, const struct task *task);
void retry_release(struct moot *m);

#endif
