/* tune_measure.c - what the traces of a run say of the network, the ranks and the
 * waits.
 *
 * Round trips are those of heartbeats, which a peer answers when it looks at its
 * messages: so they are what a rank that asks has to expect, and not what the wire
 * could do.
 *
 * A chair that is asked for a task that it has not spawned either spawns it, so much
 * later (*late*), or gives it away on evidence, so much later (*decided*).  The first
 * is how long a vote timeout must be not to give away what the chair was about to
 * spawn; the second is what it could make shorter.
 */
#include "hashing/placement.h"
#include "node/tools/tune.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND(name) MOOT__RECORD__KIND__##name

/* --- Samples ---------------------------------------------------------------------- */

void samples_add(struct samples *samples, int64_t ns)
{
    if (samples->count == samples->room) {
        samples->room = samples->room > 0 ? 2 * samples->room : 64;
        samples->items = realloc(samples->items, samples->room * sizeof(int64_t));
        if (samples->items == NULL) {
            abort();
        }
    }
    samples->items[samples->count++] = ns;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

void samples_sort(struct samples *samples)
{
    if (samples->count > 0) {
        qsort(samples->items, samples->count, sizeof(int64_t), compare);
    }
}

int64_t samples_at(const struct samples *samples, unsigned per_myriad)
{
    const size_t wanted = (samples->count * per_myriad + 9999) / 10000;
    return samples->count > 0 ? samples->items[wanted > 0 ? wanted - 1 : 0] : 0;
}

int64_t samples_most(const struct samples *samples)
{
    return samples_at(samples, 10000);
}

size_t samples_beyond(const struct samples *samples, int64_t ns)
{
    size_t from = 0, to = samples->count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (samples->items[middle] > ns) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    return samples->count - from;
}

void samples_free(struct samples *samples)
{
    free(samples->items);
    *samples = (struct samples){0};
}

void tune_measures_sort(struct tune_measures *measures)
{
    samples_sort(&measures->trips);
    samples_sort(&measures->gaps);
    samples_sort(&measures->silences);
    samples_sort(&measures->spawns);
    samples_sort(&measures->late);
    samples_sort(&measures->decided);
}

void tune_measures_release(struct tune_measures *measures)
{
    samples_free(&measures->trips);
    samples_free(&measures->gaps);
    samples_free(&measures->silences);
    samples_free(&measures->spawns);
    samples_free(&measures->late);
    samples_free(&measures->decided);
}

/* --- The network and the ranks ---------------------------------------------------- */

/* Until moot_open has returned everywhere the ranks are still on their way. */
static int64_t begun_ns(const struct trace_job *trace)
{
    int64_t begun = 0;
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        if (trace->ranks[r].present && trace->ranks[r].ready_ns != TRACE_NEVER &&
            trace->ranks[r].ready_ns > begun) {
            begun = trace->ranks[r].ready_ns;
        }
    }
    return begun;
}

/* The kernel that ran on the rank at some time between; "" if none did. */
static const char *kernel_between(const struct trace_job *trace, uint32_t rank,
                                  int64_t from_ns, int64_t to_ns)
{
    const char *kernel = "";
    int64_t most_ns = 0;
    for (uint32_t i = 0; i < trace->run_count; i++) {
        const struct trace_run *run = &trace->runs[i];
        if (run->rank != rank || run->start_ns >= to_ns || run->end_ns <= from_ns) {
            continue;
        }
        const int64_t start_ns = run->start_ns > from_ns ? run->start_ns : from_ns;
        const int64_t end_ns = run->end_ns < to_ns ? run->end_ns : to_ns;
        if (end_ns - start_ns > most_ns) {
            most_ns = end_ns - start_ns;
            kernel = trace->tasks[run->task].kernel;
        }
    }
    return kernel;
}

static void take_trip(uint32_t rank, const struct trace_event *event,
                      struct tune_measures *to, int64_t *most_ns)
{
    samples_add(&to->trips, (int64_t)event->value);
    if ((int64_t)event->value > *most_ns) {
        *most_ns = (int64_t)event->value;
        to->trip_from = rank;
        to->trip_to = event->peer;
    }
}

static void take_gap(const struct trace_job *trace, uint32_t rank,
                     const struct trace_event *event, struct tune_measures *to,
                     int64_t *most_ns)
{
    const int64_t gap_ns = (int64_t)event->value;
    samples_add(&to->gaps, gap_ns);
    if (gap_ns <= *most_ns) {
        return;
    }
    *most_ns = gap_ns;
    to->gap_rank = rank;
    snprintf(to->gap_kernel, sizeof(to->gap_kernel), "%s",
             kernel_between(trace, rank, event->at_ns - gap_ns, event->at_ns));
}

static int64_t longest(const struct samples *samples)
{
    int64_t most_ns = 0;
    for (size_t i = 0; i < samples->count; i++) {
        most_ns = samples->items[i] > most_ns ? samples->items[i] : most_ns;
    }
    return most_ns;
}

static void measure_rank(const struct trace_job *trace, uint32_t number,
                         int64_t *heard_ns, struct tune_measures *to)
{
    const struct trace_rank *rank = &trace->ranks[number];
    const int64_t from_ns = begun_ns(trace);
    int64_t trip_ns = longest(&to->trips), gap_ns = longest(&to->gaps);
    for (uint32_t peer = 0; peer < trace->rank_count; peer++) {
        heard_ns[peer] = TRACE_NEVER;
    }
    for (size_t i = 0; i < rank->event_count; i++) {
        const struct trace_event *event = &rank->events[i];
        if (event->at_ns < from_ns || event->at_ns > rank->close_ns) {
            continue;
        }
        if (event->kind == KIND(ROUND_TRIP)) {
            take_trip(number, event, to, &trip_ns);
        }
        if (event->kind == KIND(GAP)) {
            take_gap(trace, number, event, to, &gap_ns);
        }
        if (event->kind != KIND(HEARD) || event->peer >= trace->rank_count) {
            continue;
        }
        const int64_t last_ns = heard_ns[event->peer];
        if (last_ns != TRACE_NEVER) {
            const int64_t late_ns = event->at_ns - last_ns - TUNE_HEARTBEAT_NS;
            samples_add(&to->silences, late_ns > 0 ? late_ns : 0);
        }
        heard_ns[event->peer] = event->at_ns;
    }
}

/* --- The waits -------------------------------------------------------------------- */

uint32_t tune_chair(const struct trace_job *trace, uint32_t task)
{
    const struct trace_task *t = &trace->tasks[task];
    struct rankset all = {0};
    uint32_t chair = t->voted_ns != TRACE_NEVER ? t->chair : TRACE_NONE;
    if (chair == TRACE_NONE && t->run != TRACE_NONE &&
        (t->flags & MOOT__RECORD__FLAG__CANDIDATES) != 0) {
        chair = trace->runs[t->run].rank; /* its candidates are not in the trace */
    }
    for (uint32_t r = 0; r < trace->rank_count && chair == TRACE_NONE; r++) {
        if (!rankset_add(&all, r)) {
            abort();
        }
    }
    if (chair == TRACE_NONE) {
        chair = placement_chair(&t->hash, &all, NULL);
    }
    rankset_release(&all);
    return chair;
}

/* When this rank, as chair, was asked first, spawned it, gave it away. */
struct chaired {
    int64_t asked_ns, spawned_ns, voted_ns;
};

static void take_chaired(const struct trace_event *event, struct chaired *chaired)
{
    struct chaired *task = &chaired[event->task];
    int64_t *at_ns = event->kind == KIND(MOTION_RECEIVED) ? &task->asked_ns
                     : event->kind == KIND(SPAWN)         ? &task->spawned_ns
                     : event->kind == KIND(VOTE)          ? &task->voted_ns
                                                          : NULL;
    if (at_ns != NULL && *at_ns == TRACE_NEVER) {
        *at_ns = event->at_ns;
    }
}

static void judge_chaired(const struct chaired *task, struct tune_measures *to)
{
    const bool asked = task->asked_ns != TRACE_NEVER;
    const bool spawned = task->spawned_ns != TRACE_NEVER;
    const bool voted = task->voted_ns != TRACE_NEVER;
    to->needless += voted && spawned && task->voted_ns < task->spawned_ns;
    if (!asked || (spawned && task->spawned_ns <= task->asked_ns)) {
        return;
    }
    if (voted && (!spawned || task->voted_ns < task->spawned_ns)) {
        samples_add(&to->decided, task->voted_ns - task->asked_ns);
    } else if (spawned) {
        samples_add(&to->late, task->spawned_ns - task->asked_ns);
    }
}

static void measure_waits(const struct trace_job *trace, uint32_t number,
                          struct chaired *chaired, struct tune_measures *to)
{
    const struct trace_rank *rank = &trace->ranks[number];
    for (uint32_t t = 0; t < trace->task_count; t++) {
        chaired[t] = (struct chaired){TRACE_NEVER, TRACE_NEVER, TRACE_NEVER};
    }
    for (size_t i = 0; i < rank->event_count; i++) {
        const struct trace_event *event = &rank->events[i];
        if (event->task == TRACE_NONE) {
            continue;
        }
        take_chaired(event, chaired);
        const int64_t first_ns = trace->tasks[event->task].spawned_ns;
        if (event->kind == KIND(SPAWN) && event->at_ns > first_ns) {
            samples_add(&to->spawns, event->at_ns - first_ns);
        }
        if (event->kind == KIND(VOTE)) {
            to->votes++;
            to->votes_of[event->value < EVIDENCE_END ? event->value : 0]++;
        }
    }
    for (uint32_t t = 0; t < trace->task_count; t++) {
        judge_chaired(&chaired[t], to);
    }
}

size_t tune_early_asks(const struct tune_measures *measures)
{
    return measures->late.count + measures->decided.count;
}

static uint32_t count_hosts(const struct trace_job *trace)
{
    uint32_t hosts = 0;
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        if (trace->ranks[r].present && trace->ranks[r].host + 1 > hosts) {
            hosts = trace->ranks[r].host + 1;
        }
    }
    return hosts;
}

static uint32_t count_workers(const struct trace_job *trace)
{
    for (size_t i = 0; i < trace->knob_count; i++) {
        if (strcmp(trace->knobs[i].name, "MOOT_THREADS") == 0) {
            return (uint32_t)strtoul(trace->knobs[i].value, NULL, 10);
        }
    }
    return 0;
}

bool tune_measure(const struct trace_job *trace, struct tune_measures *to)
{
    int64_t *heard_ns = calloc(trace->rank_count, sizeof(*heard_ns));
    struct chaired *chaired = calloc((size_t)trace->task_count + 1, sizeof(*chaired));
    const bool room = heard_ns != NULL && chaired != NULL;
    for (uint32_t r = 0; room && r < trace->rank_count; r++) {
        if (!trace->ranks[r].present) {
            continue;
        }
        measure_rank(trace, r, heard_ns, to);
        measure_waits(trace, r, chaired, to);
    }
    to->ranks = trace->rank_count;
    to->hosts = count_hosts(trace);
    to->workers = count_workers(trace);
    to->tasks += trace->task_count;
    to->makespan_ns += trace->makespan_ns;
    to->runs++;
    free(heard_ns);
    free(chaired);
    return room;
}
