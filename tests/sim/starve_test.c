/* starve_test.c - storms in which a rank's memory runs out (PROTOCOL.md, *Memory*).
 *
 *   starve_test                        the quick set of `make check`
 *   starve_test --seeds A..B           others; a failure prints the line that repeats
 * it
 *
 * From one step of one rank on, allocations that its core makes fail: one, or some.
 * Then some succeed, since what was put aside has been given back, but none so large
 * that as much could be put aside anew.  Behind those all fail, or none does.  What
 * others see must be what they see when a program closes early or a rank dies: the
 * storms' checkers judge it.  A core that has failed must go on failing, and say
 * nothing.
 *
 * Among all runs there must be programs that were refused spawns, and ranks that ended
 * for want of memory.
 */
#include "consensus/sim/programs/random.h"
#include "consensus/sim/runs/swarm.h"
#include "tests/unit/failing_alloc.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    RANKS = 4,
    TASKS = 30,
    STEPS_MAX = 3000,
    QUICK_SEEDS = 400,
    PURPOSE = 77,
    LARGE_BYTES = 200 << 10
};

static struct {
    uint64_t at_step;     /* of all ranks together: then it begins */
    uint64_t first_fails; /* so many allocations fail; */
    uint64_t then_given;  /* so many succeed; */
    bool for_good;        /* and no other, or all */
    uint64_t steps;
    const struct core *victim;
    uint64_t asked; /* by it, so far */
    bool broken;    /* it has said so */
    const char *wrong;
} hunger;

static void hunger_draw(uint64_t seed)
{
    struct random random = random_stream(seed, PURPOSE);
    memset(&hunger, 0, sizeof(hunger));
    hunger.at_step = random_below(&random, 1 + random_below(&random, STEPS_MAX));
    hunger.first_fails = 1 + random_below(&random, 2) * random_below(&random, 4);
    hunger.then_given = random_below(&random, 2) * random_below(&random, 400);
    hunger.for_good = random_chance(&random, 500);
}

/* Whether this rank's allocation, the next one, is to fail. */
static bool is_refused(size_t size)
{
    uint64_t fed = hunger.first_fails + hunger.then_given;
    if (size >= LARGE_BYTES && hunger.asked < fed) {
        return true;
    }
    uint64_t asked = hunger.asked++;
    return asked < hunger.first_fails || (hunger.for_good && asked >= fed);
}

int __real_core_step(struct core *core, const struct core_event *event, uint64_t now_ns,
                     struct core_outputs *out);
int __wrap_core_step(struct core *core, const struct core_event *event, uint64_t now_ns,
                     struct core_outputs *out);

int __wrap_core_step(struct core *core, const struct core_event *event, uint64_t now_ns,
                     struct core_outputs *out)
{
    if (hunger.steps++ == hunger.at_step) {
        hunger.victim = core;
    }
    alloc_refuses = core == hunger.victim ? is_refused : NULL;
    int code = __real_core_step(core, event, now_ns, out);
    alloc_refuses = NULL;
    if (core == hunger.victim && hunger.broken && code != MOOT_ERR_NO_MEMORY) {
        hunger.wrong = "a core that has failed goes on";
    }
    hunger.broken |= core == hunger.victim && code == MOOT_ERR_NO_MEMORY;
    if (hunger.broken && core == hunger.victim && out->count > 0) {
        hunger.wrong = "a core that has failed says something";
    }
    return code;
}

static struct {
    uint64_t runs, failed, refused, starved;
} sum;

static void run_seed(uint64_t seed)
{
    const struct swarm_job job = {.ranks = RANKS,
                                  .tasks = TASKS,
                                  .storm = true,
                                  .drops = seed % 3 == 0,
                                  .leaves = true,
                                  .starves = true,
                                  .newcomers = seed % 5 == 0};
    struct sim_report report;
    hunger_draw(seed);
    bool good = swarm_run(&job, seed, NULL, &report);
    if (good && hunger.wrong != NULL) {
        good = false;
        (void)snprintf(report.check, sizeof(report.check), "silent");
        (void)snprintf(report.why, sizeof(report.why), "%s", hunger.wrong);
    }
    if (!good) {
        printf("FAILED %s: %s\n%s  replay: starve_test --seeds %" PRIu64 "..%" PRIu64
               "\n",
               report.check, report.why, report.dump != NULL ? report.dump : "", seed,
               seed);
    }
    free(report.dump);
    sum.runs++;
    sum.failed += !good;
    sum.refused += report.counts.refused_spawns;
    sum.starved += report.counts.starved;
}

int main(int argc, char **argv)
{
    uint64_t first = 1, last = QUICK_SEEDS;
    bool quick = argc == 1;
    if (!quick && (argc != 3 || strcmp(argv[1], "--seeds") != 0 ||
                   sscanf(argv[2], "%" SCNu64 "..%" SCNu64, &first, &last) != 2)) {
        fprintf(stderr, "usage: starve_test [--seeds A..B]\n");
        return 2;
    }
    for (uint64_t seed = first; seed <= last; seed++) {
        run_seed(seed);
    }
    printf("%" PRIu64 " storms, %" PRIu64 " failed; %" PRIu64
           " programs were refused a spawn, %" PRIu64 " ranks ended without memory\n",
           sum.runs, sum.failed, sum.refused, sum.starved);
    if (quick && (sum.refused < 10 || sum.starved < 10)) {
        printf("FAILED: memory hardly ever ran out\n");
        return 1;
    }
    return sum.failed != 0;
}
