/* idling.c - what a rank costs that waits for long, and how soon it wakes.
 *
 *   mpirun -n 2 idling [--rounds R]
 *
 * Rank 0 waits for a task of rank 1, which is not spawned there for two seconds.  A
 * thread beside it reads the process's own processor time one second after the wait
 * began, and again just before its end: the share of a core in between is the first
 * row.  The task's result is the time at which it ended, and how long after that rank
 * 0's wait returned is the second; the two share a host, and so a clock.
 */
#include "tests/bench/kit.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS_MAX = 100 };
static const double LONG_S = 1.0, WATCHED_S = 0.9, WAIT_S = 2.0;

static void sleep_s(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    while (nanosleep(&time, &time) != 0) {
        continue;
    }
}

static double used_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void *watch(void *share)
{
    sleep_s(LONG_S);
    double used = used_s(), begun_s = bench_now_s();
    sleep_s(WATCHED_S);
    *(double *)share = (used_s() - used) / (bench_now_s() - begun_s);
    return NULL;
}

static int tell_time(moot_call *call, void *user)
{
    (void)user;
    double *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = bench_now_s();
    return MOOT_OK;
}

/* Fetches the task, and says how long ago it ended. */
static double fetch_s(struct kit *kit, moot_kernel_id kernel, int64_t round)
{
    const void *ended_s;
    size_t size;
    moot_task task = kit_spawn(kit, &(moot_task_spec){.kernel = kernel,
                                                      .args = &round,
                                                      .args_size = sizeof(round),
                                                      .owner = MOOT_ON(1)});
    bench_check(kit->m, moot_task_fetch(kit->m, task, MOOT_FOREVER, &ended_s, &size),
                "moot_task_fetch");
    double late_s = bench_now_s() - *(const double *)ended_s;
    kit_release(kit, task);
    return late_s;
}

static void wait_watched(struct kit *kit, moot_kernel_id kernel, int64_t round,
                         double *share, double *late_s)
{
    pthread_t watcher;
    if (pthread_create(&watcher, NULL, watch, share) != 0) {
        bench_die("idling: no thread");
    }
    *late_s = fetch_s(kit, kernel, round);
    pthread_join(watcher, NULL);
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    double shares[ROUNDS_MAX], late_s[ROUNDS_MAX];
    bench_open(&bench, "idling");
    if (bench.ranks < 2) {
        bench_die("idling: it takes two ranks");
    }
    size_t rounds = (size_t)bench_number(argv, "--rounds", 5, 1, ROUNDS_MAX);
    struct kit kit = kit_open(&bench, NULL);
    moot_kernel_id kernel = kit_kernel(&kit, "tell-time", tell_time, NULL);
    for (size_t i = 0; i < rounds; i++) {
        kit_meet(&kit, (int64_t)i);
        if (bench.rank == 0) {
            wait_watched(&kit, kernel, (int64_t)i, &shares[i], &late_s[i]);
        } else if (bench.rank == 1) {
            sleep_s(WAIT_S);
            (void)fetch_s(&kit, kernel, (int64_t)i);
        }
    }
    kit_meet(&kit, (int64_t)rounds);
    kit_close(&kit);
    if (bench.rank == 0) {
        struct figure share = figure_of(shares, rounds),
                      late = figure_of(late_s, rounds);
        bench_row(&bench, "idle-core-share-after-1s", share.median, 0.05, "%.3f-%.3f",
                  share.least, share.most);
        bench_row(&bench, "idle-wake-up-us", 1e6 * late.median, 1000, "%.0f-%.0f us",
                  1e6 * late.least, 1e6 * late.most);
    }
    bench_close(&bench);
    return 0;
}
