/* launch.h - finding the MPI launcher and a program, and running one with the other. */
#ifndef NODE_CLI_LAUNCH_H
#define NODE_CLI_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

enum { LAUNCH_PATH_BYTES = 4096 };

struct launcher {
    char path[LAUNCH_PATH_BYTES];
    int open_mpi; /* its major version; 0: another MPI's */
};

/* Finds mpirun or mpiexec in PATH; false if there is none. */
bool launcher_find(struct launcher *out);

/* Where a program is: with a slash, as it stands; else in PATH, beside the moot
 * command, or among the examples.  False if it is nowhere or not to be executed. */
bool program_find(const char *name, char path[LAUNCH_PATH_BYTES]);

/* Cores that ranks can be given without sharing: what an MPI launcher counts. */
int cores_count(void);

/* Runs argv (argv[0] is a path) and waits for it, handing on SIGINT and SIGTERM.  The
 * exit status, 128 plus the number of the signal that ended it, or CLI_NOT_FOUND if it
 * could not be started.  While it runs, `is_hopeless` is asked every now and then; if
 * it says so the program is told to end (SIGTERM). */
int launch(char *const argv[], bool (*is_hopeless)(void *context), void *context);

#endif
