/* broadcast.c - a large result of rank 0 comes whole to all ranks, whoever dies.
 *
 *     broadcast [KILOBYTES [ROUNDS]]       2048 and 3, unless it is said
 *
 * In each round all ranks fetch one result of rank 0, compare its bytes, and let it go
 * when all have it.  Each rank then says what it sent, which shows how the bytes went:
 *
 *     rank 0 sent 8.01 results: 9 referred, 0 passed on
 *
 * Exit status: 0 right, 1 wrong.
 */
#include "node/api/moot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char byte_at(uint64_t round, size_t at)
{
    return (unsigned char)((at * 2654435761u + round * 97) >> 7);
}

static int make(moot_call *call, void *user)
{
    (void)user;
    size_t args_size = 0;
    uint64_t args[2]; /* round, bytes */
    memcpy(args, moot_call_args(call, &args_size), sizeof(args));
    unsigned char *bytes = moot_call_output(call, (size_t)args[1]);
    for (size_t i = 0; bytes != NULL && i < args[1]; i++) {
        bytes[i] = byte_at(args[0], i);
    }
    return bytes != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int fail(const moot *m, const char *what, int code)
{
    printf("rank %d: %s: %s, %s\n", moot_rank(m), what, moot_err_name(code),
           moot_last_error(m));
    return 1;
}

static bool is_right(uint64_t round, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != byte_at(round, i)) {
            return false;
        }
    }
    return true;
}

static int run_round(moot *m, moot_kernel_id kernel, uint64_t round, uint64_t bytes)
{
    const uint64_t args[2] = {round, bytes};
    moot_task task;
    const void *data = NULL;
    size_t size = 0;
    const moot_task_spec spec = {.size = sizeof(spec),
                                 .kernel = kernel,
                                 .args = args,
                                 .args_size = sizeof(args),
                                 .owner = MOOT_ON(0)};
    int code = moot_task_spawn(m, &spec, &task);
    if (code == MOOT_OK) {
        code = moot_task_fetch(m, task, MOOT_FOREVER, &data, &size);
    }
    if (code != MOOT_OK) {
        return fail(m, "the result", code);
    }
    if (size != bytes || !is_right(round, data, size)) {
        printf("rank %d: the result of round %llu has other bytes\n", moot_rank(m),
               (unsigned long long)round);
        return 1;
    }
    code = moot_barrier(m);
    (void)moot_task_release(m, task);
    return code == MOOT_OK ? 0 : fail(m, "the barrier", code);
}

int main(int argc, char **argv)
{
    const uint64_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 2048) << 10;
    const uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 3;
    moot *m = NULL;
    moot_kernel_id kernel;
    moot_stats stats;
    if (moot_open(NULL, &m) != MOOT_OK ||
        moot_kernel_register(
            m, &(moot_kernel){.size = sizeof(moot_kernel), .name = "make", .fn = make},
            &kernel) != MOOT_OK) {
        return 1;
    }
    printf("rank %d is here\n", moot_rank(m));
    (void)fflush(stdout);
    int wrong = 0;
    for (uint64_t round = 0; round < rounds && wrong == 0; round++) {
        wrong = run_round(m, kernel, round, bytes);
    }
    (void)moot_stats_get(m, &stats);
    printf("rank %d sent %.2f results: %llu referred, %llu passed on\n", moot_rank(m),
           (double)stats.bytes_sent / (double)(bytes != 0 ? bytes : 1),
           (unsigned long long)stats.results_referred,
           (unsigned long long)stats.results_relayed);
    (void)fflush(stdout);
    int code = moot_close(m);
    return code == MOOT_OK && wrong == 0 ? 0 : 1;
}
