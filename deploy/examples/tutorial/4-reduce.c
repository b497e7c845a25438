/* 4-reduce.c - a sum as a tree of tasks, whose handles are released on the way. */
#include <err.h>
#include <moot.h>
#include <stdio.h>

enum { LEAVES = 64 };

#define CHECK(call) ((call) == MOOT_OK ? (void)0 : errx(1, "%s", moot_last_error(m)))

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

/* The sum of its two inputs, which are other tasks' results. */
static int add(moot_call *call, void *user)
{
    const long *a = moot_call_input(call, 0, NULL);
    const long *b = moot_call_input(call, 1, NULL);
    long *result = moot_call_output(call, sizeof(*result));
    (void)user;
    if (result == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *result = *a + *b;
    return MOOT_OK;
}

int main(void)
{
    moot *m = NULL;
    moot_kernel_id squares, adds;
    moot_task level[LEAVES];
    const void *sum;

    CHECK(moot_open(NULL, &m));
    CHECK(moot_kernel_register(m, &(moot_kernel){.name = "square", .fn = square},
                               &squares));
    CHECK(moot_kernel_register(m, &(moot_kernel){.name = "add", .fn = add}, &adds));

    for (long x = 0; x < LEAVES; x++) {
        moot_task_spec spec = {.kernel = squares, .args = &x, .args_size = sizeof(x)};
        CHECK(moot_task_spawn(m, &spec, &level[x]));
    }
    for (int width = LEAVES / 2; width >= 1; width /= 2) {
        for (int i = 0; i < width; i++) {
            moot_task pair[2] = {level[2 * i], level[2 * i + 1]};
            moot_task_spec spec = {.kernel = adds, .inputs = pair, .input_count = 2};
            CHECK(moot_task_spawn(m, &spec, &level[i])); /* waits for nothing */
            CHECK(moot_task_release_all(m, pair, 2));
        }
    }
    CHECK(moot_task_fetch(m, level[0], MOOT_FOREVER, &sum, NULL));
    printf("rank %d: the sum is %ld\n", moot_rank(m), *(const long *)sum);
    CHECK(moot_task_release(m, level[0])); /* `sum` ends with it */
    CHECK(moot_close(m));
    return 0;
}
