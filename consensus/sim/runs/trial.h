/* trial.h - one run as `moot sim` makes it: a workload, a network, faults, all checks.
 *
 * A trial is a kind of run; a seed makes it one run.  What the trial leaves open is
 * drawn from the seed: the program, the network's weather, and, unless a plan is given
 * or there shall be none, the faults.  Every run is under the checkers: checker.h's
 * without faults, and chaos_checker.h's with them.
 */
#ifndef CONSENSUS_SIM_RUNS_TRIAL_H
#define CONSENSUS_SIM_RUNS_TRIAL_H

#include "consensus/sim/engine/storm.h"
#include "consensus/sim/programs/workload.h"
#include "consensus/sim/runs/layout.h"
#include "consensus/sim/runs/run_stats.h"

enum trial_faults {
    TRIAL_DRAWN, /* each seed its own mix */
    TRIAL_NONE,  /* nothing goes wrong, and membership is fixed */
    TRIAL_PLAN,  /* the plan; everybody on one machine, with a true clock */
    TRIAL_STORM  /* the plan, in the storm that the seed draws: machines, clocks,
                    newcomers, and when faults stop */
};

/* What of the weather may be fixed.
 * X(name, "text", field, kind, 1 if it may be "never" or, a rate, "none", what `auto`
 *   has the core adapt or 0, "what it is"); a kind is 0 for a time, 1 for a count, and
 * 2 for a rate in bytes a second, of which 0 is "none", 3 for a mode of the core */
#define TRIAL_SETTINGS(X)                                                              \
    X(LATENCY, "latency", latency_ns, 0, 0, 0, "what every message takes")             \
    X(JITTER, "jitter", jitter_ns, 0, 0, 0, "what it takes beyond that, at most")      \
    X(LOCAL_LATENCY, "local-latency", local_ns, 0, 0, 0,                               \
      "what it takes within a host, where there are hosts")                            \
    X(POLL, "poll", poll_ns, 0, 0, 0, "until an arrival is handled, at most")          \
    X(GAPS, "gaps", gap_per_mille, 1, 0, 0,                                            \
      "of a thousand turns of a rank, so many leave it deaf for a while")              \
    X(GAP, "gap", gap_ns, 0, 0, 0, "how long, at most")                                \
    X(BANDWIDTH, "bandwidth", bandwidth, 2, 1, 0,                                      \
      "bytes a second that a rank sends, and gets, at most; none: any number")         \
    X(LINK_BANDWIDTH, "link-bandwidth", link_bandwidth, 2, 1, 0,                       \
      "likewise of each pair of ranks, or of hosts, each way")                         \
    X(STEP, "step", step_ns, 0, 0, 0, "the program's own time between calls, at most") \
    X(WORKERS, "workers", workers, 1, 0, 0,                                            \
      "threads that run tasks beside waiting ones")                                    \
    X(ASK_DELAY, "ask-delay", ask_delay_ns, 0, 0, CORE_ADAPT_ASK, "MOOT_ASK_DELAY")    \
    X(GOSSIP_PERIOD, "gossip-period", gossip_period_ns, 0, 0, 0,                       \
      "the least between two tellings of a roll")                                      \
    X(VOTE_TIMEOUT, "vote-timeout", vote_timeout_ns, 0, 1, CORE_ADAPT_VOTE,            \
      "MOOT_VOTE_TIMEOUT")                                                             \
    X(DIVERGENCE, "divergence", mode, 3, 0, 0, "MOOT_DIVERGENCE")                      \
    X(VOTERS, "voters", voters, 1, 0, 0, "MOOT_VOTERS")                                \
    X(CRASHES, "crashes", crashes, 1, 0, 0, "MOOT_CRASHES")                            \
    X(DIRECT_MAX, "direct-max", direct_max, 1, 0, 0,                                   \
      "ranks up to which everyone tells everyone; 0: 64")                              \
    X(TREE_FANOUT, "tree-fanout", tree_fanout, 1, 0, 0, "MOOT_TREE_FANOUT")            \
    X(SIGNATURES, "signatures", signs, 1, 0, 0,                                        \
      "steps of a program from one signature of its state to the next; 0: none")       \
    X(SNAPSHOTS, "snapshots", snapshots_per_mille, 1, 0, 0,                            \
      "of a thousand steps of a program, so many wait for a snapshot first")           \
    X(RELOADS, "reloads", reloads_per_mille, 1, 0, 0,                                  \
      "of a thousand meetings, so many take all back to a snapshot; under faults")     \
    X(DISK, "disk", disk_ns, 0, 0, 0,                                                  \
      "what a rank's disk takes to write its part of a snapshot, at most")             \
    X(HEARTBEAT, "heartbeat", heartbeat_ns, 0, 0, 0, "MOOT_HEARTBEAT")                 \
    X(SUSPECT, "suspect", suspect_ns, 0, 0, CORE_ADAPT_SUSPECT, "MOOT_SUSPECT")        \
    X(LEASE, "lease", lease_ns, 0, 0, 0, "MOOT_LEASE")                                 \
    X(QUORUM_WAIT, "quorum-wait", quorum_wait_ns, 0, 0, 0,                             \
      "how long a rank without a lease lets its waits last")

enum trial_setting {
#define X(name, text, field, kind, never, adapt, what) TRIAL_##name,
    TRIAL_SETTINGS(X)
#undef X
        TRIAL_SETTING_END
};

/* The value of a setting that the core is to learn; it begins as the weather has it,
 * and the suspicion with six heartbeats. */
#define TRIAL_AUTO (CORE_NEVER - 1)

struct trial {
    struct workload workload;
    uint32_t ranks;       /* of the first view */
    uint32_t tasks;       /* 0: drawn, 12 to 60 */
    struct layout layout; /* hosts; their ranks are those of the first view */
    enum trial_faults faults;
    const struct plan *plan; /* PLAN, STORM; NULL: drawn */
    bool steady;             /* an even network instead of a drawn one */
    bool set[TRIAL_SETTING_END];
    uint64_t settings[TRIAL_SETTING_END]; /* where set; ns, a count, or B/s */
    enum sim_canary canary;
};

const char *trial_setting_name(enum trial_setting setting);
/* Reads "5ms", "3", "1GB", "never", "auto": what the setting takes.  False, and *error
 * says what. */
bool trial_setting_parse(enum trial_setting setting, const char *word, uint64_t *out,
                         struct plan_error *error);
/* Reads "1GB", "10Gbit" or "none" (0): bytes a second. */
bool trial_rate_parse(const char *word, uint64_t *out, struct plan_error *error);
size_t trial_setting_format(enum trial_setting setting, uint64_t value, char *text,
                            size_t size);

/* What a run gives beside its tally. */
struct trial_result {
    struct sim_report report; /* the caller frees report.dump */
    struct plan plan;         /* that was carried out; without rules if TRIAL_NONE */
    plan_rules unfired;       /* of a plan that was given: rules that had to fire */
    uint32_t task_count;
};

/* Whether the trial can be: a script that fits the ranks, ranks that a plan names, no
 * barrier where ranks may die.  False, and *error says why not; it has a line if that
 * is one of the script. */
bool trial_check(const struct trial *trial, uint64_t seed, struct script_error *error);

/* Runs it; adds to the tally.  `story`, unless NULL, gets the program and what happens,
 * in plain sentences.  True if no check failed.  trial_check() has said yes. */
bool trial_run(const struct trial *trial, uint64_t seed, FILE *story,
               struct tally *tally, struct trial_result *out);

/* The ranks of the first view, and the newcomers of the plan or that the seed draws. */
uint32_t trial_rank_count(const struct trial *trial, uint64_t seed);
/* How many tasks the seed draws, where the trial leaves it open. */
uint32_t trial_task_count(const struct trial *trial, uint64_t seed);
/* The hosts that the seed draws, if they are drawn, for a replay that does not. */
void trial_settle_layout(struct trial *trial, uint64_t seed);
/* The plan that the seed draws; for a replay that does not draw. */
void trial_draw_plan(const struct trial *trial, uint64_t seed, struct plan *out);

#endif
