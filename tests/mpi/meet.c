/* meet.c - all ranks are shown the same, whoever dies.
 *
 *     meet [ROUNDS]      a rank of the job; 200 if not given
 *
 * In each round, a scope of its own, every rank spawns what it alone has found and one
 * task that all have; then all are shown what all have spawned, and each spawns a task
 * whose argument is a digest of that.  What must be true: all who go on spawn the same
 * digest, since they are shown one such task; and they have come through the same
 * barriers.
 */
#include "node/api/moot.h"
#include "tests/mpi/support/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shown {
    uint64_t digest;
    int count;
};

static int nothing(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int note(void *user, const moot_task_info *info)
{
    struct shown *shown = user;
    for (int i = 0; i < MOOT_HASH_BYTES; i++) {
        shown->digest = shown->digest * 31 + info->hash.bytes[i];
    }
    shown->count++;
    return 0;
}

static void spawn(moot *m, moot_kernel_id kernel, uint64_t number, const char *label)
{
    moot_task task;
    must(m,
         moot_task_spawn(m,
                         &(moot_task_spec){.kernel = kernel,
                                           .args = &number,
                                           .args_size = sizeof(number),
                                           .label = label},
                         &task),
         "spawn");
    must(m, moot_task_release(m, task), "release");
}

static bool run_round(moot *m, moot_kernel_id kernel, uint64_t round)
{
    char name[32];
    struct shown all = {0}, digests = {0};
    (void)snprintf(name, sizeof(name), "round %llu", (unsigned long long)round);
    must(m, moot_scope_open(m, name), "scope");
    spawn(m, kernel, 1000, "all");
    spawn(m, kernel, (uint64_t)moot_rank(m), "own");
    must(m, moot_scope_tasks(m, NULL, note, &all), "scope_tasks");
    spawn(m, kernel, all.digest, "digest");
    must(m,
         moot_scope_tasks(m, &(moot_task_filter){.label_prefix = "digest"}, note,
                          &digests),
         "scope_tasks");
    must(m, moot_barrier(m), "barrier");
    must(m, moot_scope_close(m), "scope");
    if (digests.count != 1 || all.count < 2 || all.count > moot_size(m) + 1) {
        (void)fprintf(stderr, "meet: rank %d, round %llu: shown %d, of %d digests\n",
                      moot_rank(m), (unsigned long long)round, all.count,
                      digests.count);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
    moot *m = NULL;
    moot_kernel_id kernel = {0};
    bool good = true;
    if (moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    must(m,
         moot_kernel_register(m, &(moot_kernel){.name = "nothing", .fn = nothing},
                              &kernel),
         "kernel");
    for (uint64_t round = 0; round < rounds && good; round++) {
        good = run_round(m, kernel, round);
    }
    return moot_close(m) == MOOT_OK && good ? 0 : 1;
}
