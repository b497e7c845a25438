/* 1-hello.c - all ranks spawn the same tasks, each runs on one rank, all get its
 * result. */
#include <err.h>
#include <moot.h>
#include <stdio.h>

enum { TASKS = 8 };

/* Ends this rank with moot's own words if the call failed. */
#define CHECK(call) ((call) == MOOT_OK ? (void)0 : errx(1, "%s", moot_last_error(m)))

/* The kernel: bytes in, bytes out. */
static int square(moot_call *call, void *user)
{
    const long *x = moot_call_args(call, NULL);
    long *result = moot_call_output(call, sizeof(*result));
    (void)user;
    if (result == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *result = *x * *x;
    return MOOT_OK;
}

int main(void)
{
    moot *m = NULL;
    moot_kernel_id k;
    moot_task tasks[TASKS];
    const void *results[TASKS];

    CHECK(moot_open(NULL, &m)); /* starts MPI, too */
    CHECK(moot_kernel_register(m, &(moot_kernel){.name = "square", .fn = square}, &k));

    for (long x = 0; x < TASKS; x++) {
        moot_task_spec spec = {.kernel = k, .args = &x, .args_size = sizeof(x)};
        CHECK(moot_task_spawn(m, &spec, &tasks[x])); /* x is copied */
    }
    CHECK(moot_task_fetch_all(m, tasks, TASKS, MOOT_FOREVER, results, NULL));

    for (int x = 0; x < TASKS; x++) {
        moot_task_info info;
        CHECK(moot_task_info(m, tasks[x], &info));
        if (info.owner == moot_rank(m)) {
            printf("%d squared is %ld: rank %d ran it\n", x, *(const long *)results[x],
                   info.owner);
        }
    }
    CHECK(moot_close(m));
    return 0;
}
