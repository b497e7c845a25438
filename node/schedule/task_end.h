/* task_end.h - how a task ends: here, with a result or with an error and its story, or
 * at a peer that has sent either.
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_TASK_END_H
#define NODE_SCHEDULE_TASK_END_H

#include "node/context/context.h"
#include "node/tasks/error_chain.h"

/* The core hears it (CORE_EV_DONE) after the present step.  Takes over the payload,
 * which is NULL only for an error whose story found no memory. */
void task_end(struct moot *m, struct task *task, int status, struct payload *payload);
/* Takes over the story. */
void task_end_with_story(struct moot *m, struct task *task, int status,
                         struct root_cause root, struct text *story);
/* Its kernel has returned this code; takes over the output. */
void task_end_kernel(struct moot *m, struct moot_call *call, int code);
/* An input that keeps the task from running; NULL: none. */
const struct task *task_failed_input(const struct moot *m, const struct task *task);
/* After that one.  `taken_over`: from a rank that is lost. */
void task_end_after(struct moot *m, struct task *task, const struct task *failed,
                    bool taken_over);
void task_end_cancelled(struct moot *m, struct task *task, uint32_t by, bool ran);
void task_end_lost(struct moot *m, struct task *task);
/* No memory for a place among those that are ready. */
void task_end_unplaced(struct moot *m, struct task *task);

/* CORE_OUT_PART, CORE_OUT_RESULT: a peer's, which the core has accepted. */
void task_end_carry_part(struct moot *m, const struct core_output *output);
void task_end_carry_result(struct moot *m, const struct core_output *output);

/* Lets its inputs go, once the core has heard that it has ended: until then it keeps
 * them. */
void task_release_inputs(struct moot *m, struct task *task);

#endif
