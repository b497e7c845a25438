/* storm_checker.c - see storm_checker.h. */
#include "storm_checker.h"
#include "electorate.h"
#include "hashing/placement.h"
#include "order_checker.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWS_MAX = 64, NO_RANK = 0xff, DRIFT_PPM = 1000 /* rho */ };

/* What has been seen of one task; sets of ranks are one word. */
struct seen {
    uint64_t spawned_by, given_to, started_by, ended_by;
    uint64_t kept_by;                    /* with its bytes */
    uint8_t owner_of[PROGRAM_RANKS_MAX]; /* whose result each rank has */
    int32_t status_of[PROGRAM_RANKS_MAX];
    uint64_t acked[VIEWS_MAX]; /* once: who accepted, by view, */
    uint8_t winner[VIEWS_MAX]; /* whom */
    bool excused; /* it may fail, though the oracle says that it does not */
};

/* What has been seen of one rank. */
struct party {
    bool disturbed, gone, voted, lacked_quorum;
    uint64_t epoch;
    uint64_t unreachable; /* whom it was ever cut off from */
    uint64_t
        proposed; /* members of the next view, by the latest proposal that it got */
    uint64_t voted_out; /* who voted, last in this view, for a next one without it */
    uint64_t grant_ns[PROGRAM_RANKS_MAX]; /* 1 + its token, in this epoch; 0: none */
};

struct view_seen {
    uint64_t epoch, members;
    uint64_t electors; /* those of them who decide about the next view */
};

struct storm_checker {
    const struct program *program;
    uint32_t limit; /* ranks that there may be */
    struct seen *tasks;
    struct party parties[PROGRAM_RANKS_MAX];
    struct view_seen views[VIEWS_MAX]; /* by epoch */
    uint64_t newest;
    bool faulty; /* some fault has begun */
    uint64_t adjourned, fenced;
};

static uint64_t bit(uint32_t rank) { return UINT64_C(1) << rank; }

static uint32_t popcount(uint64_t ranks)
{
    uint32_t count = 0;
    for (; ranks != 0; ranks &= ranks - 1)
        count++;
    return count;
}

static const char *name(const struct storm_checker *checker, uint32_t task)
{
    return checker->program->tasks[task].name;
}

static uint64_t members_of(const struct storm_checker *checker, uint64_t epoch)
{
    return epoch < VIEWS_MAX ? checker->views[epoch].members : 0;
}

static uint64_t electors_of(const struct storm_checker *checker, uint64_t epoch)
{
    return epoch < VIEWS_MAX ? checker->views[epoch].electors : 0;
}

static struct view_seen view_of(const struct sim *sim, uint64_t epoch, uint64_t members)
{
    struct rankset electors = {0};
    const struct rankset all = {.low = members};
    if (!electorate_of(&all, sim_machines(sim), sim_direct_max(sim), &electors))
        abort();
    return (struct view_seen){epoch, members, electors.low};
}

static uint64_t live(const struct storm_checker *checker)
{
    uint64_t ranks = 0;
    for (uint32_t rank = 0; rank < checker->limit; rank++)
        if (!checker->parties[rank].gone)
            ranks |= bit(rank);
    return ranks;
}

/* Those who count; the adjourned have not changed since. */
static uint64_t counting(const struct storm_checker *checker)
{
    return (live(checker) | checker->adjourned) & members_of(checker, checker->newest);
}

/* --- Owners -------------------------------------------------------------------------
 */

/* By what the rank has heard, as its own clock counts. */
static bool holds_lease(const struct storm_checker *checker, const struct sim *sim,
                        uint32_t rank)
{
    const struct party *party = &checker->parties[rank];
    uint64_t view = electors_of(checker, party->epoch);
    uint64_t now_ns = sim_clock_ns(sim, rank);
    uint32_t granted = (view & bit(rank)) && !party->voted;
    for (uint32_t other = 0; other < checker->limit; other++)
        granted += (view & bit(other)) && party->grant_ns[other] != 0 &&
                   party->grant_ns[other] - 1 + sim_lease_ns(sim) > now_ns;
    return party->epoch > 0 && 2 * granted > popcount(view);
}

static void check_given(struct storm_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    struct seen *seen = &checker->tasks[sight->task];
    uint64_t candidates = checker->program->tasks[sight->task].candidates;
    seen->given_to |= bit(sight->rank);
    if (checker->program->tasks[sight->task].once && !seen->excused &&
        !holds_lease(checker, sim, sight->rank))
        sim_fail(sim, "lease", "rank %" PRIu32 " is to run once task %s without one",
                 sight->rank, name(checker, sight->task));
    if (candidates != 0 && !(candidates & bit(sight->rank)))
        sim_fail(sim, "ran once", "%s is given to rank %" PRIu32 ", no candidate",
                 name(checker, sight->task), sight->rank);
}

/* A quorum of the voters of some view that the rank was in accepted it. */
static bool has_quorum(const struct storm_checker *checker, const struct sim *sim,
                       const struct sight *sight)
{
    const struct seen *seen = &checker->tasks[sight->task];
    const struct program_task *task = &checker->program->tasks[sight->task];
    const struct rankset among = {.low = task->candidates};
    for (uint64_t epoch = 1; epoch <= checker->parties[sight->rank].epoch; epoch++) {
        const struct rankset members = {.low = members_of(checker, epoch)};
        uint32_t voters[PROGRAM_RANKS_MAX];
        uint32_t chair = placement_chair(sim_hash(sim, sight->task), &members,
                                         task->candidates != 0 ? &among : NULL);
        uint32_t count = placement_voters(sim_hash(sim, sight->task), chair, &members,
                                          sim_machines(sim), sim_voters(sim), voters);
        uint32_t accepted = 1; /* the chair itself */
        for (uint32_t i = 0; i < count; i++)
            accepted +=
                voters[i] != chair && (seen->acked[epoch] & bit(voters[i])) != 0;
        bool asked = count == 1 || seen->winner[epoch] == sight->rank;
        if (count > 0 && accepted >= count / 2 + 1 && asked)
            return true;
        if (count > 0 && count / 2 + 1 == 1)
            return true; /* the chair alone is a quorum, and says nothing */
    }
    return false;
}

static void check_start(struct storm_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    struct seen *seen = &checker->tasks[sight->task];
    bool once = checker->program->tasks[sight->task].once;
    uint64_t counts = counting(checker), others = seen->started_by & counts;
    if (once && seen->started_by != 0)
        sim_fail(sim, "once once", "once task %s starts again, at rank %" PRIu32,
                 name(checker, sight->task), sight->rank);
    else if ((counts & bit(sight->rank)) && others != 0)
        sim_fail(sim, "ran once",
                 "%s starts at rank %" PRIu32 ", and had at {%" PRIx64 "}",
                 name(checker, sight->task), sight->rank, others);
    if (!program_runs(checker->program, sight->task))
        sim_fail(sim, "ran once", "%s starts at rank %" PRIu32 " and must not",
                 name(checker, sight->task), sight->rank);
    if (once && !has_quorum(checker, sim, sight))
        sim_fail(sim, "quorum", "once task %s starts at rank %" PRIu32 " without one",
                 name(checker, sight->task), sight->rank);
    seen->started_by |= bit(sight->rank);
}

/* --- Results ------------------------------------------------------------------------
 */

/* Something that it depends on ended in a verdict, or failed because of one. */
static bool may_fail(const struct storm_checker *checker, uint32_t index)
{
    const struct program_task *task = &checker->program->tasks[index];
    const struct program_list *lists[] = {&task->inputs, &task->after, &task->children};
    if (checker->tasks[index].excused)
        return true;
    for (int list = 0; list < 3; list++)
        for (uint32_t i = 0; i < lists[list]->count; i++)
            if (checker->tasks[lists[list]->items[i]].excused)
                return true;
    return false;
}

/* It had run, its owner may be gone, and an input may be forgotten with its scope. */
static bool may_be_lost(const struct storm_checker *checker, uint32_t index)
{
    const struct program_list *inputs = &checker->program->tasks[index].inputs;
    bool scoped = false;
    for (uint32_t i = 0; i < inputs->count; i++)
        scoped |= checker->program->tasks[inputs->items[i]].scope != 0;
    return scoped && checker->newest > 1 && checker->tasks[index].ended_by != 0;
}

static void check_result(struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight, const char *where)
{
    size_t size;
    const uint8_t *bytes = program_result(checker->program, sight->task, &size);
    bool should = program_fails(checker->program, sight->task);
    bool failed = sight->code != MOOT_OK;
    if (sight->code == MOOT_ERR_RESULT_LOST && may_be_lost(checker, sight->task))
        checker->tasks[sight->task].excused = true;
    if (failed && !should && may_fail(checker, sight->task))
        checker->tasks[sight->task].excused = true;
    else if (failed != should)
        sim_fail(sim, "oracle", "%s at rank %" PRIu32 " (%s) has status %" PRId32,
                 name(checker, sight->task), sight->rank, where, sight->code);
    else if (!failed && sight->data != NULL &&
             (sight->size != size || memcmp(sight->data, bytes, size) != 0))
        sim_fail(sim, "oracle", "%s at rank %" PRIu32 " (%s) has other bytes",
                 name(checker, sight->task), sight->rank, where);
}

static uint32_t rank_of(const struct storm_checker *checker, const struct sim *sim,
                        uint64_t uid)
{
    for (uint32_t rank = 0; rank < checker->limit; rank++)
        if (sim_uid(sim, rank) == uid)
            return rank;
    return NO_RANK;
}

/* The rank now has the result's bytes, made by the owner. */
static void consume(struct storm_checker *checker, struct sim *sim,
                    const struct sight *sight, uint32_t owner)
{
    struct seen *seen = &checker->tasks[sight->task];
    uint64_t counts = counting(checker);
    if (owner == NO_RANK || !(seen->ended_by & bit(owner))) {
        sim_fail(sim, "one owner", "rank %" PRIu32 " keeps %s of an owner that is not",
                 sight->rank, name(checker, sight->task));
        return;
    }
    seen->kept_by |= bit(sight->rank);
    seen->owner_of[sight->rank] = (uint8_t)owner;
    seen->status_of[sight->rank] = sight->code;
    for (uint32_t rank = 0; rank < checker->limit; rank++)
        if ((counts & bit(sight->rank)) && (counts & seen->kept_by & bit(rank)) &&
            (seen->owner_of[rank] != owner || seen->status_of[rank] != sight->code))
            sim_fail(sim, "one owner",
                     "rank %" PRIu32 " has %s from %" PRIu32 ", rank %" PRIu32
                     " from %u",
                     sight->rank, name(checker, sight->task), owner, rank,
                     (unsigned)seen->owner_of[rank]);
}

static void check_end(struct storm_checker *checker, struct sim *sim,
                      const struct sight *sight)
{
    check_result(checker, sim, sight, "made");
    checker->tasks[sight->task].ended_by |= bit(sight->rank);
    consume(checker, sim, sight, sight->rank);
}

static void check_keep(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct message_result *result = &sight->message->u.result;
    check_result(checker, sim, sight, "kept");
    if (result->data != RESULT_BARE)
        consume(checker, sim, sight, rank_of(checker, sim, result->owner_uid));
}

/* --- Waits --------------------------------------------------------------------------
 */

static void check_not_held(struct storm_checker *checker, struct sim *sim,
                           const struct sight *sight)
{
    const struct program_task *task = &checker->program->tasks[sight->task];
    uint64_t may = task->candidates != 0 ? task->candidates : UINT64_MAX;
    uint64_t view = members_of(checker, checker->parties[sight->rank].epoch);
    uint64_t holders = checker->tasks[sight->task].spawned_by & may & view;
    holders &= live(checker) & ~checker->adjourned;
    holders &= members_of(checker, checker->newest);
    if (holders != 0)
        sim_fail(sim, "not held",
                 "rank %" PRIu32 " is told that nobody holds %s, but {%" PRIx64 "} do",
                 sight->rank, name(checker, sight->task), holders);
}

static void check_maybe(struct storm_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    const struct seen *seen = &checker->tasks[sight->task];
    uint64_t view = members_of(checker, checker->parties[sight->rank].epoch);
    uint64_t here = (seen->started_by | seen->kept_by) & view & live(checker) &
                    members_of(checker, checker->newest);
    bool removed = (members_of(checker, 1) & ~view) != 0 || checker->newest > 2;
    if (!checker->program->tasks[sight->task].once || !removed || here != 0)
        sim_fail(sim, "verdict",
                 "rank %" PRIu32 " gets MAYBE_RAN on %s, which {%" PRIx64
                 "} ran or have",
                 sight->rank, name(checker, sight->task), here);
}

static void check_verdict(struct storm_checker *checker, struct sim *sim,
                          const struct sight *sight)
{
    const struct program_task *task = &checker->program->tasks[sight->task];
    uint64_t view = members_of(checker, checker->parties[sight->rank].epoch);
    checker->tasks[sight->task].excused = true;
    if (sight->code == MOOT_ERR_NOT_HELD)
        check_not_held(checker, sim, sight);
    else if (sight->code == MOOT_ERR_MAYBE_RAN)
        check_maybe(checker, sim, sight);
    else if (sight->code != MOOT_ERR_NO_CANDIDATE || task->candidates == 0 ||
             (task->candidates & view) != 0)
        sim_fail(sim, "verdict", "rank %" PRIu32 " gets verdict %" PRId32 " on %s",
                 sight->rank, sight->code, name(checker, sight->task));
}

/* Of those, whom nothing ever kept from hearing another of them. */
static uint64_t mutual(const struct storm_checker *checker, uint64_t ranks)
{
    uint64_t all = ranks;
    for (uint32_t rank = 0; rank < checker->limit; rank++)
        if ((all & bit(rank)) && (checker->parties[rank].unreachable & all))
            ranks &= ~bit(rank);
    return ranks;
}

/* Somebody hears one of them and not another: it may have had a view accepted without
 * the other, for which the one then withholds its grants. */
static bool stands_between(const struct storm_checker *checker, uint64_t others,
                           uint64_t ranks)
{
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        uint64_t deaf_to = checker->parties[rank].unreachable & ranks;
        if ((others & bit(rank)) && deaf_to != 0 && deaf_to != ranks)
            return true;
    }
    return false;
}

static bool may_lack_quorum(const struct storm_checker *checker, uint32_t rank)
{
    const struct party *party = &checker->parties[rank];
    uint64_t view = members_of(checker, party->epoch);
    uint64_t electors = electors_of(checker, party->epoch);
    uint64_t there = electors & live(checker) & ~checker->adjourned;
    uint64_t steady = there & ~party->unreachable;
    for (uint32_t other = 0; other < checker->limit; other++)
        if (checker->parties[other].disturbed)
            steady &= ~bit(other);
    steady = mutual(checker, steady);
    return party->disturbed || 2 * popcount(steady) <= popcount(electors) ||
           stands_between(checker, electors & ~steady, steady) ||
           (view & ~members_of(checker, checker->newest)) != 0;
}

static void check_waited(struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    bool good = true;
    if (sight->code == MOOT_OK)
        good = !program_fails(checker->program, sight->task);
    else if (sight->code == MOOT_ERR_FENCED)
        good = true; /* finish() looks whether it was removed */
    else if (sight->code == MOOT_ERR_NO_QUORUM)
        good = checker->parties[sight->rank].lacked_quorum;
    else
        good = program_fails(checker->program, sight->task) ||
               may_fail(checker, sight->task);
    if (!good)
        sim_fail(sim, "wait code", "rank %" PRIu32 "'s wait for %s ends with %" PRId32,
                 sight->rank, name(checker, sight->task), sight->code);
    else if (sight->code == MOOT_OK)
        check_result(checker, sim, sight, "waited for");
}

/* --- Views and leases ---------------------------------------------------------------
 */

static void check_leases(struct storm_checker *checker, struct sim *sim,
                         uint64_t removed)
{
    for (uint32_t rank = 0; rank < checker->limit; rank++)
        if ((removed & bit(rank)) && !checker->parties[rank].gone &&
            holds_lease(checker, sim, rank))
            sim_fail(sim, "lease", "rank %" PRIu32 " is removed and holds a lease",
                     rank);
}

static void check_fair(struct storm_checker *checker, struct sim *sim, uint64_t epoch)
{
    uint64_t before = members_of(checker, epoch - 1);
    uint64_t removed = before & ~members_of(checker, epoch), deceived = 0;
    bool joins = (members_of(checker, epoch) & ~members_of(checker, epoch - 1)) != 0;
    if (!checker->faulty && !joins)
        sim_fail(sim, "fair view", "view %" PRIu64 " without a fault", epoch);
    if (removed == 0 && !joins)
        sim_fail(sim, "fair view", "view %" PRIu64 " changes nothing", epoch);
    for (uint32_t rank = 0; rank < checker->limit; rank++)
        if (checker->parties[rank].disturbed && (before & bit(rank)))
            deceived |= bit(rank);
    if (popcount(deceived) >= 2 || popcount(electors_of(checker, epoch - 1)) <= 3)
        removed = deceived != 0 ? 0 : removed; /* they suspect, and others believe it */
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        const struct party *party = &checker->parties[rank];
        if ((removed & bit(rank)) && !party->gone && !party->disturbed &&
            party->unreachable == 0 && !(checker->adjourned & bit(rank)))
            sim_fail(sim, "fair view",
                     "view %" PRIu64 " removes rank %" PRIu32 ", which nothing befell",
                     epoch, rank);
    }
}

static void enter_view(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    struct party *party = &checker->parties[sight->rank];
    uint64_t members = sight->members->low, epoch = sight->epoch;
    if (epoch >= VIEWS_MAX) {
        sim_fail(sim, "one view", "views come without end");
        return;
    }
    struct view_seen *view = &checker->views[epoch];
    if (view->epoch != 0 && view->members != members)
        sim_fail(sim, "one view", "view %" PRIu64 " is {%" PRIx64 "} and {%" PRIx64 "}",
                 epoch, view->members, members);
    *view = view_of(sim, epoch, members);
    if (!(members & bit(sight->rank)) || epoch <= party->epoch)
        sim_fail(sim, "one view", "rank %" PRIu32 " enters view %" PRIu64, sight->rank,
                 epoch);
    party->epoch = epoch;
    party->voted = false;
    for (uint32_t rank = 0; rank < checker->limit; rank++)
        checker->parties[rank].voted_out &= ~bit(sight->rank);
    memset(party->grant_ns, 0, sizeof party->grant_ns);
    if (epoch <= checker->newest)
        return;
    if (epoch == checker->newest + 1)
        check_fair(checker, sim, epoch);
    checker->newest = epoch;
    uint64_t ever = 0;
    for (uint64_t e = 1; e < epoch; e++)
        ever |= members_of(checker, e);
    check_leases(checker, sim, ever & ~members);
}

static bool drifts_too_far(const struct plan_rule *rule)
{
    return rule->factor_ppm > PLAN_FACTOR_ONE_PPM + DRIFT_PPM ||
           rule->factor_ppm < PLAN_FACTOR_ONE_PPM - DRIFT_PPM;
}

/* Slow kernels, clocks within the drift that is assumed and frames that come twice
 * deceive nobody. */
static void begin_fault(struct storm_checker *checker, const struct sim *sim,
                        const struct sight *sight)
{
    const struct plan_rule *rule = &sim_plan(sim)->rules[sight->code];
    bool clock = rule->fault == PLAN_CLOCK && drifts_too_far(rule);
    if (rule->fault == PLAN_SLOW || rule->fault == PLAN_DUP ||
        (rule->fault == PLAN_CLOCK && !clock))
        return;
    checker->faulty = true;
    if (rule->fault == PLAN_PAUSE || rule->fault == PLAN_GAP || clock)
        checker->parties[sight->rank].disturbed = true;
    if (sight->peer == UINT32_MAX)
        return;
    checker->parties[sight->rank].unreachable |= bit(sight->peer);
    checker->parties[sight->peer].unreachable |= bit(sight->rank);
}

/* --- Messages -----------------------------------------------------------------------
 */

/* A view that was decided may never be entered: all others have adjourned. */
static void note_vote(struct storm_checker *checker, const struct sight *sight)
{
    const struct message *message = sight->message;
    struct party *party = &checker->parties[sight->rank];
    if (message->type == MESSAGE_PROPOSE)
        party->proposed = message->u.paxos.value->members->low;
    if (message->type != MESSAGE_VOTED || sight->type != SIGHT_SEND)
        return;
    for (uint32_t rank = 0; rank < checker->limit; rank++)
        if (party->proposed & bit(rank))
            checker->parties[rank].voted_out &= ~bit(sight->rank);
        else
            checker->parties[rank].voted_out |= bit(sight->rank);
}

/* By half of the last view, the one who counts the votes included, who sends none. */
static bool was_voted_out(const struct storm_checker *checker, uint32_t rank)
{
    uint64_t last = members_of(checker, checker->newest);
    uint32_t votes = popcount(checker->parties[rank].voted_out & last);
    return 2 * (votes + 1) >= popcount(last);
}

static void check_message(struct storm_checker *checker, struct sim *sim,
                          const struct sight *sight)
{
    const struct message *message = sight->message;
    struct party *party = &checker->parties[sight->rank];
    note_vote(checker, sight);
    bool known = sight->task < checker->program->task_count;
    bool in_view = message->epoch > 0 && message->epoch < VIEWS_MAX;
    if (sight->type == SIGHT_SEND && known && in_view) {
        struct seen *seen = &checker->tasks[sight->task];
        if (message->type == MESSAGE_ACK)
            seen->acked[message->epoch] |= bit(sight->rank);
        if (message->type == MESSAGE_ACCEPT && !message->u.accept.maybe)
            seen->winner[message->epoch] = (uint8_t)message->u.accept.winner;
    }
    if (sight->type == SIGHT_SEND && message->type == MESSAGE_VOTED)
        party->voted = true;
    if (sight->type == SIGHT_RECEIVE && message->type == MESSAGE_GRANT &&
        message->epoch == party->epoch) {
        if (message->u.grant.token >= party->grant_ns[sight->peer])
            party->grant_ns[sight->peer] = message->u.grant.token + 1;
        if (!(members_of(checker, checker->newest) & bit(sight->rank)))
            check_leases(checker, sim, bit(sight->rank));
    }
}

static void refuse(struct storm_checker *checker, struct sim *sim,
                   const struct sight *sight)
{
    uint64_t view = members_of(checker, checker->parties[sight->rank].epoch);
    checker->tasks[sight->task].spawned_by &= ~bit(sight->rank);
    if (checker->program->tasks[sight->task].candidates & view)
        sim_fail(sim, "verdict", "rank %" PRIu32 " may not spawn %s", sight->rank,
                 name(checker, sight->task));
}

static void see_task(struct storm_checker *checker, struct sim *sim,
                     const struct sight *sight)
{
    struct seen *seen = &checker->tasks[sight->task];
    if (sight->type == SIGHT_SPAWN || sight->type == SIGHT_ADOPT)
        seen->spawned_by |= bit(sight->rank);
    else if (sight->type == SIGHT_REFUSED)
        refuse(checker, sim, sight);
    else if (sight->type == SIGHT_RUN)
        check_given(checker, sim, sight);
    else if (sight->type == SIGHT_START)
        check_start(checker, sim, sight);
    else if (sight->type == SIGHT_END)
        check_end(checker, sim, sight);
    else if (sight->type == SIGHT_KEEP)
        check_keep(checker, sim, sight);
    else if (sight->type == SIGHT_WAITED)
        check_waited(checker, sim, sight);
    else if (sight->type == SIGHT_VERDICT)
        check_verdict(checker, sim, sight);
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct storm_checker *checker = context;
    struct party *party = &checker->parties[sight->rank];
    if (checker->views[1].electors == 0)
        checker->views[1] = view_of(sim, 1, checker->views[1].members);
    if (sight->type == SIGHT_SEND || sight->type == SIGHT_RECEIVE) {
        check_message(checker, sim, sight);
    } else if (sight->type == SIGHT_VIEW) {
        enter_view(checker, sim, sight);
    } else if (sight->type == SIGHT_QUORUM) {
        party->lacked_quorum |= sight->code == 0;
        if (sight->code == 0 && !may_lack_quorum(checker, sight->rank))
            sim_fail(sim, "quorum lost", "rank %" PRIu32 " finds no quorum",
                     sight->rank);
    } else if (sight->type == SIGHT_FAULT) {
        begin_fault(checker, sim, sight);
    } else if (sight->type == SIGHT_CRASH || sight->type == SIGHT_LEFT) {
        party->gone = true;
        checker->faulty = true;
    } else if (sight->type == SIGHT_FENCED) {
        party->gone = true;
        checker->fenced |= bit(sight->rank);
    } else if (sight->type == SIGHT_ADJOURN) {
        checker->adjourned |= bit(sight->rank);
    } else if (sight->task < checker->program->task_count) {
        see_task(checker, sim, sight);
    }
}

/* --- The whole run ------------------------------------------------------------------
 */

static bool fail(struct sim_report *report, const char *check, const char *why)
{
    report->failed = true;
    (void)snprintf(report->check, sizeof report->check, "%s", check);
    (void)snprintf(report->why, sizeof report->why, "%s", why);
    return false;
}

static bool finish(const struct storm_checker *checker, struct sim_report *report)
{
    uint64_t last = members_of(checker, checker->newest);
    uint64_t saw_the_end = checker->adjourned & last;
    for (uint32_t rank = 0; rank < checker->limit; rank++)
        if (saw_the_end != 0 && (checker->fenced & last & bit(rank)) &&
            !was_voted_out(checker, rank))
            return fail(report, "fair view", "a member of the last view was fenced");
    for (uint32_t i = 0; i < checker->program->task_count; i++) {
        const struct seen *seen = &checker->tasks[i];
        const struct program_task *task = &checker->program->tasks[i];
        uint64_t may = task->candidates != 0 ? task->candidates : UINT64_MAX;
        if ((seen->spawned_by & may & saw_the_end) && !task->once &&
            program_runs(checker->program, i) && !may_fail(checker, i) &&
            seen->started_by == 0)
            return fail(report, "ran at all", name(checker, i));
    }
    return true;
}

bool storm_checker_run(const struct sim_options *options, struct sim_report *report)
{
    struct storm_checker *checker = calloc(1, sizeof *checker);
    struct sim_watcher *watchers = calloc(options->watcher_count + 2, sizeof *watchers);
    if (checker == NULL || watchers == NULL)
        abort();
    checker->program = options->program;
    checker->limit = options->program->rank_count + options->storm->comebacks;
    checker->tasks = calloc(options->program->task_count + 1, sizeof *checker->tasks);
    if (checker->tasks == NULL)
        abort();
    for (uint32_t i = 0; i < options->program->task_count; i++)
        checker->tasks[i].excused = options->program->tasks[i].cancellers != 0;
    checker->newest = 1;
    checker->views[1] = (struct view_seen){
        1, UINT64_MAX >> (PROGRAM_RANKS_MAX - options->storm->first), 0};
    for (uint32_t rank = 0; rank < options->storm->first; rank++)
        checker->parties[rank].epoch = 1;
    for (size_t i = 0; i < options->watcher_count; i++)
        watchers[i] = options->watchers[i];
    watchers[options->watcher_count] = (struct sim_watcher){see, checker};
    struct order_checker *order = order_checker_new(options->program, options->storm);
    watchers[options->watcher_count + 1] = order_checker_watcher(order);
    struct sim_options all = *options;
    all.watchers = watchers;
    all.watcher_count = options->watcher_count + 2;
    bool good = sim_run(&all, report) && finish(checker, report);
    order_checker_free(order);
    free(checker->tasks);
    free(checker);
    free(watchers);
    return good;
}
