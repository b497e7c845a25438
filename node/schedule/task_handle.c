/* task_handle.c - see task_handle.h. */
#include "node/schedule/task_handle.h"

#include "consensus/core_entry.h"
#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "node/engine/dispatch.h"
#include "node/engine/lane_scope.h"
#include "node/schedule/wait.h"
#include "node/tasks/kept_handles.h"

#include <assert.h>

void task_handle_give(struct moot *m, uint64_t id, struct task *task)
{
    struct handle *handle = handle_at(&m->tasks.handles, id);
    uint64_t mark = hash_scope(&task->hash);
    handle->task = task;
    task->handle_count++;
    if (mark != 0) {
        handle->scoped = scope_use(m, mark);
    }
}

HOT uint64_t task_handle_new(struct moot *m, struct task *task, struct task *parent)
{
    uint64_t id = handle_new(&m->tasks.handles, task, parent);
    if (id == 0) {
        return 0;
    }
    task_handle_give(m, id, task);
    return id;
}

int task_handle_find(struct moot *m, uint64_t id, struct handle **out)
{
    int error = handle_find(&m->tasks.handles, id, out);
    if (error != MOOT_OK || !core_is_stub((*out)->task)) {
        return error;
    }
    /* Of UNNAMED_TASK, for which there was no memory, there is none now. */
    moot_hash hash = (*out)->task->hash;
    return core_enter(m->core, &hash) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

HOT void task_try_release(struct moot *m, struct task *task)
{
    if (task->own || task->gone || task->payload == NULL || task->handle_count > 0 ||
        task->pins > 0 || task->status != MOOT_OK || m->engine.fatal != 0) {
        return;
    }
    engine_settle(m); /* it may be an input of theirs */
    if (core_release(m->core, &task->hash, task_entry(task), 0)) {
        payload_drop(task->payload);
        task->payload = NULL;
    }
}

static void end_stub(struct moot *m, struct handle *handle)
{
    struct task *stub = handle->task;
    if (stub == UNNAMED_TASK) {
        handle_free(&m->tasks.handles, handle);
        return;
    }
    struct task_stub *part = core_stub_host(stub);
    part->handle = 0;
    handle_free(&m->tasks.handles, handle);
    core_let_go(m->core, &stub->hash, stub);
}

static void end_borrow(struct handle *handle)
{
    if (handle->borrowed && handle->task->payload != NULL) {
        payload_drop(handle->task->payload);
    }
    handle->borrowed = false;
}

/* To end the wait that lingers, or to register what may take its bytes. */
static inline bool last_may_step(const struct task *task)
{
    return task->lingers || (task->payload != NULL && !task->own);
}

HOT void task_handle_end(struct moot *m, struct handle *handle)
{
    struct task *task = handle->task;
    if (core_is_stub(task)) {
        end_stub(m, handle);
        return;
    }
    uint64_t mark = handle->scoped ? hash_scope(&task->hash) : 0;
    end_borrow(handle);
    if (task->handle_count == 1 && task->tickets > 0) {
        kept_handle_add(m, handle);
        return;
    }
    handle_free(&m->tasks.handles, handle);
    if (task->handle_count == 1 && last_may_step(task)) {
        wait_end_linger(m, task); /* in whose step it may be forgotten */
        engine_settle(m);
    }
    if (--task->handle_count == 0) {
        task_try_release(m, task);
        if (task->held && !task->gone) {
            task->let_go = true;
            payload_let_go(task->own ? task->payload : NULL, true);
        }
        if (!task->gone) {
            core_let_go(m->core, &task->hash, task_entry(task));
        }
        task_try_free(m, task);
    }
    if (mark != 0) {
        scope_unuse(m, mark); /* it may be forgotten with that */
    }
}

HOT void task_handle_release(struct moot *m, struct handle *handle)
{
    if (!handle->grouped) {
        task_handle_end(m, handle);
        return;
    }
    end_borrow(handle);
    handle_renumber(handle);
    handle->let_go = true;
}

/* --- For tickets ------------------------------------------------------------------ */

bool task_ticket_begin(struct moot *m, struct task *task)
{
    if (task->handle_count == 0) { /* known by its hash alone */
        uint64_t id = task_handle_new(m, task, NULL);
        struct handle *handle;
        if (id == 0 || handle_find(&m->tasks.handles, id, &handle) != MOOT_OK) {
            return false;
        }
        kept_handle_add(m, handle);
    }
    kept_ticket_begin(m, task);
    return true;
}

/* They end about in the order in which they were kept: the walk is a short one. */
void task_tickets_settle(struct moot *m)
{
    struct handle *before = NULL;
    while (kept_handles_to_settle(m)) {
        struct handle *handle = handle_kept_next(&m->tasks.handles, before);
        if (handle == NULL || handle->task->tickets > 0) {
            before = handle;
        } else {
            task_handle_end(m, kept_handle_take(m, before));
        }
    }
}
