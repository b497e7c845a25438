/* busy.c - a rank that is merely slow is not taken for dead.
 *
 *     busy [SECONDS [MS_MAX]]
 *
 * For so long every rank runs kernels that spin for a tenth of a second and longer, one
 * in eight of them for as long as may be (5 s), on fewer cores than there are ranks.
 * Nobody may be removed, every task runs once, and every rank has every result.  The
 * knobs are the default ones.
 */
#include "node/api/moot.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SECONDS = 10, MS_MIN = 100, MS_MAX = 5000, TASKS_PER_RANK = 2 };

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int spin(moot_call *call, void *user)
{
    const unsigned *task = moot_call_args(call, &(size_t){0});
    const unsigned *ms_max = user;
    unsigned word = *task * 2654435761u >> 8, ms = MS_MIN + word % MS_MIN;
    if (word % 8 == 0) {
        ms = MS_MIN + word / 8 % (*ms_max - MS_MIN + 1);
    }
    double until = seconds_now() + ms / 1e3;
    while (seconds_now() < until) {
        ;
    }
    unsigned *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = *task + 1;
    return MOOT_OK;
}

static int fail(const moot *m, const char *what)
{
    fprintf(stderr, "busy: rank %d: %s: %s\n", moot_rank(m), what, moot_last_error(m));
    return 1;
}

/* One round; the number of its first task. */
static int round_play(moot *m, moot_kernel_id kernel, unsigned first)
{
    int count = moot_size(m) * TASKS_PER_RANK;
    moot_task *tasks = calloc((size_t)count, sizeof(*tasks));
    int bad = tasks == NULL;
    for (int i = 0; i < count && !bad; i++) {
        unsigned task = first + (unsigned)i;
        if (moot_task_spawn(m,
                            &(moot_task_spec){.kernel = kernel,
                                              .args = &task,
                                              .args_size = sizeof(task)},
                            &tasks[i]) != MOOT_OK) {
            bad = fail(m, "spawn");
        }
    }
    for (int i = 0; i < count && !bad; i++) {
        const void *data;
        if (moot_task_fetch(m, tasks[i], MOOT_FOREVER, &data, &(size_t){0}) !=
            MOOT_OK) {
            bad = fail(m, "fetch");
        } else if (*(const unsigned *)data != first + (unsigned)i + 1) {
            bad = fail(m, "a WRONG result");
        } else {
            moot_task_release(m, tasks[i]);
        }
    }
    free(tasks);
    return bad;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : SECONDS;
    unsigned ms_max = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : MS_MAX;
    moot *m;
    moot_kernel_id kernel;
    moot_stats stats;
    int bad = moot_open(NULL, &m) != MOOT_OK;
    if (bad) {
        return 1;
    }
    moot_kernel_register(m, &(moot_kernel){.name = "spin", .fn = spin, .user = &ms_max},
                         &kernel);
    double until = seconds_now() + seconds;
    int go_on = 1;
    /* Clocks may make one rank play a round more: it then runs that alone. */
    for (unsigned first = 0; go_on && !bad; first += 1u << 10) {
        bad = round_play(m, kernel, first);
        go_on = seconds_now() < until;
    }
    moot_stats_get(m, &stats);
    if (stats.ranks_lost > 0) {
        bad = fail(m, "ranks were taken for dead");
    }
    int code = moot_close(m);
    return bad || code != MOOT_OK;
}
