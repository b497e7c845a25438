/* sim_sweep.c - a table over one setting: what it buys, and what it costs.
 *
 * For each distribution of how late ranks spawn, and each value of the setting, all
 * seeds are run.  The table was made for the vote timeout: the shorter it is, the
 * sooner a waiter gets a result that its chair would have been late to run, and the
 * more often a chair gives away what it was about to spawn itself.  Waits are those of
 * the program, from its call to the end of that; who was removed was alive.
 */
#include "node/cli/sim_verb.h"
#include <inttypes.h>
#include <stdlib.h>

static void print_time(uint64_t ns)
{
    char text[32];
    tally_time_format(ns, text, sizeof(text));
    printf(" %9s", text);
}

static void print_head(enum trial_setting setting, const char *lateness)
{
    printf("\nranks spawn late by %s\n", lateness);
    printf("  %-14s %7s %9s %6s | %9s %9s %9s | %9s %9s | %9s %7s\n",
           trial_setting_name(setting), "votes", "needless", "asks", "ask p50", "p90",
           "p99", "wait mean", "p99", "a run", "removed");
}

static void print_row(const struct sim_command *command, uint64_t value,
                      const struct tally *tally)
{
    char text[32];
    trial_setting_format(command->sweep, value, text, sizeof(text));
    printf("  %-14s %7" PRIu64 " %9" PRIu64 " %6" PRIu64 " |", text,
           tally_total(tally->votes, EVIDENCE_END),
           tally_total(tally->needless, EVIDENCE_END), tally->asks.count);
    print_time(tally_percentile_ns(&tally->asks, 500));
    print_time(tally_percentile_ns(&tally->asks, 900));
    print_time(tally_percentile_ns(&tally->asks, 990));
    printf(" |");
    print_time(tally->waits.count > 0 ? tally->waits.sum_ns / tally->waits.count : 0);
    print_time(tally_percentile_ns(&tally->waits, 990));
    printf(" |");
    print_time(tally->runs > 0 ? tally->time_ns / tally->runs : 0);
    printf(" %7" PRIu64 "\n", tally->removed);
    fflush(stdout);
}

static bool run_row(const struct sim_command *command, struct trial *trial,
                    uint64_t value, struct sim_outcome *outcome, bool *untested)
{
    const struct sim_batch batch = {.command = command,
                                    .trial = trial,
                                    .seed_first = command->seed_first,
                                    .seed_last = command->seed_last};
    trial->set[command->sweep] = true;
    trial->settings[command->sweep] = value;
    bool good = sim_batch_run(&batch, outcome) && outcome->tally.violations == 0;
    print_row(command, value, &outcome->tally);
    sim_untested_tell(&outcome->untested, trial);
    *untested |= outcome->untested.runs > 0;
    return good;
}

int sim_sweep(const struct sim_command *command)
{
    static const char *const all[] = {"none", "1ms", "1ms+-1ms", "exp:1ms",
                                      "pareto:200us:1.2"};
    const char *const *words =
        command->lateness_word != NULL ? &command->lateness_word : all;
    bool one = command->lateness_word != NULL ||
               !workload_has_phases(command->trial.workload.kind);
    size_t count = one ? 1 : sizeof(all) / sizeof(*all);
    struct sim_outcome *outcome = calloc(1, sizeof(*outcome));
    if (outcome == NULL) {
        abort();
    }
    bool good = true, untested = false;
    uint64_t runs = command->seed_last - command->seed_first + 1;
    printf("%" PRIu32 " ranks, workload %s, %" PRIu64 " run%s for each row\n",
           command->trial.ranks,
           command->workload_word != NULL ? command->workload_word : "random", runs,
           runs == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++) {
        struct sim_command here = *command;
        struct plan_error error;
        here.lateness_word = words[i];
        good &= sim_lateness_read(words[i], &here.trial.workload.lateness, &error);
        print_head(command->sweep, words[i]);
        for (uint32_t value = 0; value < command->sweep_count; value++) {
            struct trial trial = here.trial;
            good &= run_row(&here, &trial, command->sweep_values[value], outcome,
                            &untested);
        }
    }
    free(outcome);
    return !good ? CLI_FAILED : untested ? CLI_UNTESTED : CLI_OK;
}
