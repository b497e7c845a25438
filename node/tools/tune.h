/* tune.h - `moot tune`: what its files share.
 *
 *     verb_tune.c      the verb: runs the program, and goes through the steps below
 *     tune_measure.c   what its traces say of the network, the ranks and the waits
 *     tune_program.c   a recorded run as a program of the simulator's
 *     tune_replay.c    runs that with candidate timers, under faults
 *     tune_advise.c    which candidate, and why
 *     tune_print.c     tables, the reason, and the file that MOOT_CONFIG takes
 */
#ifndef NODE_TOOLS_TUNE_H
#define NODE_TOOLS_TUNE_H

#include "consensus/sim/runs/run_stats.h"
#include "node/tools/trace_data.h"

/* Heartbeats of a measured run: often, so that there are round trips to count, and
 * nobody is removed for being measured. */
#define TUNE_HEARTBEAT_NS INT64_C(20000000)

enum {
    TUNE_RUNS_MAX = 20,
    TUNE_NAME_BYTES = 64,
    TUNE_TASKS_MAX = 2000,  /* of a run are replayed */
    TUNE_STEPS_MAX = 40000, /* of all its ranks */
    TUNE_ASKS_LEAST = 16    /* of chairs without the task; fewer say nothing */
};
/* Bytes of the results of a run that is replayed with a bandwidth; what is beyond is
 * taken for small. */
#define TUNE_BYTES_MAX (UINT64_C(256) << 20)

/* Durations; sorted once all are in. */
struct samples {
    int64_t *items; /* ns */
    size_t count, room;
};
void samples_add(struct samples *samples, int64_t ns);
void samples_sort(struct samples *samples);
/* At least so many in ten thousand are no longer; 0 if there are none. */
int64_t samples_at(const struct samples *samples, unsigned per_myriad);
int64_t samples_most(const struct samples *samples);
size_t samples_beyond(const struct samples *samples, int64_t ns); /* how many are */
void samples_free(struct samples *samples);

struct tune_measures {
    uint32_t ranks, runs, hosts, workers; /* workers: MOOT_THREADS */
    int64_t makespan_ns;                  /* of all runs */
    struct samples trips;
    uint32_t trip_from, trip_to;      /* of the longest */
    struct samples gaps;              /* in progress, beyond a millisecond */
    uint32_t gap_rank;                /* of the longest */
    char gap_kernel[TUNE_NAME_BYTES]; /* that ran then; "": none did */
    struct samples silences; /* of a peer: how much later than due its heartbeat came */
    struct samples spawns;   /* of a task: so long after the first rank's */
    /* A chair was asked for what it had not spawned, and so much later */
    struct samples late;    /* spawned it, or */
    struct samples decided; /* gave it away on evidence. */
    uint64_t tasks, votes;
    uint64_t needless; /* votes: of tasks that the chair spawned itself later */
    uint64_t votes_of[EVIDENCE_END];
};

/* Adds what a run's traces say.  False without memory. */
bool tune_measure(const struct trace_job *trace, struct tune_measures *to);
/* Asks that found a chair without the task. */
size_t tune_early_asks(const struct tune_measures *measures);
void tune_measures_sort(struct tune_measures *measures);
void tune_measures_release(struct tune_measures *measures);

/* The chair of a task, as far as the trace says or its hash does. */
uint32_t tune_chair(const struct trace_job *trace, uint32_t task);

/* The wire's rates in a replay: bytes a second of each rank and of each pair of
 * them, as in struct sim_weather; 0: any number. */
struct tune_wire {
    uint64_t bandwidth, link_bandwidth;
};
bool tune_wire_is_bound(const struct tune_wire *wire);

/* The run as a program of one lane for each of the ranks' first: who spawned what,
 * when, and waited where; kernels take as long as they did, and if it is `sized`,
 * results are as large as they were.  Of a long run the beginning, and *whole says
 * whether that is all.  NULL if there is nothing to replay. */
struct program *tune_program(const struct trace_job *trace, bool sized, bool *whole);

/* --- Candidates ------------------------------------------------------------------- */

struct timers {
    const char *name;         /* of a preset; "": none */
    uint64_t vote_timeout_ns; /* or CORE_NEVER */
    uint64_t suspect_ns; /* the heartbeat is a sixth of it, the lease four of these,
                            as the knobs have it */
};
/* The suspicion that `auto` begins with, and stretches for ranks that are late. */
#define TUNE_SUSPECT_AUTO_NS UINT64_C(3000000000)

enum { TUNE_CANDIDATES_MAX = 16, TUNE_RATES = 3 };

struct candidate {
    struct timers timers;
    struct replayed {
        uint64_t runs, broken; /* broken: the simulator did not get to its end */
        uint64_t votes, needless, waits;
        double wait_mean_ns;
        uint64_t wait_p99_ns;
        double run_ns;    /* the mean */
    } at[TUNE_RATES];     /* by share of messages that are late */
    size_t late_beyond;   /* recorded late chairs that it would not have waited for */
    double needless_most; /* of a chair that is asked too early, at 95 % confidence */
    uint64_t removal_ns;  /* of a rank that fell silent, replayed; the longest */
    uint64_t removals;    /* of so many deaths */
    bool frontier; /* no other candidate has as few needless votes, and shorter waits */
    size_t silences_beyond; /* recorded silences that it would have suspected */
    double suspicions_most; /* of a heartbeat, at 95 % confidence */
};

struct tune_advice {
    struct candidate candidates[TUNE_CANDIDATES_MAX]; /* vote timeouts, ascending */
    size_t count;
    struct candidate presets[4]; /* local, lan, wan, and what is advised */
    size_t chosen;               /* of candidates */
    bool enough;                 /* asks to say anything about the vote timeout */
    bool whole;                  /* runs were replayed to their ends */
    struct tune_wire wire;       /* that was assumed */
    struct timers timers;        /* what is advised */
};

extern const unsigned tune_rates_per_mille[TUNE_RATES];

struct tune_input {
    struct program **programs;
    size_t program_count;
    const struct tune_measures *measures;
    struct tune_wire wire;
    uint64_t seeds; /* per program and rate */
};

/* Adds the runs to candidate->at[]. */
void tune_replay_waits(const struct tune_input *input, struct candidate *candidate);
/* After that: kills a rank in the middle of each run, and sees how long the others take
 * to go on without it. */
void tune_replay_death(const struct tune_input *input, struct candidate *candidate);

void tune_advise(const struct tune_input *input, struct tune_advice *out);

/* So many events in so many trials happened: the share that there may be at most, at
 * 95 % confidence (3/n if there were none). */
double tune_share_most(size_t events, size_t trials);

void tune_print_measures(const struct tune_measures *measures, FILE *to);
void tune_print_advice(const struct tune_measures *measures,
                       const struct tune_advice *advice, FILE *to);
/* A file that MOOT_CONFIG takes. */
void tune_write_config(const struct tune_measures *measures,
                       const struct tune_advice *advice, const char *command, FILE *to);

#endif
