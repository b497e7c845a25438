/* verify.h - do pure tasks give the same bytes when they are run twice?
 *
 * With MOOT_VERIFY above 0 each owner makes a digest of a pure task's result and sends
 * it along.  Then two things are looked at:
 *
 *   - who knew a result that was lost with its owner, and gets the one that was made
 *     again, compares the two;
 *   - of the tasks that the program spawns a sample (the rate, drawn from the hash, so
 *     that ranks agree on it) is run a second time, by another rank that holds it, once
 *     its inputs and the digest are there, when that has nothing else to do.
 *
 * A difference is reported as MOOT_ERR_NONDETERMINISTIC, with both ranks, and counted;
 * moot_task_info says it of the task.  It changes nothing else: everybody has the
 * owner's value.  Only a candidate of the task runs it again.  Not run again are tasks
 * with one candidate alone, of kernels that are once or said to vary, nested tasks,
 * those that fail, and those whose kernels spawn.
 *
 * To the core a check is a wait for the result and the inputs, and then a running
 * kernel; so the moot does not end before it.  Under the engine lock.
 */
#ifndef NODE_SCHEDULE_VERIFY_H
#define NODE_SCHEDULE_VERIFY_H

#include "node/schedule/call_frame.h"

/* The program has just spawned it: it may be in the sample, and this rank its checker.
 */
void verify_spawned(struct moot *m, struct task *task);
/* The rank's result is known here, or was made here (digest 0: no digest came). */
void verify_result(struct moot *m, struct task *task, uint32_t rank, uint64_t digest);
/* Of this rank's own result; 0 if it takes none. */
uint64_t verify_digest(const struct moot *m, const struct task *task,
                       const struct payload *payload);
/* A task that can be run a second time now, or NULL. */
struct task *verify_next(struct moot *m);
/* It was, or could not be: `output` is NULL. */
void verify_ran(struct moot *m, struct task *task, const struct payload *output);
/* While a check runs: to the core its task has ended, and reads its inputs no more. */
void verify_pin_inputs(struct task *task);
void verify_unpin_inputs(struct task *task);
void verify_release(struct moot *m);

#endif
