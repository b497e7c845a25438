/* program.h - random diverging SPMD programs, and what each of their tasks must give.
 *
 * From a 64-bit seed program_new() makes a DAG of tasks and, for every rank and lane, a
 * script: which tasks it spawns, in which order, which it declines, and where it waits.
 * The same seed gives the same program on every machine.  The simulator runs the
 * scripts on virtual ranks; the tests under mpirun run them through moot.h:
 *
 *     p = program_new(&(struct program_options){ .seed = 17, .ranks = moot_size(m) });
 *     register the kernels 0..PROGRAM_KERNELS-1 (program_kernel_name, _kernel_flags);
 *     start lane 0..p->lane_count-1, each stepping through program_script(p, rank,
 * lane).
 *
 * A task's kernel computes program_compute() over the results of its inputs and of the
 * children that it awaits, so program_result() (the same, evaluated serially) is the
 * oracle for every result on every rank.
 *
 * What a kernel does, in this order: if `fails`, it fails at once.  It spawns its
 * children in the order given; if `poison`, it kills the rank that it runs on; waits
 * for those with `awaited`; fails if one of these failed; and computes.
 *
 * Why such programs are deadlock-free.  The place of a task in the array is its
 * canonical index; inputs, `after` and parents have lower indices.  The one rule about
 * waits (W): a lane waits for a top-level task t only after it has spawned everything
 * of its own with an index up to t's.  Suppose ranks were blocked for good, and let t
 * be the task of lowest index that some lane waits for.  Every other lane has ended,
 * or waits for a task of an index no lower than t's; by (W) each has spawned all that
 * it will ever hold up to t.  So t and all that it depends on are registered with all
 * their holders, one of whom is a candidate; nothing that t needs is behind a wait, and
 * a moot that gives every registered task to some holder ends the wait.  The order in
 * which a rank spawns does not enter.  A barrier at index b is a wait of all ranks that
 * each enters after spawning everything up to b, and the same argument holds.  So it
 * does for a meeting of lanes 0, which ends, too, when a rank that does not come has
 * ended: that one waits, on no lane, for anything above the first meeting that it lets
 * be.
 *
 * A running kernel waits only for its own children, and a child's inputs are older
 * siblings or come before the top-level task that it is of.  Kernels that wait keep no
 * thread (a runtime must see to that), so a child's end rests on tasks of lower indices
 * alone, and the argument above covers it.
 *
 * A rank closes a scope after its last spawn in it, and releases it after its last step
 * that names a task of it, as what it spawns, waits for or takes as an input.
 *
 * A *ghost* is a task that no rank spawns: a wait for one must end in
 * MOOT_ERR_NOT_HELD.  When all else is quiet, the moot may end any wait whose task
 * nobody holds *yet*, so a lane waits for ghosts, and for tasks that depend on them,
 * only after its last spawn.  A poll ends by itself, so it may name any task at any
 * place; it may run out of time or find NOT_HELD.
 */
#ifndef CONSENSUS_SIM_PROGRAMS_PROGRAM_H
#define CONSENSUS_SIM_PROGRAMS_PROGRAM_H

#include "hashing/base/range.h"
#include "hashing/rankset.h"
#include "proto/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    PROGRAM_NONE = -1,
    PROGRAM_RANKS_MAX = 64, /* of a drawn program: its rank sets are one word */
    PROGRAM_LANES_MAX = 4,
    PROGRAM_NEST_MAX = 3,
    PROGRAM_NAME_BYTES = 32,
    PROGRAM_ARGS_BYTES = 24,
    PROGRAM_KEY_BYTES = 8,
    PROGRAM_SCOPES_MAX = 6,
    PROGRAM_MEETS_MAX = 4 /* of a drawn program */
};

/* What may occur in a random program.  A failing seed is made smaller by taking
 * features away; what is left is drawn from the same stream. */
enum program_feature {
    PROGRAM_SKIPS = 1 << 0,    /* ranks hold different tasks */
    PROGRAM_DISORDER = 1 << 1, /* ranks spawn in different orders */
    PROGRAM_WAITS = 1 << 2,    /* waits stand between spawns, differently per rank */
    PROGRAM_NESTED = 1 << 3,   /* kernels that spawn */
    PROGRAM_ONCE = 1 << 4,     /* once tasks */
    PROGRAM_CANDIDATES =
        1 << 5, /* candidate sets, explicit owners, and beside others */
    PROGRAM_HINTS = 1 << 6,
    PROGRAM_DECLINES = 1 << 7,
    PROGRAM_PORTABLE = 1 << 8,
    PROGRAM_AFTER = 1 << 9,
    PROGRAM_FAILURES = 1 << 10, /* kernels that fail */
    PROGRAM_GHOSTS = 1 << 11,   /* waits for what nobody spawns */
    PROGRAM_LANES = 1 << 12,    /* several lanes */
    PROGRAM_BARRIERS = 1 << 13, /* parked in foreign blocking code */
    PROGRAM_LARGE = 1 << 14,    /* results above LIMIT_EAGER_BYTES */
    PROGRAM_LACKS = 1 << 15,    /* inputs and waits that the rank itself never spawns */
    PROGRAM_POLLS = 1 << 16,    /* waits with a timeout */
    PROGRAM_CANCELS = 1 << 17,  /* ranks that cancel what they spawn */
    PROGRAM_SCOPES = 1 << 18,   /* phases that end, and are forgotten */
    PROGRAM_MEETS = 1 << 19,    /* places that all ranks come to */
    PROGRAM_ALL = (1 << 20) - 1,
    /* Beside all: any rank cancels any task of the program, at any moment; some tasks,
     * fewer than half of the ranks, kill who runs them; and lanes park. */
    PROGRAM_LATE_CANCELS = 1 << 20,
    PROGRAM_POISON = 1 << 21,
    PROGRAM_PARKS = 1 << 22,    /* lanes that park for a while, alone */
    PROGRAM_SESSIONS = 1 << 23, /* places at which some leave, and newcomers come in */
    PROGRAM_GATHERS = 1 << 24,  /* with MEETS: each program has such places */
    PROGRAM_ARRAYS = 1 << 25,   /* some tasks are arrays */
    /* Of these, programs are plain (below). */
    PROGRAM_PLAIN = PROGRAM_ALL & ~(PROGRAM_CANDIDATES | PROGRAM_LANES |
                                    PROGRAM_BARRIERS | PROGRAM_LACKS | PROGRAM_POLLS),
    /* The agreeing variant: every rank runs the same script. */
    PROGRAM_AGREEING = PROGRAM_WAITS | PROGRAM_ONCE | PROGRAM_AFTER | PROGRAM_LARGE |
                       PROGRAM_SCOPES | PROGRAM_MEETS | PROGRAM_ARRAYS
};

struct program_options {
    uint64_t seed;
    uint32_t ranks;    /* 1..PROGRAM_RANKS_MAX */
    uint32_t tasks;    /* about how many; 0: 50..500, drawn from the seed */
    uint32_t features; /* program_feature bits; 0: PROGRAM_ALL */
    bool agree;        /* no divergence and no hint: only PROGRAM_AGREEING features, and
                          scripts that are equal but for where they wait */
};

/* A list of task indices. */
struct program_list {
    uint32_t *items;
    uint32_t count, capacity;
};

struct program_task {
    char name[PROGRAM_NAME_BYTES];
    int32_t parent; /* index of the kernel that spawns it; PROGRAM_NONE: top level */
    uint32_t depth; /* 0: top level */
    uint32_t lane;  /* that spawns it, on every holder; top level only */
    struct program_list inputs;   /* data, in order; top level: top level tasks only */
    struct program_list after;    /* order only */
    struct program_list children; /* spawned by its kernel, in order */
    struct rankset holders;       /* ranks whose scripts spawn it; nested: none */
    struct rankset decliners;     /* ranks whose scripts decline it */
    uint64_t candidates;          /* ranks, of the first 64, that may own it; 0: all */
    uint64_t cancellers; /* ranks that may cancel it, as soon as they have spawned it;
                            then it may end in MOOT_ERR_CANCELLED.  Nothing needs it */
    uint64_t late_cancellers; /* ranks whose scripts cancel it somewhere */
    int32_t beside; /* index of the task whose place it has; PROGRAM_NONE: its own */
    bool once;
    bool idempotent; /* once: may be run again if its owner has died */
    bool varies;     /* said to give another result with each run */
    bool portable;
    bool hint;
    bool awaited; /* nested: its parent waits for it and uses its result */
    bool fails;   /* its kernel fails; it has no children */
    bool poison;  /* its kernel kills the rank that runs it; so its oracle fails */
    uint32_t result_bytes;
    uint32_t work_us;  /* how long its kernel should take */
    uint32_t scope;    /* top level: 1..PROGRAM_SCOPES_MAX; 0: in none */
    uint32_t salt;     /* part of its arguments: a scenario picks a chair with it */
    uint64_t elements; /* it is an array of so many, of which one fails if it `fails`;
                          each takes work_us; top level, no inputs; its end
                          alone comes after others, however these end; 0: a task */
    uint64_t block;    /* of its spread, */
    uint32_t spread;   /* an array_spread_kind */
    uint64_t homes;    /* its candidates, as those of a task; 0: all ranks are homes */
    bool parted;       /* some rank spawns a part of it, */
    bool gaps;         /* and nobody some element, or so it may be; so it may fail */
    bool stretches;    /* what a home leaves of it goes to one rank (A17) */
};

enum program_op {
    PROGRAM_SPAWN,    /* tasks[0]; of an array some elements, if there are places */
    PROGRAM_GROW,     /* more of the array tasks[0], which has been spawned in part */
    PROGRAM_DECLINE,  /* tasks[0], which this rank does not hold */
    PROGRAM_WAIT_ALL, /* until all of tasks[] have ended; completion is enough */
    PROGRAM_WAIT_ANY, /* until one of tasks[] has ended */
    PROGRAM_FETCH,    /* tasks[0], with its bytes */
    PROGRAM_POLL,     /* tasks[0], for pause_us; how it ends says nothing */
    PROGRAM_COMPUTE,  /* the program's own work, for pause_us */
    PROGRAM_BARRIER,  /* parked until lane 0 of every rank is here */
    PROGRAM_PARK,     /* parked for pause_us */
    PROGRAM_CANCEL,   /* tasks[0], whoever has spawned it or will */
    PROGRAM_MEET,     /* until all ranks have come to this meeting, or ended; lane 0 */
    PROGRAM_SESSION, /* until the next session begins; or it leaves at this one's end */
    PROGRAM_SNAPSHOT, /* until the one that it asks for exists, or does not; of none
                         that is drawn */
    PROGRAM_RELOAD /* until all ranks have come to go back to the latest snapshot: then
                      the script begins anew, and passes this; of none that is drawn */
};

struct program_step {
    enum program_op op;
    uint32_t pause_us;
    uint32_t purpose; /* of a meeting: alike on all ranks, or it fails */
    bool leaves;      /* at the end of a session */
    struct program_list tasks;
    struct range places; /* SPAWN, GROW: these elements alone; of none: all */
};

struct program_script {
    struct program_step *steps;
    uint32_t count, capacity;
};

struct program {
    uint64_t seed;
    uint32_t rank_count, lane_count;
    uint32_t features; /* in effect */
    bool agree;
    uint32_t sessions; /* ends of these in its longest script */
    bool waits_alike;  /* agreeing, and every rank waits where the others wait */
    /* One lane, no candidates, no meeting, at which a rank stands with a roll however
     * short, and ranks wait for nothing but what they have spawned, inputs and all:
     * whoever waits could run it, so evidence alone must decide every vote, without
     * QUIET. */
    bool plain;
    struct program_task *tasks; /* by canonical index */
    uint32_t task_count, task_capacity;
    struct program_script *scripts; /* rank_count * lane_count */
    struct program_outcome {
        bool fails, runs, ghostly;
        bool shaky;     /* it, or something that it takes, may be cancelled, */
        bool homed;     /* or is an array that has candidates */
        uint8_t *bytes; /* tasks[i].result_bytes of them, unless it fails */
    } *outcomes;        /* by index, after program_finish() */
};

/* NULL if an option is out of range.  Memory that runs out ends the process: programs
 * are a test tool. */
struct program *program_new(const struct program_options *options);
void program_free(struct program *program); /* accepts NULL */

/* --- By hand: what program_new() is made of, for written scenarios ---------------- */

/* Of 1..LIMIT_RANKS ranks. */
struct program *program_blank(uint64_t seed, uint32_t ranks, uint32_t lanes);
/* Appends a top-level task (parent PROGRAM_NONE) or a child.  Returns its index.  The
 * caller fills in the fields of tasks[index], which moves with the next call. */
uint32_t program_add_task(struct program *program, const char *name, int32_t parent);
void program_list_add(struct program_list *list, uint32_t item);
/* Appends a step to a script, with one task, or with none if it is PROGRAM_NONE. */
struct program_step *program_add_step(struct program *program, uint32_t rank,
                                      uint32_t lane, enum program_op op, int64_t task);
/* Evaluates the oracle.  Call it last. */
void program_finish(struct program *program);

/* --- Running it ------------------------------------------------------------------- */

const struct program_script *program_script(const struct program *program,
                                            uint32_t rank, uint32_t lane);
/* Rank 0's first lane has such a step. */
bool program_has_step(const struct program *program, enum program_op op);

/* Kernels, to be registered alike on every rank. */
enum {
    PROGRAM_KERNEL_ONCE = 1,
    PROGRAM_KERNEL_PORTABLE = 2,
    PROGRAM_KERNEL_IDEMPOTENT = 4,
    PROGRAM_KERNELS = 8
};
/* Which kernel the task applies: a sum of the flags above. */
uint32_t program_kernel(const struct program *program, uint32_t task);
const char *program_kernel_name(uint32_t kernel);

/* The task's argument bytes, which name it; and back (task_count if they do not). */
void program_args(const struct program *program, uint32_t task,
                  uint8_t args[PROGRAM_ARGS_BYTES]);
uint32_t program_args_task(const struct program *program, const void *args,
                           size_t size);
/* The key of a once task. */
void program_key(const struct program *program, uint32_t task,
                 uint8_t key[PROGRAM_KEY_BYTES]);

struct program_bytes {
    const void *data;
    size_t size;
};
/* A task's result: `parts` are its inputs' results in order, then those of its awaited
 * children in order.  Writes tasks[task].result_bytes bytes. */
void program_compute(const struct program *program, uint32_t task,
                     const struct program_bytes *parts, size_t part_count,
                     uint8_t *out);

/* --- The oracle ------------------------------------------------------------------- */

/* The result; NULL with *size 0 if the task fails. */
const uint8_t *program_result(const struct program *program, uint32_t task,
                              size_t *size);
/* It, an input, an `after` or an awaited child fails, or nobody spawns one of them. */
bool program_fails(const struct program *program, uint32_t task);
/* Its kernel runs (once in the job): its spawner exists and nothing before it failed.
 */
bool program_runs(const struct program *program, uint32_t task);
/* It, or something that it takes, may be cancelled: then it fails, or is never spawned,
 * whatever the oracle says. */
bool program_shaky(const struct program *program, uint32_t task);
/* The task, or something that it takes, may end for want of an array's candidates,
 * where these die. */
bool program_homed(const struct program *program, uint32_t task);
/* The rank may run elements of that array. */
bool program_is_home(const struct program *program, uint32_t task, uint32_t rank);
/* The number of its tasks that are poison. */
uint32_t program_poison_count(const struct program *program);
/* Nobody will ever spawn it. */
bool program_ghost(const struct program *program, uint32_t task);

void program_print(const struct program *program, FILE *to);

#endif
