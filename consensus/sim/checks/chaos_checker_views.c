/* chaos_checker_views.c - views, leases and quorums, under chaos_checker.h's checks. */
#include "consensus/sim/checks/chaos_checker_private.h"
#include "consensus/sim/checks/electorate.h"
#include <inttypes.h>
#include <stdlib.h>

enum { DRIFT_PPM = 1000 /* rho */ };

void storm_forget_party(struct party *party)
{
    rankset_release(&party->unreachable);
    rankset_release(&party->unheard_by);
    rankset_release(&party->proposed);
    rankset_release(&party->voted_for);
    free(party->grants);
}

/* --- Leases ---------------------------------------------------------------------- */

bool storm_holds_lease(const struct storm_checker *checker, const struct sim *sim,
                       uint32_t rank)
{
    const struct party *party = &checker->parties[rank];
    const struct rankset *electors = &storm_view_at(checker, rank)->electors;
    uint64_t now_ns = sim_clock_ns(sim, rank);
    uint32_t granted = rankset_has(electors, rank) && !party->voted;
    for (uint32_t i = 0; i < party->grant_count; i++) {
        granted += rankset_has(electors, party->grants[i].from) &&
                   party->grants[i].token_ns + sim_lease_ns(sim) > now_ns;
    }
    return party->epoch > 0 && !party->ready && 2 * granted > rankset_count(electors);
}

static void check_leases(struct storm_checker *checker, struct sim *sim,
                         const struct rankset *removed)
{
    FOR_RANKS(rank, removed)
    {
        if (!rankset_has(&checker->gone, rank) &&
            storm_holds_lease(checker, sim, rank)) {
            sim_fail(sim, "lease", "rank %" PRIu32 " is removed and holds a lease",
                     rank);
        }
    }
}

static void note_grant(struct storm_checker *checker, const struct sight *sight)
{
    struct party *party = &checker->parties[sight->rank];
    uint64_t token_ns = sight->message->u.grant.token;
    for (uint32_t i = 0; i < party->grant_count; i++) {
        if (party->grants[i].from == sight->peer) {
            if (token_ns > party->grants[i].token_ns) {
                party->grants[i].token_ns = token_ns;
            }
            return;
        }
    }
    if (party->grant_count == party->grant_room) {
        party->grant_room = 2 * party->grant_room + 8;
        party->grants =
            realloc(party->grants, party->grant_room * sizeof(*party->grants));
        if (party->grants == NULL) {
            abort();
        }
    }
    party->grants[party->grant_count++] =
        (struct grant){.from = sight->peer, .token_ns = token_ns};
}

/* --- Quorums --------------------------------------------------------------------- */

/* Leaves those whom nothing ever kept from hearing another of them. */
static void keep_mutual(const struct storm_checker *checker, struct rankset *ranks)
{
    struct rankset all = {0};
    ranks_copy(&all, ranks);
    FOR_RANKS(rank, &all)
    {
        if (ranks_meet(&checker->parties[rank].unreachable, &all)) {
            rankset_remove(ranks, rank);
        }
    }
    rankset_release(&all);
}

/* One of the electors is cut off from some of the steady ones, and its words reach one
 * of them: it may have had a view accepted without some, for which those who accepted
 * then withhold their grants. */
static bool stands_between(const struct storm_checker *checker,
                           const struct rankset *electors, const struct rankset *steady)
{
    FOR_RANKS(rank, electors)
    {
        const struct party *party = &checker->parties[rank];
        if (!rankset_has(steady, rank) && ranks_meet(&party->unreachable, steady) &&
            !ranks_within(steady, &party->unheard_by)) {
            return true;
        }
    }
    return false;
}

/* One that is not steady has proposed to let somebody in at a boundary, which all
 * others may have accepted: they wait until it is heard or certified dead (V4). */
static bool holds_up_boundary(const struct storm_checker *checker,
                              const struct rankset *members,
                              const struct rankset *steady)
{
    FOR_RANKS(rank, members)
    {
        if (checker->boundary && !rankset_has(steady, rank) &&
            !ranks_within(&checker->parties[rank].proposed, members)) {
            return true;
        }
    }
    return false;
}

static bool may_lack_quorum(const struct storm_checker *checker, uint32_t rank)
{
    const struct view_seen *view = storm_view_at(checker, rank);
    struct rankset steady = {0};
    ranks_copy(&steady, &view->electors);
    storm_keep_running(checker, &steady);
    ranks_drop(&steady, &checker->parties[rank].unreachable);
    ranks_drop(&steady, &checker->disturbed);
    keep_mutual(checker, &steady);
    bool may =
        rankset_has(&checker->disturbed, rank) ||
        2 * rankset_count(&steady) <= rankset_count(&view->electors) ||
        stands_between(checker, &view->electors, &steady) ||
        holds_up_boundary(checker, &view->members, &steady) ||
        !ranks_within(&view->members, &storm_view(checker, checker->newest)->members);
    rankset_release(&steady);
    return may;
}

void storm_see_quorum(struct storm_checker *checker, struct sim *sim,
                      const struct sight *sight)
{
    if (sight->code != 0) {
        return;
    }
    checker->parties[sight->rank].lacked_quorum = true;
    if (!may_lack_quorum(checker, sight->rank)) {
        sim_fail(sim, "quorum lost", "rank %" PRIu32 " finds no quorum", sight->rank);
    }
}

/* --- Views ----------------------------------------------------------------------- */

void storm_set_view(struct storm_checker *checker, const struct sim *sim,
                    uint64_t epoch, const struct rankset *members)
{
    struct view_seen *view = &checker->views[epoch];
    view->epoch = epoch;
    ranks_copy(&view->members, members);
    if (!electorate_of(members, sim_machines(sim), sim_direct_max(sim),
                       &view->electors)) {
        abort();
    }
}

/* Of those removed, whom nothing befell, and who were not removed by the deceived. */
static void check_removed(struct storm_checker *checker, struct sim *sim,
                          uint64_t epoch, const struct rankset *removed)
{
    const struct rankset *electors = &storm_view(checker, epoch - 1)->electors;
    struct rankset deceived = {0};
    ranks_copy(&deceived, &checker->disturbed);
    ranks_keep(&deceived, electors);
    uint32_t liars = rankset_count(&deceived);
    rankset_release(&deceived);
    if (liars >= 2 || (liars > 0 && rankset_count(electors) <= 3)) {
        return; /* they suspect, and others believe it */
    }
    FOR_RANKS(rank, removed)
    {
        if (!rankset_has(&checker->gone, rank) &&
            !rankset_has(&checker->disturbed, rank) &&
            !rankset_has(&checker->adjourned, rank) && !checker->parties[rank].ready &&
            rankset_empty(&checker->parties[rank].unreachable)) {
            sim_fail(sim, "fair view",
                     "view %" PRIu64 " removes rank %" PRIu32 ", which nothing befell",
                     epoch, rank);
        }
    }
}

static void check_fair(struct storm_checker *checker, struct sim *sim, uint64_t epoch)
{
    const struct rankset *before = &storm_view(checker, epoch - 1)->members;
    const struct rankset *now = &storm_view(checker, epoch)->members;
    bool joins = !ranks_within(now, before);
    bool reloads = storm_view(checker, epoch)->generation !=
                   storm_view(checker, epoch - 1)->generation;
    struct rankset removed = {0};
    ranks_copy(&removed, before);
    ranks_drop(&removed, now);
    bool leaves = ranks_meet(&removed, &checker->leaving);
    bool ended = ranks_meet(&removed, &checker->adjourned); /* in an older view */
    if (!checker->faulty && !joins && !leaves && !ended && !reloads) {
        sim_fail(sim, "fair view", "view %" PRIu64 " without a fault", epoch);
    }
    if (rankset_empty(&removed) && !joins && !reloads) {
        sim_fail(sim, "fair view", "view %" PRIu64 " changes nothing", epoch);
    }
    check_removed(checker, sim, epoch, &removed);
    rankset_release(&removed);
}

/* A view that nobody was in before. */
static void begin_view(struct storm_checker *checker, struct sim *sim, uint64_t epoch)
{
    struct rankset removed = {0};
    if (epoch == checker->newest + 1) {
        check_fair(checker, sim, epoch);
    }
    checker->newest = epoch;
    storm_count_anew(checker);
    for (uint64_t past = 1; past < epoch; past++) {
        ranks_merge(&removed, &storm_view(checker, past)->members);
    }
    ranks_drop(&removed, &storm_view(checker, epoch)->members);
    check_leases(checker, sim, &removed);
    rankset_release(&removed);
}

/* A reload's view that only the dead have entered: they were a quorum, and whoever goes
 * on by certificates has learned nothing of it (R3). */
static bool died_with(const struct storm_checker *checker, uint64_t epoch)
{
    const struct view_seen *view = storm_view(checker, epoch);
    if (view->generation == storm_view(checker, epoch - 1)->generation) {
        return false;
    }
    FOR_RANKS(rank, &view->members)
    {
        if (checker->parties[rank].epoch >= epoch &&
            !rankset_has(&checker->crashed, rank)) {
            return false;
        }
    }
    return true;
}

void storm_enter_view(struct storm_checker *checker, struct sim *sim,
                      const struct sight *sight)
{
    struct party *party = &checker->parties[sight->rank];
    uint64_t epoch = sight->epoch;
    if (epoch >= STORM_VIEWS_MAX) {
        sim_fail(sim, "one view", "views come without end");
        return;
    }
    const struct view_seen *view = &checker->views[epoch];
    if (view->epoch == 0 || died_with(checker, epoch)) {
        storm_set_view(checker, sim, epoch, sight->members);
        checker->views[epoch].generation = checker->generations.of[sight->rank];
    } else if (view->generation != checker->generations.of[sight->rank]) {
        sim_fail(sim, "one view", "view %" PRIu64 " is of two generations", epoch);
    } else if (!rankset_equal(&view->members, sight->members)) {
        sim_fail(sim, "one view", "view %" PRIu64 " is %s and %s", epoch,
                 ranks_text(&view->members).text, ranks_text(sight->members).text);
    }
    if (!rankset_has(sight->members, sight->rank) || epoch <= party->epoch) {
        sim_fail(sim, "one view", "rank %" PRIu32 " enters view %" PRIu64, sight->rank,
                 epoch);
    }
    party->epoch = epoch;
    party->voted = party->ready = false;
    party->grant_count = 0;
    if (epoch > checker->newest) {
        begin_view(checker, sim, epoch);
    }
}

/* --- Votes ----------------------------------------------------------------------- */

/* A view that was decided may never be entered: all others have adjourned. */
static void note_vote(struct storm_checker *checker, const struct sight *sight)
{
    const struct message *message = sight->message;
    struct party *party = &checker->parties[sight->rank];
    if (message->type == MESSAGE_PROPOSE) {
        ranks_copy(&party->proposed, message->u.paxos.value->members);
    }
    if (message->type != MESSAGE_VOTED || sight->type != SIGHT_SEND) {
        return;
    }
    party->voted = true;
    ranks_copy(&party->voted_for, &party->proposed);
}

bool storm_was_voted_out(const struct storm_checker *checker, uint32_t rank)
{
    const struct rankset *electors = &storm_view(checker, checker->newest)->electors;
    uint32_t votes = 1;
    FOR_RANKS(voter, electors)
    {
        const struct party *party = &checker->parties[voter];
        votes += party->voted && !rankset_has(&party->voted_for, rank);
    }
    return 2 * votes >= rankset_count(electors);
}

void storm_see_message(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct message *message = sight->message;
    note_vote(checker, sight);
    if (sight->type == SIGHT_RECEIVE) {
        rankset_remove(&checker->parties[sight->peer].unheard_by, sight->rank);
    }
    if (sight->type == SIGHT_SEND && message->type == MESSAGE_LEAVE &&
        message->u.leave.what == LEAVE_READY) {
        checker->parties[sight->rank].ready = true;
        checker->parties[sight->rank].ready_in = checker->parties[sight->rank].epoch;
    }
    if (sight->type == SIGHT_SEND && sight->task < checker->program->task_count &&
        message->epoch > 0 && message->epoch < STORM_VIEWS_MAX) {
        storm_see_ballot(checker, sight);
        storm_see_decided(checker, sim, sight);
    }
    if (sight->type != SIGHT_RECEIVE || message->type != MESSAGE_GRANT ||
        message->epoch != checker->parties[sight->rank].epoch) {
        return;
    }
    note_grant(checker, sight);
    if (rankset_has(&storm_view(checker, checker->newest)->members, sight->rank)) {
        return;
    }
    if (!rankset_has(&checker->gone, sight->rank) &&
        storm_holds_lease(checker, sim, sight->rank)) {
        sim_fail(sim, "lease", "rank %" PRIu32 " is removed and gets a lease",
                 sight->rank);
    }
}

/* --- Faults ---------------------------------------------------------------------- */

static bool drifts_too_far(const struct plan_rule *rule)
{
    return rule->factor_ppm > PLAN_FACTOR_ONE_PPM + DRIFT_PPM ||
           rule->factor_ppm < PLAN_FACTOR_ONE_PPM - DRIFT_PPM;
}

/* Slow kernels, clocks within the drift that is assumed, frames that come twice and
 * states that differ deceive nobody. */
void storm_see_fault(struct storm_checker *checker, const struct sim *sim,
                     const struct sight *sight)
{
    const struct plan_rule *rule = &sim_plan(sim)->rules[sight->code];
    bool clock = rule->fault == PLAN_CLOCK && drifts_too_far(rule);
    if (rule->fault == PLAN_SLOW || rule->fault == PLAN_DUP ||
        rule->fault == PLAN_FLIP || (rule->fault == PLAN_CLOCK && !clock)) {
        return;
    }
    checker->faulty = true;
    checker->unclear |= rule->fault != PLAN_KILL;
    if (rule->fault == PLAN_PAUSE || rule->fault == PLAN_GAP || clock) {
        ranks_add(&checker->disturbed, sight->rank);
    }
    if (sight->peer != UINT32_MAX) {
        storm_see_lost(checker, sight);
    }
}

void storm_see_lost(struct storm_checker *checker, const struct sight *sight)
{
    checker->faulty = true;
    checker->unclear = true;
    ranks_add(&checker->parties[sight->rank].unheard_by, sight->peer);
    ranks_add(&checker->parties[sight->rank].unreachable, sight->peer);
    ranks_add(&checker->parties[sight->peer].unreachable, sight->rank);
}

void storm_see_told(const struct storm_checker *checker, struct sim *sim,
                    const struct sight *sight)
{
    if (!rankset_has(&checker->crashed, sight->peer)) {
        sim_fail(sim, "certificate",
                 "rank %" PRIu32 " is told that rank %" PRIu32
                 " is dead, which it is not",
                 sight->rank, sight->peer);
    }
}
