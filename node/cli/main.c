/* main.c - the `moot` command: finds the verb and hands over.
 *
 * A verb is a file of this folder and a line in the table below, which gives the list
 * of verbs, their help and the shells' completion (verb_completion.c); a verb's usage
 * is the synopsis of its manual page, which tests/cli/verbs_test.sh compares.
 */
#include "node/api/moot.h"
#include "node/cli/cli.h"
#include "node/config/spelling.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct verb *const cli_verbs[] = {&verb_run,
                                        &verb_report,
                                        &verb_trace,
                                        &verb_tune,
                                        &verb_state,
                                        &verb_grow,
                                        &verb_shrink,
                                        &verb_sim,
                                        &verb_faults,
                                        &verb_info,
                                        &verb_doctor,
                                        &verb_check_transport,
                                        &verb_check_launcher,
                                        &verb_checkpoint,
                                        &verb_hash,
                                        &verb_completion};
const size_t cli_verb_count = sizeof(cli_verbs) / sizeof(*cli_verbs);
enum { VERBS_MAX = sizeof(cli_verbs) / sizeof(*cli_verbs) + 1 }; /* with help */

__attribute__((format(printf, 2, 0))) static void
complain(const struct verb *verb, const char *format, va_list values)
{
    fprintf(stderr, "moot %s: ", verb->name);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
}

void cli_complain(const struct verb *verb, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    complain(verb, format, values);
    va_end(values);
}

int cli_usage(const struct verb *verb, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    complain(verb, format, values);
    va_end(values);
    fprintf(stderr, "Try `moot help %s`.\n", verb->name);
    return CLI_USAGE;
}

static void help_print(FILE *to)
{
    fprintf(to, "usage: moot VERB [ARGUMENTS]\n\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        fprintf(to, "  %-15s %s\n", cli_verbs[i]->name, cli_verbs[i]->line);
    }
    fprintf(to, "  %-15s %s\n\n", "help", "says more about a verb: moot help VERB");
    fprintf(to, "moot --version prints the version.  See moot(1).\n");
}

static int verb_help_print(const struct verb *verb)
{
    printf("usage: moot %s\n", verb->usage);
    return CLI_OK;
}

static const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < cli_verb_count; i++) {
        if (strcmp(cli_verbs[i]->name, name) == 0) {
            return cli_verbs[i];
        }
    }
    if (strcmp(verb_rank.name, name) == 0) {
        return &verb_rank;
    }
    if (strcmp(verb_agent.name, name) == 0) {
        return &verb_agent;
    }
    const char *names[VERBS_MAX] = {"help"};
    for (size_t i = 0; i < cli_verb_count; i++) {
        names[1 + i] = cli_verbs[i]->name;
    }
    const char *meant = spelling_closest(name, names, cli_verb_count + 1);
    fprintf(stderr, "moot: there is no verb '%s'%s%s%s\n\n", name,
            meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    help_print(stderr);
    return NULL;
}

static int is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Behind a program's name it is the program's. */
static int asks_for_help(const struct verb *verb, int argc, char **argv)
{
    const int has_program = verb == &verb_run || verb == &verb_tune;
    return argc > 2 && (is_help(argv[2]) || (!has_program && is_help(argv[argc - 1])));
}

static int command_run(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (*word == '\0') {
        help_print(stderr);
        return CLI_USAGE;
    }
    if (strcmp(word, "--version") == 0) {
        printf("moot %d.%d.%d\n", MOOT_VERSION_MAJOR, MOOT_VERSION_MINOR,
               MOOT_VERSION_PATCH);
        return CLI_OK;
    }
    const int wants_help = is_help(word) || strcmp(word, "help") == 0;
    if (wants_help && argc == 2) {
        help_print(stdout);
        return CLI_OK;
    }
    const struct verb *verb = verb_find(wants_help ? argv[2] : word);
    if (!verb) {
        return CLI_USAGE;
    }
    if (wants_help || asks_for_help(verb, argc, argv)) {
        return verb_help_print(verb);
    }
    return verb->run(argc - 1, argv + 1);
}

/* An answer that could not be written is not given: a full disk or a closed output must
 * not look like a success. */
static int output_end(int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return status;
    }
    fprintf(stderr, "moot: standard output could not be written%s%s\n",
            errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
    return status == CLI_OK ? CLI_FAILED : status;
}

static bool input_closed;

bool cli_input_is_closed(void) { return input_closed; }

/* Streams that were closed are held by what ends at once, and takes no writing: else a
 * file of this process would come to stand in their place. */
static void streams_hold(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY);
        input_closed |= fd == STDIN_FILENO;
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

int main(int argc, char **argv)
{
    streams_hold();
    return output_end(command_run(argc, argv));
}
