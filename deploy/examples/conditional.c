/* conditional.c - each rank spawns what only it knows of; all ranks get all results.
 * Sensor i hangs on two ranks, and the others never spawn its task.  The chair that the
 * hash gives the task may never hear of it, and yields it to one that did. */
#include <err.h>
#include <moot.h>
#include <stdio.h>
#define CHECK(call) ((call) == MOOT_OK ? (void)0 : errx(1, "%s", moot_last_error(m)))

static int square(moot_call *call, void *user)
{
    const long *x = moot_call_args(call, &(size_t){0});
    long *result = moot_call_output(call, sizeof(*result));
    (void)user;
    return result == NULL ? MOOT_ERR_NO_MEMORY : (*result = *x * *x, MOOT_OK);
}
int main(void)
{
    moot *m = NULL;
    moot_kernel_id k;
    moot_task task;
    moot_task_info info;
    const void *data;
    long sum = 0;
    CHECK(moot_open(NULL, &m));
    CHECK(moot_kernel_register(m, &(moot_kernel){.name = "square", .fn = square}, &k));
    for (long i = 0, size = moot_size(m); i < 8; i++) {
        moot_task_spec spec = {.kernel = k, .args = &i, .args_size = sizeof(i)};
        if (i % size == moot_rank(m) || (i + 1) % size == moot_rank(m)) {
            CHECK(moot_task_spawn(m, &spec, &task)); /* on two ranks */
        }
        CHECK(moot_task_name(m, &spec, &task)); /* on every rank */
        CHECK(moot_task_fetch(m, task, MOOT_FOREVER, &data, &(size_t){0}));
        sum += *(const long *)data;
        CHECK(moot_task_info(m, task, &info));
        if (info.owner == moot_rank(m) && info.owner != info.chair) {
            printf("sensor %ld: chair %d yielded to %d\n", i, info.chair, info.owner);
        }
    }
    printf("rank %d: the sum is %ld\n", moot_rank(m), sum);
    return moot_close(m) == MOOT_OK && sum == 140 ? 0 : 1;
}
