/* failure_detector.c - who is there: heartbeats, suspicion, leases.
 *
 * Every member tells the committee (in a small view: every other member) that it is
 * there, once in a heartbeat period; whatever else it says counts as well.  Who has not
 * been heard for the suspect time is suspected, which starts a vote on the next view
 * and decides nothing.
 *
 * A heartbeat also asks for a grant.  A rank holds a *lease* while a strict majority of
 * the committee, itself included if it serves, granted heartbeats that it sent less
 * than the lease time ago.  A member that votes a rank out without a certificate first
 * waits until every grant that it gave to that rank has run out on the slowest clock
 * (V2), and after its vote grants nobody in this view: when the next view exists, the
 * removed rank has no lease any more.  The start of once tasks, and going on at all for
 * long, need one (V3).
 *
 * Times are local: nobody compares clocks, only rates, which may differ by CLOCK_DRIFT.
 */
#include "consensus/membership/membership_private.h"

#include "consensus/ownership/ownership.h"
#include "consensus/signature/signature.h"
#include "consensus/state/state.h"

#include <assert.h>

#define CLOCK_DRIFT_PER_MILLE 1 /* rho: 1e-3 */

/* Who decides about the members has to hear them. */
bool detector_watches(const struct core *core)
{
    return detector_is_on(core) && (!core->membership.large || committee_serves(core));
}

/* --- Leases ---------------------------------------------------------------------- */

/* T': the lease as the slowest clock counts it, seen from the fastest. */
static uint64_t lease_outlived_ns(const struct core *core)
{
    return core->options.lease_ns / (1000 - CLOCK_DRIFT_PER_MILLE) *
               (1000 + CLOCK_DRIFT_PER_MILLE) +
           1;
}

static bool is_silent(const struct core *core, uint32_t rank)
{
    uint64_t heard_ns = peer_seen(core, rank)->heard_ns;
    return add_ns(heard_ns, timers_suspect_ns(core, rank)) <= core->now_ns;
}

/* Enough others suspect it: min(2, N-2) of them. */
static bool is_denounced(const struct core *core, uint32_t rank)
{
    assert(rank < core->size && rank != core->rank);
    uint32_t enough =
        core->membership.committee_count > 3 ? 2 : core->membership.committee_count - 2;
    uint32_t voices = 0;
    if (core->membership.committee_count < 3) {
        return false;
    }
    FOR_COMMITTEE(core, other)
    {
        voices += other != core->rank && other != rank &&
                  !rankset_has(&core->membership.suspects, other) &&
                  rankset_has(&peer_seen(core, other)->suspects, rank);
    }
    return voices >= enough;
}

/* When this rank may vote for a view without `rank`; CORE_NEVER while it hears it.
 * Another's word that it hears the rank does not count here: two who have it from each
 * other would keep the dead alive.  An adopted value is one that may be decided
 * already: it takes no suspicion, only that the grants have run out (and that none is
 * given until then: view_withholds). */
uint64_t detector_may_remove_ns(const struct core *core, uint32_t rank, bool adopted)
{
    assert(rankset_has(&core->members, rank));
    if (rankset_has(&core->membership.dead, rank)) {
        return 0;
    }
    if (adopted && rank == core->rank) {
        return 0; /* it no longer counts itself for its lease once it has voted */
    }
    if (rank == core->rank ||
        (!adopted && !is_silent(core, rank) && !is_denounced(core, rank))) {
        return CORE_NEVER;
    }
    if (MUTANT(NOPEND)) {
        return 0;
    }
    uint64_t since_ns = peer_seen(core, rank)->granted_ns;
    if (core->membership.entered_ns > since_ns) {
        since_ns = core->membership.entered_ns;
    }
    return add_ns(since_ns, lease_outlived_ns(core));
}

/* A rank may have voted this one out, gone on without it, and died then: its death says
 * nothing about what it did before.  But it votes so only when its last grant to this
 * rank has run out, so one that dies while its grant is good has not.  Without that its
 * silence counts, as anyone's. */
bool detector_certifies(const struct core *core, uint32_t rank)
{
    assert(rank < core->size && rank != core->rank);
    uint64_t since_ns = peer_seen(core, rank)->grant_token_ns;
    if (!detector_is_on(core) || MUTANT(CERTALWAYS)) {
        return true; /* nobody is voted out alive */
    }
    if (core->step.opened_ns > since_ns) {
        since_ns = core->step.opened_ns;
    }
    return add_ns(since_ns, core->options.lease_ns) > core->now_ns;
}

bool detector_certify(struct core *core, const struct rankset *dead)
{
    assert(!rankset_has(dead, core->rank));
    for (uint32_t rank = rankset_next(dead, 0); rank != NOBODY;
         rank = rankset_next(dead, rank + 1)) {
        if (rankset_has(&core->membership.dead, rank)) {
            continue;
        }
        if (!rankset_add(&core->membership.dead, rank)) {
            core->broken = true;
            return false;
        }
        core->membership.certificate_due |=
            core->membership.large && rankset_has(&core->members, rank);
    }
    return true;
}

void detector_on_heartbeat(struct core *core, uint32_t from,
                           const struct message_heartbeat *heartbeat)
{
    assert(from != core->rank && rankset_has(&core->members, from));
    struct peer *peer = peer_of(core, from);
    peer->state.load = heartbeat->load;
    timers_heartbeat(core, peer);
    signature_rolls_claimed(core, from, heartbeat);
    if (heartbeat->signatures != NULL) {
        signature_hear(core, from, heartbeat->signatures);
    }
    rankset_release(&peer->suspects);
    if (heartbeat->suspects != NULL &&
        !rankset_copy(&peer->suspects, heartbeat->suspects)) {
        core->broken = true;
        return;
    }
    if (heartbeat->dead != NULL && (rankset_has(heartbeat->dead, core->rank) ||
                                    !detector_certify(core, heartbeat->dead))) {
        core->stats.refused++;
        return;
    }
    if (!committee_serves(core)) {
        core->stats.refused++; /* no member of this view thinks otherwise */
        return;
    }
    if ((core->membership.voted_next && !MUTANT(GRANTAFTERVOTE)) ||
        view_withholds(core, from)) {
        return;
    }
    struct message *message = out_send(core, from, MESSAGE_GRANT, NULL);
    if (message != NULL) {
        peer->granted_ns = core->now_ns;
        message->u.grant.token = heartbeat->token;
        signature_put_grant(core, from, &message->u.grant);
    }
}

void detector_on_grant(struct core *core, uint32_t from,
                       const struct message_grant *grant)
{
    assert(from != core->rank && rankset_has(&core->members, from));
    struct peer *peer = peer_of(core, from);
    if (grant->token > core->now_ns) {
        core->stats.refused++;
        return;
    }
    signature_on_grant(core, grant);
    if (grant->token > peer->grant_token_ns) { /* not a copy, nor overtaken */
        timers_round_trip(peer, core->now_ns - grant->token);
    }
    if (peer->granted_epoch != core->epoch || grant->token > peer->grant_token_ns) {
        peer->granted_epoch = core->epoch;
        peer->grant_token_ns = grant->token;
    }
}

/* --- Suspicion
 * ------------------------------------------------------------------------ */

/* Solo: a silence that has outlived the lease is taken for a certificate. */
static void certify_silent(struct core *core, uint32_t rank)
{
    assert(rank != core->rank);
    if (core->options.solo &&
        detector_may_remove_ns(core, rank, false) <= core->now_ns &&
        !rankset_add(&core->membership.dead, rank)) {
        core->broken = true;
    }
}

static void suspect(struct core *core)
{
    assert(detector_watches(core));
    FOR_MEMBERS(core, rank)
    {
        if (rank == core->rank) {
            continue;
        }
        bool vouched = peer_seen(core, rank)->vouched_ns > core->now_ns;
        if (!vouched && (is_silent(core, rank) || is_denounced(core, rank))) {
            if (!rankset_add(&core->membership.suspects, rank)) {
                core->broken = true;
            }
            certify_silent(core, rank);
        } else {
            rankset_remove(&core->membership.suspects, rank);
        }
    }
}

/* A peer still hears it: do not suspect it for a while. */
void detector_vouch(struct core *core, uint32_t rank)
{
    assert(rankset_has(&core->members, rank));
    peer_of(core, rank)->vouched_ns =
        add_ns(core->now_ns, core->options.suspect_ns / 2);
    rankset_remove(&core->membership.suspects, rank);
}

/* --- The turn
 * ------------------------------------------------------------------------- */

/* Only what this rank has found itself: suspicion that is passed on from hearsay would
 * come back as news, and never end. */
static const struct rankset *silent_members(struct core *core)
{
    assert(detector_watches(core));
    struct rankset silent = {0};
    FOR_MEMBERS(core, rank)
    {
        bool hearsay = MUTANT(HEARSAY) && rankset_has(&core->membership.suspects, rank);
        if (rank != core->rank && (is_silent(core, rank) || hearsay) &&
            !rankset_add(&silent, rank)) {
            core->broken = true;
        }
    }
    const struct rankset *copy =
        rankset_empty(&silent) ? NULL : out_copy_set(core, &silent);
    rankset_release(&silent);
    return copy;
}

/* Has not been heard in this view, though there was time: it may not know of it, and if
 * the others of its own view are gone, it may have only newcomers to hear it from; in a
 * large one, who was to pass it on may be. */
static bool may_have_missed_the_view(const struct core *core, uint32_t rank)
{
    return (core->options.joinable || core->membership.large) &&
           core->membership.past_count > 0 &&
           peer_seen(core, rank)->spoke_epoch != core->epoch &&
           add_ns(core->membership.entered_ns, core->options.heartbeat_ns) <=
               core->now_ns;
}

/* In a small view certificates travel with the ballots of whoever has them. */
static const struct rankset *dead_members(struct core *core)
{
    struct rankset dead = {0};
    for (uint32_t rank = rankset_next(&core->membership.dead, 0);
         core->membership.large && rank != NOBODY;
         rank = rankset_next(&core->membership.dead, rank + 1)) {
        if (rankset_has(&core->members, rank) && !rankset_add(&dead, rank)) {
            core->broken = true;
        }
    }
    const struct rankset *copy =
        rankset_empty(&dead) ? NULL : out_copy_set(core, &dead);
    rankset_release(&dead);
    return copy;
}

/* Who may have missed this view is told of it. */
static void remind(struct core *core)
{
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank && !rankset_has(&core->membership.dead, rank) &&
            may_have_missed_the_view(core, rank)) {
            view_tell(core, rank);
        }
    }
}

static void beat(struct core *core)
{
    assert(core->epoch > 0);
    const struct rankset *silent = detector_watches(core) ? silent_members(core) : NULL;
    const struct rankset *dead = dead_members(core);
    const struct message_signatures *signatures = signature_tell(core);
    uint32_t load = core->ownership.unfinished_count > UINT32_MAX
                        ? UINT32_MAX
                        : (uint32_t)core->ownership.unfinished_count;
    FOR_COMMITTEE(core, rank)
    {
        if (rank == core->rank || rankset_has(&core->membership.dead, rank)) {
            continue;
        }
        struct message *message = out_send(core, rank, MESSAGE_HEARTBEAT, NULL);
        if (message == NULL) {
            return;
        }
        message->u.heartbeat = (struct message_heartbeat){.token = core->now_ns,
                                                          .load = load,
                                                          .suspects = silent,
                                                          .dead = dead,
                                                          .signatures = signatures};
        signature_rolls_put(core, rank, &message->u.heartbeat);
    }
    core->membership.certificate_due = false;
    core->membership.heartbeat_due_ns =
        add_ns(core->now_ns, timers_next_heartbeat_ns(core));
}

/* Who is stopped with all others, and then goes on, must not find that it has been cut
 * off: what passes between two turns counts as two heartbeats at most. */
static uint64_t counted_ns(struct core *core)
{
    assert(core->membership.watched_ns <= core->now_ns);
    uint64_t most_ns = add_ns(core->options.heartbeat_ns, core->options.heartbeat_ns);
    uint64_t passed_ns = core->now_ns - core->membership.watched_ns;
    core->membership.watched_ns = core->now_ns;
    return passed_ns < most_ns ? passed_ns : most_ns;
}

static void lose_quorum(struct core *core)
{
    core->membership.no_quorum = true;
    struct core_output *output = out_add(core, CORE_OUT_QUORUM, NULL);
    if (output != NULL) {
        output->u.quorum.have = false;
    }
}

/* No heartbeat would tell: but the certified dead took a large view's committee along,
 * and no certificate makes up for its voices. */
static void watch_committee(struct core *core)
{
    struct rankset living = {0};
    if (!core->membership.large || core->membership.no_quorum ||
        rankset_empty(&core->membership.dead) || MUTANT(COMMITTEELOST)) {
        return;
    }
    FOR_COMMITTEE(core, rank)
    {
        if (!rankset_has(&core->membership.dead, rank) && !rankset_add(&living, rank)) {
            core->broken = true;
        }
    }
    if (!core->broken && !view_is_quorum(core, &living)) {
        lose_quorum(core);
    }
    rankset_release(&living);
}

static void watch_quorum(struct core *core)
{
    assert(detector_is_on(core));
    core->membership.lacked_ns = add_ns(core->membership.lacked_ns, counted_ns(core));
    if (detector_is_quorate(core) && !view_is_last(core)) {
        core->membership.lacked_ns = 0;
        if (core->membership.no_quorum) {
            core->membership.no_quorum = false;
            recovery_take_up(core);
            struct core_output *output = out_add(core, CORE_OUT_QUORUM, NULL);
            if (output != NULL) {
                output->u.quorum.have = true;
            }
        }
        graph_start_leased(core);
        return;
    }
    bool lost = core->membership.lacked_ns >= core->options.quorum_wait_ns;
    if (lost && core->membership.leave.ready) {
        leave_done(core); /* others have all that it had; the view may have been lost */
    } else if (lost && !core->membership.no_quorum) {
        lose_quorum(core);
    }
}

void detector_turn(struct core *core)
{
    if (core->member_count == 0) {
        return;
    }
    if (core->membership.certificate_due) {
        beat(core);
    }
    if (!detector_is_on(core)) {
        watch_committee(core);
        return;
    }
    if (core->now_ns >= core->membership.heartbeat_due_ns) {
        timers_own_heartbeat(core);
        if (detector_watches(core)) {
            suspect(core);
            remind(core);
        }
        beat(core);
    }
    watch_quorum(core);
}

uint64_t detector_deadline(const struct core *core)
{
    return detector_is_on(core) && core->member_count > 0
               ? core->membership.heartbeat_due_ns
               : CORE_NEVER;
}
