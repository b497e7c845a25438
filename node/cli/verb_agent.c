/* verb_agent.c - `moot agent`: what a launcher starts on each host of a job
 * (node/agent/agent.h).  It is no verb for people.
 */
#include "node/agent/agent.h"
#include "node/cli/cli.h"

#include <unistd.h>

static int agent_verb_run(int argc, char **argv)
{
    (void)argv;
    if (argc != 1 || isatty(STDIN_FILENO)) {
        return cli_usage(&verb_agent, "this is for `moot run`");
    }
    return agent_run();
}

const struct verb verb_agent = {
    .name = "agent",
    .line = "",
    .usage = "agent\n\nIs started by `moot run` on each host of a job.",
    .run = agent_verb_run,
};
