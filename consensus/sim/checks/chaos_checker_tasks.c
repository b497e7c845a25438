/* chaos_checker_tasks.c - owners, results and waits, under chaos_checker.h's checks. */
#include "consensus/sim/checks/chaos_checker_private.h"
#include "hashing/placement.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct rankset candidates_of(const struct storm_checker *checker, uint32_t task)
{
    return (struct rankset){.low = checker->program->tasks[task].candidates};
}

/* --- Owners ---------------------------------------------------------------------- */

static void check_given(struct storm_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    const struct rankset candidates = candidates_of(checker, sight->task);
    if (checker->program->tasks[sight->task].once &&
        !checker->tasks[sight->task].excused &&
        !storm_holds_lease(checker, sim, sight->rank)) {
        sim_fail(sim, "lease", "rank %" PRIu32 " is to run once task %s without one",
                 sight->rank, storm_task_name(checker, sight->task));
    }
    if (candidates.low != 0 && !rankset_has(&candidates, sight->rank)) {
        sim_fail(sim, "ran once", "%s is given to rank %" PRIu32 ", no candidate",
                 storm_task_name(checker, sight->task), sight->rank);
    }
}

void storm_see_ballot(struct storm_checker *checker, const struct sight *sight)
{
    const struct message *message = sight->message;
    struct chaos_seen *seen = &checker->tasks[sight->task];
    if (message->type == MESSAGE_LEAVE && message->u.leave.what == LEAVE_TAKEN &&
        rankset_has(&seen->kept_by, sight->rank)) {
        ranks_add(&seen->heirs, sight->rank);
    }
    if (message->type == MESSAGE_MOTION && message->u.motion.final) {
        ranks_add(&seen->forgone, sight->rank);
    }
    seen->decided |= message->type == MESSAGE_DECISION;
    bool acks = message->type == MESSAGE_ACK;
    bool accepts = message->type == MESSAGE_ACCEPT && !message->u.accept.maybe;
    if (!acks && !accepts) {
        return;
    }
    if (seen->ballots == NULL) {
        seen->ballots = calloc(STORM_VIEWS_MAX, sizeof(*seen->ballots));
    }
    if (seen->ballots == NULL) {
        abort();
    }
    struct ballot *ballot = &seen->ballots[message->epoch];
    if (acks) {
        ranks_add(&ballot->acked, sight->rank);
    } else {
        ballot->winner = message->u.accept.winner + 1;
    }
}

static bool had_quorum_in(const struct storm_checker *checker, const struct sim *sim,
                          const struct sight *sight, uint64_t epoch)
{
    static const struct ballot none;
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    const struct ballot *ballot = seen->ballots != NULL ? &seen->ballots[epoch] : &none;
    const struct rankset among = candidates_of(checker, sight->task);
    const struct rankset *members = &storm_view(checker, epoch)->members;
    const moot_hash *hash = sim_hash(sim, sight->task);
    uint32_t voters[LIMIT_VOTERS];
    uint32_t chair = placement_chair(hash, members, among.low != 0 ? &among : NULL);
    uint32_t count = placement_voters(hash, chair, members, sim_machines(sim),
                                      sim_voters(sim), voters);
    uint32_t accepted = 1; /* the chair itself */
    for (uint32_t i = 0; i < count; i++) {
        accepted += voters[i] != chair && rankset_has(&ballot->acked, voters[i]);
    }
    bool asked = count == 1 || ballot->winner == sight->rank + 1;
    if (count > 0 && accepted >= count / 2 + 1 && asked) {
        return true;
    }
    return count > 0 && count / 2 + 1 == 1; /* the chair alone, and it says nothing */
}

/* A quorum of the voters of some view that the rank was in accepted it. */
static bool has_quorum(const struct storm_checker *checker, const struct sim *sim,
                       const struct sight *sight)
{
    for (uint64_t epoch = 1; epoch <= checker->parties[sight->rank].epoch; epoch++) {
        if (had_quorum_in(checker, sim, sight, epoch)) {
            return true;
        }
    }
    return false;
}

static void check_start(struct storm_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    struct chaos_seen *seen = &checker->tasks[sight->task];
    const char *name = storm_task_name(checker, sight->task);
    bool once = checker->program->tasks[sight->task].once;
    storm_check_started(checker, sim, sight);
    bool again = checker->program->tasks[sight->task].idempotent;
    if (once && !again &&
        (!rankset_empty(&seen->started_by) ||
         storm_started_before(checker, sight->rank, sight->task))) {
        sim_fail(sim, "once once", "once task %s starts again, at rank %" PRIu32, name,
                 sight->rank);
    } else if (rankset_has(&checker->counting, sight->rank) &&
               ranks_meet(&seen->started_by, &checker->counting)) {
        sim_fail(sim, "ran once", "%s starts at rank %" PRIu32 ", and had at %s", name,
                 sight->rank, ranks_text(&seen->started_by).text);
    }
    if (rankset_has(&checker->counting, sight->rank) &&
        ranks_meet(&seen->heirs, &checker->counting)) {
        sim_fail(sim, "handed over", "%s starts at rank %" PRIu32 ", and %s have it",
                 name, sight->rank, ranks_text(&seen->heirs).text);
    }
    if (!program_runs(checker->program, sight->task)) {
        sim_fail(sim, "ran once", "%s starts at rank %" PRIu32 " and must not", name,
                 sight->rank);
    }
    if (once && !has_quorum(checker, sim, sight)) {
        sim_fail(sim, "quorum", "once task %s starts at rank %" PRIu32 " without one",
                 name, sight->rank);
    }
    ranks_add(&seen->started_by, sight->rank);
}

/* --- Results --------------------------------------------------------------------- */

bool storm_may_fail(const struct storm_checker *checker, uint32_t index)
{
    const struct program_task *task = &checker->program->tasks[index];
    const struct program_list *lists[] = {&task->inputs, &task->after, &task->children};
    if (checker->tasks[index].excused) {
        return true;
    }
    for (int list = 0; list < 3; list++) {
        for (uint32_t i = 0; i < lists[list]->count; i++) {
            if (checker->tasks[lists[list]->items[i]].excused) {
                return true;
            }
        }
    }
    return false;
}

static bool takes_from_scope(const struct storm_checker *checker, uint32_t index)
{
    const struct program_task *tasks = checker->program->tasks;
    const struct program_list *lists[] = {&tasks[index].inputs, &tasks[index].after};
    bool scoped = false;
    for (int list = 0; list < 2; list++) {
        for (uint32_t i = 0; i < lists[list]->count; i++) {
            scoped |= tasks[lists[list]->items[i]].scope != 0;
        }
    }
    return scoped;
}

/* A newcomer may begin when a phase is over for all others: what it would spawn in it,
 * or with results from it, and waits for there, ends with SCOPE_CLOSED. */
static bool missed_phase(const struct storm_checker *checker, const struct sight *sight)
{
    bool scoped = checker->program->tasks[sight->task].scope != 0 ||
                  takes_from_scope(checker, sight->task);
    return scoped && sight->rank >= checker->first;
}

/* An input may be forgotten with its scope, or because all have released it: of what
 * had run, and its owner may be gone, or of what a newcomer spawned before it had heard
 * that the scope was over.  A task that varies and has run is not made again. */
static bool may_be_lost(const struct storm_checker *checker, const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    uint32_t newcomer = rankset_next(&seen->spawned_by, checker->first);
    bool ran = !rankset_empty(&seen->ended_by);
    bool over =
        takes_from_scope(checker, sight->task) && (ran || newcomer != UINT32_MAX);
    const bool read = ran && checker->program->tasks[sight->task].varies; /* I71 */
    return sight->code == MOOT_ERR_RESULT_LOST && checker->newest > 1 &&
           (over || read ||
            (ran && storm_takes_dropped(checker, sight->rank, sight->task)) ||
            storm_was_dropped(checker, sight));
}

/* Disks have noted that the once task started before the rank went back. */
static bool ends_as_noted(const struct storm_checker *checker,
                          const struct sight *sight)
{
    return sight->type == SIGHT_END && sight->code == MOOT_ERR_MAYBE_RAN &&
           storm_started_before(checker, sight->rank, sight->task);
}

/* I100: its kernel fails whenever it runs, and nothing that it takes was lost. */
static bool loses_failure(const struct storm_checker *checker,
                          const struct sight *sight)
{
    return sight->code == MOOT_ERR_RESULT_LOST &&
           program_fails(checker->program, sight->task) &&
           checker->program->tasks[sight->task].elements == 0 &&
           !may_be_lost(checker, sight) && !storm_may_fail(checker, sight->task);
}

static void check_result(struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight, const char *where)
{
    size_t size;
    const char *name = storm_task_name(checker, sight->task);
    const uint8_t *bytes = program_result(checker->program, sight->task, &size);
    bool should = program_fails(checker->program, sight->task);
    bool failed = sight->code != MOOT_OK;
    if (loses_failure(checker, sight)) {
        sim_fail(sim, "oracle", "%s at rank %" PRIu32 " (%s) is lost, and only failed",
                 name, sight->rank, where);
    }
    if (may_be_lost(checker, sight) || ends_as_noted(checker, sight)) {
        checker->tasks[sight->task].excused = true;
    }
    if (failed && !should && storm_may_fail(checker, sight->task)) {
        checker->tasks[sight->task].excused = true;
    } else if (failed != should) {
        sim_fail(sim, "oracle", "%s at rank %" PRIu32 " (%s) has status %" PRId32, name,
                 sight->rank, where, sight->code);
    } else if (!failed && sight->data != NULL &&
               (sight->size != size || memcmp(sight->data, bytes, size) != 0)) {
        sim_fail(sim, "oracle", "%s at rank %" PRIu32 " (%s) has other bytes", name,
                 sight->rank, where);
    }
}

static uint32_t rank_of(const struct storm_checker *checker, const struct sim *sim,
                        uint64_t uid, uint32_t likely)
{
    if (likely < checker->limit && sim_uid(sim, likely) == uid) {
        return likely;
    }
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        if (sim_uid(sim, rank) == uid) {
            return rank;
        }
    }
    return UINT32_MAX;
}

/* Those who count, and have it, have the same. */
static void check_alike(const struct storm_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    const struct kept *here = &seen->kept[sight->rank];
    if (!rankset_has(&checker->counting, sight->rank)) {
        return;
    }
    FOR_RANKS(rank, &seen->bound_by)
    {
        const struct kept *there = &seen->kept[rank];
        if (rankset_has(&checker->counting, rank) &&
            (there->owner != here->owner || there->status != here->status)) {
            sim_fail(sim, "one owner",
                     "rank %" PRIu32 " has %s from %" PRIu32 ", rank %" PRIu32
                     " from %" PRIu32,
                     sight->rank, storm_task_name(checker, sight->task), here->owner,
                     rank, there->owner);
        }
    }
}

/* I21: of those who count one has seen it end well, and one was told, and is told as
 * long as it remembers it, that nobody holds it. */
static void check_agreed(const struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    if (rankset_has(&checker->counting, sight->rank) &&
        ranks_meet(&seen->saw_unheld, &checker->counting) &&
        ranks_meet(&seen->saw_well, &checker->counting)) {
        sim_fail(sim, "one verdict",
                 "rank %" PRIu32 " shows that %s ended well at %s; nobody holds it, "
                 "ranks %s were told",
                 sight->rank, storm_task_name(checker, sight->task),
                 ranks_text(&seen->saw_well).text, ranks_text(&seen->saw_unheld).text);
    }
}

/* Whoever cancels, and whoever dies: all who count see the same end.  That a result
 * went with its owner is none (check_verdict, or check_result, asks whether it may). */
static void check_outcome(struct storm_checker *checker, struct sim *sim,
                          const struct sight *sight)
{
    struct chaos_seen *seen = &checker->tasks[sight->task];
    bool well = sight->code == MOOT_OK;
    if (sight->code == MOOT_ERR_RESULT_LOST) {
        return;
    }
    ranks_add(well ? &seen->saw_well : &seen->saw_ill, sight->rank);
    check_agreed(checker, sim, sight);
    if (rankset_has(&checker->counting, sight->rank) &&
        ranks_meet(well ? &seen->saw_ill : &seen->saw_well, &checker->counting)) {
        sim_fail(sim, "one outcome",
                 "rank %" PRIu32 " sees %s end %s; well at %s, ill at %s", sight->rank,
                 storm_task_name(checker, sight->task), well ? "well" : "in an error",
                 ranks_text(&seen->saw_well).text, ranks_text(&seen->saw_ill).text);
    }
}

/* It knows nothing of it any more. */
static void forget_outcome(struct chaos_seen *seen, uint32_t rank)
{
    rankset_remove(&seen->saw_well, rank);
    rankset_remove(&seen->saw_ill, rank);
    rankset_remove(&seen->said_unheld, rank);
    rankset_remove(&seen->repeats_unheld, rank);
    rankset_remove(&seen->saw_unheld, rank);
    rankset_remove(&seen->saw_crashed, rank);
}

/* The rank now has the result's bytes, made by the owner. */
static void consume(struct storm_checker *checker, struct sim *sim,
                    const struct sight *sight, uint32_t owner)
{
    struct chaos_seen *seen = &checker->tasks[sight->task];
    struct kept now = {.owner = owner,
                       .status = sight->code,
                       .epoch = checker->parties[sight->rank].epoch};
    if (owner == UINT32_MAX || !rankset_has(&seen->ended_by, owner)) {
        sim_fail(sim, "one owner", "rank %" PRIu32 " keeps %s of an owner that is not",
                 sight->rank, storm_task_name(checker, sight->task));
        return;
    }
    if (seen->kept == NULL) {
        seen->kept = calloc(checker->limit, sizeof(*seen->kept));
    }
    if (seen->kept == NULL) {
        abort();
    }
    uint32_t any = rankset_next(&seen->bound_by, 0);
    seen->disputed |= any != UINT32_MAX && (seen->kept[any].owner != now.owner ||
                                            seen->kept[any].status != now.status);
    if (rankset_has(&seen->kept_by, sight->rank)) {
        now.epoch = seen->kept[sight->rank].epoch;
    }
    ranks_add(&seen->kept_by, sight->rank);
    seen->kept[sight->rank] = now;
    if (now.status == MOOT_ERR_RESULT_LOST) { /* nothing against what others have */
        rankset_remove(&seen->bound_by, sight->rank);
        return;
    }
    ranks_add(&seen->bound_by, sight->rank);
    if (seen->disputed) {
        check_alike(checker, sim, sight);
    }
}

/* A result that varies and was read: those who have its bytes serve them. */
static void check_made_lost(const struct storm_checker *checker, struct sim *sim,
                            const struct sight *sight)
{
    struct rankset here = {0};
    if (sight->code == MOOT_ERR_RESULT_LOST &&
        checker->program->tasks[sight->task].varies) {
        storm_find_keepers(checker, sight, &here);
    }
    if (!rankset_empty(&here)) {
        sim_fail(sim, "verdict", "rank %" PRIu32 " loses %s, which %s have",
                 sight->rank, storm_task_name(checker, sight->task),
                 ranks_text(&here).text);
    }
    rankset_release(&here);
}

static void check_end(struct storm_checker *checker, struct sim *sim,
                      const struct sight *sight)
{
    check_made_lost(checker, sim, sight);
    check_result(checker, sim, sight, "made");
    check_outcome(checker, sim, sight);
    ranks_add(&checker->tasks[sight->task].ended_by, sight->rank);
    consume(checker, sim, sight, sight->rank);
}

static void check_keep(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct message_result *result = &sight->message->u.result;
    check_result(checker, sim, sight, "kept");
    check_outcome(checker, sim, sight);
    if (result->data != RESULT_BARE) {
        consume(checker, sim, sight,
                rank_of(checker, sim, result->owner_uid, sight->peer));
    }
}

/* --- Verdicts -------------------------------------------------------------------- */

/* From now on whoever spawns it is told the same.  A rank that does not count says it
 * again, too, in the next view that it enters. */
static void note_unheld(struct storm_checker *checker, const struct sight *sight)
{
    ranks_add(&checker->tasks[sight->task].repeats_unheld, sight->rank);
    if (rankset_has(&checker->counting, sight->rank)) {
        ranks_add(&checker->tasks[sight->task].said_unheld, sight->rank);
    }
}

/* Nobody has died, and somebody who could run it has left: it ran it first, or another
 * did (I29). */
static void check_left_behind(const struct storm_checker *checker, struct sim *sim,
                              const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    const struct rankset candidates = candidates_of(checker, sight->task);
    struct rankset left = {0};
    ranks_copy(&left, &seen->spawned_by);
    ranks_drop(&left, &seen->adopted_by);
    ranks_keep(&left, &checker->leaving);
    if (candidates.low != 0) {
        ranks_keep(&left, &candidates);
    }
    FOR_RANKS(rank, &checker->leaving)
    {
        if (checker->parties[rank].ready_in == 0) {
            rankset_remove(&left, rank);
        }
    }
    if (!rankset_empty(&left) && rankset_empty(&checker->crashed) &&
        rankset_empty(&checker->fenced) && !checker->unclear) {
        sim_fail(sim, "left behind",
                 "rank %" PRIu32 " is told that nobody holds %s, which %s had",
                 sight->rank, storm_task_name(checker, sight->task),
                 ranks_text(&left).text);
    }
    rankset_release(&left);
}

static void check_not_held(struct storm_checker *checker, struct sim *sim,
                           const struct sight *sight)
{
    const struct rankset candidates = candidates_of(checker, sight->task);
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    const struct party *told = &checker->parties[sight->rank];
    struct rankset holders = {0};
    bool known = !rankset_empty(&seen->said_unheld) ||
                 rankset_has(&seen->repeats_unheld, sight->rank);
    note_unheld(checker, sight);
    if (known) {
        return;
    }
    ranks_copy(&holders, &seen->spawned_by);
    FOR_RANKS(rank, &seen->adopted_by)
    {
        if (checker->parties[rank].epoch > told->epoch) {
            rankset_remove(&holders, rank); /* after it was said, perhaps */
        }
    }
    if (candidates.low != 0) {
        ranks_keep(&holders, &candidates);
        ranks_drop(&holders, &seen->forgone); /* it was held back there */
    }
    ranks_keep(&holders, &storm_view_at(checker, sight->rank)->members);
    ranks_keep(&holders, &storm_view(checker, checker->newest)->members);
    storm_keep_running(checker, &holders);
    FOR_RANKS(rank, &checker->leaving)
    {
        const struct party *leaver = &checker->parties[rank];
        if (leaver->ready ||
            (leaver->ready_in > 0 && leaver->ready_in >= told->epoch)) {
            rankset_remove(&holders, rank); /* it ran nothing more in that view */
        }
    }
    check_left_behind(checker, sim, sight);
    if (!rankset_empty(&holders)) {
        sim_fail(sim, "not held",
                 "rank %" PRIu32 " is told that nobody holds %s, but %s do",
                 sight->rank, storm_task_name(checker, sight->task),
                 ranks_text(&holders).text);
    }
    rankset_release(&holders);
}

void storm_see_decided(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct message_verdict *verdict = &sight->message->u.verdict;
    if (sight->message->type != MESSAGE_VERDICT || verdict->what != VERDICT_TASK) {
        return;
    }
    bool lost = verdict->code == MOOT_ERR_RESULT_LOST;
    checker->tasks[sight->task].excused |=
        lost || verdict->code == MOOT_ERR_CRASHED || verdict->code == MOOT_ERR_NOT_HELD;
    if (verdict->code == MOOT_ERR_CRASHED) {
        storm_check_crashed(checker, sim, sight);
    } else if (verdict->code == MOOT_ERR_NOT_HELD ||
               (lost && !storm_is_deadly(checker, sim, sight->task))) {
        check_not_held(checker, sim, sight);
    }
}

static void check_maybe(struct storm_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    const struct rankset *view = &storm_view_at(checker, sight->rank)->members;
    struct rankset here = {0};
    if (storm_owned_before(checker, sight->rank, sight->task)) {
        return;
    }
    ranks_copy(&here, &seen->started_by);
    ranks_merge(&here, &seen->kept_by);
    ranks_keep(&here, view);
    ranks_keep(&here, &storm_view(checker, checker->newest)->members);
    ranks_drop(&here, &checker->gone);
    bool removed =
        !ranks_within(&storm_view(checker, 1)->members, view) || checker->newest > 2;
    bool again = checker->program->tasks[sight->task].idempotent &&
                 !storm_is_deadly(checker, sim, sight->task);
    if (!checker->program->tasks[sight->task].once || again || !removed ||
        !rankset_empty(&here)) {
        sim_fail(sim, "verdict",
                 "rank %" PRIu32 " gets MAYBE_RAN on %s, which %s ran or have",
                 sight->rank, storm_task_name(checker, sight->task),
                 ranks_text(&here).text);
    } else if (!storm_may_have_run(checker, sim, sight)) {
        sim_fail(sim, "verdict",
                 "rank %" PRIu32 " gets MAYBE_RAN on %s, which nobody can have started",
                 sight->rank, storm_task_name(checker, sight->task));
    }
    rankset_release(&here);
}

/* No candidate is a member that spawns it, and nobody who is has its bytes. */
static void check_no_candidate(struct storm_checker *checker, struct sim *sim,
                               const struct sight *sight)
{
    const struct rankset all = candidates_of(checker, sight->task);
    struct rankset here = {0}, candidates = {0};
    strict_checker_come_to(checker->strict, sight->task, &all, &candidates);
    storm_find_keepers(checker, sight, &here);
    if (all.low == 0 || !rankset_empty(&here) ||
        ranks_meet(&candidates, &storm_view_at(checker, sight->rank)->members)) {
        sim_fail(sim, "verdict",
                 "rank %" PRIu32 " gets NO_CANDIDATE on %s, which %s have", sight->rank,
                 storm_task_name(checker, sight->task), ranks_text(&here).text);
    }
    rankset_release(&here);
    rankset_release(&candidates);
}

/* RESULT_LOST is right if it ran, on nobody who is still there, and nobody who is has
 * its bytes; and another run gives others, or nobody is there to make it again. */
static void check_lost(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    struct rankset here = {0};
    storm_find_keepers(checker, sight, &here);
    if (checker->program->tasks[sight->task].varies ||
        storm_is_deadly(checker, sim, sight->task)) { /* even if somebody holds it */
        note_unheld(checker, sight);
    } else {
        check_not_held(checker, sim, sight);
    }
    if (rankset_empty(&seen->ended_by) || checker->newest == 1 ||
        !rankset_empty(&here)) {
        sim_fail(sim, "verdict",
                 "rank %" PRIu32 " gets RESULT_LOST on %s, which %s have", sight->rank,
                 storm_task_name(checker, sight->task), ranks_text(&here).text);
    }
    rankset_release(&here);
}

static void check_verdict(struct storm_checker *checker, struct sim *sim,
                          const struct sight *sight)
{
    checker->tasks[sight->task].excused = true;
    if (sight->code == MOOT_ERR_SCOPE_CLOSED && missed_phase(checker, sight)) {
        return;
    }
    if (sight->code == MOOT_ERR_CRASHED) {
        storm_check_crashed(checker, sim, sight);
        return;
    }
    if (sight->code == MOOT_ERR_NOT_HELD) {
        check_not_held(checker, sim, sight);
        ranks_add(&checker->tasks[sight->task].saw_unheld, sight->rank);
        check_agreed(checker, sim, sight);
        storm_check_told_alike(checker, sim, sight);
    } else if (sight->code == MOOT_ERR_MAYBE_RAN) {
        check_maybe(checker, sim, sight);
    } else if (sight->code == MOOT_ERR_RESULT_LOST) {
        check_lost(checker, sim, sight);
    } else if (sight->code == MOOT_ERR_NO_CANDIDATE) {
        check_no_candidate(checker, sim, sight);
    } else if (sight->code != MOOT_ERR_DIVERGED ||
               !strict_checker_may(checker->strict)) {
        sim_fail(sim, "verdict", "rank %" PRIu32 " gets verdict %" PRId32 " on %s",
                 sight->rank, sight->code, storm_task_name(checker, sight->task));
    }
}

/* --- Waits ----------------------------------------------------------------------- */

static void check_waited(struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    bool good = true;
    if (sight->code == MOOT_OK) {
        good = !program_fails(checker->program, sight->task);
    } else if (sight->code == MOOT_ERR_CLOSED) {
        good = rankset_has(&checker->leaving, sight->rank);
    } else if (sight->code == MOOT_ERR_FENCED ||
               (sight->code == MOOT_ERR_DIVERGED &&
                strict_checker_told(checker->strict, sight->rank))) {
        good = true; /* the end of the run shows whether it was removed */
    } else if (sight->code == MOOT_ERR_SCOPE_CLOSED) {
        good = missed_phase(checker, sight);
    } else if (sight->code == MOOT_ERR_NO_QUORUM) {
        good = checker->parties[sight->rank].lacked_quorum;
    } else {
        good = (program_fails(checker->program, sight->task) ||
                storm_may_fail(checker, sight->task)) &&
               (may_be_lost(checker, sight) || /* poison that was never run */
                storm_fits_poison(checker, sim, sight->task, sight->code));
    }
    if (!good) {
        sim_fail(sim, "wait code", "rank %" PRIu32 "'s wait for %s ends with %" PRId32,
                 sight->rank, storm_task_name(checker, sight->task), sight->code);
    } else if (sight->code == MOOT_OK) {
        check_result(checker, sim, sight, "waited for");
    }
}

static void refuse(struct storm_checker *checker, struct sim *sim,
                   const struct sight *sight)
{
    const struct rankset candidates = candidates_of(checker, sight->task);
    rankset_remove(&checker->tasks[sight->task].spawned_by, sight->rank);
    bool good =
        sight->code == MOOT_ERR_SCOPE_CLOSED
            ? missed_phase(checker, sight)
            : !ranks_meet(&candidates, &storm_view_at(checker, sight->rank)->members);
    if (!good) {
        sim_fail(sim, "verdict", "rank %" PRIu32 " may not spawn %s", sight->rank,
                 storm_task_name(checker, sight->task));
    }
}

void storm_see_task(struct storm_checker *checker, struct sim *sim,
                    const struct sight *sight)
{
    struct chaos_seen *seen = &checker->tasks[sight->task];
    storm_begin_anew(checker, sight);
    if (sight->type == SIGHT_SPAWN || sight->type == SIGHT_ADOPT) {
        ranks_add(&seen->spawned_by, sight->rank);
    }
    if (sight->type == SIGHT_SPAWN || sight->type == SIGHT_KEEP) {
        rankset_remove(&seen->forgot, sight->rank);
    }
    if (sight->type == SIGHT_SPAWN) {
        rankset_remove(&seen->let_go_by, sight->rank);
    }
    if (sight->type == SIGHT_FORGET) {
        storm_see_forget(checker, sim, sight);
        forget_outcome(seen, sight->rank);
        ranks_add(&seen->forgot, sight->rank);
    }
    if (sight->type == SIGHT_ADOPT) {
        ranks_add(&seen->adopted_by, sight->rank);
    } else if (sight->type == SIGHT_SPAWN) {
        rankset_remove(&seen->adopted_by, sight->rank);
    } else if (sight->type == SIGHT_FORGET && sight->rank >= checker->first) {
        rankset_remove(&seen->spawned_by, sight->rank); /* it came too late for it */
    } else if (sight->type == SIGHT_REFUSED) {
        refuse(checker, sim, sight);
    } else if (sight->type == SIGHT_LET_GO) {
        ranks_add(&seen->let_go_by, sight->rank);
    } else if (sight->type == SIGHT_GIVE_UP) {
        storm_see_give_up(checker, sim, sight);
    } else if (sight->type == SIGHT_NOTE) {
        storm_check_owner(checker, sim, sight);
    } else if (sight->type == SIGHT_RUN) {
        check_given(checker, sim, sight);
    } else if (sight->type == SIGHT_START) {
        check_start(checker, sim, sight);
    } else if (sight->type == SIGHT_END) {
        check_end(checker, sim, sight);
    } else if (sight->type == SIGHT_KEEP) {
        check_keep(checker, sim, sight);
    } else if (sight->type == SIGHT_WAITED) {
        check_waited(checker, sim, sight);
    } else if (sight->type == SIGHT_VERDICT) {
        check_verdict(checker, sim, sight);
    }
}
