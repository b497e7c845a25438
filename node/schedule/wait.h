/* wait.h - waiting for tasks, by lanes and by running kernels.
 *
 * A wait tells the core what it needs (NEED), lasts until its tasks have ended, and
 * takes the need back (UNNEED).  A task has ended for a
 * wait when its result is known here (and its bytes are here, if they are wanted), when
 * a verdict came since the wait began, when its kernel is in conflict, or when the
 * whole moot failed.  A wait for a meeting has no tasks; the core says what came of it.
 * One until something has none either; it looks whenever its thread does.
 *
 * A need whose wait timed out lingers with the core until its task ends or its last
 * handle is released.  Otherwise a program that polls with a timeout of 0 would never
 * ask anybody: each poll would withdraw the question before its ask delay had passed. A
 * verdict that comes between two polls is kept for the next one.
 *
 * A lane's wait drives progress and runs tasks at the bottom of its thread's stack; a
 * kernel's stops the kernel, and leaves that to others (exec.h).
 *
 * The core is told that a lane or a task goes on (LANE, TASK_WAIT) in the step after
 * the one that ended its wait, whichever thread made it and however long the waiting
 * thread takes to wake: until then the rank could look quiet to its peers, and the moot
 * could fail a wait for what that lane is about to spawn.
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_WAIT_H
#define NODE_SCHEDULE_WAIT_H

#include "node/context/context.h"

/* Runs the wait that the caller filled in (lane, waiter, want, any, items with their
 * tasks, count, deadline_ns).  The items then have their codes.  Returns MOOT_OK when
 * it ended by its tasks, else TIMEOUT, CLOSED or LIMIT; the lane's error text is set.
 */
int wait_run(struct moot *m, struct wait *wait);

/* The core is to know that the wait needs this. */
void wait_need(struct moot *m, struct wait *wait, struct wait_item *item);

/* Another thread may release the handles while it lasts: from here on the tasks'
 * records stay, whatever the core forgets, until wait_unpin(). */
void wait_pin(const struct wait *wait);
void wait_unpin(struct moot *m, const struct wait *wait);

/* Marks every item that has ended by now, not only those that the wait looked at. */
void wait_look_at_all(struct moot *m, struct wait *wait);

/* Sets the lane's error text to the story of a task that ended with `code`, and returns
 * it. */
int wait_tell(struct moot *m, struct lane *lane, const struct task *task, int code);

/* Lets those go on whose waits have ended. */
void wait_release_ended(struct moot *m);

/* CORE_OUT_DONE, _VERDICT and _MET. */
void wait_carry_done(struct moot *m, const struct core_output *output);
void wait_carry_met(struct moot *m, const struct core_output *output);
void wait_carry_verdict(struct moot *m, const struct core_output *output);

/* The program comes to its next meeting, the n-th for all ranks: number n of
 * m->schedule.meetings.  Its threads do so one at a time, since which of two comes
 * first would be chance.  So many bytes of words go with it (PROTOCOL.md, M5). */
int wait_arrive(struct moot *m, const moot_hash *purpose, const void *words,
                size_t words_size);
/* The program is at one of which the outcome is not known. */
static inline bool wait_is_at_meeting(const struct moot *m)
{
    return m->schedule.meetings.number > m->schedule.meetings.met;
}

void wait_end_linger(struct moot *m, struct task *task);

#endif
