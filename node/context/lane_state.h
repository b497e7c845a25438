/* lane_state.h - a thread, as the context sees it (node/engine/lane.h).
 */
#ifndef NODE_CONTEXT_LANE_STATE_H
#define NODE_CONTEXT_LANE_STATE_H

#include "consensus/core.h"
#include "node/config/text.h"
#include "proto/limits.h"

#include <pthread.h>

struct group;
struct moot;
struct task;

#define LANE_NO_NUMBER UINT32_MAX

/* The task queues that a thread, or a running kernel, has open (queue.h). */
struct queue_stack {
    struct moot_queue *top, *entry; /* entry: where spawns go in; NULL: none */
    bool inherits;                  /* a kernel: those of its task were opened */
};

struct bond {
    pthread_mutex_t lock; /* the engine lock */
    struct moot *m;       /* NULL: closed; written under the lock */
    uint32_t references;  /* __atomic */
};

struct lane {
    struct bond *bond;
    const struct moot *of; /* the context's address, which may be void by now */
    struct lane *next_of_thread;
    struct lane *prev, *next; /* in the context */
    struct text error;        /* of the last failed call; the thread's own */
    struct moot_call *call;   /* the kernel that runs on this thread; NULL: none */
    struct board_seat *seat;  /* where that is told (board.h); NULL: not yet, or full */
    bool here;                /* the thread comes round to run kernels (exec.h) */
    uint32_t number;
    enum core_lane_state state; /* as the core was told */
    bool parked;
    bool lacks_room;        /* it stays in a spawn for that (window.h) */
    struct group *group;    /* the innermost that is open (group.h); NULL: none */
    bool telling;           /* in a watch's function (task_watch.h) */
    uint64_t seen_ns;       /* when it last called, not to release, or its wait ended */
    const char *spawn_site; /* of its last top-level spawn, the context's; NULL: none */
    moot_hash scopes[LIMIT_SCOPE_DEPTH];
    uint32_t scope_depth;
    struct queue_stack queues;
    /* Scratch of a spawn, input_room of each: its inputs' hashes, records if known, and
     * the core's entries. */
    moot_hash *hashes;
    struct task **inputs;
    void **entries;
    size_t input_room;
};

#endif
