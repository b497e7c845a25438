/* medley.h - random programs with all that users have, for ranks real and virtual.
 *
 * A medley has tasks of every kind (base.h) and, task by task and around tasks, what
 * else users have: retries, labels, priorities, data handles, continuations, inputs and
 * finds by hash; scopes, groups and queues of each kind; polls and each kind of wait,
 * declines, parks, barriers, children that nobody waits for, and other lanes that spawn
 * some of the tasks, too.  medley_judge() judges it by the table of chaos programs,
 * tests/mpi/hostile/errors.txt.
 *
 * medley_draw() gives the same for the same seed, ranks and features, so a failure
 * shrinks by leaving features out.  medley_play() is a rank's whole program between
 * moot_open and moot_close.  It speaks moot.h alone, keeps what it knows in a struct
 * medley_player of its own, and writes to a ledger that all ranks have in common.
 */
#ifndef TESTS_MEDLEY_MEDLEY_H
#define TESTS_MEDLEY_MEDLEY_H

#include "node/api/moot.h"
#include "node/api/moot_array.h"
#include "tests/medley/base.h"

/* X(NAME, "word") */
#define MEDLEY_FEATURES(X)                                                             \
    X(RETRIES, "retries") /* kernels that fail, and are run again */                   \
    X(LABELS, "labels")   /* and cancels of all that has a label */                    \
    X(DATA, "data")       /* tasks that read and write data handles */                 \
    X(THEN, "then")       /* continuations */                                          \
    X(HASHES, "hashes")   /* inputs, and finds, by hash */                             \
    X(SCOPES, "scopes")                                                                \
    X(GROUPS, "groups")                                                                \
    X(QUEUES, "queues") /* sequential, bulk, custom; ranks may differ */               \
    X(POLLS, "polls")   /* and waits for any, for some, for all */                     \
    X(PARKS, "parks")                                                                  \
    X(DECLINES, "declines")                                                            \
    X(BARRIERS, "barriers")                                                            \
    X(ORPHANS, "orphans") /* children that their parent leaves running */              \
    X(LANES, "lanes")     /* other threads that spawn */                               \
    X(LARGE, "large")     /* results of megabytes */                                   \
    X(EARLY, "early")     /* ranks that leave before the others */

enum medley_feature {
#define X(name, text) MEDLEY_##name##_BIT,
    MEDLEY_FEATURES(X)
#undef X
        MEDLEY_FEATURE_COUNT
};
#define MEDLEY_HAS(medley, name) ((medley)->features >> MEDLEY_##name##_BIT & 1)
#define MEDLEY_ALL ((1u << MEDLEY_FEATURE_COUNT) - 1)

enum {
    MEDLEY_DATA_MAX = 3,
    MEDLEY_ACCESS_MAX = 2,
    MEDLEY_REGIONS_MAX = 8,
    MEDLEY_CONTRARY_MORE = 3,
    MEDLEY_ARRAYS_MAX = 10,
    MEDLEY_ARRAY_INPUTS_MAX = 3,
    MEDLEY_RETRIES = 2 /* so often a run is made again */
};

enum medley_queue {
    MEDLEY_NO_QUEUE,
    MEDLEY_SEQUENTIAL,
    MEDLEY_BULK,
    MEDLEY_CUSTOM, /* passes up in pairs */
    MEDLEY_QUEUE_KINDS
};

/* A stretch of the program, from..to-1, and what stands around it. */
struct medley_region {
    uint32_t from, to;
    bool scope;
    uint64_t groups; /* the ranks that have a group around it */
    enum medley_queue queues[MEDLEY_RANKS_MAX];
    bool barrier; /* behind it */
};

struct medley_task {
    char label[12];
    int32_t priority;
    uint32_t access_count; /* of data handles; those that read give the first inputs */
    struct {
        uint32_t data;
        bool reads, writes;
    } accesses[MEDLEY_ACCESS_MAX];
    bool updates;       /* the result is made of the first input's bytes */
    uint64_t then;      /* the ranks that spawn it as a continuation */
    uint64_t by_hash;   /* the ranks that name its last input, or find it, by hash */
    uint64_t declined;  /* the ranks that decline it */
    bool leaves;        /* its children are not waited for */
    bool cancels_label; /* its canceller cancels its label */
    bool let_go;        /* nobody but later writers takes it: it is released at once */
};

#define MEDLEY_ARRAY_WELL UINT64_MAX

/* One that cannot be with the counts of both arrays is MEDLEY_CUT (array_maps.c). */
enum medley_map {
    MEDLEY_SAME,
    MEDLEY_WHOLE,
    MEDLEY_CUT,
    MEDLEY_WRAPPED,
    MEDLEY_SHIFT_CUT,
    MEDLEY_SHIFT_WRAPPED,
    MEDLEY_TRANSPOSED,
    MEDLEY_MAPS,  /* so many are drawn, */
    MEDLEY_BLOCKS /* and MEDLEY_SAME is this of an input that has twice as many or more
                   */
};

struct medley_array_input {
    uint32_t array; /* an earlier one */
    enum medley_map map;
    int64_t low, high; /* a shift is by `low`; a table has up to `high` rows */
    uint32_t own;      /* 0; or 1 + the map of the medley's own that it goes by */
};

enum { MEDLEY_OWN_MAPS = 5 };
/* The arguments of these (array_own_maps.c). */
struct medley_own_map {
    uint64_t from, pieces;
};

/* A task array before the task `at` (arrays.c). */
struct medley_array {
    uint32_t at, spread;
    struct medley_array_input inputs[MEDLEY_ARRAY_INPUTS_MAX];
    uint32_t input_count;
    bool alike;                /* it has as many elements as its first input */
    bool large;                /* results that are not sent unasked */
    bool beside;               /* it is beside its first input, if it is alike */
    bool single, single_fails; /* its elements take the result of a task, too */
    uint64_t count, block;
    uint64_t failing;    /* an element; MEDLEY_ARRAY_WELL: none fails */
    uint64_t holders;    /* the ranks that spawn it, */
    uint64_t late;       /* of these a few tasks later than the others, */
    uint64_t contrary;   /* and with more elements */
    uint64_t twice;      /* these spawn it twice, */
    uint64_t let_go;     /* and these release its inputs then */
    uint64_t cancellers; /* ranks that cancel it, if they have spawned it */
    bool once;           /* no element of it starts twice */
    uint64_t candidates; /* ranks that may run it; 0: all */
};

struct medley {
    struct medley_base base;
    uint32_t features;
    struct medley_task tasks[MEDLEY_TASKS];
    struct medley_region regions[MEDLEY_REGIONS_MAX];
    uint32_t region_count;
    struct medley_array arrays[MEDLEY_ARRAYS_MAX];
    uint32_t array_count; /* 0 unless medley_draw_arrays() is called */
    uint64_t lanes;       /* the ranks with other lanes */
};

/* When kernels ran, on a clock that all ranks have in common. */
struct medley_times {
    uint64_t began_ns, ended_ns; /* of the last run */
};

enum { MEDLEY_ELEMENT_STARTS = 1 << 14 };
struct medley_ledger {
    struct medley_ends ledger;
    struct medley_times times[MEDLEY_TASKS];
    atomic_uint children[MEDLEY_TASKS]; /* of a task, that have run */
    uint64_t closes_ns[MEDLEY_REGIONS_MAX][MEDLEY_RANKS_MAX]; /* when its queue does */
    struct medley_array_name {                                /* array_finds.c */
        atomic_uint state;
        moot_hash hash;
    } names[MEDLEY_ARRAYS_MAX];
    atomic_ullong element_starts[MEDLEY_ELEMENT_STARTS]; /* array_onces.c: by hash */
};

struct medley_player {
    const struct medley *medley;
    struct medley_ledger *ledger;
    moot *m;
    int rank;
    moot_kernel_id kernels[MEDLEY_KIND_END], child, element, deed, gather, single,
        array_child, child_sum;
    moot_map_id maps[MEDLEY_OWN_MAPS];
    moot_array arrays[MEDLEY_ARRAYS_MAX]; /* 0: not held, or not any more */
    uint64_t *digests[MEDLEY_ARRAYS_MAX]; /* NULL: it has not spawned the array */
    uint64_t tried[MEDLEY_ARRAYS_MAX]; /* of the first 64 elements: those that failed */
    moot_task handles[MEDLEY_TASKS];
    bool held[MEDLEY_TASKS], released[MEDLEY_TASKS]; /* held: it was spawned */
    uint32_t runs[MEDLEY_TASKS];                     /* of its kernel, here */
    moot_data data[MEDLEY_DATA_MAX];
    uint32_t spawned; /* so far the first lane is */
    bool queues;      /* it has a queue open */
    bool over;        /* the rank is out */
    bool gone;        /* it leaves, or has left */
    bool keeps_one;   /* a canary: a reference is not given back */
};

void medley_draw(struct medley *medley, uint64_t seed, uint32_t ranks,
                 uint32_t features);
/* Arrays, too; the rest stays as it is. */
void medley_draw_arrays(struct medley *medley);
/* Each rank's program; returns how its moot_close() ended. */
int medley_play(struct medley_player *player);
/* 0, or 1 after having printed (NULL: not) each end that nothing allows, and each
 * kernel that ran out of order; 2 if there is no table. */
int medley_judge(const struct medley *medley, const struct medley_ledger *ledger,
                 FILE *to);

#endif
