/* kept_handles.h - handles that the program has released, and whose tasks are needed
 * yet.
 *
 * A *ticket* needs a task until what takes it is registered, or has run
 * (node/schedule/task_handle.h).  As long as a task has tickets its last handle stays,
 * in a list of such.  When the last ticket ends it is to be settled; how many are is
 * counted, so that nobody goes through the list in vain.
 *
 * Under the engine lock.
 */
#ifndef NODE_TASKS_KEPT_HANDLES_H
#define NODE_TASKS_KEPT_HANDLES_H

#include "node/tasks/handle.h"
#include "node/tasks/task.h"

/* The program's number for it is void, and it stays. */
void kept_handle_add(struct moot *m, struct handle *handle);
/* Takes the one behind `before` (NULL: the first), whose task has no tickets, off the
 * list. */
struct handle *kept_handle_take(struct moot *m, struct handle *before);
/* Some are of tasks without tickets. */
bool kept_handles_to_settle(const struct moot *m);

void kept_ticket_begin(struct moot *m, struct task *task);
void task_ticket_end(struct moot *m, struct task *task);

#endif
