/* workers.h - the library's own threads that run tasks.
 *
 * MOOT_THREADS workers do nothing else.
 *
 * A parked thread runs nothing, and what it waits for may need what this rank owns: a
 * barrier with a peer that waits for one of our tasks.  So where no worker and no wait
 * could run a task and a lane is parked, a stand-in does, a thread that the helper
 * starts when it first finds this.
 */
#ifndef NODE_SCHEDULE_WORKERS_H
#define NODE_SCHEDULE_WORKERS_H

#include "node/context/context.h"

bool workers_start(struct moot *m, uint32_t count); /* false: no thread */
/* Starts or wakes the stand-in if it is needed; by the helper, under the lock. */
void workers_stand_in(struct moot *m);
/* After m->engine.stop; without the lock. */
void workers_join(struct moot *m);

#endif
