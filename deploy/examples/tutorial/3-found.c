/* 3-found.c - each rank spawns what it has found; then all ranks take what all found.
 */
#include <err.h>
#include <moot.h>
#include <stdbool.h>
#include <stdio.h>

enum { EACH = 100, MOST = 1000 };

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

static bool is_prime(long n)
{
    for (long d = 2; d * d <= n; d++) {
        if (n % d == 0) {
            return false;
        }
    }
    return n >= 2;
}

struct found {
    moot *m;
    moot_task tasks[MOST];
    size_t count;
};

/* Is called for each task that any rank has spawned; takes a handle to it. */
static int take(void *user, const moot_task_info *info)
{
    struct found *found = user;
    if (found->count == MOST) {
        return MOOT_ERR_LIMIT;
    }
    return moot_task_find(found->m, &info->hash, &found->tasks[found->count++]);
}

int main(void)
{
    static struct found all;
    static const void *results[MOST];
    moot *m = NULL;
    moot_kernel_id k;
    long sum = 0;

    CHECK(moot_open(NULL, &m));
    CHECK(moot_kernel_register(m, &(moot_kernel){.name = "square", .fn = square}, &k));

    long first = (long)moot_rank(m) * EACH; /* each rank searches numbers of its own */
    for (long n = first; n < first + EACH; n++) {
        moot_task_spec spec = {.kernel = k, .args = &n, .args_size = sizeof(n)};
        moot_task task;
        if (is_prime(n)) {
            CHECK(moot_task_spawn(m, &spec, &task));
        }
    }
    all.m = m;
    CHECK(moot_scope_tasks(m, NULL, take, &all));
    CHECK(moot_task_fetch_all(m, all.tasks, all.count, MOOT_FOREVER, results, NULL));
    for (size_t i = 0; i < all.count; i++) {
        sum += *(const long *)results[i];
    }
    printf("rank %d: %zu primes, squared %ld\n", moot_rank(m), all.count, sum);
    CHECK(moot_close(m));
    return 0;
}
