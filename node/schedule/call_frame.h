/* call_frame.h - one running kernel: the struct behind moot_call.
 *
 * Inputs and arguments are read without the lock: they are pinned while the kernel
 * runs.
 */
#ifndef NODE_SCHEDULE_CALL_FRAME_H
#define NODE_SCHEDULE_CALL_FRAME_H

#include "node/engine/context.h"

enum { CALL_INPUTS_INLINE = 16 };

struct moot_call {
    struct moot *m;
    struct task *task;
    struct lane *lane; /* of the thread that it is on, which a wait may change */
    uint64_t began_ns;
    uint32_t cancelled_by; /* a rank, if the task is `cancelled` */
    enum { CALL_RUNS, CALL_LEAVES, CALL_STOPPED } state; /* it leaves its thread */
    bool goes_on; /* its wait is over before it has left */
    const struct payload **inputs;
    size_t input_count; /* data inputs */
    struct payload *output;
    struct payload *small;     /* the output if it is small */
    struct payload *discarded; /* outputs that another took the place of: list */
    bool takes_foreign;        /* an input is another rank's: a copy, to be let go of */
    bool check;                /* it is run a second time, to compare (verify.h), */
    bool spoilt;               /* which does not do, as it spawns */
    bool no_memory;            /* an output could not be had */
    struct text why;
    struct queue_stack queues;
    const char *mishap; /* what moot_call_wait or _spawn met last; NULL: nothing, */
    struct text mishap_story; /* and its story */
    uint64_t *children;       /* handles; end with the kernel */
    size_t child_count, child_room;
    struct released_child *released; /* of those: before it has ended (family.h) */
    size_t released_count, released_room;
    struct payload **borrowed; /* children's results */
    size_t borrowed_count, borrowed_room;
    /* Last, and not cleared. */
    const struct payload *inline_inputs[CALL_INPUTS_INLINE];
};

/* Gathers the inputs; false without memory. */
bool call_begin(struct moot_call *call, struct moot *m, struct task *task);
/* Makes it the result; what was the result before goes with the call. */
void call_set_output(struct moot_call *call, struct payload *output);
/* Ends borrows and children's handles; leaves `output` and the texts to the caller. */
void call_end(struct moot_call *call);

#endif
