/* inspect.c - views of a core's state, for reports, info and tests (core_view.h).
 * Nothing here changes anything, but that a stub becomes a record. */
#include "consensus/step/step.h"

#include "consensus/gossip/gossip.h"
#include "consensus/ownership/ownership.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <string.h>

int core_refusal(const struct core *core, const moot_hash *hash,
                 const moot_hash *inputs, size_t input_count)
{
    assert(input_count == 0 || inputs != NULL);
    if (!forget_ever_has(core)) {
        return MOOT_OK;
    }
    bool forgotten = scope_is_dropped(core, hash),
         lost = reclaim_once_is_gone(core, hash);
    for (size_t i = 0; i < input_count && !forgotten && !lost; i++) {
        forgotten = scope_is_dropped(core, &inputs[i]);
        lost = reclaim_once_is_gone(core, &inputs[i]);
    }
    return forgotten ? MOOT_ERR_SCOPE_CLOSED : lost ? MOOT_ERR_RESULT_LOST : MOOT_OK;
}

bool core_past(const struct core *core, uint32_t index, uint64_t *epoch,
               const struct rankset **members)
{
    if (index >= core->membership.past_count) {
        return false;
    }
    *epoch = core->membership.past[index].epoch;
    *members = &core->membership.past[index].members;
    return true;
}

HOT bool core_is_short(const struct core *core) { return memory_is_short(core); }

COLD bool core_give_spare(struct core *core) { return memory_shorten(core); }

HOT bool core_takes_any(const struct core *core, uint32_t owner_plus_one)
{
    bool here = owner_plus_one == 0 || rankset_has(&core->members, owner_plus_one - 1);
    return here && !core->broken && !core->step.closed &&
           !core->termination.adjourned && !core->membership.fenced &&
           !core->step.any_declined && !forget_ever_has(core) && !memory_is_short(core);
}

bool core_reclaims(const struct core *core) { return reclaim_is_on(core); }

bool core_knows_holder(const struct core *core, const void *entry, uint32_t rank)
{
    return entry != NULL && !core_is_stub(entry) && rankset_has(&core->members, rank) &&
           roll_knows_holder(core, entry, rank);
}

bool core_array_ended(const void *entry)
{
    const struct task_record *task = entry;
    return task->have != CORE_HAVE_NOTHING || !array_is_open(task);
}

uint64_t core_array_fault(const void *entry)
{
    const struct array_record *array = task_ext(entry)->array;
    return array != NULL ? array_first_fault(array).index_plus_one : 0;
}

uint64_t core_array_count(const void *entry)
{
    const struct array_record *array = task_ext(entry)->array;
    return array != NULL ? array->spread.count : 0;
}

bool core_any_leaving(const struct core *core)
{
    return core->reclaim.drop.leaving > 0;
}

static void look_at_others(const struct core *core, const struct task_record *task,
                           struct core_task_view *out)
{
    FOR_MEMBERS(core, rank)
    {
        if (roll_knows_holder(core, task, rank)) {
            (void)rankset_add(&out->holders, rank);
        }
    }
    for (uint32_t i = 0; task->requests != NULL && i < task->requests->asker_count;
         i++) {
        (void)rankset_add(&out->asked_by, task->requests->askers[i].rank);
    }
}

bool core_task_look(struct core *core, const moot_hash *hash,
                    struct core_task_view *out)
{
    struct task_record *task = table_find(core, hash);
    if (task == NULL) {
        return false;
    }
    *out = (struct core_task_view){
        .held = task->held,
        .declined = task->declined,
        .asked = task->asked,
        .flags = task->flags,
        .position = task->position,
        .chair = task->finder ? NOBODY : task->chair,
        .owner =
            task->owner != NOBODY || task->rec >= core->size ? task->owner : task->rec,
        .canceller = task_ext(task)->canceller,
        .evidence = (enum evidence)task->evidence,
        .own = (enum core_own)task->own,
        .have = (enum core_have)task->have,
        .status = task->status,
        .missing = task->missing,
        .waits = task->needs_done + task->needs_data,
        .need = task->need,
        .site = task->site,
        .user = task,
        .candidates = task->candidates,
    };
    for (uint32_t i = 0; i < task->input_count && out->first_missing == NULL; i++) {
        if (task_inputs(task)[i].waiting) {
            out->first_missing = &task_inputs(task)[i].from->hash;
        }
    }
    look_at_others(core, task, out);
    out->lack = chair_lack(core, task, &out->awaited);
    return true;
}

void core_task_view_release(struct core_task_view *view)
{
    rankset_release(&view->asked_by);
    rankset_release(&view->holders);
    rankset_release(&view->awaited);
}

static enum core_standing standing_of(const struct core *core)
{
    const struct core_membership *membership = &core->membership;
    const struct paxos *paxos = &membership->paxos;
    bool holds[CORE_STANDING_END] = {
        [CORE_STANDING_JOINS] = core->epoch == 0,
        [CORE_STANDING_CUT] = membership->no_quorum,
        [CORE_STANDING_BALLOT] = paxos->promised != 0 || paxos->phase != PAXOS_IDLE,
        [CORE_STANDING_REPORTS] = !membership->settled && !membership->deciding,
        [CORE_STANDING_SETTLES] = membership->deciding,
        [CORE_STANDING_LEAVES] = membership->leave.going,
        [CORE_STANDING_SUSPECTS] = !rankset_empty(&membership->suspects),
        [CORE_STANDING_CLOSED] = core->step.closed,
        [CORE_STANDING_WAITS] = core->step.blocked,
        [CORE_STANDING_RUNS] = true,
    };
    enum core_standing first = CORE_STANDING_JOINS;
    while (!holds[first]) {
        first++;
    }
    return first;
}

void core_self_look(const struct core *core, struct core_self_view *out)
{
    *out =
        (struct core_self_view){.standing = standing_of(core),
                                .len = core->gossip.roll_len,
                                .blocked = core->step.blocked,
                                .closed = core->step.closed,
                                .lease = !detector_is_on(core) || detector_lease(core),
                                .no_quorum = core->membership.no_quorum,
                                .members = &core->members,
                                .suspects = &core->membership.suspects};
}

void core_each_open(const struct core *core,
                    bool (*see)(void *context, const moot_hash *hash), void *context)
{
    const struct task_record *task = core->ownership.unfinished.at.next;
    for (; task != &core->ownership.unfinished; task = task->at.next) {
        if (!see(context, &task->hash)) {
            return;
        }
    }
    task = core->ownership.undecided_requests.undecided_next;
    for (; task != &core->ownership.undecided; task = task->requests->undecided_next) {
        if (!see(context, &task->hash)) {
            return;
        }
    }
}

uint64_t core_undecided(const struct core *core)
{
    uint64_t count = 0;
    const struct task_record *task = core->ownership.undecided_requests.undecided_next;
    for (; task != &core->ownership.undecided; task = task->requests->undecided_next) {
        count++;
    }
    return count;
}

bool core_goes(const struct core *core, uint32_t rank)
{
    return rankset_has(&core->membership.leavers, rank) ||
           (rank == core->rank && core->membership.leave.going);
}

bool core_is_ready_to_go(const struct core *core, uint32_t rank)
{
    return rankset_has(&core->membership.leavers_ready, rank) ||
           rankset_has(&core->membership.retired, rank);
}

uint32_t core_generation(const struct core *core, moot_hash *snapshot)
{
    *snapshot = core->reload.snapshot;
    return core->reload.generation;
}

uint64_t core_incarnation(const struct core *core, uint32_t rank)
{
    return rank < core->size ? core->state.uids[rank] : 0;
}

bool core_peer_look(const struct core *core, uint32_t rank, struct core_peer_view *out)
{
    if (rank >= core->size) {
        return false;
    }
    const struct peer *peer = peer_seen(core, rank);
    *out = (struct core_peer_view){
        .heard_ns = peer->heard_ns, .state = peer->state, .waits_for = peer->waits_for};
    return true;
}

_Static_assert((int)CORE_TREE_ARITY == (int)TREE_ARITY, "a host knows all children");

bool core_tree_look(const struct core *core, struct core_tree_view *out)
{
    *out = (struct core_tree_view){.parent = core->gossip.parent};
    if (!disseminate_is_on(core) || !rankset_has(&core->members, core->rank)) {
        return false;
    }
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        out->children[out->child_count++] = core->gossip.children[i];
    }
    return true;
}

void core_each_wait(const struct core *core,
                    void (*see)(void *context, const moot_hash *hash), void *context)
{
    for (size_t i = 0; i < core->state.slot_count; i++) {
        const struct task_record *task =
            !is_stub(core->state.slots[i]) ? core->state.slots[i] : NULL;
        if (task != NULL && task->needs_done + task->needs_data > 0 &&
            !task_satisfied(task)) {
            see(context, &task->hash);
        }
    }
}

const struct core_stats *core_stats(const struct core *core) { return &core->stats; }

void core_view(const struct core *core, uint64_t *epoch, uint64_t *view_id)
{
    *epoch = core->epoch;
    *view_id = core->view_id;
}

uint64_t core_unfinished(const struct core *core)
{
    return core->ownership.unfinished_count;
}
