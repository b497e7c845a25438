/* sim_one.c - one run of `moot sim`, told whole; and the line that repeats a run. */
#include "node/cli/sim_verb.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Replays ---------------------------------------------------------------------- */

/* As a shell takes it for one word. */
static void print_word(const char *word, FILE *to)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=:,./@%#";
    bool quote = word[0] == '\0' || word[0] == '#' || word[strspn(word, plain)] != '\0';
    if (!quote) {
        fprintf(to, " %s", word);
        return;
    }
    fputs(" '", to);
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            fputs("'\\''", to);
        } else {
            fputc(*word, to);
        }
    }
    fputc('\'', to);
}

static void print_plan(const struct plan *plan, FILE *to)
{
    size_t length = plan_format(plan, NULL, 0);
    char *word = malloc(length + 1);
    if (word == NULL) {
        abort();
    }
    plan_format(plan, word, length + 1);
    fputs(" --faults", to);
    print_word(length > 0 && strcmp(word, "none") != 0 ? word : "seed:0", to);
    free(word);
}

void sim_replay_print(const struct sim_command *command, const struct trial *trial,
                      uint64_t seed, FILE *to)
{
    fprintf(to, "moot sim --ranks %" PRIu32 " --seed %" PRIu64, trial->ranks, seed);
    if (command->workload_word != NULL) {
        fputs(" --workload", to);
        print_word(command->workload_word, to);
    }
    if (command->lateness_word != NULL) {
        fputs(" --lateness", to);
        print_word(command->lateness_word, to);
    }
    if (trial->tasks != 0) {
        fprintf(to, " --tasks %" PRIu32, trial->tasks);
    }
    if (trial->layout.drawn) {
        fputs(" --hosts drawn", to);
    } else if (trial->layout.hosts > 0) {
        fprintf(to, " --hosts %" PRIu32 "x%" PRIu32, trial->layout.hosts,
                trial->layout.host_ranks);
    }
    if (trial->layout.route[0] != '\0') {
        fputs(" --route", to);
        print_word(trial->layout.route, to);
    }
    if (trial->steady) {
        fputs(" --steady", to);
    }
    for (int i = 0; i < TRIAL_SETTING_END; i++) {
        char value[32];
        trial_setting_format((enum trial_setting)i, trial->settings[i], value,
                             sizeof(value));
        if (trial->set[i]) {
            fprintf(to, " --%s %s", trial_setting_name((enum trial_setting)i), value);
        }
    }
    if (trial->faults == TRIAL_NONE) {
        fputs(" --faults none", to);
    }
    if (trial->faults == TRIAL_STORM) {
        fputs(" --drawn-storm", to);
    }
    if (trial->plan != NULL) {
        print_plan(trial->plan, to);
    }
    if (trial->canary != SIM_CANARY_NONE) {
        fprintf(to, " --canary %s", sim_canary_name(trial->canary));
    }
    fputc('\n', to);
}

void sim_failure_print(const struct sim_command *command, const struct trial *trial,
                       uint64_t seed, const struct sim_report *report, FILE *to)
{
    fprintf(to, "FAILED %s: %s\n  replay: ", report->check, report->why);
    sim_replay_print(command, trial, seed, to);
}

/* --- One run ---------------------------------------------------------------------- */

static void print_rules(const struct trial_result *result)
{
    for (uint32_t i = 0; i < result->plan.rule_count; i++) {
        char rule[256];
        plan_rule_format(&result->plan.rules[i], rule, sizeof(rule));
        uint64_t fired = result->report.hits.fired[i];
        printf("  %-12s %s fired %" PRIu64 " %s\n", i == 0 ? "rules" : "", rule, fired,
               fired == 1 ? "time" : "times");
    }
}

static void print_run(const struct trial_result *result)
{
    const struct sim_report *report = &result->report;
    char took[32];
    tally_time_format(report->end_ns, took, sizeof(took));
    printf("  events       %" PRIu64 " in %s of virtual time; digest ",
           report->counts.events, took);
    for (int i = 0; i < SIM_DIGEST_BYTES; i++) {
        printf("%02x", report->digest[i]);
    }
    putchar('\n');
    print_rules(result);
}

static void print_unfired(const struct trial_result *result)
{
    char took[32];
    tally_time_format(result->report.end_ns, took, sizeof(took));
    for (uint32_t i = 0; i < result->plan.rule_count; i++) {
        char rule[256];
        if ((result->unfired & PLAN_RULE(i)) == 0) {
            continue;
        }
        plan_rule_format(&result->plan.rules[i], rule, sizeof(rule));
        cli_complain(&verb_sim,
                     "rule %" PRIu32 ", %s, never fired in the %s that the run took",
                     i + 1, rule, took);
    }
}

int sim_one(const struct sim_command *command)
{
    struct tally *tally = calloc(1, sizeof(*tally));
    struct trial_result *result = malloc(sizeof(*result));
    if (tally == NULL || result == NULL) {
        abort();
    }
    uint64_t seed = command->seed_first;
    bool good =
        trial_run(&command->trial, seed, command->trace ? stdout : NULL, tally, result);
    if (!good) {
        sim_failure_print(command, &command->trial, seed, &result->report, stdout);
        if (result->report.dump != NULL) {
            fputs(result->report.dump, stdout);
        }
    }
    struct sim_untested untested = {0};
    sim_untested_add(&untested, &command->trial, result);
    uint32_t ranks = trial_rank_count(&command->trial, seed);
    printf("%s: %" PRIu32 " rank%s, %" PRIu32 " task%s, seed %" PRIu64 "\n",
           !good                ? "bad"
           : untested.runs != 0 ? "untested"
                                : "good",
           ranks, ranks == 1 ? "" : "s", result->task_count,
           result->task_count == 1 ? "" : "s", seed);
    print_run(result);
    tally_print(tally, stdout);
    if (command->coverage) {
        sim_coverage_print(tally);
    }
    fflush(stdout);
    print_unfired(result);
    if (untested.unseen != 0) {
        cli_complain(&verb_sim,
                     "no check saw the canary %s: what it breaks may not have happened",
                     sim_canary_name(command->trial.canary));
    }
    int status = !good ? CLI_FAILED : untested.runs != 0 ? CLI_UNTESTED : CLI_OK;
    free(result->report.dump);
    free(result);
    free(tally);
    if (!good && command->shrink) {
        (void)sim_shrink(command, seed);
    }
    return status;
}
