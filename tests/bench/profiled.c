/* profiled.c - one kind of work, over and over, for a profiler (profile.sh).
 *
 *   mpirun -n 2 profiled --work step [--width W]
 *       steps of stencil_1d whose kernels do not compute: all of by_moot_run
 *   mpirun -n 2 profiled --work spawn
 *       tasks that rank 1 runs: rank 0's calls of moot_task_spawn
 *   mpirun -n 1 profiled --work local
 *       empty tasks: the calls that spawn them, wait for them and release them
 *
 * --count says how many pieces, of spawns in tens of thousands.  Nothing is timed:
 * under a profiler time means nothing.
 */
#include "tests/bench/graph.h"
#include "tests/bench/kit.h"

#include <string.h>

enum { BATCH = KIT_BATCH, SPAWNS = 10 * BATCH, RUNS = 2 };
static const char *const WIDE[] = {"MOOT_WINDOW=0", NULL}; /* nothing is dropped */

static void take_steps(const struct bench *bench, long width, long count)
{
    struct graph graph = graph_new(bench, PATTERN_stencil_1d, count / RUNS, width);
    struct by_moot *by_moot = by_moot_open("repair");
    for (int i = 0; i < RUNS; i++) {
        (void)by_moot_run(by_moot, &graph, NULL);
    }
    by_moot_close(by_moot);
    graph_release(&graph);
}

/* With 32 bytes of arguments, and two inputs unless `inputs` is NULL. */
static moot_task spawn_on(struct kit *kit, int64_t number, int rank,
                          const moot_task *inputs)
{
    const int64_t args[4] = {number, 1, 2, 3};
    return kit_spawn(kit, &(moot_task_spec){.kernel = kit->empty,
                                            .args = args,
                                            .args_size = sizeof(args),
                                            .inputs = inputs,
                                            .input_count = inputs != NULL ? 2 : 0,
                                            .owner = MOOT_ON(rank)});
}

/* Every batch takes from the one before. */
static void spawn_remote(const struct bench *bench, long count)
{
    struct kit kit = kit_open(bench, WIDE);
    moot_task rows[2][BATCH + 1];
    for (long number = 0; number < count; number++) {
        const long batch = number / BATCH, i = number % BATCH;
        moot_task *now = rows[batch % 2], *before = rows[1 - batch % 2];
        if (i == 0 && batch > 0) {
            before[BATCH] = before[0]; /* a second input for the last */
        }
        now[i] = spawn_on(&kit, number, 1, batch > 0 ? &before[i] : NULL);
        for (long j = 0; i == BATCH - 1 && batch > 0 && j < BATCH; j++) {
            kit_release(&kit, before[j]);
        }
    }
    kit_meet(&kit, 0);
    kit_close(&kit);
}

static void run_local(const struct bench *bench, long count)
{
    struct kit kit = kit_open(bench, NULL);
    kit_run_empty(&kit, count);
    kit_close(&kit);
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "profiled");
    const char *work = bench_text(argv, "--work", "step");
    const long width = bench_number(argv, "--width", 8, 1, PATTERN_WIDTH_MAX);
    const long count =
        bench_number(argv, "--count", 4000, RUNS, 10000000) / RUNS * RUNS;
    if (strcmp(work, "step") == 0) {
        take_steps(&bench, width, count);
    } else if (strcmp(work, "spawn") == 0 && bench.ranks == 2) {
        for (long done = 0; done < count; done += SPAWNS) {
            spawn_remote(&bench, SPAWNS);
        }
    } else if (strcmp(work, "local") == 0 && bench.ranks == 1) {
        run_local(&bench, count / BATCH * BATCH);
    } else {
        bench_die("no work \"%s\" for %d ranks", work, bench.ranks);
    }
    bench_close(&bench);
    return 0;
}
