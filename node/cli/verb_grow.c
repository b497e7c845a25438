/* verb_grow.c - `moot grow`: asks for more ranks of a running job.
 *
 * Any rank of the job on this host passes the wish on to the launcher, and the answer
 * back (node/service/growing.h).
 */
#include "node/cli/cli.h"
#include "node/cli/job_choose.h"
#include "node/config/knobs.h"
#include "node/tools/state_sockets.h"
#include "proto/moot_error.h"

#include <stdio.h>

/* CLI_USAGE, which is said, if they make no sense. */
static int words_read(int argc, char **argv, const char **job, uint32_t *count)
{
    int at = 1;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            return cli_no_option(&verb_grow, argv[i]);
        }
    }
    if (at < argc && job_is_named(argv[at])) {
        *job = argv[at++];
    }
    if (at == argc) {
        return cli_usage(&verb_grow, "how many ranks more?");
    }
    if (argc - at > 1) {
        return cli_usage(&verb_grow, "'%s' is one word too many", argv[at + 1]);
    }
    if (!job_number_read(argv[at], count)) {
        return cli_usage(&verb_grow, "'%s' is no number of ranks, as 2, and no job",
                         argv[at]);
    }
    return *count > 0 ? CLI_OK : cli_usage(&verb_grow, "0 ranks are none to start");
}

static int job_grow(const char *setting, const char *job, uint32_t count)
{
    struct text story = {0};
    int code = MOOT_ERR_TRANSPORT, status = CLI_FAILED;
    if (!state_ask_to_grow(setting, job, count, &code, &story)) {
        cli_complain(&verb_grow, "no rank of job %s answers on this host", job);
    } else if (code != MOOT_OK) {
        cli_complain(&verb_grow, "%s", text_get(&story));
    } else {
        printf("started: %s\n", text_get(&story));
        status = CLI_OK;
    }
    text_release(&story);
    return status;
}

static int grow_run(int argc, char **argv)
{
    char story[1500] = "", name[STATE_JOB_BYTES];
    const char *job = NULL;
    uint32_t count = 0;
    struct knobs knobs;
    int status = words_read(argc, argv, &job, &count);
    if (status != CLI_OK) {
        return status;
    }
    if (knobs_load(&knobs, NULL, story, sizeof(story)) != MOOT_OK) {
        cli_complain(&verb_grow, "%s", story);
        return CLI_USAGE;
    }
    status = job_choose(&verb_grow, knobs.state, &job, name);
    return status == CLI_OK ? job_grow(knobs.state, job, count) : status;
}

const struct verb verb_grow = {
    .name = "grow",
    .line = "starts more ranks of a running job",
    .usage = "grow [JOB] COUNT\n"
             "\n"
             "Has so many ranks more started for a job that `moot run --max` began.\n"
             "They run its program from the beginning, and join the others: what is\n"
             "done already they find, and do not run again.  JOB, as `moot state`\n"
             "shows it, may be left out if there is only one on this host.\n"
             "\n"
             "Exit status: 0 once they have been started; 1 if that cannot be, and\n"
             "why; 2 if the command line or a knob is wrong.",
    .run = grow_run,
};
