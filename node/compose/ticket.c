/* ticket.c - see ticket.h. */
#include "node/compose/ticket.h"

#include "hashing/identity.h"
#include "node/engine/lane_scope.h"
#include "node/schedule/task_handle.h"
#include "node/spawn/spawn.h"
#include "node/tasks/kept_handles.h"
#include "node/tasks/task.h"
#include "proto/error.h"

#include <assert.h>
#include <string.h>

/* --- Lists ---------------------------------------------------------------------- */

void ticket_list_add(struct ticket_list *list, struct moot_ticket *ticket)
{
    ticket->prev = list->last;
    ticket->next = NULL;
    if (list->last != NULL) {
        list->last->next = ticket;
    } else {
        list->first = ticket;
    }
    list->last = ticket;
    list->count++;
}

void ticket_list_remove(struct ticket_list *list, struct moot_ticket *ticket)
{
    assert(list->count > 0);
    if (ticket->prev != NULL) {
        ticket->prev->next = ticket->next;
    } else {
        list->first = ticket->next;
    }
    if (ticket->next != NULL) {
        ticket->next->prev = ticket->prev;
    } else {
        list->last = ticket->prev;
    }
    ticket->prev = ticket->next = NULL;
    list->count--;
}

void ticket_list_move(struct ticket_list *to, struct ticket_list *from)
{
    if (from->first == NULL) {
        return;
    }
    from->first->prev = to->last;
    if (to->last != NULL) {
        to->last->next = from->first;
    } else {
        to->first = from->first;
    }
    to->last = from->last;
    to->count += from->count;
    *from = (struct ticket_list){0};
}

/* --- Life ----------------------------------------------------------------------- */

static bool use(struct moot_ticket *ticket, struct task *const *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!task_ticket_begin(ticket->m, tasks[i])) {
            return false;
        }
        ticket->use_count++;
    }
    return true;
}

static size_t inputs_bytes(size_t count) { return count * sizeof(struct task *); }

static void release(struct moot_ticket *ticket)
{
    struct moot *m = ticket->m;
    struct task *task = ticket->task;
    task->pending = false;
    assert(ticket->use_count <= ticket->input_count);
    for (uint32_t i = 0; i < ticket->use_count; i++) {
        task_ticket_end(m, ticket->inputs[i]);
    }
    pool_give(&m->store.pool, ticket->inputs, inputs_bytes(ticket->input_count));
    if (ticket->scope_kept) {
        scope_unkeep(m, &ticket->scope);
    }
    rankset_release(&ticket->candidates);
    if (ticket->begun) {
        task_ticket_end(m, task);
    }
    pool_give(&m->store.pool, ticket, sizeof(*ticket));
}

static bool fill_inputs(struct moot_ticket *ticket, const struct task_facts *facts)
{
    struct moot *m = ticket->m;
    if (facts->reg.input_count == 0) {
        return true;
    }
    ticket->inputs = pool_take(&m->store.pool, inputs_bytes(facts->reg.input_count));
    if (ticket->inputs == NULL) {
        return false;
    }
    ticket->input_count = (uint32_t)facts->reg.input_count;
    ticket->after_count = (uint32_t)facts->reg.after_count;
    for (size_t i = 0; i < facts->reg.input_count; i++) {
        struct task *known = facts->input_tasks != NULL ? facts->input_tasks[i] : NULL;
        ticket->inputs[i] =
            known != NULL ? known : task_enter(m, &facts->reg.inputs[i]);
        if (ticket->inputs[i] == NULL) {
            return false;
        }
    }
    return use(ticket, ticket->inputs, ticket->input_count);
}

bool ticket_is_spawned(const struct task *task, const struct task_facts *facts)
{
    return task->pending || (task->held && (!task->adopted || facts->nested));
}

static bool fill(struct moot_ticket *ticket, const struct task_facts *facts)
{
    struct moot *m = ticket->m;
    struct task *task = ticket->task;
    ticket->begun = task_ticket_begin(m, task);
    if (!ticket->begun || (!task->held && !task_fill(m, task, facts))) {
        return false;
    }
    if (facts->reg.candidates != NULL &&
        !rankset_copy(&ticket->candidates, facts->reg.candidates)) {
        return false;
    }
    ticket->place = facts->place;
    ticket->has_candidates = facts->reg.candidates != NULL;
    ticket->scope = facts->reg.scope;
    ticket->parent_hash = facts->reg.parent;
    ticket->hint = (facts->reg.flags & CORE_TASK_HINT) != 0;
    ticket->scope_kept = !facts->nested && !hash_is_zero(&facts->reg.scope) &&
                         scope_keep(m, &facts->reg.scope);
    return fill_inputs(ticket, facts);
}

struct moot_ticket *ticket_new(struct moot *m, struct task *task,
                               const struct task_facts *facts)
{
    assert(!ticket_is_spawned(task, facts));
    struct moot_ticket *ticket = pool_take(&m->store.pool, sizeof(*ticket));
    if (ticket == NULL) {
        return NULL;
    }
    ticket->m = m;
    ticket->task = task;
    if (!fill(ticket, facts)) {
        release(ticket);
        return NULL;
    }
    task->pending = true;
    return ticket;
}

/* False without memory, and then it is as it was. */
static bool add_after(struct moot_ticket *ticket, struct task *const *after,
                      size_t count)
{
    struct moot *m = ticket->m;
    size_t before = ticket->input_count, total = before + count;
    struct task **inputs = pool_take(&m->store.pool, inputs_bytes(total));
    if (inputs == NULL) {
        return false;
    }
    if (before > 0) {
        memcpy(inputs, ticket->inputs, inputs_bytes(before));
    }
    memcpy(inputs + before, after, inputs_bytes(count));
    if (!task_order_spec(m, ticket->task, inputs, total, ticket->after_count + count)) {
        pool_give(&m->store.pool, inputs, inputs_bytes(total));
        return false;
    }
    pool_give(&m->store.pool, ticket->inputs, inputs_bytes(before));
    ticket->inputs = inputs;
    ticket->input_count = (uint32_t)total;
    ticket->after_count += (uint32_t)count;
    return true;
}

int ticket_order(struct moot_ticket *ticket, struct task *const *after, size_t count)
{
    if (count > LIMIT_INPUTS - ticket->input_count) {
        return MOOT_ERR_LIMIT;
    }
    if (count == 0 || ticket->task->held) {
        return MOOT_OK; /* what is held by a peer's spec may run by now */
    }
    assert(ticket->use_count == ticket->input_count);
    bool good = add_after(ticket, after, count) && use(ticket, after, count);
    return good ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

int ticket_submit(struct moot_ticket *ticket, struct lane *lane)
{
    struct moot *m = ticket->m;
    struct task *task = ticket->task;
    struct task_facts facts = {
        .kernel = task->kernel,
        .input_tasks = ticket->inputs,
        .parent = task_seldom(task)->parent,
        .nested = task->nested,
        .priority = task->priority,
        .label = task_label(task),
        .place = ticket->place,
        .reg = {.scope = ticket->scope,
                .parent = ticket->parent_hash,
                .flags = task->kernel->core_flags |
                         (task->nested ? (uint32_t)CORE_TASK_NESTED : 0u) |
                         (ticket->hint ? (uint32_t)CORE_TASK_HINT : 0u),
                .input_count = ticket->input_count,
                .after_count = ticket->after_count,
                .candidates = ticket->has_candidates ? &ticket->candidates : NULL,
                .site = task_site(task)}};
    int error = spawn_filled(m, lane, task, &facts);
    release(ticket);
    return error;
}

void ticket_drop(struct moot_ticket *ticket) { release(ticket); }

void ticket_list_drop(struct ticket_list *list)
{
    struct moot *m = list->first != NULL ? list->first->m : NULL;
    while (list->first != NULL) {
        struct moot_ticket *ticket = list->first;
        ticket_list_remove(list, ticket);
        ticket_drop(ticket);
    }
    if (m != NULL) {
        task_tickets_settle(m);
    }
}
