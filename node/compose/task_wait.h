/* task_wait.h - the public calls' way to wait for handles.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_TASK_WAIT_H
#define NODE_COMPOSE_TASK_WAIT_H

#include "node/schedule/wait.h"

/* What a wait for several gives besides its code. */
struct task_ends {
    size_t *which;          /* any: the index of the one; or NULL */
    size_t *indices, *done; /* some: all that have ended, and how many; or NULL */
};

/* Checks that this thread may wait, fills in the wait's tasks, lane and deadline, and
 * runs it.  The caller has set want, any, items and count; `ends` may be NULL.
 * wait->over then says whether it ended by its tasks.  Returns the first error, told;
 * of `call`, if it did not. */
int task_wait_locked(struct moot *m, struct lane *lane, const char *call,
                     const moot_task *tasks, moot_duration timeout, struct wait *wait,
                     const struct task_ends *ends);

/* Whether this thread may wait for so long; else the error, told, of `call`.  Makes it
 * a lane. */
int task_wait_check(struct moot *m, struct lane *lane, const char *call,
                    moot_duration timeout);

/* Tells why handle `index` of the `count` that a call was given is refused, and returns
 * the error. */
int task_handle_refuse(struct lane *lane, const char *call, size_t index, size_t count,
                       int error);

#endif
