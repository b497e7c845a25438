/* spawn_batch.h - tasks that have been spawned and have no hash yet.
 *
 * Four tasks, or eight, as the processor is, are hashed together in little more time
 * than one (blake2b_lanes.h).  So a plain spawn of the program ends when its spec has
 * been checked and copied, with a handle, and the task waits here for up to three or
 * seven others.  All are of the same thread and are registered in the order of their
 * spawns, stubs that follow each other in one step of the core.  They get their hashes,
 * and are registered
 *
 *   when there are so many of them, or one is to be the input of the next;
 *   by every other call of the library but the release of a handle on which none of
 *   them can depend, and before the core hears of anything else.
 *
 * None waits where another thread of this rank could run it at once.  So nothing can
 * happen between a spawn and its registration that a program, a peer or the core could
 * tell from a spawn that came a little later, and a spawn waits here only if its
 * registration cannot fail, but for want of memory.  That ends every wait and spawn of
 * all ranks, as it does wherever else a step of the core needs memory.
 *
 * Under the engine lock.
 */
#ifndef NODE_SPAWN_SPAWN_BATCH_H
#define NODE_SPAWN_SPAWN_BATCH_H

#include "node/context/context.h"

/* Whether a plain spawn of this thread may wait, if none does: as far as the rank and
 * the thread go, but for its queues. */
bool unnamed_is_open(const struct moot *m, const struct lane *lane);
/* Another thread of this rank may be about to run what is spawned. */
static inline bool unnamed_others_may_run(const struct moot *m)
{
    return m->schedule.worker_count > 0 || m->schedule.program_waits > 0;
}
/* Has it wait, and makes its handle.  False: it is not plain, something is wrong with
 * it, or there is no memory; then nothing has happened. */
bool unnamed_take(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                  const char *site, moot_task *out);
/* The same in a place that is not the batch's: fills it in. */
bool unnamed_fill(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                  const char *site, struct unnamed_task *task);
/* spawn_make_room(), after a spawn that waits. */
void unnamed_make_room(struct moot *m, struct lane *lane);
/* Names and registers those that wait: there are some (engine_settle()). */
void unnamed_settle_all(struct moot *m);

/* For regions.  Whether its registration still cannot fail. */
bool unnamed_may_stay(const struct moot *m, const struct unnamed_task *task);
/* What it says, of a task that is spawned through such queues; good until the next. */
struct task_facts *unnamed_facts(struct moot *m, struct unnamed_task *task,
                                 uint16_t queue_line);
/* Names and registers these. */
void unnamed_register(struct moot *m, struct lane *lane, uint16_t queue_line,
                      struct unnamed_task *tasks, uint32_t count);
/* The program releases this handle: true if its task is one of these, and that is done;
 * if it is an input of one, or may be one that was spawned before, they are settled
 * first. */
bool unnamed_release(struct moot *m, uint64_t id, struct handle **handle);

#endif
