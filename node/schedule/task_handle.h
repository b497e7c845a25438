/* task_handle.h - handles and the tasks that they keep alive, in step.
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_TASK_HANDLE_H
#define NODE_SCHEDULE_TASK_HANDLE_H

#include "consensus/core_entry.h"
#include "node/tasks/handle.h"
#include "node/tasks/task.h"

/* A new reference; 0 without memory or beyond the limit. */
uint64_t task_handle_new(struct moot *m, struct task *task, struct task *parent);
/* The task of a handle that has none yet (handle_new of UNNAMED_TASK). */
void task_handle_give(struct moot *m, uint64_t id, struct task *task);
/* handle_find(), and behind it a record: NO_MEMORY if there is none for that. */
int task_handle_find(struct moot *m, uint64_t id, struct handle **out);
/* Ends the borrow and the handle; with the last, the task's bytes if nobody uses them.
 */
void task_handle_end(struct moot *m, struct handle *handle);
/* The program releases it: it ends, or is from now on that of the group that needs it
 * (node/compose/group.h). */
void task_handle_release(struct moot *m, struct handle *handle);

/* Whether that may be more to the core than that the program lets the task go. */
static inline bool task_handle_may_step(const struct handle *handle)
{
    const struct task *task = handle->task;
    return !handle->grouped && !core_is_stub(task) &&
           (handle->scoped || task->lingers || (task->payload != NULL && !task->own));
}

/* Frees its bytes if nobody here uses them any more and no peer may ask for them. */
void task_try_release(struct moot *m, struct task *task);

/* A ticket needs the task until it is registered.  Meanwhile the last handle stays,
 * though the program releases it, so that nothing forgets the task.  False without
 * memory.  It ends by task_ticket_end() (node/tasks/kept_handles.h). */
bool task_ticket_begin(struct moot *m, struct task *task);
/* Ends handles that are needed no longer: after some tickets have ended. */
void task_tickets_settle(struct moot *m);

#endif
