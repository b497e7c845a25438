/* bound.c - an array that one rank alone has spawned, beside one that nobody else could
 * have.
 *
 *   mpirun -n 4 bound [--elements N] [--pairs P] [--target RATIO]
 *
 * Rank 0 alone spawns an array of N empty elements and waits for it, while the other
 * ranks wait where all meet.  They are homes of most of it, and have to give that up
 * first; its kernel is not portable, so rank 0 runs all.  In turns with that the same
 * rank runs the same array in a moot of its own, where nothing has to be agreed on,
 * while the other ranks sleep.  Each turn opens its moot, runs an array to warm up, and
 * then one that counts.  The row is the median of the pairs' ratios of times.
 */
#include "tests/bench/kit.h"

#include "node/api/moot_array.h"
#include "node/api/moot_mpi.h"
#include <time.h>

enum { PAIRS_MAX = 101 };

struct bound {
    const struct bench *bench;
    uint64_t elements;
    uint64_t ran; /* elements, by this rank */
};

static int run_element(moot_call *call, void *user)
{
    struct bound *bound = user;
    bound->ran++;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static double run_array(struct bound *bound, moot *m, moot_kernel_id kernel,
                        int64_t number)
{
    const moot_array_spec spec = {.kernel = kernel,
                                  .count = bound->elements,
                                  .args = &number,
                                  .args_size = sizeof(number)};
    moot_array array;
    const uint64_t before = bound->ran;
    const double begun_s = bench_now_s();
    bench_check(m, moot_array_spawn(m, &spec, &array), "moot_array_spawn");
    bench_check(m, moot_array_wait(m, array, MOOT_FOREVER), "moot_array_wait");
    const double took_s = bench_now_s() - begun_s;
    bench_check(m, moot_array_release(m, array), "moot_array_release");
    if (bound->ran - before != bound->elements) {
        bench_die("%llu elements ran, not %llu",
                  (unsigned long long)(bound->ran - before),
                  (unsigned long long)bound->elements);
    }
    return took_s;
}

/* Collective, of the communicator's ranks. */
static double run_turn(struct bound *bound, MPI_Comm comm)
{
    const moot_kernel kernel = {.name = "element", .fn = run_element, .user = bound};
    moot_kernel_id id;
    moot *m;
    double took_s = 0;
    bench_check(NULL, moot_open_comm(NULL, comm, &m), "moot_open_comm");
    bench_check(m, moot_kernel_register(m, &kernel, &id), "element");
    for (int64_t number = 0; number < 2; number++) {
        bench_check(m, moot_barrier(m), "moot_barrier");
        took_s = bound->bench->rank == 0 ? run_array(bound, m, id, number) : 0;
        bench_check(m, moot_barrier(m), "moot_barrier");
    }
    bench_check(NULL, moot_close(m), "moot_close");
    return took_s;
}

/* Until all have come here; without the processor. */
static void sleep_until_all(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    MPI_Request all;
    int here = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    while (!here) {
        MPI_Test(&all, &here, MPI_STATUS_IGNORE);
        if (!here) {
            (void)nanosleep(&pause, NULL);
        }
    }
}

static double measure_pair(struct bound *bound, double *own_s, double *bound_s)
{
    *bound_s = run_turn(bound, MPI_COMM_WORLD);
    *own_s = bound->bench->rank == 0 ? run_turn(bound, MPI_COMM_SELF) : 1;
    sleep_until_all();
    return *bound_s / *own_s;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "bound");
    struct bound bound = {.bench = &bench};
    bound.elements = (uint64_t)bench_number(argv, "--elements", 1000000, 1, 1000000000);
    const long pairs = bench_number(argv, "--pairs", 7, 1, PAIRS_MAX);
    const double target = bench_real(argv, "--target", 0, 0, BENCH_TARGET_MAX);
    double ratios[PAIRS_MAX], bound_s[PAIRS_MAX], own_s[PAIRS_MAX];
    for (long i = 0; i < pairs; i++) {
        ratios[i] = measure_pair(&bound, &own_s[i], &bound_s[i]);
    }
    const struct figure ratio = figure_of(ratios, (size_t)pairs);
    const struct figure ours = figure_of(bound_s, (size_t)pairs);
    const struct figure own = figure_of(own_s, (size_t)pairs);
    bench_row(&bench, "array-bound-to-own", ratio.median, target,
              "quartile %.3g, %.3g-%.3g; of %llu elements: %.0f ms, alone %.0f ms",
              ratio.quartile, ratio.least, ratio.most,
              (unsigned long long)bound.elements, 1e3 * ours.median, 1e3 * own.median);
    bench_close(&bench);
    return 0;
}
