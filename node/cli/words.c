/* words.c - see words.h. */
#include "node/cli/words.h"
#include "node/config/knobs.h"
#include "node/config/spelling.h"
#include "proto/limits.h"
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void option_add(struct options *options, const char *at, size_t length)
{
    if (length >= OPTION_BYTES || options->count == OPTIONS_MAX) {
        return;
    }
    for (int i = 0; i < options->count; i++) {
        if (strncmp(options->items[i], at, length) == 0 &&
            options->items[i][length] == '\0') {
            return;
        }
    }
    memcpy(options->items[options->count], at, length);
    options->items[options->count++][length] = '\0';
}

/* An option stands at the beginning of a word, or in a bracket; `-` and `--` alone are
 * none, and what another command takes, in `quotes`, is not this verb's. */
void options_find(const struct verb *verb, struct options *out)
{
    bool quoted = false;
    out->count = 0;
    for (const char *at = verb->usage; *at; at++) {
        quoted ^= *at == '`';
        const bool begins =
            at == verb->usage || at[-1] == ' ' || at[-1] == '[' || at[-1] == '\n';
        if (quoted || !begins || *at != '-') {
            continue;
        }
        const char *name = at + 1 + (at[1] == '-');
        size_t length = 0;
        while (islower((unsigned char)name[length]) || name[length] == '-') {
            length++;
        }
        if (length > 0) {
            option_add(out, at, (size_t)(name - at) + length);
        }
    }
}

/* How launchers and batch systems, and this command's verbs, call the number of ranks.
 */
static bool is_ranks(const char *name)
{
    static const char *const names[] = {"-n",       "-np",      "-N",     "--np",
                                        "--nprocs", "--ntasks", "--ranks"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The verb's option for that; NULL: it has none. */
static const char *ranks_option(const struct options *options)
{
    for (int i = 0; i < options->count; i++) {
        if (strcmp(options->items[i], "-n") == 0 ||
            strcmp(options->items[i], "--ranks") == 0) {
            return options->items[i];
        }
    }
    return NULL;
}

int cli_no_option(const struct verb *verb, const char *word)
{
    static const char help[] = "--help"; /* every verb's, and in no help */
    struct options options;
    const char *meant = NULL;
    const char *names[OPTIONS_MAX + 1] = {help};
    char name[OPTION_BYTES * 2], ranks[OPTION_BYTES];
    if (strcmp(word, help) == 0) {
        return cli_usage(verb, "--help comes before all other words");
    }
    options_find(verb, &options);
    for (int i = 0; i < options.count; i++) {
        names[1 + i] = options.items[i];
    }
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
    snprintf(ranks, sizeof(ranks), "%.*s", (int)strcspn(word, "=0123456789"), word);
    if (is_ranks(ranks)) {
        meant = ranks_option(&options);
    }
    if (!meant && strlen(name) > 2) { /* of a letter alone any is as near */
        meant = spelling_closest(name, names, (size_t)options.count + 1);
    }
    return cli_usage(verb, "there is no option %s%s%s%s", word,
                     meant ? "; did you mean " : "", meant ? meant : "",
                     meant ? "?" : "");
}

const char *cli_option(int argc, char **argv, int *i, const char *name)
{
    const size_t length = strlen(name);
    const char *rest = argv[*i] + length;
    if (strncmp(argv[*i], name, length) != 0) {
        return NULL;
    }
    if (*rest == '\0') {
        return *i + 1 < argc ? argv[++*i] : "";
    }
    if (name[1] == '-') {
        return *rest == '=' ? rest + 1 : NULL;
    }
    return isdigit((unsigned char)*rest) ? rest : NULL; /* -np is mpirun's */
}

int cli_ranks_read(const struct verb *verb, const char *value, int least, int *out)
{
    char *end = NULL;
    errno = 0;
    const long ranks = strtol(value, &end, 10);
    if (*value == '\0') {
        return cli_usage(verb, "-n lacks the number of ranks, %d to %u", least,
                         LIMIT_RANKS);
    }
    if (*end || errno || ranks < least || ranks > (long)LIMIT_RANKS) {
        return cli_usage(verb, "-n '%s' is no number of ranks, %d to %u", value, least,
                         LIMIT_RANKS);
    }
    *out = (int)ranks;
    return CLI_OK;
}

int cli_once(const struct verb *verb, const char *option, const char *before,
             const char *value)
{
    if (!before || strcmp(before, value) == 0) {
        return CLI_OK;
    }
    return cli_usage(verb, "%s %s and %s %s are not the same: give one of them", option,
                     before, option, value);
}

bool cli_is_setting(const char *word)
{
    return strncmp(word, "MOOT_", 5) == 0 && strchr(word, '=') != NULL;
}

static int settings_once(const struct verb *verb, char *const *settings, int count)
{
    for (int i = 0; i < count; i++) {
        const size_t length = strcspn(settings[i], "=") + 1;
        for (int other = 0; other < i; other++) {
            if (strncmp(settings[other], settings[i], length) == 0 &&
                strcmp(settings[other], settings[i]) != 0) {
                return cli_usage(verb, "%s and %s are not the same: give one of them",
                                 settings[other], settings[i]);
            }
        }
    }
    return CLI_OK;
}

int cli_settings_count(const struct verb *verb, int argc, char **argv, int first,
                       bool ended, int most, int *out)
{
    int end = first;
    while (end < argc && cli_is_setting(argv[end])) {
        end++;
    }
    if (end - first > most) {
        return cli_usage(verb, "more than %d settings", most);
    }
    const bool dashed = end > first && end < argc && argv[end][0] == '-';
    if (dashed && (!ended || strcmp(argv[end], "--") == 0)) {
        return cli_usage(verb, "%s stands behind %s: options come before settings",
                         argv[end], argv[end - 1]);
    }
    *out = end - first;
    return settings_once(verb, argv + first, *out);
}

int cli_knobs_load(const struct verb *verb, const char *const *settings,
                   struct knobs *out)
{
    char story[1500];
    if (knobs_load(out, settings, story, sizeof(story)) != MOOT_OK) {
        cli_complain(verb, "%s", story);
        return CLI_USAGE;
    }
    for (; *settings; settings++) {
        char name[64];
        const char *equals = strchr(*settings, '=');
        snprintf(name, sizeof(name), "%.*s", (int)(equals - *settings), *settings);
        if (setenv(name, equals + 1, 1) != 0) {
            cli_complain(verb, "out of memory");
            return CLI_FAILED;
        }
    }
    return CLI_OK;
}
