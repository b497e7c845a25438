/* verify.c - MOOT_VERIFY on real ranks: equal results pass, and one that is made again
 * after a death is compared with the one that was lost.
 *
 *     verify           equal results are passed; on two or more ranks
 *     verify died      rank 0 is killed when it closes (moot run --faults
 * kill:r0@close)
 *
 * For the second, rank 0 runs a large task whose bytes tell where it was made, and rank
 * 1 hears that it is done, and its digest, but does not fetch it.  When rank 0 is gone
 * rank 1 fetches: another rank makes it, of other bytes, and somebody must say so.
 */
#include "node/api/moot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SQUARES = 300, LARGE_BYTES = 200000, PATIENCE_MS = 30000 };

static int told; /* reports of a difference here */

static void hear(void *user, const char *text)
{
    (void)user;
    fputs(text, stderr);
    told += strstr(text, "MOOT_ERR_NONDETERMINISTIC") != NULL &&
            strstr(text, "than on rank 0") != NULL;
}

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static int square(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *x = moot_call_args(call, NULL);
    uint64_t *y = moot_call_output(call, sizeof(*y));
    if (y == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *y = *x * *x;
    return MOOT_OK;
}

/* Its bytes say where it was made. */
static int place(moot_call *call, void *user)
{
    const moot *const *m = user;
    char *out = moot_call_output(call, LARGE_BYTES);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(out, moot_rank(*m), LARGE_BYTES);
    return MOOT_OK;
}

static void expect(int code, const char *what, const moot *m)
{
    if (code == MOOT_OK) {
        return;
    }
    fprintf(stderr, "verify: %s: %s: %s\n", what, moot_err_name(code),
            moot_last_error(m));
    exit(1);
}

/* --- Equal results ---------------------------------------------------------------- */

static void run_equal(moot *m)
{
    moot_kernel_id kernel;
    moot_stats stats = {0};
    expect(moot_kernel_register(m, &(moot_kernel){.name = "square", .fn = square},
                                &kernel),
           "register", m);
    for (uint64_t i = 0; i < SQUARES; i++) {
        moot_task task;
        expect(
            moot_task_spawn(
                m,
                &(moot_task_spec){.kernel = kernel, .args = &i, .args_size = sizeof(i)},
                &task),
            "spawn", m);
        expect(moot_task_wait(m, task, MOOT_FOREVER), "wait", m);
    }
    for (int ms = 0; stats.tasks_verified == 0 && ms < PATIENCE_MS; ms++, nap_ms(1)) {
        expect(moot_stats_get(m, &stats), "stats", m);
    }
    if (stats.tasks_verified == 0 || stats.tasks_nondeterministic > 0 || told > 0) {
        fprintf(stderr, "verify: rank %d: %llu verified, %llu differ\n", moot_rank(m),
                (unsigned long long)stats.tasks_verified,
                (unsigned long long)stats.tasks_nondeterministic);
        exit(1);
    }
}

/* --- A death ---------------------------------------------------------------------- */

/* A task that rank 0 chairs: all find the same. */
static moot_task spawn_at_0(moot *m, moot_kernel_id kernel)
{
    for (uint64_t salt = 0;; salt++) {
        const moot_task_spec spec = {
            .kernel = kernel, .args = &salt, .args_size = sizeof(salt)};
        moot_hash hash;
        moot_task task;
        moot_task_info info;
        expect(moot_spec_hash(m, &spec, &hash), "hash", m);
        expect(moot_task_find(m, &hash, &task), "find", m);
        expect(moot_task_info(m, task, &info), "info", m);
        expect(moot_task_release(m, task), "release", m);
        if (info.chair != 0) {
            continue;
        }
        expect(moot_task_spawn(m, &spec, &task), "spawn", m);
        return task;
    }
}

static void run_death(moot *m)
{
    moot_kernel_id kernel;
    const void *data;
    moot_task_info info;
    expect(moot_kernel_register(
               m, &(moot_kernel){.name = "place", .fn = place, .user = &m}, &kernel),
           "register", m);
    moot_task task = spawn_at_0(m, kernel);
    if (moot_rank(m) < 2) {
        expect(moot_task_wait(m, task, MOOT_FOREVER), "wait", m);
    }
    if (moot_rank(m) == 0) { /* until the other has heard of it */
        moot_park(m);
        for (int i = 0; i < 100; i++) {
            nap_ms(100);
        }
        moot_unpark(m);
        return;
    }
    for (int ms = 0; moot_present(m, 0) == 1 && ms < PATIENCE_MS; ms++) {
        nap_ms(1);
    }
    expect(moot_task_fetch(m, task, MOOT_FOREVER, &data, NULL), "fetch", m);
    expect(moot_task_info(m, task, &info), "info", m);
    if (*(const char *)data != info.owner || info.owner == 0) {
        fprintf(stderr, "verify: rank %d has bytes of %d, not of the owner %d\n",
                moot_rank(m), *(const char *)data, info.owner);
        exit(1);
    }
    bool found = info.check == MOOT_ERR_NONDETERMINISTIC && info.second == info.owner;
    if (moot_rank(m) == 1 && (told != 1 || !found)) {
        fprintf(stderr, "verify: rank 1 was not told that results differ\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    bool died = argc > 1 && strcmp(argv[1], "died") == 0;
    const char *const knobs[] = {died ? "MOOT_VERIFY=0.000001" : "MOOT_VERIFY=0.5",
                                 NULL};
    const moot_options options = {.report = hear, .knobs = knobs};
    moot *m;
    int code = moot_open(&options, &m);
    if (code != MOOT_OK) {
        return 1;
    }
    if (died) {
        run_death(m);
    } else {
        run_equal(m);
    }
    return moot_close(m) == MOOT_OK ? 0 : 1;
}
