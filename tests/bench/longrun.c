/* longrun.c - whether a program that goes on and on stays as large as it was.
 *
 *   mpirun -n 1 longrun [--tasks N] [--limit-mib L]
 *
 * Every rank spawns N empty tasks, dealt round by round to the ranks, keeps a thousand
 * handles at a time, waits for what gathers them and releases them.  The row is the
 * memory by which the largest rank grew per task after the first tenth, in bytes: flat
 * is below one.  It stops early, and says so, when a rank reaches the limit.
 */
#include "tests/bench/kit.h"

#include <stdlib.h>

enum { BATCH = 1000 };

static moot_task spawn_behind(struct kit *kit, int64_t batch, int64_t number, int owner,
                              const moot_task *after, size_t count)
{
    const int64_t args[2] = {batch, number};
    return kit_spawn(kit, &(moot_task_spec){.kernel = kit->empty,
                                            .args = args,
                                            .args_size = sizeof(args),
                                            .after = after,
                                            .after_count = count,
                                            .owner = MOOT_ON(owner)});
}

/* Waits for all of a batch: each rank's share is gathered by a task of that rank, and
 * behind these stands one of every rank, of which this rank waits for its own. */
static void wait_batch(struct kit *kit, int64_t batch, const moot_task *tasks)
{
    moot_task *gatherers = bench_alloc((size_t)kit->ranks, sizeof(*gatherers)),
              mine = {0};
    for (int64_t rank = 0; rank < kit->ranks; rank++) {
        int64_t from = (rank * BATCH + kit->ranks - 1) / kit->ranks;
        int64_t to = ((rank + 1) * BATCH + kit->ranks - 1) / kit->ranks;
        gatherers[rank] = spawn_behind(kit, batch, -1 - rank, (int)rank, tasks + from,
                                       (size_t)(to - from));
    }
    for (int rank = 0; rank < kit->ranks; rank++) {
        moot_task end = spawn_behind(kit, batch, -1 - kit->ranks - rank, rank,
                                     gatherers, (size_t)kit->ranks);
        if (rank == kit->rank) {
            mine = end;
        } else {
            kit_release(kit, end);
        }
    }
    kit_wait(kit, mine);
    kit_release(kit, mine);
    for (int rank = 0; rank < kit->ranks; rank++) {
        kit_release(kit, gatherers[rank]);
    }
    free(gatherers);
}

static void run_batch(struct kit *kit, int64_t batch)
{
    moot_task tasks[BATCH];
    for (int64_t i = 0; i < BATCH; i++) {
        tasks[i] = spawn_behind(kit, batch, i, (int)(i * kit->ranks / BATCH), NULL, 0);
    }
    wait_batch(kit, batch, tasks);
    for (int64_t i = 0; i < BATCH; i++) {
        kit_release(kit, tasks[i]);
    }
}

/* Of the largest rank. */
static double resident_bytes(void)
{
    double mine = kit_resident_bytes(), most;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "longrun");
    long tasks = bench_number(argv, "--tasks", 1000000, 10L * BATCH, 1000000000);
    double limit =
        1048576.0 * (double)bench_number(argv, "--limit-mib", 2048, 1, 1 << 20);
    int64_t batches = tasks / BATCH, tenth = batches / 10, done = 0;
    double first = 0, now = 0, begun_s = bench_now_s();
    struct kit kit = kit_open(&bench, NULL);
    while (done < batches && now < limit) {
        for (int64_t i = 0; i < tenth && done < batches; i++) {
            run_batch(&kit, done++);
        }
        bench_check(kit.m, moot_park(kit.m), "moot_park");
        now = resident_bytes();
        bench_check(kit.m, moot_unpark(kit.m), "moot_unpark");
        first = first > 0 ? first : now;
    }
    double took_s = bench_now_s() - begun_s;
    double after = (double)((done - tenth) * BATCH);
    kit_close(&kit);
    bench_row(&bench, "long-run-growth-bytes-per-task",
              after > 0 ? (now - first) / after : now / (double)(done * BATCH), 1,
              "%.3g tasks%s on %d ranks, %.0f ns each; %.0f MiB after a tenth of all, "
              "%.0f MiB at the end",
              (double)(done * BATCH),
              done < batches ? ", then the limit was reached" : "", bench.ranks,
              1e9 * took_s / (double)(done * BATCH), first / 1048576, now / 1048576);
    bench_close(&bench);
    return 0;
}
