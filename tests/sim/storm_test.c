/* storm_test.c - random programs while ranks die, stall, are cut off and join.
 *
 *   storm_test                        the quick set of `make check`
 *   storm_test --whole                with all of its seeds: six times as many
 *   storm_test --ranks 4 --seed 17    one run again; a failure prints this line
 *   storm_test --ranks 4 --seeds 1..5000 [--tasks 30] [--newcomers 1] [--calm] [--solo]
 *     [--faults PLAN] [--direct-max 3] [--drops] [--presses] [--sparing] [--narrow]
 *     [--cancels] [--leaves] [--poison] [--aims] [--parks] [--signs] [--hosts]
 *     [--sessions] [--snapshots [--reloads]] [--strict] [--agree] [--boundary]
 * [--arrays]
 *
 * --ranks counts newcomers, the last of the program's ranks.  --newcomers and --leaves
 * draw who joins and leaves into the plan; a replay's plan has them.  --faults takes
 * the place of the plan that a seed draws; a failure prints that plan.  --calm runs
 * failure detection without a fault: there must be no view change.  --aims draws plans
 * that disturb ballots (chaos_aim.c); --solo splits all ranks in two under
 * MOOT_SPLIT=solo, and sees that every wait ends.  --hosts puts ranks on hosts, which
 * die and are cut off, with relays between.
 * --boundary lets newcomers in at meetings alone.  --reloads has ranks go back to their
 * snapshots, unless newcomers may come at any moment, and aims at that.  --verbose
 * prints the program and every sight; --summary what the batch's faults have done.
 */
#include "consensus/sim/runs/swarm.h"
#include "tests/sim/storm_kept.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct batch {
    struct swarm_job job;
    uint64_t seed_first, seed_last;
    bool verbose, summary;
};

struct tally {
    uint64_t passed, failed;
    struct sim_counts counts;
    uint64_t fired[PLAN_FAULT_END];
    uint64_t digest; /* of all digests */
};

static void add_counts(struct sim_counts *sum, const struct sim_counts *counts)
{
    sum->views += counts->views;
    sum->crashes += counts->crashes;
    sum->fenced += counts->fenced;
    sum->no_quorum += counts->no_quorum;
    sum->joined += counts->joined;
    sum->departed += counts->departed;
    sum->boundaries += counts->boundaries;
    sum->reloads += counts->reloads;
    sum->events += counts->events;
    sum->resent += counts->resent;
}

static void add_hits(struct tally *tally, const struct batch *batch, uint64_t seed,
                     const struct plan_hits *hits)
{
    struct plan plan;
    swarm_plan(&batch->job, seed, &plan);
    for (uint32_t i = 0; i < plan.rule_count; i++) {
        tally->fired[plan.rules[i].fault] += hits->fired[i];
    }
}

static void print_counts(const struct sim_counts *counts)
{
    printf("%" PRIu64 " events, %" PRIu64 " crashes, %" PRIu64 " views, %" PRIu64
           " false removals, %" PRIu64 " quorums lost, %" PRIu64 " joins, %" PRIu64
           " leaves, %" PRIu64 " boundaries, %" PRIu64 " reloads, %" PRIu64
           " frames sent again\n",
           counts->events, counts->crashes, counts->views, counts->fenced,
           counts->no_quorum, counts->joined, counts->departed, counts->boundaries,
           counts->reloads, counts->resent);
}

static void print_fired(const struct tally *tally)
{
    printf("fired:");
    for (int fault = 0; fault < PLAN_FAULT_END; fault++) {
        printf(" %s %" PRIu64, plan_fault_name((enum plan_fault)fault),
               tally->fired[fault]);
    }
    printf("\ndigest: %016" PRIx64 "\n", tally->digest);
}

static void run_seed(const struct batch *batch, uint64_t seed, struct tally *tally)
{
    struct sim_report report, again;
    bool good = swarm_run(&batch->job, seed, batch->verbose ? stdout : NULL, &report);
    if (good && seed % 64 == 0) {
        (void)swarm_run(&batch->job, seed, NULL, &again);
        free(again.dump);
        if (memcmp(report.digest, again.digest, sizeof(report.digest)) != 0) {
            good = false;
            (void)snprintf(report.check, sizeof(report.check), "digest");
            (void)snprintf(report.why, sizeof(report.why), "a second run differs");
        }
    }
    tally->passed += good;
    tally->failed += !good;
    add_counts(&tally->counts, &report.counts);
    for (size_t i = 0; i < sizeof(report.digest); i++) {
        tally->digest = (tally->digest ^ report.digest[i]) * UINT64_C(0x100000001b3);
    }
    if (batch->summary) {
        add_hits(tally, batch, seed, &report.hits);
    }
    if (batch->verbose) {
        print_counts(&report.counts);
    }
    if (!good) {
        printf("FAILED %s: %s\n%s  replay: ", report.check, report.why,
               report.dump != NULL ? report.dump : "");
        swarm_print_replay(&batch->job, seed, stdout);
        fflush(stdout);
    }
    free(report.dump);
}

static void run_batch(const struct batch *batch, struct tally *tally)
{
    for (uint64_t seed = batch->seed_first; seed <= batch->seed_last; seed++) {
        run_seed(batch, seed, tally);
    }
    if (batch->summary) {
        print_counts(&tally->counts);
        print_fired(tally);
    }
}

/* Each fault of the harness must be seen by the check that is there for it, in some of
 * a few calm storms, or storms with poison or hosts.  Agreement is not checked here. */
static void run_canaries(struct tally *tally)
{
    for (int canary = 1; canary < SIM_CANARY_END; canary++) {
        const char *wanted = sim_canary_check((enum sim_canary)canary);
        if (canary == SIM_CANARY_VOTE || canary == SIM_CANARY_SECOND_RESULT) {
            continue;
        }
        bool caught = false;
        for (uint64_t seed = 1; seed <= 60 && !caught; seed++) {
            const bool deadly = canary == SIM_CANARY_BESIDE;
            const bool cut = canary == SIM_CANARY_FALSE_WITNESS;
            const bool asks = canary == SIM_CANARY_LATER_SESSION;
            const bool reloads = canary == SIM_CANARY_UNMARKED;
            const bool sessions = asks || canary == SIM_CANARY_OTHER_LIST ||
                                  canary == SIM_CANARY_EARLY_SESSION;
            struct swarm_job job = {.ranks = deadly ? 6 : 4,
                                    .tasks = 40,
                                    .storm = true,
                                    .hosts = cut,
                                    .calm = !deadly && !cut,
                                    .poison = deadly,
                                    .sessions = sessions,
                                    .newcomers = asks,
                                    .snapshots = reloads,
                                    .reloads = reloads,
                                    .canary = (enum sim_canary)canary};
            struct sim_report report;
            caught = !swarm_run(&job, seed, NULL, &report) &&
                     strcmp(report.check, wanted) == 0;
            free(report.dump);
        }
        if (!caught) {
            printf("FAILED canary %s: the check \"%s\" does not see it\n",
                   sim_canary_name((enum sim_canary)canary), wanted);
        }
        tally->passed += caught;
        tally->failed += !caught;
    }
}

#define ARRAYS .tasks = 20, .storm = true, .arrays = true
#define STRICT_NEWCOMERS                                                               \
    .tasks = 20, .storm = true, .newcomers = 1, .boundary = true, .mode = CORE_STRICT
#define SNAPSHOTS .tasks = 20, .storm = true, .snapshots = true

/* Each on so many ranks, seeds 1..seeds; `make check` runs a third.  Where few members
 * make a view large, its committee and tree do what else only hundreds would see. */
static const struct {
    struct swarm_job job;
    uint32_t seeds, ranks_first, ranks_last;
} quick_set[] = {
    {{.tasks = 12, .storm = true}, 60, 2, 8},
    {{.tasks = 40, .storm = true}, 30, 2, 8},
    {{.tasks = 60, .storm = true, .drops = true}, 30, 2, 8},
    {{.tasks = 60, .storm = true, .presses = true}, 30, 2, 8},
    {{.tasks = 60, .storm = true, .lots = true}, 40, 2, 8},
    {{.tasks = 40, .storm = true, .sparing = true}, 60, 2, 8},
    {{.tasks = 20, .storm = true, .sparing = true, .leaves = true}, 40, 2, 8},
    {{.tasks = 20, .storm = true, .sparing = true, .cancels = true}, 30, 2, 8},
    {{.tasks = 40, .storm = true, .narrow = true}, 60, 2, 8},
    {{.tasks = 20, .storm = true, .cancels = true}, 60, 2, 8},
    {{.tasks = 20, .storm = true, .cancels = true, .leaves = true}, 20, 2, 8},
    {{.tasks = 20, .storm = true, .cancels = true, .direct_max = 3}, 10, 4, 12},
    {{.tasks = 20, .storm = true, .newcomers = 1}, 30, 2, 8},
    {{.tasks = 30, .storm = true, .calm = true}, 15, 2, 8},
    {{.tasks = 20, .storm = true, .direct_max = 3}, 40, 4, 12},
    {{.tasks = 20, .storm = true, .direct_max = 3, .newcomers = 2}, 20, 4, 12},
    {{.tasks = 20, .storm = true, .direct_max = 3, .calm = true}, 5, 4, 12},
    {{.tasks = 20, .storm = true, .calm = true, .leaves = true}, 60, 2, 8},
    {{.tasks = 20, .storm = true, .newcomers = 1, .leaves = true}, 40, 2, 8},
    {{.tasks = 20, .storm = true, .newcomers = 2, .sessions = true}, 60, 3, 8},
    {{.tasks = 20, .storm = true, .newcomers = 1, .sessions = true, .leaves = true},
     40,
     2,
     8},
    {{.tasks = 20, .storm = true, .newcomers = 2, .sessions = true, .calm = true},
     40,
     3,
     8},
    {{.tasks = 20,
      .storm = true,
      .newcomers = 2,
      .sessions = true,
      .direct_max = 3,
      .leaves = true},
     40,
     4,
     10},
    {{.tasks = 20, .storm = true, .direct_max = 3, .leaves = true}, 30, 4, 12},
    {{.tasks = 30, .storm = true, .aims = true}, 60, 3, 8},
    {{.tasks = 20, .storm = true, .aims = true, .leaves = true, .newcomers = 1},
     40,
     3,
     8},
    {{.tasks = 20, .storm = true, .aims = true, .direct_max = 3}, 30, 5, 8},
    {{.tasks = 20, .storm = true, .solo = true}, 40, 2, 8},
    {{.tasks = 20, .storm = true, .mode = CORE_STRICT}, 60, 2, 8},
    {{.tasks = 20, .storm = true, .mode = CORE_STRICT, .newcomers = 1}, 30, 3, 6},
    {{.tasks = 20, .storm = true, .mode = CORE_STRICT, .direct_max = 3}, 20, 5, 8},
    {{.tasks = 20, .storm = true, .mode = CORE_STRICT, .agree = true}, 20, 3, 6},
    {{SNAPSHOTS}, 40, 1, 6},
    {{SNAPSHOTS, .leaves = true, .newcomers = 1}, 30, 3, 7},
    {{SNAPSHOTS, .sessions = true, .boundary = true, .newcomers = 1}, 20, 3, 6},
    {{SNAPSHOTS, .direct_max = 3}, 20, 4, 9},
    {{SNAPSHOTS, .reloads = true}, 40, 1, 6},
    {{SNAPSHOTS, .reloads = true, .leaves = true, .drops = true}, 20, 2, 6},
    {{SNAPSHOTS, .reloads = true, .signs = true, .cancels = true}, 10, 3, 6},
    {{SNAPSHOTS, .reloads = true, .direct_max = 3}, 10, 4, 8},
    {{SNAPSHOTS, .reloads = true, .mode = CORE_STRICT}, 20, 3, 6},
    {{SNAPSHOTS, .reloads = true, .boundary = true, .newcomers = 2}, 20, 3, 7},
    {{SNAPSHOTS, .reloads = true, .boundary = true, .newcomers = 1, .sessions = true},
     20,
     3,
     6},
    {{SNAPSHOTS, .reloads = true, .boundary = true, .newcomers = 1, .mode = CORE_STRICT,
      .agree = true},
     20,
     3,
     6},
    {{.tasks = 20, .storm = true, .parks = true}, 60, 2, 8},
    {{.tasks = 20, .storm = true, .parks = true, .leaves = true, .direct_max = 3},
     20,
     4,
     12},
    {{.tasks = 20, .storm = true, .signs = true}, 60, 2, 8},
    {{.tasks = 20, .storm = true, .signs = true, .direct_max = 3}, 20, 5, 12},
    {{.tasks = 20, .storm = true, .hosts = true}, 60, 3, 8},
    {{.tasks = 40, .storm = true, .hosts = true, .leaves = true, .newcomers = 1},
     20,
     3,
     8},
    {{.tasks = 20, .storm = true, .hosts = true, .direct_max = 3}, 20, 5, 12},
    {{.tasks = 20, .storm = true, .hosts = true, .calm = true}, 15, 2, 8},
    {{.tasks = 20, .storm = true, .hosts = true, .poison = true}, 20, 3, 8},
    {{.tasks = 20, .storm = true, .hosts = true, .mode = CORE_STRICT}, 20, 3, 8},
    {{.tasks = 20, .storm = true, .newcomers = 1, .boundary = true}, 60, 2, 7},
    {{.tasks = 20, .storm = true, .newcomers = 2, .boundary = true, .leaves = true},
     30,
     3,
     7},
    {{.tasks = 20, .storm = true, .newcomers = 2, .boundary = true, .direct_max = 3},
     20,
     5,
     9},
    /* A session ends there, and what is behind it may be forgotten. */
    {{.tasks = 40,
      .storm = true,
      .newcomers = 2,
      .boundary = true,
      .sessions = true,
      .drops = true,
      .leaves = true},
     80,
     3,
     7},
    {{.tasks = 40,
      .storm = true,
      .newcomers = 1,
      .boundary = true,
      .sessions = true,
      .lots = true,
      .sparing = true},
     40,
     2,
     7},
    {{.tasks = 20,
      .storm = true,
      .newcomers = 2,
      .boundary = true,
      .sessions = true,
      .drops = true,
      .direct_max = 3},
     30,
     5,
     9},
    {{STRICT_NEWCOMERS}, 60, 3, 7},
    {{STRICT_NEWCOMERS, .agree = true}, 30, 4, 7},
    {{STRICT_NEWCOMERS, .direct_max = 3}, 20, 5, 9},
    {{ARRAYS, .leaves = true}, 60, 2, 7},
    {{ARRAYS, .newcomers = 2, .leaves = true, .drops = true}, 40, 4, 8},
    {{ARRAYS, .newcomers = 1, .direct_max = 3, .leaves = true}, 20, 5, 9},
    {{ARRAYS, .mode = CORE_STRICT}, 20, 3, 6},
    {{ARRAYS, .cancels = true, .newcomers = 1, .leaves = true}, 40, 2, 7},
    {{ARRAYS, .cancels = true, .direct_max = 3, .leaves = true}, 20, 4, 8},
    {{.tasks = 20, .storm = true, .poison = true}, 60, 3, 8},
    {{.tasks = 40, .storm = true, .poison = true, .sparing = true, .leaves = true},
     40,
     3,
     8},
    {{.tasks = 20, .storm = true, .poison = true, .newcomers = 2}, 30, 4, 8},
    {{.tasks = 20, .storm = true, .poison = true, .direct_max = 3}, 20, 5, 12},
};

/* Storms that once failed, without a plan of their own (storm_kept.h). */
static const struct {
    struct swarm_job job;
    uint64_t seed;
} kept_leaves[] = {
    /* A newcomer came too late for the end of a session, all who began the next one
     * left, and it asked for ever the one that had closed in its own. */
    {{.ranks = 8,
      .tasks = 20,
      .storm = true,
      .newcomers = 2,
      .direct_max = 3,
      .sessions = true,
      .leaves = true},
     17},
    /* All but one left; a chair that left as well took back what it yielded to a
       leaver. */
    {{.ranks = 5, .tasks = 20, .storm = true, .calm = true, .leaves = true}, 12275},
    /* All leave: nobody took over what a once task's owner had, which ran again. */
    {{.ranks = 5, .tasks = 20, .storm = true, .calm = true, .leaves = true}, 348},
    /* A decision that was sent before the chair heard of the return was taken for a
     * second one. */
    {{.ranks = 3, .tasks = 20, .storm = true, .calm = true, .leaves = true}, 281},
    /* No candidate of a task is left, and its result is with an heir that waits. */
    {{.ranks = 7, .tasks = 20, .storm = true, .calm = true, .leaves = true}, 310},
    /* What was returned before the chair had all reports was given back by these, to a
     * leaver that did not know of it. */
    {{.ranks = 6, .newcomers = 1, .storm = true, .drops = true, .leaves = true}, 71345},
    /* Who had returned a once task was not known to hold it, and nobody else might be
     * given it. */
    {{.ranks = 6,
      .tasks = 60,
      .newcomers = 1,
      .storm = true,
      .drops = true,
      .leaves = true},
     1131},
    /* A chair of a large view had missed the end of a scope, and took for new what its
     * owner, who had died, had run. */
    {{.ranks = 9,
      .tasks = 40,
      .newcomers = 1,
      .direct_max = 3,
      .storm = true,
      .leaves = true},
     3700},
    /* Rank 0 adjourned in view 1 while the others let a newcomer in: they removed it
     * without a fault. */
    {{.ranks = 9,
      .tasks = 40,
      .newcomers = 1,
      .direct_max = 3,
      .storm = true,
      .leaves = true},
     4948},
    /* A scope ended while a leaver began to see out what was spawned in it: nobody
     * waited for that, and it got a verdict. */
    {{.ranks = 3, .tasks = 300, .storm = true, .cancels = true, .leaves = true}, 5452},
    /* What all had dropped before its owner left has no heir. */
    {{.ranks = 2,
      .tasks = 200,
      .storm = true,
      .drops = true,
      .cancels = true,
      .leaves = true},
     5394},
    /* Rank 0 went on without rank 1, which was ready, and died before that heard of it:
     * it, too, entered a view 2, alone. */
    {{.ranks = 2,
      .tasks = 200,
      .storm = true,
      .drops = true,
      .cancels = true,
      .leaves = true},
     2600},
    /* A newcomer stood still and was removed, and said for want of news that what ran
     * without it might have run. */
    {{.ranks = 3, .tasks = 300, .storm = true, .cancels = true, .leaves = true}, 5647},
    /* What had run where nobody else had its result was made again, and what it takes
     * had been dropped. */
    {{.ranks = 3,
      .tasks = 200,
      .storm = true,
      .drops = true,
      .cancels = true,
      .leaves = true},
     21100},
    /* Likewise, and what it only comes after had been. */
    {{.ranks = 3,
      .tasks = 300,
      .storm = true,
      .drops = true,
      .cancels = true,
      .leaves = true},
     1614},
    /* The heir of a leaver had died with what that had run, and the chair that knew of
     * it left, too. */
    {{.ranks = 4,
      .tasks = 100,
      .newcomers = 1,
      .storm = true,
      .cancels = true,
      .leaves = true},
     3020},
    /* No candidate of a once task was left, and its chair had died; a leaver told a new
     * candidate, that it might have run, before that knew the candidates, and so that
     * it is the chair: it started the task again. */
    {{.ranks = 7,
      .tasks = 54,
      .newcomers = 2,
      .storm = true,
      .sparing = true,
      .leaves = true,
      .poison = true},
     7698},
    /* A newcomer's wait for a task of a scope that had ended was refused, and ended
     * before the core had forgotten the task: the simulator ended what never began. */
    {{.ranks = 4, .tasks = 20, .newcomers = 2, .storm = true, .leaves = true}, 730048},
    /* A difference was passed up that a message told which had come before its view,
     * and which was gone before what it said was sent. */
    {{.ranks = 7,
      .tasks = 20,
      .newcomers = 2,
      .direct_max = 3,
      .storm = true,
      .mode = CORE_STRICT},
     259},
    /* A rank that had closed was still in the view before when the others had gone
     * back, and started a once task that one of these started, too. */
    {{.ranks = 3, SNAPSHOTS, .reloads = true, .leaves = true, .drops = true}, 174},
    /* A newcomer that was the heir of an array's end ran all of its elements. */
    {{ARRAYS, .ranks = 4, .newcomers = 1, .leaves = true}, 85},
    /* A scope ended, and elements ran on whose array had gone with it. */
    {{ARRAYS, .ranks = 3, .newcomers = 1, .leaves = true}, 3318},
    /* A chair of a large view gave elements away of which it was yet to hear that they
     * had ended. */
    {{ARRAYS, .ranks = 9, .newcomers = 1, .direct_max = 3, .leaves = true}, 178},
};

static void run_kept(struct tally *tally)
{
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        struct plan *plan = NULL;
        if (plan_parse(kept[i].plan, &plan, NULL) != MOOT_OK) {
            abort();
        }
        struct batch batch = {.job = kept[i].job};
        batch.job.plan = plan;
        run_seed(&batch, kept[i].seed, tally);
        plan_free(plan);
    }
    for (size_t i = 0; i < sizeof(kept_leaves) / sizeof(kept_leaves[0]); i++) {
        struct batch batch = {.job = kept_leaves[i].job};
        run_seed(&batch, kept_leaves[i].seed, tally);
    }
}

static void run_quick_set(bool whole, struct tally *tally)
{
    run_canaries(tally);
    run_kept(tally);
    for (size_t i = 0; i < sizeof(quick_set) / sizeof(quick_set[0]); i++) {
        for (uint32_t ranks = quick_set[i].ranks_first;
             ranks <= quick_set[i].ranks_last; ranks++) {
            struct batch batch = {
                .job = quick_set[i].job,
                .seed_first = 1,
                .seed_last = whole ? quick_set[i].seeds : (quick_set[i].seeds + 5) / 6,
            };
            batch.job.ranks = ranks;
            run_batch(&batch, tally);
        }
    }
}

/* --- Arguments -------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t max, uint64_t *out, char **end)
{
    *out = strtoull(text, end, 0);
    return *end != text && *out <= max;
}

static bool parse_seeds(const char *text, struct batch *batch)
{
    char *end;
    if (!parse_number(text, UINT64_MAX, &batch->seed_first, &end)) {
        return false;
    }
    batch->seed_last = batch->seed_first;
    if (strncmp(end, "..", 2) == 0 &&
        !parse_number(end + 2, UINT64_MAX, &batch->seed_last, &end)) {
        return false;
    }
    return *end == '\0' && batch->seed_last >= batch->seed_first;
}

static bool parse_count(const char *text, uint64_t max, uint32_t *out)
{
    char *end;
    uint64_t number;
    if (!parse_number(text, max, &number, &end) || *end != '\0') {
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

static bool parse_flag(const char *word, struct batch *batch)
{
    struct swarm_job *job = &batch->job;
    const struct {
        const char *word;
        bool *flag;
    } flags[] = {{"--drops", &job->drops},         {"--lots", &job->lots},
                 {"--sparing", &job->sparing},     {"--narrow", &job->narrow},
                 {"--presses", &job->presses},     {"--cancels", &job->cancels},
                 {"--calm", &job->calm},           {"--boundary", &job->boundary},
                 {"--aims", &job->aims},           {"--solo", &job->solo},
                 {"--hosts", &job->hosts},         {"--sessions", &job->sessions},
                 {"--snapshots", &job->snapshots}, {"--reloads", &job->reloads},
                 {"--leaves", &job->leaves},       {"--poison", &job->poison},
                 {"--agree", &job->agree},         {"--parks", &job->parks},
                 {"--signs", &job->signs},         {"--arrays", &job->arrays},
                 {"--verbose", &batch->verbose},   {"--summary", &batch->summary}};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strcmp(word, flags[i].word) == 0) {
            return *flags[i].flag = true;
        }
    }
    if (strcmp(word, "--strict") == 0) {
        job->mode = CORE_STRICT;
        return true;
    }
    return false;
}

static bool parse_faults(const char *text, struct batch *batch)
{
    static struct plan *plan;
    struct plan_error error;
    if (plan_parse(text, &plan, &error) == MOOT_OK) {
        batch->job.plan = plan;
        return true;
    }
    char story[PLAN_ALLOWED_BYTES + 1024];
    plan_error_format(text, &error, story, sizeof(story));
    fprintf(stderr, "%s", story);
    return false;
}

static bool parse_value(const char *word, const char *value, struct batch *batch)
{
    struct swarm_job *job = &batch->job;
    if (strcmp(word, "--ranks") == 0) {
        return parse_count(value, PROGRAM_RANKS_MAX, &job->ranks) && job->ranks > 0;
    }
    if (strcmp(word, "--tasks") == 0) {
        return parse_count(value, 100000, &job->tasks);
    }
    if (strcmp(word, "--features") == 0) {
        return parse_count(value, PROGRAM_ALL, &job->features);
    }
    if (strcmp(word, "--faults") == 0) {
        return parse_faults(value, batch);
    }
    if (strcmp(word, "--newcomers") == 0) {
        return parse_count(value, 4, &job->newcomers);
    }
    if (strcmp(word, "--direct-max") == 0) {
        return parse_count(value, 64, &job->direct_max);
    }
    if (strcmp(word, "--seed") == 0 || strcmp(word, "--seeds") == 0) {
        return parse_seeds(value, batch);
    }
    return false;
}

static bool parse(int count, char **words, struct batch *batch)
{
    for (int i = 1; i < count; i++) {
        if (parse_flag(words[i], batch)) {
            continue;
        }
        if (i + 1 == count || !parse_value(words[i], words[i + 1], batch)) {
            fprintf(stderr, "storm_test: cannot use \"%s\"\n", words[i]);
            return false;
        }
        i++;
    }
    if (batch->job.plan != NULL) {
        batch->job.newcomers = plan_newcomers(batch->job.plan);
    }
    return batch->job.newcomers < batch->job.ranks;
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    struct batch batch = {.job = {.ranks = 4, .tasks = 20, .storm = true},
                          .seed_first = 1,
                          .seed_last = 1};
    const bool whole = argc == 2 && strcmp(argv[1], "--whole") == 0;
    if (!whole && !parse(argc, argv, &batch)) {
        return 2;
    }
    if (argc == 1 || whole) {
        run_quick_set(whole, &tally);
    } else {
        run_batch(&batch, &tally);
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", tally.passed, tally.failed);
    return tally.failed == 0 ? 0 : 1;
}
