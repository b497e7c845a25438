/* element_run.h - elements of one array that a thread runs one behind the other.
 *
 * The lock, the seat on the board and the looks at what else there is to do cost more
 * than a short kernel.  So with an element whose kernel is known to be short a thread
 * takes others that are ready, with their inputs, and runs them without coming back:
 * as long as each ends well and leaves nothing but a small result, and all together
 * take no longer than ELEMENT_SLOW_NS.  Then those that have ended end for the array,
 * and those that have not begun go back to it.  No element waits on its thread for
 * others, since it has no children.
 *
 * Nothing is taken so where each element is watched: with a trace, a checkpoint, a plan
 * of faults, or of an array of which no element begins twice.
 *
 * Under the engine lock, but for element_run_next().
 */
#ifndef NODE_SCHEDULE_ELEMENT_RUN_H
#define NODE_SCHEDULE_ELEMENT_RUN_H

#include "node/context/context.h"

struct elements;

enum {
    ELEMENT_SLOW_NS = 4000, /* who takes its result does not wait for other elements */
    ELEMENT_RUN_MAX = 15    /* elements after the first */
};

struct element_run {
    uint32_t count;     /* they were taken; */
    uint32_t ended;     /* so many of them have, or the first in the place of one */
    struct clock clock; /* as it was then, */
    uint64_t began_ns;  /* and the time */
    struct element_next {
        uint64_t place;
        struct payload *output; /* to be written, or of one that has ended */
        size_t input_count;
        const struct payload *inputs[CALL_INPUTS_INLINE];
    } of[ELEMENT_RUN_MAX];
};

/* The call is about to run an element: takes others of its array, or none. */
void element_run_take(struct moot *m, struct element_run *run,
                      const struct moot_call *call);
/* On the thread that runs them: the call's element has returned this code.  True: its
 * result is kept, and the call is another's, which is to be run. */
bool element_run_next(struct element_run *run, struct moot_call *call, int code);
/* Those that have ended end, and the others go back, but for the call's own. */
void element_run_end(struct moot *m, struct element_run *run,
                     const struct moot_call *call);

#endif
