/* verb_completion.c - `moot completion`: what a shell needs to complete this command.
 *
 * Options, and the words that an option may have, are taken from the verbs' own help,
 * so a shell offers what the help tells of and nothing else; the names of knobs and
 * their words are the knobs' table's.
 */
#include "node/cli/cli.h"
#include "node/cli/words.h"
#include "node/config/knobs.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void options_print(const struct verb *verb)
{
    struct options options;
    options_find(verb, &options);
    for (int i = 0; i < options.count; i++) {
        printf("%s%s", i > 0 ? " " : "", options.items[i]);
    }
}

/* What may stand behind an option, if those are words: `--level basic|all`. */
static const char *option_values(const struct verb *verb, const char *option,
                                 size_t *length)
{
    const size_t name_length = strlen(option);
    for (const char *at = strstr(verb->usage, option); at;
         at = strstr(at + 1, option)) {
        const char *values = at + name_length + 1;
        if (at[name_length] != ' ') {
            continue;
        }
        *length = strspn(values, "abcdefghijklmnopqrstuvwxyz|");
        if (memchr(values, '|', *length)) {
            return values;
        }
    }
    return NULL;
}

static void values_print(const char *values, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        putchar(values[i] == '|' ? ' ' : values[i]);
    }
}

/* The values of each option that has some, a line for each: 'VERB OPTION', and what
 * stands before and behind the values. */
static void option_values_print(const char *before, const char *behind)
{
    for (size_t v = 0; v < cli_verb_count; v++) {
        struct options options;
        options_find(cli_verbs[v], &options);
        for (int i = 0; i < options.count; i++) {
            size_t length;
            const char *values = option_values(cli_verbs[v], options.items[i], &length);
            if (!values) {
                continue;
            }
            printf("    '%s %s') %s", cli_verbs[v]->name, options.items[i], before);
            values_print(values, length);
            printf("%s\n", behind);
        }
    }
}

/* The words of each knob that has some, in lines of a form with places for both. */
static void knob_words_print(const char *begin, const char *middle, const char *end)
{
    for (int i = 0; i < KNOB_COUNT; i++) {
        if (knob_table[i].words) {
            printf("%s%s%s%s%s", begin, knob_table[i].name, middle, knob_table[i].words,
                   end);
        }
    }
}

static void knobs_print(void)
{
    for (int i = 0; i < KNOB_COUNT; i++) {
        printf("%s%s=", i > 0 ? " " : "", knob_table[i].name);
    }
}

static void names_print(void)
{
    for (size_t i = 0; i < cli_verb_count; i++) {
        printf("%s%s", i > 0 ? " " : "", cli_verbs[i]->name);
    }
}

/* What may follow the verb's name, if those are words: `export`, `bash|zsh`. */
static void subverbs_print(const struct verb *verb)
{
    const char *at = verb->usage + strcspn(verb->usage, " ") + 1;
    if (!islower((unsigned char)*at)) {
        return;
    }
    for (; *at && *at != ' ' && *at != '\n'; at++) {
        putchar(*at == '|' ? ' ' : *at);
    }
}

/* --- bash ------------------------------------------------------------------------- */

/* What may stand behind an option or a knob; to this shell the = of NAME=VALUE is a
 * word of its own, unless it was told otherwise. */
static void bash_all_values_print(void)
{
    printf("    case ${COMP_WORDS[1]}' '$before in\n");
    option_values_print("values='", "' ;;");
    printf("    esac\n"
           "    case $word in\n"
           "    MOOT_*=*) knob=${word%%%%=*} prefix=$knob= word=${word#*=} ;;\n"
           "    =) knob=$before word='' ;;\n"
           "    *) [ \"$before\" != = ] || knob=${COMP_WORDS[COMP_CWORD - 2]} ;;\n"
           "    esac\n"
           "    case $knob in\n");
    knob_words_print("    ", ") values='", "' ;;\n");
    printf("    esac\n");
}

/* Values where an option or a knob has some, options where a word begins with a dash,
 * knobs where it begins with an M, and files where nothing else fits. */
static void bash_print(void)
{
    printf("# bash completion for moot(1), by `moot completion bash`.\n"
           "_moot() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} options='' words=''\n"
           "    local before='' knob='' prefix='' values=''\n"
           "    [ \"$COMP_CWORD\" -lt 2 ] || before=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        options='--version --help' words='help ");
    names_print();
    printf("'\n"
           "    else\n"
           "        case ${COMP_WORDS[1]} in\n"
           "        help) words='");
    names_print();
    printf("' ;;\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        printf("        %s) options='", cli_verbs[i]->name);
        options_print(cli_verbs[i]);
        printf("' words='");
        subverbs_print(cli_verbs[i]);
        printf("' ;;\n");
    }
    printf("        esac\n"
           "        [ \"$COMP_CWORD\" -eq 2 ] || words=\n"
           "    fi\n");
    bash_all_values_print();
    printf("    if [ -n \"$values$knob\" ]; then\n"
           "        words=$values\n"
           "    else\n"
           "        case $word in\n"
           "        -*) words=$options ;;\n"
           "        M*)\n"
           "            words='");
    knobs_print();
    printf("'\n"
           "            compopt -o nospace 2>/dev/null\n"
           "            ;;\n"
           "        esac\n"
           "    fi\n"
           "    # shellcheck disable=SC2207 # no word has a blank in it\n"
           "    COMPREPLY=($(compgen -P \"$prefix\" -W \"$words\" -- \"$word\"))\n"
           "}\n"
           "complete -o default -F _moot moot\n");
}

/* --- zsh -------------------------------------------------------------------------- */

/* For single quotes, in a list whose items have their name before a colon. */
static void zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", stdout);
        } else if (*text == ':') {
            fputs("\\:", stdout);
        } else {
            putchar(*text);
        }
    }
}

static void zsh_print(void)
{
    printf("#compdef moot\n"
           "# zsh completion for moot(1), by `moot completion zsh`.\n"
           "_moot() {\n"
           "    local -a verbs words_of\n"
           "    verbs=(\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        printf("        '%s:", cli_verbs[i]->name);
        zsh_text(cli_verbs[i]->line);
        printf("'\n");
    }
    printf("        'help:says more about a verb'\n"
           "    )\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe verb verbs\n"
           "        return\n"
           "    fi\n"
           "    case \"$words[2] $words[CURRENT-1]\" in\n");
    option_values_print("compadd ", "; return ;;");
    printf("    esac\n");
    knob_words_print("    compset -P '", "=' && { compadd ", "; return; }\n");
    printf("    case $words[2] in\n"
           "    help) _describe verb verbs; return ;;\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        printf("    %s) words_of=(", cli_verbs[i]->name);
        options_print(cli_verbs[i]);
        putchar(' ');
        subverbs_print(cli_verbs[i]);
        printf(") ;;\n");
    }
    printf("    esac\n"
           "    compadd -a words_of\n"
           "    compadd -S '' -- ");
    knobs_print();
    printf("\n"
           "    _files\n"
           "}\n"
           "_moot \"$@\"\n");
}

static int completion_run(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "bash") == 0) {
        bash_print();
    } else if (argc == 2 && strcmp(argv[1], "zsh") == 0) {
        zsh_print();
    } else {
        return cli_usage(&verb_completion, "for which shell?  bash or zsh");
    }
    return CLI_OK;
}

const struct verb verb_completion = {
    .name = "completion",
    .line = "prints what bash or zsh needs to complete this command",
    .usage =
        "completion bash|zsh\n"
        "\n"
        "Prints a shell's completion of verbs, their options, and knobs, and of the\n"
        "words that these may have.  `make install` puts it where shells look;\n"
        "elsewhere:\n"
        "\n"
        "  bash: eval \"$(moot completion bash)\", in ~/.bashrc\n"
        "  zsh:  moot completion zsh >_moot, in a folder of $fpath\n"
        "\n"
        "Exit status: 0, or 2 if it is another shell.",
    .run = completion_run,
};
