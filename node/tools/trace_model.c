/* trace_model.c - see trace_model.h. */
#include "node/tools/trace_model.h"

#include <stdlib.h>
#include <string.h>

enum { BLAME_DEPTH = 256, WAITS_MAX = 256 };

int64_t model_ran_ns(const struct trace_job *trace, uint32_t task)
{
    const uint32_t at = trace->tasks[task].run;
    if (at == TRACE_NONE || trace->runs[at].end_ns == TRACE_NEVER ||
        trace->runs[at].start_ns == TRACE_NEVER) {
        return 0;
    }
    return trace->runs[at].end_ns - trace->runs[at].start_ns -
           trace->runs[at].waited_ns;
}

static int64_t end_of(const struct trace_job *trace, uint32_t task)
{
    const uint32_t at = trace->tasks[task].run;
    return at != TRACE_NONE ? trace->runs[at].end_ns : TRACE_NEVER;
}

int64_t model_inputs_ns(const struct trace_job *trace, uint32_t task, uint32_t *last)
{
    const struct trace_task *each = &trace->tasks[task];
    int64_t latest = 0;
    *last = TRACE_NONE;
    for (uint32_t i = 0; i < each->input_count; i++) {
        const int64_t end_ns = end_of(trace, each->inputs[i]);
        if (end_ns > latest) {
            latest = end_ns;
            *last = each->inputs[i];
        }
    }
    return latest;
}

/* --- Segments --------------------------------------------------------------------- */

static void segment_add(struct model *model, uint32_t rank,
                        struct model_segment segment)
{
    struct model_rank *each = &model->ranks[rank];
    if (segment.to_ns <= segment.from_ns) {
        return;
    }
    each->total_ns[segment.state] += segment.to_ns - segment.from_ns;
    struct model_segment *last = each->count ? &each->segments[each->count - 1] : NULL;
    if (last && last->to_ns == segment.from_ns && last->state == segment.state &&
        last->task == segment.task && last->element == segment.element) {
        last->to_ns = segment.to_ns;
        return;
    }
    if (each->count == each->room) {
        const size_t room = each->room ? each->room * 2 : 256;
        struct model_segment *grown = realloc(each->segments, room * sizeof(*grown));
        if (grown == NULL) {
            model->out_of_memory = true;
            return;
        }
        each->segments = grown;
        each->room = room;
    }
    each->segments[each->count++] = segment;
}

/* Splits a wait for `task` by what was missing: a vote up to some moment, then data. */
static void wait_add(struct model *model, uint32_t rank, int64_t from_ns, int64_t to_ns,
                     uint32_t task, int depth)
{
    const struct trace_job *trace = model->trace;
    uint32_t missing = task;
    for (; depth < BLAME_DEPTH && missing != TRACE_NONE; depth++) {
        uint32_t last;
        const int64_t had_ns = model_inputs_ns(trace, missing, &last);
        const int64_t voted_ns = trace->tasks[missing].voted_ns;
        if (had_ns > from_ns && had_ns != TRACE_NEVER && had_ns <= to_ns) {
            wait_add(model, rank, from_ns, had_ns, last, depth + 1);
            from_ns = had_ns;
        } else if (had_ns > to_ns && last != TRACE_NONE) {
            missing = last;
            continue;
        }
        if (voted_ns != TRACE_NEVER && voted_ns > from_ns) {
            const int64_t until_ns = voted_ns < to_ns ? voted_ns : to_ns;
            segment_add(
                model, rank,
                (struct model_segment){from_ns, until_ns, STATE_VOTE, missing, 0});
            from_ns = until_ns;
        }
        break;
    }
    segment_add(model, rank,
                (struct model_segment){from_ns, to_ns, STATE_DATA, missing, 0});
}

/* What a rank is at, event by event. */
struct at {
    uint32_t running; /* kernels begun, not ended, and not waiting: */
    struct {
        uint32_t task;
        uint64_t element; /* 1 + its index; 0: it is none */
    } kernels[WAITS_MAX];
    uint32_t ready; /* kernels that could begin */
    struct {
        uint32_t lane, task;
    } waits[WAITS_MAX];
    uint32_t wait_count;
    bool open, closing;
};

static void kernel_on(struct at *at, uint32_t task, uint64_t element)
{
    if (at->running < WAITS_MAX) {
        at->kernels[at->running].task = task;
        at->kernels[at->running++].element = element;
    }
}

static bool kernel_off(struct at *at, uint32_t task, uint64_t element)
{
    for (uint32_t i = 0; i < at->running; i++) {
        if (at->kernels[i].task == task && at->kernels[i].element == element) {
            at->kernels[i] = at->kernels[--at->running];
            return true;
        }
    }
    return false;
}

static void kernel_begins(struct at *at, uint32_t task)
{
    at->ready -= at->ready > 0;
    kernel_on(at, task, 0);
}

static void kernel_ends(struct at *at, uint32_t task)
{
    if (!kernel_off(at, task, 0)) { /* it was cancelled before it began */
        at->ready -= at->ready > 0;
    }
}

static void lane_waits(struct at *at, const struct trace_event *event)
{
    if (event->parent != TRACE_NONE || event->lane == 0) { /* a kernel's */
        kernel_off(at, event->parent, 0);
    } else if (at->wait_count < WAITS_MAX) {
        at->waits[at->wait_count].lane = event->lane;
        at->waits[at->wait_count++].task = event->task;
    }
}

static void lane_goes_on(struct at *at, const struct trace_event *event)
{
    if (event->parent != TRACE_NONE || event->lane == 0) {
        kernel_on(at, event->parent, 0);
        return;
    }
    for (uint32_t i = 0; i < at->wait_count; i++) {
        if (at->waits[i].lane == event->lane) {
            at->waits[i] = at->waits[--at->wait_count];
            return;
        }
    }
}

static void event_step(struct at *at, const struct trace_event *event)
{
    if (event->kind == MOOT__RECORD__KIND__READY) {
        at->ready++;
    } else if (event->kind == MOOT__RECORD__KIND__START) {
        kernel_begins(at, event->task);
    } else if (event->kind == MOOT__RECORD__KIND__END) {
        kernel_ends(at, event->task);
    } else if (event->kind == MOOT__RECORD__KIND__ELEMENT_START) {
        kernel_on(at, event->task, event->value + 1);
    } else if (event->kind == MOOT__RECORD__KIND__ELEMENT_END) {
        kernel_off(at, event->task, event->value + 1);
    } else if (event->kind == MOOT__RECORD__KIND__WAIT) {
        lane_waits(at, event);
    } else if (event->kind == MOOT__RECORD__KIND__WAITED) {
        lane_goes_on(at, event);
    } else if (event->kind == MOOT__RECORD__KIND__CLOSE) {
        at->closing = true;
    } else if (event->kind == MOOT__RECORD__KIND__OPENED) {
        at->open = true;
    }
}

static void span_add(struct model *model, uint32_t rank, const struct at *at,
                     int64_t from_ns, int64_t to_ns)
{
    if (to_ns <= from_ns) {
        return;
    }
    if (at->running == 0 && at->ready == 0 && at->wait_count > 0) {
        wait_add(model, rank, from_ns, to_ns, at->waits[0].task, 0);
        return;
    }
    const enum model_state state = at->running > 0            ? STATE_RUN
                                   : at->ready > 0            ? STATE_OWN
                                   : at->closing || !at->open ? STATE_IDLE
                                                              : STATE_OWN;
    struct model_segment segment = {from_ns, to_ns, state, TRACE_NONE, 0};
    if (at->running > 0) {
        segment.task = at->kernels[at->running - 1].task;
        segment.element = at->kernels[at->running - 1].element;
    }
    segment_add(model, rank, segment);
}

static bool changes_state(Moot__Record__Kind kind)
{
    return kind == MOOT__RECORD__KIND__READY || kind == MOOT__RECORD__KIND__START ||
           kind == MOOT__RECORD__KIND__END || kind == MOOT__RECORD__KIND__WAIT ||
           kind == MOOT__RECORD__KIND__ELEMENT_START ||
           kind == MOOT__RECORD__KIND__ELEMENT_END ||
           kind == MOOT__RECORD__KIND__WAITED || kind == MOOT__RECORD__KIND__CLOSE ||
           kind == MOOT__RECORD__KIND__OPENED;
}

static void rank_model(struct model *model, uint32_t rank)
{
    const struct trace_rank *each = &model->trace->ranks[rank];
    struct at at = {0};
    int64_t now_ns = each->first_ns;
    for (size_t i = 0; i < each->event_count; i++) {
        const struct trace_event *event = &each->events[i];
        if (!changes_state(event->kind)) {
            continue;
        }
        span_add(model, rank, &at, now_ns, event->at_ns);
        now_ns = event->at_ns;
        event_step(&at, event);
    }
    if (each->present) {
        span_add(model, rank, &at, now_ns, each->last_ns);
    }
}

/* --- Why ranks waited ------------------------------------------------------------- */

static int compare_causes(const void *a, const void *b)
{
    const double left = ((const struct model_cause *)a)->total_ns;
    const double right = ((const struct model_cause *)b)->total_ns;
    return (left < right) - (left > right);
}

static void cause_count(struct model *model, const struct model_segment *segment)
{
    const struct trace_task *task =
        segment->task != TRACE_NONE ? &model->trace->tasks[segment->task] : NULL;
    const char *kernel = task ? task->kernel : "", *site = task ? task->site : "";
    size_t i = 0;
    for (; i < model->cause_count; i++) {
        const struct model_cause *cause = &model->causes[i];
        if (cause->state == segment->state && strcmp(cause->kernel, kernel) == 0 &&
            strcmp(cause->site, site) == 0) {
            break;
        }
    }
    if (i == model->cause_count) {
        struct model_cause *grown =
            realloc(model->causes, (i + 1) * sizeof(*model->causes));
        if (grown == NULL) {
            model->out_of_memory = true;
            return;
        }
        model->causes = grown;
        model->causes[model->cause_count++] =
            (struct model_cause){segment->state, kernel, site, 0, 0};
    }
    model->causes[i].total_ns += (double)(segment->to_ns - segment->from_ns);
    model->causes[i].count++;
}

static void causes_find(struct model *model)
{
    for (uint32_t r = 0; r < model->trace->rank_count; r++) {
        for (size_t i = 0; i < model->ranks[r].count; i++) {
            const struct model_segment *segment = &model->ranks[r].segments[i];
            if (segment->state == STATE_VOTE || segment->state == STATE_DATA) {
                cause_count(model, segment);
            }
        }
    }
    if (model->cause_count > 0) {
        qsort(model->causes, model->cause_count, sizeof(*model->causes),
              compare_causes);
    }
}

/* --- The critical path ------------------------------------------------------------ */

struct trace_link {
    uint32_t task, before; /* the input with the heaviest chain */
    int64_t end_ns;
    double chain_ns; /* a sum of which a damaged trace knows no bound */
};

static int compare_ends(const void *a, const void *b)
{
    const int64_t left = ((const struct trace_link *)a)->end_ns;
    const int64_t right = ((const struct trace_link *)b)->end_ns;
    return (left > right) - (left < right);
}

/* An input ends before what takes it starts, so in the order of ends each task's inputs
 * have their chains already.  A child that ended within its parent may have run beside
 * it: of the two the heavier chain counts, and not the sum, which would be no bound. */
static void path_find(struct model *model)
{
    const struct trace_job *trace = model->trace;
    struct trace_link *links = calloc(trace->task_count + 1u, sizeof(*links));
    uint32_t *place = calloc(trace->task_count + 1u, sizeof(*place)), count = 0;
    uint32_t *inner =
        calloc(trace->task_count + 1u, sizeof(*inner)); /* heaviest child */
    uint32_t heaviest = TRACE_NONE;
    model->path = calloc(trace->task_count + 1u, sizeof(*model->path));
    if (links == NULL || place == NULL || inner == NULL || model->path == NULL) {
        model->out_of_memory = true;
        goto done;
    }
    for (uint32_t t = 0; t < trace->task_count; t++) {
        const int64_t end_ns = end_of(trace, t);
        if (end_ns != TRACE_NEVER) {
            links[count++] = (struct trace_link){t, TRACE_NONE, end_ns, 0};
        }
    }
    qsort(links, count, sizeof(*links), compare_ends);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_link *link = &links[i];
        const struct trace_task *task = &trace->tasks[link->task];
        place[link->task] = i + 1;
        for (uint32_t k = 0; k < task->input_count; k++) {
            const uint32_t at = place[task->inputs[k]];
            if (at != 0 && at - 1 != i && links[at - 1].chain_ns >= link->chain_ns) {
                link->chain_ns = links[at - 1].chain_ns;
                link->before = at - 1;
            }
        }
        link->chain_ns += (double)model_ran_ns(trace, link->task);
        const uint32_t child = inner[link->task];
        if (child != 0 && links[child - 1].chain_ns > link->chain_ns) {
            link->chain_ns = links[child - 1].chain_ns;
            link->before = child - 1;
        }
        if (task->parent != TRACE_NONE && place[task->parent] == 0 &&
            (inner[task->parent] == 0 ||
             links[inner[task->parent] - 1].chain_ns < link->chain_ns)) {
            inner[task->parent] = i + 1;
        }
        if (heaviest == TRACE_NONE || link->chain_ns > links[heaviest].chain_ns) {
            heaviest = i;
        }
    }
    for (uint32_t i = heaviest; i != TRACE_NONE; i = links[i].before) {
        model->path[model->path_count++] = links[i].task;
    }
    for (size_t i = 0; i < model->path_count / 2; i++) {
        const uint32_t first = model->path[i];
        model->path[i] = model->path[model->path_count - 1 - i];
        model->path[model->path_count - 1 - i] = first;
    }
    model->path_ns = heaviest != TRACE_NONE ? links[heaviest].chain_ns : 0;
done:
    free(links);
    free(place);
    free(inner);
}

/* --- All of it -------------------------------------------------------------------- */

bool model_make(const struct trace_job *trace, struct model *out)
{
    *out = (struct model){.trace = trace};
    out->ranks = calloc(trace->rank_count, sizeof(*out->ranks));
    if (out->ranks == NULL) {
        return false;
    }
    double all_ns = 0, busy_ns = 0; /* of thousands of ranks, for days */
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        rank_model(out, r);
        for (int state = 0; state < STATES; state++) {
            all_ns += (double)out->ranks[r].total_ns[state];
        }
        if (trace->ranks[r].ready_ns != TRACE_NEVER) { /* opening is the launcher's */
            all_ns -= (double)(trace->ranks[r].ready_ns - trace->ranks[r].first_ns);
        }
        busy_ns += (double)out->ranks[r].total_ns[STATE_RUN] +
                   (double)out->ranks[r].total_ns[STATE_OWN];
    }
    out->idle_share = all_ns > 0 ? 1 - busy_ns / all_ns : 0;
    for (uint32_t i = 0; i < trace->run_count; i++) {
        if (trace->runs[i].end_ns != TRACE_NEVER &&
            trace->runs[i].start_ns != TRACE_NEVER) {
            out->work_ns += (double)(trace->runs[i].end_ns - trace->runs[i].start_ns -
                                     trace->runs[i].waited_ns);
        }
    }
    causes_find(out);
    path_find(out);
    return !out->out_of_memory;
}

void model_release(struct model *model)
{
    for (uint32_t r = 0; model->ranks && r < model->trace->rank_count; r++) {
        free(model->ranks[r].segments);
    }
    free(model->ranks);
    free(model->causes);
    free(model->path);
    *model = (struct model){0};
}
