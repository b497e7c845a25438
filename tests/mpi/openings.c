/* openings.c - a program that opens two moots, one after the other, and forks
 * meanwhile.
 *
 *   mpirun -n 4 openings            all goes well
 *   openings start | init | first | second
 *                                   rank 1 kills itself: before it starts MPI, between
 *                                   that and its first moot, in a task of its first or
 *                                   of its second
 *
 * tests/cli/openings_test.sh says what becomes of the others.
 */
#include "node/api/moot_mpi.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MORTAL = 1, TASKS = 24, LONG_S = 7 };

static const char *doom = ""; /* where rank MORTAL ends */

static void die_in(const char *place)
{
    if (strcmp(doom, place) == 0) {
        (void)raise(SIGKILL);
    }
}

static int check(int code, const char *what)
{
    if (code == MOOT_OK) {
        return 0;
    }
    (void)fprintf(stderr, "FAIL %s: %s: %s\n", what, moot_err_name(code),
                  moot_last_error(NULL));
    return 1;
}

/* One moot of the program's. */
struct stage {
    moot *m;
    const char *name; /* of its kernels, and the place in which a rank may end */
};

/* Rank MORTAL ends in the task that it owns by name. */
static int run(moot_call *call, void *user)
{
    int owner = -1;
    memcpy(&owner, moot_call_args(call, NULL), sizeof(owner));
    const struct stage *stage = user;
    if (moot_rank(stage->m) == MORTAL && owner == MORTAL) {
        die_in(stage->name);
    }
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* One of every rank, and some of whose it may be.  What rank MORTAL takes with it is an
 * error that the others must get. */
static int run_tasks(struct stage *stage, const char *name)
{
    moot *m = stage->m;
    const moot_kernel kernel = {.name = name, .fn = run, .user = stage};
    moot_task_spec spec = {.flags = 0};
    int failed =
        check(moot_kernel_register(m, &kernel, &spec.kernel), "moot_kernel_register");
    for (int i = -TASKS; i < moot_size(m) && failed == 0; i++) {
        moot_task task;
        spec.args = &i;
        spec.args_size = sizeof(i);
        if (i >= 0) {
            spec.owner = MOOT_ON(i);
        }
        int code = moot_task_spawn(m, &spec, &task);
        if (code == MOOT_OK) {
            code = moot_task_wait(m, task, MOOT_FOREVER);
        }
        if (code != MOOT_OK && !(i == MORTAL && *doom != '\0')) {
            failed += check(code, "a task");
        }
    }
    return failed;
}

/* Children have a copy of what the rank shares with others; neither their ends nor what
 * they become is felt. */
static int fork_children(void)
{
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        int status = -1;
        if (child == 0) {
            if (i > 0) {
                execlp("true", "true", (char *)NULL);
            }
            _exit(i);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            (void)fprintf(stderr, "FAIL a child did not end well\n");
            return 1;
        }
    }
    return 0;
}

/* Who outlives another stays for long. */
static int run_stage(const char *name)
{
    struct stage stage = {.name = name};
    int failed = check(moot_open(NULL, &stage.m), "moot_open");
    if (failed > 0) {
        return failed;
    }
    failed = run_tasks(&stage, name) + fork_children() + run_tasks(&stage, "later");
    if (strcmp(doom, name) == 0) {
        const struct timespec time = {.tv_sec = LONG_S};
        failed += check(moot_park(stage.m), "moot_park");
        (void)nanosleep(&time, NULL);
        failed += check(moot_unpark(stage.m), "moot_unpark");
    }
    return failed + check(moot_close(stage.m), "moot_close");
}

/* The rank, before MPI tells it: as its launcher does. */
static bool is_mortal(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank != NULL && strtol(rank, NULL, 10) == MORTAL;
}

int main(int argc, char **argv)
{
    const bool mortal = is_mortal();
    int level = 0;
    doom = argc > 1 ? argv[1] : "";
    if (mortal) {
        die_in("start");
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (mortal) {
        die_in("init");
    }
    int failed = run_stage("first");
    failed += run_stage("second");
    if (*doom == '\0') {
        MPI_Finalize();
    }
    return failed != 0;
}
