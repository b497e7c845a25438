/* ending.h - how processes end: between a rank, the process that waits for it (`moot
 * rank`), and the ranks that outlive it.
 *
 * The process that waits names a folder in the environment; without one nothing is done
 * here.  A mark lies there from the first moot on until the process passes exit(): who
 * ends with it, and without a signal, has been ended by MPI_Abort, which is to end the
 * job, or by _exit.  Another lies there while a second moot of all ranks is opened,
 * because that waits for ranks that may have ended after the first, and a third from
 * MPI_Finalize on, which may wait for them, too.  A fourth lies there once a stall was
 * to end the job (MOOT_STALL_ABORT).
 *
 * Whoever waits for a process leaves there, too, how it ended, under its number: nobody
 * else is told by the system.
 *
 * The marks are of any thread, but not of two at once.
 */
#ifndef NODE_CONFIG_ENDING_H
#define NODE_CONFIG_ENDING_H

#include <stdbool.h>

#define ENDING_FOLDER "MOOTRUN_ENDS"
#define ENDING_LIVES "lives" /* "lives-PID" */
#define ENDING_OPENS "opens"
#define ENDING_FINALIZES "finalizes"
#define ENDING_STALLED "stalled"

/* Around the collective part of an open. */
void ending_opens(void);
void ending_opened(void);

void ending_finalizes(void);
void ending_stalled(void);

/* Called when the process passes exit(), in the thread that does; not in a forked
 * child.
 */
void ending_when_exits(void (*see)(void));

struct ending {
    int signal;         /* 0: it ended by itself, */
    int status;         /* with this, */
    bool aborted;       /* past exit() */
    bool out_of_memory; /* the system killed it for that, and says so */
};

/* Takes a mark of an ended process away; whether it was there. */
bool ending_take(const char *folder, const char *mark, long pid);

/* Leaves how it ended, and looks for it.  Nothing is read before all of it is there. */
void ending_leave(const char *folder, long pid, const struct ending *ending);
bool ending_find(const char *folder, long pid, struct ending *out);

/* A fault of the process's own: a signal by which the system ends what cannot go on,
 * an end by itself, or memory that it took. */
bool ending_is_own_fault(const struct ending *ending);

#endif
