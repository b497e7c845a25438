/* launch.h - finding the MPI launcher and a program, and running one with the other. */
#ifndef NODE_LAUNCH_LAUNCH_H
#define NODE_LAUNCH_LAUNCH_H

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

/* Why no system would start a file that is executable, as "is empty"; NULL: nothing is
 * seen that speaks against it.  Stays until the next call. */
const char *program_flaw(const char *path);

/* Cores that ranks can be given without sharing: what an MPI launcher counts. */
int cores_count(void);

/* What is done beside a program that runs. */
struct launch_watch {
    /* Asked every now and then; if it says so the program is told to end (SIGTERM). */
    bool (*is_hopeless)(void *context);
    /* In the child, before it becomes the program: no more than system calls. */
    void (*become)(void *context);
    /* Passes so much time, over and over, until the program has ended. */
    void (*pause)(void *context, int pause_ms);
};

/* Exit statuses beside a program's own, as a shell has them. */
enum {
    LAUNCH_NOT_FOUND = 127, /* the program or the launcher */
    LAUNCH_SIGNAL = 128     /* plus the signal's number */
};

/* Runs argv (argv[0] is a path) and waits for it, handing on SIGINT, SIGTERM and
 * SIGHUP; from then on nothing of these ends this process, nor does SIGPIPE.  The exit
 * status, 128 plus the number of the signal that ended it, or LAUNCH_NOT_FOUND if it
 * could not be started. */
int launch(char *const argv[], const struct launch_watch *watch, void *context);

/* The first of these signals that this process has had since; 0: none. */
int launch_signal(void);

/* Headers of this room that other rooms use, too: */
#include "node/launch/outcome.h"

#endif
