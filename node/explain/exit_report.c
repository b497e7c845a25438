/* exit_report.c - see exit_report.h. */
#include "node/explain/exit_report.h"

#include "consensus/core_view.h"
#include "node/config/ending.h"
#include "node/engine/clock.h"
#include "node/engine/report_queue.h"
#include "node/record/fresh_file.h"
#include "node/record/moot_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void write_figures(FILE *file, const struct moot *m, int close_code)
{
    struct figure figures[SUMMARY_FIGURES];
    size_t count = summary_figures(m, figures);
    fprintf(file, "close_code %d\nprocess %u\ndeparted %d\ndismissed %d\n", close_code,
            moot_name_process(m), m->members.departed,
            m->service.dismissed && close_code == 0);
    fprintf(file, "handles_left %llu\nbytes_left %llu\n",
            (unsigned long long)m->explain.handles_left,
            (unsigned long long)m->explain.bytes_left);
    fprintf(file, "elements_taken %llu\ngates %" PRIu64 "\n",
            (unsigned long long)m->counts.elements_taken,
            (uint64_t)m->compose.gates.made);
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "%s %llu\n", figures[i].key,
                (unsigned long long)figures[i].value);
    }
}

static void write_losses(FILE *file, const struct moot *m)
{
    fprintf(file, "ended_ns %llu\n",
            (unsigned long long)ending_by_job_clock(clock_ns()));
    fprintf(file, "taken_over_ns %llu\n",
            (unsigned long long)ending_by_job_clock(m->members.taken_over_ns));
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        const struct member *member = &m->members.all[rank];
        if (member->state == MEMBER_DEAD || member->state == MEMBER_REMOVED) {
            fprintf(file, "lost_%u %llu %llu %llu\n", rank,
                    (unsigned long long)ending_by_job_clock(member->ended_ns),
                    (unsigned long long)ending_by_job_clock(member->removed_ns),
                    (unsigned long long)member->epoch);
            if (member->story != NULL && *member->story != '\0') {
                fprintf(file, "died_%u %s\n", rank, member->story);
            }
        }
    }
}

static void write_sheet(FILE *file, const struct moot *m, int close_code)
{
    write_figures(file, m, close_code);
    write_losses(file, m);
    figures_write_hits(file, m);
}

void summary_begin(const struct moot *m, const char *door)
{
    struct text path = {0};
    figures_path(m, "rank", &path);
    text_add(&path, ".unfinished");
    FILE *file =
        m->knobs.summary[0] != '\0' ? fresh_file_stream(text_get(&path)) : NULL;
    if (file != NULL) {
        fprintf(file, "door %s\n", door);
        fclose(file);
    }
    text_release(&path);
}

void summary_write(struct moot *m, int close_code)
{
    if (m->knobs.summary[0] != '\0' &&
        !figures_write_file(m, "rank", write_sheet, close_code)) {
        report_add(m, "moot: rank %u cannot write its summary to %s: %s\n",
                   m->group.rank, m->knobs.summary, strerror(errno));
    }
}
