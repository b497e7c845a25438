/* tune_print.c - what was measured, what each candidate would do, and the file. */
#include "consensus/core.h"
#include "consensus/sim/runs/trial.h"
#include "node/api/moot.h"
#include "node/tools/tune.h"
#include "proto/message.h"
#include <inttypes.h>
#include <string.h>

enum { TIME_BYTES = 32 };

static const char *time_of(uint64_t ns, char text[TIME_BYTES])
{
    if (ns == CORE_NEVER) {
        snprintf(text, TIME_BYTES, "never");
    } else {
        tally_time_format(ns, text, TIME_BYTES);
    }
    return text;
}

/* --- What was measured ------------------------------------------------------------ */

static void samples_print(const char *what, const struct samples *samples, FILE *to)
{
    static const struct {
        const char *name;
        unsigned per_myriad;
    } columns[] = {{"p50", 5000}, {"p99", 9900}, {"p99.9", 9990}, {"most", 10000}};
    char text[TIME_BYTES];
    fprintf(to, "  %-15s %6zu", what, samples->count);
    for (size_t i = 0; samples->count > 0 && i < sizeof(columns) / sizeof(*columns);
         i++) {
        fprintf(to, "  %s %s", columns[i].name,
                time_of((uint64_t)samples_at(samples, columns[i].per_myriad), text));
    }
}

static void votes_print(const struct tune_measures *measures, FILE *to)
{
    const char *separator = ": ";
    fprintf(to, "  %-15s %6" PRIu64, "votes", measures->votes);
    for (int i = 0; i < EVIDENCE_END; i++) {
        if (measures->votes_of[i] != 0) {
            fprintf(to, "%s%" PRIu64 " %s", separator, measures->votes_of[i],
                    evidence_name((enum evidence)i));
            separator = ", ";
        }
    }
    if (measures->needless > 0) {
        fprintf(to, "; the chair spawned %" PRIu64 " of these itself later",
                measures->needless);
    }
    fputc('\n', to);
}

void tune_print_measures(const struct tune_measures *measures, FILE *to)
{
    char text[TIME_BYTES];
    fprintf(to,
            "measured: %" PRIu32 " run%s of %" PRIu32 " ranks on %" PRIu32
            " host%s, %s each, %" PRIu64 " tasks\n",
            measures->runs, measures->runs == 1 ? "" : "s", measures->ranks,
            measures->hosts, measures->hosts == 1 ? "" : "s",
            time_of((uint64_t)measures->makespan_ns / measures->runs, text),
            measures->tasks / measures->runs);
    samples_print("round trips", &measures->trips, to);
    if (measures->trips.count > 0) {
        fprintf(to, ", from rank %" PRIu32 " to %" PRIu32 " and back",
                measures->trip_from, measures->trip_to);
    }
    fputc('\n', to);
    samples_print("progress gaps", &measures->gaps, to);
    if (measures->gaps.count > 0) {
        fprintf(to, ", on rank %" PRIu32 " %s%s", measures->gap_rank,
                measures->gap_kernel[0] != '\0' ? "in kernel " : "outside of kernels",
                measures->gap_kernel);
    }
    fputc('\n', to);
    samples_print("silences", &measures->silences, to);
    fputs(" beyond a heartbeat\n", to);
    samples_print("spawn lateness", &measures->spawns, to);
    fputs(", after the first rank's\n", to);
    samples_print("late chairs", &measures->late, to);
    fputs(", asked so long before they spawned the task\n", to);
    samples_print("evidence", &measures->decided, to);
    fputs(", after a chair without the task was asked\n", to);
    votes_print(measures, to);
}

/* --- Candidates ------------------------------------------------------------------- */

static void share_print(double most, FILE *to)
{
    if (most >= 0.9995) {
        fprintf(to, " %8s", "?");
    } else {
        fprintf(to, " %7.2g%%", 100 * most);
    }
}

static void candidate_print(const struct candidate *candidate, bool chosen, FILE *to)
{
    const struct replayed *calm = &candidate->at[0];
    char timeout[TIME_BYTES], mean[TIME_BYTES], p99[TIME_BYTES], run[TIME_BYTES];
    fprintf(to, "%c%c%9s |", chosen ? '>' : ' ', candidate->frontier ? '*' : ' ',
            time_of(candidate->timers.vote_timeout_ns, timeout));
    for (int rate = 0; rate < TUNE_RATES; rate++) {
        fprintf(to, " %6" PRIu64, candidate->at[rate].needless);
    }
    fprintf(to, " | %9s %9s %9s |", time_of((uint64_t)calm->wait_mean_ns, mean),
            time_of(calm->wait_p99_ns, p99), time_of((uint64_t)calm->run_ns, run));
    fprintf(to, " %6zu", candidate->late_beyond);
    share_print(candidate->needless_most, to);
    fputc('\n', to);
}

static uint64_t broken_of(const struct tune_advice *advice)
{
    uint64_t broken = 0;
    for (size_t i = 0; i < advice->count; i++) {
        for (int rate = 0; rate < TUNE_RATES; rate++) {
            broken += advice->candidates[i].at[rate].broken;
        }
    }
    return broken;
}

static void wire_print(const struct tune_wire *wire, FILE *to)
{
    char rank[TIME_BYTES], pair[TIME_BYTES];
    if (!tune_wire_is_bound(wire)) {
        fputs("(bandwidth: none was given, so bytes take no time in replays)\n", to);
        return;
    }
    trial_setting_format(TRIAL_BANDWIDTH, wire->bandwidth, rank, sizeof(rank));
    trial_setting_format(TRIAL_LINK_BANDWIDTH, wire->link_bandwidth, pair,
                         sizeof(pair));
    fprintf(to,
            "(bandwidth: %s a second of each rank, and %s of each pair of ranks, with "
            "results as large\nas they were)\n",
            rank, pair);
}

static void head_print(const struct tune_measures *measures,
                       const struct tune_advice *advice, FILE *to)
{
    const struct replayed *never = &advice->candidates[advice->count - 1].at[0];
    const uint64_t broken = broken_of(advice);
    fprintf(to,
            "\nvote timeouts, with the recorded run%s%s replayed %" PRIu64
            " times for each share of late messages\n",
            measures->runs == 1 ? "" : "s",
            advice->whole ? "" : " (of long ones the beginning)", never->runs);
    fprintf(
        to,
        "(recorded runs cast %.1f votes each, replays without a timeout and without "
        "late messages %.1f)\n",
        (double)measures->votes / measures->runs,
        (double)never->votes / (double)never->runs);
    if (broken > 0) {
        fprintf(to,
                "(%" PRIu64 " replays did not come to their end, and count as "
                "needless votes)\n",
                broken);
    }
    wire_print(&advice->wire, to);
    fprintf(to, "  %9s | needless, by share   | %29s | late chairs beyond\n", "", "");
    fprintf(to, "  %9s |", "timeout");
    for (int rate = 0; rate < TUNE_RATES; rate++) {
        fprintf(to, " %5.3g%%", tune_rates_per_mille[rate] / 10.0);
    }
    fprintf(to, " | %9s %9s %9s | %6s %8s\n", "wait mean", "wait p99", "a run", "seen",
            "at most");
}

static void presets_print(const struct tune_advice *advice, FILE *to)
{
    fprintf(to, "\npresets, and the advice\n");
    fprintf(to, "  %-8s %9s %9s | %8s %9s | %9s | %9s %9s\n", "", "timeout", "suspect",
            "needless", "wait mean", "removal", "suspected", "at most");
    for (size_t i = 0; i < sizeof(advice->presets) / sizeof(*advice->presets); i++) {
        const struct candidate *preset = &advice->presets[i];
        char timeout[TIME_BYTES], suspect[TIME_BYTES], mean[TIME_BYTES],
            removal[TIME_BYTES];
        uint64_t needless = 0;
        for (int rate = 0; rate < TUNE_RATES; rate++) {
            needless += preset->at[rate].needless;
        }
        fprintf(to, "  %-8s %9s %9s | %8" PRIu64 " %9s | %9s | %9zu",
                preset->timers.name, time_of(preset->timers.vote_timeout_ns, timeout),
                time_of(preset->timers.suspect_ns, suspect), needless,
                time_of((uint64_t)preset->at[0].wait_mean_ns, mean),
                preset->removals > 0 ? time_of(preset->removal_ns, removal) : "-",
                preset->silences_beyond);
        share_print(preset->suspicions_most, to);
        fputc('\n', to);
    }
    fprintf(to, "removal: of a rank that falls silent, until the first other goes on "
                "without it; one whose process ends\non the same host is missed at "
                "once.  suspected: recorded heartbeats that came later than that; at "
                "most:\nso many of all heartbeats, at 95 %% confidence.\n");
}

/* --- The reason ------------------------------------------------------------------- */

/* As knobs are written. */
static const char *knob_of(uint64_t ns, char text[TIME_BYTES])
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    int unit = 0;
    if (ns == CORE_NEVER) {
        return "never";
    }
    while (ns % units[unit].ns != 0) {
        unit++;
    }
    snprintf(text, TIME_BYTES, "%" PRIu64 "%s", ns / units[unit].ns, units[unit].name);
    return text;
}

static const char *late_chairs_of(const struct tune_measures *measures,
                                  char text[2 * TIME_BYTES])
{
    char late[TIME_BYTES];
    if (measures->late.count == 0) {
        return "none was seen";
    }
    snprintf(text, 2 * TIME_BYTES, "%s, of %zu",
             time_of((uint64_t)samples_most(&measures->late), late),
             measures->late.count);
    return text;
}

static void timeout_print(const struct tune_measures *measures, uint64_t timeout_ns,
                          FILE *to)
{
    char timeout[TIME_BYTES], late[2 * TIME_BYTES], trip[TIME_BYTES], gap[TIME_BYTES];
    fprintf(
        to,
        "\nadvised: MOOT_VOTE_TIMEOUT=%s: no replay cast a needless vote with it, "
        "and it is at least four times\nthe longest round trip (%s), gap in progress "
        "(%s) and late chair (%s).\nVotes that evidence decides do not wait "
        "for it; it bounds the wait for a chair that is stuck in\ncode that is not "
        "moot's.\n",
        knob_of(timeout_ns, timeout),
        time_of((uint64_t)samples_most(&measures->trips), trip),
        time_of((uint64_t)samples_most(&measures->gaps), gap),
        late_chairs_of(measures, late));
}

static void reason_print(const struct tune_measures *measures,
                         const struct tune_advice *advice, FILE *to)
{
    if (!advice->enough) {
        fprintf(
            to,
            "\nadvised: MOOT_VOTE_TIMEOUT=never, the default: chairs were asked for "
            "tasks that they had not spawned\n%zu time%s, and fewer than %d say "
            "nothing about a timeout.  More runs (--runs), or longer ones, might.\n",
            tune_early_asks(measures), tune_early_asks(measures) == 1 ? "" : "s",
            TUNE_ASKS_LEAST);
    } else if (advice->timers.vote_timeout_ns == CORE_NEVER) {
        fprintf(to, "\nadvised: MOOT_VOTE_TIMEOUT=never, the default: with every other "
                    "candidate some replay gave away\na task that its chair was about "
                    "to spawn.\n");
    } else {
        timeout_print(measures, advice->timers.vote_timeout_ns, to);
    }
}

void tune_print_advice(const struct tune_measures *measures,
                       const struct tune_advice *advice, FILE *to)
{
    if (advice->count > 0) {
        head_print(measures, advice, to);
        for (size_t i = 0; i < advice->count; i++) {
            candidate_print(&advice->candidates[i], i == advice->chosen, to);
        }
        fprintf(
            to,
            "needless: the chair spawned the task itself later.  late chairs beyond: "
            "those later than the\ntimeout in the recorded runs, and the most, at 95 "
            "%% "
            "confidence, of %zu asks for tasks that a chair\nhad not spawned.  *: no "
            "other row has as few needless votes and shorter waits.\n",
            tune_early_asks(measures));
        presets_print(advice, to);
    }
    reason_print(measures, advice, to);
    if (measures->trips.count == 0) {
        fprintf(to,
                "No heartbeat was answered: the runs were too short to say anything "
                "about MOOT_SUSPECT.\n");
    }
}

/* --- The file --------------------------------------------------------------------- */

static void knob_print(const char *name, uint64_t ns, FILE *to)
{
    char text[TIME_BYTES];
    fprintf(to, "%s = %s\n", name, knob_of(ns, text));
}

/* "# 12 heartbeats, the latest by 0.123 ms."; or that none was seen. */
static void latest_print(const struct samples *samples, const char *what, FILE *to)
{
    if (samples->count == 0) {
        fprintf(to, "\n# No %s was seen.", what);
    } else {
        fprintf(to, "\n# %zu %s%s, the latest by %.3f ms.", samples->count, what,
                samples->count == 1 ? "" : "s", (double)samples_most(samples) / 1e6);
    }
}

void tune_write_config(const struct tune_measures *measures,
                       const struct tune_advice *advice, const char *command, FILE *to)
{
    fprintf(to,
            "# By moot tune %d.%d.%d, of %" PRIu32 " run%s of\n#   %s\n"
            "# on %" PRIu32 " ranks and %" PRIu32 " host%s.  Used with "
            "MOOT_CONFIG=(this file); see moot-knobs(7).\n",
            MOOT_VERSION_MAJOR, MOOT_VERSION_MINOR, MOOT_VERSION_PATCH, measures->runs,
            measures->runs == 1 ? "" : "s", command, measures->ranks, measures->hosts,
            measures->hosts == 1 ? "" : "s");
    latest_print(&measures->late, "late chair", to);
    fputc('\n', to);
    knob_print("MOOT_VOTE_TIMEOUT", advice->timers.vote_timeout_ns, to);
    fprintf(to, "\n# %zu round trip%s; they are followed.\nMOOT_ASK_DELAY = auto\n",
            measures->trips.count, measures->trips.count == 1 ? "" : "s");
    /* A number would be as long, and no longer where a rank's heartbeats come late. */
    const bool is_auto = advice->timers.suspect_ns == TUNE_SUSPECT_AUTO_NS;
    latest_print(&measures->silences, "heartbeat", to);
    fprintf(to, "  %s\n",
            is_auto ? "auto is 3s, and more for a rank that is late."
                    : "Heartbeats are a sixth of this, and leases four of these.");
    if (is_auto) {
        fprintf(to, "MOOT_SUSPECT = auto\n");
    } else {
        knob_print("MOOT_SUSPECT", advice->timers.suspect_ns, to);
    }
}
