/* outcome.h - how each rank's process ended, and what that means for the job.
 *
 * Beside the sheets that ranks leave when they close (sheet.h) there is, per rank, the
 * end of its process (verb_rank.c) and, if its fault plan killed it, when.  Together
 * they tell a rank that died from one that failed: a job is well if at least one rank
 * ended well and every other one did, too, or was killed from outside, or was voted out
 * by those that did.  A rank that dies by its own fault makes the job fail, unless the
 * user says otherwise (enum deaths), and so does one that ends by itself while it
 * belongs to a moot, whoever goes on.
 */
#ifndef NODE_LAUNCH_OUTCOME_H
#define NODE_LAUNCH_OUTCOME_H

#include "consensus/faultplan/faultplan.h"
#include "node/tools/sheet.h"

/* Whether the death of a rank makes a job fail that the others bring to its end. */
enum deaths {
    DEATHS_TOLERATE, /* by its own fault */
    DEATHS_FAIL,     /* always, and a removal as well */
    DEATHS_ANY       /* never */
};

enum rank_fate {
    RANK_WELL,
    RANK_DIED,     /* by a signal, while others went on */
    RANK_REMOVED,  /* voted out; whatever it said then */
    RANK_UNJOINED, /* it was to join the job, and ended before that */
    RANK_FAILED,   /* its own verdict, or its exit status */
    RANK_UNCLEAR   /* it never said how it ended */
};

struct rank_end {
    bool known;
    int status, signal; /* status is 128 + signal if there was one */
    uint64_t ended_ns;
    uint64_t struck_ns; /* by its fault plan; 0: not so */
    bool aborted;       /* it ended by itself past exit(), as MPI_Abort does */
    bool stalled;       /* a stall there was to end the job (MOOT_STALL_ABORT) */
    bool let_go;  /* ended by `moot run`: in MPI_Finalize, where it hung, or outlived */
    bool begun;   /* it had opened a moot */
    bool open;    /* and not closed the last one */
    bool lost;    /* with its host: how it ended nobody will say */
    bool removed; /* it closed that, and knew that the others go on without it */
    char *refused;  /* why it could not open a moot; NULL: it did not try, or could */
    bool dismissed; /* it left because it was asked to */
    struct plan_hits hits;
};

struct outcome {
    struct rank_end *ends;  /* per rank */
    size_t founders, count; /* those from rank `founders` on were to join the job */
    bool opening;           /* a rank is about to open another moot of all */
    size_t finalizing;      /* processes in MPI_Finalize, */
    size_t stalled;         /* and those in which a stall was to end the job */
};

/* Leaves behind how this process's child ended, and takes away its marks (`moot rank`
 * was given the folder, and the child has it as ENDING_FOLDER). */
void outcome_leave(const char *directory, long rank, long pid, int status, int signal);

/* Reads what lies in the two folders for a job that began with so many founders and has
 * had so many ranks; false without memory.  Release either way. */
bool outcome_read(const char *ends, const char *sheets, size_t founders, size_t ranks,
                  struct outcome *out);
void outcome_release(struct outcome *outcome);

/* As many ranks as have joined the job: each has opened a moot, or was lost with its
 * host to others that had it in theirs. */
size_t outcome_joined(const struct outcome *outcome, const struct sheets *sheets);

/* The first rank for which the job should be ended: it aborted the job, or stalled
 * where that was to end it, or failed in a way that the others may wait for for ever,
 * before it opened a moot or while others open another.  One that ended first goes
 * before one that could not open a moot.  Nobody waits for one that was to join.
 * OUTCOME_NOBODY if there is none. */
#define OUTCOME_NOBODY SIZE_MAX
size_t outcome_culprit(const struct outcome *outcome);

/* The first rank from `from` on that failed after it had closed its moot, or before it
 * joined the job; the others need not care.  OUTCOME_NOBODY if there is none. */
size_t outcome_straggler(const struct outcome *outcome, size_t from);

/* Whether one rank did not end well, and all that have not ended are in MPI_Finalize,
 * where they may wait for it for ever. */
bool outcome_hangs_at_end(const struct outcome *outcome);

/* In a line: how that rank failed, and that the job ends, or that it goes on. */
void outcome_tell_culprit(const struct outcome *outcome, size_t culprit, FILE *to);
void outcome_tell_straggler(const struct outcome *outcome, size_t rank, FILE *to);

enum rank_fate outcome_fate(const struct outcome *outcome, const struct sheets *sheets,
                            size_t rank);

/* Rows of the summary: deaths and removals that others outlasted, ranks that did not
 * join, which makes no job fail, and what was taken
 * over.  If the job was ended for a culprit, who has been told of (OUTCOME_NOBODY: it
 * was not), that rank and those which ended with it are no news.
 */
void outcome_tell_losses(const struct outcome *outcome, const struct sheets *sheets,
                         size_t culprit, FILE *to);

/* Likewise: how often each rule of a plan fired; whether all that had to did. */
bool outcome_tell_faults(const struct outcome *outcome, const struct sheets *sheets,
                         const struct plan *plan, FILE *to);

/* Behind the summary: names each rank that failed, and returns the exit status that the
 * job deserves, all losses counted.  For a culprit it is the culprit's. */
int outcome_tell_failures(const struct outcome *outcome, const struct sheets *sheets,
                          size_t culprit, enum deaths deaths, FILE *to);

#endif
