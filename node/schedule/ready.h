/* ready.h - the queue of tasks that wait for nothing but a thread.
 *
 * Higher priority first; then nested tasks before the program's, since depth first
 * keeps few results alive, nested ones newest first, the program's oldest first.  A
 * task that is cancelled in the queue stays in it until it comes up, and one that is
 * raised stands in it once more; `live` counts tasks that are ready, once each.  The
 * record of a task stays as long as an item names it.
 *
 * Most tasks are the program's and have no priority: oldest first is then the order in
 * which they came, and they stand in a line, a ring.  The others stand in a heap, and
 * those of them that are not below 0 go before the line.
 */
#ifndef NODE_SCHEDULE_READY_H
#define NODE_SCHEDULE_READY_H

#include "node/context/context.h"

/* A kernel can be begun: a task is ready, or an element of an array. */
static inline bool ready_any(const struct moot *m)
{
    return m->schedule.ready.live > 0 || m->schedule.elements != NULL;
}

bool ready_push(struct ready *ready, struct task *task); /* false without memory */
struct task *ready_pop(struct ready *ready);             /* NULL if none is live */
/* What comes up next, cancelled or not; the queue is not empty. */
const struct task *ready_first(const struct ready *ready);
/* A task is ready that has at least this priority. */
bool ready_is_before(struct ready *ready, int32_t priority);
/* Its priority has risen: it gets another item, and the first is passed over; of as
 * many as can be counted one takes the new priority. */
void ready_raise(struct ready *ready, struct task *task);
/* All that stand in it, ready or not, some twice: as many as there is room for, and how
 * many that are. */
size_t ready_list(const struct ready *ready, struct task **out, size_t room);
/* One of those whose records may go now, or NULL. */
struct task *ready_take_spent(struct ready *ready);
void ready_release(struct ready *ready);

#endif
