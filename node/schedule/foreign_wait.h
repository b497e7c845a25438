/* foreign_wait.h - a lane's wait for what neither the core nor a task knows, such as a
 * request of MPI.
 *
 * To the core the lane is parked: it will not spawn before the wait ends, and what ends
 * it may need that its chairs yield.  So ranks that wait so are at rest, but not
 * passive: nobody fails a wait for want of a holder that this lane could still be.
 * Unlike a parked thread this one drives progress and runs tasks meanwhile, as in a
 * wait for a task, so that it serves its peers where no other thread may.
 */
#ifndef NODE_SCHEDULE_FOREIGN_WAIT_H
#define NODE_SCHEDULE_FOREIGN_WAIT_H

#include "node/config/text.h"

struct moot;

enum { FOREIGN_GOES_ON = 1 };

/* Looks whether it has come: MOOT_OK, FOREIGN_GOES_ON, or an error, with its story.
 * Called again and again under the engine lock, until it says that it is over. */
typedef int (*foreign_test)(void *arg, struct text *story);

/* The body of a public call of this name; takes the engine lock.  INVALID if `m` or
 * `test` is NULL.  Returns what the test said, or STATE (in a kernel, in a watch, while
 * parked), LIMIT, NO_MEMORY; CLOSED when another thread closes the context, and what
 * ends the whole moot. */
int foreign_wait(struct moot *m, const char *call, foreign_test test, void *arg);

#endif
