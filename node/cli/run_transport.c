/* run_transport.c - see run_transport.h. */
#include "node/cli/run_transport.h"
#include "node/cli/cli.h"
#include "node/config/knobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ranks may work elsewhere: a file gets its whole name.  Behind a colon stand
 * options of the transport. */
static int transport_export(const char *word)
{
    char name[LAUNCH_PATH_BYTES], path[LAUNCH_PATH_BYTES], whole[KNOB_TEXT_BYTES];
    const int length = (int)strcspn(word, ":");
    snprintf(name, sizeof(name), "%.*s", length, word);
    const bool is_file = strchr(name, '/') != NULL;
    if (is_file && !realpath(name, path)) {
        return cli_usage(&verb_run, "--transport %s: %s", name, strerror(errno));
    }
    const int used =
        snprintf(whole, sizeof(whole), "%s%s", is_file ? path : name, word + length);
    if (used >= (int)sizeof(whole)) {
        return cli_usage(&verb_run, "--transport has %d bytes, and may have %d", used,
                         KNOB_TEXT_BYTES - 1);
    }
    return setenv("MOOT_TRANSPORT", whole, 1) == 0 ? CLI_OK : CLI_FAILED;
}

/* MPI's wire needs MPI's launcher, and the others need one that is moot's. */
int run_transport_choose(const char *given, bool local)
{
    const char *word = given ? given : local ? "ucx" : "mpi";
    const bool is_mpi = strcmp(word, "mpi") == 0;
    if (local && is_mpi) {
        return cli_usage(&verb_run,
                         "--launcher local starts ranks without MPI, which then cannot "
                         "carry --transport mpi: leave one of them out");
    }
    if (!local && !is_mpi) {
        return cli_usage(&verb_run,
                         "--transport %s wants ranks that mpirun does not start: add "
                         "--launcher local",
                         word);
    }
    return local ? transport_export(word) : CLI_OK;
}
