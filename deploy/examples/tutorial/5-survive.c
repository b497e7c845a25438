/* 5-survive.c - a chain of steps that ends with the same number when ranks die. */
#include <err.h>
#include <moot.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

enum { STEPS = 40 };

#define CHECK(call) ((call) == MOOT_OK ? (void)0 : errx(1, "%s", moot_last_error(m)))

/* One step: 50 ms of work, here a sleep, then the state before it times three plus one.
 */
static int step(moot_call *call, void *user)
{
    const unsigned *before =
        moot_call_input(call, 0, NULL); /* NULL for the first step */
    unsigned *after = moot_call_output(call, sizeof(*after));
    (void)user;
    if (after == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    thrd_sleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    *after = before == NULL ? 1 : *before * 3 + 1;
    return MOOT_OK;
}

int main(void)
{
    moot *m = NULL;
    moot_kernel_id k;
    moot_task last = {0};
    const void *result;

    CHECK(moot_open(NULL, &m));
    CHECK(moot_kernel_register(m, &(moot_kernel){.name = "step", .fn = step}, &k));

    for (int i = 0; i < STEPS; i++) {
        moot_task_spec spec = {.kernel = k, .args = &i, .args_size = sizeof(i)};
        moot_task before = last;
        if (i > 0) {
            spec.inputs = &before;
            spec.input_count = 1;
        }
        CHECK(moot_task_spawn(m, &spec, &last));
        if (i > 0) {
            CHECK(moot_task_release(m, before));
        }
    }
    CHECK(moot_task_fetch(m, last, MOOT_FOREVER, &result, NULL));
    for (int rank = 0; rank < moot_size(m); rank++) {
        if (moot_present(m, rank) == 0) {
            printf("rank %d: rank %d is gone\n", moot_rank(m), rank);
        }
    }
    printf("rank %d: after %d steps the state is %u\n", moot_rank(m), STEPS,
           *(const unsigned *)result);
    CHECK(moot_close(m));
    return 0;
}
