/* spawning.c - what a spawn costs where it runs, and where it does not.
 *
 *   mpirun -n 1 spawning        an empty task without inputs, spawned, run and released
 *   mpirun -n 2 spawning        a task that the other rank runs: time and memory
 *
 * Each row is the median of several moots.  The remote task has 32 bytes of arguments
 * and takes two results of the other rank.  What rank 0 is timed for is its calls of
 * moot_task_spawn alone, and whatever progress they drive; the other rank does nothing
 * meanwhile but spawn the same, and runs the tasks behind the clock.
 *
 * Memory is what the process grew by in its first moot, which has no window, so that
 * nothing is dropped: all these tasks live, though the handles are released.
 */
#include "tests/bench/kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 7, BATCH = KIT_BATCH, LIVE_FACTOR = 4 };

/* --- Local ------------------------------------------------------------------------ */

static double local_task_s(const struct bench *bench, long tasks)
{
    struct kit kit = kit_open(bench, NULL);
    double begun_s = bench_now_s();
    kit_run_empty(&kit, tasks);
    double took_s = bench_now_s() - begun_s;
    kit_close(&kit);
    return took_s / (double)tasks;
}

static void measure_local(const struct bench *bench, long tasks)
{
    double took_s[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        took_s[i] = local_task_s(bench, tasks);
    }
    struct figure figure = figure_of(took_s, REPEATS);
    bench_row(bench, "empty-local-task-ns", 1e9 * figure.median, 500,
              "%.2f M/s; %.0f-%.0f ns", 1e-6 / figure.median, 1e9 * figure.least,
              1e9 * figure.most);
}

/* --- Remote ----------------------------------------------------------------------- */

struct remote {
    double spawn_s, release_s; /* per task */
    double bytes;              /* per task */
};

static moot_task spawn_remote(struct kit *kit, int64_t number, const moot_task *inputs)
{
    const int64_t args[4] = {number, 1, 2, 3};
    return kit_spawn(kit, &(moot_task_spec){.kernel = kit->empty,
                                            .args = args,
                                            .args_size = sizeof(args),
                                            .inputs = inputs,
                                            .input_count = 2,
                                            .owner = MOOT_ON(1)});
}

/* Spawns a batch that takes from the one before, and releases that. */
static void spawn_batch(struct kit *kit, int64_t number, moot_task *before,
                        moot_task *now, struct remote *remote)
{
    before[BATCH] = before[0]; /* a second input for the last */
    double begun_s = bench_now_s();
    for (int64_t i = 0; i < BATCH; i++) {
        now[i] = spawn_remote(kit, number + i, &before[i]);
    }
    double spawned_s = bench_now_s();
    for (int64_t i = 0; i < BATCH; i++) {
        kit_release(kit, before[i]);
    }
    remote->spawn_s += spawned_s - begun_s;
    remote->release_s += bench_now_s() - spawned_s;
}

static struct remote measure_remote_once(const struct bench *bench, long tasks,
                                         const char *const *knobs)
{
    struct remote remote = {0};
    struct kit kit = kit_open(bench, knobs);
    moot_task rows[2][BATCH + 1];
    for (int64_t i = 0; i < BATCH; i++) {
        const int64_t args = -1 - i;
        rows[0][i] = kit_spawn(&kit, &(moot_task_spec){.kernel = kit.empty,
                                                       .args = &args,
                                                       .args_size = sizeof(args),
                                                       .owner = MOOT_ON(1)});
    }
    double bytes = kit_resident_bytes();
    for (int64_t batch = 0; batch < tasks / BATCH; batch++) {
        spawn_batch(&kit, batch * BATCH, rows[batch % 2], rows[1 - batch % 2], &remote);
    }
    remote.bytes = (kit_resident_bytes() - bytes) / (double)tasks;
    remote.spawn_s /= (double)tasks;
    remote.release_s /= (double)tasks;
    kit_meet(&kit, 0);
    kit_close(&kit);
    return remote;
}

static void measure_remote(const struct bench *bench, long tasks)
{
    /* Records stand on pages of 2 MiB: so many that one of these more or less is
     * little.  Nothing is dropped. */
    long live = LIVE_FACTOR * tasks;
    const char *const wide[] = {"MOOT_WINDOW=0", NULL};
    double bytes = measure_remote_once(bench, live, wide).bytes;
    double spawn_s[REPEATS], release_s[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        struct remote remote = measure_remote_once(bench, tasks, NULL);
        spawn_s[i] = remote.spawn_s;
        release_s[i] = remote.release_s;
    }
    struct figure spawn = figure_of(spawn_s, REPEATS);
    bench_row(bench, "spawn-remote-task-ns", 1e9 * spawn.median, 250,
              "%.0f-%.0f ns; its release %.0f ns", 1e9 * spawn.least, 1e9 * spawn.most,
              1e9 * figure_of(release_s, REPEATS).median);
    bench_row(bench, "memory-per-remote-task-bytes", bytes, 192, "of %ld live tasks",
              live);
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "spawning");
    long tasks = bench_number(argv, "--tasks", 50000, BATCH, 100000000) / BATCH * BATCH;
    if (bench.ranks == 1) {
        measure_local(&bench, tasks);
    } else {
        measure_remote(&bench, tasks);
    }
    bench_close(&bench);
    return 0;
}
