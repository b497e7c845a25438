/* workload.h - what the simulated ranks run: programs by name, for any number of ranks.
 *
 * A drawn program of program.h has everything in it, for up to 64 ranks, and finds
 * bugs. A workload is a program with one property, lean enough for thousands of ranks,
 * and answers questions: what does it cost when one spawn in a hundred is skipped?
 *
 * The tasks of most workloads are a *spine* and leaves: every eighth task is of the
 * spine, is spawned by every rank and takes the one before it; a leaf takes one or two
 * of the latest of the spine and nothing takes it.  So a rank can leave out leaves
 * without lacking an input of anything.  After each block of 32 tasks a rank fetches
 * the latest of the spine and some of the leaves that it spawned.
 */
#ifndef CONSENSUS_SIM_PROGRAMS_WORKLOAD_H
#define CONSENSUS_SIM_PROGRAMS_WORKLOAD_H

#include "consensus/faultplan/faultplan.h"
#include "consensus/sim/programs/program.h"
#include "consensus/sim/programs/script.h"

/* X(name, "text", default rate in ppm, 0: it takes none, "what it is") */
#define WORKLOADS(X)                                                                   \
    X(RANDOM, "random", 0, "everything at once, drawn from the seed; to 64 ranks")     \
    X(AGREE, "agree", 0, "every rank spawns alike")                                    \
    X(SKIP, "skip", 10000, "each rank skips each leaf at this rate")                   \
    X(SHUFFLE, "shuffle", 0, "each rank spawns each phase in another order")           \
    X(BRANCH, "branch", 250000, "runs of leaves, at this rate, that one rank spawns")  \
    X(TREE, "tree", 0, "tasks that spawn tasks, three deep")                           \
    X(CHAIN, "chain", 0, "each task takes the one before it")                          \
    X(ARRAY, "array", 250000,                                                          \
      "as agree, and leaves, at this rate, are arrays of tasks")                       \
    X(HOLES, "holes", 100000,                                                          \
      "as skip, and every fourth leaf or so is an array of tasks")                     \
    X(PARTS, "parts", 250000,                                                          \
      "every fourth leaf or so is an array of which ranks spawn parts; a rank skips "  \
      "each at this rate")                                                             \
    X(STEPS, "steps", 50000,                                                           \
      "arrays of tasks, each after the one before; each rank skips each at this rate") \
    X(CANCELS, "cancels", 50000,                                                       \
      "every fourth leaf or so is an array of tasks; each rank cancels each at this "  \
      "rate")                                                                          \
    X(ONCE, "once", 10000, "as skip, and every fourth leaf is a once task")            \
    X(HINT, "hint", 300000,                                                            \
      "as skip; leaves carry a hint, and who skips one declines it")                   \
    X(POISON, "poison", 0,                                                             \
      "as random, and some tasks kill who runs them; 3 to 64 ranks")                   \
    X(SCRIPT, "FILE", 0, "a script: script.h, moot-sim(1)")

enum workload_kind {
#define X(name, text, rate, what) WORKLOAD_##name,
    WORKLOADS(X)
#undef X
        WORKLOAD_END
};

struct workload {
    enum workload_kind kind;
    uint32_t rate_ppm;
    /* Before each phase a rank computes for a draw of this, so that ranks spawn late.
     */
    struct plan_spread lateness;
    const struct script *script; /* SCRIPT; the caller's */
};

/* Whether its phases can be late. */
bool workload_has_phases(enum workload_kind kind);
const char *workload_name(enum workload_kind kind);
/* Reads "skip" or "skip:0.01" or "skip:1%"; false if it is none of the names, or the
 * rate is none, and *error says so.  Lateness and script are left alone. */
bool workload_parse(const char *word, struct workload *out, struct plan_error *error);

/* The program; `tasks` 0: 12 to 60, drawn.  NULL if the script does not fit (*error
 * says how), or a drawn program is to have more than 64 ranks. */
struct program *workload_program(const struct workload *workload, uint64_t seed,
                                 uint32_t ranks, uint32_t tasks,
                                 struct script_error *error);

/* What 0 tasks come to. */
uint32_t workload_task_count(uint64_t seed, uint32_t tasks);

/* A drawn program that outlives deaths and restarts: without barriers.  `more`:
 * features beside all.  With poison it sees to some of these itself. */
struct program *workload_survivable(uint64_t seed, uint32_t ranks, uint32_t tasks,
                                    uint32_t more, struct script_error *error);

#endif
