/* submitting.c - what a task costs its program in a bulk region, and by itself.
 *
 *   mpirun -n 1 submitting      tasks that run here
 *   mpirun -n 2 submitting      tasks that the other rank runs
 *
 * A region of 1,000 tasks of 32 bytes of arguments, each with two results of the region
 * before as inputs, is spawned in a bulk queue, close included, or one by one; then it
 * is waited for.  Timed are the calls that submit, alone.  Regions of both kinds take
 * turns, so that what else the machine does falls on both; the row is the ratio of the
 * medians.
 *
 * The target, half, is not reached.  Both ways copy and check the spec, make a handle,
 * hash four tasks together and register each; a region saves (progress and window once,
 * not a thousand times) what its own list costs.  Tasks that were given their hashes,
 * records and tickets one by one, when they were spawned, cost half as much again.
 */
#include "tests/bench/kit.h"

#include <stdlib.h>

enum { REGION = 1000, PAIRS_MAX = 10001 };

struct rows {
    moot_task tasks[2][REGION + 1];
    int now;
    int64_t number;
};

static double submit_s(struct kit *kit, struct rows *rows, bool bulk)
{
    moot_task *before = rows->tasks[rows->now], *now = rows->tasks[1 - rows->now];
    int owner = kit->ranks - 1;
    double begun_s = bench_now_s();
    if (bulk) {
        bench_check(kit->m, moot_queue_open(kit->m, MOOT_QUEUE_BULK), "open");
    }
    for (int i = 0; i < REGION; i++) {
        const int64_t args[4] = {rows->number++, 1, 2, 3};
        now[i] = kit_spawn(kit, &(moot_task_spec){.kernel = kit->empty,
                                                  .args = args,
                                                  .args_size = sizeof(args),
                                                  .inputs = &before[i],
                                                  .input_count = 2,
                                                  .owner = MOOT_ON(owner)});
    }
    if (bulk) {
        bench_check(kit->m, moot_queue_close(kit->m), "close");
    }
    double took_s = bench_now_s() - begun_s;
    now[REGION] = now[0]; /* a second input for the last */
    bench_check(kit->m, moot_task_wait_all(kit->m, now, REGION, MOOT_FOREVER), "wait");
    for (int i = 0; i < REGION; i++) {
        kit_release(kit, before[i]);
    }
    rows->now = 1 - rows->now;
    return took_s / REGION;
}

static void begin_rows(struct kit *kit, struct rows *rows)
{
    for (int64_t i = 0; i < REGION; i++) {
        const int64_t args = -1 - i;
        rows->tasks[0][i] = kit_spawn(kit, &(moot_task_spec){.kernel = kit->empty,
                                                             .args = &args,
                                                             .args_size = sizeof(args),
                                                             .owner = MOOT_ON(0)});
    }
    rows->tasks[0][REGION] = rows->tasks[0][0];
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "submitting");
    long pairs = bench_number(argv, "--pairs", 61, 1, PAIRS_MAX);
    static const char *const WORKER[] = {"MOOT_THREADS=1", NULL};
    struct kit kit = kit_open(&bench, bench_flag(argv, "--worker") ? WORKER : NULL);
    struct rows *rows = bench_alloc(1, sizeof(*rows));
    double *single_s = bench_alloc((size_t)pairs, sizeof(*single_s));
    double *bulk_s = bench_alloc((size_t)pairs, sizeof(*bulk_s));
    begin_rows(&kit, rows);
    (void)submit_s(&kit, rows, true); /* warms up */
    for (long i = 0; i < pairs; i++) {
        single_s[i] = submit_s(&kit, rows, false);
        bulk_s[i] = submit_s(&kit, rows, true);
    }
    struct figure single = figure_of(single_s, (size_t)pairs);
    struct figure bulk = figure_of(bulk_s, (size_t)pairs);
    bench_row(&bench, bench.ranks == 1 ? "bulk-submit-local" : "bulk-submit-remote",
              bulk.median / single.median, 0.5,
              "%.0f ns a task in bulk, %.0f by itself", 1e9 * bulk.median,
              1e9 * single.median);
    kit_close(&kit);
    free(rows);
    free(single_s);
    free(bulk_s);
    bench_close(&bench);
    return 0;
}
