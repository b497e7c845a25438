/* tune_program.c - a recorded run as a program of the simulator's.
 *
 * Each rank's program becomes a script: what it spawned and waited for, in its order,
 * and how long it took for its own code in between, so that ranks are as late in the
 * simulator as they were.  Kernels take as long as they did, and every task has the
 * chair that it had.  What is left out: which thread ran a kernel, the content of
 * results, and their size unless bytes take time, what a parked program waited for
 * (that is its own time), and of the inputs of a nested task those that are neither its
 * parent's nor older siblings.
 */
#include "consensus/sim/engine/sim.h"
#include "consensus/sim/programs/program.h"
#include "node/tools/tune.h"
#include "proto/error.h"
#include <stdlib.h>
#include <string.h>

#define KIND(name) MOOT__RECORD__KIND__##name

struct translation {
    const struct trace_job *trace;
    struct program *program;
    uint32_t *order; /* tasks of the trace in the program's order */
    uint32_t count;
    int64_t *place; /* by task of the trace: its index; PROGRAM_NONE */
    uint32_t *chairs;
    bool *lacks; /* by index: nobody spawned it, or something that it takes */
    uint32_t lanes, steps;
    int64_t begun_ns;
};

static void *zeroed(size_t count, size_t size)
{
    void *items = calloc(count + 1, size);
    if (items == NULL) {
        abort();
    }
    return items;
}

/* --- Tasks ------------------------------------------------------------------------ */

struct dated {
    int64_t at_ns;
    uint32_t task;
};

static int by_date(const void *a, const void *b)
{
    const struct dated *x = a, *y = b;
    if (x->at_ns != y->at_ns) {
        return x->at_ns < y->at_ns ? -1 : 1;
    }
    return x->task < y->task ? -1 : x->task > y->task;
}

static bool is_spawned(const struct trace_job *trace, uint32_t task)
{
    return trace->tasks[task].spawned_ns != TRACE_NEVER;
}

static void date_by_wait(const struct trace_job *trace, uint32_t task, int64_t at_ns,
                         int64_t *dates)
{
    if (task != TRACE_NONE && !is_spawned(trace, task) && at_ns < dates[task]) {
        dates[task] = at_ns;
    }
}

/* By task: its first spawn. A task that nobody spawned is dated by the first wait of a
 * program for it. */
static int64_t *date_tasks(const struct trace_job *trace)
{
    int64_t *dates = zeroed(trace->task_count, sizeof(*dates));
    for (uint32_t i = 0; i < trace->task_count; i++) {
        dates[i] = trace->tasks[i].spawned_ns;
    }
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        for (size_t i = 0; i < trace->ranks[r].event_count; i++) {
            const struct trace_event *event = &trace->ranks[r].events[i];
            if (event->kind != KIND(WAIT) || event->lane == 0) {
                continue;
            }
            date_by_wait(trace, event->task, event->at_ns, dates);
            for (uint32_t k = 0; k < event->found_count; k++) {
                date_by_wait(trace, event->found[k], event->at_ns, dates);
            }
        }
    }
    return dates;
}

/* Inputs, and the parent behind them; TRACE_NONE beyond. */
static uint32_t need_of(const struct trace_task *task, uint32_t i, bool *beyond)
{
    *beyond = i > task->input_count;
    return *beyond                 ? TRACE_NONE
           : i < task->input_count ? task->inputs[i]
                                   : task->parent;
}

struct walk {
    uint32_t *stack, *looked; /* looked, by task: how many of its needs were seen */
    bool *met;
    uint32_t placed;
};

/* Gives a place to what a task takes, and then to it: what it takes by hash alone may
 * have been spawned later. In a ring the last of them lacks its place. */
static void place_task(struct translation *t, struct walk *walk, uint32_t task)
{
    uint32_t depth = 0;
    if (!walk->met[task]) {
        walk->met[task] = true;
        walk->stack[depth++] = task;
    }
    while (depth > 0) {
        const uint32_t top = walk->stack[depth - 1];
        bool beyond;
        const uint32_t need =
            need_of(&t->trace->tasks[top], walk->looked[top]++, &beyond);
        if (beyond) {
            depth--;
            if (walk->placed < TUNE_TASKS_MAX) {
                t->order[walk->placed] = top;
                t->place[top] = walk->placed;
            }
            walk->placed++;
        } else if (need != TRACE_NONE && !walk->met[need]) {
            walk->met[need] = true;
            walk->stack[depth++] = need;
        }
    }
}

/* First come, first, but for what is taken by others before.  Returns how many there
 * are, of which the first are kept. */
static uint32_t order_tasks(struct translation *t)
{
    const struct trace_job *trace = t->trace;
    struct dated *dated = zeroed(trace->task_count, sizeof(*dated));
    int64_t *dates = date_tasks(trace);
    struct walk walk = {.stack = zeroed(trace->task_count, sizeof(uint32_t)),
                        .looked = zeroed(trace->task_count, sizeof(uint32_t)),
                        .met = zeroed(trace->task_count, sizeof(bool))};
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->task_count; i++) {
        t->place[i] = PROGRAM_NONE;
        if (dates[i] != TRACE_NEVER) {
            dated[count++] = (struct dated){dates[i], i};
        }
    }
    if (count > 0) {
        qsort(dated, count, sizeof(*dated), by_date);
    }
    for (uint32_t i = 0; i < count; i++) {
        place_task(t, &walk, dated[i].task);
    }
    t->count = walk.placed < TUNE_TASKS_MAX ? walk.placed : TUNE_TASKS_MAX;
    free(walk.stack);
    free(walk.looked);
    free(walk.met);
    free(dates);
    free(dated);
    return walk.placed;
}

static bool holds(const struct program_list *list, uint32_t item)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i] == item) {
            return true;
        }
    }
    return false;
}

/* A child takes what its parent takes, and older siblings. */
static bool may_take(const struct program *program, uint32_t task, uint32_t input)
{
    const int32_t parent = program->tasks[task].parent;
    const int32_t other = program->tasks[input].parent;
    if (parent == PROGRAM_NONE) {
        return other == PROGRAM_NONE;
    }
    return other == parent || holds(&program->tasks[parent].inputs, input);
}

static void add_inputs(struct translation *t, uint32_t index)
{
    const struct trace_task *from = &t->trace->tasks[t->order[index]];
    for (uint32_t i = 0; i < from->input_count; i++) {
        const int64_t input = t->place[from->inputs[i]];
        struct program_task *task = &t->program->tasks[index];
        struct program_list *list =
            i < from->input_count - from->after_count ? &task->inputs : &task->after;
        if (input != PROGRAM_NONE && input < index &&
            may_take(t->program, index, (uint32_t)input) &&
            !holds(&task->inputs, (uint32_t)input) &&
            !holds(&task->after, (uint32_t)input)) {
            program_list_add(list, (uint32_t)input);
            t->lacks[index] |= t->lacks[input];
        }
    }
}

/* A kernel of the simulator takes from half of its time to all of it. */
static uint32_t work_us(const struct trace_job *trace, uint32_t task)
{
    const uint32_t run = trace->tasks[task].run;
    if (run == TRACE_NONE || trace->runs[run].end_ns == TRACE_NEVER) {
        return 1;
    }
    const struct trace_run *r = &trace->runs[run];
    const int64_t ran_ns = r->end_ns - r->start_ns - r->waited_ns;
    const int64_t us = ran_ns > 0 ? ran_ns * 4 / 3000 : 0;
    return us < 1 ? 1 : us > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)us;
}

static void add_task(struct translation *t, uint32_t index)
{
    const struct trace_task *from = &t->trace->tasks[t->order[index]];
    int64_t parent = PROGRAM_NONE;
    if (from->parent != TRACE_NONE) {
        parent = t->place[from->parent];
    }
    if (parent >= index) {
        parent = PROGRAM_NONE;
    }
    if (parent != PROGRAM_NONE &&
        t->program->tasks[parent].depth + 1 >= PROGRAM_NEST_MAX) {
        parent = PROGRAM_NONE;
    }
    program_add_task(t->program, from->kernel, (int32_t)parent);
    struct program_task *task = &t->program->tasks[index];
    task->work_us = work_us(t->trace, t->order[index]);
    task->once = (from->flags & MOOT__RECORD__FLAG__ONCE) != 0;
    task->hint = (from->flags & MOOT__RECORD__FLAG__CONDITIONAL) != 0;
    task->portable = (from->flags & MOOT__RECORD__FLAG__ADOPTED) != 0;
    task->awaited = parent != PROGRAM_NONE;
    t->lacks[index] = !is_spawned(t->trace, t->order[index]);
    add_inputs(t, index);
    t->chairs[index] = tune_chair(t->trace, t->order[index]);
}

/* A result that was not sent is as small as any. */
static void add_sizes(struct translation *t)
{
    uint64_t total = 0;
    for (size_t i = 0; i < t->trace->message_count; i++) {
        const struct trace_message *message = &t->trace->messages[i];
        if (message->kind != KIND(RESULT_SENT) || message->task == TRACE_NONE ||
            t->place[message->task] == PROGRAM_NONE) {
            continue;
        }
        struct program_task *task = &t->program->tasks[t->place[message->task]];
        if (message->bytes > task->result_bytes &&
            message->bytes <= TUNE_BYTES_MAX - total) {
            task->result_bytes = (uint32_t)message->bytes;
            total += message->bytes;
        }
    }
}

/* --- Scripts ---------------------------------------------------------------------- */

/* A lane, as far as its events have been read. */
struct reading {
    int64_t at_ns; /* up to then its time is accounted for */
    int64_t waits_for, since_ns;
    const struct trace_event *begun; /* the wait */
    bool waits;
};

static struct program_step *add_step(struct translation *t, uint32_t rank,
                                     uint32_t lane, enum program_op op, int64_t task)
{
    t->steps++;
    return program_add_step(t->program, rank, lane, op, task);
}

static uint32_t us_of(int64_t ns)
{
    const int64_t us = ns / 1000;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

/* The program's own time since the lane's last event. */
static void add_own_time(struct translation *t, uint32_t rank, uint32_t lane,
                         struct reading *reading, int64_t now_ns)
{
    if (now_ns - reading->at_ns < 1000) {
        return;
    }
    add_step(t, rank, lane, PROGRAM_COMPUTE, PROGRAM_NONE)->pause_us =
        us_of(now_ns - reading->at_ns);
    reading->at_ns = now_ns;
}

static void add_spawn(struct translation *t, uint32_t rank, uint32_t lane,
                      uint32_t task, bool *spawned)
{
    const int64_t index = t->place[task];
    if (index == PROGRAM_NONE || spawned[index] ||
        t->program->tasks[index].parent != PROGRAM_NONE) {
        return;
    }
    spawned[index] = true;
    t->program->tasks[index].lane = lane;
    add_step(t, rank, lane, PROGRAM_SPAWN, index);
}

static bool spawns(const struct program_step *step, int64_t task)
{
    return step->op == PROGRAM_SPAWN && step->tasks.items[0] == (uint32_t)task;
}

/* A wait for several is recorded by its first task, its last, and those that the rank
 * has not spawned.  It is taken to be for these, too, */
static void add_found(const struct translation *t, const struct trace_event *begun,
                      struct program_list *tasks)
{
    for (uint32_t i = 0; i < begun->found_count; i++) {
        const int64_t found = t->place[begun->found[i]];
        if (found != PROGRAM_NONE && t->program->tasks[found].parent == PROGRAM_NONE &&
            !holds(tasks, (uint32_t)found)) {
            program_list_add(tasks, (uint32_t)found);
        }
    }
}

/* and for all that the lane spawned from the first to the last. */
static void add_between(const struct program_script *script, int64_t first,
                        int64_t last, struct program_list *tasks)
{
    uint32_t end = script->count, begin;
    while (end > 0 && !spawns(&script->steps[end - 1], last)) {
        end--;
    }
    for (begin = end; begin > 0 && !spawns(&script->steps[begin - 1], first);) {
        begin--;
    }
    for (uint32_t i = begin; begin > 0 && i + 1 < end; i++) {
        if (script->steps[i].op == PROGRAM_SPAWN) {
            program_list_add(tasks, script->steps[i].tasks.items[0]);
        }
    }
    program_list_add(tasks, (uint32_t)last);
}

/* Whether the replay ends the wait as the run did, all by itself: in MOOT_ERR_NOT_HELD,
 * or with the failure that follows from it. */
static bool finds_nobody(const struct translation *t, const struct trace_event *begun,
                         const struct trace_event *end)
{
    bool lacks = t->lacks[t->place[begun->task]];
    for (uint32_t i = 0; i < begun->found_count; i++) {
        const int64_t found = t->place[begun->found[i]];
        lacks |= found != PROGRAM_NONE && t->lacks[found];
    }
    return lacks && end->code != 0 && end->code != MOOT_ERR_TIMEOUT;
}

/* A wait that timed out, or failed, lasted as long as it did. */
static void add_wait(struct translation *t, uint32_t rank, uint32_t lane,
                     const struct reading *reading, const struct trace_event *end)
{
    const int64_t last = end->task != TRACE_NONE ? t->place[end->task] : PROGRAM_NONE;
    const int64_t first = reading->waits_for;
    if (first == PROGRAM_NONE || t->program->tasks[first].parent != PROGRAM_NONE) {
        return;
    }
    if (end->code != 0 && !finds_nobody(t, reading->begun, end)) {
        add_step(t, rank, lane, PROGRAM_POLL, first)->pause_us =
            us_of(end->at_ns - reading->since_ns);
        return;
    }
    struct program_step *step = add_step(t, rank, lane, PROGRAM_WAIT_ALL, first);
    if (last != PROGRAM_NONE && last != first &&
        t->program->tasks[last].parent == PROGRAM_NONE) {
        add_between(program_script(t->program, rank, lane), first, last, &step->tasks);
    }
    add_found(t, reading->begun, &step->tasks);
}

static void take_event(struct translation *t, uint32_t rank,
                       const struct trace_event *event, struct reading *readings,
                       bool *spawned)
{
    if (event->lane == 0 || event->lane > t->lanes) {
        return; /* no lane's, or one too many */
    }
    const uint32_t lane = event->lane - 1;
    struct reading *reading = &readings[lane];
    if (event->kind == KIND(SPAWN) && event->task != TRACE_NONE) {
        add_own_time(t, rank, lane, reading, event->at_ns);
        add_spawn(t, rank, lane, event->task, spawned);
    } else if (event->kind == KIND(WAIT) && !reading->waits) {
        add_own_time(t, rank, lane, reading, event->at_ns);
        reading->waits = true;
        reading->since_ns = event->at_ns;
        reading->begun = event;
        reading->waits_for =
            event->task != TRACE_NONE ? t->place[event->task] : PROGRAM_NONE;
    } else if (event->kind == KIND(WAITED) && reading->waits) {
        add_wait(t, rank, lane, reading, event);
        reading->waits = false;
        reading->at_ns = event->at_ns;
    }
}

static void add_scripts(struct translation *t)
{
    for (uint32_t r = 0; r < t->trace->rank_count; r++) {
        const struct trace_rank *rank = &t->trace->ranks[r];
        struct reading readings[PROGRAM_LANES_MAX];
        bool *spawned = zeroed(t->count, sizeof(*spawned));
        for (uint32_t lane = 0; lane < PROGRAM_LANES_MAX; lane++) {
            readings[lane] = (struct reading){.at_ns = t->begun_ns};
        }
        for (size_t i = 0; i < rank->event_count && t->steps < TUNE_STEPS_MAX; i++) {
            take_event(t, r, &rank->events[i], readings, spawned);
        }
        free(spawned);
    }
}

/* --- The program ------------------------------------------------------------------ */

static uint32_t count_lanes(const struct trace_job *trace)
{
    uint32_t lanes = 1;
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        for (size_t i = 0; i < trace->ranks[r].event_count; i++) {
            if (trace->ranks[r].events[i].lane > lanes) {
                lanes = trace->ranks[r].events[i].lane;
            }
        }
    }
    return lanes < PROGRAM_LANES_MAX ? lanes : PROGRAM_LANES_MAX;
}

/* The first rank's program begins then, and the others' where they do. */
static int64_t first_begun_ns(const struct trace_job *trace)
{
    int64_t first_ns = TRACE_NEVER;
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        if (trace->ranks[r].present && trace->ranks[r].ready_ns < first_ns) {
            first_ns = trace->ranks[r].ready_ns;
        }
    }
    return first_ns == TRACE_NEVER ? 0 : first_ns;
}

struct program *tune_program(const struct trace_job *trace, bool sized, bool *whole)
{
    struct translation t = {.trace = trace,
                            .order = zeroed(trace->task_count, sizeof(uint32_t)),
                            .place = zeroed(trace->task_count, sizeof(int64_t)),
                            .chairs = zeroed(TUNE_TASKS_MAX, sizeof(uint32_t)),
                            .lacks = zeroed(TUNE_TASKS_MAX, sizeof(bool)),
                            .lanes = count_lanes(trace),
                            .begun_ns = first_begun_ns(trace)};
    const uint32_t all = order_tasks(&t);
    if (t.count > 0 && trace->rank_count > 1) {
        t.program = program_blank(1, trace->rank_count, t.lanes);
        for (uint32_t i = 0; i < t.count; i++) {
            add_task(&t, i);
        }
        if (sized) {
            add_sizes(&t);
        }
        sim_seat(t.program, t.chairs);
        add_scripts(&t);
        program_finish(t.program);
    }
    *whole = all == t.count && t.steps < TUNE_STEPS_MAX;
    free(t.order);
    free(t.place);
    free(t.chairs);
    free(t.lacks);
    return t.program;
}
