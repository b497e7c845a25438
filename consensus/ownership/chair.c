/* chair.c - deciding who owns a task.
 *
 * In one view nobody but the chair proposes an owner, so proposals never duel.  A chair
 * that holds a task claims it without a message (T2).  One that does not yields it to a
 * holder when there is evidence that it will not register it itself (T5), and tells the
 * winner who asked (notify.c).  The record `owner` is written once (I4): whoever
 * registers the task later finds it written and is one more holder, never a second
 * owner.
 *
 * A task with candidates has its chair among them, and its hash says that there are
 * some but not which.  Who is asked for such a task by someone who does not hold it is
 * a *finder*: it seeks a holder, learns the candidates, and refers the askers to the
 * chair.
 *
 * Where no candidate is a member any more, the finder is the chair, to *keep* what has
 * run: it serves a result that the reports have found with somebody, and ends all other
 * waits with NO_CANDIDATE.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/state/state.h"

#include <assert.h>

/* --- Evidence (T5) ------------------------------------------------------------- */

static bool hinted(const struct requests *requests)
{
    for (uint32_t i = 0; i < requests->asker_count; i++) {
        if (requests->askers[i].holds && requests->askers[i].hint) {
            return true;
        }
    }
    return false;
}

static uint64_t vote_due_ns(const struct core *core, const struct requests *requests)
{
    uint64_t timeout_ns = core->state.vote_timeout_ns;
    return timeout_ns > CORE_NEVER - requests->first_ask_ns
               ? CORE_NEVER
               : requests->first_ask_ns + timeout_ns;
}

static enum evidence evidence_for(const struct core *core,
                                  const struct task_record *task)
{
    assert(task->chair == core->rank && task->requests != NULL);
    const struct requests *requests = task->requests;
    if (hash_has(&task->hash, MOOT_HASH_NESTED)) {
        return EVIDENCE_NESTED;
    }
    if (core->options.mode == CORE_STRICT && hinted(requests) &&
        peer_beginning(core, core->rank) != NULL) {
        return EVIDENCE_HINT;
    }
    if (core->options.mode != CORE_REPAIR) {
        return EVIDENCE_NONE;
    }
    if (task->declined) {
        return EVIDENCE_DECLINED;
    }
    if (core->step.closed || scope_is_closed(core, task) || task->passed) {
        return EVIDENCE_CLOSED;
    }
    if (hinted(requests)) {
        return EVIDENCE_HINT;
    }
    const bool behind = core->gossip.roll_len < core->gossip.before && !MUTANT(BEHIND);
    if (core->step.blocked && (MUTANT(BLOCKEDONLY) || behind ||
                               requests_bound(requests) <= core->gossip.roll_len)) {
        return EVIDENCE_BLOCKED;
    }
    return vote_due_ns(core, requests) <= core->now_ns ? EVIDENCE_TIMEOUT
                                                       : EVIDENCE_NONE;
}

/* --- Holders (G4) -------------------------------------------------------------- */

static bool is_leaving(const struct core *core, uint32_t rank)
{
    return rankset_has(&core->membership.leavers, rank) ||
           (rank == core->rank && core->membership.leave.going);
}

/* The least loaded holder; ties: fewest wins, lowest rank. */
static uint32_t best_holder(const struct core *core, const struct task_record *task,
                            bool leaving)
{
    assert(!task->finder);
    uint32_t best = NOBODY;
    FOR_MEMBERS(core, rank)
    {
        if (is_leaving(core, rank) != leaving || !chair_may_choose(core, task, rank)) {
            continue;
        }
        const struct peer *peer = peer_seen(core, rank);
        const struct peer *champion = best != NOBODY ? peer_seen(core, best) : NULL;
        if (champion == NULL || peer->state.load < champion->state.load ||
            (peer->state.load == champion->state.load && peer->wins < champion->wins)) {
            best = rank;
        }
    }
    return best;
}

/* Who leaves is the last resort. */
static uint32_t preferred_holder(const struct core *core,
                                 const struct task_record *task)
{
    uint32_t best = best_holder(core, task, false);
    return best != NOBODY ? best : best_holder(core, task, true);
}

/* --- Where no candidate is left ------------------------------------------------- */

/* This rank, the task's chair, is no candidate, so none is a member: it serves what has
 * run and decides nothing. */
static bool is_keeper(const struct core *core, const struct task_record *task)
{
    return task->candidates != NULL && !rankset_has(task->candidates, core->rank);
}

/* Its roll begins behind this rank's, or with it, or this rank is no newcomer (V5). */
static bool has_come_later(const struct core *core, uint32_t rank)
{
    const struct message_newcomer *ours = peer_beginning(core, core->rank);
    const struct message_newcomer *theirs = peer_beginning(core, rank);
    bool later = ours != NULL && theirs != NULL && theirs->lanes >= ours->lanes;
    for (uint32_t lane = 0; later && lane < ours->lanes; lane++) {
        later = theirs->places[lane] >= ours->places[lane];
    }
    return later;
}

/* The rolls of all who may own it begin behind it. */
static bool is_before_all(const struct core *core, const struct task_record *task)
{
    bool before = core->options.mode == CORE_STRICT && task->candidates != NULL &&
                  hinted(task->requests) && !chair_has_choice(core, task);
    FOR_MEMBERS(core, rank)
    {
        before = before &&
                 (!rankset_has(task->candidates, rank) || has_come_later(core, rank));
    }
    return before;
}

/* --- Deciding (T2, T5, T8) ----------------------------------------------------- */

HOT static void chair_decided(struct core *core, struct task_record *task,
                              uint32_t owner, enum evidence evidence)
{
    assert((task->rec == NOBODY || MUTANT(AMNESIA)) && task->chair == core->rank);
    task->rec = owner;
    task->evidence = (uint8_t)evidence;
    undecided_remove(core, task);
    if (evidence == EVIDENCE_CLAIM) {
        core->stats.claimed++;
        out_note(core, CORE_POINT_CLAIM, task, NOBODY, evidence);
    } else {
        core->stats.yields[evidence]++;
        peer_of(core, owner)->wins++;
        out_note(core, CORE_POINT_VOTE_CAST, task, owner, evidence);
    }
    if (owner == core->rank) {
        graph_own(core, task, evidence);
        graph_answer(core, task);
    } else {
        notify_askers(core, task, true);
    }
}

static bool asks(const struct requests *requests, uint32_t rank)
{
    for (uint32_t i = 0; i < requests->asker_count; i++) {
        if (requests->askers[i].rank == rank) {
            return requests->askers[i].want != WANT_NOTHING;
        }
    }
    return false;
}

/* One proposal in an epoch: what its winner has returned it may get back, because it
 * needs it or nobody else holds it; another owner takes the next view. */
static void propose_to_voters(struct core *core, struct task_record *task,
                              uint32_t owner, enum evidence evidence)
{
    assert(hash_has(&task->hash, MOOT_HASH_ONCE));
    const struct requests *requests = task->requests;
    uint32_t winner = requests != NULL ? requests->winner : NOBODY;
    bool last_resort = evidence == EVIDENCE_QUIET && winner != NOBODY &&
                       chair_may_choose(core, task, winner);
    if (winner != NOBODY && winner < core->size &&
        (winner == owner || asks(requests, winner) || last_resort)) {
        bool again = requests->evidence == EVIDENCE_NONE && evidence != EVIDENCE_CLAIM;
        chair_decided(core, task, winner, again ? evidence : requests->evidence);
    } else if (winner == NOBODY && once_propose(core, task, owner, evidence)) {
        chair_decided(core, task, owner, evidence);
    }
}

HOT static void propose(struct core *core, struct task_record *task, uint32_t owner,
                        enum evidence evidence)
{
    if (hash_has(&task->hash, MOOT_HASH_ONCE) && !MUTANT(NOBALLOT)) {
        propose_to_voters(core, task, owner, evidence);
    } else {
        chair_decided(core, task, owner, evidence);
    }
}

HOT void chair_claim(struct core *core, struct task_record *task)
{
    bool balloting = task->requests != NULL && task->requests->balloting;
    if (task->chair == core->rank && task->held && !task->finder &&
        (task->rec == NOBODY || MUTANT(AMNESIA)) && !balloting && !task->frozen &&
        (!core->membership.no_quorum || MUTANT(QUORUMCLAIM)) &&
        !is_keeper(core, task) && !verdict_forbids(core, task) &&
        !leave_forbids_claim(core, task)) {
        propose(core, task, core->rank, EVIDENCE_CLAIM);
    }
}

static void yield(struct core *core, struct task_record *task)
{
    assert(task->chair == core->rank && task->rec == NOBODY);
    assert(!task->frozen || MUTANT(JOINNOWAIT));
    enum evidence evidence = evidence_for(core, task);
    uint32_t winner = evidence != EVIDENCE_NONE ? preferred_holder(core, task) : NOBODY;
    if (winner != NOBODY) {
        propose(core, task, winner, evidence);
    }
}

/* --- Seeking, finding, failing ------------------------------------------------- */

/* A holder has said all that is to be known of the task: its candidates, and, if it may
 * travel, its spec, by which a chair holds it.  Then only a candidate can help. */
static bool can_help(const struct task_record *task, uint32_t rank)
{
    return task->candidates == NULL || rankset_has(task->candidates, rank) ||
           (rankset_empty(&task_ext(task)->holders) && !MUTANT(SEEKFEW)) ||
           MUTANT(SEEKALL);
}

static void seek(struct core *core, struct task_record *task)
{
    assert(task->rec == NOBODY || task->finder);
    struct requests *requests = task->requests;
    bool wanted =
        requests_is_wanted(requests) ||
        (task->finder && task_ext(task)->canceller != NOBODY); /* whom to pass it to */
    if (requests->seek_sent || !wanted || core->options.mode == CORE_TRUST ||
        MUTANT(NOSEEK)) {
        return;
    }
    requests->seek_sent = true;
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank && rankset_has(&core->members, rank) &&
            can_help(task, rank)) {
            out_send(core, rank, MESSAGE_SEEK, task);
            core->stats.seeks_sent++;
        }
    }
}

/* The waits for it end with this, and nothing else does. */
static void fail_waits(struct core *core, struct task_record *task, int32_t code)
{
    verdict_tell_askers(core, task, &(struct message_verdict){.code = code});
}

/* --- Telling the candidates ------------------------------------------------------ */

static void refer_rank(struct core *core, struct task_record *task, uint32_t to)
{
    assert(task->candidates != NULL);
    struct message *message = out_send(core, to, MESSAGE_REFER, task);
    if (message != NULL) {
        message->u.refer.candidates = task->candidates;
    }
}

void chair_tell_ahead(struct core *core, struct task_record *task, uint32_t to)
{
    bool once = hash_has(&task->hash, MOOT_HASH_ONCE);
    if (once && task->candidates != NULL && to != core->rank &&
        !roll_knows_holder(core, task, to) && !MUTANT(CANDIDATESMUTE)) {
        refer_rank(core, task, to);
    }
}

/* The candidates are known and the chair is another: send the askers there. */
static void refer_askers(struct core *core, struct task_record *task)
{
    assert(task->chair != core->rank && task->candidates != NULL);
    struct requests *requests = task->requests;
    bool self = false;
    for (uint32_t i = 0; i < requests->asker_count; i++) {
        const struct asker *asker = &requests->askers[i];
        if (asker->rank == core->rank) {
            self = true;
        } else if (asker->want != WANT_NOTHING && !asker->holds && !MUTANT(NOREFER)) {
            refer_rank(core, task, asker->rank);
        }
    }
    requests->asker_count = 0;
    undecided_remove(core, task);
    if (self) {
        task->asked = false;
        agenda_add(core, task, AGENDA_ASK);
    }
}

/* --- The chair's one question: what now? --------------------------------------- */

/* A leaver gives away what it would have claimed, though nobody has asked: holders do
 * not tell a chair that holds it, too. */
static bool is_to_pass_on(const struct core *core, const struct task_record *task)
{
    return core->membership.leave.going && task->chair == core->rank && task->held &&
           !task->finder && task->rec == NOBODY && !MUTANT(LEAVEUNASKED) &&
           leave_another_may_run(core, task);
}

/* This rank is no chair, but the reports have told every member alike who has the
 * result. */
static bool is_somewhere(const struct core *core, const struct task_record *task)
{
    const struct recovery *found = task_ext(task)->recovery;
    return task->chair == core->rank && task->rec < core->size &&
           (task->have == CORE_HAVE_DATA ||
            (found != NULL && !rankset_empty(&found->at)));
}

static void retest_as_finder(struct core *core, struct task_record *task)
{
    assert(task->finder && task->requests != NULL);
    if (is_somewhere(core, task)) {
        undecided_remove(core, task);
        notify_askers(core, task, false);
        return;
    }
    seek(core, task);
    verdict_if_nobody_will(core, task);
}

void chair_retest(struct core *core, struct task_record *task)
{
    bool passes_on = is_to_pass_on(core, task);
    struct requests *requests = passes_on ? requests_of(core, task) : task->requests;
    if (requests != NULL && requests->failing && !task->finder) {
        verdict_void(core, task); /* the candidates are known now: the chair decides */
    }
    if (requests == NULL || requests->balloting ||
        (task->frozen && !MUTANT(JOINNOWAIT)) || verdict_holds_back(task)) {
        return;
    }
    if (task_ends_with(task) != 0) {
        verdict_serve(core, task);
        return;
    }
    if (task->finder) {
        retest_as_finder(core, task);
        return;
    }
    if (task->chair != core->rank) {
        if (task->own == CORE_OWN_NONE && task->candidates != NULL) {
            refer_askers(core, task);
        }
        return;
    }
    if (!core->membership.no_quorum && verdict_crashes(core, task)) {
        return;
    }
    chair_claim(core, task);
    if (task->rec == REC_MAYBE) {
        if (!core->membership.no_quorum ||
            MUTANT(QUORUMMAYBE)) { /* others may know better */
            fail_waits(core, task, MOOT_ERR_MAYBE_RAN);
        }
        return;
    }
    if (task->rec == REC_LOST) {
        fail_waits(core, task, MOOT_ERR_RESULT_LOST);
        return;
    }
    const bool nobody_may = is_keeper(core, task) || is_before_all(core, task);
    if ((task->rec == NOBODY || MUTANT(NOKEEPER)) && nobody_may &&
        !core->membership.no_quorum) {
        fail_waits(core, task, MOOT_ERR_NO_CANDIDATE);
        return;
    }
    bool gives = requests->asker_count > 0 || passes_on;
    if (task->rec == NOBODY && !requests->balloting && gives &&
        (!core->membership.no_quorum || MUTANT(QUORUMCLAIM))) {
        yield(core, task);
    }
    if (task->rec != NOBODY) {
        undecided_remove(core, task); /* the reports may have decided it */
        notify_askers(core, task, false);
    } else if (!requests->balloting && !chair_has_holder(core, task)) {
        seek(core, task);
        verdict_if_nobody_will(core, task);
    }
}

void chair_retest_all(struct core *core)
{
    for (struct task_record *task = core->ownership.undecided_requests.undecided_next;
         task != &core->ownership.undecided; task = task->requests->undecided_next) {
        agenda_add(core, task, AGENDA_TEST);
    }
}

/* Of what nobody is known to hold, who holds it says so, and then it is tested. (Hashes
 * are exchanged when this rank has closed, and its lanes block no more.) */
static bool may_be_yielded(const struct core *core, const struct task_record *task)
{
    return task->finder || chair_has_holder(core, task);
}

void chair_retest_passed(struct core *core)
{
    assert(core->step.blocked);
    if (MUTANT(BLOCKEDONLY)) {
        chair_retest_all(core);
        return;
    }
    uint32_t count;
    struct task_record **list = undecided_passed(core, core->gossip.roll_len, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i]->requests->undecided) {
            chair_retest(core, list[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (list[i]->requests->undecided && may_be_yielded(core, list[i])) {
            undecided_add(core, list[i]); /* by its bound, of which it was taken off */
        }
    }
}

/* Ends, or begins to, that the task is undecided; false if it cannot. */
static bool yield_when_quiet(struct core *core, struct task_record *task)
{
    assert(task->requests->undecided);
    if (task->requests->balloting || task->chair != core->rank || task->finder ||
        (core->membership.no_quorum && !MUTANT(QUORUMCLAIM))) {
        return false;
    }
    if (verdict_crashes(core, task)) {
        return !task->requests->undecided;
    }
    uint32_t winner = preferred_holder(core, task);
    if (winner == NOBODY) {
        return false;
    }
    if (core->options.mode == CORE_STRICT && strict_all_rest(core)) {
        return false; /* the difference will be declared, which ends every wait */
    }
    if (core->options.mode == CORE_STRICT) {
        fail_waits(core, task, MOOT_ERR_DIVERGED);
    } else {
        propose(core, task, winner, EVIDENCE_QUIET);
    }
    return !task->requests->undecided || task->requests->balloting;
}

void chair_yield_all(struct core *core) { core->ownership.yields_ns = core->now_ns; }

void chair_yield_some(struct core *core)
{
    struct task_record *stays =
        &core->ownership.undecided; /* none up to it can be yielded */
    for (int said = 0; core->ownership.yields_ns != 0 && said < SAYS_PER_TURN;) {
        struct task_record *task = stays->requests->undecided_next;
        if (task == &core->ownership.undecided ||
            task->requests->first_ask_ns > core->ownership.yields_ns) {
            core->ownership.yields_ns = 0;
        } else if (!yield_when_quiet(core, task)) {
            stays = task;
        } else {
            said++;
            fetch_ahead(stays->requests->undecided_next, sizeof(*task));
            bool left =
                stays != &core->ownership.undecided && !stays->requests->undecided;
            stays = left ? &core->ownership.undecided
                         : stays; /* another's decision was its */
        }
    }
}

/* Of those that are yet to be tested; NULL: there is none. */
static struct task_record *next_vote(const struct core *core)
{
    struct task_record *task = core->ownership.votes_tested->requests->undecided_next;
    return task != &core->ownership.undecided ? task : NULL;
}

uint64_t chair_deadline(const struct core *core)
{
    if (core->options.mode != CORE_REPAIR ||
        core->state.vote_timeout_ns == CORE_NEVER) {
        return CORE_NEVER;
    }
    const struct task_record *task = next_vote(core);
    return task != NULL ? vote_due_ns(core, task->requests) : CORE_NEVER;
}

/* Whose time came before is tested when it gets a holder.  Deciding one task may decide
 * others. */
void chair_retest_due(struct core *core)
{
    while (chair_deadline(core) <= core->now_ns) {
        struct task_record *task = next_vote(core);
        assert(task != NULL);
        core->ownership.votes_tested = task;
        chair_retest(core, task);
    }
}

/* --- For people who ask why ---------------------------------------------------- */

static void add_members_beyond(const struct core *core, const struct rankset *done,
                               struct rankset *out)
{
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank && !rankset_has(done, rank)) {
            (void)rankset_add(out, rank);
        }
    }
}

enum core_lack chair_lack(const struct core *core, const struct task_record *task,
                          struct rankset *awaited)
{
    const struct requests *requests = task->requests;
    if (task->rec != NOBODY || task->own != CORE_OWN_NONE ||
        (task->chair != core->rank && !task->finder)) {
        return CORE_LACK_NOTHING;
    }
    if (task->frozen) {
        add_members_beyond(core, &core->membership.reported, awaited);
        return CORE_LACK_REPORTS;
    }
    if (core->membership.no_quorum) {
        return CORE_LACK_QUORUM;
    }
    if (requests == NULL || requests->asker_count == 0) {
        return CORE_LACK_MOTION;
    }
    if (requests->balloting) {
        once_awaited(core, task, awaited);
        return CORE_LACK_VOTERS;
    }
    if (task->finder || !chair_has_choice(core, task)) {
        add_members_beyond(core, &requests->never, awaited);
        return task->finder ? CORE_LACK_CANDIDATES : CORE_LACK_HOLDER;
    }
    if (core->options.mode != CORE_REPAIR) {
        return CORE_LACK_MODE;
    }
    if (evidence_for(core, task) != EVIDENCE_NONE) {
        return CORE_LACK_NOTHING; /* this very turn decides it */
    }
    return core->step.blocked ? CORE_LACK_DEMAND : CORE_LACK_EVIDENCE;
}

/* --- Motions (T4) -------------------------------------------------------------- */

static bool concerns_me(struct core *core, uint32_t from, struct task_record *task)
{
    assert(from != core->rank);
    if (task->chair == core->rank || task->finder) {
        return true;
    }
    if (task->candidates != NULL) {
        refer_rank(core, task, from);
    } else {
        core->stats.refused++;
    }
    return false;
}

void chair_on_motion(struct core *core, uint32_t from, struct task_record *task,
                     const struct message_motion *motion)
{
    assert(from != core->rank && rankset_has(&core->members, from));
    out_note(core, CORE_POINT_MOTION_RECV, task, from, EVIDENCE_NONE);
    if (motion->holds) {
        if (!rankset_add(&task_ext_get(core, task)->holders, from)) {
            core->broken = true;
            return;
        }
    }
    bool found = task->finder;
    if (!task_learn_candidates(core, task, motion->candidates)) {
        return;
    }
    if (motion->holds && task->requests != NULL && task->requests->failing) {
        verdict_void(core, task);
    }
    if (found && !task->finder) { /* a wait or cancel of our own went to the finder */
        agenda_add(core, task, AGENDA_ASK | AGENDA_CANCEL);
    }
    if (motion->final) {
        struct requests *requests = requests_of(core, task);
        if (requests != NULL && !rankset_add(&requests->never, from)) {
            core->broken = true;
        }
    } else if (motion->holds && motion->want == WANT_NOTHING &&
               task->chair != core->rank) {
        /* An answer to a finder's seek: its askers are referred below. */
    } else if (!motion->holds && motion->want == WANT_NOTHING) {
        requests_take_back(core, task, from);
        return;
    } else if (!concerns_me(core, from, task)) {
        return;
    } else {
        requests_note(core, task, from, motion);
        if (motion->want != WANT_NOTHING) {
            demand_pass_on(core, task, motion->need, true);
        }
    }
    agenda_add(core, task, AGENDA_TEST);
}

void chair_on_ack(struct core *core, uint32_t from, struct task_record *task)
{
    if (once_on_ack(core, from, task)) {
        chair_decided(core, task, task->requests->winner, task->requests->evidence);
    }
}
