/* forget_test.c - ranks whose programs differ for long remember what they use (I22).
 *
 *   forget_test                the quick set of `make check`
 *   forget_test --seeds N      so many of each workload, and longer programs
 *   forget_test --storms N     so many storms
 *
 * Ranks skip tasks, or spawn them in another order, in eight phases, and let go of what
 * they have used.  What must be true, beside all that the checkers say: no rank ever
 * remembers more than half of the tasks, which is four phases.  (A rank may be a phase
 * ahead of another, and what a rank lacks goes when its program is two phases past it.)
 * Where chunks alone are dropped a rank remembers nearly all.  Then such programs run
 * in storms.
 */
#include "consensus/sim/checks/chaos_checker.h"
#include "consensus/sim/checks/checker.h"
#include "consensus/sim/programs/workload.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS_MIN = 2,
    RANKS_MAX = 5,
    PHASES = 8,
    TASKS = 1600,
    LONG_TASKS = 8000,
    LOT_AFTER = 32,
    GOSSIP_NS = 20000,
    QUICK_SEEDS = 3,
    STORM_TASKS = 240,
    STORM_LOT_AFTER = 16,
    STORM_PASS_AFTER = 48,
    QUICK_STORMS = 40
};

static const struct {
    enum workload_kind kind;
    uint32_t rate_ppm;
} differing[] = {{WORKLOAD_SKIP, 10000},
                 {WORKLOAD_SKIP, 100000},
                 {WORKLOAD_ONCE, 20000},
                 {WORKLOAD_BRANCH, 100000},
                 {WORKLOAD_SHUFFLE, 0}};

/* The most that a rank has remembered; 0: the run failed. */
static uint64_t remember(size_t which, uint64_t seed, uint32_t ranks, uint32_t tasks)
{
    struct workload workload = {.kind = differing[which].kind,
                                .rate_ppm = differing[which].rate_ppm};
    struct script_error error;
    struct program *program = workload_program(&workload, seed, ranks, tasks, &error);
    struct sim_weather weather;
    struct sim_report report;
    if (program == NULL) {
        abort();
    }
    sim_weather_draw(seed, ranks, &weather);
    weather.slow = 0;
    weather.gossip_period_ns = GOSSIP_NS;
    weather.drop_above = 1;
    weather.lot_after = LOT_AFTER;
    weather.pass_after = 2 * tasks / PHASES;
    const struct sim_options options = {
        .program = program, .seed = seed, .weather = &weather};
    bool good = checker_run(&options, &report);
    uint64_t most = report.counts.remembered_most;
    if (!good) {
        printf("FAILED %s: %s\n%s", report.check, report.why,
               report.dump != NULL ? report.dump : "");
    }
    free(report.dump);
    program_free(program);
    return good ? most : 0;
}

/* Ranks die, are cut off and stand still meanwhile: nothing is counted then, and all
 * else must hold. */
static bool weather_storm(uint64_t seed, uint32_t ranks)
{
    const struct workload workload = {.kind = seed % 2 ? WORKLOAD_SKIP : WORKLOAD_ONCE,
                                      .rate_ppm = 50000};
    struct script_error error;
    struct program *program =
        workload_program(&workload, seed, ranks, STORM_TASKS, &error);
    const struct storm_request request = {.ranks = ranks};
    struct sim_weather weather;
    struct storm storm;
    struct plan plan;
    struct sim_report report;
    if (program == NULL) {
        abort();
    }
    sim_weather_draw(seed, ranks, &weather);
    weather.drop_above = 1;
    weather.lot_after = 1 + seed % STORM_LOT_AFTER;
    weather.pass_after = STORM_PASS_AFTER;
    weather.gossip_period_ns = GOSSIP_NS;
    storm_draw(seed, &request, &weather, &plan, &storm);
    const struct sim_options options = {.program = program,
                                        .seed = seed,
                                        .weather = &weather,
                                        .storm = &storm,
                                        .plan = &plan};
    bool good = storm_checker_run(&options, &report);
    if (!good) {
        printf("FAILED in storm %" PRIu64 " of %" PRIu32 " ranks, %s: %s\n%s", seed,
               ranks, report.check, report.why, report.dump != NULL ? report.dump : "");
    }
    free(report.dump);
    storm_release(&storm);
    program_free(program);
    return good;
}

static bool check(size_t which, uint64_t seed, uint32_t ranks, uint32_t tasks)
{
    uint64_t most = remember(which, seed, ranks, tasks);
    if (most == 0 || most > tasks / 2) {
        printf("bounded: workload %s, seed %" PRIu64 ", %" PRIu32 " ranks, %" PRIu32
               " tasks: a rank remembered %" PRIu64 "\n",
               workload_name(differing[which].kind), seed, ranks, tasks, most);
        return false;
    }
    return true;
}

static void tally(uint64_t *counts, bool good) { counts[good ? 0 : 1]++; }

int main(int argc, char **argv)
{
    bool longer = argc == 3 && strcmp(argv[1], "--seeds") == 0;
    bool only_storms = argc == 3 && strcmp(argv[1], "--storms") == 0;
    uint64_t given = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t seeds = longer ? given : only_storms ? 0 : QUICK_SEEDS;
    uint64_t storms = only_storms ? given : longer ? 0 : QUICK_STORMS;
    uint64_t counts[2] = {0, 0};
    for (size_t which = 0; which < sizeof(differing) / sizeof(*differing); which++) {
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            uint32_t ranks = RANKS_MIN + (uint32_t)(seed % (RANKS_MAX - RANKS_MIN + 1));
            tally(counts, check(which, seed, ranks, longer ? LONG_TASKS : TASKS));
        }
    }
    for (uint64_t seed = 1; seed <= storms; seed++) {
        uint32_t ranks = RANKS_MIN + (uint32_t)(seed / 2 % RANKS_MAX);
        tally(counts, weather_storm(seed, ranks));
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", counts[0], counts[1]);
    return counts[1] == 0 ? 0 : 1;
}
