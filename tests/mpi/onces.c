/* onces.c - tasks that may start once do, whoever dies, and end well or MAYBE_RAN.
 *
 *     onces [FILE [TASKS]]      a rank of the job; ranks share FILE, on one file system
 *
 * Each kernel counts its start in FILE before all else, and then takes a while, so a
 * rank that is killed is in one.  What must be true: no task has started twice; one
 * that ends well has started; another ends with MAYBE_RAN, and a death explains it.
 * Each rank says how many there were of each, and how many of those that may have run
 * had started.
 *
 * Without arguments: over a file of the launcher's process.
 */
#include "node/api/moot.h"
#include "tests/mpi/support/must.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { TASKS_MAX = 4096, KERNEL_MS = 4 };

static atomic_uint *starts; /* of each task, in the job */

static int count_start(moot_call *call, void *user)
{
    (void)user;
    const struct timespec span = {.tv_nsec = KERNEL_MS * 1000000L};
    size_t size = 0;
    uint32_t number;
    memcpy(&number, moot_call_args(call, &size), sizeof(number));
    atomic_fetch_add(&starts[number], 1);
    nanosleep(&span, NULL);
    return moot_call_output(call, 1) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static moot_task spawn(moot *m, moot_kernel_id kernel, uint32_t number)
{
    char key[16];
    moot_task task = {0};
    (void)snprintf(key, sizeof(key), "%u", number);
    must(m,
         moot_task_spawn(m,
                         &(moot_task_spec){.kernel = kernel,
                                           .args = &number,
                                           .args_size = sizeof(number),
                                           .key = key},
                         &task),
         "spawn");
    return task;
}

static bool open_starts(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, TASKS_MAX * sizeof(*starts)) != 0) {
        return false;
    }
    starts = mmap(NULL, TASKS_MAX * sizeof(*starts), PROT_READ | PROT_WRITE, MAP_SHARED,
                  file, 0);
    close(file);
    return starts != MAP_FAILED;
}

static int complain(moot *m, uint32_t number, const char *what, int code)
{
    fprintf(stderr, "onces: WRONG: rank %d: task %u %s: %s, %u starts\n", moot_rank(m),
            number, what, moot_err_name(code), starts[number]);
    return 1;
}

/* Waits for all; 1 if something is wrong. */
static int judge(moot *m, const moot_task *tasks, uint32_t count)
{
    uint32_t well = 0, maybe = 0, begun = 0;
    int bad = 0;
    for (uint32_t i = 0; i < count; i++) {
        const void *data = NULL;
        size_t size = 0;
        int code = moot_task_fetch(m, tasks[i], MOOT_FOREVER, &data, &size);
        well += code == MOOT_OK;
        maybe += code == MOOT_ERR_MAYBE_RAN;
        begun += code == MOOT_ERR_MAYBE_RAN && starts[i] > 0;
        if (code != MOOT_OK && code != MOOT_ERR_MAYBE_RAN) {
            bad = complain(m, i, "ends otherwise", code);
        } else if (starts[i] > 1 || (code == MOOT_OK && starts[i] != 1)) {
            bad = complain(m, i, "did not start once", code);
        }
    }
    moot_stats stats;
    must(m, moot_stats_get(m, &stats), "stats");
    if (maybe > 0 && stats.ranks_lost == 0) {
        bad = complain(m, 0, "or another may have run, and nobody died", MOOT_OK);
    }
    printf("onces: rank %d: %u ran, %u may have run, of which %u started\n",
           moot_rank(m), well, maybe, begun);
    return bad;
}

int main(int argc, char **argv)
{
    static moot_task tasks[TASKS_MAX];
    char own[64];
    (void)snprintf(own, sizeof(own), "/tmp/onces-%d", (int)getppid());
    uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 60;
    moot *m = NULL;
    moot_kernel_id kernel = {0};
    if (count > TASKS_MAX || !open_starts(argc > 1 ? argv[1] : own) ||
        moot_open(NULL, &m) != MOOT_OK) {
        fprintf(stderr, "onces: %s\n", moot_last_error(NULL));
        return 1;
    }
    must(m,
         moot_kernel_register(m,
                              &(moot_kernel){.name = "count-start",
                                             .fn = count_start,
                                             .flags = MOOT_KERNEL_ONCE},
                              &kernel),
         "kernel");
    for (uint32_t i = 0; i < count; i++) {
        tasks[i] = spawn(m, kernel, i);
    }
    int bad = judge(m, tasks, count);
    for (uint32_t i = 0; i < count; i++) {
        must(m, moot_task_release(m, tasks[i]), "release");
    }
    if (moot_close(m) != MOOT_OK) {
        bad = 1;
    }
    if (argc < 2) {
        unlink(own);
    }
    return bad;
}
