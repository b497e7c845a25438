/* sheet_lines.c - see sheet_lines.h. */
#include "node/tools/sheet_lines.h"

#include "node/tools/sheet.h"

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

static void signatures_print(const moot_stats *stats, FILE *to)
{
    if (stats->signatures_differing + stats->rolls_differing > 0) {
        fprintf(to,
                "  states differ  found %" PRIu64 " times by signatures, %" PRIu64
                " times by what was announced, over all ranks\n",
                stats->signatures_differing, stats->rolls_differing);
    }
}

/* Tasks that did not run, and results that were stored for another time. */
static void checkpoint_print(const moot_stats *stats, FILE *to)
{
    char text[32];
    if (stats->tasks_found + stats->results_stored + stats->records_lost == 0) {
        return;
    }
    fprintf(to, "  checkpoint     %" PRIu64 " found", stats->tasks_found);
    if (stats->tasks_found > 0) {
        fprintf(to, " (%.3f s when they ran)", (double)stats->tasks_found_ns / 1e9);
    }
    fprintf(to, ", %" PRIu64 " stored, %s\n", stats->results_stored,
            sheet_bytes_format(stats->bytes_stored, text));
    if (stats->reloads > 0) {
        fprintf(to,
                "  went back      to snapshots, %" PRIu64
                " times over all ranks, behind %" PRIu64 " runs\n",
                stats->reloads, stats->tasks_undone);
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

void sheet_lines_print(const moot_stats *stats, FILE *to)
{
    checkpoint_print(stats, to);
    builds_print(stats, to);
    signatures_print(stats, to);
    dropped_print(stats, to);
    streams_print(stats, to);
    resent_print(stats, to);
}
