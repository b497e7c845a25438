/* launch.h - finding the MPI launcher and a program, and running one with the other. */
#ifndef NODE_LAUNCH_LAUNCH_H
#define NODE_LAUNCH_LAUNCH_H

#include <signal.h>
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
    /* Passes so much time, over and over, until the program has ended; less if that
     * descriptor polls readable (-1: there is none). */
    void (*pause)(void *context, int pause_ms, int wakes);
    /* Passes on what a rank has said, on this process's output or error
     * (not by launch()). */
    void (*say)(void *context, int rank, bool error, const char *bytes, size_t size);
    /* That rank's `moot rank` has ended in a way of its own, which leaves nothing
     * behind (not by launch()). */
    void (*lost)(void *context, int rank, int signal);
    /* These ranks have been started beside the others, to join the job (not by
     * launch()). */
    void (*joined)(void *context, int first, int count);
    /* Nobody says any more how these ranks of that host end, and `why`, or "": it is
     * not reached (launch_fleet() only). */
    void (*lost_host)(void *context, const char *host, int first, int count,
                      const char *why);
    /* That host has not been heard of for a while, or is again (launch_fleet() only).
     */
    void (*silent)(void *context, const char *host, bool silent);
    /* More of the answer to fleet_ask(), or, if `over`, that no more comes
     * (launch_fleet() only). */
    void (*answer)(void *context, const unsigned char *bytes, size_t size, bool over);
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

/* This process's number, for the `moot rank` that launch_local() has started. */
#define LAUNCH_PARENT "MOOTRUN_PARENT"

/* By it `moot rank`, alone, is told to ask its program to leave. */
#define LAUNCH_ASK SIGPWR

/* Runs argv so many times without an MPI launcher, and, where ranks ask for it, again
 * up to `max` at a time (growth.h; 0: never): rank r of them has r
 * in CHANNEL_RANK_VARIABLE and a channel to this process (channel.h), and a process
 * group of its own.  Rank 0 has this process's standard input, if that is no terminal;
 * the others have none. What the ranks say comes here, line by line.  Waits for all.
 * What launch() hands on goes to all process groups; what has not ended five seconds
 * after that, or when another comes, is killed, and likewise after SIGTERM for a job
 * that is hopeless; then nothing of the groups is left.  `moot rank`, which argv is to
 * be, sees to it that nothing is left if this process is killed.
 *
 * 0 if all have ended, whatever their status; 128 plus the signal's number if they did
 * for one; -1, with errno, if not all could be started: then those are killed that
 * were. */
int launch_local(char *const argv[], int ranks, int max,
                 const struct launch_watch *watch, void *context);

/* For people, behind strerror(): what mends that a process could not be started; "":
 * nothing that is known. */
const char *launch_remedy(int why);

/* The first of these signals that this process has had since; 0: none. */
int launch_signal(void);

/* Headers of this room that other rooms use, too: */
#include "node/launch/fleet.h"
#include "node/launch/growth.h"
#include "node/launch/outcome.h"

#endif
