/* call_state.h - kernels that run (node/schedule/call_frame.h), and waits
 * (node/schedule/wait.h).
 */
#ifndef NODE_CONTEXT_CALL_STATE_H
#define NODE_CONTEXT_CALL_STATE_H

#include "node/config/text.h"
#include "node/context/checkpoint_state.h"
#include "node/context/lane_state.h"
#include "node/context/task_state.h"

struct released_child {
    moot_hash hash;
    bool awaited;
};

enum { CALL_INPUTS_INLINE = 16 };

/* Whether the hash of an element is worked out. */
enum element_name { ELEMENT_NAMELESS, ELEMENT_BEING_NAMED, ELEMENT_NAMED };

struct moot_call {
    struct moot *m;
    struct task *task;
    struct lane *lane; /* of the thread that it is on, which a wait may change */
    uint64_t began_ns, stopped_ns; /* stopped last; 0: never */
    uint64_t away_ns;              /* it has waited, off its thread, for so long */
    uint32_t cancelled_by;         /* a rank, if the task is `cancelled` */
    enum { CALL_RUNS, CALL_LEAVES, CALL_STOPPED } state; /* it leaves its thread */
    bool goes_on; /* its wait is over before it has left */
    const struct payload **inputs;
    size_t input_count;      /* data inputs */
    moot_hash *input_hashes; /* an element's, once somebody has asked; zero: not of this
                                one yet */
    struct payload *output;
    struct payload *small;     /* the output if it is small */
    struct payload *discarded; /* outputs that another took the place of: list */
    bool takes_foreign;        /* an input is another rank's: a copy, to be let go of */
    bool check;                /* it is run a second time, to compare (verify.h), */
    bool spoilt;               /* which does not do, as it spawns */
    bool no_memory;            /* an output could not be had */
    bool lacks;                /* an input has failed, so that it has not run */
    bool element;              /* it runs an element, which is no task of its own */
    struct elements *array;    /* of the element that it runs, or makes again; NULL: a
                                  task's, */
    uint64_t index, place;     /* of that element (element_run.h), */
    moot_hash element_hash;    /* and as people see it, */
    int named;                 /* once somebody has asked: enum element_name */
    struct call_checkpoint checkpoint;
    struct text why;
    struct queue_stack queues;
    const char *mishap; /* what moot_call_wait or _spawn met last; NULL: nothing, */
    struct text mishap_story; /* its story, */
    int mishap_code;          /* its error, */
    int mishap_root_code;     /* and the root cause of that, if it is a kernel's; */
    int mishap_root_rank;     /* -1: it is not */
    uint64_t *children;       /* handles; end with the kernel */
    size_t child_count, child_room;
    struct released_child *released; /* of those: before it has ended (descendants.h) */
    size_t released_count, released_room;
    struct payload **borrowed; /* children's results */
    size_t borrowed_count, borrowed_room;
    /* Last, and not cleared. */
    const struct payload *inline_inputs[CALL_INPUTS_INLINE];
};

struct wait_item {
    struct task *task;
    uint32_t verdicts_seen;
    bool needed; /* the core was told */
    bool worded; /* its end may come by a word (many.h) */
    int refused; /* the core knows that it is gone: why; else MOOT_OK */
    bool ended;
    int code; /* once ended */
};

struct wait {
    struct wait *prev, *next;
    struct lane *lane;
    struct moot_call *waiter; /* the kernel that waits for a child; NULL: a lane */
    enum want want;
    bool any; /* one is enough */
    struct wait_item *items;
    size_t count, next_open; /* all before have ended */
    size_t which;            /* `any`: the first that ended */
    uint64_t meeting;        /* not 0: for the outcome of this meeting, and no task */
    bool (*until)(const struct moot *m); /* not NULL: for this, and no task */
    const bool *said; /* not NULL: for this to be true, and no task */
    bool goes_on; /* without more being spawned elsewhere; so others wait for this rank
                   */
    uint64_t since_ns, deadline_ns;
    uint64_t number; /* of waits that go on when all of their tasks have ended */
    uint64_t ends_seen;
    bool stretch; /* of a lane: its items are what has not ended of all that it has */
    uint64_t behind; /* spawned behind this place (moot_group_open) */
    bool worded;     /* the core was told that a lane waits for many, */
    bool words_in;   /* and has said that words tell no more */
    bool over;       /* it has ended by its tasks, */
    bool released;   /* and the core knows that its lane or task goes on */
};

#endif
