/* early_test.c - many tasks of a portable kernel are asked of a rank before it has
 * registered the kernel: it keeps them all, and runs them once it has.
 *
 * That rank polls for a task that is spawned last, so it does not come to rest
 * meanwhile, and yields nothing.
 */
#include "tests/conformance/kernels.h"

enum { FAR = RELAY + 1, TASKS = 1500, LATE_MS = 400 };

static atomic_int far_runs[SEATS_MAX];

static int run_far(moot_call *call, void *user)
{
    const struct seat *seat = user;
    far_runs[seat->rank]++;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void register_far(struct seat *seat)
{
    const moot_kernel kernel = {
        .name = "far", .fn = run_far, .user = seat, .flags = MOOT_KERNEL_PORTABLE};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[FAR]), MOOT_OK);
}

static void ask_for_many(struct seat *seat)
{
    static moot_task tasks[TASKS];
    register_far(seat);
    for (uint64_t i = 0; i < TASKS; i++) {
        const moot_task_spec spec = {.kernel = seat->kernels[FAR],
                                     .args = &i,
                                     .args_size = sizeof(i),
                                     .owner = MOOT_ON(1)};
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[i]), MOOT_OK);
    }
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, TASKS, MOOT_FOREVER), MOOT_OK);
    for (size_t i = 0; i < TASKS; i++) {
        EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_OK);
    }
}

static void a_rank_keeps_all_that_come_early(struct seat *seat)
{
    const moot_task_spec last = {.kernel = seat->kernels[EMPTY], .owner = MOOT_ON(0)};
    moot_task end;
    if (seat->rank == 0) {
        ask_for_many(seat);
    }
    EXPECT(seat, moot_task_spawn(seat->m, &last, &end), MOOT_OK);
    for (int ms = 0; seat->rank == 1 && ms < LATE_MS; ms++) {
        EXPECT(seat, moot_task_wait(seat->m, end, MOOT_MILLISECONDS(1)),
               MOOT_ERR_TIMEOUT);
    }
    if (seat->rank == 1) {
        register_far(seat);
    }
    EXPECT(seat, moot_task_wait(seat->m, end, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, end), MOOT_OK);
    CHECK(seat, seat->rank == 0 || far_runs[1] == TASKS);
}

static const struct scene scenes[] = {
    {.name = "a_rank_keeps_all_that_come_early",
     .program = a_rank_keeps_all_that_come_early,
     .register_kernels = kernels,
     .after = closes_well,
     .sizes = {2}},
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
