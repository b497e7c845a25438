/* verb_state.c - `moot state`: what the ranks of a running job wait for.
 *
 * A rank on this host gathers what all say (node/service/status_socket.h); state_find.c
 * asks it, and state_text.c and state_json.c write what it answers.
 */
#include "node/cli/cli.h"
#include "node/cli/job_choose.h"
#include "node/config/knobs.h"
#include "node/tools/state_sockets.h"
#include "proto/moot_error.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct request {
    const char *job; /* NULL: the only one */
    bool json, watch;
};

static void text_print(const Moot__Picture *picture)
{
    struct text text = {0};
    state_text(&text, picture);
    printf("%s", text_get(&text));
    text_release(&text);
}

static int state_print(const char *setting, const struct request *request)
{
    for (int shown = 0;; shown++) {
        struct text refused = {0};
        Moot__Picture *picture = state_ask(setting, request->job, &refused);
        if (!picture && shown == 0) {
            cli_complain(&verb_state, "no rank of job %s answers on this host%s%s",
                         request->job, refused.length > 0 ? ": " : "",
                         text_get(&refused));
        }
        text_release(&refused);
        if (!picture) {
            return shown > 0 ? CLI_OK : CLI_FAILED; /* it has ended */
        }
        if (request->json) {
            state_json(&picture->base);
            putchar('\n');
        } else {
            if (request->watch && isatty(STDOUT_FILENO)) {
                printf("\033[H\033[2J"); /* a new page */
            }
            text_print(picture);
        }
        moot__picture__free_unpacked(picture, NULL);
        if (fflush(stdout) != 0 || !request->watch) {
            return CLI_OK;
        }
        sleep(1);
    }
}

static int state_run(int argc, char **argv)
{
    struct request request = {.job = NULL};
    char story[1500] = "", name[STATE_JOB_BYTES];
    struct knobs knobs;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            request.json = true;
        } else if (strcmp(argv[i], "--watch") == 0) {
            request.watch = true;
        } else if (argv[i][0] == '-') {
            return cli_no_option(&verb_state, argv[i]);
        } else if (request.job) {
            return cli_usage(&verb_state, "more than one job");
        } else {
            request.job = argv[i];
        }
    }
    if (knobs_load(&knobs, NULL, story, sizeof(story)) != MOOT_OK) {
        cli_complain(&verb_state, "%s", story);
        return CLI_USAGE;
    }
    const int status = job_choose(&verb_state, knobs.state, &request.job, name);
    return status == CLI_OK ? state_print(knobs.state, &request) : status;
}

const struct verb verb_state = {
    .name = "state",
    .line = "shows what the ranks of a running job wait for",
    .usage =
        "state [--json] [--watch] [JOB]\n"
        "\n"
        "Prints for a job on this host the cause of every wait, as moot-stall(7)\n"
        "explains it, and the value of every timer.  JOB may be left out if there is\n"
        "only one.\n"
        "\n"
        "  --json   for programs: one object per picture, on one line\n"
        "  --watch  once a second, until the job has ended\n"
        "\n"
        "Exit status: 0; 1 if no such job runs here, several do, or none of its\n"
        "ranks answers; 2 if the command line or a knob is wrong.",
    .run = state_run,
};
