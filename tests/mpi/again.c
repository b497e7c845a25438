/* again.c - once tasks that may be run again are run again when ranks die.
 *
 *     again [TASKS]
 *
 * Each task is once, its kernel is idempotent, and rank 0 spawns it and one other rank.
 * So the rank that chairs a task when rank 0 has died has often not spawned it, and
 * knows nothing but its hash.  With deaths that a fault plan brings (deaths_test.sh)
 * every wait of who is left ends in the result.
 */
#include "node/api/moot.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 16, TASKS_MAX = 4096 };

static int square(moot_call *call, void *user)
{
    size_t size;
    const uint32_t *number = moot_call_args(call, &size);
    uint32_t *out = moot_call_output(call, sizeof(*out));
    (void)user;
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = *number * *number;
    return MOOT_OK;
}

static int wrong(moot *m, uint32_t number, int code)
{
    fprintf(stderr, "again: rank %d: task %u: %s: %s\n", moot_rank(m), number,
            moot_err_name(code), moot_last_error(m));
    return 1;
}

/* Rank 0, and one of the others in turn. */
static bool is_mine(const moot *m, uint32_t number)
{
    uint32_t others = moot_size(m) > 1 ? (uint32_t)moot_size(m) - 1 : 1;
    return moot_rank(m) == 0 || (uint32_t)moot_rank(m) == 1 + number % others;
}

static int spawn_all(moot *m, moot_kernel_id kernel, uint32_t tasks, moot_task *handles)
{
    for (uint32_t i = 0; i < tasks; i++) {
        const moot_task_spec spec = {.kernel = kernel,
                                     .args = &i,
                                     .args_size = sizeof(i),
                                     .key = &i,
                                     .key_size = sizeof(i)};
        int code = is_mine(m, i) ? moot_task_spawn(m, &spec, &handles[i]) : MOOT_OK;
        if (code != MOOT_OK) {
            return wrong(m, i, code);
        }
    }
    return 0;
}

static int check_all(moot *m, uint32_t tasks, const moot_task *handles)
{
    for (uint32_t i = 0; i < tasks; i++) {
        uint32_t result = i * i;
        size_t size = sizeof(result);
        const void *data = &result;
        int code = is_mine(m, i)
                       ? moot_task_fetch(m, handles[i], MOOT_FOREVER, &data, &size)
                       : MOOT_OK;
        if (code != MOOT_OK || size != sizeof(result)) {
            return wrong(m, i, code);
        }
        memcpy(&result, data, sizeof(result));
        if (result != i * i) {
            return wrong(m, i, MOOT_ERR_INVALID);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static moot_task handles[TASKS_MAX];
    moot *m = NULL;
    moot_kernel_id kernel;
    uint32_t tasks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : TASKS;
    if (tasks == 0 || tasks > TASKS_MAX || moot_open(NULL, &m) != MOOT_OK) {
        return 2;
    }
    int code = moot_kernel_register(
        m,
        &(moot_kernel){.name = "again",
                       .fn = square,
                       .flags = MOOT_KERNEL_ONCE | MOOT_KERNEL_IDEMPOTENT},
        &kernel);
    if (code != MOOT_OK || spawn_all(m, kernel, tasks, handles) != 0 ||
        check_all(m, tasks, handles) != 0) {
        return 1;
    }
    code = moot_close(m);
    return code == MOOT_OK ? 0 : wrong(m, tasks, code);
}
