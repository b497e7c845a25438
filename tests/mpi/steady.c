/* steady.c - survivors of a death do not grow.
 *
 *     steady [TASKS [released [WINDOW]]]      a rank of the job; 100,000 if not given
 *     steady TASKS until FILE                 to its end once FILE is there; says when
 *                                             all have come
 *
 * Phases of 500 tasks: 499 that take the sum of the phase before, and one that adds
 * them up and is fetched by all, and held until the next sum is there, so that every
 * phase can be made again from what each rank has.  (A rank whose own tasks have run
 * lets go of what they took, if its program has: then what the others' tasks gave, and
 * that sum with them, can be lost together.)  Each phase is a scope; or, with
 * `released`, there is none, and what is let go has to be dropped (MOOT_WINDOW should
 * then be small).  With a WINDOW nobody is to die, and then the ranks, which agree,
 * cast no vote, however small it is: a spawn that waits for room is no rest.  With a
 * FILE a task looks for it now and then, and all ranks go by what that one saw.
 *
 * What must be true, whoever dies: every sum is right, and after the first fifth, or a
 * tenth after a death that comes later, no survivor's resident memory grows by more
 * than GROWTH_BYTES_MAX: as much as a rank takes that falls behind for a while.  Kept,
 * the last four fifths would take some 50 MB.  There is no call of MPI's here: after a
 * death none is relied on.
 */
#include "node/api/moot.h"
#include "tests/mpi/support/memory.h"
#include "tests/mpi/support/sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 499, GROWTH_BYTES_MAX = 16 << 20, PHASES_BETWEEN_LOOKS = 20 };

/* Its result is one byte: whether the file named by its user data is there. */
static int look(moot_call *call, void *user)
{
    unsigned char *there = moot_call_output(call, 1);
    if (there == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *there = access(user, F_OK) == 0;
    return MOOT_OK;
}

/* What the phase's last task must give. */
static uint64_t expected(uint64_t phase, uint64_t before)
{
    uint64_t sum = phase;
    for (uint64_t i = 0; i < WIDTH; i++) {
        sum = sum * 31 + (phase > 0 ? (phase * WIDTH + i) * 31 + before : i);
    }
    return sum;
}

/* One phase; *last is the sum of the one before, and then of this. */
static void run_phase(moot *m, moot_kernel_id kernel, uint64_t phase, moot_task *last,
                      uint64_t *sum)
{
    static moot_task tasks[WIDTH];
    const moot_task before = *last;
    for (uint64_t i = 0; i < WIDTH; i++) {
        tasks[i] = spawn(m, kernel, phase * WIDTH + i, last, phase > 0);
    }
    *last = spawn(m, kernel, phase, tasks, WIDTH);
    const void *data = NULL;
    size_t size = 0;
    must(m, moot_task_fetch(m, *last, MOOT_FOREVER, &data, &size), "fetch");
    *sum = expected(phase, *sum);
    if (size != sizeof(*sum) || memcmp(data, sum, size) != 0) {
        fprintf(stderr, "steady: rank %d: phase %llu is wrong\n", moot_rank(m),
                (unsigned long long)phase);
        exit(1);
    }
    for (uint64_t i = 0; i < WIDTH; i++) {
        must(m, moot_task_release(m, tasks[i]), "release");
    }
    if (phase > 0) {
        must(m, moot_task_release(m, before), "release");
    }
}

static void run_scope(moot *m, moot_kernel_id kernel, uint64_t phase, moot_task *last,
                      uint64_t *sum)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "phase %llu", (unsigned long long)phase);
    must(m, moot_scope_open(m, name), "scope");
    run_phase(m, kernel, phase, last, sum);
    must(m, moot_scope_close(m), "scope");
}

static bool is_enough(moot *m, moot_kernel_id look_id, uint64_t phase)
{
    const void *there = NULL;
    size_t size = 0;
    const moot_task task = spawn(m, look_id, phase, NULL, 0);
    must(m, moot_task_fetch(m, task, MOOT_FOREVER, &there, &size), "fetch");
    const bool enough = *(const unsigned char *)there != 0;
    must(m, moot_task_release(m, task), "release");
    return enough;
}

static moot_stats stats_of(moot *m)
{
    moot_stats stats;
    must(m, moot_stats_get(m, &stats), "stats");
    return stats;
}

/* True if this rank has cast no vote. */
static bool is_silent(moot *m)
{
    const unsigned long long votes = stats_of(m).votes;
    if (votes > 0) {
        fprintf(stderr, "steady: rank %d cast %llu votes\n", moot_rank(m), votes);
    }
    return votes == 0;
}

int main(int argc, char **argv)
{
    uint64_t tasks = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
    bool released = argc > 2 && strcmp(argv[2], "released") == 0;
    uint64_t phases = tasks / (WIDTH + 1), sum = 0;
    uint64_t settled = phases / 5, begin = 0, base = 0, lost = 0;
    char *until = argc > 3 && strcmp(argv[2], "until") == 0 ? argv[3] : NULL;
    bool alive = argc > 3 && !until && setenv("MOOT_WINDOW", argv[3], 1) == 0;
    moot *m = NULL;
    moot_kernel_id kernel = {0}, look_id = {0};
    moot_task last = {0};
    if (moot_open(NULL, &m) != MOOT_OK) {
        fprintf(stderr, "steady: %s\n", moot_last_error(NULL));
        return 1;
    }
    if (until) {
        fprintf(stderr, "steady: rank %d is past its open\n", moot_rank(m));
    }
    must(m,
         moot_kernel_register(m, &(moot_kernel){.name = "add-up", .fn = add_up},
                              &kernel),
         "kernel");
    must(m,
         moot_kernel_register(
             m, &(moot_kernel){.name = "look", .fn = look, .user = until}, &look_id),
         "kernel");
    for (uint64_t phase = 0; phase < phases; phase++) {
        if (until && phase % PHASES_BETWEEN_LOOKS == 0 &&
            is_enough(m, look_id, phase)) {
            phases = phase > 0 ? phase : 1;
            break;
        }
        (released ? run_phase : run_scope)(m, kernel, phase, &last, &sum);
        if (stats_of(m).ranks_lost > lost) {
            lost = stats_of(m).ranks_lost;
            settled = phase + phases / 10 > settled ? phase + phases / 10 : settled;
        }
        if (phase <= settled) {
            begin = phase;
            base = resident_bytes();
        }
    }
    uint64_t now = resident_bytes(), growth = now > base ? now - base : 0;
    const unsigned long long last_tasks = (phases - 1 - begin) * (WIDTH + 1);
    printf("steady: rank %d grew by %.2f MB over the last %llu tasks\n", moot_rank(m),
           (double)growth / 1e6, last_tasks);
    bool good = growth <= GROWTH_BYTES_MAX && (!alive || is_silent(m));
    return moot_close(m) == MOOT_OK && good ? 0 : 1;
}
