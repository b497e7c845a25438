/* forget_test.c - ranks whose programs differ for long remember what they use (I22).
 *
 *   forget_test                the quick set of `make check`
 *   forget_test --seeds N      so many of each workload, and longer programs
 *
 * Ranks skip tasks, or spawn them in another order, in eight phases, and let go of what
 * they have used.  What must be true, beside all that the checkers say: no rank ever
 * remembers more than half of the tasks, which is four phases.  (A rank may be a phase
 * ahead of another, and what a rank lacks goes when its program is two phases past it.)
 * Where chunks alone are dropped a rank remembers nearly all.
 */
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
    QUICK_SEEDS = 3
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

int main(int argc, char **argv)
{
    bool given = argc == 3 && strcmp(argv[1], "--seeds") == 0;
    uint64_t seeds = given ? strtoull(argv[2], NULL, 10) : QUICK_SEEDS;
    uint64_t passed = 0, failed = 0;
    for (size_t which = 0; which < sizeof(differing) / sizeof(*differing); which++) {
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            uint32_t ranks = RANKS_MIN + (uint32_t)(seed % (RANKS_MAX - RANKS_MIN + 1));
            bool good = check(which, seed, ranks, given ? LONG_TASKS : TASKS);
            passed += good;
            failed += !good;
        }
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
