/* bulk_region.c - see bulk_region.h. */
#include "node/compose/bulk_region.h"

#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "node/compose/queue.h"
#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/schedule/task_handle.h"
#include "node/spawn/spawn.h"
#include "node/tasks/task.h"

#include <assert.h>
#include <stdlib.h>

bool region_is_open(const struct moot_queue *queue)
{
    return queue->kind == QUEUE_BULK && queue->up == NULL && queue->kept.count == 0;
}

/* Room for the next task, which is not counted yet; NULL without memory. */
static struct unnamed_task *next_place(struct region *region)
{
    struct region_part *last = region->last;
    if (last == NULL || last->count == REGION_TASKS) {
        struct region_part *part = malloc(sizeof(*part));
        if (part == NULL) {
            return NULL;
        }
        part->next = NULL;
        part->count = 0;
        *(last != NULL ? &last->next : &region->first) = part;
        region->last = last = part;
    }
    return &last->tasks[last->count];
}

bool region_take(struct moot *m, struct lane *lane, struct moot_queue *queue,
                 const moot_task_spec *spec, const char *site, moot_task *out)
{
    struct unnamed_task *task = next_place(&queue->region);
    if (task == NULL || !unnamed_fill(m, lane, spec, site, task)) {
        return false;
    }
    out->id = task->id;
    queue->region.last->count++;
    m->compose.in_regions++;
    return true;
}

/* --- What is about to be forgotten ----------------------------------------------- */

/* Some task of it is that of an earlier spawn, whose handles have gone. */
static bool any_is_leaving(const struct moot *m, const struct region *region)
{
    bool any = false;
    for (const struct region_part *part = region->first; !any && part != NULL;
         part = part->next) {
        for (uint32_t i = 0; i < part->count && !any; i++) {
            const struct identity_block *block = &part->tasks[i].block;
            moot_hash hash;
            identity_hash_together(&block, 1, &hash);
            any = core_is_leaving(m->core, &hash);
        }
    }
    return any;
}

static bool any_is_leaving_of_all(const struct moot *m)
{
    bool any = false;
    for (const struct lane *lane = m->engine.lanes; lane != NULL && !any;
         lane = lane->next) {
        const struct moot_queue *queue = lane->queues.top;
        any = queue != NULL && any_is_leaving(m, &queue->region);
    }
    return any;
}

void region_wait_while_leaving(struct moot *m)
{
    struct idle idle = {0};
    while (core_any_leaving(m->core) && m->engine.fatal == 0 && !m->engine.closing &&
           any_is_leaving_of_all(m)) {
        if (!progress_drive_free(m)) {
            progress_idle(m, &idle, CORE_NEVER);
        }
    }
    progress_hand_over(m);
}

/* --- Closing ---------------------------------------------------------------------- */

/* The first part, which the region has no longer. */
static struct region_part *take_part(struct moot *m, struct region *region)
{
    struct region_part *part = region->first;
    region->first = part->next;
    region->last = region->first != NULL ? region->last : NULL;
    m->compose.in_regions -= part->count;
    return part;
}

/* Nothing has happened since they were collected by which that could fail. */
static bool can_register(const struct moot *m, const struct region *region)
{
    bool can = m->engine.fatal == 0 && !m->engine.closing;
    for (const struct region_part *part = region->first; can && part != NULL;
         part = part->next) {
        for (uint32_t i = 0; i < part->count; i++) {
            can &= unnamed_may_stay(m, &part->tasks[i]);
        }
    }
    return can;
}

/* A context that closes takes nothing more: neither what it holds, again. */
static int make_ticket(struct moot *m, struct lane *lane, struct moot_queue *queue,
                       struct task_facts *facts, const struct spawned *spawned)
{
    struct task *task = spawned->task;
    if (ticket_is_spawned(task, facts)) {
        return spawn_hold(m, lane, facts, spawned);
    }
    moot_ticket *ticket = ticket_new(m, task, facts);
    if (ticket != NULL) {
        ticket_list_add(&queue->kept, ticket);
    }
    return ticket != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* Tickets need records of the inputs. */
static void give_ticket(struct moot *m, struct lane *lane, struct moot_queue *queue,
                        struct unnamed_task *task, const moot_hash *hash)
{
    struct task_facts *facts = unnamed_facts(m, task, queue->line);
    for (uint32_t i = 0; i < task->input_count; i++) {
        bool stub = task->inputs[i] != NULL && core_is_stub(task->inputs[i]);
        task->inputs[i] = stub ? NULL : task->inputs[i];
    }
    struct spawned spawned = {.task = task_enter_for(m, hash, facts), .id = task->id};
    int error = MOOT_ERR_NO_MEMORY;
    if (spawned.task != NULL) {
        task_handle_give(m, task->id, spawned.task);
        error = make_ticket(m, lane, queue, facts, &spawned);
    }
    if (error == MOOT_ERR_NO_MEMORY) {
        engine_starve(m, "no memory for a place in a queue");
    }
}

/* The queue keeps tickets from now on. */
static void give_tickets(struct moot *m, struct lane *lane, struct moot_queue *queue)
{
    while (queue->region.first != NULL) {
        struct region_part *part = take_part(m, &queue->region);
        for (uint32_t i = 0; i < part->count; i++) {
            const struct identity_block *block = &part->tasks[i].block;
            moot_hash hash;
            identity_hash_together(&block, 1, &hash);
            give_ticket(m, lane, queue, &part->tasks[i], &hash);
        }
        free(part);
    }
}

void region_close(struct moot *m, struct lane *lane, struct moot_queue *queue)
{
    bool can = can_register(m, &queue->region);
    if (!can) {
        give_tickets(m, lane, queue);
    }
    while (queue->region.first != NULL) {
        struct region_part *part = take_part(m, &queue->region);
        unnamed_register(m, lane, queue->line, part->tasks, part->count);
        free(part);
    }
}

void region_end_all(struct moot *m)
{
    engine_settle(m);
    struct lane *lane = m->compose.in_regions > 0 ? m->engine.lanes : NULL;
    for (; lane != NULL; lane = lane->next) {
        struct moot_queue *queue = lane->queues.top;
        if (queue != NULL && queue->region.first != NULL) {
            give_tickets(m, lane, queue);
        }
    }
    assert(m->compose.in_regions == 0);
}

void region_end_patiently(struct moot *m)
{
    region_wait_while_leaving(m);
    engine_end_batches(m);
}

void region_free(struct region *region)
{
    while (region->first != NULL) {
        struct region_part *part = region->first;
        region->first = part->next;
        free(part);
    }
    region->last = NULL;
}
