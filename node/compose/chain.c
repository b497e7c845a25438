/* chain.c - see chain.h. */
#include "node/compose/chain.h"

#include "hashing/identity.h"
#include "node/compose/queue.h"
#include "node/engine/lane.h"
#include "node/schedule/task_handle.h"
#include "node/spawn/spawn_check.h"
#include "node/tasks/task.h"
#include "proto/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHAIN_EDGES_MAX = 64,             /* between two batches, without a join */
    CHAIN_JOIN_MAX = LIMIT_INPUTS / 2 /* tasks that one join joins */
};

static void end_link(struct moot *m, const struct chain_link *link)
{
    struct handle *handle;
    if (task_handle_find(m, link->id, &handle) == MOOT_OK) {
        task_handle_end(m, handle);
    }
}

void chain_release(struct moot *m, struct chain *chain)
{
    for (size_t i = 0; i < chain->count; i++) {
        end_link(m, &chain->links[i]);
    }
    chain_free(chain);
}

void chain_free(struct chain *chain)
{
    free(chain->links);
    *chain = (struct chain){0};
}

/* What is known here to have ended well holds nothing back.  It stays in the chain all
 * the same: joins must be of the same tasks on ranks that have not heard of it yet. */
static bool holds_back(const struct task *task)
{
    return !task->known || task->status != MOOT_OK;
}

bool chain_add(struct moot *m, struct chain *chain, struct task *task)
{
    for (size_t i = 0; i < chain->count; i++) {
        if (chain->links[i].task == task) {
            return true;
        }
    }
    uint64_t id =
        chain_reserve(chain, chain->count + 1) ? task_handle_new(m, task, NULL) : 0;
    if (id == 0) {
        return false;
    }
    chain->links[chain->count++] = (struct chain_link){.task = task, .id = id};
    return true;
}

void chain_advance_to(struct moot *m, struct chain *chain, struct chain_link link)
{
    for (size_t i = 0; i < chain->count; i++) {
        end_link(m, &chain->links[i]);
    }
    chain->links[0] = link;
    chain->count = 1;
}

bool chain_reserve(struct chain *chain, size_t count)
{
    if (count <= chain->room) {
        return true;
    }
    size_t room = count < 8 ? 8 : count * 2;
    struct chain_link *links = realloc(chain->links, room * sizeof(*links));
    if (links == NULL) {
        return false;
    }
    chain->links = links;
    chain->room = room;
    return true;
}

void chain_advance(struct moot *m, struct chain *chain, struct chain *next)
{
    chain_release(m, chain);
    *chain = *next;
    *next = (struct chain){0};
}

/* --- Joins ---------------------------------------------------------------------- */

static int run_join(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

void chain_kernel_init(struct kernel *kernel)
{
    static char name[] = "moot.join";
    *kernel = (struct kernel){.name = name, .fn = run_join, .told = true};
    identity_kernel_init(&kernel->identity, name, kernel->version);
}

/* What is around a join: the scope, or the parent, of what it orders. */
struct around {
    moot_hash scope, parent_hash;
    struct task *parent;
    bool nested;
};

static int join_some(struct moot *m, struct lane *lane, struct moot_queue *queue,
                     const struct around *around, const struct chain_link *links,
                     size_t count, struct chain_link *out)
{
    moot_hash *hashes = malloc(count * sizeof(*hashes));
    struct task **tasks = malloc(count * sizeof(struct task *));
    int error = MOOT_ERR_NO_MEMORY;
    if (hashes != NULL && tasks != NULL && spawn_input_room(lane, count)) {
        for (size_t i = 0; i < count; i++) {
            tasks[i] = links[i].task;
            hashes[i] = links[i].task->hash;
        }
        moot_hash digest = digest_bytes(hashes, count * sizeof(*hashes));
        struct task_facts facts = {
            .kernel = &m->compose.join_kernel,
            .args = &digest,
            .args_size = sizeof(digest),
            .input_tasks = tasks,
            .parent = around->parent,
            .nested = around->nested,
            .priority = INT32_MAX,
            .label = "join",
            .reg = {.flags = m->compose.join_kernel.core_flags |
                             (around->nested ? CORE_TASK_NESTED : 0u),
                    .inputs = hashes,
                    .input_count = count,
                    .after_count = count,
                    .scope = around->scope,
                    .parent = around->parent_hash}};
        struct spawned spawned;
        error = queue_spawn_at(m, lane, queue->up, &facts, &spawned);
        if (error == MOOT_OK) {
            *out = (struct chain_link){.task = spawned.task, .id = spawned.id};
        }
    }
    free(hashes);
    free(tasks);
    return error;
}

/* Joins the last batch into one task. */
static int join(struct moot *m, struct lane *lane, struct moot_queue *queue,
                const struct around *around)
{
    struct chain *chain = queue->chain;
    while (queue->up != NULL && queue->up->chain == chain) {
        queue = queue->up; /* whose chain it is */
    }
    while (chain->count > 1) {
        struct chain next = {0};
        int error = MOOT_OK;
        for (size_t at = 0; at < chain->count && error == MOOT_OK;) {
            size_t some = chain->count - at;
            some = some < CHAIN_JOIN_MAX ? some : CHAIN_JOIN_MAX;
            struct chain_link link;
            lane = lane_now(m, lane); /* a queue above may have waited */
            error =
                chain_reserve(&next, next.count + 1)
                    ? join_some(m, lane, queue, around, &chain->links[at], some, &link)
                    : MOOT_ERR_NO_MEMORY;
            if (error == MOOT_OK) {
                next.links[next.count++] = link;
                at += some;
            }
        }
        if (error != MOOT_OK) {
            chain_release(m, &next);
            return error;
        }
        chain_advance(m, chain, &next);
    }
    return MOOT_OK;
}

/* --- Order ---------------------------------------------------------------------- */

static bool takes(struct task *const *inputs, size_t count, const struct task *task)
{
    size_t i = 0;
    while (i < count && inputs[i] != task) {
        i++;
    }
    return i < count;
}

int chain_order_spawn(struct moot *m, struct lane *lane, struct moot_queue *queue,
                      struct task_facts *facts)
{
    struct chain *chain = queue->chain;
    if (chain->count == 1 &&
        takes(facts->input_tasks, facts->reg.input_count, chain->links[0].task)) {
        return MOOT_OK;
    }
    size_t total = facts->reg.input_count + chain->count;
    if (chain->count > 1 && total > LIMIT_INPUTS) {
        const struct around around = {.scope = facts->reg.scope,
                                      .parent = facts->parent,
                                      .parent_hash = facts->reg.parent,
                                      .nested = facts->nested};
        int error = join(m, lane, queue, &around);
        if (error != MOOT_OK) {
            return error;
        }
        total = facts->reg.input_count + chain->count;
    }
    if (total > LIMIT_INPUTS) {
        return lane_fail(lane, MOOT_ERR_LIMIT,
                         "with the order of its queue it has more than %u inputs and "
                         "after together",
                         LIMIT_INPUTS);
    }
    if (!spawn_input_room(lane, total)) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for a queue's order");
    }
    for (size_t i = 0; i < chain->count; i++) {
        struct task *task = chain->links[i].task;
        if (holds_back(task)) {
            lane->inputs[facts->reg.input_count] = task;
            lane->hashes[facts->reg.input_count++] = task->hash;
            facts->reg.after_count++;
        }
    }
    facts->reg.inputs = lane->hashes;
    facts->input_tasks = lane->inputs;
    return MOOT_OK;
}

static int order_all(struct lane *lane, const struct chain *chain,
                     const struct ticket_list *batch)
{
    struct task **after = malloc((chain->count + 1) * sizeof(struct task *));
    int error = after != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < chain->count && error == MOOT_OK; i++) {
        if (holds_back(chain->links[i].task)) {
            after[count++] = chain->links[i].task;
        }
    }
    struct moot_ticket *ticket = batch->first;
    for (; ticket != NULL && error == MOOT_OK; ticket = ticket->next) {
        if (count != 1 || !takes(ticket->inputs, ticket->input_count, after[0])) {
            error = ticket_order(ticket, after, count);
        }
    }
    free(after);
    return error == MOOT_OK
               ? error
               : lane_fail(lane, error, "the order of a sequential queue: %s",
                           error_text(error));
}

static bool needs_join(const struct chain *chain, const struct ticket_list *batch)
{
    return chain->count > 1 &&
           (chain->count > CHAIN_JOIN_MAX ||
            (batch->count > 1 && chain->count * batch->count > CHAIN_EDGES_MAX));
}

int chain_order_batch(struct moot *m, struct lane *lane, struct moot_queue *queue,
                      const struct ticket_list *batch, struct chain *next)
{
    struct chain *chain = queue->chain;
    if (needs_join(chain, batch)) {
        const struct moot_ticket *first = batch->first;
        const struct around around = {.scope = first->scope,
                                      .parent = task_seldom(first->task)->parent,
                                      .parent_hash = first->parent_hash,
                                      .nested = first->task->nested};
        int error = join(m, lane, queue, &around);
        if (error != MOOT_OK) {
            return error;
        }
        lane = lane_now(m, lane);
    }
    int error = chain->count > 0 ? order_all(lane, chain, batch) : MOOT_OK;
    struct moot_ticket *ticket = batch->first;
    for (; ticket != NULL && error == MOOT_OK; ticket = ticket->next) {
        uint64_t id = chain_reserve(next, next->count + 1)
                          ? task_handle_new(m, ticket->task, NULL)
                          : 0;
        if (id == 0) {
            return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for a queue's order");
        }
        next->links[next->count++] =
            (struct chain_link){.task = ticket->task, .id = id};
    }
    return error;
}
