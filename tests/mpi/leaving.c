/* leaving.c - ranks that go in good order while the others go on.
 *
 *     leaving RANK@PHASE...                   a rank of the job
 *
 * Twenty phases of 200 tasks.  A rank leaves out one spawn of ten, another one than its
 * neighbours, so that some tasks of each phase are voted to others.  Each phase's last
 * task takes all that all ranks spawn alike, and is fetched and checked.  The RANKs
 * that are named go as they come to that PHASE: in the middle of its spawns, with what
 * they have spawned under way.
 *
 * These must be true: every sum is right, on whatever rank it is fetched; moot_leave
 * ends well, and so does what follows it; each rank prints how many kernels it has run,
 * and together they are as many as there were tasks: nothing ran twice.
 */
#include "node/api/moot.h"
#include "tests/mpi/support/sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PHASES = 20, WIDTH = 200, SKIPPED_OF = 10 };

static bool goes(int argc, char **argv, int rank, int phase)
{
    for (int i = 1; i < argc; i++) {
        int who = -1, when = -1;
        if (sscanf(argv[i], "%d@%d", &who, &when) == 2 && who == rank &&
            when == phase) {
            return true;
        }
    }
    return false;
}

static void show(moot *m, const char *how)
{
    moot_stats stats;
    must(m, moot_stats_get(m, &stats), "stats");
    printf("leaving: rank %d ran %llu, lost %llu, %s\n", moot_rank(m),
           (unsigned long long)stats.tasks_run, (unsigned long long)stats.ranks_lost,
           how);
}

/* False: this rank has gone. */
static bool run_phase(moot *m, moot_kernel_id kernel, uint64_t phase, bool last)
{
    moot_task tasks[WIDTH], shared[WIDTH];
    size_t count = 0, shared_count = 0;
    uint64_t sum = phase, word = 0;
    const uint64_t rank = (uint64_t)moot_rank(m), size = (uint64_t)moot_size(m);
    for (uint64_t i = 0; i < WIDTH; i++) {
        if (last && i == WIDTH / 2) {
            must(m, moot_leave(m), "leave");
            show(m, "goes");
            return false;
        }
        const uint64_t number = phase * WIDTH + i;
        const bool partial = i % SKIPPED_OF == 0;
        if (partial && size > 1 && i / SKIPPED_OF % size == rank) {
            continue;
        }
        tasks[count] = spawn(m, kernel, number, NULL, 0);
        if (!partial) {
            shared[shared_count++] = tasks[count];
            sum = sum * 31 + number;
        }
        count++;
    }
    const moot_task sums = spawn(m, kernel, phase, shared, shared_count);
    const void *data = NULL;
    size_t bytes = 0;
    must(m, moot_task_fetch(m, sums, MOOT_FOREVER, &data, &bytes), "fetch");
    if (bytes != sizeof(word) || memcmp(data, &sum, bytes) != 0) {
        fprintf(stderr, "leaving: rank %d: phase %llu is wrong\n", moot_rank(m),
                (unsigned long long)phase);
        exit(1);
    }
    must(m, moot_task_wait_all(m, tasks, count, MOOT_FOREVER), "wait");
    return true;
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    moot_kernel_id kernel = {0};
    bool here = true;
    if (moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    must(m,
         moot_kernel_register(m, &(moot_kernel){.name = "add-up", .fn = add_up},
                              &kernel),
         "kernel");
    for (int phase = 0; phase < PHASES && here; phase++) {
        here = run_phase(m, kernel, (uint64_t)phase,
                         goes(argc, argv, moot_rank(m), phase));
    }
    if (here) {
        show(m, "stays");
    }
    return moot_close(m) == MOOT_OK ? 0 : 1;
}
