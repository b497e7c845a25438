/* task_list.h - all records of tasks, for what looks at each of them now and then.
 *
 * The core finds those that it knows; those that it has forgotten and that something
 * here still uses are on a list.  Under the engine lock.
 */
#ifndef NODE_TASKS_TASK_LIST_H
#define NODE_TASKS_TASK_LIST_H

#include "node/tasks/task.h"

struct moot;

/* Every record, in no order of meaning; none is to be made or to go meanwhile. */
void task_each(struct moot *m, void (*see)(void *context, struct task *task),
               void *context);
/* Those that are not the core's alone, the newest first, to be free()d; false without
 * memory. */
bool task_list(struct moot *m, struct task ***list, size_t *count);

/* The core has forgotten it, and it is used yet; it is about to be freed. */
void task_link_gone(struct moot *m, struct task *task);
void task_unlink_gone(struct moot *m, struct task *task);

#endif
