/* membership_hold.c - what must be true of views, votes and leavers between two steps
 * (PROTOCOL.md, V1 to V3, I8, I11, I12, I19).
 *
 * Sets of members are sets of members; ballots only rise; a vote for the next view is
 * for the view after this one; nothing is frozen when the view has settled, and what is
 * frozen is undecided.
 */
#include "consensus/membership/membership_private.h"

#include <assert.h>

static bool is_among(const struct rankset *some, const struct rankset *all)
{
    uint32_t words = rankset_words(some);
    bool among = true;
    for (uint32_t i = 0; i < words && among; i++) {
        among = (rankset_word(some, i) & ~rankset_word(all, i)) == 0;
    }
    return among;
}

static bool is_apart(const struct rankset *a, const struct rankset *b)
{
    uint32_t words = rankset_words(a);
    bool apart = true;
    for (uint32_t i = 0; i < words && apart; i++) {
        apart = (rankset_word(a, i) & rankset_word(b, i)) == 0;
    }
    return apart;
}

/* --- The view -------------------------------------------------------------------- */

static void hold_members(const struct core *core)
{
    const struct core_membership *membership = &core->membership;
    assert(core->member_count == rankset_count(&core->members));
    assert(core->epoch == 0 || rankset_has(&core->members, core->rank));
    assert(core->rank == NOBODY || core->state.uids[core->rank] == core->uid);
    /* Voters of older records are still asked. */
    assert(!membership->deciding ||
           (!membership->settled && core->ownership.reaccepting > 0));
    assert(membership->first_size <= core->size);
    assert(membership->large == committee_is_due(core, core->member_count));
    assert(membership->committee_count == rankset_count(&membership->committee));
    assert(is_among(&membership->committee, &core->members));
    assert(membership->large || rankset_equal(&membership->committee, &core->members));
    assert(is_among(&membership->reported, &core->members));
    assert(is_among(&membership->settled_peers, &core->members));
    assert(is_among(&membership->suspects, &core->members));
    assert(is_apart(&membership->retired, &core->members));
    if (core->rank != NOBODY) {
        assert(!rankset_has(&membership->suspects, core->rank));
        assert(!rankset_has(&membership->dead, core->rank));
    }
}

/* I19: a past starts at a settled view, and is of views before this one. */
static void hold_past(const struct core *core)
{
    const struct core_membership *membership = &core->membership;
    assert(membership->past_count <= LIMIT_PAST_VIEWS);
    for (uint32_t i = 0; i < membership->past_count; i++) {
        assert(membership->past[i].epoch < core->epoch);
        assert(i == 0 || membership->past[i - 1].epoch < membership->past[i].epoch);
    }
    for (uint32_t i = 0; i < membership->loss_count; i++) {
        assert(membership->losses[i].epoch < core->epoch);
    }
}

static void hold_times(const struct core *core)
{
    const struct core_membership *membership = &core->membership;
    assert(membership->entered_ns <= core->now_ns);
    assert(membership->watched_ns <= core->now_ns);
    assert(!membership->no_quorum || detector_is_on(core) || membership->large);
    assert(membership->no_quorum || !detector_is_on(core) ||
           membership->lacked_ns < core->options.quorum_wait_ns);
    for (int type = 0; type < MESSAGE_TYPE_END; type++) {
        assert(membership->sent_before[type] <= core->stats.sent[type]);
        assert(membership->received_before[type] <= core->stats.received[type]);
    }
}

/* --- The next view -----------------------------------------------------------------
 */

/* I12: what is voted for is the view after this one, under the highest ballot promised.
 */
static void hold_acceptor(const struct core *core)
{
    const struct paxos *paxos = &core->membership.paxos;
    assert(paxos->accepted <= paxos->promised);
    assert(paxos->pending_ballot <= paxos->promised);
    assert(paxos->accepted == 0 || paxos->value.epoch == core->epoch + 1);
    assert(paxos->pending_ballot == 0 || paxos->pending.epoch == core->epoch + 1);
    assert(core->membership.voted_next == (paxos->accepted != 0));
    assert(paxos->accepted == 0 || committee_serves(core));
}

static void hold_proposer(const struct core *core)
{
    /* A rank takes nobody's word that it is silent or dead itself. */
    assert(!rankset_has(&core->membership.suspects, core->rank));
    assert(!rankset_has(&core->membership.dead, core->rank));
    const struct paxos *paxos = &core->membership.paxos;
    assert(paxos->phase <= PAXOS_PROPOSING);
    assert(paxos->joiner_count <= paxos->joiner_room);
    assert(paxos->best < paxos->ballot || paxos->best == 0);
    assert(is_among(&paxos->voices, &core->membership.committee));
    if (paxos->phase != PAXOS_IDLE) {
        assert(paxos->ballot != 0 && committee_serves(core));
    }
    if (paxos->phase == PAXOS_PROPOSING) {
        assert(paxos->proposal.epoch == core->epoch + 1);
    }
}

static void hold_barrier(const struct core *core)
{
    const struct view_barrier *barrier = &core->membership.barrier;
    for (int what = 0; what < TALLY_END && core->membership.large; what++) {
        const struct barrier_count *count = &barrier->counts[what];
        uint32_t all = (1u << core->gossip.child_count) - 1;
        assert((count->below & ~all) == 0);
        assert(!count->passed || (count->mine && count->below == all));
    }
}

/* --- Leaving --------------------------------------------------------------------- */

static void hold_leave(const struct core *core)
{
    const struct core_membership *membership = &core->membership;
    const struct leave *leave = &membership->leave;
    assert(is_among(&membership->leavers, &core->members));
    assert(is_among(&membership->leavers_ready, &core->members));
    assert(leave->going || (!leave->ready && !leave->told && leave->untaken == 0));
    assert(!leave->going || core->step.closed);
    assert(!leave->ready || (leave->told && leave->untaken == 0));
    assert(!leave->ready || core->state.untaken == 0);
    assert(!leave->ready || rankset_has(&membership->leavers_ready, core->rank));
    assert(!membership->mail_waits || core->reclaim.drop.leaving > 0);
}

void membership_hold_fields(const struct core *core)
{
    hold_members(core);
    hold_past(core);
    hold_times(core);
    hold_acceptor(core);
    hold_proposer(core);
    hold_barrier(core);
    hold_leave(core);
}

/* --- Tasks ----------------------------------------------------------------------- */

/* I8: nothing is decided of a key that moved before the view has settled. */
void membership_hold_task(const struct core *core, const struct task_record *task)
{
    const struct task_ext *ext = task_ext(task);
    assert(!task->frozen || !core->membership.settled);
    assert(!task->frozen || task->chair == core->rank || task->finder);
    assert(!task->frozen || task->rec == NOBODY || core->membership.deciding ||
           MUTANT(JOINNOWAIT));
    assert(ext->accepted < core->size || ext->accepted >= REC_MAYBE);
    assert(ext->accepted_epoch <= core->epoch);
    assert(ext->heir < core->size || ext->heir == NOBODY);
    assert(!task->handing || ext->heir != NOBODY);
    assert(!task->returning || task->returned);
    assert((!task->handing && !task->returned) || core->membership.leave.going);
    /* A rank that is ready owns nothing new but what its voters were still asked
     * about: once tasks, which it does not start without a lease. */
    assert(!core->membership.leave.ready || !task->on_unfinished_list ||
           hash_has(&task->hash, MOOT_HASH_ONCE));
}

/* A task's chair is a function of its hash and the members. */
static void hold_chair(const struct core *core, const struct task_record *task)
{
    assert(task->chair ==
           chair_or_keeper(&core->members, &task->hash, task->candidates));
}

void membership_hold(const struct core *core)
{
    membership_hold_fields(core);
    for (size_t i = 0; i < core->state.slot_count; i++) {
        const struct task_record *task = core->state.slots[i];
        if (task != NULL && !is_stub(task)) {
            membership_hold_task(core, task);
            hold_chair(core, task);
        }
    }
}
