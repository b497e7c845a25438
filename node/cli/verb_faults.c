/* verb_faults.c - `moot faults`: what a fault plan says, before it is let loose on a
 * run. */
#include "consensus/faultplan/faultplan.h"
#include "node/cli/cli.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rule that strikes where a kernel runs as a task: what is an element passes by. */
static bool waits_for_kernel(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        if (rule->when == PLAN_AT_POINT && rule->point >= CORE_POINT_TASK_START &&
            rule->point <= CORE_POINT_RESULT_RECV) {
            return true;
        }
    }
    return false;
}

/* The plan in English, in memory of its own; NULL without memory. */
static char *explain(const struct plan *plan)
{
    const size_t length = plan_explain(plan, NULL, 0);
    char *text = malloc(length + 1);
    if (text) {
        plan_explain(plan, text, length + 1);
    }
    return text;
}

static int refuse(const char *word, const struct plan_error *error)
{
    char text[2048];
    plan_error_format(word, error, text, sizeof(text));
    fputs(text, stderr);
    return CLI_USAGE;
}

/* size 0: the job's is not known. */
static int plan_print(const char *word, uint32_t size)
{
    struct plan *plan;
    struct plan_error error;
    int code = plan_parse(word, &plan, &error);
    if (code == MOOT_ERR_CONFIG) {
        return refuse(word, &error);
    }
    if (code != MOOT_OK) {
        cli_complain(&verb_faults, "out of memory");
        return CLI_FAILED;
    }
    int status = CLI_OK;
    char *text = explain(plan);
    if (size > 0 && plan_check_ranks(plan, size, &error) != MOOT_OK) {
        status = refuse(word, &error);
    } else if (text) {
        fputs(text, stdout);
        fputs(waits_for_kernel(plan)
                  ? "Elements of task arrays pass no point of tasks: where ranks run "
                    "these, give a time, as in kill:r2@300ms.\n"
                  : "",
              stdout);
    } else {
        status = CLI_FAILED;
    }
    free(text);
    plan_free(plan);
    return status;
}

/* A word that is longer than any plan is cut where it is too long already.  NULL, and
 * *status, if it cannot be read or is no text, which is said. */
static char *standard_input_read(int *status)
{
    enum { ROOM = PLAN_TEXT_BYTES_MAX + 4096 };
    char *word = malloc(ROOM);
    const size_t size = word ? fread(word, 1, ROOM - 1, stdin) : 0;
    *status = CLI_FAILED;
    if (!word) {
        cli_complain(&verb_faults, "out of memory");
    } else if (ferror(stdin)) {
        cli_complain(&verb_faults, "standard input: %s", strerror(errno));
    } else if (memchr(word, '\0', size)) {
        *status = cli_usage(&verb_faults, "a byte of 0 stands in it: this is no plan");
    } else {
        word[size] = '\0';
        return word;
    }
    free(word);
    return NULL;
}

static int standard_input_print(uint32_t size)
{
    int status;
    char *word = standard_input_read(&status);
    if (word) {
        status = plan_print(word, size);
    }
    free(word);
    return status;
}

static int faults_run(int argc, char **argv)
{
    const char *word = NULL;
    int at = 2, size = 0;
    if (argc < 2 || strcmp(argv[1], "explain") != 0) {
        return cli_usage(&verb_faults, "say what to do: explain PLAN");
    }
    for (; at < argc && argv[at][0] == '-' && argv[at][1] != '\0'; at++) {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        const char *option = argv[at], *value = cli_option(argc, argv, &at, "-n");
        int status = value ? cli_ranks_read(&verb_faults, value, 1, &size)
                           : cli_no_option(&verb_faults, option);
        if (status == CLI_OK) {
            status = cli_once(&verb_faults, "-n", word, value);
        }
        if (status != CLI_OK) {
            return status;
        }
        word = value;
    }
    for (int i = at; i < argc; i++) {
        if (cli_is_setting(argv[i])) {
            return cli_usage(&verb_faults,
                             "%s sets a knob, and nothing runs here that has it: give "
                             "the plan alone",
                             argv[i]);
        }
    }
    if (at + 1 < argc && strncmp(argv[at + 1], "-n", 2) == 0) {
        return cli_usage(&verb_faults, "%s stands behind %s: options come before plans",
                         argv[at + 1], argv[at]);
    }
    if (at + 1 != argc) {
        return cli_usage(&verb_faults,
                         at < argc ? "a plan is one word" : "say which plan");
    }
    if (strcmp(argv[at], "-") == 0) {
        return standard_input_print((uint32_t)size);
    }
    return plan_print(argv[at], (uint32_t)size);
}

const struct verb verb_faults = {
    .name = "faults",
    .line = "says in English what a fault plan does",
    .usage =
        "faults explain [-n N] [--] PLAN\n"
        "\n"
        "Says a fault plan in English, one sentence per rule; PLAN as - is read from\n"
        "standard input.  A wrong plan is shown with a caret under the mistake.\n"
        "\n"
        "  -n N  checks the plan's ranks against a job of N ranks\n"
        "\n"
        "Exit status: 0; 1 if standard input cannot be read; 2 if the command line or\n"
        "the plan is wrong.\n"
        "moot-fault-plan(7) has the grammar.",
    .run = faults_run,
};
