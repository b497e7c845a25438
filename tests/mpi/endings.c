/* endings.c - a program of which rank 1 ends in a way of its own, and the others well.
 *
 *   moot run -n 3 endings WHERE HOW
 *
 * `inside stall`: it waits in moot_close for the others, which compute for long.
 *
 * Without arguments all end well.  WHERE is `inside` its moot, in `main`, `after` it,
 * or `between` it and another, which the others open; HOW the way (see end()).  The
 * others outlast it long enough to be ended for it, and say on standard output that
 * they have passed their last close.
 *
 * tests/cli/endings_test.sh says what becomes of the job.
 */
#include "node/api/moot_mpi.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MORTAL = 1, SOON_S = 3, LATE_S = 7, LONG_S = 50, STATUS = 7 };

static const struct {
    const char *name;
    int signal;
} signals[] = {{"kill", SIGKILL}, {"term", SIGTERM}, {"fpe", SIGFPE},   {"bus", SIGBUS},
               {"ill", SIGILL},   {"sys", SIGSYS},   {"abort", SIGABRT}};

static void end(const char *how)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (strcmp(how, signals[i].name) == 0) {
            (void)signal(signals[i].signal, SIG_DFL); /* MPI may handle it */
            (void)raise(signals[i].signal);
        }
    }
    if (strcmp(how, "null") == 0) {
        volatile int *volatile nothing = NULL;
        *nothing = 1;
    }
    if (strcmp(how, "mpi_abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, STATUS);
    }
    if (strcmp(how, "_exit") == 0) {
        _exit(STATUS);
    }
    exit(strcmp(how, "exit") == 0 ? STATUS : 0);
}

static void sleep_s(int seconds)
{
    const struct timespec time = {.tv_sec = seconds};
    (void)nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    int level = 0;
    moot *m = NULL;
    const char *where = argc > 2 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";
    const bool inside = strcmp(where, "inside") == 0;
    const bool after = strcmp(where, "after") == 0;
    const bool between = strcmp(where, "between") == 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    if (moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    const int rank = moot_rank(m);
    if (inside && rank == MORTAL && strcmp(how, "stall") != 0) {
        end(how);
    }
    const bool waits = inside && strcmp(how, "stall") == 0;
    sleep_s(waits && rank == MORTAL ? 0 : waits ? LONG_S : inside ? SOON_S : 0);
    int code = moot_close(m);
    if ((after || between) && rank == MORTAL) {
        end(how);
    }
    if (between) {
        code = moot_open(NULL, &m) != MOOT_OK || moot_close(m) != MOOT_OK;
    }
    sleep_s(after || between ? LATE_S : 0);
    printf("rank %d is past its close\n", rank);
    (void)fflush(stdout);
    MPI_Finalize();
    return code != MOOT_OK;
}
