/* ending.h - how processes end: between a rank, the process that waits for it (`moot
 * rank`), and the ranks that outlive it.
 *
 * The process that waits names a folder in the environment; without one nothing is done
 * here.  A mark lies there from the first moot on until the process passes exit(): who
 * ends with it, and without a signal, has been ended by MPI_Abort, which is to end the
 * job, or by _exit.  Another lies there while a second moot of all ranks is opened,
 * because that waits for ranks that may have ended after the first, and a third from
 * MPI_Finalize on, which may wait for them, too.  A fourth lies there once a stall was
 * to end the job (MOOT_STALL_ABORT).  A fifth, under the rank's number, lies there
 * while a moot of all ranks is opened, the first as well, for which all others have to
 * come.  A moot that could not be opened leaves why.
 *
 * Whoever waits for a process leaves there, too, how it ended, under its number: nobody
 * else is told by the system.
 *
 * Any thread may call any of this.  Moots that a process opens at once have one mark of
 * an opening, which goes when the first of them is open.
 */
#ifndef NODE_CONFIG_ENDING_H
#define NODE_CONFIG_ENDING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define ENDING_FOLDER "MOOTRUN_ENDS"
#define ENDING_LIVES "lives" /* "lives-PID" */
#define ENDING_OPENS "opens"
#define ENDING_FINALIZES "finalizes"
#define ENDING_STALLED "stalled"
#define ENDING_AWAITS "awaits" /* "awaits-RANK" */
#define ENDING_REFUSED "refused"
enum { ENDING_STORY_BYTES = 1024 };

/* Rank 0's knobs are everybody's, but a folder of its host is not: where the agent of a
 * host names others, ranks there leave their sheets, and their records, in these. */
#define ENDING_SHEETS "MOOTRUN_SHEETS"
#define ENDING_TRACES "MOOTRUN_TRACES"

/* The process id of the agent of a rank's host, for faults of whole hosts: a rank that
 * sends it ENDING_FALL is to die with the host, and waits for that. */
#define ENDING_AGENT "MOOTRUN_AGENT"
#define ENDING_FALL SIGUSR2

/* The process that started `moot rank`, by number: its SIGTERM ends the job, and with
 * it the rank; that of others may ask the rank to leave (node/service/sigterm.h). */
#define ENDING_LAUNCHER "MOOTRUN_LAUNCHER"

/* The command whose `moot rank` started this program, and starts newcomers likewise. */
#define ENDING_COMMAND "MOOTRUN_COMMAND"

/* Around the collective part of an open. */
void ending_opens(void);
/* Likewise, if that wants all ranks of the job, of which this is that one. */
void ending_awaits(uint32_t rank);
void ending_opened(void);

void ending_finalizes(void);
void ending_stalled(void);

/* Leaves why a moot could not be opened here; of several that of the last. */
void ending_refused(const char *story);
/* Takes that away, as one line; false: there is none. */
bool ending_take_refusal(const char *folder, long pid, char story[ENDING_STORY_BYTES]);

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

/* The number of ranks that are to stay when others are asked to leave (`moot run
 * --min`). */
#define ENDING_LEAST "MOOTRUN_MIN"

/* A moment of this host's CLOCK_MONOTONIC by the job's clock, which is that of the host
 * where `moot run` is: a rank's agent tells how far it is off, in nanoseconds.  0 stays
 * 0. */
#define ENDING_CLOCK "MOOTRUN_CLOCK"
uint64_t ending_by_job_clock(uint64_t at_ns);

/* A fault of the process's own: a signal by which the system ends what cannot go on,
 * an end by itself, or memory that it took. */
bool ending_is_own_fault(const struct ending *ending);

#endif
