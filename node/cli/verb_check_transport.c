/* verb_check_transport.c - `moot check-transport`: holds a transport of a user's own
 * against the contract in moot_transport.h, among real processes.
 */
#include "node/cli/cli.h"
#include "node/cli/transport_check.h"
#include "node/transport/transport.h"
#include <stdio.h>
#include <string.h>

static void table_print(const char *word, const moot_transport *table)
{
    printf("transport %s (%s): frames of up to %zu bytes, %s, %s\n", table->name, word,
           table->frame_max,
           (table->flags & MOOT_TRANSPORT_RELIABLE) != 0 ? "reliable" : "not reliable",
           (table->flags & MOOT_TRANSPORT_PRIVATE) != 0 ? "private" : "not private");
}

/* Runs one check, in all its rounds; a line tells how it went. */
static bool run_row(const struct transport_check *check, const moot_transport *table,
                    const char *options)
{
    char why[WHY_BYTES] = "";
    const uint64_t began_ns = seat_now_ns();
    bool well = true;
    for (int i = 0; i < check->rounds && well; i++) {
        well = transport_check_run(check, table, options, why);
    }
    printf("%-7s %-34s %5.1f s%s%s\n", well ? "ok" : "FAILED", check->name,
           (double)(seat_now_ns() - began_ns) / 1e9, well ? "" : "  ", why);
    (void)fflush(stdout);
    return well;
}

static int check_transport_run(int argc, char **argv)
{
    const char *word = NULL, *options = NULL;
    bool first = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--first") == 0) {
            first = true;
            continue;
        }
        if (argv[i][0] == '-') {
            return cli_no_option(&verb_check_transport, argv[i]);
        }
        if (word != NULL) {
            return cli_usage(&verb_check_transport, "one transport at a time");
        }
        word = argv[i];
    }
    if (word == NULL) {
        return cli_usage(&verb_check_transport, "which transport?");
    }
    const moot_transport *table = NULL;
    char story[512] = "";
    if (transport_table_load(word, &table, &options, story, sizeof(story)) != MOOT_OK) {
        cli_complain(&verb_check_transport, "%s", story);
        return CLI_USAGE;
    }
    int good = 0, bad = 0;
    table_print(word, table);
    /* A transport that does not even open fails all. */
    for (size_t i = 0; i < transport_check_count && (bad == 0 || (!first && good > 0));
         i++) {
        *(run_row(&transport_checks[i], table, options) ? &good : &bad) += 1;
    }
    printf("%d ok, %d failed\n", good, bad);
    return bad == 0 ? CLI_OK : CLI_FAILED;
}

const struct verb verb_check_transport = {
    "check-transport", "holds a transport against its contract",
    "check-transport [--first] NAME[:OPTIONS]\n"
    "check-transport [--first] PATH.so[:OPTIONS]\n"
    "\n"
    "Loads a transport as `moot run --transport` does, and has up to four processes\n"
    "exchange frames over it: of all sizes, many at once, with peers that are killed,\n"
    "stopped, unknown, absent, or come back.  Prints a line for each check, with why "
    "it\n"
    "failed.  Needs neither MPI nor a job.\n"
    "\n"
    "  --first   ends at the first check that fails",
    check_transport_run};
