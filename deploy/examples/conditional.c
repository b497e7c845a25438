/* conditional.c - each rank spawns what only it knows of; all ranks get all results.
 * Sensor i hangs on rank i % size and no other rank spawns its task.  The rank that the
 * hash makes the task's owner may never hear of it, and yields it to the one that did.
 */
#include <err.h>
#include <moot.h>
#include <stdio.h>
#define CHECK(call) ((call) == MOOT_OK ? (void)0 : errx(1, "%s", moot_last_error(m)))

static int square(moot_call *call, void *user)
{
    const long *x = moot_call_args(call, &(size_t){0});
    long *result = moot_call_output(call, sizeof *result);
    (void)user;
    return result == NULL ? MOOT_ERR_NO_MEMORY : (*result = *x * *x, MOOT_OK);
}

int main(void)
{
    moot *m = NULL;
    moot_kernel_id k;
    moot_task task;
    moot_hash hash;
    const void *data;
    long sum = 0;
    CHECK(moot_open(NULL, &m));
    CHECK(moot_kernel_register(m, &(moot_kernel){.name = "square", .fn = square}, &k));
    for (long i = 0; i < 8; i++) {
        moot_task_spec spec = {.kernel = k, .args = &i, .args_size = sizeof i};
        if (i % moot_size(m) == moot_rank(m))
            CHECK(moot_task_spawn(m, &spec, &task)); /* on one rank */
        CHECK(moot_spec_hash(m, &spec, &hash));      /* on every rank */
        CHECK(moot_task_find(m, &hash, &task));
        CHECK(moot_task_fetch(m, task, MOOT_FOREVER, &data, &(size_t){0}));
        sum += *(const long *)data;
    }
    printf("rank %d: the sum is %ld\n", moot_rank(m), sum);
    return moot_close(m) == MOOT_OK && sum == 140 ? 0 : 1;
}
