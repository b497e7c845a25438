/* cancel_memory_test.c - a kernel that gives up names who has cancelled it, though the
 * rank that runs it had no memory to keep that in when it heard of it.
 *
 * What it fails is pool_take() of what few tasks have, by --wrap; all else finds
 * memory.
 */
#include "node/store/pool.h"
#include "node/tasks/task.h"
#include "tests/conformance/kernels.h"

enum { PATIENT = RELAY + 1 };

static atomic_bool begun, no_memory;

void *__real_pool_take(struct pool *pool, size_t size);
void *__wrap_pool_take(struct pool *pool, size_t size);

void *__wrap_pool_take(struct pool *pool, size_t size)
{
    bool fails = no_memory && size == sizeof(struct task_seldom);
    return fails ? NULL : __real_pool_take(pool, size);
}

static int patient(moot_call *call, void *user)
{
    (void)user;
    begun = true;
    while (!moot_call_cancelled(call)) {
        nap_ms(1);
    }
    return MOOT_ERR_CANCELLED;
}

static void patient_kernel(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, PATIENT, "patient", patient, 0);
}

static void who_cancelled_it_is_told(struct seat *seat)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_spawn(
               seat->m,
               &(moot_task_spec){.kernel = seat->kernels[PATIENT], .owner = MOOT_ON(0)},
               &task),
           MOOT_OK);
    while (!begun) {
        nap_ms(1);
    }
    if (seat->rank == 1) {
        no_memory = true;
        EXPECT(seat, moot_task_cancel(seat->m, task), MOOT_OK);
    }
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    CHECK(seat, told(seat, "it was cancelled by rank 1 and gave up"));
}

int main(int argc, char **argv)
{
    static const char *const knobs[] = {"MOOT_THREADS=1", NULL};
    const struct scene scene = {.name = "who_cancelled_it_is_told",
                                .program = who_cancelled_it_is_told,
                                .register_kernels = patient_kernel,
                                .after = closes_well,
                                .knobs = knobs,
                                .sizes = {2}};
    return play_all(&scene, 1, argc, argv);
}
