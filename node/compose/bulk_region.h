/* bulk_region.h - what a bulk queue collects without tickets.
 *
 * Where a bulk queue is the only queue that a thread has open, a plain spawn needs no
 * ticket: as one that waits for its hash (spawn_batch.h) it is a handle and a copy of
 * its spec.  It waits for the queue's close, and then all of them are hashed, several
 * at a time, and registered in their order.
 *
 * A call of the library that is no spawn, on any thread, may want to know the tasks by
 * then, and what is not plain, or takes one of them, needs their hashes: what has been
 * collected gets tickets (ticket.h), and so does all that the queue collects after it.
 * So it is when a running task ends, and with it its handles of its children: they may
 * be inputs.  Turns of the loop change nothing: until it is registered nobody else has
 * to do with such a task.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_BULK_REGION_H
#define NODE_COMPOSE_BULK_REGION_H

#include "node/spawn/spawn_batch.h"

struct moot_queue;

enum { REGION_TASKS = 64 };

struct region_part {
    struct region_part *next;
    uint32_t count;
    struct unnamed_task tasks[REGION_TASKS];
};

struct region {
    struct region_part *first, *last;
};

/* Whether the queue, a thread's innermost, collects so. */
bool region_is_open(const struct moot_queue *queue);
/* unnamed_take(), for such a queue. */
bool region_take(struct moot *m, struct lane *lane, struct moot_queue *queue,
                 const moot_task_spec *spec, const char *site, moot_task *out);

/* What is spawned again while the members decide whether to forget it may be registered
 * once they have: waits for that, for all threads' regions. */
void region_wait_while_leaving(struct moot *m);
/* The queue closes: registers all, if that cannot fail; or else gives them tickets. */
void region_close(struct moot *m, struct lane *lane, struct moot_queue *queue);
/* No handle's task is unnamed then: those that wait are registered, and what all
 * threads' queues have collected gets tickets (engine_end_batches()). */
void region_end_all(struct moot *m);
/* The same for a call of the program. */
void region_end_patiently(struct moot *m);
/* The context closes: what it has is dropped. */
void region_free(struct region *region);

#endif
