/* unstarted.h - tasks that stand in the queue of a rank that leaves.
 *
 * The core has given them out to be run here, so that they count as started, and the
 * leaver would first work off its queue, however long, while all others wait for its
 * place in the view to be free.  No kernel has begun them: another rank can.
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_UNSTARTED_H
#define NODE_SCHEDULE_UNSTARTED_H

#include "node/context/context.h"

/* After CORE_EV_LEAVE: the core takes them back, and gives those to this rank once more
 * that nobody else can run. */
void unstarted_give_back(struct moot *m);

#endif
