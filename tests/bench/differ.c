/* differ.c - whether ranks whose programs differ stay as large, and as fast, as they
 * were.
 *
 *   mpirun -n 4 differ [--tasks N] [--skip PPM] [--shuffle W] [--limit-mib L]
 *
 * Every rank spawns N empty tasks, without one in a million / PPM of its own choice, or
 * each W of them in an order of its own; keeps a thousand handles, and releases them as
 * it goes.  Two rows: the memory by which the largest rank grew per task after the
 * first tenth, in bytes, which is flat below one; and the processor time of the last
 * twentieth against that of the third, on the straight line that fits those between
 * best.  It stops early, and says so, when a rank reaches the limit.
 */
#include "tests/bench/kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { HANDLES = 1000, SLICES = 20, FIRST = 2, WAIT_EVERY = 4096 };

struct options {
    long tasks, skip, shuffle;
    double limit;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 32);
}

static bool skips(const struct kit *kit, const struct options *options, int64_t number)
{
    uint64_t draw = mix((uint64_t)number * (uint64_t)kit->ranks + (uint64_t)kit->rank);
    return draw % 1000000 < (uint64_t)options->skip;
}

/* The order of the next tasks, `count` of them. */
static void shuffle(const struct kit *kit, int64_t first, int64_t *order, long count)
{
    for (long i = 0; i < count; i++) {
        order[i] = first + i;
    }
    for (long i = count - 1; i > 0; i--) {
        uint64_t seed = (uint64_t)(first + i) * 64 + (uint64_t)kit->rank;
        long with = (long)(mix(seed) % (uint64_t)(i + 1));
        int64_t was = order[i];
        order[i] = order[with];
        order[with] = was;
    }
}

static double used_s(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct handles {
    moot_task of[HANDLES];
    uint64_t count;
};

static void spawn_one(struct kit *kit, struct handles *handles, int64_t number)
{
    moot_task *place = &handles->of[handles->count % HANDLES];
    if (handles->count >= HANDLES) {
        if (handles->count % WAIT_EVERY == 0) {
            kit_wait(kit, *place);
        }
        kit_release(kit, *place);
    }
    *place = kit_spawn(kit, &(moot_task_spec){.kernel = kit->empty,
                                              .args = &number,
                                              .args_size = sizeof(number)});
    handles->count++;
}

static void run_block(struct kit *kit, const struct options *options,
                      struct handles *handles, int64_t first, long count)
{
    int64_t *order = bench_alloc((size_t)count, sizeof(*order));
    shuffle(kit, first, order, options->shuffle > 0 ? count : 0);
    for (long i = 0; i < count; i++) {
        int64_t number = options->shuffle > 0 ? order[i] : first + i;
        if (!skips(kit, options, number)) {
            spawn_one(kit, handles, number);
        }
    }
    free(order);
}

/* Memory is that of the largest rank, time that of all. */
static void look(struct kit *kit, double *resident, double *used)
{
    double mine[2] = {kit_resident_bytes(), used_s()};
    bench_check(kit->m, moot_park(kit->m), "moot_park");
    MPI_Allreduce(&mine[0], resident, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&mine[1], used, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bench_check(kit->m, moot_unpark(kit->m), "moot_unpark");
}

/* The last against the first, on the line that fits all. */
static double slope_of(const double *values, int count)
{
    double sum = 0, sum_x = 0, sum_xx = 0, sum_xy = 0, n = count;
    for (int i = 0; i < count; i++) {
        sum += values[i];
        sum_x += i;
        sum_xx += (double)i * i;
        sum_xy += i * values[i];
    }
    double slope = (n * sum_xy - sum_x * sum) / (n * sum_xx - sum_x * sum_x);
    double begin = (sum - slope * sum_x) / n;
    return (begin + slope * (n - 1)) / begin;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "differ");
    struct options options = {
        .tasks = bench_number(argv, "--tasks", 2000000, 100000, 1000000000),
        .skip = bench_number(argv, "--skip", 0, 0, 1000000),
        .shuffle = bench_number(argv, "--shuffle", 0, 0, 100000),
        .limit =
            1048576.0 * (double)bench_number(argv, "--limit-mib", 1024, 1, 1 << 20),
    };
    struct kit kit = kit_open(&bench, NULL);
    static struct handles handles;
    long block = options.shuffle > 0 ? options.shuffle : HANDLES;
    double slices[SLICES], first = 0, resident = 0, before, used;
    int64_t done = 0;
    int slice = 0;
    look(&kit, &resident, &before);
    for (; slice < SLICES && resident < options.limit; slice++) {
        int64_t end = options.tasks / SLICES * (slice + 1);
        for (; done < end; done += block) {
            run_block(&kit, &options, &handles, done, block);
        }
        look(&kit, &resident, &used);
        slices[slice] = used - before;
        before = used;
        first = slice + 1 == FIRST ? resident : first;
    }
    for (uint64_t i = 0; i < HANDLES && i < handles.count; i++) {
        kit_release(&kit, handles.of[i]);
    }
    kit_close(&kit);
    const char *how = options.shuffle > 0 ? "shuffle" : "skip";
    double after = (double)(done - options.tasks / SLICES * FIRST);
    char name[64];
    (void)snprintf(name, sizeof(name), "%s-growth-bytes-per-task", how);
    bench_row(
        &bench, name, (resident - first) / after, 1,
        "%.3g tasks%s on %d ranks; %.0f MiB after a tenth of all, %.0f MiB at the "
        "end",
        (double)done, slice < SLICES ? ", then the limit was reached" : "", bench.ranks,
        first / 1048576, resident / 1048576);
    (void)snprintf(name, sizeof(name), "%s-processor-time-grows", how);
    bench_row(&bench, name,
              slice == SLICES ? slope_of(slices + FIRST, SLICES - FIRST) : 99, 1.1,
              "%.2f s in the third slice of %d, %.2f s in the last, of all ranks",
              slices[FIRST], SLICES, slices[slice - 1]);
    bench_close(&bench);
    return 0;
}
