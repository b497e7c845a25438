/* exec.h - tasks that are ready, and running them.
 *
 * The ready queue orders by priority, then nested tasks before the program's (depth
 * first keeps few results alive), nested ones newest first, the program's oldest first.
 * Callers run tasks while they wait, MOOT_THREADS workers always; the engine lock is
 * released around the kernel and nowhere else.
 *
 * A parked thread runs nothing, and what it waits for may need what this rank owns: a
 * barrier with a peer that waits for one of our tasks.  So where no worker and no wait
 * could run a ready task and a lane is parked, a stand-in does, a thread that the
 * helper starts when it first finds this.
 *
 * A waiter runs other tasks on top of its own stack and goes on when they have ended.
 * As long as a task waits only for its own children this cannot lock: a child starts
 * after its parent, and what lies on top starts after what lies beneath, so a circle of
 * frames that wait for each other would have to start before itself.  Other edges break
 * that argument: a child on top whose *input* is a task that lies beneath, or one that
 * the lane beneath spawns only when its wait is over.  Such a program can stall; users
 * are told so (moot_call_spawn(3)).
 *
 * Every task that the core gives out comes back exactly once as CORE_EV_DONE, with a
 * result or with an error whose payload is its story: failed inputs and cancelled tasks
 * end without their kernel.
 *
 * Under the engine lock.
 */
#ifndef NODE_EXEC_H
#define NODE_EXEC_H

#include "node/context.h"

/* CORE_OUT_RUN and CORE_OUT_CANCEL.  Called while outputs are carried out. */
void exec_take(struct moot *m, struct task *task, bool cancelled);
void exec_cancel(struct moot *m, struct task *task);

/* Whether this thread's stack has room for another kernel. */
bool exec_may(const struct lane *lane);
/* Runs one ready task on this thread; false if there is none that it may take. `waiter`
 * is the running task that waits on top of this stack (NULL: a lane or a worker), which
 * has found nothing to do `idle_rounds` times. */
bool exec_one(struct moot *m, struct lane *lane, struct task *waiter,
              uint32_t idle_rounds);

bool exec_start_workers(struct moot *m, uint32_t count); /* false: no thread */
/* Starts or wakes the stand-in if it is needed; by the helper. */
void exec_stand_in(struct moot *m);
/* After m->stop; without the lock. */
void exec_join_workers(struct moot *m);
void exec_release(struct moot *m);

#endif
