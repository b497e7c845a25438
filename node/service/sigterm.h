/* sigterm.h - SIGTERM asks a rank to leave.
 *
 * Batch systems send it before they take a host or a job's time is up, and SIGKILL some
 * time later.  The handler counts, and sets a timer; the progress loops of all contexts
 * compare (dismissal.h).  The timer ends the process by SIGTERM when its grace is over,
 * whatever the program does.  The process dies at once, as it would without the
 * handler, when SIGTERM comes from the process that started the rank's `moot rank`,
 * which ends the whole job, or comes again.  A batch system may send it to one process
 * by two ways at nearly the same time: that is once.
 *
 * The handler is installed with the first context that has a grace only if the program
 * has left the signal at its default, and taken out with the last.  All this is
 * process-wide because signals are.
 */
#ifndef NODE_SERVICE_SIGTERM_H
#define NODE_SERVICE_SIGTERM_H

#include <stdint.h>

/* How often the process has been asked. */
unsigned sigterm_count(void);

/* A context is opened, with this value of MOOT_GRACE; and is closed. */
void sigterm_join(int64_t grace_ns);
void sigterm_leave(void);

/* The process dies of it after all. */
void sigterm_die(void);

#endif
