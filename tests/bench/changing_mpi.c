/* changing_mpi.c - what Open MPI takes to add a process, for changing.py.
 *
 *     mpirun -n N changing_mpi ROUNDS
 *
 * ROUNDS times the N processes spawn one more and merge with it (MPI_Comm_spawn,
 * MPI_Intercomm_merge), and it goes again.  Processes print `WORD RANK ROUND TIME` as
 * those of changing.c: `wish` before the spawn, `main` and `open` of the new one, and
 * `joined` behind the merge. */
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>

static void tell(const char *word, int rank, int round, double at_s)
{
    printf("%s %d %d %.9f\n", word, rank, round, at_s);
    fflush(stdout);
}

/* The process that was spawned. */
static void be_spawned(MPI_Comm parent, double began_s, int round)
{
    MPI_Comm all;
    int rank;
    MPI_Intercomm_merge(parent, 1, &all);
    const double open_s = bench_now_s();
    MPI_Comm_rank(all, &rank);
    tell("main", rank, round, began_s);
    tell("open", rank, round, open_s);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&parent);
}

static void spawn_one(const char *program, int rank, int round)
{
    char text[16];
    char *words[] = {text, NULL};
    MPI_Comm other, all;
    snprintf(text, sizeof(text), "%d", round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        tell("wish", rank, round, bench_now_s());
    }
    MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                   MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(other, 0, &all);
    tell("joined", rank, round, bench_now_s());
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&other);
}

int main(int argc, char **argv)
{
    const double began_s = bench_now_s();
    const int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;
    int rank;
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        be_spawned(parent, began_s, rounds);
    }
    for (int round = 0; parent == MPI_COMM_NULL && round < rounds; round++) {
        spawn_one(argv[0], rank, round);
    }
    MPI_Finalize();
    return 0;
}
