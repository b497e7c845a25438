/* carry_run.h - what the core says of tasks that this rank is to run.
 *
 * A task becomes ready (ready.h), or ends at once: because it was cancelled, because an
 * input has failed, or because it is one of the library's own that has nothing to run
 * (kernel.h, `opens`).  An array has ended with its last element.
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_CARRY_RUN_H
#define NODE_SCHEDULE_CARRY_RUN_H

#include "node/context/context.h"

/* CORE_OUT_RUN: the task becomes ready, or ends at once: with the output's code, if
 * that is not MOOT_OK, or because an input has failed. */
void carry_run(struct moot *m, const struct core_output *output);
/* The task of one of the library's own kernels is to be run after all. */
void carry_ready(struct moot *m, struct task *task);
/* CORE_OUT_CANCEL: it does not start, or its kernel hears of it. */
void carry_cancel(struct moot *m, const struct core_output *output);

#endif
