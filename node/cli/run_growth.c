/* run_growth.c - the part of `moot run` for ranks that join a running job, and leave
 * it: --min, --max and MOOT_MAX; see run_job.h.
 */
#include "node/agent/rank_process.h"
#include "node/cli/cli.h"
#include "node/cli/run_job.h"
#include "node/cli/run_line.h"
#include "node/config/ending.h"
#include "node/launch/growth.h"
#include "proto/limits.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static bool joins_at_sessions(const struct job *job)
{
    return job->joins != NULL ? strcmp(job->joins, "session") == 0
                              : job->knobs.joins == KNOB_JOINS_SESSION;
}

/* Why no rank can join such a job; NULL: ranks can. */
static const char *growth_flaw(const struct job *job)
{
    if (!job->local && !job->fleet) {
        return "over MPI ranks join only where a session ends: set MOOT_MAX instead, "
               "or "
               "add --launcher local";
    }
    if (strcmp(job->knobs.route, "mesh") != 0) {
        return "routes (MOOT_ROUTE) are fixed when the job begins, so no ranks can "
               "join: leave one of them out";
    }
    if (job->knobs.divergence == CORE_STRICT && !joins_at_sessions(job)) {
        return "with MOOT_DIVERGENCE=strict ranks join only where all begin a session: "
               "add --joins session";
    }
    return NULL;
}

/* The ranks learn it as the knob. */
static int joins_choose(struct job *job)
{
    if (job->joins == NULL) {
        return CLI_OK;
    }
    if (strcmp(job->joins, "live") != 0 && strcmp(job->joins, "session") != 0) {
        return cli_usage(&verb_run, "--joins is '%s', but may be live or session",
                         job->joins);
    }
    if (job->max == 0) {
        return cli_usage(&verb_run,
                         "--joins %s says when ranks join: it takes --max, by which "
                         "some may",
                         job->joins);
    }
    return setenv(knob_table[KNOB_JOINS].name, job->joins, 1) == 0 ? CLI_OK
                                                                   : CLI_FAILED;
}

/* A setting of MOOT_MAX that means nothing here.  Where it stands for all jobs the
 * ranks say it. */
static int max_check(const struct job *job)
{
    const long long most = (long long)job->knobs.most_ranks;
    if (most == 0 || job->knobs.origins[KNOB_MAX].source != KNOB_FROM_OPTIONS) {
        return CLI_OK;
    }
    if (job->local || job->fleet) {
        return cli_usage(&verb_run,
                         "MOOT_MAX=%lld is for ranks that join over MPI; with "
                         "--launcher %s it is --max %lld",
                         most, job->words.launcher, most);
    }
    if (most < job->ranks) {
        return cli_usage(&verb_run,
                         "MOOT_MAX=%lld is less than the %d ranks that the job begins "
                         "with",
                         most, job->ranks);
    }
    return CLI_OK;
}

int run_growth_check(struct job *job)
{
    const char *flaw = job->max > 0 ? growth_flaw(job) : NULL;
    if (job->min_word && job->min > job->ranks) {
        return cli_usage(&verb_run,
                         "--min %d is more than the %d rank%s that the job begins with",
                         job->min, job->ranks, job->ranks == 1 ? "" : "s");
    }
    if (job->max_word && job->max < job->ranks) {
        return cli_usage(&verb_run,
                         "--max %d is less than the %d ranks that the job begins with",
                         job->max, job->ranks);
    }
    if (job->max - job->ranks > (int)LIMIT_NEWCOMERS) {
        return cli_usage(&verb_run,
                         "--max %d: a job takes in %u ranks at most, and this one "
                         "begins with %d",
                         job->max, LIMIT_NEWCOMERS, job->ranks);
    }
    if (flaw) {
        return cli_usage(&verb_run, "--max %d: %s", job->max, flaw);
    }
    int status = max_check(job);
    status = status == CLI_OK ? joins_choose(job) : status;
    if (status != CLI_OK) {
        return status;
    }
    job->started = job->ranks;
    job->min = job->min_word ? job->min : 1;
    return !job->min_word || setenv(ENDING_LEAST, job->min_word, 1) == 0 ? CLI_OK
                                                                         : CLI_FAILED;
}

int run_growth_most(const struct job *job)
{
    const int most = (int)job->knobs.most_ranks;
    return job->local || job->fleet ? job->max : most >= job->ranks ? most : 0;
}

size_t run_growth_room(const struct job *job)
{
    return growth_make((uint32_t)job->ranks, (uint32_t)run_growth_most(job)).room;
}

void run_growth_look(struct job *job)
{
    static const char process[] = RANK_PROCESS "-";
    const unsigned long room = run_growth_room(job);
    unsigned long started = (unsigned long)job->started;
    const bool alone = !job->local && !job->fleet && room > started;
    DIR *dir = alone ? opendir(job->directory) : NULL;
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, process, sizeof(process) - 1) == 0) {
            const unsigned long rank =
                strtoul(entry->d_name + sizeof(process) - 1, NULL, 10);
            started = rank >= started && rank < room ? rank + 1 : started;
        }
    }
    if (dir) {
        closedir(dir);
    }
    if (started > (unsigned long)job->started) {
        job->started = (int)started;
        run_line_join(job->line, job->started);
    }
}
