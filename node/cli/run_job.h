/* run_job.h - a job of `moot run`: what its command line says, and what becomes of it.
 */
#ifndef NODE_CLI_RUN_JOB_H
#define NODE_CLI_RUN_JOB_H

#include "node/cli/run_fleet.h"
#include "node/cli/run_late.h"
#include "node/config/knobs.h"
#include "node/launch/launch.h"

enum { SETTINGS_MAX = 32 };

struct job {
    int ranks;                              /* that it begins with, */
    int started;                            /* and so many with those that joined */
    int min, max;                           /* at a time */
    const char *ranks_word;                 /* as it was written, */
    const char *min_word, *max_word;        /* likewise; NULL: not */
    const char *settings[SETTINGS_MAX + 1]; /* "MOOT_NAME=value", NULL-terminated */
    int setting_count;
    char **program; /* and its arguments, NULL-terminated */
    struct knobs knobs;
    char path[LAUNCH_PATH_BYTES];
    const char *faults;     /* the plan's text; NULL: none was given here */
    const char *trace;      /* the folder for records; likewise */
    const char *checkpoint; /* the folder of results that outlive the job; likewise */
    struct plan *plan;      /* NULL: none */
    uint32_t *places;       /* by rank: its host, for the plan; NULL: not known */
    char self[LAUNCH_PATH_BYTES];
    char directory[KNOB_TEXT_BYTES]; /* our own: where the ends go */
    char sheets[KNOB_TEXT_BYTES];    /* where the sheets go, */
    char traces[KNOB_TEXT_BYTES]; /* and records from other hosts; "": there are none */
    int hopeless_looks, straggler_looks, hanging_looks, stalled_looks;
    bool *let_go;   /* by rank: ended here in MPI_Finalize; NULL: none was */
    size_t culprit; /* because of whom it was ended; OUTCOME_NOBODY: it was not, */
    bool stalled;   /* and that goes on after a stall that was to end it */
    size_t told;    /* of ranks below this number that failed after their moot */
    const char *deaths_word; /* as it was written */
    enum deaths deaths;
    const char *transport; /* as it was written; NULL: not */
    const char *joins;     /* likewise */
    struct run_hosts words;
    struct fleet *fleet; /* the hosts; NULL: it is no job on several */
    bool *lost;          /* by rank: with its host; NULL: none was */
    bool local;          /* the ranks are started from here, without MPI */
    bool no_progress, verbose, labels, launched;
    struct run_late late;
    struct run_line *line; /* NULL: the job's output goes its own way */
};

/* Takes options and settings off the front; the rest is the program.  CLI_USAGE, which
 * is said, if they make no sense. */
int run_options_read(int argc, char **argv, struct job *job);

/* The path of the program that they name.  LAUNCH_NOT_FOUND, which is said, if there is
 * none, or it cannot be started. */
int run_program_find(struct job *job);

/* --- run_folders.c: what the job leaves ------------------------------------------- */

/* Makes the folders of --trace and --checkpoint, and names them to the ranks.  False,
 * and told, if that cannot be. */
bool run_folders_export(struct job *job);

/* --- run_growth.c: ranks that join ------------------------------------------------ */

/* Whether the job can be one that ranks join and leave as --min and --max say, when it
 * is known how many it begins with.  CLI_USAGE, which is said, if not. */
int run_growth_check(struct job *job);

/* How many ranks the job may have at a time; 0: none join. */
int run_growth_most(const struct job *job);

/* As many numbers as ranks of the job may have. */
size_t run_growth_room(const struct job *job);

/* Looks for ranks that have joined: over MPI ranks themselves start them, each below a
 * `moot rank`, which leaves a mark. */
void run_growth_look(struct job *job);

#endif
