/* wire.c - how long a result is on its way to who takes it, or waits for it.
 *
 *   mpirun -n 2 wire [--rounds R]
 *
 * A chain of tasks that alternate between two ranks, each taking the result of the one
 * before, all spawned beforehand.  Between the end of task i and the start of task
 * i + 2, both on one rank and by one clock, lie two ways over the wire and the kernel
 * of task i + 1, whose duration travels in its result: half of what is left is one way.
 * That way includes all that moot does: the end of the task, the message, and for a
 * large result the buffer that it is received into.  It stands beside half a round trip
 * of MPI alone with as many bytes, from one buffer to one other, both of them warm,
 * taken in the same run before and after; the lesser counts.
 *
 * The median of a chain is what a program sees that goes on: a result is received into
 * the memory of one that was let go (node/store/payload_large.h).  The first of a chain
 * has none to follow, and its pages are fresh: that is the worst, behind the row.  What
 * the kernel itself writes to belongs to its duration.
 *
 * Who waits for a result of which no task of its own takes anything is told less
 * directly: its owner must learn first that it is held there, or be asked.  That is the
 * row without a target: empty tasks of the two ranks by turns, each spawned and waited
 * for by both, the time for each.
 */
#include "tests/bench/kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN_MAX = 512 };

/* What begins every result; the rest is filled. */
struct head {
    double duration_s;
};

struct chain {
    size_t size;
    double started_s[CHAIN_MAX], ended_s[CHAIN_MAX]; /* of this rank's links */
    double duration_before_s[CHAIN_MAX];
};

static int run_link(moot_call *call, void *user)
{
    struct chain *chain = user;
    double started_s = bench_now_s();
    const int64_t *args = moot_call_args(call, NULL);
    int64_t number = args[0];
    size_t size;
    const struct head *before = moot_call_input(call, 0, &size);
    struct head *out = moot_call_output(call, chain->size);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (number > 0 && size != chain->size) {
        return moot_call_fail(call, 0, "the input has another size");
    }
    memset(out, (int)number, chain->size);
    chain->started_s[number] = started_s;
    chain->duration_before_s[number] = number > 0 ? before->duration_s : 0;
    chain->ended_s[number] = bench_now_s();
    out->duration_s = chain->ended_s[number] - started_s;
    return MOOT_OK;
}

/* Writes the ways of one chain that this rank has seen, and returns how many. */
static size_t run_chain(struct kit *kit, moot_kernel_id kernel, struct chain *chain,
                        int64_t run, int64_t links, double *ways_s)
{
    moot_task before = {0}, task;
    for (int64_t i = 0; i < links; i++) {
        const int64_t args[2] = {i, run};
        task = kit_spawn(kit, &(moot_task_spec){.kernel = kernel,
                                                .args = args,
                                                .args_size = sizeof(args),
                                                .inputs = &before,
                                                .input_count = i > 0,
                                                .owner = MOOT_ON((int)(i % 2))});
        if (i > 0) {
            kit_release(kit, before);
        }
        before = task;
    }
    kit_wait(kit, before);
    kit_release(kit, before);
    size_t count = 0;
    for (int64_t i = kit->rank; i + 2 < links; i += 2) {
        ways_s[count++] = (chain->started_s[i + 2] - chain->ended_s[i] -
                           chain->duration_before_s[i + 2]) /
                          2;
    }
    return count;
}

/* The median of one way, by rank 0's clock. */
static struct figure measure_way_s(const struct bench *bench, size_t size,
                                   int64_t links, int runs)
{
    struct chain *chain = bench_alloc(1, sizeof(*chain));
    double *ways_s = bench_alloc((size_t)(links * runs), sizeof(*ways_s));
    struct kit kit = kit_open(bench, NULL);
    size_t count = 0;
    chain->size = size;
    moot_kernel_id kernel = kit_kernel(&kit, "link", run_link, chain);
    for (int run = 0; run <= runs; run++) {
        if (bench->rank < 2) {
            size_t more = run_chain(&kit, kernel, chain, run, links, ways_s + count);
            count += run > 0 ? more : 0;
        }
        kit_meet(&kit, run);
    }
    kit_close(&kit);
    struct figure figure = figure_of(ways_s, count);
    free(ways_s);
    free(chain);
    return figure;
}

static void measure_latency(const struct bench *bench, int runs)
{
    enum { BYTES = 64, LINKS = 400 };
    const int rounds = runs == 1 ? 100 : 2000;
    double raw_s = kit_half_round_trip_s(bench, BYTES, rounds);
    struct figure way_s = measure_way_s(bench, BYTES, LINKS, runs);
    raw_s = fmin(raw_s, kit_half_round_trip_s(bench, BYTES, rounds));
    bench_row(bench, "consumer-after-producer-us", 1e6 * way_s.median,
              1e6 * raw_s + 1.5, "least %.2f us; half a round trip of MPI: %.2f us",
              1e6 * way_s.least, 1e6 * raw_s);
}

static void measure_bandwidth(const struct bench *bench, const char *name, size_t size,
                              int64_t links, int runs)
{
    double raw_s = kit_half_round_trip_s(bench, size, (int)links);
    struct figure way_s = measure_way_s(bench, size, links, runs);
    raw_s = fmin(raw_s, kit_half_round_trip_s(bench, size, (int)links));
    bench_row(bench, name, way_s.median / raw_s, 1 / 0.9,
              "%.2f GB/s (best %.2f, worst %.2f), MPI alone %.2f GB/s",
              1e-9 * (double)size / way_s.median, 1e-9 * (double)size / way_s.least,
              1e-9 * (double)size / way_s.most, 1e-9 * (double)size / raw_s);
}

static void measure_waits(const struct bench *bench, int runs)
{
    enum { TASKS = 400, BYTES = 64 };
    const int rounds = runs == 1 ? 100 : 2000;
    double took_s[TASKS], raw_s = kit_half_round_trip_s(bench, BYTES, rounds);
    struct kit kit = kit_open(bench, NULL);
    kit_meet(&kit, 0);
    for (int64_t i = 0; i < TASKS; i++) {
        double begun_s = bench_now_s();
        moot_task task =
            kit_spawn(&kit, &(moot_task_spec){.kernel = kit.empty,
                                              .args = &i,
                                              .args_size = sizeof(i),
                                              .owner = MOOT_ON((int)(i % 2))});
        kit_wait(&kit, task);
        kit_release(&kit, task);
        took_s[i / 2 + i % 2 * TASKS / 2] = bench_now_s() - begun_s;
    }
    kit_meet(&kit, 1);
    kit_close(&kit);
    struct figure way_s =
        figure_of(took_s + TASKS / 2, TASKS / 2); /* of rank 1's tasks */
    bench_row(bench, "wait-for-others-task-us", 1e6 * way_s.median, 0,
              "least %.2f us, most %.0f us; half a round trip of MPI: %.2f us",
              1e6 * way_s.least, 1e6 * way_s.most, 1e6 * raw_s);
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "wire");
    if (bench.ranks < 2) {
        bench_die("wire: it takes two ranks");
    }
    int runs = (int)bench_number(argv, "--rounds", 10, 1, 1000);
    measure_latency(&bench, runs);
    measure_waits(&bench, runs);
    bool once = runs == 1; /* a test: no figure is looked at */
    measure_bandwidth(&bench, "result-of-1MiB-time-to-raw", (size_t)1 << 20,
                      once ? 10 : 60, once ? 1 : 3);
    measure_bandwidth(&bench, "result-of-64MiB-time-to-raw", (size_t)64 << 20,
                      once ? 6 : 12, once ? 1 : 2);
    bench_close(&bench);
    return 0;
}
