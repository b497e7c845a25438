/* queue_wait.c - what a thread's queues still have when it is about to wait for it. */
#include "node/compose/queue.h"

#include "node/engine/lane.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/task.h"

static int flush(struct moot *m, struct lane *lane)
{
    int error = MOOT_OK;
    struct moot_queue *queue = queue_stack_of(lane)->entry;
    for (; queue != NULL && error == MOOT_OK; queue = queue->up) {
        lane = lane_now(m, lane);
        if (queue->kind == QUEUE_BULK && queue->inherited) {
            error = queue_pass_kept(m, lane, queue);
        } else if (queue->kind == QUEUE_CUSTOM && queue->kept.count > 0 &&
                   queue->custom.flush != NULL && queue->calls == 0) {
            error = queue_custom_flush(lane, queue);
        }
    }
    return error;
}

static const struct moot_queue *keeper_of(struct lane *lane, const struct task *task)
{
    const struct moot_queue *queue = queue_stack_of(lane)->top;
    for (; queue != NULL; queue = queue->up) {
        const moot_ticket *ticket = queue->kept.first;
        while (ticket != NULL && ticket->task != task) {
            ticket = ticket->next;
        }
        if (ticket != NULL) {
            return queue;
        }
    }
    return NULL;
}

static int check_submitted(struct lane *lane, const struct task *task, const char *call)
{
    const struct moot_queue *keeper = task->pending ? keeper_of(lane, task) : NULL;
    if (keeper == NULL) {
        return MOOT_OK;
    }
    struct text what = {0};
    task_describe(&what, task);
    bool bulk = keeper->kind == QUEUE_BULK;
    lane_fail(lane, MOOT_ERR_STATE,
              "%s: %s is not submitted yet: %s%s%s that this thread has open keeps it",
              call, text_get(&what), bulk ? "a bulk queue" : "the queue '",
              bulk ? "" : keeper->custom.name, bulk ? "" : "'");
    text_release(&what);
    return MOOT_ERR_STATE;
}

static const struct task *pending_task(struct moot *m, moot_task t)
{
    struct handle *handle;
    bool known = task_handle_find(m, t.id, &handle) == MOOT_OK;
    return known && handle->task->pending ? handle->task : NULL;
}

int queue_before_wait(struct moot *m, struct lane *lane, const moot_task *tasks,
                      size_t count, const char *call)
{
    if (queue_stack_of(lane)->top == NULL) {
        return MOOT_OK;
    }
    bool any = lane->call != NULL;
    for (size_t i = 0; i < count && !any; i++) {
        any = pending_task(m, tasks[i]) != NULL;
    }
    int error = any ? flush(m, lane) : MOOT_OK;
    lane = lane_now(m, lane);
    for (size_t i = 0; i < count && any && error == MOOT_OK; i++) {
        const struct task *task = pending_task(m, tasks[i]);
        error = task != NULL ? check_submitted(lane, task, call) : MOOT_OK;
    }
    return error;
}
