/* verdicts.c - a task that nobody holds ends alike on all ranks, and soon.
 *
 *     verdicts late [MS]         rank 0 is told NOT_HELD; then all spawn it
 *     verdicts many [MS]         rank 0 waits for 25 such tasks in one wait
 *     verdicts apart [MS]        and for others, one after another
 *     verdicts gone              three ranks, of which 1 dies (below)
 *
 * No verdict may take longer than so many milliseconds (2000), whatever the wire loses.
 *
 * gone: rank 1 alone spawns X, and is its chair; a fault plan kills it when it starts
 * X.  Rank 2 waits for X, and then spawns Y; rank 0, which has spawned less, waits for
 * Y by its hash.  So X has to end NOT_HELD, and Y well.
 *
 * Without arguments it runs the first three.
 */
#include "node/api/moot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TASKS = 25 };

static moot *m;
static moot_kernel_id square;
static double limit_s = 2.0;
static int wrong;

static void expect(const char *what, int code, int wanted)
{
    if (code != wanted) {
        printf("verdicts: rank %d: %s: %s, not %s: %s\n", moot_rank(m), what,
               moot_err_name(code), moot_err_name(wanted), moot_last_error(m));
        wrong++;
    }
}

static void must(const char *what, int code)
{
    if (code != MOOT_OK) {
        printf("verdicts: %s: %s\n", what, moot_err_name(code));
        exit(1);
    }
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void check_time(const char *what, double since_s)
{
    double took_s = now_s() - since_s;
    if (took_s > limit_s) {
        printf("verdicts: %s took %.3f s\n", what, took_s);
        wrong++;
    }
}

static int run_square(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *x = moot_call_args(call, &(size_t){0});
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = *x * *x;
    return MOOT_OK;
}

static moot_task name_task(uint64_t x)
{
    moot_task task = {0};
    must("name",
         moot_task_name(
             m, &(moot_task_spec){.kernel = square, .args = &x, .args_size = sizeof(x)},
             &task));
    return task;
}

static moot_task spawn_task(uint64_t x)
{
    moot_task task = {0};
    must("spawn",
         moot_task_spawn(
             m, &(moot_task_spec){.kernel = square, .args = &x, .args_size = sizeof(x)},
             &task));
    return task;
}

/* The first from `x` on of which this rank is, or is not, the chair. */
static uint64_t chaired(uint64_t x, int rank, bool is)
{
    for (;; x++) {
        moot_task_info info;
        moot_task task = name_task(x);
        must("info", moot_task_info(m, task, &info));
        must("release", moot_task_release(m, task));
        if ((info.chair == rank) == is) {
            return x;
        }
    }
}

/* --- Scenes ---------------------------------------------------------------------- */

static void late(void)
{
    for (uint64_t x = 100; x < 110; x++) { /* whoever their chairs are */
        if (moot_rank(m) == 0) {
            double since_s = now_s();
            expect("nobody holds it", moot_task_wait(m, name_task(x), MOOT_FOREVER),
                   MOOT_ERR_NOT_HELD);
            check_time("one verdict", since_s);
        }
        must("barrier", moot_barrier(m));
        moot_task task = spawn_task(x);
        expect("spawned later", moot_task_wait(m, task, MOOT_FOREVER),
               MOOT_ERR_NOT_HELD);
        if (strstr(moot_last_error(m), ", decided by rank ") == NULL) {
            expect("its story", 0, MOOT_ERR_NOT_HELD);
        }
        expect("the next", moot_task_wait(m, spawn_task(x + 1000), MOOT_FOREVER),
               MOOT_OK);
    }
}

static void many(void)
{
    moot_task tasks[TASKS];
    for (uint64_t i = 0; i < TASKS && moot_rank(m) == 0; i++) {
        tasks[i] = name_task(200 + i);
    }
    if (moot_rank(m) == 0) {
        double since_s = now_s();
        expect("25 in one wait", moot_task_wait_all(m, tasks, TASKS, MOOT_FOREVER),
               MOOT_ERR_NOT_HELD);
        check_time("25 in one wait", since_s);
    }
}

static void apart(void)
{
    for (uint64_t i = 0; i < TASKS && moot_rank(m) == 0; i++) {
        double since_s = now_s();
        expect("one of 25", moot_task_wait(m, name_task(300 + i), MOOT_FOREVER),
               MOOT_ERR_NOT_HELD);
        check_time("one of 25", since_s);
    }
}

static void gone(void)
{
    uint64_t x = chaired(400, 1, true), y = chaired(500, 1, false);
    must("barrier", moot_barrier(m));
    if (moot_rank(m) == 1) {
        (void)moot_task_wait(m, spawn_task(x), MOOT_FOREVER);
    } else if (moot_rank(m) == 2) {
        expect("its own", moot_task_wait(m, spawn_task(600), MOOT_FOREVER), MOOT_OK);
        expect("what the dead held", moot_task_wait(m, name_task(x), MOOT_FOREVER),
               MOOT_ERR_NOT_HELD);
        expect("spawned after that", moot_task_wait(m, spawn_task(y), MOOT_FOREVER),
               MOOT_OK);
    } else {
        expect("what 2 spawns", moot_task_wait(m, name_task(y), MOOT_FOREVER), MOOT_OK);
    }
}

int main(int argc, char **argv)
{
    const char *scene = argc > 1 ? argv[1] : "";
    limit_s = argc > 2 ? strtod(argv[2], NULL) / 1e3 : limit_s;
    must("open", moot_open(NULL, &m));
    must("kernel", moot_kernel_register(
                       m, &(moot_kernel){.name = "square", .fn = run_square}, &square));
    if (strcmp(scene, "gone") == 0) {
        gone();
    }
    if (scene[0] == '\0' || strcmp(scene, "late") == 0) {
        late();
    }
    if (scene[0] == '\0' || strcmp(scene, "many") == 0) {
        many();
    }
    if (scene[0] == '\0' || strcmp(scene, "apart") == 0) {
        apart();
    }
    must("close", moot_close(m));
    return wrong > 0;
}
