/* set_comm.c - communicators of process sets (moot_pset_comm), beside tasks that run
 * all the while, in two sessions.
 *
 *   mpirun -n 4 set_comm
 */
#include "node/api/moot_mpi.h"
#include "node/api/moot_session.h"
#include "tests/mpi/support/sums.h"

#include <stdio.h>

enum { TASKS = 40, RANKS_MAX = 64 };

static int failed;

#define CHECK(condition)                                                               \
    do {                                                                               \
        if (!(condition)) {                                                            \
            (void)fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition,           \
                          moot_last_error(NULL));                                      \
            failed++;                                                                  \
        }                                                                              \
    } while (0)

/* The sum of their ranks, by MPI. */
static void add_ranks(moot *m, const char *name, int wanted_size, int wanted_sum)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int size = 0, rank = moot_rank(m), sum = -1;
    must(m, moot_pset_comm(m, name, &comm), name);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    CHECK(size == wanted_size && sum == wanted_sum);
}

static void run(moot *m, moot_kernel_id kernel, uint64_t first)
{
    moot_task tasks[TASKS];
    for (uint64_t i = 0; i < TASKS; i++) {
        tasks[i] = spawn(m, kernel, first + i, i > 0 ? &tasks[i - 1] : NULL, i > 0);
    }
    const int size = moot_size(m);
    add_ranks(m, "mpi://WORLD", size, size * (size - 1) / 2);
    must(m, moot_task_wait_all(m, tasks, TASKS, MOOT_FOREVER), "wait");
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    moot_kernel_id kernel = {0};
    int low[RANKS_MAX];
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Init(&argc, &argv);
    if (moot_open_comm(NULL, MPI_COMM_WORLD, &m) != MOOT_OK) {
        return 1;
    }
    must(m,
         moot_kernel_register(m, &(moot_kernel){.name = "add-up", .fn = add_up},
                              &kernel),
         "kernel");
    const int rank = moot_rank(m), count = (moot_size(m) + 1) / 2;
    for (int i = 0; i < count; i++) {
        low[i] = i;
    }
    run(m, kernel, 1);
    must(m,
         moot_pset_define(m, "app://low",
                          &(moot_ranks){.ranks = low, .count = (size_t)count}),
         "define");
    CHECK(moot_pset_comm(m, "app://low", &comm) == MOOT_ERR_INVALID);
    must(m, moot_session_next(m, NULL, NULL), "next");
    if (rank < count) {
        add_ranks(m, "app://low", count, count * (count - 1) / 2);
    } else {
        CHECK(moot_pset_comm(m, "app://low", &comm) == MOOT_ERR_INVALID);
    }
    CHECK(moot_pset_comm(m, "app://low", NULL) == MOOT_ERR_INVALID);
    CHECK(moot_pset_comm(m, NULL, &comm) == MOOT_ERR_INVALID);
    CHECK(moot_pset_comm(NULL, "app://low", &comm) == MOOT_ERR_INVALID);
    add_ranks(m, "mpi://SELF", 1, rank);
    run(m, kernel, 1000);
    CHECK(moot_close(m) == MOOT_OK);
    MPI_Finalize();
    return failed > 0;
}
