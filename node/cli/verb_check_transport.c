/* verb_check_transport.c - `moot check-transport`: holds a transport of a user's own
 * against the contract in moot_transport.h, among real processes.
 */
#include "node/cli/check_rows.h"
#include "node/cli/cli.h"
#include "node/cli/transport_check.h"
#include "node/transport/transport.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

static void table_print(const char *word, const moot_transport *table)
{
    printf("transport %s (%s): frames of up to %zu bytes, %s, %s\n", table->name, word,
           table->frame_max,
           (table->flags & MOOT_TRANSPORT_RELIABLE) != 0 ? "reliable" : "not reliable",
           (table->flags & MOOT_TRANSPORT_PRIVATE) != 0 ? "private" : "not private");
}

struct checked_transport {
    const moot_transport *table;
    const char *options;
};

static_assert((int)CHECK_WHY_BYTES >= (int)WHY_BYTES, "room for why");

static const char *row_name(size_t i) { return transport_checks[i].name; }

/* One check, in all its rounds. */
static bool row_run(const void *context, size_t i, char *why)
{
    const struct checked_transport *checked = context;
    bool well = true;
    for (int round = 0; round < transport_checks[i].rounds && well; round++) {
        well = transport_check_run(&transport_checks[i], checked->table,
                                   checked->options, why);
    }
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
    const struct checked_transport checked = {table, options};
    const struct check_rows rows = {transport_check_count, row_name, row_run, &checked};
    table_print(word, table);
    return check_rows_run(&rows, first);
}

const struct verb verb_check_transport = {
    "check-transport", "holds a transport against its contract",
    "check-transport [--first] NAME[:OPTIONS]\n"
    "       moot check-transport [--first] PATH.so[:OPTIONS]\n"
    "\n"
    "Loads a transport as `moot run` does, and has up to four processes\n"
    "exchange frames over it: of all sizes, many at once, with peers that are killed,\n"
    "stopped, unknown, absent, or come back.  Prints a line for each check, with why "
    "it\n"
    "failed.  Needs neither MPI nor a job.\n"
    "\n"
    "  --first   ends at the first check that fails",
    check_transport_run};
