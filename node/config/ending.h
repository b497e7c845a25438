/* ending.h - marks by which a process that waits for this one (`moot rank`) tells how
 * it ended, beyond its status.
 *
 * The process that waits names a folder in the environment; without one nothing is done
 * here.  A mark lies there from the first moot on until the process passes exit(): who
 * ends with it, and without a signal, has been ended by MPI_Abort, which is to end the
 * job, or by _exit.  Another lies there while a second moot of all ranks is opened,
 * because that waits for ranks that may have ended after the first, and a third from
 * MPI_Finalize on, which may wait for them, too.
 *
 * Of any thread, but not of two at once.
 */
#ifndef NODE_CONFIG_ENDING_H
#define NODE_CONFIG_ENDING_H

#define ENDING_FOLDER "MOOTRUN_ENDS"
#define ENDING_LIVES "lives" /* "lives-PID" */
#define ENDING_OPENS "opens"
#define ENDING_FINALIZES "finalizes"

/* Around the collective part of an open. */
void ending_opens(void);
void ending_opened(void);

void ending_finalizes(void);

#endif
