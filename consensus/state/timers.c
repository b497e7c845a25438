/* timers.c - the timers that follow what this rank sees of its peers and of itself.
 *
 * What `auto` means (options.adapt).  Each is a matter of when, never of who: a timer
 * that is wrong costs messages or time, and no promise (P4).
 *
 * The ask delay of the chair that would be asked is ASK_ROUND_TRIPS round trips to it,
 * as long as that is no more than what was set, and else that; but at least half of
 * one, which a push takes: what is asked for sooner is most often under way.  A round
 * trip is from a heartbeat to its GRANT, which the peer answers at once: it has in it
 * how long the peer takes to look at its messages.  A chair that has said that it
 * rests, when nothing has stirred since, has no push under way: the delay is the least
 * then.
 *
 * The vote timeout of this rank, as a chair, is twice what it was late by when it
 * claimed what had been asked for, at the 999th per mille; never before VOTE_SAMPLES
 * such claims.  What it yielded too early by it is a sample, too, when it registers it
 * after all: so it cannot stay too short.
 *
 * The suspicion of a peer is the silence that was set, or twice the longest between two
 * of its heartbeats lately, which fades; and longer while this rank is late itself.
 * Its own heartbeats tell it that: who was not given a processor for a while has reason
 * to doubt its ears before its peers' (after Lifeguard, Dadgar et al. 2018, "local
 * health").
 *
 * The heartbeat and the lease are not learnt.  A lease is what a vote of removal waits
 * for (V2), counted by who gave it, with a length that all members must have alike; and
 * a suspicion may grow because nothing is safe by it.  It never falls below what was
 * set: T_susp >= T' costs nothing, and less would gain nothing.
 */
#include "consensus/state/timers.h"
#include "consensus/state/state.h"

#include <assert.h>

enum {
    ESTIMATE_MEAN_SHARE = 8, /* a sample's weight: 1/8 in the mean, */
    ESTIMATE_DEVIATION_SHARE = 4,
    ASK_ROUND_TRIPS = 4,
    ASK_SAMPLES = 2,     /* before that, what was set */
    EARLY_BEATS = 10,    /* in the first heartbeat period, ever later, to learn from */
    ASK_LEAST_SHARE = 10 /* the ask delay is at least this part of what was set */
};

/* --- Estimates -------------------------------------------------------------------- */

static uint64_t distance_ns(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* One step of a moving average, without overflow. */
static uint64_t moved_ns(uint64_t from_ns, uint64_t to_ns, uint64_t share)
{
    return to_ns > from_ns ? from_ns + (to_ns - from_ns) / share
                           : from_ns - (from_ns - to_ns) / share;
}

void estimate_add(struct estimate *estimate, uint64_t sample_ns)
{
    if (estimate->count++ == 0) {
        estimate->mean_ns = sample_ns;
        estimate->deviation_ns = sample_ns / 2;
        return;
    }
    uint64_t off_ns = distance_ns(estimate->mean_ns, sample_ns);
    estimate->deviation_ns =
        moved_ns(estimate->deviation_ns, off_ns, ESTIMATE_DEVIATION_SHARE);
    estimate->mean_ns = moved_ns(estimate->mean_ns, sample_ns, ESTIMATE_MEAN_SHARE);
}

static uint32_t bin_of(uint64_t ns)
{
    if (ns < QUANTILES_STEPS) {
        return (uint32_t)ns;
    }
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(ns) - 2;
    return (shift + 1) * QUANTILES_STEPS + (uint32_t)((ns >> shift) - QUANTILES_STEPS);
}

/* The longest that falls into the bin. */
static uint64_t bin_end_ns(uint32_t bin)
{
    if (bin < QUANTILES_STEPS) {
        return bin;
    }
    uint32_t shift = bin / QUANTILES_STEPS - 1;
    uint64_t first = QUANTILES_STEPS + bin % QUANTILES_STEPS;
    return ((first << shift) - 1) + (UINT64_C(1) << shift);
}

static void fade(struct quantiles *quantiles)
{
    quantiles->count = 0;
    for (uint32_t bin = 0; bin < QUANTILES_BINS; bin++) {
        quantiles->bins[bin] /= 2;
        quantiles->count += quantiles->bins[bin];
    }
}

void quantiles_add(struct quantiles *quantiles, uint64_t sample_ns)
{
    assert(quantiles->count <= QUANTILES_WINDOW);
    if (quantiles->count == QUANTILES_WINDOW) {
        fade(quantiles);
    }
    quantiles->count++;
    quantiles->bins[bin_of(sample_ns)]++;
}

uint64_t quantiles_at_ns(const struct quantiles *quantiles, uint32_t per_mille)
{
    assert(per_mille <= 1000);
    uint64_t below = 0, wanted = ((uint64_t)quantiles->count * per_mille + 999) / 1000;
    for (uint32_t bin = 0; bin < QUANTILES_BINS && quantiles->count > 0; bin++) {
        below += quantiles->bins[bin];
        if (below >= wanted && below > 0) {
            return bin_end_ns(bin);
        }
    }
    return 0;
}

/* --- Asking ----------------------------------------------------------------------- */

static bool adapts(const struct core *core, uint32_t what)
{
    return (core->options.adapt & what) != 0;
}

static uint64_t clamped_ns(uint64_t ns, uint64_t least_ns, uint64_t most_ns)
{
    return ns < least_ns ? least_ns : ns > most_ns ? most_ns : ns;
}

static uint64_t most_ask_ns(const struct core *core)
{
    uint64_t base_ns = core->options.ask_delay_ns;
    return base_ns > CORE_NEVER / CORE_ASK_FACTOR_MAX ? CORE_NEVER
                                                      : base_ns * CORE_ASK_FACTOR_MAX;
}

/* Counts what may wake a rank that has come to rest, and what shows that it is awake;
 * of all ranks, as these are counted anyway. */
static uint64_t stirs(const struct core *core)
{
    const uint64_t *sent = core->stats.sent, *received = core->stats.received;
    return sent[MESSAGE_RESULT] + sent[MESSAGE_DECISION] + received[MESSAGE_RESULT] +
           received[MESSAGE_ROLL] + received[MESSAGE_MOTION];
}

bool timers_state(struct core *core, struct peer *peer)
{
    assert(peer->rank != core->rank);
    peer->state_stirs = stirs(core);
    return peer->state.passive;
}

/* It has said so, and nothing has stirred since: no push is on its way. */
static bool is_at_rest(const struct core *core, const struct peer *peer)
{
    return peer->state.passive && peer->state_stirs == stirs(core);
}

HOT uint64_t timers_ask_delay_ns(const struct core *core, uint32_t chair)
{
    const struct peer *peer = peer_seen(core, chair);
    const struct estimate *trip = &peer->round_trip;
    uint64_t base_ns = core->options.ask_delay_ns;
    if (!adapts(core, CORE_ADAPT_ASK)) {
        return base_ns;
    }
    if (is_at_rest(core, peer)) {
        return base_ns / ASK_LEAST_SHARE;
    }
    if (trip->count < ASK_SAMPLES) {
        return base_ns;
    }
    uint64_t some_ns = trip->mean_ns > base_ns / ASK_ROUND_TRIPS
                           ? base_ns
                           : trip->mean_ns * ASK_ROUND_TRIPS;
    uint64_t way_ns = trip->mean_ns / 2; /* that a push takes */
    uint64_t ns = some_ns > way_ns ? some_ns : way_ns;
    return clamped_ns(ns, base_ns / ASK_LEAST_SHARE, most_ask_ns(core));
}

uint64_t timers_least_ask_ns(const struct core *core)
{
    uint64_t base_ns = core->options.ask_delay_ns;
    return adapts(core, CORE_ADAPT_ASK) ? base_ns / ASK_LEAST_SHARE : base_ns;
}

/* The first has in it how long the peer took to begin. */
void timers_round_trip(struct peer *peer, uint64_t trip_ns)
{
    if (peer->trip_seen) {
        estimate_add(&peer->round_trip, trip_ns);
    }
    peer->trip_seen = true;
}

/* So that a job of milliseconds learns something, too: a 512th of a period, twice, and
 * then twice as long each time, which is a period in all. */
uint64_t timers_next_heartbeat_ns(struct core *core)
{
    assert(core->state.early_beats <= EARLY_BEATS);
    uint64_t period_ns = core->options.heartbeat_ns;
    if (!adapts(core, CORE_ADAPT_ASK) || core->state.early_beats == EARLY_BEATS) {
        return period_ns;
    }
    uint32_t left = EARLY_BEATS - core->state.early_beats++;
    return period_ns >> (left < EARLY_BEATS ? left : EARLY_BEATS - 1);
}

/* --- Voting ----------------------------------------------------------------------- */

static uint64_t learnt_vote_timeout_ns(const struct core *core)
{
    if (core->state.claims->count < VOTE_SAMPLES) {
        return CORE_NEVER;
    }
    uint64_t late_ns = quantiles_at_ns(core->state.claims, VOTE_PER_MILLE);
    return clamped_ns(add_ns(late_ns, late_ns), VOTE_LEAST_NS, CORE_NEVER);
}

bool timers_late_claim(struct core *core, uint64_t late_ns)
{
    if (!adapts(core, CORE_ADAPT_VOTE)) {
        return false;
    }
    if (core->state.claims == NULL) {
        core->state.claims = core_alloc(core, sizeof(*core->state.claims));
    }
    if (core->state.claims == NULL) {
        return false;
    }
    quantiles_add(core->state.claims, late_ns);
    uint64_t timeout_ns = learnt_vote_timeout_ns(core);
    if (timeout_ns != core->state.vote_timeout_ns) {
        core->state.vote_timeout_ns = timeout_ns;
        return true;
    }
    return false;
}

/* --- Suspecting ------------------------------------------------------------------- */

/* Who is cut off has to learn who is not before it gives up (T_q). */
static uint64_t most_suspect_ns(const struct core *core)
{
    uint64_t base_ns = core->options.suspect_ns;
    uint64_t wait_ns = core->options.quorum_wait_ns;
    uint64_t most_ns = base_ns > CORE_NEVER / CORE_SUSPECT_FACTOR_MAX
                           ? CORE_NEVER
                           : base_ns * CORE_SUSPECT_FACTOR_MAX;
    uint64_t in_time_ns = wait_ns > base_ns ? wait_ns - base_ns : 0;
    return clamped_ns(in_time_ns, base_ns, most_ns);
}

uint64_t timers_suspect_ns(const struct core *core, uint32_t rank)
{
    uint64_t base_ns = core->options.suspect_ns;
    if (!adapts(core, CORE_ADAPT_SUSPECT) || base_ns == CORE_NEVER) {
        return base_ns;
    }
    uint64_t gap_ns = peer_seen(core, rank)->gap_ns;
    uint64_t most_ns = most_suspect_ns(core);
    uint64_t ns = clamped_ns(add_ns(gap_ns, gap_ns), base_ns, most_ns);
    for (uint32_t i = 0; i < core->state.unwell && ns < most_ns; i++) {
        ns = add_ns(ns, base_ns);
    }
    return clamped_ns(ns, base_ns, most_ns);
}

void timers_heartbeat(struct core *core, struct peer *peer)
{
    assert(peer->rank != core->rank && peer->beat_ns <= core->now_ns);
    uint64_t gap_ns = peer->beat_ns != 0 ? core->now_ns - peer->beat_ns : 0;
    uint64_t faded_ns = peer->gap_ns - peer->gap_ns / GAP_FADES;
    peer->gap_ns = gap_ns > faded_ns ? gap_ns : faded_ns;
    peer->beat_ns = core->now_ns;
}

void timers_own_heartbeat(struct core *core)
{
    assert(detector_is_on(core) && core->state.unwell <= UNWELL_MAX);
    uint64_t due_ns = core->membership.heartbeat_due_ns;
    if (due_ns == 0) {
        return; /* the first */
    }
    bool late = core->now_ns > add_ns(due_ns, core->options.heartbeat_ns / 2);
    if (late && core->state.unwell < UNWELL_MAX) {
        core->state.unwell++;
    } else if (!late && core->state.unwell > 0) {
        core->state.unwell--;
    }
}

/* --- For reports ------------------------------------------------------------------ */

bool core_timers_look(const struct core *core, uint32_t rank, struct core_timers *out)
{
    if (rank >= core->size) {
        return false;
    }
    const struct peer *peer = peer_seen(core, rank);
    *out = (struct core_timers){
        .ask_delay_ns = timers_ask_delay_ns(core, rank),
        .vote_timeout_ns = core->state.vote_timeout_ns,
        .heartbeat_ns = detector_is_on(core) ? core->options.heartbeat_ns : CORE_NEVER,
        .lease_ns = detector_is_on(core) ? core->options.lease_ns : CORE_NEVER,
        .suspect_ns = detector_is_on(core) ? timers_suspect_ns(core, rank) : CORE_NEVER,
        .round_trip_ns = peer->round_trip.mean_ns,
        .round_trip_deviation_ns = peer->round_trip.deviation_ns,
        .round_trips = peer->round_trip.count,
        .longest_gap_ns = peer->gap_ns,
        .late_claims = core->state.claims != NULL ? core->state.claims->count : 0,
        .unwell = core->state.unwell,
    };
    return true;
}
