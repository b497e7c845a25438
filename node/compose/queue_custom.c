/* queue_custom.c - calling the functions of a program's own queues.
 *
 * They are called with the lock released and the stack as it is: meanwhile spawns of
 * this thread enter above the queue.
 */
#include "node/compose/queue.h"

#include "node/engine/engine.h"
#include "node/schedule/task_handle.h"
#include "proto/error.h"

#include <stdlib.h>

enum { BATCH_INLINE = 16 };

static int said(struct lane *lane, const struct moot_queue *queue, const char *what,
                int code)
{
    if (code == MOOT_OK) {
        return code;
    }
    code = code < 0 ? code : MOOT_ERR_KERNEL_CODE;
    if (text_get(&lane->error)[0] == '\0') {
        lane_fail(lane, code, "queue '%s': its function .%s returned %s",
                  queue->custom.name, what, error_name(code));
    }
    return code;
}

struct outside {
    struct queue_stack *stack;
    struct moot_queue *entry;
};

/* The program's code runs: its spawns enter above this queue. */
static struct outside go_outside(struct lane *lane, struct moot_queue *queue)
{
    struct queue_stack *stack = queue_stack_of(lane);
    struct outside outside = {.stack = stack, .entry = stack->entry};
    stack->entry = queue->up;
    queue->calls++;
    text_clear(&lane->error);
    engine_unlock(queue->m);
    return outside;
}

/* The lane of this thread: a kernel may have waited, and come back on another. */
static struct lane *come_back(const struct outside *outside, struct lane *lane,
                              struct moot_queue *queue)
{
    engine_lock(queue->m);
    queue->calls--;
    outside->stack->entry = outside->entry;
    return lane_now(queue->m, lane);
}

/* What a queue was given and refuses, and has not passed up, is not spawned. */
static void drop_batch(struct moot_queue *queue, uint64_t batch)
{
    struct moot_ticket *ticket = queue->kept.first;
    while (ticket != NULL) {
        struct moot_ticket *next = ticket->next;
        if (ticket->batch == batch) {
            ticket_list_remove(&queue->kept, ticket);
            ticket_drop(ticket);
        }
        ticket = next;
    }
    task_tickets_settle(queue->m);
}

int queue_custom_submit(struct lane *lane, struct moot_queue *queue,
                        struct ticket_list *batch)
{
    moot_ticket *inline_array[BATCH_INLINE], **array = inline_array;
    size_t count = batch->count;
    if (count > BATCH_INLINE) {
        array = malloc(count * sizeof(moot_ticket *));
        if (array == NULL) {
            ticket_list_drop(batch);
            return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for a batch");
        }
    }
    uint64_t number = ++queue->batches;
    size_t at = 0;
    for (moot_ticket *ticket = batch->first; ticket != NULL; ticket = ticket->next) {
        ticket->queue = queue;
        ticket->batch = number;
        array[at++] = ticket;
    }
    ticket_list_move(&queue->kept, batch);
    struct outside outside = go_outside(lane, queue);
    int code = queue->custom.submit(queue, array, count, queue->state);
    lane = come_back(&outside, lane, queue);
    if (array != inline_array) {
        free(array);
    }
    if (code != MOOT_OK) {
        drop_batch(queue, number);
    }
    return said(lane, queue, "submit", code);
}

int queue_custom_open(struct lane *lane, struct moot_queue *queue,
                      const moot_queue_custom *custom)
{
    queue->custom = *custom;
    queue->state = custom->user;
    if (custom->open == NULL) {
        return MOOT_OK;
    }
    struct outside outside = go_outside(lane, queue);
    int code = custom->open(queue, custom->user, &queue->state);
    lane = come_back(&outside, lane, queue);
    return said(lane, queue, "open", code);
}

int queue_custom_flush(struct lane *lane, struct moot_queue *queue)
{
    struct outside outside = go_outside(lane, queue);
    int code = queue->custom.flush(queue, queue->state);
    lane = come_back(&outside, lane, queue);
    return said(lane, queue, "flush", code);
}

int queue_custom_close(struct lane *lane, struct moot_queue *queue)
{
    if (queue->custom.close == NULL || queue->passed_by) {
        return MOOT_OK;
    }
    struct outside outside = go_outside(lane, queue);
    int code = queue->custom.close(queue, queue->state);
    lane = come_back(&outside, lane, queue);
    return said(lane, queue, "close", code);
}
