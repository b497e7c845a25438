/* run_transport.c - see run_transport.h. */
#include "node/cli/run_transport.h"
#include "node/cli/cli.h"
#include "node/transport/transport.h"
#include "node/wires/tcp/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STORY_BYTES = 1024 };

/* Where the transport was named, for people: an option, or a knob. */
struct origin {
    const char *name, *sign;
};

/* The transport as each rank would find it.  Other hosts may have a `ucx` where this
 * one has none; and where tcp listens is for them to say. */
static int transport_try(const struct origin *origin, const char *word, bool here)
{
    char story[STORY_BYTES] = "";
    const moot_transport *table = NULL;
    const char *options = "";
    moot_wire *wire = NULL;
    if (!here && strncmp(word, "ucx", strcspn(word, ":")) == 0) {
        return CLI_OK;
    }
    int code = transport_table_load(word, &table, &options, story, sizeof(story));
    if (code == MOOT_OK && here && table == &tcp_transport) {
        const unsigned char secret[32] = {0};
        const moot_transport_setup setup = {.size = sizeof(setup),
                                            .uid = 1,
                                            .options = options,
                                            .host = "",
                                            .secret = secret};
        code = table->open(&setup, &wire, story, sizeof(story));
        if (code == MOOT_OK) {
            table->close(wire);
        }
    }
    if (code != MOOT_OK) {
        cli_complain(&verb_run, "%s%s%s: %s", origin->name, origin->sign, word, story);
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* The ranks may work elsewhere: a file gets its whole name.  Behind a colon stand
 * options of the transport. */
static int transport_export(const struct origin *origin, const char *word, bool here)
{
    char name[LAUNCH_PATH_BYTES], path[LAUNCH_PATH_BYTES], whole[KNOB_TEXT_BYTES];
    const int length = (int)strcspn(word, ":");
    snprintf(name, sizeof(name), "%.*s", length, word);
    const bool is_file = strchr(name, '/') != NULL;
    if (is_file && !realpath(name, path)) {
        return cli_usage(&verb_run, "%s%s%s: %s", origin->name, origin->sign, name,
                         strerror(errno));
    }
    const int used =
        snprintf(whole, sizeof(whole), "%s%s", is_file ? path : name, word + length);
    if (used >= (int)sizeof(whole)) {
        return cli_usage(&verb_run, "%s has %d bytes, and may have %d", origin->name,
                         used, KNOB_TEXT_BYTES - 1);
    }
    const int status = transport_try(origin, whole, here);
    return status != CLI_OK                          ? status
           : setenv("MOOT_TRANSPORT", whole, 1) == 0 ? CLI_OK
                                                     : CLI_FAILED;
}

/* MPI's wire needs MPI's launcher, and the others need one that is moot's. */
int run_transport_choose(const char *given, const struct knobs *knobs,
                         const char *launcher)
{
    const struct origin origin = given ? (struct origin){"--transport", " "}
                                       : (struct origin){"MOOT_TRANSPORT", "="};
    const bool named = knobs->origins[KNOB_TRANSPORT].source != KNOB_FROM_DEFAULT;
    const char *word = given      ? given
                       : named    ? knobs->transport
                       : launcher ? "tcp"
                                  : "mpi";
    const bool is_mpi = strcmp(word, "mpi") == 0;
    if (launcher && is_mpi) {
        return cli_usage(&verb_run,
                         "--launcher %s starts ranks without MPI, which then cannot "
                         "carry %s%smpi: leave one of them out",
                         launcher, origin.name, origin.sign);
    }
    if (!launcher && !is_mpi) {
        return cli_usage(&verb_run,
                         "%s%s%s wants ranks that mpirun does not start: add "
                         "--launcher local",
                         origin.name, origin.sign, word);
    }
    if (launcher) {
        return transport_export(&origin, word, strcmp(launcher, "local") == 0);
    }
    return !given || setenv("MOOT_TRANSPORT", word, 1) == 0 ? CLI_OK : CLI_FAILED;
}

/* Their names and addresses, one behind the other; NULL without memory. */
static const char **hosts_name(const moot_launcher_host *hosts, uint32_t count)
{
    const char **words = calloc(2 * (size_t)count, sizeof(*words));
    for (uint32_t i = 0; words && i < count; i++) {
        words[i] = *hosts[i].name ? hosts[i].name : hosts[i].address;
        words[count + i] = hosts[i].address;
    }
    return words;
}

int run_route_check(const struct knobs *knobs, const char *launcher,
                    const struct fleet *fleet)
{
    const char *word = knobs->route;
    char story[STORY_BYTES] = "";
    moot_launcher_host own = {.size = sizeof(own)}, *hosts = NULL;
    uint32_t count = 1;
    if (strcmp(word, "mesh") == 0 ||
        (fleet && *word == '@' && access(word + 1, R_OK) != 0)) {
        return CLI_OK;
    }
    if (!launcher) {
        cli_complain(&verb_run,
                     "MOOT_ROUTE=%s: routes are for another launcher than mpirun: "
                     "leave it at mesh here",
                     word);
        return CLI_USAGE;
    }
    hosts = fleet ? fleet_hosts_used(fleet, &count) : NULL;
    const char **words = hosts   ? hosts_name(hosts, count)
                         : fleet ? NULL
                                 : hosts_name(&own, 1);
    const int code = words ? transport_route_check(word, words, words + count, count,
                                                   story, sizeof(story))
                           : MOOT_ERR_NO_MEMORY;
    free(words);
    free(hosts);
    if (code != MOOT_OK) {
        cli_complain(&verb_run, "%s", words ? story : "out of memory");
        return CLI_USAGE;
    }
    return CLI_OK;
}
