/* metrics.c - see metrics.h. */
#include "node/explain/metrics.h"

#include "node/engine/report_queue.h"
#include "node/record/fresh_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A figure that is none of a metric's has no row. */
static const struct metric {
    const char *key;  /* of the figure */
    const char *name; /* of the metric; neighbours may share one, parted by a label */
    const char *label;
    const char *help;
    bool seconds; /* the figure is in ns, and not a counter */
} metrics[] = {
    {"wall_ns", "moot_open_seconds", NULL, "How long the moot was open.", true},
    {"tasks_spawned", "moot_tasks_spawned_total", NULL, "Tasks spawned.", false},
    {"tasks_run", "moot_tasks_run_total", NULL, "Tasks run.", false},
    {"tasks_failed", "moot_tasks_failed_total", NULL, "Tasks that failed.", false},
    {"tasks_crashed", "moot_tasks_crashed_total", NULL,
     "Tasks ended for the ranks that died of them, by the rank that decided so.",
     false},
    {"tasks_retried", "moot_tasks_retried_total", NULL,
     "Runs of kernels that failed and were made again.", false},
    {"tasks_taken_over", "moot_tasks_taken_over_total", NULL,
     "Tasks run in the place of a rank that was lost.", false},
    {"elements_run", "moot_elements_run_total", NULL,
     "Elements of task arrays that ended.", false},
    {"votes_closed", "moot_votes_total", "evidence=\"closed\"",
     "Votes cast as chair, by their evidence.", false},
    {"votes_declined", "moot_votes_total", "evidence=\"declined\"", NULL, false},
    {"votes_hint", "moot_votes_total", "evidence=\"hint\"", NULL, false},
    {"votes_nested", "moot_votes_total", "evidence=\"nested\"", NULL, false},
    {"votes_blocked", "moot_votes_total", "evidence=\"blocked\"", NULL, false},
    {"votes_timeout", "moot_votes_total", "evidence=\"timeout\"", NULL, false},
    {"votes_quiet", "moot_votes_total", "evidence=\"quiet\"", NULL, false},
    {"motions", "moot_motions_total", NULL, "Motions sent.", false},
    {"results_pushed", "moot_results_sent_total", "how=\"pushed\"", "Results sent.",
     false},
    {"results_answered", "moot_results_sent_total", "how=\"answered\"", NULL, false},
    {"results_relayed", "moot_results_sent_total", "how=\"relayed\"", NULL, false},
    {"results_received", "moot_results_received_total", NULL,
     "Results received and kept.", false},
    {"gossip_messages", "moot_gossip_messages_total", NULL,
     "Messages sent about rolls and states.", false},
    {"heartbeat_messages", "moot_heartbeat_messages_total", NULL,
     "Heartbeats and grants sent.", false},
    {"messages_sent", "moot_messages_sent_total", NULL, "Messages sent.", false},
    {"frames_sent", "moot_frames_sent_total", NULL, "Frames sent.", false},
    {"bytes_sent", "moot_sent_bytes_total", NULL, "Bytes sent.", false},
    {"frames_refused", "moot_frames_refused_total", NULL,
     "Frames dropped because they were malformed.", false},
    {"frames_of_strangers", "moot_frames_dropped_total", "why=\"stranger\"",
     "Frames dropped unread: of nobody in the job, forged, or come before.", false},
    {"frames_forged", "moot_frames_dropped_total", "why=\"forged\"", NULL, false},
    {"frames_repeated", "moot_frames_dropped_total", "why=\"repeated\"", NULL, false},
    {"streams_refused", "moot_streams_closed_total", "why=\"refused\"",
     "Streams closed: of strangers or too late, or broken.", false},
    {"streams_broken", "moot_streams_closed_total", "why=\"broken\"", NULL, false},
    {"frames_linked", "moot_frames_linked_total", NULL,
     "Frames sent that a peer acknowledges, on a wire that may lose them.", false},
    {"frames_resent", "moot_frames_resent_total", NULL,
     "Times that one of them was sent again.", false},
    {"stalls", "moot_stalls_total", NULL, "Stall reports.", false},
    {"violations", "moot_violations_total", NULL,
     "Messages by which a peer broke the protocol.", false},
    {"ranks_lost", "moot_ranks_lost", NULL, "Peers that died or were removed.", false},
    {"peers_by_ring", "moot_peers", "by=\"ring\"",
     "Peers at open, by what carries short frames to them.", false},
    {"peers_by_wire", "moot_peers", "by=\"mpi\"", NULL, false},
};
enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

static void print_head(FILE *file, const char *name, const char *type, const char *help)
{
    fprintf(file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static bool is_counter(const char *name)
{
    size_t length = strlen(name);
    return length > 6 && strcmp(name + length - 6, "_total") == 0;
}

static void print_sample(FILE *file, const struct metric *metric, uint32_t rank,
                         uint64_t value)
{
    fprintf(file, "%s{rank=\"%u\"%s%s} ", metric->name, rank,
            metric->label != NULL ? "," : "",
            metric->label != NULL ? metric->label : "");
    if (metric->seconds) {
        fprintf(file, "%.9f\n", (double)value / 1e9);
    } else {
        fprintf(file, "%llu\n", (unsigned long long)value);
    }
}

static void print_metric(FILE *file, const struct metric *metric,
                         const struct metrics_rank *ranks, size_t count)
{
    for (size_t r = 0; r < count; r++) {
        for (size_t i = 0; i < ranks[r].figure_count; i++) {
            if (strcmp(ranks[r].figures[i].key, metric->key) == 0) {
                print_sample(file, metric, ranks[r].rank, ranks[r].figures[i].value);
            }
        }
    }
}

void metrics_print(FILE *file, const struct metrics_rank *ranks, size_t count)
{
    print_head(file, "moot_close_ok", "gauge",
               "1 if the moot was closed without error.");
    for (size_t r = 0; r < count; r++) {
        fprintf(file, "moot_close_ok{rank=\"%u\"} %d\n", ranks[r].rank,
                ranks[r].close_code == MOOT_OK);
    }
    for (int i = 0; i < METRICS; i++) {
        const struct metric *metric = &metrics[i];
        if (i == 0 || strcmp(metrics[i - 1].name, metric->name) != 0) {
            print_head(file, metric->name,
                       is_counter(metric->name) ? "counter" : "gauge", metric->help);
        }
        print_metric(file, metric, ranks, count);
    }
}

void metrics_path(struct text *path, const char *name, uint32_t rank, uint32_t size)
{
    const char *slash = strrchr(name, '/'), *dot = strrchr(name, '.');
    if (size == 1) {
        text_add(path, "%s", name);
    } else if (dot == NULL || (slash != NULL && dot < slash)) {
        text_add(path, "%s-%u", name, rank);
    } else {
        text_add(path, "%.*s-%u%s", (int)(dot - name), name, rank, dot);
    }
}

/* The device or pipe that stands there, and not a file that took its place since. */
static FILE *special_open(const char *path)
{
    struct stat status;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &status) != 0 || S_ISREG(status.st_mode))) {
        close(fd);
        errno = EEXIST;
        fd = -1;
    }
    return fd >= 0 ? fdopen(fd, "w") : NULL;
}

/* Whole or not at all; a device or a pipe is written to as it is, since what took its
 * place would be a file for all.  0 or an errno. */
static int file_write(const char *path, const struct metrics_rank *rank)
{
    struct stat status;
    struct text unfinished = {0};
    const bool special = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
    text_add(&unfinished, "%s%s", path, special ? "" : ".unfinished");
    FILE *file =
        special ? special_open(path) : fresh_file_stream(text_get(&unfinished));
    bool good = file != NULL;
    int why = errno;
    if (good) {
        metrics_print(file, rank, 1);
        good = fflush(file) == 0 && !ferror(file);
        why = errno;
        if (fclose(file) != 0 && good) {
            good = false;
            why = errno;
        }
        if (good && !special && rename(text_get(&unfinished), path) != 0) {
            good = false;
            why = errno;
        }
        if (!good && !special) {
            (void)unlink(text_get(&unfinished));
        }
    }
    text_release(&unfinished);
    return good ? 0 : why;
}

void metrics_write(struct moot *m, int close_code)
{
    if (m->knobs.metrics[0] == '\0') {
        return;
    }
    struct text path = {0};
    struct figure figures[SUMMARY_FIGURES];
    const struct metrics_rank rank = {.rank = m->group.rank,
                                      .figures = figures,
                                      .figure_count = summary_figures(m, figures),
                                      .close_code = close_code};
    metrics_path(&path, m->knobs.metrics, m->group.rank, m->group.founders);
    int why = file_write(text_get(&path), &rank);
    if (why != 0) {
        report_add(m, "moot: rank %u cannot write its metrics to %s: %s\n",
                   m->group.rank, text_get(&path), strerror(why));
    }
    text_release(&path);
}
