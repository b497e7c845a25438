/* task_handle.c - see task_handle.h. */
#include "task_handle.h"

#include "hashing/identity.h"
#include "node/scope.h"
#include "node/wait.h"

uint64_t task_handle_new(struct moot *m, struct task *task, struct task *parent)
{
    uint64_t id = handle_new(&m->handles, task, parent);
    struct handle *handle;
    if (id == 0 || handle_find(&m->handles, id, &handle) != MOOT_OK) {
        return 0;
    }
    task->handle_count++;
    handle->scoped = scope_use(m, hash_scope(&task->hash));
    return id;
}

void task_handle_end(struct moot *m, struct handle *handle)
{
    struct task *task = handle->task;
    uint64_t mark = handle->scoped ? hash_scope(&task->hash) : 0;
    if (handle->borrowed && task->payload != NULL) {
        payload_drop(task->payload);
    }
    handle_free(&m->handles, handle);
    if (--task->handle_count == 0) {
        wait_end_linger(m, task);
        task_try_release(m, task);
        if (task->held && !task->gone) {
            task->let_go = true;
            core_let_go(m->core, &task->hash, task->entry);
        }
        task_try_free(m, task);
    }
    if (mark != 0) {
        scope_unuse(m, mark); /* it may be forgotten with that */
    }
}
