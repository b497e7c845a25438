/* verb_check_launcher.c - `moot check-launcher`: holds a launcher of a user's own
 * against the contract in moot_launcher.h, with small commands on real hosts.
 */
#include "node/cli/check_rows.h"
#include "node/cli/cli.h"
#include "node/cli/launcher_check.h"
#include "node/launchers/launchers.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

struct checked_launcher {
    const moot_launcher *table;
    const char *options, *hosts;
};

static_assert((int)CHECK_WHY_BYTES >= (int)REASON_BYTES, "room for why");

static const char *row_name(size_t i) { return launcher_checks[i].name; }

static bool row_run(const void *context, size_t i, char *why)
{
    const struct checked_launcher *checked = context;
    return launcher_check_run(&launcher_checks[i], checked->table, checked->options,
                              checked->hosts, why);
}

static int check_launcher_run(int argc, char **argv)
{
    const char *word = NULL, *options = NULL, *hosts = NULL;
    bool first = false;
    for (int i = 1; i < argc; i++) {
        const char *list = cli_option(argc, argv, &i, "--hosts");
        if (list != NULL) {
            if (cli_once(&verb_check_launcher, "--hosts", hosts, list) != CLI_OK) {
                return CLI_USAGE;
            }
            hosts = list;
        } else if (strcmp(argv[i], "--first") == 0) {
            first = true;
        } else if (argv[i][0] == '-') {
            return cli_no_option(&verb_check_launcher, argv[i]);
        } else if (word != NULL) {
            return cli_usage(&verb_check_launcher, "one launcher at a time");
        } else {
            word = argv[i];
        }
    }
    if (word == NULL) {
        return cli_usage(&verb_check_launcher, "which launcher?");
    }
    if (strcmp(word, "mpirun") == 0 || strcmp(word, "local") == 0) {
        return cli_usage(&verb_check_launcher,
                         "%s is no table that could be checked: ssh, slurm and files "
                         "of your own are",
                         word);
    }
    const moot_launcher *table = NULL;
    char story[512] = "";
    if (launcher_table_load(word, &table, &options, story, sizeof(story)) != MOOT_OK) {
        cli_complain(&verb_check_launcher, "%s", story);
        return CLI_USAGE;
    }
    const struct checked_launcher checked = {table, options,
                                             hosts != NULL ? hosts : ""};
    const struct check_rows rows = {launcher_check_count, row_name, row_run, &checked};
    printf("launcher %s (%s)\n", table->name, word);
    return check_rows_run(&rows, first);
}

const struct verb verb_check_launcher = {
    "check-launcher", "holds a launcher against its contract",
    "check-launcher [--first] [--hosts LIST] NAME[:OPTIONS]\n"
    "       moot check-launcher [--first] [--hosts LIST] PATH.so[:OPTIONS]\n"
    "\n"
    "Loads a launcher as `moot run` does, and has it start small commands\n"
    "on its hosts: their streams, words, statuses, ends by force, and that nothing of\n"
    "them stays.  Prints a line for each check, with why it failed.  The hosts need\n"
    "sh, cat, head, ps and sleep, and no moot.\n"
    "\n"
    "  --hosts LIST  NAME[:SLOTS][,...], as for `moot run`\n"
    "  --first       ends at the first check that fails",
    check_launcher_run};
