/* exec.h - tasks that are ready, and running them.
 *
 * Callers run tasks while they wait, MOOT_THREADS workers always (workers.h); the
 * engine lock is released around the kernel and nowhere else.
 *
 * Every kernel runs on a strand (fiber.h), so that one that waits for its children
 * stops, and lies on nobody's stack.  If it lay on the stack of the thread that picked
 * it up, what is beneath it could not go on before it: a wait of the program whose end
 * spawns just what the kernel waits for, or another kernel that makes it.  As it is,
 * nothing but what a wait names keeps it from ending.
 *
 * Two switches of stacks take as long as a small kernel.  So kernels that neither wait
 * nor stop follow each other on one strand: what comes between them, the end of the one
 * and the beginning of the next, is done there.  A kernel that has stopped is the last
 * on its strand.
 *
 * A run goes on, if it can, on the thread where it began, and before anything new is
 * begun there.  Only if that thread is elsewhere, in the program's own code, parked or
 * at its end, does another thread take the run over.
 *
 * Strands take memory, so where half of LIMIT_RUNS kernels have begun and not ended, a
 * task of the program begins only after a while of nothing else to do; at the limit
 * none begins, and a kernel's wait ends with LIMIT.
 *
 * A task that may have killed a rank, among others, runs alone (PROTOCOL.md, T10): when
 * no other kernel is on a thread, and while it is no other begins or goes on.  One that
 * waits is on no thread, and so nothing waits for what waits for it.
 *
 * Every task that the core gives out comes back exactly once as CORE_EV_DONE, with a
 * result or with an error whose payload is its story: failed inputs and cancelled tasks
 * end without their kernel.
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_EXEC_H
#define NODE_SCHEDULE_EXEC_H

#include "node/context/context.h"

/* Where many kernels wait, another begins only after this many idle rounds. */
enum { EXEC_RELUCTANT_ROUNDS = 100 };

/* What a thread calls from the bottom of its stack, between exec_here(true) and
 * exec_here(false): begins a task, or lets a run go on, until it ends or waits; false
 * if there is nothing that it may run.  The thread has found nothing to do
 * `idle_rounds` times. */
bool exec_one(struct moot *m, struct lane *lane, uint32_t idle_rounds);

/* The same, and then as many of those that are ready as follow without anything else to
 * do in between: none once `enough`, asked under the lock, says so, or the wire is to
 * be looked at. */
typedef bool (*exec_enough)(struct moot *m, void *context);
bool exec_some(struct moot *m, struct lane *lane, uint32_t idle_rounds,
               exec_enough enough, void *context);
void exec_here(struct lane *lane, bool here);

/* Stops the kernel whose call this is, on the thread that runs it, until its wait is
 * handed to exec_go_on().  False at the limit, at once. */
bool exec_stop(struct moot *m, struct moot_call *call);
void exec_go_on(struct moot *m, struct moot_call *call);

/* The task's kernel; NULL: it does not run. */
struct moot_call *exec_call_of(const struct moot *m, const struct task *task);
/* Calls `see` for each kernel that has begun and not ended. */
void exec_each_call(const struct moot *m,
                    void (*see)(void *context, const struct moot_call *call),
                    void *context);

/* The thread of this lane has ended (dispatch.h). */
void exec_forget_lane(struct moot *m, struct lane *lane);
void exec_release(struct moot *m);

#endif
