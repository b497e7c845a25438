/* task_handle.h - handles and the tasks that they keep alive, in step.
 *
 * Under the engine lock.
 */
#ifndef NODE_TASK_HANDLE_H
#define NODE_TASK_HANDLE_H

#include "node/context.h"

/* A new reference; 0 without memory or beyond the limit. */
uint64_t task_handle_new(struct moot *m, struct task *task, struct task *parent);
/* Ends the borrow and the handle; with the last, the task's bytes if nobody uses them.
 */
void task_handle_end(struct moot *m, struct handle *handle);

#endif
