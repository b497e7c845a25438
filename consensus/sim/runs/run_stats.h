/* run_stats.h - what runs have cost, counted by a watcher.
 *
 * A tally is plain numbers, so that those of many runs, or processes, are added up.  A
 * watch counts one run by its sights alone, never out of a core:
 *
 *   a vote is      a chair's passing of the point vote.cast: it yields a task, on
 *                  evidence.  It was *needless* if the chair spawned the task itself
 *                  afterwards: had it been left alone, it would have run the task.
 *   an ask is      a rank's motion that wants a result, until the rank has it; of a
 *                  vote if the task was voted on.  Its latency runs from the motion, so
 *                  the delay before it is not in it, and the kernel's time is.
 *   a vote costs   all messages about the task that deciding and telling takes:
 *                  motions, searches, decisions, acceptances, results
 *   bytes          are those of messages, without the envelopes of frames: in a job
 *                  several messages to one peer share a frame, and here none do
 *   gossip         ROLL, WANT, HASHES and STATE, in bytes; a rank that spawns a task
 *                  has so many peers to tell
 */
#ifndef CONSENSUS_SIM_RUNS_RUN_STATS_H
#define CONSENSUS_SIM_RUNS_RUN_STATS_H

#include "consensus/sim/engine/sim.h"

enum {
    TALLY_STEPS = 16,
    TALLY_BINS = (64 - 4 + 1) * TALLY_STEPS,
    TALLY_CODES = 64 /* above all of MOOT_ERRORS */
};

/* Changes of membership, and of sessions, that a run may have.
 * X(name, "text") */
#define TALLY_FEATURE_LIST(X)                                                          \
    X(JOIN, "a rank joins")                                                            \
    X(LEAVE, "a rank leaves")                                                          \
    X(DEATH, "a rank dies")                                                            \
    X(BOUNDARY, "a session ends and another begins")                                   \
    X(BOUNDARY_LEAVE, "a rank leaves at such a boundary")                              \
    X(BOUNDARY_DEATH, "a rank dies while others are at a boundary")                    \
    X(BOUNDARY_JOIN, "a newcomer is let in while others are at a boundary")            \
    X(BOUNDARIES, "there are several boundaries")

enum tally_feature {
#define X(name, text) TALLY_##name,
    TALLY_FEATURE_LIST(X)
#undef X
        TALLY_FEATURES
};

/* Durations, by size in steps of a sixteenth of a power of two. */
struct tally_spread {
    uint64_t count, most_ns, sum_ns, bins[TALLY_BINS];
};

struct tally {
    uint64_t runs, violations; /* of these, that failed */
    uint64_t ranks;            /* of all runs, as are the sums below */
    uint64_t events, time_ns;
    uint64_t views, deaths, removed, joined, departed, quorums_lost;
    struct sim_standstill standstill; /* the nearest to its bound */
    struct sim_wire wire;             /* of the run in which a rank sent and got most */
    struct sim_links links; /* sums of all runs; the busiest are of the one in which a
                               link carried most */
    uint64_t boundaries, boundary_left, boundary_deaths, boundary_joined;
    uint64_t snapshots, reloads;       /* answers that say that one exists; and so often
                                          all went back to one */
    uint64_t featured[TALLY_FEATURES]; /* runs that had it */
    uint64_t fired[PLAN_FAULT_END];    /* by kind */
    uint64_t struck[PLAN_FAULT_END];   /* runs in which one of the kind fired */
    uint64_t spawns, tasks_run, elements_ended;
    uint64_t votes[EVIDENCE_END], needless[EVIDENCE_END];
    uint64_t voted;                                /* tasks with a vote */
    uint64_t vote_messages, vote_bytes, vote_asks; /* of these tasks */
    uint64_t messages[MESSAGE_TYPE_END], bytes[MESSAGE_TYPE_END];
    uint64_t met[MESSAGE_TYPE_END][CORE_STANDING_END]; /* received, by who did */
    uint64_t rank_messages_most, rank_bytes_most;      /* sent by one rank in one run */
    uint64_t gossip_pairs; /* of a task that a rank spawns and a
                              peer of that */
    struct tally_spread asks, vote_asks_ns;
    struct tally_spread waits;         /* of lanes, from the call to its end */
    uint64_t wait_errors[TALLY_CODES]; /* of these, by -code */
};

void tally_add(struct tally *to, const struct tally *more);
uint64_t tally_total(const uint64_t *numbers, int count);
/* At least so many in a thousand are no longer; to a sixteenth.  0 if there are none.
 */
uint64_t tally_percentile_ns(const struct tally_spread *spread, uint32_t per_mille);
uint64_t tally_gossip_bytes(const struct tally *tally);

/* --- Watching --------------------------------------------------------------------- */

struct tally_watch;
struct tally_watch *tally_watch_new(const struct program *program);
struct sim_watcher tally_watcher(struct tally_watch *watch);
/* Adds the run, whose plan may be NULL, to the tally, and frees the watch. */
void tally_watch_end(struct tally_watch *watch, const struct sim_report *report,
                     const struct plan *plan, struct tally *to);

/* --- For people ------------------------------------------------------------------- */

/* Lines, indented by two, of what was counted; per run where there are several. */
void tally_print(const struct tally *tally, FILE *to);
/* A table of what types of messages met ranks that stood how (core_view.h), and of the
 * pairs that never came. */
void tally_print_met(const struct tally *tally, FILE *to);
/* A line for each change of membership: the runs that had it, or that none had. */
void tally_print_features(const struct tally *tally, FILE *to);
/* "1.5 ms" and the like. */
void tally_time_format(uint64_t ns, char *text, size_t size);

#endif
