/* view_paxos.c - agreeing on the next view (V1).
 *
 * The members of view e decide what view e+1 is: one classic single-decree Paxos per
 * view (Lamport, "The Part-Time Parliament", 1998), its acceptors the members of e, in
 * memory only.  Where e is large, its committee (committee.c) is what is said of the
 * members here: N of them propose and accept.  A proposer batches every cause it knows:
 * ranks that it suspects, certificates of death, newcomers.  A quorum is a set S of
 * members with
 *
 *     2|S| + [lowest rank in S] > N,   or   S and the certified dead together are all.
 *
 * The first is a majority, with the lowest rank as tie-break: of two disjoint halves
 * only one has it.  The second lets the survivors of certified deaths go on, however
 * few: what the dead decided alone, no living rank has learned.  Everyone who accepts a
 * message that lists certificates drops from then on whatever those ranks may still
 * have had in flight.  A newcomer would be a living rank outside e that has learned it,
 * so a moot that lets newcomers in counts the first only.  "A majority of the living"
 * and "half" are unsafe.
 *
 * An acceptor votes a rank out only with a certificate or when its own suspicion has
 * outlived its grants (failure_detector.c); while it hears the rank it says so instead,
 * and the proposer takes its suspicion back.  A value that somebody has voted for
 * already is another matter: it may be decided, so no other can be, and whoever hears a
 * rank that it removes stops granting it leases and votes when the last grant has run
 * out.
 *
 * The lowest unsuspected member proposes at once, the j-th after j staggers; who sees a
 * higher ballot starts waiting anew.
 */
#include "consensus/meeting/meeting.h"
#include "consensus/membership/membership_private.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>
#define BALLOT_RANK_BITS 20

/* --- Quorums ---------------------------------------------------------------------- */

static bool is_quorum(const struct core *core, const struct rankset *set,
                      const struct rankset *dead)
{
    uint32_t count = 0, covered = 0, living = 0;
    bool certificates =
        (!only_majorities(core) && !core->membership.large) || MUTANT(CERTJOIN);
    FOR_COMMITTEE(core, rank)
    {
        bool in = rankset_has(set, rank), gone = rankset_has(dead, rank);
        count += in;
        living += !gone;
        covered += in || (gone && certificates && !MUTANT(CERTDROP));
    }
    uint32_t lowest = rankset_has(set, rankset_next(&core->membership.committee, 0));
    if (MUTANT(HALF)) {
        return 2 * count >= core->membership.committee_count;
    }
    if (MUTANT(MAJLIVE)) {
        return 2 * count > living;
    }
    return 2 * count + lowest > core->membership.committee_count ||
           covered == core->membership.committee_count;
}

static bool is_everyone(const struct core *core, const struct rankset *set,
                        const struct rankset *dead)
{
    bool all = true;
    FOR_MEMBERS(core, rank)
    {
        all = all && (rankset_has(set, rank) || rankset_has(dead, rank));
    }
    return all;
}

/* Could they decide a view alone, whoever else lives? */
bool view_is_quorum(const struct core *core, const struct rankset *set)
{
    const struct rankset nobody = {0};
    return is_quorum(core, set, &nobody);
}

/* --- Causes, and whose turn it is ------------------------------------------------- */

static bool unwanted(const struct core *core, uint32_t rank)
{
    return rankset_has(&core->membership.dead, rank) ||
           rankset_has(&core->membership.suspects, rank);
}

/* Who is ready to leave goes in a view that removes nobody else: what it has handed
 * over must not be lost with an heir before anybody was told of it. */
static bool leavers_may_go(const struct core *core)
{
    bool may =
        !rankset_empty(&core->membership.leavers_ready) && core->member_count > 1;
    FOR_MEMBERS(core, rank) { may = may && !unwanted(core, rank); }
    return may;
}

/* Somebody stays. */
static uint32_t first_to_stay(const struct core *core)
{
    FOR_MEMBERS(core, rank)
    {
        if (!rankset_has(&core->membership.leavers_ready, rank)) {
            return rank;
        }
    }
    return rankset_next(&core->members, 0);
}

static bool has_cause(const struct core *core)
{
    bool doubt = !rankset_empty(&core->membership.dead) ||
                 !rankset_empty(&core->membership.suspects);
    FOR_MEMBERS(core, rank)
    {
        if (!doubt) {
            break;
        }
        if (unwanted(core, rank)) {
            return true;
        }
    }
    /* Who has voted grants no lease in this view any more: only the next one heals it.
     */
    return boundary_may_propose(core) || meeting_reload_is_due(core) ||
           core->membership.paxos.accepted != 0 ||
           (!rankset_empty(&core->membership.leavers_ready) && core->member_count > 1);
}

static uint32_t place_in_line(const struct core *core)
{
    uint32_t place = 0;
    FOR_COMMITTEE(core, rank)
    {
        if (rank == core->rank) {
            break;
        }
        place += !unwanted(core, rank);
    }
    return place;
}

/* A stagger's worth of spread that depends on who and when, not on chance. */
static uint64_t jitter_ns(const struct core *core)
{
    uint64_t words[3] = {core->state.uids[core->rank], core->membership.paxos.round,
                         core->epoch};
    moot_hash hash = digest_bytes(words, sizeof(words));
    return hash_word(&hash) % (core->options.stagger_ns / 2 + 1);
}

static void wait_for_turn(struct core *core, uint64_t extra_ns)
{
    assert(core->rank != NOBODY);
    struct paxos *paxos = &core->membership.paxos;
    uint64_t wait_ns = core->options.batch_ns +
                       place_in_line(core) * core->options.stagger_ns +
                       jitter_ns(core) + extra_ns;
    paxos->next_try_ns = add_ns(core->now_ns, wait_ns);
}

/* --- Proposing -------------------------------------------------------------------- */

static bool make_proposal(struct core *core, struct view *view)
{
    assert(core->membership.past_count < LIMIT_PAST_VIEWS ||
           recovery_all_settled(core));
    struct paxos *paxos = &core->membership.paxos;
    *view = (struct view){.epoch = core->epoch + 1, .reload = core->meeting.reload};
    bool good = rankset_copy(&view->left, &core->membership.retired);
    bool leaving = leavers_may_go(core);
    uint32_t stays = first_to_stay(core);
    FOR_MEMBERS(core, rank)
    {
        if (!unwanted(core, rank)) {
            bool goes = leaving && rank != stays &&
                        rankset_has(&core->membership.leavers_ready, rank);
            good = good && rankset_add(goes ? &view->left : &view->members, rank);
        }
    }
    good = good && view_add_former_newcomers(core, view) && view_add_losses(core, view);
    const uint32_t joiners = boundary_may_propose(core) ? paxos->joiner_count : 0;
    for (uint32_t i = 0; good && i < joiners; i++) {
        struct message_newcomer newcomer = paxos->joiners[i];
        meeting_name_places(core, &newcomer);
        if (MUTANT(JOINNEXT)) {
            newcomer.rank = core->size + i;
        }
        good = rankset_add(&view->members, newcomer.rank) &&
               view_add_newcomer(view, newcomer);
    }
    if (!recovery_all_settled(core) && !MUTANT(SHORTPAST)) {
        for (uint32_t i = 0; good && i < core->membership.past_count; i++) {
            good = view_add_past(view, core->membership.past[i].epoch,
                                 &core->membership.past[i].members);
        }
    }
    good = good && view_add_past(view, core->epoch, &core->members);
    if (!good) {
        view_release(view);
        core->broken = true;
    }
    return good;
}

/* A set that a message leaves out when it is empty. */
static const struct rankset *some_of(struct core *core, const struct rankset *set)
{
    return rankset_empty(set) ? NULL : out_copy_set(core, set);
}

static void say(struct core *core, uint32_t to, enum message_type type,
                const struct message_paxos *paxos)
{
    struct message *message = agenda_send(core, to, type);
    if (message != NULL) {
        message->u.paxos = *paxos;
    }
}

static void say_to_all(struct core *core, enum message_type type,
                       const struct message_paxos *paxos)
{
    FOR_COMMITTEE(core, rank)
    {
        if (!rankset_has(&core->membership.dead, rank)) {
            say(core, rank, type, paxos);
        }
    }
}

static void give_up(struct core *core, uint64_t extra_ns)
{
    core->membership.paxos.phase = PAXOS_IDLE;
    wait_for_turn(core, extra_ns);
}

/* A proposer that was about to let somebody in stands at the boundary no more. */
static bool changes_nothing(const struct core *core, const struct view *view)
{
    return core->options.boundary && core->membership.paxos.accepted == 0 &&
           rankset_equal(&view->members, &core->members) && !reload_begins(core, view);
}

static void propose_value(struct core *core)
{
    assert(core->membership.paxos.phase == PAXOS_PREPARING);
    struct paxos *paxos = &core->membership.paxos;
    if (paxos->best != 0 && boundary_is_void(core)) {
        view_release(&paxos->proposal);
        paxos->best = 0;
    }
    if (paxos->best == 0) {
        if (!make_proposal(core, &paxos->proposal)) {
            return;
        }
        if (changes_nothing(core, &paxos->proposal)) {
            give_up(core, 0);
            return;
        }
    }
    paxos->phase = PAXOS_PROPOSING;
    rankset_release(&paxos->voices);
    const struct message_paxos propose = {.ballot = paxos->ballot,
                                          .accepted = paxos->best,
                                          .dead = some_of(core, &paxos->listed),
                                          .value =
                                              view_to_message(core, &paxos->proposal)};
    if (!core->broken) {
        say_to_all(core, MESSAGE_PROPOSE, &propose);
    }
}

static void start_ballot(struct core *core)
{
    assert(core->membership.paxos.phase == PAXOS_IDLE && committee_serves(core));
    struct paxos *paxos = &core->membership.paxos;
    uint64_t seen = paxos->promised >> BALLOT_RANK_BITS;
    paxos->round = (paxos->round > seen ? paxos->round : seen) + 1;
    paxos->ballot = paxos->round << BALLOT_RANK_BITS | core->rank;
    paxos->phase = PAXOS_PREPARING;
    paxos->best = 0;
    paxos->somebody_is_free = false;
    paxos->give_up_ns =
        add_ns(core->now_ns, 4 * core->options.stagger_ns + 2 * core->options.lease_ns);
    rankset_release(&paxos->voices);
    rankset_release(&paxos->listed);
    view_release(&paxos->proposal);
    if (!rankset_copy(&paxos->listed, &core->membership.dead)) {
        core->broken = true;
        return;
    }
    out_note(core, CORE_POINT_VIEW_PROPOSE, NULL, NOBODY, EVIDENCE_NONE);
    const struct message_paxos prepare = {.ballot = paxos->ballot,
                                          .dead = some_of(core, &paxos->listed)};
    if (MUTANT(NOPH1)) {
        propose_value(core);
        return;
    }
    say_to_all(core, MESSAGE_PREPARE, &prepare);
}

/* --- Accepting -------------------------------------------------------------------- */

static bool merge_dead(struct core *core, const struct rankset *dead)
{
    if (dead == NULL || MUTANT(NOMERGE)) {
        return true;
    }
    return !rankset_has(dead, core->rank) && detector_certify(core, dead);
}

void view_on_prepare(struct core *core, uint32_t from,
                     const struct message_paxos *prepare)
{
    assert(from < core->size);
    struct paxos *paxos = &core->membership.paxos;
    if (!committee_serves(core)) {
        core->stats.refused++;
        return;
    }
    if (!merge_dead(core, prepare->dead)) {
        return;
    }
    struct message_paxos reply = {.ballot = prepare->ballot};
    if (prepare->ballot <= paxos->promised) {
        reply.ballot = paxos->promised;
        say(core, from, MESSAGE_REJECT, &reply);
        return;
    }
    paxos->promised = prepare->ballot;
    if (!MUTANT(KEEPPENDING)) {
        paxos->pending_ballot = 0;
    }
    if (from != core->rank) {
        give_up(core, core->options.stagger_ns);
    }
    reply.accepted = paxos->accepted;
    if (paxos->accepted != 0) {
        reply.value = view_to_message(core, &paxos->value);
    }
    say(core, from, MESSAGE_PROMISE, &reply);
}

/* When this rank may vote for the value; CORE_NEVER while it hears one whom it removes,
 * and then *heard names those. */
static uint64_t may_vote_ns(struct core *core, const struct view *value,
                            struct rankset *heard)
{
    uint64_t due_ns = 0;
    FOR_MEMBERS(core, rank)
    {
        if (rankset_has(&value->members, rank) || rankset_has(&value->left, rank)) {
            continue; /* who has left holds no lease, and says so itself */
        }
        uint64_t mine_ns =
            detector_may_remove_ns(core, rank, core->membership.paxos.pending_adopted);
        if (mine_ns == CORE_NEVER && !rankset_add(heard, rank)) {
            core->broken = true;
        }
        due_ns = mine_ns > due_ns ? mine_ns : due_ns;
    }
    return due_ns;
}

static void vote(struct core *core)
{
    assert(core->membership.paxos.pending_ballot >= core->membership.paxos.accepted);
    assert(core->membership.paxos.pending.epoch == core->epoch + 1);
    struct paxos *paxos = &core->membership.paxos;
    paxos->accepted = paxos->pending_ballot;
    if (boundary_takes_all(core, &paxos->pending) &&
        !rankset_add(&paxos->backed, paxos->pending_from)) {
        core->broken = true;
    }
    view_release(&paxos->value);
    paxos->value = paxos->pending;
    paxos->pending = (struct view){0};
    paxos->pending_ballot = 0;
    core->membership.voted_next = true;
    const struct message_paxos reply = {.ballot = paxos->accepted};
    say(core, paxos->pending_from, MESSAGE_VOTED, &reply);
}

/* Votes for the pending value now, later, or says whom it still hears. */
static void weigh(struct core *core)
{
    struct paxos *paxos = &core->membership.paxos;
    if (paxos->pending_ballot == 0) {
        return;
    }
    struct rankset heard = {0};
    uint64_t due_ns = may_vote_ns(core, &paxos->pending, &heard);
    paxos->pending_due_ns = due_ns;
    if (due_ns <= core->now_ns) {
        vote(core);
    } else if (due_ns == CORE_NEVER) {
        struct message_paxos reply = {.ballot = paxos->pending_ballot,
                                      .heard = out_copy_set(core, &heard)};
        paxos->pending_ballot = 0;
        say(core, paxos->pending_from, MESSAGE_REJECT, &reply);
    }
    rankset_release(&heard);
}

/* A vote for an adopted value is about to remove it. */
bool view_withholds(const struct core *core, uint32_t rank)
{
    assert(rank < core->size);
    const struct paxos *paxos = &core->membership.paxos;
    return paxos->pending_ballot != 0 && paxos->pending_adopted &&
           !rankset_has(&paxos->pending.members, rank) && !MUTANT(GRANTPENDING);
}

void view_on_propose(struct core *core, uint32_t from,
                     const struct message_paxos *propose)
{
    assert(from < core->size);
    struct paxos *paxos = &core->membership.paxos;
    if (!committee_serves(core)) {
        core->stats.refused++;
        return;
    }
    if (!merge_dead(core, propose->dead)) {
        return;
    }
    if (propose->value == NULL || propose->value->epoch != core->epoch + 1 ||
        !view_is_known(core, propose->value)) {
        core->stats.refused++;
        return;
    }
    if (propose->ballot < paxos->promised) {
        struct message_paxos reply = {.ballot = paxos->promised};
        say(core, from, MESSAGE_REJECT, &reply);
        return;
    }
    if (!MUTANT(NORAISE)) {
        paxos->promised = propose->ballot;
    }
    view_release(&paxos->pending);
    if (!view_from_message(&paxos->pending, propose->value)) {
        core->broken = true;
        return;
    }
    if (propose->accepted == 0 && !boundary_may_vote(core, &paxos->pending)) {
        const struct message_paxos reply = {.ballot = propose->ballot};
        paxos->pending_ballot = 0;
        say(core, from, MESSAGE_REJECT, &reply);
        return;
    }
    paxos->pending_ballot = propose->ballot;
    paxos->pending_from = from;
    paxos->pending_adopted = propose->accepted != 0 && !MUTANT(NODRIVE);
    weigh(core);
}

/* --- Answers to the proposer ------------------------------------------------------ */

/* Whom the decision is sent to.  The members of a large view pass it on to each other
 * (view_barrier.c); who begins that, and who has no part in it, is told directly. */
static bool choose_told(const struct core *core, const struct view *view,
                        struct rankset *out)
{
    if (!committee_is_due(core, rankset_count(&view->members))) {
        return rankset_copy(out, &core->members) && rankset_merge(out, &view->members);
    }
    bool good = committee_of(core, &view->members, out) &&
                rankset_merge(out, &core->membership.committee) &&
                rankset_add(out, rankset_next(&view->members, 0)); /* the tree's root */
    FOR_MEMBERS(core, rank)
    {
        if (!rankset_has(&view->members, rank)) {
            good = good && rankset_add(out, rank);
        }
    }
    for (uint32_t i = 0; good && i < view->newcomer_count; i++) {
        const uint32_t rank = view->newcomers[i].rank; /* it may have gone since */
        good = !(rankset_has(&view->members, rank) || MUTANT(TOLDGONE)) ||
               rankset_add(out, rank);
    }
    return good;
}

static void decided(struct core *core)
{
    assert(core->membership.paxos.phase == PAXOS_PROPOSING);
    assert(core->membership.paxos.proposal.epoch == core->epoch + 1);
    struct paxos *paxos = &core->membership.paxos;
    struct view view = paxos->proposal;
    paxos->proposal = (struct view){0};
    struct rankset told = {0};
    if (!view_change_take_newcomers(core, &view) || !choose_told(core, &view, &told)) {
        core->broken = true;
    }
    const struct message_view *value = view_to_message(core, &view);
    for (uint32_t rank = rankset_next(&told, 0); !core->broken && rank != NOBODY;
         rank = rankset_next(&told, rank + 1)) {
        if (rank == core->rank || rankset_has(&core->membership.dead, rank)) {
            continue;
        }
        struct message *message = out_send(core, rank, MESSAGE_VIEW, NULL);
        if (message != NULL) {
            message->u.view = *value;
        }
    }
    rankset_release(&told);
    view_enter(core, &view);
    view_release(&view);
}

static void count_voice(struct core *core, uint32_t from, enum paxos_phase phase)
{
    assert(core->membership.paxos.phase == phase && phase != PAXOS_IDLE);
    struct paxos *paxos = &core->membership.paxos;
    if (!rankset_add(&paxos->voices, from)) {
        core->broken = true;
        return;
    }
    const bool all =
        phase == PAXOS_PROPOSING && boundary_takes_all(core, &paxos->proposal);
    const bool enough = all ? is_everyone(core, &paxos->voices, &paxos->listed)
                            : is_quorum(core, &paxos->voices, &paxos->listed);
    if (!enough || leave_is_deserted(core)) {
        return;
    }
    if (phase == PAXOS_PREPARING && boundary_awaits_more(core)) {
        return;
    }
    if (phase == PAXOS_PREPARING) {
        propose_value(core);
    } else {
        decided(core);
    }
}

static void on_reject(struct core *core, uint32_t from,
                      const struct message_paxos *reject)
{
    assert(core->membership.paxos.phase != PAXOS_IDLE);
    struct paxos *paxos = &core->membership.paxos;
    (void)from;
    if (reject->heard != NULL) {
        FOR_MEMBERS(core, rank)
        {
            if (rankset_has(reject->heard, rank) &&
                !rankset_has(&core->membership.dead, rank)) {
                detector_vouch(core, rank);
            }
        }
    } else if (reject->ballot > paxos->ballot) {
        uint64_t round = reject->ballot >> BALLOT_RANK_BITS;
        paxos->round = round > paxos->round ? round : paxos->round;
    }
    give_up(core, core->options.stagger_ns);
}

void view_on_answer(struct core *core, uint32_t from, enum message_type type,
                    const struct message_paxos *reply)
{
    struct paxos *paxos = &core->membership.paxos;
    if (type == MESSAGE_REJECT) {
        if (paxos->phase != PAXOS_IDLE && reply->ballot >= paxos->ballot) {
            on_reject(core, from, reply);
        }
        return;
    }
    if (reply->ballot != paxos->ballot) {
        return;
    }
    if (type == MESSAGE_PROMISE && paxos->phase == PAXOS_PREPARING) {
        bool first = MUTANT(PROMISEFIRST) && paxos->best != 0;
        paxos->somebody_is_free |= reply->accepted == 0;
        if (reply->accepted > paxos->best && !first && reply->value != NULL &&
            view_is_known(core, reply->value)) {
            paxos->best = reply->accepted;
            view_release(&paxos->proposal);
            if (!view_from_message(&paxos->proposal, reply->value)) {
                core->broken = true;
                return;
            }
        }
        count_voice(core, from, PAXOS_PREPARING);
    } else if (type == MESSAGE_VOTED && paxos->phase == PAXOS_PROPOSING) {
        count_voice(core, from, PAXOS_PROPOSING);
    }
}

/* --- The turn --------------------------------------------------------------------- */

/* Who is in no view yet asks those whom it knows, JOIN_WIDTH of them at a time; any
 * member may take it in. */
static void ask_to_join(struct core *core)
{
    assert(core->epoch == 0);
    enum { JOIN_WIDTH = PEERS_ALL_MAX };
    if (core->now_ns < core->membership.join_due_ns) {
        return;
    }
    uint32_t first =
        core->size > JOIN_WIDTH ? core->membership.join_next % core->size : 0;
    uint32_t count = core->size > JOIN_WIDTH ? JOIN_WIDTH : core->size;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = (first + i) % core->size;
        bool asked = peer_is_named(core, rank) && !peer_is(core, rank, core->uid);
        struct message *message =
            asked ? out_send(core, rank, MESSAGE_JOIN, NULL) : NULL;
        if (message != NULL) {
            message->u.join = (struct message_join){.uid = core->uid,
                                                    .host = core->options.join_host,
                                                    .rank = core->options.join_rank};
        }
    }
    core->membership.join_next = first + count;
    core->membership.join_due_ns = add_ns(core->now_ns, core->options.heartbeat_ns);
}

/* A view names LIMIT_PAST_VIEWS at most that not all had settled, and so many have
 * passed: nobody can leave or come before the present one is settled.  Where it cannot
 * be, as a member is gone, that is as if there were no quorum for the next. */
bool view_is_last(const struct core *core)
{
    return core->membership.past_count >= LIMIT_PAST_VIEWS &&
           !recovery_all_settled(core);
}

void view_turn(struct core *core)
{
    struct paxos *paxos = &core->membership.paxos;
    if (core->epoch == 0) {
        ask_to_join(core);
        return;
    }
    if (!detector_is_on(core) && rankset_empty(&core->membership.dead) &&
        paxos->joiner_count == 0 && rankset_empty(&core->membership.leavers_ready) &&
        !meeting_reload_is_due(core)) {
        return;
    }
    if (!committee_serves(core)) {
        return;
    }
    if (paxos->pending_ballot != 0 && paxos->pending_due_ns <= core->now_ns) {
        weigh(core);
    }
    if (!has_cause(core)) {
        paxos->cause_since_ns = CORE_NEVER;
        if (paxos->phase == PAXOS_PREPARING) {
            paxos->phase = PAXOS_IDLE;
        }
        return;
    }
    if (paxos->cause_since_ns == CORE_NEVER) {
        paxos->cause_since_ns = core->now_ns;
        if (reload_hurries(core)) {
            paxos->next_try_ns = core->now_ns;
        } else {
            wait_for_turn(core, 0);
        }
    }
    if (paxos->phase != PAXOS_IDLE && core->now_ns >= paxos->give_up_ns) {
        give_up(core, core->options.stagger_ns);
    }
    if (paxos->phase == PAXOS_IDLE && core->now_ns >= paxos->next_try_ns) {
        if (view_is_last(core)) {
            wait_for_turn(core, core->options.stagger_ns);
        } else {
            start_ballot(core);
        }
    }
}

uint64_t view_deadline(const struct core *core)
{
    const struct paxos *paxos = &core->membership.paxos;
    if (core->epoch == 0) {
        return core->membership.join_due_ns;
    }
    if (!committee_serves(core)) {
        return CORE_NEVER;
    }
    uint64_t due_ns = paxos->pending_ballot != 0 ? paxos->pending_due_ns : CORE_NEVER;
    if (paxos->cause_since_ns != CORE_NEVER) {
        uint64_t mine_ns =
            paxos->phase == PAXOS_IDLE ? paxos->next_try_ns : paxos->give_up_ns;
        due_ns = mine_ns < due_ns ? mine_ns : due_ns;
    } else if (has_cause(core)) {
        due_ns = core->now_ns;
    }
    return due_ns;
}
