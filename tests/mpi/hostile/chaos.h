/* chaos.h - random programs of everything that users have, under faults, on real ranks.
 *
 * A *case* is one word,
 * SEED[:ranks=N][:tasks=N][:struck=R-R][:away=R-R][:only=FEATURE,...][:no-FEATURE]...,
 * and gives a program (recipe.c) and what goes wrong in it (trouble.c).  Others than
 * the plan may kill the ranks that are `struck`, as by the end of their host, and keep
 * those that are `away` from speaking for longer than MOOT_SUSPECT.  Features are drawn
 * apart from each other, so a case without one of them is otherwise the same: that is
 * how failures shrink (tests/cli/chaos_case.sh).  The ranks play the program
 * (player.h), and write what they start and how their waits end to a ledger, a file
 * that outlives whoever is killed.  Afterwards each end is judged (judge.c): bytes must
 * be the oracle's, and an error must be one that tests/mpi/hostile/errors.txt allows.
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
    CHAOS_LANES_MAX = 2,
    CHAOS_INPUTS_MAX = 3,
    CHAOS_REACH = 10, /* so far back inputs reach */
    CHAOS_GROUPS_MAX = 16,
    CHAOS_RETRIES = 2, /* of the kernel that is retried */
    CHAOS_STORY_BYTES = 1000
};

/* X(KIND, "kernel") */
#define CHAOS_KINDS(X)                                                                 \
    X(PURE, "pure")                                                                    \
    X(ONCE, "once")                                                                    \
    X(AGAIN, "again")       /* once, and idempotent */                                 \
    X(VARIES, "varies")     /* non-deterministic */                                    \
    X(PORTABLE, "portable") /* any rank may run it */                                  \
    X(PARENT, "parent")     /* spawns children */                                      \
    X(RETRIED, "retried")   /* its first runs fail */                                  \
    X(UPDATES, "updates")   /* changes its first input */

enum chaos_kind {
#define X(name, text) CHAOS_##name,
    CHAOS_KINDS(X)
#undef X
        CHAOS_KIND_END
};

/* Features that a case may be without.  X(FEATURE, "word") */
#define CHAOS_FEATURES(X)                                                              \
    X(SECOND_FAULT, "second-fault")                                                    \
    X(FAULT, "fault")                                                                  \
    X(OUTSIDE, "outside") /* signals from outside, wherever the rank is */             \
    X(MEMORY, "memory")   /* a rank may have no more of it */                          \
    X(SHM, "shm")         /* /dev/shm is small, or gets full */                        \
    X(LANES, "lanes")                                                                  \
    X(WORKERS, "workers")                                                              \
    X(STORE, "store") /* a checkpoint, whose disk may be harmed */                     \
    X(RELEASES, "releases")                                                            \
    X(QUEUES, "queues")                                                                \
    X(GROUPS, "groups")                                                                \
    X(SCOPES, "scopes")                                                                \
    X(BARRIERS, "barriers")                                                            \
    X(PARKS, "parks")                                                                  \
    X(POLLS, "polls")                                                                  \
    X(CANCELS, "cancels")                                                              \
    X(LABELS, "labels") /* cancels by label */                                         \
    X(FAILURES, "failures")                                                            \
    X(RETRIES, "retries")                                                              \
    X(CHILDREN, "children")                                                            \
    X(ONCES, "onces")                                                                  \
    X(CHANGES, "changes") /* kernels that are not deterministic */                     \
    X(PORTABLES, "portables")                                                          \
    X(CANDIDATES, "candidates")                                                        \
    X(DATA, "data") /* spawns by data handles, updates in place */                     \
    X(THENS, "thens")                                                                  \
    X(HASHES, "hashes") /* finds and inputs by hash */                                 \
    X(TWICE, "twice")   /* a spec spawned twice */                                     \
    X(HINTS, "hints")                                                                  \
    X(PRIORITIES, "priorities")                                                        \
    X(LARGE, "large")                                                                  \
    X(DIVERGENCE, "divergence")

enum chaos_feature {
#define X(name, text) CHAOS_HAS_##name,
    CHAOS_FEATURES(X)
#undef X
        CHAOS_FEATURE_END
};

struct recipe {
    enum chaos_kind kind;
    uint32_t
        inputs[CHAOS_INPUTS_MAX]; /* tasks before it; data first, then order only */
    uint32_t input_count, after_count;
    uint32_t lane;       /* the thread that spawns it */
    uint64_t holders;    /* the ranks that spawn it */
    uint64_t candidates; /* the ranks that may own it; 0: all */
    int canceller;       /* a rank, or -1 */
    int clearer;         /* a rank that then cancels all that has `clears`, or -1 */
    char label, clears;  /* 'a' to 'c', or 0 */
    int scope;           /* -1: in none */
    int32_t priority;
    bool fails, hint, barrier;
    uint32_t failures; /* of its first runs on a rank, RETRIED */
    uint32_t children;
    bool leaves;    /* the last of them goes on by itself */
    uint32_t bytes; /* of its result, at least 16 */
    uint32_t kernel_us;
    uint64_t value; /* the first word of its result */
};

/* Trouble that strikes one rank, beside the plan. */
struct chaos_blow {
    int rank;        /* -1: nobody */
    uint32_t moment; /* before this task; for a signal, ms after moot_open */
    uint32_t amount; /* bytes that may yet be mapped; ms that it stands still */
    bool is_forever; /* a signal that kills */
};

struct chaos {
    uint64_t seed;
    uint64_t off; /* 1 << feature: it is without that */
    uint32_t ranks, tasks, lanes;
    bool lets_go, queues, groups; /* ranks release what lies far behind, and so on */
    char plan[256];               /* of faults, or "" */
    char settings[128];           /* NAME=VALUE of knobs, or "" */
    bool stores;                  /* it has a checkpoint */
    struct chaos_blow memory, outside, fill;
    uint32_t shm_mib; /* the size of /dev/shm; 0: as it is */
    uint64_t struck;  /* the ranks that somebody else may kill, */
    uint64_t away;    /* and keep from speaking */
    uint64_t killed;  /* the ranks that die, if it comes to that */
    uint64_t paused;  /* the ranks that stand still for longer than MOOT_SUSPECT */
    struct recipe tasks_of[CHAOS_TASKS];
};

/* How a rank saw a task end. */
struct chaos_end {
    atomic_int seen; /* 1: as below */
    int32_t code;
    uint64_t nonce; /* the second word of its result: which run it is of */
    char story[CHAOS_STORY_BYTES];
};

/* How a rank's group ended. */
struct chaos_group {
    atomic_int seen;
    int32_t code;
    uint64_t members; /* tasks that the rank spawned in it */
    char story[CHAOS_STORY_BYTES];
};

struct ledger {
    struct chaos_end ends[CHAOS_TASKS][CHAOS_RANKS_MAX];
    struct chaos_group groups[CHAOS_GROUPS_MAX][CHAOS_RANKS_MAX];
    atomic_uint group_count[CHAOS_RANKS_MAX];
    /* Tasks that a sequential queue may have put before this one, on some rank. */
    _Atomic uint64_t chained[CHAOS_TASKS];
    atomic_uint starts[CHAOS_TASKS][CHAOS_RANKS_MAX];
    atomic_uint wrong[CHAOS_RANKS_MAX];    /* what the player found wrong itself */
    atomic_uint finished[CHAOS_RANKS_MAX]; /* moot_close() ended well */
    atomic_int close_code[CHAOS_RANKS_MAX];
};

struct dice {
    uint64_t word;
};

/* Dice of their own for each `what` of a seed. */
struct dice chaos_dice(uint64_t seed, uint64_t what);
uint32_t dice_draw(struct dice *dice, uint32_t below);
bool dice_chance(struct dice *dice, uint32_t per_cent);
bool chaos_has(const struct chaos *chaos, enum chaos_feature feature);
/* The dice are thrown in any case. */
bool chaos_flip(const struct chaos *chaos, struct dice *dice,
                enum chaos_feature feature, uint32_t per_cent);

/* Draws the program and what goes wrong.  False if the case is none. */
bool chaos_read(struct chaos *chaos, const char *word);
/* The program of a seed, for as many ranks as are set and without what is off. */
void chaos_draw_program(struct chaos *chaos);
/* The words of `moot run`, without the program; before them `memory ` where a rank will
 * have none, and `shm=MIB ` where /dev/shm is to be as small as that. */
void chaos_print_command(const struct chaos *chaos, FILE *to);
void chaos_draw_trouble(struct chaos *chaos);

uint64_t chaos_mix(uint64_t word);
/* The value of a task, from its data inputs' values. */
uint64_t chaos_combine(const struct recipe *recipe, uint32_t task,
                       const uint64_t *inputs);
uint64_t chaos_child(uint32_t task, uint32_t child);
static inline uint32_t recipe_data_count(const struct recipe *recipe)
{
    return recipe->input_count - recipe->after_count;
}
static inline bool recipe_will_fail(const struct recipe *recipe)
{
    return recipe->fails || recipe->failures > CHAOS_RETRIES;
}

/* 0, or 1 after having printed each end that nothing allows.  `table`: errors.txt. */
int chaos_judge(const struct chaos *chaos, const struct ledger *ledger,
                const char *table);
/* The table as a document has it.  Returns an exit status. */
int chaos_print_table(const char *table, FILE *to);

#endif
