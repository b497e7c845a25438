/* sim_verb.h - `moot sim`: what its files share.
 *
 *     sim.c          the verb
 *     sim_options.c  the command line
 *     sim_one.c      one run, told whole; and the line that repeats a run
 *     sim_many.c     many runs, on several processes
 *     sim_coverage.c what the runs have reached
 *     sim_shrink.c   a failing run made small
 *     sim_sweep.c    a table over one setting
 */
#ifndef NODE_CLI_SIM_VERB_H
#define NODE_CLI_SIM_VERB_H

#include "consensus/sim/runs/trial.h"
#include "node/cli/cli.h"

enum { SIM_SWEEP_MAX = 32, SIM_JOBS_MAX = 256 };

struct sim_command {
    struct trial trial;
    uint64_t seed_first, seed_last;
    bool one, many; /* --seed was given; --seeds was */
    uint32_t jobs;
    bool trace, shrink, coverage;
    const char *workload_word, *lateness_word;
    /* Owned. */
    struct plan *plan;
    char *script_text;
    size_t script_bytes;
    struct script *script;
    bool sweeps;
    enum trial_setting sweep;
    uint64_t sweep_values[SIM_SWEEP_MAX];
    uint32_t sweep_count;
};

/* CLI_OK, or it has said what is wrong.  Release either way. */
int sim_options_read(int argc, char **argv, struct sim_command *out);
void sim_options_release(struct sim_command *command);
/* Reads "exp:1ms" and the like; false, and *error says what is wrong. */
bool sim_lateness_read(const char *word, struct plan_spread *out,
                       struct plan_error *error);

/* "moot sim --ranks 5 --seed 17 ..." and a newline: a line that a shell repeats. */
void sim_replay_print(const struct sim_command *command, const struct trial *trial,
                      uint64_t seed, FILE *to);
/* "FAILED check: why", and the replay line. */
void sim_failure_print(const struct sim_command *command, const struct trial *trial,
                       uint64_t seed, const struct sim_report *report, FILE *to);

/* Exit statuses. */
int sim_one(const struct sim_command *command);
int sim_many(const struct sim_command *command);
int sim_sweep(const struct sim_command *command);
int sim_shrink(const struct sim_command *command, uint64_t seed);

/* In a build that counts arms this process keeps what it has counted, even if it ends
 * by _exit(). */
void sim_coverage_keep(void);
/* The pairs that the runs had; and the arms, if this build counts them. */
void sim_coverage_print(const struct tally *tally);

struct sim_batch {
    const struct sim_command *command;
    const struct trial *trial;
    uint64_t seed_first, seed_last;
    bool quiet; /* failures are counted and not told */
};

struct sim_outcome {
    struct tally tally;
    uint64_t failing_seed; /* the lowest; UINT64_MAX: none */
    struct sim_untested {  /* good runs, in which what was to strike did not: */
        uint64_t runs, unfired, unseen; /* all; a rule; the canary, that no check saw */
    } untested;
    uint8_t digest[SIM_DIGEST_BYTES]; /* of all runs, in whatever order */
};

/* Adds a run. */
void sim_untested_add(struct sim_untested *untested, const struct trial *trial,
                      const struct trial_result *result);
/* Says of many runs what did not strike. */
void sim_untested_tell(const struct sim_untested *untested, const struct trial *trial);

/* Runs the seeds on the command's number of processes; false if that cannot be. */
bool sim_batch_run(const struct sim_batch *batch, struct sim_outcome *out);

extern const struct verb verb_sim;

#endif
