/* queue.c - see queue.h. */
#include "node/compose/queue.h"

#include "node/engine/engine.h"
#include "node/record/task_watch.h"
#include "node/schedule/call_frame.h"
#include "node/schedule/task_handle.h"
#include "node/spawn/spawn.h"
#include "proto/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct queue_stack *queue_stack_of(struct lane *lane)
{
    return lane->call != NULL ? &lane->call->queues : &lane->queues;
}

/* --- Passing on ------------------------------------------------------------------ */

static int register_batch(struct moot *m, struct lane *lane, struct ticket_list *batch)
{
    int first_error = MOOT_OK;
    struct text story = {0};
    size_t count = batch->count;
    for (size_t i = 1; batch->first != NULL; i++) {
        moot_ticket *ticket = batch->first;
        ticket_list_remove(batch, ticket);
        const char *site = task_site(ticket->task);
        int error = ticket_submit(ticket, lane);
        if (error == MOOT_OK || first_error != MOOT_OK) {
            continue;
        }
        first_error = error;
        if (count > 1) {
            text_add(&story, "task %zu of a batch of %zu, spawned at %s: ", i, count,
                     site != NULL ? site : "a place unknown");
        }
        text_add(&story, "%s", text_get(&lane->error));
    }
    if (first_error != MOOT_OK) {
        lane_fail(lane, first_error, "%s", text_get(&story));
    }
    text_release(&story);
    task_tickets_settle(m);
    return first_error;
}

static int pass_in_order(struct moot *m, struct lane *lane, struct moot_queue *queue,
                         struct ticket_list *batch)
{
    struct chain next = {0};
    struct chain *chain = queue->chain;
    bool single = batch->count == 1;
    int error = chain_order_batch(m, lane, queue, batch, &next);
    lane = lane_now(m, lane);
    if (error != MOOT_OK) {
        ticket_list_drop(batch);
        chain_release(m, &next);
        return error;
    }
    while (queue->up != NULL && queue->up->chain == chain) {
        queue = queue->up;
    }
    error = queue_pass(m, lane, queue->up, batch);
    if (error != MOOT_OK && single) {
        chain_release(m, &next); /* it was not spawned */
    } else {
        chain_advance(m, chain, &next);
    }
    return error;
}

int queue_pass(struct moot *m, struct lane *lane, struct moot_queue *to,
               struct ticket_list *batch)
{
    while (to != NULL && to->kind == QUEUE_CUSTOM && to->passed_by) {
        to = to->up;
    }
    if (batch->count == 0) {
        return MOOT_OK;
    }
    if (to == NULL) {
        return register_batch(m, lane, batch);
    }
    switch (to->kind) {
    case QUEUE_SEQUENTIAL:
        return pass_in_order(m, lane, to, batch);
    case QUEUE_BULK:
        ticket_list_move(&to->kept, batch);
        return MOOT_OK;
    case QUEUE_CUSTOM:
        break;
    }
    return queue_custom_submit(lane, to, batch);
}

/* --- Spawning -------------------------------------------------------------------- */

/* A task that was spawned before holds back what comes after it: in the nearest chain,
 * or, if it is part of a batch, in that in which the batch is.  Not what came before it
 * and is still kept by a custom queue on the way: such a queue notes it until it
 * closes.
 */
static bool note_again(struct moot *m, struct moot_queue *queue, struct task *task)
{
    while (queue != NULL && queue->kind == QUEUE_CUSTOM && queue->kept.count == 0) {
        queue = queue->up;
    }
    if (queue == NULL) {
        return true;
    }
    return chain_add(m, queue->kind == QUEUE_SEQUENTIAL ? queue->chain : &queue->own,
                     task);
}

static int no_memory(struct moot *m, struct lane *lane, const struct spawned *spawned)
{
    spawn_undo(m, spawned);
    return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for a place in a queue");
}

int queue_spawn_at(struct moot *m, struct lane *lane, struct moot_queue *queue,
                   struct task_facts *facts, struct spawned *out)
{
    int error = spawn_enter(m, lane, facts, out);
    if (error != MOOT_OK) {
        return error;
    }
    if (queue == NULL) {
        return spawn_hold(m, lane, facts, out);
    }
    if (ticket_is_spawned(out->task, facts)) {
        error = spawn_hold(m, lane, facts, out);
        if (error == MOOT_OK && !note_again(m, queue, out->task)) {
            return no_memory(m, lane, out);
        }
        return error;
    }
    moot_ticket *ticket = ticket_new(m, out->task, facts);
    if (ticket == NULL) {
        return no_memory(m, lane, out);
    }
    struct ticket_list batch = {0};
    ticket_list_add(&batch, ticket);
    error = queue_pass(m, lane, queue, &batch);
    if (error != MOOT_OK) {
        spawn_undo(m, out);
    }
    return error;
}

/* All queues are sequential: the task is registered at once, behind the chain's last.
 */
static int spawn_in_chain(struct moot *m, struct lane *lane, struct moot_queue *queue,
                          struct task_facts *facts, struct spawned *out)
{
    struct chain *chain = queue->chain;
    int error = chain_order_spawn(m, lane, queue, facts);
    if (error == MOOT_OK) {
        error = spawn_enter(m, lane, facts, out);
    }
    if (error != MOOT_OK) {
        return error;
    }
    if (out->task->held || out->task->pending) {
        return chain_add(m, chain, out->task) ? spawn_hold(m, lane, facts, out)
                                              : no_memory(m, lane, out);
    }
    struct spawned link = {.task = out->task};
    link.id = chain_reserve(chain, 1) ? task_handle_new(m, out->task, NULL) : 0;
    if (link.id == 0) {
        return no_memory(m, lane, out);
    }
    error = spawn_hold(m, lane, facts, out);
    if (error == MOOT_OK) {
        chain_advance_to(m, chain, (struct chain_link){link.task, link.id});
    } else {
        spawn_undo(m, &link);
    }
    return error;
}

int queue_spawn(struct moot *m, struct lane *lane, bool queued,
                struct task_facts *facts, moot_task *out)
{
    struct moot_queue *queue = queued ? queue_stack_of(lane)->entry : NULL;
    facts->queue_line = queue != NULL ? queue->line : 0;
    struct spawned spawned;
    int error = queue != NULL && queue->direct
                    ? spawn_in_chain(m, lane, queue, facts, &spawned)
                    : queue_spawn_at(m, lane, queue, facts, &spawned);
    if (error == MOOT_OK) {
        out->id = spawned.id;
    }
    return error;
}

/* --- Opening --------------------------------------------------------------------- */

static struct moot_queue *queue_new(struct moot *m, struct moot_queue *up,
                                    enum queue_kind kind)
{
    struct moot_queue *queue = calloc(1, sizeof(*queue));
    if (queue == NULL) {
        return NULL;
    }
    queue->m = m;
    queue->up = up;
    queue->kind = kind;
    queue->depth = up != NULL ? up->depth + 1 : 1;
    if (kind == QUEUE_SEQUENTIAL) {
        bool shares = up != NULL && up->kind == QUEUE_SEQUENTIAL;
        queue->chain = shares ? up->chain : &queue->own;
        queue->direct = up == NULL || up->direct;
    }
    return queue;
}

static int push(struct moot *m, struct lane *lane, enum queue_kind kind,
                const moot_queue_custom *custom, bool inherited)
{
    struct queue_stack *stack = queue_stack_of(lane);
    if (stack->top != NULL && stack->top->depth >= LIMIT_QUEUE_DEPTH) {
        return lane_fail(lane, MOOT_ERR_LIMIT, "more than %u queues inside each other",
                         LIMIT_QUEUE_DEPTH);
    }
    uint16_t line = stack->top != NULL ? stack->top->line : 0;
    int error = MOOT_OK;
    if (custom == NULL || (custom->flags & MOOT_QUEUE_INHERITED) != 0) {
        error = queue_line_in(&m->compose.queue_lines, line, kind, custom, &line);
    }
    struct moot_queue *queue = error == MOOT_OK ? queue_new(m, stack->top, kind) : NULL;
    if (queue == NULL) {
        error = error != MOOT_OK ? error : MOOT_ERR_NO_MEMORY;
        return lane_fail(lane, error, "no room for another queue: %s",
                         error_text(error));
    }
    queue->line = line;
    queue->inherited = inherited;
    error = custom != NULL ? queue_custom_open(lane, queue, custom) : MOOT_OK;
    if (error != MOOT_OK) {
        free(queue);
        return error;
    }
    stack->top = stack->entry = queue;
    return MOOT_OK;
}

/* From the outermost in. */
static int open_line(struct moot *m, struct lane *lane, uint16_t line)
{
    uint16_t lines[LIMIT_QUEUE_DEPTH];
    uint32_t depth = 0;
    for (; line != 0 && depth < LIMIT_QUEUE_DEPTH; depth++) {
        lines[depth] = line;
        line = queue_line_at(&m->compose.queue_lines, line)->up;
    }
    int error = MOOT_OK;
    while (depth > 0 && error == MOOT_OK) {
        struct queue_line one = *queue_line_at(&m->compose.queue_lines, lines[--depth]);
        error = push(m, lane, one.kind, one.kind == QUEUE_CUSTOM ? &one.custom : NULL,
                     true);
        lane = lane_now(m, lane);
    }
    return error;
}

/* All or none: a kernel may try again. */
static int open_all_of_line(struct moot *m, struct lane *lane, uint16_t line)
{
    struct text story = {0};
    int error = open_line(m, lane, line);
    lane = lane_now(m, lane);
    if (error == MOOT_OK) {
        return error;
    }
    text_add(&story, "%s", text_get(&lane->error));
    queue_close_all(m, lane);
    lane = lane_now(m, lane);
    lane_fail(lane, error, "%s", text_get(&story));
    text_release(&story);
    return error;
}

int queue_inherit(struct moot *m, struct lane *lane)
{
    struct moot_call *call = lane->call;
    if (call == NULL || call->task->queue_line == 0 || call->queues.inherits) {
        return MOOT_OK;
    }
    call->queues.inherits = true;
    int error = open_all_of_line(m, lane, call->task->queue_line);
    call->queues.inherits = error == MOOT_OK;
    return error;
}

static int check_shape(struct lane *lane, const char *call)
{
    const struct queue_stack *stack = queue_stack_of(lane);
    if (observe_is_telling(lane)) {
        return observe_refuse(lane, call);
    }
    return stack->entry == stack->top
               ? MOOT_OK
               : lane_fail(lane, MOOT_ERR_STATE,
                           "inside a queue's function queues stay as they are");
}

int queue_open(struct moot *m, struct lane *lane, enum queue_kind kind,
               const moot_queue_custom *custom)
{
    int error = check_shape(lane, "moot_queue_open");
    if (error == MOOT_OK && lane->call == NULL && m->engine.closing) {
        error = lane_fail(lane, MOOT_ERR_CLOSED, "%s", engine_closed_why(m));
    }
    if (error == MOOT_OK) {
        error = queue_inherit(m, lane);
        lane = lane_now(m, lane);
    }
    return error == MOOT_OK ? push(m, lane, kind, custom, false) : error;
}

/* --- Closing --------------------------------------------------------------------- */

/* What it has goes up, and what comes after that batch comes after the tasks that were
 * in it again, too. */
int queue_pass_kept(struct moot *m, struct lane *lane, struct moot_queue *queue)
{
    int error = queue_pass(m, lane, queue->up, &queue->kept);
    lane = lane_now(m, lane);
    if (queue->kind != QUEUE_SEQUENTIAL) {
        for (size_t i = 0; i < queue->own.count; i++) {
            bool noted = note_again(m, queue->up, queue->own.links[i].task);
            if (!noted && error == MOOT_OK) {
                error = lane_fail(lane, MOOT_ERR_NO_MEMORY,
                                  "no memory for a queue's order");
            }
        }
        chain_release(m, &queue->own); /* a kernel's queue goes on */
    }
    return error;
}

/* The innermost one. */
static int close_one(struct moot *m, struct lane *lane, struct moot_queue *queue)
{
    struct queue_stack *stack = queue_stack_of(lane);
    assert(stack->top == queue);
    int error = queue->kind == QUEUE_CUSTOM ? queue_custom_close(lane, queue) : MOOT_OK;
    struct text story = {0};
    lane = lane_now(m, lane);
    text_add(&story, "%s", error != MOOT_OK ? text_get(&lane->error) : "");
    int passed = queue_pass_kept(m, lane, queue);
    if (error != MOOT_OK) {
        lane_fail(lane_now(m, lane), error, "%s", text_get(&story));
    }
    text_release(&story);
    chain_release(m, &queue->own);
    stack->top = stack->entry = queue->up;
    region_free(&queue->region); /* room for a task that was none of its */
    free(queue);
    return error != MOOT_OK ? error : passed;
}

int queue_close(struct moot *m, struct lane *lane)
{
    int error = check_shape(lane, "moot_queue_close");
    if (error != MOOT_OK) {
        return error;
    }
    struct moot_queue *queue = queue_stack_of(lane)->top;
    if (queue == NULL || queue->inherited) {
        return lane_fail(lane, MOOT_ERR_STATE, "%s has no queue open",
                         lane->call != NULL ? "this kernel" : "this thread");
    }
    bool kept = queue->kind != QUEUE_SEQUENTIAL;
    if (queue->region.first != NULL) {
        region_wait_while_leaving(m);
        region_close(m, lane, queue);
    } else {
        engine_end_batches_for_call(m);
    }
    error = close_one(m, lane, queue);
    lane = lane_now(m, lane);
    if (kept && lane->call == NULL) {
        spawn_make_room(m, lane);
    }
    return error;
}

int queue_close_all(struct moot *m, struct lane *lane)
{
    struct moot_queue *queue = queue_stack_of(lane)->top;
    int first_error = MOOT_OK;
    struct text story = {0};
    while (queue != NULL) {
        struct moot_queue *up = queue->up;
        int error = close_one(m, lane, queue);
        lane = lane_now(m, lane);
        if (error != MOOT_OK && first_error == MOOT_OK) {
            first_error = error;
            text_add(&story, "%s", text_get(&lane->error));
        }
        queue = up;
    }
    if (first_error != MOOT_OK) {
        lane_fail(lane, first_error, "%s", text_get(&story));
    }
    text_release(&story);
    return first_error;
}

void queue_abandon(struct moot *m, struct lane *lane)
{
    for (struct moot_queue *queue = lane->queues.top; queue != NULL;
         queue = queue->up) {
        queue->passed_by = true;
    }
    queue_close_all(m, lane);
}

void queue_free_all(struct moot *m, struct lane *lane)
{
    struct queue_stack *stack = &lane->queues;
    (void)m;
    while (stack->top != NULL) {
        struct moot_queue *queue = stack->top;
        for (moot_ticket *ticket = queue->kept.first; ticket != NULL;
             ticket = ticket->next) {
            rankset_release(&ticket->candidates); /* the rest is the pool's */
        }
        chain_free(&queue->own);
        region_free(&queue->region);
        stack->top = queue->up;
        free(queue);
    }
    stack->entry = NULL;
}
