/* task_handle.c - see task_handle.h. */
#include "task_handle.h"

#include "node/wait.h"

uint64_t task_handle_new(struct moot *m, struct task *task, struct task *parent)
{
    uint64_t id = handle_new(&m->handles, task, parent);
    task->handle_count += id != 0;
    return id;
}

void task_handle_end(struct moot *m, struct handle *handle)
{
    struct task *task = handle->task;
    if (handle->borrowed) {
        payload_drop(task->payload);
    }
    handle_free(&m->handles, handle);
    if (--task->handle_count == 0) {
        wait_end_linger(m, task);
        task_try_release(m, task);
    }
}
