/* leaving.c - ranks that go in good order while the others go on.
 *
 *     leaving RANK@PHASE...                   a rank of the job
 *     leaving full                            of two: rank 1 goes with a full queue
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
 *
 * `full`: both spawn QUEUED tasks that take a while, and when both have (each fetches
 * what the other makes) rank 1 goes.  It does not work off its half of them first.
 */
#include "node/api/moot.h"
#include "tests/mpi/support/sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PHASES = 20, WIDTH = 200, SKIPPED_OF = 10, QUEUED = 300, WHILE_NS = 5000000 };

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

/* Calls that need the others fail, and say why. */
static void must_say_that_it_left(moot *m, moot_kernel_id kernel)
{
    const uint64_t number = 0;
    const moot_task_spec spec = {
        .kernel = kernel, .args = &number, .args_size = sizeof(number)};
    moot_task task = {0};
    const int spawned = moot_task_spawn(m, &spec, &task);
    if (spawned != MOOT_ERR_CLOSED ||
        strstr(moot_last_error(m), "this rank has left the moot") == NULL) {
        fprintf(stderr, "leaving: rank %d has left, and a spawn says: %s\n",
                moot_rank(m), moot_last_error(m));
        exit(1);
    }
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
            must_say_that_it_left(m, kernel);
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

static int take_a_while(moot_call *call, void *user)
{
    (void)user;
    nanosleep(&(struct timespec){.tv_nsec = WHILE_NS}, NULL);
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* False: this rank has gone. */
static bool run_full(moot *m, moot_kernel_id kernel)
{
    moot_kernel_id slow = {0};
    moot_task tasks[QUEUED], shown[2];
    const int rank = moot_rank(m);
    must(m,
         moot_kernel_register(
             m, &(moot_kernel){.name = "take-a-while", .fn = take_a_while}, &slow),
         "kernel");
    for (uint64_t i = 0; i < QUEUED; i++) {
        const moot_task_spec spec = {
            .kernel = slow, .args = &i, .args_size = sizeof(i)};
        must(m, moot_task_spawn(m, &spec, &tasks[i]), "spawn");
    }
    for (uint64_t i = 0; i < 2; i++) { /* each is made by the rank that it names */
        const int maker = (int)i;
        const moot_task_spec spec = {.kernel = kernel,
                                     .args = &i,
                                     .args_size = sizeof(i),
                                     .candidates = {.ranks = &maker, .count = 1},
                                     .priority = 1};
        must(m, moot_task_spawn(m, &spec, &shown[i]), "spawn");
    }
    must(m, moot_task_wait(m, shown[1 - rank], MOOT_FOREVER), "wait");
    if (rank == 1) {
        must(m, moot_leave(m), "leave");
        show(m, "goes");
        return false;
    }
    must(m, moot_task_wait_all(m, tasks, QUEUED, MOOT_FOREVER), "wait");
    return true;
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    moot_kernel_id kernel = {0};
    const bool full = argc > 1 && strcmp(argv[1], "full") == 0;
    bool here = true;
    if (moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    must(m,
         moot_kernel_register(m, &(moot_kernel){.name = "add-up", .fn = add_up},
                              &kernel),
         "kernel");
    if (full) {
        here = run_full(m, kernel);
    }
    for (int phase = 0; phase < PHASES && here && !full; phase++) {
        here = run_phase(m, kernel, (uint64_t)phase,
                         goes(argc, argv, moot_rank(m), phase));
    }
    if (here) {
        show(m, "stays");
    }
    return moot_close(m) == MOOT_OK ? 0 : 1;
}
