/* builds.c - a kernel of which programs of one job may have two builds.
 *
 *     builds [NAME [LIBRARY]]
 *
 * Each rank registers the kernel NAME ("shared") and spawns a task for each rank, which
 * that rank owns.  The job ends when all of them have, or when a rank refuses the
 * kernel because another has another build of it (MOOT_KERNEL_BY_BUILD=1).  With
 * LIBRARY the kernel is its function through(), which calls the program's.  Rank r says
 * "rank r: N rebuilt, CODE": of how many kernels it knows another build.
 */
#include "node/api/moot.h"
#include "tests/mpi/support/must.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int take_rank(moot_call *call, void *user)
{
    (void)user;
    const int rank = moot_rank(moot_call_context(call));
    void *output = moot_call_output(call, sizeof(rank));
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, &rank, sizeof(rank));
    return MOOT_OK;
}

static moot_kernel_fn through_library(const char *path)
{
    moot_kernel_fn through = NULL;
    void *library = dlopen(path, RTLD_NOW);
    void *symbol = library != NULL ? dlsym(library, "through") : NULL;
    if (symbol == NULL) {
        fprintf(stderr, "builds: %s\n", dlerror());
        return NULL;
    }
    memcpy(&through, &symbol, sizeof(through)); /* as POSIX has it */
    return through;
}

/* A task for each rank in each round: after the first all have heard of all. */
static int use_kernel(moot *m, moot_kernel_id kernel)
{
    enum { ROUNDS = 3 };
    int code = MOOT_OK;
    for (uint64_t i = 0; i < (uint64_t)(ROUNDS * moot_size(m)) && code == MOOT_OK;
         i++) {
        moot_task task = {0};
        const moot_task_spec spec = {.kernel = kernel,
                                     .owner =
                                         MOOT_ON((int)(i % (uint64_t)moot_size(m))),
                                     .args = &i,
                                     .args_size = sizeof(i)};
        code = moot_task_spawn(m, &spec, &task);
        code = code == MOOT_OK ? moot_task_wait(m, task, MOOT_FOREVER) : code;
    }
    return code;
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    moot_stats stats;
    moot_kernel_id id = {0};
    moot_kernel_fn own = take_rank;
    const moot_kernel kernel = {.name = argc > 1 ? argv[1] : "shared",
                                .fn = argc > 2 ? through_library(argv[2]) : own,
                                .user = argc > 2 ? (void *)&own : NULL};
    must(NULL, moot_open(NULL, &m), "open");
    must(m, moot_kernel_register(m, &kernel, &id), "register");
    const int code = use_kernel(m, id);
    if (code != MOOT_OK) {
        fprintf(stderr, "rank %d: %s\n", moot_rank(m), moot_last_error(m));
    }
    must(m, moot_stats_get(m, &stats), "stats");
    fprintf(stderr, "rank %d: %llu rebuilt, %s\n", moot_rank(m),
            (unsigned long long)stats.kernels_rebuilt, moot_err_name(code));
    must(NULL, moot_close(m), "close");
    return 0;
}
