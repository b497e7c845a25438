/* kept_handles.c - see kept_handles.h. */
#include "node/tasks/kept_handles.h"

#include "node/context/context.h"

#include <assert.h>

void kept_handle_add(struct moot *m, struct handle *handle)
{
    handle->task->kept = true;
    handle_keep(&m->tasks.handles, handle);
    m->tasks.handles.to_settle += handle->task->tickets == 0;
}

struct handle *kept_handle_take(struct moot *m, struct handle *before)
{
    struct handle *handle = handle_unkeep(&m->tasks.handles, before);
    assert(handle->task->tickets == 0 && m->tasks.handles.to_settle > 0);
    handle->task->kept = false;
    m->tasks.handles.to_settle--;
    return handle;
}

bool kept_handles_to_settle(const struct moot *m)
{
    return m->tasks.handles.to_settle > 0;
}

void kept_ticket_begin(struct moot *m, struct task *task)
{
    m->tasks.handles.to_settle -= task->tickets == 0 && task->kept;
    task->tickets++;
}

void task_ticket_end(struct moot *m, struct task *task)
{
    assert(task->tickets > 0);
    m->tasks.handles.to_settle += --task->tickets == 0 && task->kept;
}
