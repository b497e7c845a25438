/* call_frame.h - one running kernel: the struct behind moot_call.
 *
 * Inputs and arguments are read without the lock: they are pinned while the kernel
 * runs.
 */
#ifndef NODE_SCHEDULE_CALL_FRAME_H
#define NODE_SCHEDULE_CALL_FRAME_H

#include "node/context/context.h"

/* Gathers the inputs; false without memory. */
bool call_begin(struct moot_call *call, struct moot *m, struct task *task);
/* Likewise of the element at this place of that array, which call_take_inputs() gives
 * the inputs. */
bool call_begin_element(struct moot_call *call, struct moot *m, struct elements *array,
                        uint64_t place);
/* A task's kernel runs for that element, and has the array's arguments. */
void call_of_element(struct moot_call *call, struct elements *array, uint64_t place);
/* And its inputs, which are all here; false without memory. */
bool call_take_inputs(struct moot_call *call);
/* Makes it the result; what was the result before goes with the call. */
void call_set_output(struct moot_call *call, struct payload *output);
/* Ends borrows and children's handles; leaves `output` and the texts to the caller. */
void call_end(struct moot_call *call);
/* Its kernel did not run, since the checkpoint says how it ended, or that it may have.
 */
static inline bool call_was_found(const struct moot_call *call)
{
    return call->checkpoint.found || call->checkpoint.may_have;
}
/* The time that it has run, without that in which it was stopped for a wait. */
uint64_t call_ran_ns(const struct moot_call *call, uint64_t now_ns);

#endif
