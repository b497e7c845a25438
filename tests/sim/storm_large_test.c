/* storm_large_test.c - workloads of many ranks while some die, stall and are cut off.
 *
 *   storm_large_test             half of the seeds, for `make check`
 *   storm_large_test --whole     all of them
 *
 * Above 64 ranks a committee watches and decides, and views, reports and censuses go by
 * trees; what storm_test.c has seen of that on a few ranks must hold on many.  Each row
 * runs so many seeds of a workload under every check, each with the faults that it
 * draws, half of which strike the committee; then each fault of the harness that a
 * storm can show must be seen by its check here, too.  A failure prints a line for
 * `moot sim`.
 */
#include "consensus/sim/runs/trial.h"
#include "hashing/identity.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *workload;
    uint32_t ranks, tasks;
    uint64_t seeds;
} rows[] = {
    {"skip:0.05", 128, 24, 12}, {"once:0.1", 128, 24, 12}, {"hint", 128, 16, 4},
    {"tree", 128, 16, 4},       {"shuffle", 128, 16, 4},   {"once:0.1", 128, 16, 6},
    {"skip:0.05", 512, 12, 2},
};

static struct trial trial_of(const char *workload, uint32_t ranks, uint32_t tasks)
{
    struct plan_error error;
    struct trial trial = {.ranks = ranks, .tasks = tasks};
    if (!workload_parse(workload, &trial.workload, &error)) {
        abort();
    }
    return trial;
}

static bool run(const struct trial *trial, uint64_t seed, struct tally *tally,
                struct trial_result *result)
{
    bool good = trial_run(trial, seed, NULL, tally, result);
    free(result->report.dump);
    return good;
}

static bool run_row(size_t row, bool whole, struct tally *tally)
{
    bool good = true;
    struct trial trial = trial_of(rows[row].workload, rows[row].ranks, rows[row].tasks);
    const uint64_t seeds = whole ? rows[row].seeds : rows[row].seeds / 2;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        static struct trial_result result;
        if (run(&trial, seed, tally, &result)) {
            continue;
        }
        good = false;
        printf("FAILED %s: %s\n  replay: moot sim --ranks %" PRIu32 " --seed %" PRIu64
               " --workload %s --tasks %" PRIu32 "\n",
               result.report.check, result.report.why, trial.ranks, seed,
               rows[row].workload, trial.tasks);
    }
    return good;
}

/* A harness that lies is caught among many as it is among few. */
static bool canary_is_seen(enum sim_canary canary)
{
    const char *wanted = sim_canary_check(canary);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static struct tally tally;
        static struct trial_result result;
        struct trial trial = trial_of("once:0.1", 128, 12);
        trial.canary = canary;
        if (!run(&trial, seed, &tally, &result) &&
            strcmp(result.report.check, wanted) == 0) {
            return true;
        }
    }
    printf("FAILED canary %s: the check \"%s\" does not see it among 128 ranks\n",
           sim_canary_name(canary), wanted);
    return false;
}

/* Storms without deaths, views and parts would show nothing. */
static bool something_happened(const struct tally *tally)
{
    bool good = tally->views >= 10 && tally->deaths >= 5 && tally->joined >= 3 &&
                tally->fired[PLAN_PART] > 0 && tally->fired[PLAN_DROP] > 0;
    if (!good) {
        printf("FAILED: %" PRIu64 " views, %" PRIu64 " deaths, %" PRIu64
               " joined: that is not a storm\n",
               tally->views, tally->deaths, tally->joined);
    }
    return good;
}

int main(int argc, char **argv)
{
    const bool whole = argc == 2 && strcmp(argv[1], "--whole") == 0;
    static struct tally tally;
    static const enum sim_canary canaries[] = {
        SIM_CANARY_RUN_TWICE,     SIM_CANARY_CORRUPT_RESULT, SIM_CANARY_CORRUPT_OWNER,
        SIM_CANARY_FALSE_VERDICT, SIM_CANARY_FALSE_MAYBE,    SIM_CANARY_FALSE_ALARM,
        SIM_CANARY_NEEDLESS_VIEW, SIM_CANARY_OTHER_VIEW,     SIM_CANARY_LOSE_ACK,
        SIM_CANARY_LATE_RESULT};
    uint32_t passed = 0, failed = 0;
    if (!hashing_init()) {
        return 2;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool good = run_row(i, whole, &tally);
        passed += good;
        failed += !good;
    }
    for (size_t i = 0; i < sizeof(canaries) / sizeof(canaries[0]); i++) {
        bool good = canary_is_seen(canaries[i]);
        passed += good;
        failed += !good;
    }
    bool stormy = something_happened(&tally);
    passed += stormy;
    failed += !stormy;
    printf("%" PRIu32 " passed, %" PRIu32 " failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
