/* footprint.c - what a rank remembers of a task that another rank runs is small.
 *
 *     mpirun -n 2 footprint
 *
 * Most tasks of a program run elsewhere, and each rank has a record of every one of
 * them.  Rank 0 spawns TASKS that rank 1 runs, with 32 bytes of arguments and two
 * inputs each, lets go of them while nothing is dropped, and sees by how much it has
 * grown: records, edges, arguments, roll and table, all of it.  Memory comes in blocks
 * of up to 2 MiB, so the figure is true to some 40 bytes a task.
 *
 * Skips under a sanitizer or valgrind, whose allocators take more.
 */
#include "tests/mpi/support/harness.h"
#include "tests/mpi/support/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 100000, ROW = 1000, BYTES_MAX = 720, DEADLINE_S = 60 };

static int nothing(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static moot_task spawn(moot *m, moot_kernel_id kernel, int64_t number,
                       const moot_task *inputs, size_t count)
{
    const int64_t args[4] = {number, 1, 2, 3};
    moot_task task = {0};
    CHECK_OK(moot_task_spawn(m,
                             &(moot_task_spec){.kernel = kernel,
                                               .args = args,
                                               .args_size = sizeof(args),
                                               .inputs = inputs,
                                               .input_count = count,
                                               .owner = MOOT_ON(1)},
                             &task));
    return task;
}

/* Each takes two results of the row before, which is then let go. */
static void spawn_all(moot *m, moot_kernel_id kernel)
{
    static moot_task rows[2][ROW + 1];
    for (int64_t number = 0; number < TASKS && harness_case_is_good(); number += ROW) {
        moot_task *before = rows[number / ROW % 2], *now = rows[1 - number / ROW % 2];
        before[ROW] = before[0];
        for (int64_t i = 0; i < ROW; i++) {
            now[i] = spawn(m, kernel, number + i, &before[i], number > 0 ? 2 : 0);
        }
        for (int64_t i = 0; i < ROW && number > 0; i++) {
            CHECK_OK(moot_task_release(m, before[i]));
        }
    }
}

int main(int argc, char **argv)
{
    harness_open(&argc, &argv, "footprint");
    if (mallinfo2().uordblks == 0 || harness_size() < 2) {
        printf("footprint: skipped: it takes two ranks, and the C library's malloc\n");
        (void)harness_close();
        return 77;
    }
    harness_case_begin("a task that another rank runs takes little memory", DEADLINE_S);
    moot *m = NULL;
    moot_kernel_id kernel = {0};
    const char *knobs[] = {"MOOT_WINDOW=0", NULL};
    CHECK_OK(moot_open_comm(&(moot_options){.knobs = knobs}, harness_comm(), &m));
    harness_explain_with(m);
    CHECK_OK(moot_kernel_register(m, &(moot_kernel){.name = "nothing", .fn = nothing},
                                  &kernel));
    uint64_t before = resident_bytes();
    spawn_all(m, kernel);
    uint64_t bytes = (resident_bytes() - before) / TASKS;
    if (harness_rank() == 0) {
        CHECK(bytes <= BYTES_MAX, "a task takes %llu bytes", (unsigned long long)bytes);
        printf("footprint: %llu bytes for a task that another rank runs\n",
               (unsigned long long)bytes);
    }
    harness_explain_with(NULL);
    CHECK_OK(moot_close(m));
    harness_case_end();
    return harness_close();
}
