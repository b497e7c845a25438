/* chaos_checker.c - see chaos_checker.h: shows every sight to who checks it, and looks
 * at the end of a run. */
#include "consensus/sim/checks/array_checker.h"
#include "consensus/sim/checks/chaos_checker_private.h"
#include "consensus/sim/checks/ended_checker.h"
#include "consensus/sim/checks/meeting_checker.h"
#include "consensus/sim/checks/order_checker.h"
#include "consensus/sim/checks/reload_checker.h"
#include "consensus/sim/checks/session_checker.h"
#include "consensus/sim/checks/signature_checker.h"
#include "consensus/sim/checks/snapshot_checker.h"
#include "consensus/sim/checks/tree_checker.h"
#include <stdlib.h>

const char *storm_task_name(const struct storm_checker *checker, uint32_t task)
{
    return checker->program->tasks[task].name;
}

const struct view_seen *storm_view(const struct storm_checker *checker, uint64_t epoch)
{
    return &checker->views[epoch < STORM_VIEWS_MAX ? epoch : 0];
}

const struct view_seen *storm_view_at(const struct storm_checker *checker,
                                      uint32_t rank)
{
    return storm_view(checker, checker->parties[rank].epoch);
}

void storm_keep_running(const struct storm_checker *checker, struct rankset *ranks)
{
    ranks_drop(ranks, &checker->gone);
    ranks_drop(ranks, &checker->adjourned);
}

/* The adjourned have not changed since. */
void storm_count_anew(struct storm_checker *checker)
{
    struct rankset lost = {0};
    ranks_copy(&lost, &checker->gone);
    ranks_drop(&lost, &checker->adjourned);
    ranks_copy(&checker->counting, &storm_view(checker, checker->newest)->members);
    ranks_drop(&checker->counting, &lost);
    rankset_release(&lost);
}

bool storm_started_before(const struct storm_checker *checker, uint32_t rank,
                          uint32_t task)
{
    for (uint32_t i = 0; i < checker->generations.of[rank]; i++) {
        if (checker->seen[i] != NULL &&
            !rankset_empty(&checker->seen[i][task].started_by)) {
            return true;
        }
    }
    return false;
}

bool storm_owned_before(const struct storm_checker *checker, uint32_t rank,
                        uint32_t task)
{
    const struct program_task *spec = &checker->program->tasks[task];
    const uint32_t count = spec->once && !spec->idempotent && checker->closed_back
                               ? checker->generations.of[rank]
                               : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct chaos_seen *seen =
            checker->seen[i] != NULL ? &checker->seen[i][task] : NULL;
        if (seen != NULL && (!rankset_empty(&seen->started_by) ||
                             seen->ballots != NULL || seen->decided)) {
            return true;
        }
    }
    return false;
}

/* --- Watching -------------------------------------------------------------------- */

/* A rank is over, one way or another. */
static void see_end(struct storm_checker *checker, const struct sight *sight)
{
    if (sight->type == SIGHT_ADJOURN) {
        ranks_add(&checker->adjourned, sight->rank);
        return; /* it counts as before */
    }
    ranks_add(&checker->gone, sight->rank);
    if (sight->type == SIGHT_CRASH) {
        ranks_add(&checker->crashed, sight->rank);
    }
    if (sight->type == SIGHT_FENCED) {
        ranks_add(&checker->fenced, sight->rank);
    } else if (sight->type != SIGHT_DEPARTED) {
        checker->faulty = true;
    }
    storm_count_anew(checker);
}

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* From now on all that is seen is of this generation. */
static void turn_to(struct storm_checker *checker, uint32_t generation)
{
    struct chaos_seen **seen = &checker->seen[generation];
    if (*seen == NULL) {
        *seen = zeroed(checker->program->task_count + 1, sizeof(**seen));
        for (uint32_t i = 0; i < checker->program->task_count; i++) {
            (*seen)[i].excused = program_shaky(checker->program, i) ||
                                 program_homed(checker->program, i);
        }
    }
    checker->tasks = *seen;
}

/* The kernels of a rank that goes back are gone. */
static void see_generation(struct storm_checker *checker, struct sim *sim,
                           const struct sight *sight)
{
    if (generations_see(&checker->generations, sim, sight)) {
        struct party *party = &checker->parties[sight->rank];
        uint64_t *behind = &checker->behind[sight->step];
        party->kernels = party->alone = 0;
        checker->closed_back |= sight->meeting == 0;
        *behind = *behind == 0 || party->epoch < *behind ? party->epoch : *behind;
    }
    if (sight->rank < checker->limit) {
        turn_to(checker, checker->generations.of[sight->rank]);
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct storm_checker *checker = context;
    see_generation(checker, sim, sight);
    if (rankset_empty(&checker->views[1].electors)) {
        storm_set_view(checker, sim, 1, &checker->views[1].members);
    }
    if (sight->type == SIGHT_SEND || sight->type == SIGHT_RECEIVE) {
        storm_see_message(checker, sim, sight);
        storm_see_reported(checker, sim, sight);
        storm_owe_suspects(checker, sight);
        if (sight->task < checker->program->task_count) {
            storm_check_alone(checker, sim, sight);
            storm_check_dealt(checker, sim, sight);
        }
    } else if (sight->type == SIGHT_BLAME) {
        storm_see_blame(checker, sight);
    } else if (sight->type == SIGHT_SUSPECT) {
        storm_see_suspect(checker, sight);
    } else if (sight->type == SIGHT_VIEW) {
        storm_enter_view(checker, sim, sight);
        storm_bring_suspects(checker, sight->rank);
    } else if (sight->type == SIGHT_QUORUM) {
        storm_see_quorum(checker, sim, sight);
    } else if (sight->type == SIGHT_FAULT) {
        storm_see_fault(checker, sim, sight);
    } else if (sight->type == SIGHT_LOST) {
        storm_see_lost(checker, sight);
    } else if (sight->type == SIGHT_TOLD) {
        storm_see_told(checker, sim, sight);
    } else if (sight->type == SIGHT_LEAVE) {
        ranks_add(&checker->leaving, sight->rank);
    } else if (sight->type == SIGHT_CRASH || sight->type == SIGHT_LEFT ||
               sight->type == SIGHT_FENCED || sight->type == SIGHT_ADJOURN ||
               sight->type == SIGHT_DEPARTED) {
        if (sight->type == SIGHT_DEPARTED) {
            storm_see_departure(checker, sim, sight);
        }
        see_end(checker, sight);
        if (sight->type == SIGHT_CRASH && sight->task < checker->program->task_count) {
            storm_see_own_fault(checker, sim, sight);
        }
    } else if (sight->task < checker->program->task_count) {
        storm_check_alone(checker, sim, sight);
        storm_see_task(checker, sim, sight);
    }
}

/* --- The whole run --------------------------------------------------------------- */

static bool fail(struct sim_report *report, const char *check, const char *why)
{
    report->failed = true;
    (void)snprintf(report->check, sizeof(report->check), "%s", check);
    (void)snprintf(report->why, sizeof(report->why), "%s", why);
    return false;
}

/* Somebody who saw the end holds it, and may run it. */
static bool is_held(const struct storm_checker *checker, uint32_t task,
                    const struct rankset *saw_the_end)
{
    const struct rankset may = {.low = checker->program->tasks[task].candidates};
    FOR_RANKS(rank, &checker->tasks[task].spawned_by)
    {
        if (rankset_has(saw_the_end, rank) &&
            (may.low == 0 || rankset_has(&may, rank))) {
            return true;
        }
    }
    return false;
}

static bool finish(struct storm_checker *checker, struct sim_report *report)
{
    const struct rankset *last = &storm_view(checker, checker->newest)->members;
    struct rankset saw_the_end = {0};
    bool good = true;
    turn_to(checker, storm_view(checker, checker->newest)->generation);
    ranks_copy(&saw_the_end, &checker->adjourned);
    ranks_keep(&saw_the_end, last);
    ranks_drop(&saw_the_end, &checker->leaving);
    FOR_RANKS(rank, &checker->fenced)
    {
        if (good && !rankset_empty(&saw_the_end) && rankset_has(last, rank) &&
            !storm_was_voted_out(checker, rank)) {
            good = fail(report, "fair view", "a member of the last view was fenced");
        }
    }
    for (uint32_t i = 0; good && i < checker->program->task_count; i++) {
        const struct program_task *task = &checker->program->tasks[i];
        if ((!task->once || task->idempotent) &&
            !strict_checker_told_any(checker->strict) &&
            program_runs(checker->program, i) && !storm_may_fail(checker, i) &&
            rankset_empty(&checker->tasks[i].started_by) &&
            rankset_empty(&checker->tasks[i].ended_by) &&
            is_held(checker, i, &saw_the_end)) {
            good = fail(report, "ran at all", storm_task_name(checker, i));
        }
    }
    rankset_release(&saw_the_end);
    return good;
}

static struct storm_checker *checker_new(const struct sim_options *options)
{
    struct storm_checker *checker = zeroed(1, sizeof(*checker));
    const struct program *program = options->program;
    checker->program = program;
    checker->strict = strict_checker_new(options);
    checker->first = options->storm->first;
    checker->limit = program->rank_count + options->storm->comebacks;
    checker->boundary = options->storm->boundary;
    generations_open(&checker->generations, checker->limit);
    turn_to(checker, 0);
    checker->parties = zeroed(checker->limit, sizeof(*checker->parties));
    checker->newest = 1;
    checker->views[1].epoch = 1;
    ranks_fill(&checker->views[1].members, options->storm->first);
    for (uint32_t rank = 0; rank < options->storm->first; rank++) {
        checker->parties[rank].epoch = 1;
    }
    storm_count_anew(checker);
    return checker;
}

static void checker_free(struct storm_checker *checker)
{
    for (uint32_t i = 0; i < GENERATIONS_MAX; i++) {
        for (uint32_t k = 0; checker->seen[i] && k < checker->program->task_count;
             k++) {
            storm_forget_task(checker, &checker->seen[i][k]);
        }
        free(checker->seen[i]);
    }
    generations_close(&checker->generations);
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        storm_forget_party(&checker->parties[rank]);
    }
    for (int epoch = 0; epoch < STORM_VIEWS_MAX; epoch++) {
        rankset_release(&checker->views[epoch].members);
        rankset_release(&checker->views[epoch].electors);
    }
    struct rankset *sets[] = {
        &checker->gone,     &checker->adjourned, &checker->fenced, &checker->disturbed,
        &checker->counting, &checker->leaving,   &checker->crashed};
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        rankset_release(sets[i]);
    }
    strict_checker_free(checker->strict);
    free(checker->parties);
    free(checker);
}

bool storm_checker_run(const struct sim_options *options, struct sim_report *report)
{
    struct storm_checker *checker = checker_new(options);
    struct order_checker *order = order_checker_new(options->program, options->storm);
    struct meeting_checker *meetings =
        meeting_checker_new(options->program, options->storm);
    struct session_checker *sessions =
        session_checker_new(options->program, options->storm);
    struct snapshot_checker *snapshots =
        snapshot_checker_new(options->program, options->storm);
    struct reload_checker *reloads =
        reload_checker_new(options->program, options->storm);
    struct tree_checker *trees = tree_checker_new(options->program);
    struct ended_checker *ends = ended_checker_new(options->program);
    struct array_checker *arrays = array_checker_new(options->program, options->storm);
    size_t count = options->watcher_count;
    struct signature_checker *signatures = signature_checker_new(checker->limit);
    struct sim_watcher *watchers = zeroed(count + 11, sizeof(*watchers));
    for (size_t i = 0; i < count; i++) {
        watchers[i] = options->watchers[i];
    }
    watchers[count] = strict_checker_watcher(checker->strict);
    watchers[count + 1] = (struct sim_watcher){see, checker};
    watchers[count + 2] = order_checker_watcher(order);
    watchers[count + 3] = meeting_checker_watcher(meetings);
    watchers[count + 4] = tree_checker_watcher(trees);
    watchers[count + 5] = session_checker_watcher(sessions);
    watchers[count + 6] = snapshot_checker_watcher(snapshots);
    watchers[count + 7] = signature_checker_watcher(signatures);
    watchers[count + 8] = reload_checker_watcher(reloads);
    watchers[count + 9] = ended_checker_watcher(ends);
    watchers[count + 10] = array_checker_watcher(arrays);
    struct sim_options all = *options;
    all.watchers = watchers;
    all.watcher_count = count + 11;
    bool good = sim_run(&all, report) && finish(checker, report) &&
                strict_checker_finish(checker->strict, report);
    order_checker_free(order);
    meeting_checker_free(meetings);
    session_checker_free(sessions);
    snapshot_checker_free(snapshots);
    signature_checker_free(signatures);
    reload_checker_free(reloads);
    tree_checker_free(trees);
    ended_checker_free(ends);
    array_checker_free(arrays);
    checker_free(checker);
    free(watchers);
    return good;
}
