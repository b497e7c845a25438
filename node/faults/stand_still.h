/* stand_still.h - the process stands still for a while, as by SIGSTOP.
 */
#ifndef NODE_FAULTS_STAND_STILL_H
#define NODE_FAULTS_STAND_STILL_H

#include <stdint.h>

/* All threads of the process, until a child of it sends SIGCONT.  Returns then, or at
 * once where the system gives no process. */
void stand_still(uint64_t ns);

/* The calling thread sleeps, whatever signals come meanwhile. */
void sleep_on(uint64_t ns);

#endif
