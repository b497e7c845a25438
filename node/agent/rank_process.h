/* rank_process.h - which process is a rank's, and whether it stands still: for people,
 * to whom `moot run` tells of a rank for which the others wait.
 *
 * `moot rank` leaves a file in the folder of the ends when it starts the program: the
 * process by number, space and start (node/transport/host/process.h), and its host's
 * name.  On the same host that is enough to look at the process.  An agent looks for
 * `moot run`, and leaves a file beside it while the process stands still.
 */
#ifndef NODE_AGENT_RANK_PROCESS_H
#define NODE_AGENT_RANK_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANK_PROCESS "process" /* "process-RANK" */
#define RANK_STILL "still"     /* "still-RANK" */

enum rank_does {
    RANK_RUNS,    /* or sleeps; or nobody knows */
    RANK_STOPPED, /* by a signal or a debugger */
    RANK_IN_WAIT  /* in the system, for a disk or a file server: state D */
};

enum { RANK_HOST_BYTES = 72 };

struct rank_process {
    uint64_t pid;               /* 0: none is known */
    char host[RANK_HOST_BYTES]; /* "": likewise */
    enum rank_does does;
};

/* Writes the mark of this process, which is about to become the rank's program. */
void rank_process_leave(const char *folder, long rank);

/* As far as the folder says, and this host. */
void rank_process_find(const char *folder, size_t rank, struct rank_process *out);

/* For an agent: looks at the processes of ranks first..first+count-1 and leaves what
 * has changed.  does[] is by rank, all RANK_RUNS at first. */
void rank_process_look(const char *folder, size_t first, size_t count,
                       enum rank_does does[]);

#endif
