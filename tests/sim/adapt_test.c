/* adapt_test.c - timers that are learnt, beside every fixed value that one might set.
 *
 *   adapt_test            is judged
 *   adapt_test --table    and printed, as the README has it
 *
 * Clusters whose round trips and silences differ by four orders of magnitude run
 * a program whose ranks skip one spawn in twenty.  On each, the ask delay and the
 * suspicion are set to one value after the other, and then left to the core.  What must
 * be true:
 *
 *   waiter latency   the mean wait of the program with `auto` is never more than twice
 *                    that with the best fixed value, which is another one everywhere
 *   false removals   none with `auto`, in any run.  A fifth cluster is deaf for longer
 *                    than what `auto` begins with from the first moment, which nothing
 *                    can have learnt by then: there it removes a third, at most, of
 * what that does as a fixed value dead ranks       are removed all the same: suspicions
 * are compared while one dies agreeing ranks   cast no vote
 */
#include "consensus/sim/runs/trial.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define US(n) (UINT64_C(1000) * (n))
#define MS(n) (UINT64_C(1000000) * (n))

enum {
    RANKS = 6,
    TASKS = 200,
    SEEDS = 12,
    STORMS = 300,
    SETTINGS_MAX = 8,
    VALUES_MAX = 6
};
static const double TIMES_THE_BEST = 2;

static const struct cluster {
    const char *name, *what;
    struct {
        enum trial_setting setting;
        uint64_t value;
    } set[SETTINGS_MAX];
    uint64_t heartbeat_ns; /* a lease of four, a suspicion of six */
    bool harsh;            /* the fifth */
    const char *death;     /* in the midst of a run */
} clusters[] = {
    {"lan", "2 us each way", {{TRIAL_LATENCY, US(2)}}, US(500), false, "kill:r5@5ms"},
    {"wan",
     "20 to 25 ms each way",
     {{TRIAL_LATENCY, MS(20)}, {TRIAL_JITTER, MS(5)}, {TRIAL_POLL, US(50)}},
     MS(100),
     false,
     "kill:r5@300ms"},
    {"oversubscribed",
     "ranks look at their messages after up to 4 ms",
     {{TRIAL_LATENCY, US(5)},
      {TRIAL_JITTER, US(50)},
      {TRIAL_POLL, MS(4)},
      {TRIAL_STEP, US(20)},
      {TRIAL_WORKERS, 0}},
     MS(20),
     false,
     "kill:r5@50ms"},
    {"bursty",
     "after one look in fifty a rank is deaf for up to 100 ms",
     {{TRIAL_LATENCY, US(50)},
      {TRIAL_JITTER, US(50)},
      {TRIAL_GAPS, 20},
      {TRIAL_GAP, MS(100)}},
     MS(20),
     false,
     "kill:r5@50ms"},
    {"long gaps",
     "likewise, for up to 200 ms: ten heartbeats",
     {{TRIAL_LATENCY, US(50)},
      {TRIAL_JITTER, US(50)},
      {TRIAL_GAPS, 20},
      {TRIAL_GAP, MS(200)}},
     MS(20),
     true,
     "kill:r5@50ms"},
};
enum { CLUSTERS = sizeof(clusters) / sizeof(*clusters) };

static bool failed;

static void expect(bool good, const char *where, const char *what)
{
    if (good) {
        return;
    }
    failed = true;
    printf("FAILED %s: %s\n", where, what);
}

/* --- Running ---------------------------------------------------------------------- */

static void set(struct trial *trial, enum trial_setting setting, uint64_t value)
{
    trial->set[setting] = true;
    trial->settings[setting] = value;
}

static void trial_make(const struct cluster *cluster, const char *workload,
                       const struct plan *plan, struct trial *out)
{
    struct plan_error error;
    *out = (struct trial){.ranks = RANKS,
                          .tasks = TASKS,
                          .faults = TRIAL_PLAN,
                          .plan = plan,
                          .steady = true};
    if (!workload_parse(workload, &out->workload, &error)) {
        abort();
    }
    for (int i = 0; i < SETTINGS_MAX && cluster->set[i].setting + cluster->set[i].value;
         i++) {
        set(out, cluster->set[i].setting, cluster->set[i].value);
    }
    set(out, TRIAL_HEARTBEAT, cluster->heartbeat_ns);
    set(out, TRIAL_LEASE, 4 * cluster->heartbeat_ns);
    set(out, TRIAL_SUSPECT, 6 * cluster->heartbeat_ns);
    set(out, TRIAL_QUORUM_WAIT, 60 * cluster->heartbeat_ns);
    set(out, TRIAL_ASK_DELAY, TRIAL_AUTO);
}

struct outcome {
    struct tally tally;
    uint64_t removed; /* runs in which one was that nothing had befallen */
    uint64_t broken;  /* runs that failed any other check */
};

/* Where a rank is removed that is well, the checker stops the run. */
static void run_seeds(const struct trial *trial, uint64_t seeds, struct outcome *out)
{
    *out = (struct outcome){0};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        static struct trial_result result;
        bool good = trial_run(trial, seed, NULL, &out->tally, &result);
        bool unfair = strcmp(result.report.check, "fair view") == 0 ||
                      strcmp(result.report.check, "quorum lost") == 0;
        out->removed += !good && unfair;
        out->broken += !good && !unfair;
        if (!good && !unfair) {
            printf("seed %" PRIu64 ": %s: %s\n", seed, result.report.check,
                   result.report.why);
        }
        free(result.report.dump);
    }
}

static void run(const struct trial *trial, struct outcome *out)
{
    run_seeds(trial, SEEDS, out);
}

static double mean_ms(const struct outcome *outcome)
{
    const struct tally_spread *waits = &outcome->tally.waits;
    return waits->count > 0 ? (double)waits->sum_ns / (double)waits->count / 1e6 : 0;
}

/* --- One timer, on one cluster ---------------------------------------------------- */

static void row_print(const struct cluster *cluster, enum trial_setting setting,
                      uint64_t value, const struct outcome *outcome)
{
    char text[32], p99[32];
    const struct tally *tally = &outcome->tally;
    trial_setting_format(setting, value, text, sizeof(text));
    tally_time_format(tally_percentile_ns(&tally->waits, 990), p99, sizeof(p99));
    printf("%-15s %-10s %-7s %10.3f %9s %7" PRIu64 " %6" PRIu64 " %9" PRIu64
           " %8" PRIu64 "\n",
           cluster->name, trial_setting_name(setting), text, mean_ms(outcome), p99,
           tally->asks.count, tally_total(tally->votes, EVIDENCE_END),
           tally_total(tally->needless, EVIDENCE_END), outcome->removed);
}

/* The best of the fixed values is the one with the shortest waits, of those that remove
 * nobody. */
static void compare(const struct cluster *cluster, const struct trial *base,
                    enum trial_setting setting, const uint64_t values[VALUES_MAX],
                    bool table)
{
    static struct outcome outcome;
    double best_ms = 0;
    uint64_t removed_most = 0;
    struct trial trial = *base;
    for (int i = 0; i < VALUES_MAX && values[i] != 0; i++) {
        set(&trial, setting, values[i]);
        run(&trial, &outcome);
        if (outcome.removed > removed_most) {
            removed_most = outcome.removed;
        }
        if (outcome.removed == 0 && (best_ms <= 0 || mean_ms(&outcome) < best_ms)) {
            best_ms = mean_ms(&outcome);
        }
        if (table) {
            row_print(cluster, setting, values[i], &outcome);
        }
        expect(outcome.broken == 0, cluster->name, "a check failed");
    }
    trial = *base;
    set(&trial, setting, TRIAL_AUTO);
    run(&trial, &outcome);
    if (table) {
        row_print(cluster, setting, TRIAL_AUTO, &outcome);
    }
    printf("%s, %s: %.2f times the best\n", cluster->name, trial_setting_name(setting),
           mean_ms(&outcome) / best_ms);
    expect(outcome.broken == 0, cluster->name, "a check failed");
    expect(cluster->harsh ? 3 * outcome.removed <= removed_most : outcome.removed == 0,
           cluster->name, "auto removes ranks that are well");
    expect(mean_ms(&outcome) <= TIMES_THE_BEST * best_ms, cluster->name,
           "auto takes more than twice as long as the best fixed value");
}

/* --- The table -------------------------------------------------------------------- */

static void compare_asks(const struct cluster *cluster, const struct plan *plan,
                         bool table)
{
    static const uint64_t values[VALUES_MAX] = {US(100), MS(1), MS(5), MS(20), MS(100)};
    struct trial trial;
    trial_make(cluster, "skip:5%", plan, &trial);
    set(&trial, TRIAL_SUSPECT,
        cluster->harsh ? 24 * cluster->heartbeat_ns : TRIAL_AUTO);
    compare(cluster, &trial, TRIAL_ASK_DELAY, values, table);
}

static void compare_suspicions(const struct cluster *cluster, const struct plan *plan,
                               bool table)
{
    const uint64_t values[VALUES_MAX] = {
        4 * cluster->heartbeat_ns, 6 * cluster->heartbeat_ns,
        12 * cluster->heartbeat_ns, 24 * cluster->heartbeat_ns};
    struct trial trial;
    trial_make(cluster, "skip:5%", plan, &trial);
    compare(cluster, &trial, TRIAL_SUSPECT, values, table);
}

/* With all that is learnt, the vote timeout included. */
static void agree(const struct cluster *cluster, const struct plan *plan)
{
    static struct outcome outcome;
    struct trial trial;
    trial_make(cluster, "agree", plan, &trial);
    set(&trial, TRIAL_SUSPECT,
        cluster->harsh ? 24 * cluster->heartbeat_ns : TRIAL_AUTO);
    set(&trial, TRIAL_VOTE_TIMEOUT, TRIAL_AUTO);
    run(&trial, &outcome);
    expect(outcome.broken + outcome.removed == 0, cluster->name,
           "an agreeing run fails");
    expect(tally_total(outcome.tally.votes, EVIDENCE_END) == 0, cluster->name,
           "agreeing ranks vote");
}

/* Whatever befalls them: the checkers of storms have nothing to say. */
static void weather_storms(void)
{
    static struct outcome outcome;
    struct trial trial = {.ranks = 5, .faults = TRIAL_DRAWN};
    set(&trial, TRIAL_ASK_DELAY, TRIAL_AUTO);
    set(&trial, TRIAL_SUSPECT, TRIAL_AUTO);
    set(&trial, TRIAL_VOTE_TIMEOUT, TRIAL_AUTO);
    run_seeds(&trial, STORMS, &outcome);
    expect(outcome.broken + outcome.removed == 0, "storms", "a check failed");
}

static struct plan *plan_of(const char *text)
{
    struct plan *plan;
    struct plan_error error;
    if (plan_parse(text, &plan, &error) != MOOT_OK) {
        abort();
    }
    return plan;
}

int main(int argc, char **argv)
{
    bool table = argc > 1 && strcmp(argv[1], "--table") == 0;
    struct plan *calm = plan_of("seed:0");
    if (table) {
        printf("%-15s %-10s %-7s %10s %9s %7s %6s %9s %8s\n", "cluster", "timer",
               "value", "wait, ms", "p99", "asks", "votes", "needless", "removed");
    }
    for (int i = 0; i < CLUSTERS; i++) {
        struct plan *death = plan_of(clusters[i].death);
        compare_asks(&clusters[i], calm, table);
        compare_suspicions(&clusters[i], death, table);
        agree(&clusters[i], calm);
        plan_free(death);
    }
    weather_storms();
    plan_free(calm);
    return failed ? 1 : 0;
}
