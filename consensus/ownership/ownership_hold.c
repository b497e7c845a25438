/* ownership_hold.c - what must be true of tasks, needs and requests between two steps
 * (PROTOCOL.md, T1 to T8 and I4 to I6).
 *
 * A task's record says what this rank is towards it; the rules here are those between
 * its parts: who owns it holds it and has its result when done, a chair's decision and
 * this rank's own doing do not contradict each other, a count is that of the edges and
 * lists that it counts.
 */
#include "consensus/ownership/ownership_private.h"

#include <assert.h>

static bool is_unfinished(const struct task_record *task)
{
    return task->own == CORE_OWN_WAIT || task->own == CORE_OWN_RUNNING;
}

void ownership_hold_fields(const struct core *core)
{
    const struct core_ownership *own = &core->ownership;
    assert(own->unfinished_count <= core->stats.tasks);
    assert(own->running <= own->unfinished_count);
    assert((own->unfinished_count == 0) ==
           (own->unfinished.at.next == &own->unfinished));
    assert(own->bounds.count <= own->bounds.room);
    assert(own->yields_ns <= core->now_ns);
    assert(own->reaccepting == 0 || !core->membership.settled);
    assert(own->votes_tested == &own->undecided ||
           own->votes_tested->requests->undecided);
    assert(own->last_wait == NULL || own->last_wait->lane_needs > 0);
    assert(own->push_list == NULL || own->push_list->on_push_list);
}

/* --- A task ---------------------------------------------------------------------- */

/* This rank's own part in the task. */
static void hold_own(const struct core *core, const struct task_record *task)
{
    assert(task->own <= CORE_OWN_DONE && task->have <= CORE_HAVE_DATA);
    assert(task->own == CORE_OWN_NONE || task->held);
    assert(task->own != CORE_OWN_DONE || task->have == CORE_HAVE_DATA);
    assert(!is_unfinished(task) || task->have == CORE_HAVE_NOTHING);
    assert(task->on_unfinished_list == is_unfinished(task));
    assert(task->own == CORE_OWN_NONE || task->owner == core->rank);
    assert(task->own != CORE_OWN_NONE || task->owner != core->rank ||
           core->rank == NOBODY);
    assert(task->have == CORE_HAVE_NOTHING || task->owner < core->size);
    assert(!task->on_push_list || task->own == CORE_OWN_DONE);
    assert(!task->pulled || task->have == CORE_HAVE_BARE);
    assert(task->own != CORE_OWN_NONE || rankset_empty(&task_ext(task)->pullers) ||
           task->pulled || ask_wants(task) || MUTANT(TREEGIVENUP));
    assert(core->rank >= PUSHED_NEAR || (task->pushed >> core->rank & 1) == 0);
}

/* The inputs that an owned task waits for. */
static void hold_missing(const struct core *core, const struct task_record *task)
{
    uint32_t waiting = task->own == CORE_OWN_WAIT && array_is_open(task);
    for (uint32_t i = 0; i < task->input_count; i++) {
        waiting += task_inputs(task)[i].waiting;
    }
    assert(task->missing == waiting);
    assert(waiting == 0 || task->own == CORE_OWN_WAIT);
    const struct leave *leave = &core->membership.leave;
    assert(task->own != CORE_OWN_WAIT || waiting > 0 ||
           (core->ownership.deferred && (task->flags & CORE_TASK_ONCE) != 0) ||
           (leave->going && !leave->returned)); /* it is to be offered to its chair */
}

/* Its needs are those of lanes and of what takes its result here. */
static void hold_needs(const struct task_record *task)
{
    uint32_t waiting = 0, users = 0;
    for (const struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        waiting += edge->waiting;
        users += !edge->order_only && is_unfinished(edge_to(edge));
    }
    assert(task->needs_done + task->needs_data ==
           task->lane_needs + waiting + task->sees_out);
    assert(task->users == users);
}

/* Where its motion stands. */
static void hold_asking(const struct task_record *task)
{
    assert(!task->pending || task->own == CORE_OWN_NONE);
    assert(!task->pending || !task->asked || MUTANT(LATEMUTE));
    assert(task->pending || (!task->owed && !task->ahead));
    assert(!task->asked || task->asked_want <= WANT_DATA);
}

/* The chair's record: decided once in a view (I4), and not for itself once yielded
 * (I5). */
static void hold_record(const struct core *core, const struct task_record *task)
{
    bool mine = task->chair == core->rank && !task->finder && !task->frozen;
    assert(task->rec != REC_VERDICT || task_ends_with(task) != 0);
    assert(task->rec < core->size || task->rec >= REC_VERDICT);
    if (!mine) {
        return;
    }
    assert(task->rec != core->rank || task->own != CORE_OWN_NONE);
    assert(task->rec >= core->size || task->rec == core->rank ||
           task->own == CORE_OWN_NONE);
    assert(task->rec != NOBODY || task->own == CORE_OWN_NONE);
}

static bool is_asker_known(const struct core *core, const struct requests *requests,
                           uint32_t i)
{
    bool known = requests->askers[i].rank < core->size;
    for (uint32_t k = 0; k < i && known; k++) {
        known = requests->askers[k].rank != requests->askers[i].rank;
    }
    return known;
}

static void hold_requests(const struct core *core, const struct task_record *task)
{
    const struct requests *requests = task->requests;
    assert(requests->asker_count <= requests->asker_room);
    assert(requests->askers != requests->few || requests->asker_room == REQUESTS_FEW);
    for (uint32_t i = 0; i < requests->asker_count; i++) {
        assert(is_asker_known(core, requests, i));
    }
    /* A finder that has learnt of another chair refers the askers to it. */
    assert(!requests->undecided || task->chair == core->rank || task->finder ||
           task->candidates != NULL);
    /* Tasks that reports have decided are taken off when the view has settled. */
    assert(!requests->undecided || task->rec == NOBODY || task->finder ||
           !core->membership.settled || core->membership.no_quorum);
    assert(requests->undecided || requests->bound_at == 0);
    assert(requests->first_ask_ns <= core->now_ns);
    assert(requests->balloting || !requests->reaccepting);
    if (requests->balloting) { /* T8: its voters are asked about one winner */
        assert(task->chair == core->rank && requests->winner != NOBODY);
        assert(hash_has(&task->hash, MOOT_HASH_ONCE));
        assert(rankset_has(&requests->acks, core->rank));
        assert(rankset_count(&requests->acks) < requests->quorum);
        /* Whom it repeats may return the task meanwhile, and the record is empty. */
        assert(requests->reaccepting || task->rec == NOBODY);
        assert(task_ext(task)->accepted == requests->winner);
        assert(task_ext(task)->accepted_epoch == core->epoch);
    }
}

void ownership_hold_task(const struct core *core, const struct task_record *task)
{
    hold_own(core, task);
    hold_missing(core, task);
    hold_needs(task);
    hold_asking(task);
    hold_record(core, task);
    if (task->requests != NULL) {
        hold_requests(core, task);
    }
}

/* --- Lists ----------------------------------------------------------------------- */

/* How many tasks stand on a list that goes around; its links lead back. */
static uint64_t count_list(const struct task_record *list)
{
    uint64_t count = 0;
    for (const struct task_record *task = list->at.next; task != list;
         task = task->at.next) {
        assert(task->at.prev->at.next == task);
        count++;
    }
    assert(list->at.prev->at.next == list);
    return count;
}

static void hold_pending(const struct core *core, const struct task_record *list)
{
    for (const struct task_record *task = list->at.next; task != list;
         task = task->at.next) {
        assert(task->pending && task->at.since_ns <= core->now_ns);
        assert(task->ahead == (list != &core->ownership.pending));
        assert(!task->owed || list == &core->ownership.asking);
    }
}

static uint64_t count_pushes(const struct core *core)
{
    uint64_t count = 0;
    for (const struct task_record *task = core->ownership.push_list; task != NULL;
         task = task->at.next) {
        assert(task->on_push_list);
        count++;
    }
    return count;
}

/* Counts that a walk over the table finds. */
struct role_counts {
    uint64_t pending, unfinished, running, pushes, undecided, reaccepting, needs;
};

static void walk_task(const struct task_record *task, struct role_counts *walk)
{
    walk->pending += task->pending;
    walk->unfinished += is_unfinished(task);
    walk->running += task->own == CORE_OWN_RUNNING;
    walk->pushes += task->on_push_list;
    walk->undecided += task->requests != NULL && task->requests->undecided;
    walk->reaccepting += task->requests != NULL && task->requests->reaccepting;
    walk->needs += task->needs_done + task->needs_data;
}

static void hold_counts(const struct core *core)
{
    const struct core_ownership *own = &core->ownership;
    struct role_counts walk = {0};
    for (size_t i = 0; i < core->state.slot_count; i++) {
        const struct task_record *task = core->state.slots[i];
        if (task != NULL && !is_stub(task)) {
            ownership_hold_task(core, task);
            walk_task(task, &walk);
        }
    }
    assert(walk.pending == count_list(&own->pending) + count_list(&own->waited) +
                               count_list(&own->asking));
    assert(walk.unfinished == count_list(&own->unfinished));
    assert(walk.unfinished == own->unfinished_count);
    assert(walk.running >= own->running); /* less those that wait for their children */
    assert(walk.pushes == count_pushes(core));
    assert(walk.pushes == own->push_count && own->push_count < WATCHED_ROOM);
    assert(walk.needs == own->open_needs);
    assert(walk.reaccepting == own->reaccepting);
    for (const struct task_record *task = own->undecided_requests.undecided_next;
         task != &own->undecided; task = task->requests->undecided_next) {
        assert(task->requests->undecided && walk.undecided > 0);
        assert(task->requests->undecided_next->requests->undecided_prev == task);
        walk.undecided--;
    }
    assert(walk.undecided == 0);
}

/* --- Bounds ---------------------------------------------------------------------- */

static void hold_heap(const struct bounds *bounds)
{
    for (uint32_t i = 0; i < bounds->count; i++) {
        const struct bound *bound = &bounds->items[i];
        assert(bound->task->requests->undecided);
        assert(bound->task->requests->bound_at == i + 1);
        assert(bounds->items[i > 0 ? (i - 1) / 2 : 0].need <= bound->need);
    }
}

/* Those that a roll's length may decide are found by it. */
static void hold_bounds(const struct core *core)
{
    const struct bounds *bounds = &core->ownership.bounds;
    hold_heap(bounds);
    for (const struct task_record *task =
             core->ownership.undecided_requests.undecided_next;
         task != &core->ownership.undecided; task = task->requests->undecided_next) {
        const struct requests *requests = task->requests;
        const uint64_t bound = requests_bound(requests);
        assert(requests->bound_at <= bounds->count);
        /* Outside repair mode no bound decides.  A task that it holds itself it claims
         * as soon as it may; one that reports have decided it is not asked to yield. */
        bool elsewhere = core->options.mode != CORE_REPAIR || core->step.closed ||
                         task->held || (!task->finder && !chair_has_holder(core, task));
        if (task->rec != NOBODY && !task->finder) {
            continue;
        }
        assert(requests->bound_at != 0
                   ? bounds->items[requests->bound_at - 1].need <= bound
                   : bound == NEED_NONE || elsewhere);
    }
}

/* T3: every input that an owned task waits for is needed as soon as the task. */
static void hold_demand(const struct core *core)
{
    for (const struct task_record *task = core->ownership.unfinished.at.next;
         task != &core->ownership.unfinished; task = task->at.next) {
        const struct edge *inputs = task_inputs(task);
        for (uint32_t i = 0; task->own == CORE_OWN_WAIT && i < task->input_count; i++) {
            const struct task_record *from = inputs[i].from;
            if (inputs[i].waiting) {
                assert(from->need <= demand_of_input(from, task));
                assert(from->demanded || !task->demanded);
            }
        }
    }
}

void ownership_hold(const struct core *core)
{
    const struct core_ownership *own = &core->ownership;
    ownership_hold_fields(core);
    hold_counts(core);
    hold_pending(core, &own->pending);
    hold_pending(core, &own->waited);
    hold_pending(core, &own->asking);
    hold_bounds(core);
    hold_demand(core);
}
