/* api_queue.c - the public calls of task queues: check, lock, call, unlock. */
#include "node/api/moot_queue.h"

#include "node/compose/queue.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/schedule/task_handle.h"
#include "node/spawn/spawn_check.h"
#include "node/tasks/kernel.h"
#include "node/tasks/task.h"
#include "proto/error.h"

/* --- Opening and closing ---------------------------------------------------------- */

static int open_locked(moot *m, enum queue_kind kind, const moot_queue_custom *custom)
{
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = queue_open(m, lane, kind, custom);
    engine_leave(m);
    return error;
}

int moot_queue_open(moot *m, enum moot_queue_kind kind)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_queue_open", "");
    }
    if (kind != MOOT_QUEUE_SEQUENTIAL && kind != MOOT_QUEUE_BULK) {
        return lane_invalid(m, "moot_queue_open", "there is no such kind of queue");
    }
    return open_locked(m, kind == MOOT_QUEUE_SEQUENTIAL ? QUEUE_SEQUENTIAL : QUEUE_BULK,
                       NULL);
}

int moot_queue_open_custom(moot *m, const moot_queue_custom *custom)
{
    const char *call = "moot_queue_open_custom";
    if (m == NULL || custom == NULL) {
        return lane_invalid(m, call, "the queue is NULL");
    }
    moot_queue_custom room;
    custom = sized_custom(custom, &room);
    if (custom == NULL) {
        return lane_invalid(m, call, SIZED_REFUSAL(moot_queue_custom));
    }
    if (custom->name == NULL || custom->submit == NULL) {
        return lane_invalid(m, call, "a queue needs .name and .submit");
    }
    if ((custom->flags & ~(uint32_t)MOOT_QUEUE_INHERITED) != 0) {
        return lane_invalid(m, call, ".flags has unknown bits");
    }
    return open_locked(m, QUEUE_CUSTOM, custom);
}

int moot_queue_close(moot *m)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_queue_close", "");
    }
    struct lane *lane = engine_enter_unsettled(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = queue_close(m, lane);
    engine_leave(m);
    return error;
}

/* --- Inside a queue's functions -------------------------------------------------- */

/* Takes the tickets out of the queue; on failure they are there as before, at its end.
 */
static int take_out(struct lane *lane, struct moot_queue *queue,
                    moot_ticket *const *tickets, size_t count,
                    struct ticket_list *batch)
{
    size_t taken = 0;
    while (taken < count && tickets[taken] != NULL && tickets[taken]->queue == queue) {
        moot_ticket *ticket = tickets[taken++];
        ticket_list_remove(&queue->kept, ticket);
        ticket->queue = NULL;
        ticket_list_add(batch, ticket);
    }
    if (taken == count) {
        return MOOT_OK;
    }
    for (moot_ticket *ticket = batch->first; ticket != NULL; ticket = ticket->next) {
        ticket->queue = queue;
    }
    ticket_list_move(&queue->kept, batch);
    return lane_fail(lane, MOOT_ERR_INVALID,
                     "moot_queue_up: ticket %zu is not in queue '%s', or no longer",
                     taken, queue->custom.name);
}

int moot_queue_up(moot_queue *queue, moot_ticket *const *tickets, size_t count)
{
    if (queue == NULL || (tickets == NULL && count > 0)) {
        return lane_refuse(NULL, MOOT_ERR_INVALID, "moot_queue_up",
                           queue == NULL ? "the queue is NULL"
                                         : "the tickets are NULL, and count is not 0");
    }
    moot *m = queue->m;
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct ticket_list batch = {0};
    int error = MOOT_OK;
    if (queue->calls == 0) {
        error = lane_fail(lane, MOOT_ERR_STATE,
                          "moot_queue_up: none of the queue's functions runs");
    } else {
        error = take_out(lane, queue, tickets, count, &batch);
    }
    if (error == MOOT_OK) {
        error = queue_pass(m, lane, queue->up, &batch);
    }
    engine_leave(m);
    return error;
}

moot *moot_queue_context(const moot_queue *queue)
{
    return queue != NULL ? queue->m : NULL;
}

/* --- Tickets --------------------------------------------------------------------- */

int moot_ticket_look_sized(const moot_ticket *ticket, moot_ticket_view *out,
                           size_t size)
{
    if (ticket == NULL || out == NULL) {
        return lane_refuse(NULL, MOOT_ERR_INVALID, "moot_ticket_look",
                           ticket == NULL ? "the ticket is NULL"
                                          : "the output is NULL");
    }
    if (!SIZED_ADMITS(size, moot_ticket_view, site)) {
        return lane_refuse(NULL, MOOT_ERR_INVALID, "moot_ticket_look",
                           SIZED_REFUSAL_OUT(moot_ticket_view));
    }
    moot *m = ticket->m;
    if (engine_enter(m) == NULL) { /* another thread may raise its priority */
        return MOOT_ERR_NO_MEMORY;
    }
    const struct task *task = ticket->task;
    const moot_ticket_view view = {
        .hash = task->hash,
        .kernel = task->kernel->name,
        .args = task->args,
        .args_size = task->args_size,
        .priority = task->priority,
        .label = task_label(task) != NULL ? task_label(task) : "",
        .site = task_site(task) != NULL ? task_site(task) : ""};
    engine_leave(m);
    sized_give(out, size, &view, sizeof(view));
    return MOOT_OK;
}

int moot_ticket_task(moot_ticket *ticket, moot_task *out)
{
    if (ticket == NULL || out == NULL) {
        return lane_refuse(NULL, MOOT_ERR_INVALID, "moot_ticket_task",
                           ticket == NULL ? "the ticket is NULL"
                                          : "the output is NULL");
    }
    moot *m = ticket->m;
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    uint64_t id = task_handle_new(m, ticket->task, task_seldom(ticket->task)->parent);
    int error = MOOT_OK;
    if (id != 0) {
        out->id = id;
    } else {
        error = lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for a handle");
    }
    engine_leave(m);
    return error;
}

static int order_after(struct lane *lane, moot_ticket *ticket, const moot_task *tasks,
                       size_t count)
{
    if (!spawn_input_room(lane, count)) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for the order");
    }
    for (size_t i = 0; i < count; i++) {
        struct handle *handle;
        int error = task_handle_find(ticket->m, tasks[i].id, &handle);
        if (error == MOOT_OK && handle->task == ticket->task) {
            return lane_fail(lane, MOOT_ERR_INVALID,
                             "moot_ticket_after: task %zu is the ticket's own", i);
        }
        if (error != MOOT_OK) {
            return lane_fail(lane, error, "moot_ticket_after: handle %zu %s", i,
                             handle_why(error));
        }
        lane->inputs[i] = handle->task;
    }
    int error = ticket_order(ticket, lane->inputs, count);
    return error == MOOT_OK
               ? error
               : lane_fail(lane, error, "moot_ticket_after: %s", error_text(error));
}

int moot_ticket_after(moot_ticket *ticket, const moot_task *tasks, size_t count)
{
    if (ticket == NULL || (tasks == NULL && count > 0)) {
        return lane_refuse(NULL, MOOT_ERR_INVALID, "moot_ticket_after",
                           ticket == NULL ? "the ticket is NULL"
                                          : "the tasks are NULL, and count is not 0");
    }
    moot *m = ticket->m;
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error =
        count <= LIMIT_INPUTS
            ? order_after(lane, ticket, tasks, count)
            : lane_fail(lane, MOOT_ERR_LIMIT, "moot_ticket_after: %zu tasks", count);
    engine_leave(m);
    return error;
}

int moot_ticket_label(moot_ticket *ticket, const char *label)
{
    if (ticket == NULL || label == NULL) {
        return lane_refuse(NULL, MOOT_ERR_INVALID, "moot_ticket_label",
                           ticket == NULL ? "the ticket is NULL" : "the label is NULL");
    }
    moot *m = ticket->m;
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = task_relabel(m, ticket->task, label)
                    ? MOOT_OK
                    : lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for a label");
    engine_leave(m);
    return error;
}

int moot_ticket_priority(moot_ticket *ticket, int32_t priority)
{
    if (ticket == NULL) {
        return lane_refuse(NULL, MOOT_ERR_INVALID, "moot_ticket_priority",
                           "the ticket is NULL");
    }
    moot *m = ticket->m;
    if (engine_enter(m) == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    task_reprioritise(ticket->task, priority);
    engine_leave(m);
    return MOOT_OK;
}
