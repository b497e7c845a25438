/* sheet_lines.c - see sheet_lines.h. */
#include "node/tools/sheet_lines.h"

#include <inttypes.h>

const char *sheet_bytes_format(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1000 && unit < 5) {
        value /= 1000;
        unit++;
    }
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

/* Frames of strangers, and of whoever stands between ranks, that were dropped. */
static void dropped_print(const moot_stats *stats, FILE *to)
{
    if (stats->frames_of_strangers + stats->frames_forged + stats->frames_repeated ==
        0) {
        return;
    }
    fprintf(to,
            "  frames dropped %" PRIu64 " of strangers, %" PRIu64
            " forged or changed, %" PRIu64 " that had come before\n",
            stats->frames_of_strangers, stats->frames_forged, stats->frames_repeated);
}

static void streams_print(const moot_stats *stats, FILE *to)
{
    if (stats->streams_refused + stats->streams_broken > 0) {
        fprintf(to,
                "  streams        %" PRIu64
                " refused, of strangers or too late, %" PRIu64 " broken\n",
                stats->streams_refused, stats->streams_broken);
    }
}

/* Each rank counts its own kernels. */
static void builds_print(const moot_stats *stats, FILE *to)
{
    if (stats->kernels_rebuilt > 0) {
        fprintf(to,
                "  other builds   %" PRIu64
                " kernels of which another rank has another build, over all ranks\n",
                stats->kernels_rebuilt);
    }
}

/* The earliest difference that any rank was told of. */
static const struct sheet *first_difference(const struct sheets *sheets)
{
    const struct sheet *first = NULL;
    for (size_t r = 0; r < sheets->count; r++) {
        const struct sheet *each = &sheets->items[r];
        if (each->differing_step > 0 &&
            (first == NULL || each->differing_step < first->differing_step)) {
            first = each;
        }
    }
    return first;
}

static const char *times_word(uint64_t count) { return count == 1 ? "time" : "times"; }

/* `step`: plus 1; 0: none. */
static void agreed_print(uint64_t step, const char *what, const char *when, FILE *to)
{
    if (step > 0) {
        fprintf(to,
                "  %-12s   at step %" PRIu64
                "%s, the latest that all were seen to have signed alike\n",
                what, step - 1, when);
    }
}

/* A step at which all agree is told in its order with the first that differs. */
static void signatures_print(const struct sheets *sheets, const moot_stats *stats,
                             FILE *to)
{
    const struct sheet *first = first_difference(sheets);
    uint64_t agreed = 0;
    for (size_t r = 0; r < sheets->count; r++) {
        const uint64_t step = sheets->items[r].agreed_step;
        agreed = step > agreed ? step : agreed;
    }
    const bool again = first != NULL && agreed > first->differing_step;
    if (!again) {
        agreed_print(agreed, "states agree", "", to);
    }
    if (first != NULL) {
        fprintf(to, "  first differs  rank %" PRIu64 ", at step %" PRIu64 "\n",
                first->differing_rank - 1, first->differing_step - 1);
    }
    if (again) {
        agreed_print(agreed, "agree again", ", behind that difference", to);
    }
    if (stats->signatures_differing + stats->rolls_differing > 0) {
        fprintf(to,
                "  states differ  found %" PRIu64 " %s by signatures, %" PRIu64
                " %s by what was announced, over all ranks\n",
                stats->signatures_differing, times_word(stats->signatures_differing),
                stats->rolls_differing, times_word(stats->rolls_differing));
    }
}

static void snapshots_print(const struct sheet *sum, FILE *to)
{
    if (sum->snapshots + sum->snapshots_failed == 0) {
        return;
    }
    fprintf(to, "  snapshots      %" PRIu64 " made", sum->snapshots);
    if (sum->snapshots > 0) {
        fprintf(to, " (%.1f ms each)",
                (double)sum->snapshots_ns / (double)sum->snapshots / 1e6);
    }
    if (sum->snapshots_failed > 0) {
        fprintf(to, ", %" PRIu64 " %s a rank could not write its part",
                sum->snapshots_failed, times_word(sum->snapshots_failed));
    }
    fputc('\n', to);
}

/* Tasks that did not run, and results that were stored for another time. */
static void checkpoint_print(const struct sheet *sum, FILE *to)
{
    char text[32];
    const moot_stats *stats = &sum->stats;
    if (stats->tasks_found + stats->results_stored + stats->records_lost +
            sum->results_brief ==
        0) {
        return;
    }
    fprintf(to, "  checkpoint     %" PRIu64 " found", stats->tasks_found);
    if (stats->tasks_found > 0) {
        fprintf(to, " (%.3f s when they ran)", (double)stats->tasks_found_ns / 1e9);
    }
    fprintf(to, ", %" PRIu64 " stored, %s", stats->results_stored,
            sheet_bytes_format(stats->bytes_stored, text));
    if (sum->results_brief > 0) {
        fprintf(to, "; %" PRIu64 " too short to be stored", sum->results_brief);
    }
    fputc('\n', to);
    if (stats->reloads > 0) {
        fprintf(to,
                "  went back      to snapshots, %" PRIu64 " %s over all ranks; %" PRIu64
                " of the tasks run lie before\n",
                stats->reloads, times_word(stats->reloads), stats->tasks_undone);
    }
    if (stats->records_lost > 0) {
        fprintf(to,
                "  records lost   %" PRIu64
                ": damaged, or the disk or MOOT_CHECKPOINT_MIB did not take them\n",
                stats->records_lost);
    }
}

static void resent_print(const moot_stats *stats, FILE *to)
{
    const unsigned percent =
        sheet_resent_percent(stats->frames_linked, stats->frames_resent);
    if (percent > 0) {
        fprintf(to,
                "  sent again     %" PRIu64 " frames beside %" PRIu64
                " (%u %%): the wire loses or delays frames\n",
                stats->frames_resent, stats->frames_linked, percent);
    }
}

void sheet_lines_print(const struct sheets *sheets, const struct sheet *sum, FILE *to)
{
    const moot_stats *stats = &sum->stats;
    checkpoint_print(sum, to);
    snapshots_print(sum, to);
    builds_print(stats, to);
    signatures_print(sheets, stats, to);
    dropped_print(stats, to);
    streams_print(stats, to);
    resent_print(stats, to);
}
