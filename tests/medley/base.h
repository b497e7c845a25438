/* base.h - what a medley consists of before there is more in it (medley.h): tasks of
 * every kind, who holds them, what they take, and a fault plan; and what the ranks note
 * of their ends.
 */
#ifndef TESTS_MEDLEY_BASE_H
#define TESTS_MEDLEY_BASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    MEDLEY_TASKS = 40,
    MEDLEY_RANKS_MAX = 8,
    MEDLEY_INPUTS_MAX = 6,
    MEDLEY_INPUTS_DRAWN = 3,
    MEDLEY_REACH = 10, /* so far back inputs reach */
    MEDLEY_STORY_BYTES = 240
};

/* X(KIND, "kernel") */
#define MEDLEY_KINDS(X)                                                                \
    X(PURE, "pure")                                                                    \
    X(ONCE, "once")                                                                    \
    X(AGAIN, "again")       /* once, and idempotent */                                 \
    X(VARIES, "varies")     /* non-deterministic */                                    \
    X(PORTABLE, "portable") /* any rank may run it */                                  \
    X(PARENT, "parent")     /* spawns children, and waits for them */

enum medley_kind {
#define X(name, text) MEDLEY_##name,
    MEDLEY_KINDS(X)
#undef X
        MEDLEY_KIND_END
};

struct medley_recipe {
    enum medley_kind kind;
    uint32_t
        inputs[MEDLEY_INPUTS_MAX]; /* tasks before it; data first, then order only */
    uint32_t input_count, after_count;
    uint32_t ordered_from; /* the tasks from here on may come before it by a queue */
    uint64_t holders;      /* the ranks that spawn it */
    uint64_t candidates;   /* the ranks that may own it; 0: all */
    int canceller;         /* a rank, or -1 */
    bool fails, hint;
    uint32_t failing_runs; /* so many runs fail before one does not */
    uint32_t children;
    uint32_t bytes; /* of its result, at least 16 */
    uint32_t kernel_us;
    uint64_t value; /* the first word of its result */
};

struct medley_base {
    uint64_t seed;
    uint32_t ranks;
    bool lets_go;      /* ranks release what lies far behind */
    char plan[256];    /* of faults */
    char settings[64]; /* NAME=VALUE of knobs, or "" */
    uint64_t killed;   /* the ranks that the plan kills, if they come to that */
    uint64_t early;    /* the ranks that leave before the others, */
    uint32_t leaves_at[MEDLEY_RANKS_MAX]; /* and the tasks that they come to no more */
    uint64_t paused; /* the ranks that the plan stops for longer than MOOT_SUSPECT */
    struct medley_recipe tasks[MEDLEY_TASKS];
};

/* How a rank saw a task end. */
struct medley_end {
    atomic_int seen; /* 1: as below */
    int32_t code;
    uint64_t nonce; /* the second word of its result: which run it is of */
    char story[MEDLEY_STORY_BYTES];
};

struct medley_ends {
    struct medley_end ends[MEDLEY_TASKS][MEDLEY_RANKS_MAX];
    atomic_uint starts[MEDLEY_TASKS][MEDLEY_RANKS_MAX];
    atomic_uint wrong[MEDLEY_RANKS_MAX];    /* bytes that are not the oracle's */
    atomic_uint finished[MEDLEY_RANKS_MAX]; /* moot_close() ended well */
    atomic_int close_code[MEDLEY_RANKS_MAX];
    /* The task, and one more, before which a group of the rank's first ended in an
     * error: among what it waited for may have been children that are lost. */
    atomic_uint group_ended_ill[MEDLEY_RANKS_MAX];
};

/* Draws the program and the plan. */
void medley_draw_base(struct medley_base *base, uint64_t seed, uint32_t ranks);
uint64_t medley_mix(uint64_t word);
/* The value of a task, from its data inputs' values. */
uint64_t medley_combine(const struct medley_recipe *recipe, uint32_t task,
                        const uint64_t *inputs);
uint64_t medley_child(uint32_t task, uint32_t child);

/* 0, or 1 after having printed each end that nothing allows.  `table`: errors.txt. */
int medley_judge_ends(const struct medley_base *base, const struct medley_ends *ledger,
                      FILE *to);

#endif
