/* signals.h - the signals that a launch hands on: SIGINT, SIGTERM and SIGHUP. */
#ifndef NODE_LAUNCH_SIGNALS_H
#define NODE_LAUNCH_SIGNALS_H

#include <signal.h>
#include <sys/types.h>

/* They wait while processes are started that are to get them, and which get the mask
 * that was there before. */
void signals_hold(sigset_t *before);

/* From here on they do not end this process, nor does SIGPIPE.  A `child` other than 0
 * gets at once those that were sent to this process alone, until it is 0 again. */
void signals_take(pid_t child, const sigset_t *before);
void signals_child(pid_t child);

/* How many have come, and which was the last; 0: none. */
unsigned signals_count(void);
int signals_last(void);

#endif
