/* run_transport.c - see run_transport.h. */
#include "node/cli/run_transport.h"
#include "node/cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the transport was named, for people: an option, or a knob. */
struct origin {
    const char *name, *sign;
};

/* The ranks may work elsewhere: a file gets its whole name.  Behind a colon stand
 * options of the transport. */
static int transport_export(const struct origin *origin, const char *word)
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
    return setenv("MOOT_TRANSPORT", whole, 1) == 0 ? CLI_OK : CLI_FAILED;
}

/* MPI's wire needs MPI's launcher, and the others need one that is moot's. */
int run_transport_choose(const char *given, const struct knobs *knobs, bool local)
{
    const struct origin origin = given ? (struct origin){"--transport", " "}
                                       : (struct origin){"MOOT_TRANSPORT", "="};
    const bool named = knobs->origins[KNOB_TRANSPORT].source != KNOB_FROM_DEFAULT;
    const char *word = given ? given : named ? knobs->transport : local ? "ucx" : "mpi";
    const bool is_mpi = strcmp(word, "mpi") == 0;
    if (local && is_mpi) {
        return cli_usage(&verb_run,
                         "--launcher local starts ranks without MPI, which then cannot "
                         "carry %s%smpi: leave one of them out",
                         origin.name, origin.sign);
    }
    if (!local && !is_mpi) {
        return cli_usage(&verb_run,
                         "%s%s%s wants ranks that mpirun does not start: add "
                         "--launcher local",
                         origin.name, origin.sign, word);
    }
    if (local) {
        return transport_export(&origin, word);
    }
    return !given || setenv("MOOT_TRANSPORT", word, 1) == 0 ? CLI_OK : CLI_FAILED;
}
