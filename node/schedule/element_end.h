/* element_end.h - how an element of a task array ends, and the array itself.
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_ELEMENT_END_H
#define NODE_SCHEDULE_ELEMENT_END_H

#include "node/context/context.h"

struct elements;

/* The core gives these to be run here; of some this rank may have made the results
 * again. As elements_add(). */
int element_give(struct moot *m, struct elements *elements, struct range places);
/* CORE_OUT_ELEMENTS: these were added, with this error. */
void element_carried(struct moot *m, const struct core_output *output, int error);
/* Those of that home that are held end, as they may have run elsewhere; the core hears
 * it. */
void element_deny(struct moot *m, struct elements *elements, uint32_t home);
/* How it ends, for records. */
int element_code(const struct moot_call *call, int code);
/* Its kernel has returned this code; takes over the output.  The core hears it. */
void element_end(struct moot *m, struct moot_call *call, int code);
/* Likewise of one that has ended with this result, which is taken over. */
void element_end_well(struct moot *m, struct elements *elements, uint64_t place,
                      struct payload *result);
/* An element that was given to a thread has not begun: it is to be run yet, or, if its
 * array is cancelled, not any more. */
void element_put_back(struct moot *m, struct elements *elements, uint64_t place);
/* Whether an input of the element has failed; then it is to end so.  call->why says why
 * its map names none, if that is so. */
bool element_lost_input(struct moot_call *call);
/* Tells the core that so many elements wait for inputs, and so many tasks for elements
 * that are made again, and nothing else is to be run. */
void elements_say_waiting(struct moot *m, uint64_t count, uint32_t reads);
/* Something has come or ended: elements may go on, or be asked about otherwise.  Until
 * it is known again that they wait they count as running. */
void elements_go_on(struct moot *m);
/* CORE_OUT_CANCEL of an array: none of its elements begins here any more. */
void element_cancel_array(struct moot *m, struct task *task);
/* CORE_OUT_RUN of an array, with how it is to end: all elements have ended. */
void element_end_array(struct moot *m, struct task *task, int code);

#endif
