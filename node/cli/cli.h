/* cli.h - what the verbs of the `moot` command share. */
#ifndef NODE_CLI_CLI_H
#define NODE_CLI_CLI_H

#include "node/launch/launch.h"

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses beside a program's own, and the launcher's. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,  /* something that was asked for did not go well */
    CLI_USAGE = 2,   /* the command line is wrong: nothing was done */
    CLI_UNTESTED = 3 /* all well, but a fault that was to strike never did */
};

struct verb {
    const char *name;
    const char *line;  /* what it does, for the list of verbs */
    const char *usage; /* its own help: the synopsis, an empty line, and more */
    int (*run)(int argc, char **argv); /* argv[0] is the verb; an exit status */
};

extern const struct verb verb_run, verb_sim, verb_info, verb_hash, verb_faults,
    verb_trace, verb_report, verb_tune, verb_state, verb_grow, verb_shrink,
    verb_completion, verb_checkpoint, verb_check_launcher, verb_check_transport,
    verb_doctor;
/* For `moot run` alone: not in the list. */
extern const struct verb verb_rank, verb_agent;

/* All of the list, in its order. */
extern const struct verb *const cli_verbs[];
extern const size_t cli_verb_count;

/* Says on standard error what is wrong with the command line and where help is; returns
 * CLI_USAGE. */
int cli_usage(const struct verb *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Likewise for an option that the verb does not have, with the one that may have been
 * meant; what stands behind a = is not compared.  In words.c. */
int cli_no_option(const struct verb *verb, const char *word);

/* The value of the option that argv[*i] is, if it is that one: it stands in the next
 * word, at which *i is then, or in the same one: -n4, --trace=DIR.  "": it is empty, or
 * there is none.  NULL: another option.  In words.c. */
const char *cli_option(int argc, char **argv, int *i, const char *name);

/* The value of -n; CLI_USAGE, which is said, if it is none.  In words.c. */
int cli_ranks_read(const struct verb *verb, const char *value, int least, int *out);

/* CLI_USAGE, which is said, if the option stands on this command line with another
 * value already (NULL: not yet).  The last would count, and nobody could see that.  In
 * words.c. */
int cli_once(const struct verb *verb, const char *option, const char *before,
             const char *value);

/* Counts the words from `first` on that set knobs, "MOOT_NAME=VALUE"; behind them
 * stands a program.  CLI_USAGE, which is said, if they are more than `most`, if one
 * knob has two values, or if an option stands behind them, where it would be the
 * program; that may begin with a dash if a -- has `ended` the options.  In words.c. */
int cli_settings_count(const struct verb *verb, int argc, char **argv, int first,
                       bool ended, int most, int *out);
bool cli_is_setting(const char *word); /* In words.c. */

/* Loads the knobs, and puts those of the command line ("MOOT_NAME=VALUE",
 * NULL-terminated) into the environment: for whom the verb starts, and so that
 * knobs_origin() knows the file that a MOOT_CONFIG among them names.  CLI_USAGE, which
 * is said, if one is wrong.  In words.c. */
struct knobs;
int cli_knobs_load(const struct verb *verb, const char *const *settings,
                   struct knobs *out);

/* The command was started without a standard input: what can be read there is nobody's.
 */
bool cli_input_is_closed(void);

/* "moot VERB: ..." on standard error. */
void cli_complain(const struct verb *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
