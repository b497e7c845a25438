/* chaos.h - random programs of every kind of task, under faults, on real ranks.
 *
 * A seed gives a program and a fault plan (recipe.c).  The ranks play the program
 * (tests/mpi/chaos.c), and write what they start and how their waits end to a ledger, a
 * file that outlives whoever is killed.  Afterwards each end is judged (judge.c): bytes
 * must be the oracle's, and an error must be one that tests/mpi/hostile/errors.txt
 * allows.
 */
#ifndef TESTS_MPI_HOSTILE_CHAOS_H
#define TESTS_MPI_HOSTILE_CHAOS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    CHAOS_TASKS = 40,
    CHAOS_RANKS_MAX = 8,
    CHAOS_INPUTS_MAX = 3,
    CHAOS_REACH = 10, /* so far back inputs reach */
    CHAOS_STORY_BYTES = 240
};

/* X(KIND, "kernel") */
#define CHAOS_KINDS(X)                                                                 \
    X(PURE, "pure")                                                                    \
    X(ONCE, "once")                                                                    \
    X(AGAIN, "again")       /* once, and idempotent */                                 \
    X(VARIES, "varies")     /* non-deterministic */                                    \
    X(PORTABLE, "portable") /* any rank may run it */                                  \
    X(PARENT, "parent")     /* spawns children, and waits for them */

enum chaos_kind {
#define X(name, text) CHAOS_##name,
    CHAOS_KINDS(X)
#undef X
        CHAOS_KIND_END
};

struct recipe {
    enum chaos_kind kind;
    uint32_t
        inputs[CHAOS_INPUTS_MAX]; /* tasks before it; data first, then order only */
    uint32_t input_count, after_count;
    uint64_t holders;    /* the ranks that spawn it */
    uint64_t candidates; /* the ranks that may own it; 0: all */
    int canceller;       /* a rank, or -1 */
    bool fails, hint;
    uint32_t children;
    uint32_t bytes; /* of its result, at least 16 */
    uint32_t kernel_us;
    uint64_t value; /* the first word of its result */
};

struct chaos {
    uint64_t seed;
    uint32_t ranks;
    bool lets_go;      /* ranks release what lies far behind */
    char plan[256];    /* of faults */
    char settings[64]; /* NAME=VALUE of knobs, or "" */
    uint64_t killed;   /* the ranks that the plan kills, if they come to that */
    uint64_t paused;   /* the ranks that the plan stops for longer than MOOT_SUSPECT */
    struct recipe tasks[CHAOS_TASKS];
};

/* How a rank saw a task end. */
struct chaos_end {
    atomic_int seen; /* 1: as below */
    int32_t code;
    uint64_t nonce; /* the second word of its result: which run it is of */
    char story[CHAOS_STORY_BYTES];
};

struct ledger {
    struct chaos_end ends[CHAOS_TASKS][CHAOS_RANKS_MAX];
    atomic_uint starts[CHAOS_TASKS][CHAOS_RANKS_MAX];
    atomic_uint wrong[CHAOS_RANKS_MAX];    /* bytes that are not the oracle's */
    atomic_uint finished[CHAOS_RANKS_MAX]; /* moot_close() ended well */
    atomic_int close_code[CHAOS_RANKS_MAX];
};

/* Draws the program and the plan. */
void chaos_draw(struct chaos *chaos, uint64_t seed, uint32_t ranks);
uint64_t chaos_mix(uint64_t word);
/* The value of a task, from its data inputs' values. */
uint64_t chaos_combine(const struct recipe *recipe, uint32_t task,
                       const uint64_t *inputs);
uint64_t chaos_child(uint32_t task, uint32_t child);

/* 0, or 1 after having printed each end that nothing allows.  `table`: errors.txt. */
int chaos_judge(const struct chaos *chaos, const struct ledger *ledger,
                const char *table);
/* The table as a document has it.  Returns an exit status. */
int chaos_print_table(const char *table, FILE *to);

#endif
