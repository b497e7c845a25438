/* finalize.c - a program that calls MPI_Finalize with a moot open gets an error, not a
 * crash and not a hang.
 *
 *   mpirun -n 4 finalize
 */
#include "node/api/moot_mpi.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int give_one(moot_call *call, void *user)
{
    (void)user;
    int *one = moot_call_output(call, sizeof(*one));
    if (one == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *one = 1;
    return MOOT_OK;
}

static void drop_report(void *user, const char *text) { (void)user, (void)text; }

static int is(int got, int wanted, const char *what)
{
    if (got != wanted) {
        (void)fprintf(stderr, "FAIL %s: %s, not %s\n", what, moot_err_name(got),
                      moot_err_name(wanted));
    }
    return got != wanted;
}

int main(void)
{
    moot *m = NULL;
    moot_task task;
    moot_task_spec spec = {.flags = 0};
    const moot_options options = {.report = drop_report};
    (void)alarm(30); /* instead of a hang */
    int failed = is(moot_open(&options, &m), MOOT_OK, "moot_open");
    if (failed) {
        return 1;
    }
    const moot_kernel kernel = {.name = "give-one", .fn = give_one};
    failed += is(moot_kernel_register(m, &kernel, &spec.kernel), MOOT_OK, "register");
    failed += is(moot_task_spawn(m, &spec, &task), MOOT_OK, "spawn");
    failed += is(moot_task_wait(m, task, MOOT_FOREVER), MOOT_OK, "wait");
    MPI_Barrier(MPI_COMM_WORLD); /* nobody is left in a wait for a rank that is gone */
    MPI_Finalize();
    spec.label = "late";
    spec.key = "late", spec.key_size = 4;
    int late = moot_task_spawn(m, &spec, &task);
    if (late == MOOT_OK) { /* nobody has looked at the transport since */
        late = moot_task_wait(m, task, MOOT_FOREVER);
    }
    failed += is(late, MOOT_ERR_TRANSPORT, "a late spawn and wait");
    failed += is(moot_close(m), MOOT_ERR_TRANSPORT, "moot_close");
    if (strstr(moot_last_error(NULL), "MPI_Finalize") == NULL) {
        (void)fprintf(stderr, "FAIL the story: %s\n", moot_last_error(NULL));
        failed++;
    }
    return failed != 0;
}
