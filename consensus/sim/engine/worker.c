/* worker.c - runs tasks in virtual time.
 *
 * A rank has its workers and every lane that waits.  A kernel does what program.h says
 * kernels do: it spawns its children, works, waits for the awaited ones in turn (its
 * worker is free for others meanwhile), and ends; or its rank ends, when it has worked.
 * Ready tasks start in a seeded order.
 */
#include "consensus/sim/engine/sim_internal.h"
#include <stdlib.h>
#include <string.h>

/* What comes instead of a failed task's result. */
static const char STORY[] = "failed";

static uint32_t slots(const struct host *host)
{
    return host->sim->weather.workers + lane_idle_count(host);
}

/* MOOT_OK if every input is here and well; else the error of the first that is not. */
static int32_t input_status(struct host *host, uint32_t task)
{
    struct sim *sim = host->sim;
    const struct program_task *spec = &sim->program->tasks[task];
    for (uint32_t i = 0; i < spec->inputs.count + spec->after.count; i++) {
        bool data = i < spec->inputs.count;
        uint32_t input =
            data ? spec->inputs.items[i] : spec->after.items[i - spec->inputs.count];
        const struct record *record = &host->records[input];
        if (record->verdict != MOOT_OK) {
            return record->verdict;
        }
        bool here = record->kept && (!data || record->kept_data);
        if (!here && record->last_verdict != MOOT_OK) {
            return record->last_verdict;
        }
        if (!record->kept) {
            sim_fail(sim, "contract", "rank %u runs %s without %s",
                     (unsigned)host->rank, spec->name, sim->program->tasks[input].name);
        } else if (record->status != MOOT_OK) {
            return MOOT_ERR_TASK_FAILED;
        } else if (data && !record->kept_data) {
            sim_fail(sim, "contract", "rank %u runs %s without the bytes of %s",
                     (unsigned)host->rank, spec->name, sim->program->tasks[input].name);
        }
    }
    return MOOT_OK;
}

static void schedule(struct host *host, uint32_t task, uint64_t delay_ns)
{
    heap_push(host->sim, &(struct event){.time_ns = host->sim->now_ns + delay_ns,
                                         .kind = EVENT_WORK,
                                         .rank = host->rank,
                                         .index = task,
                                         .ticket = host->life});
}

static void give_slot_back(struct host *host, uint32_t task)
{
    struct record *record = &host->records[task];
    if (record->holds_slot) {
        host->slots_used--;
        host->runs_alone = false;
    }
    record->holds_slot = false;
}

/* --- Ending ----------------------------------------------------------------------- */

static struct program_bytes input_bytes(const struct host *host, uint32_t task,
                                        uint32_t i)
{
    const struct record *record = &host->records[task];
    const struct record *input =
        &host->records[host->sim->program->tasks[task].inputs.items[i]];
    return (struct program_bytes){
        record->taken_input == i + 1 ? record->taken : input->bytes, input->size};
}

/* Computes the result from what this rank has, not from the oracle. */
static void compute(struct host *host, uint32_t task)
{
    const struct program *program = host->sim->program;
    const struct program_task *spec = &program->tasks[task];
    struct record *record = &host->records[task];
    struct program_bytes *parts =
        sim_alloc((size_t)spec->inputs.count + spec->children.count, sizeof(*parts));
    size_t count = 0;
    for (uint32_t i = 0; i < spec->inputs.count; i++) {
        parts[count++] = input_bytes(host, task, i);
    }
    for (uint32_t i = 0; i < spec->children.count; i++) {
        const struct record *child = &host->records[spec->children.items[i]];
        if (program->tasks[spec->children.items[i]].awaited) {
            parts[count++] = (struct program_bytes){child->bytes, child->size};
        }
    }
    record->size = spec->result_bytes;
    record->bytes = sim_alloc(1, record->size);
    program_compute(program, task, parts, count, record->bytes);
    free(parts);
}

/* The record has its result, or its error. */
static void show_end(struct host *host, uint32_t task)
{
    struct sim *sim = host->sim;
    struct record *record = &host->records[task];
    record->ended = record->kept = record->kept_data = true;
    lane_wake(host, task);
    free(record->taken);
    record->taken = NULL;
    give_slot_back(host, task);
    sim_moved(sim);
    sim_see(sim, &(struct sight){.type = SIGHT_END,
                                 .time_ns = sim->now_ns,
                                 .rank = host->rank,
                                 .task = task,
                                 .code = record->status,
                                 .data = record->bytes,
                                 .size = record->size});
    struct core_event event = {.type = CORE_EV_DONE, .hash = sim->hashes[task]};
    event.entry = record->entry;
    event.u.done.status = record->status;
    event.u.done.size = record->size;
    host_step(host, &event);
    worker_fill(host);
}

static void set_bytes(struct record *record, const void *bytes, size_t size)
{
    record->size = size;
    record->bytes = sim_alloc(1, size);
    if (size > 0) {
        memcpy(record->bytes, bytes, size);
    }
}

static void end(struct host *host, uint32_t task, int32_t status)
{
    struct record *record = &host->records[task];
    if (host->undone) {
        return;
    }
    if (status != MOOT_OK && record->seen) {
        status = MOOT_ERR_RESULT_LOST;
    }
    record->status = status;
    if (status == MOOT_OK) {
        compute(host, task);
        if (disk_store(host, task)) {
            go_back_note_end(host, task);
        }
    } else {
        set_bytes(record, STORY, sizeof(STORY));
    }
    show_end(host, task);
}

/* Disks have noted that it started before this rank went back.  True: it has ended, as
 * they say. */
static bool end_as_noted(struct host *host, uint32_t task)
{
    struct record *record = &host->records[task];
    struct program_bytes found;
    if (!go_back_finds(host, task, &found)) {
        return false;
    }
    record->status = found.data != NULL ? MOOT_OK : MOOT_ERR_MAYBE_RAN;
    if (record->status == MOOT_OK) {
        set_bytes(record, found.data, found.size);
    } else {
        set_bytes(record, STORY, sizeof(STORY));
    }
    show_end(host, task);
    return true;
}

/* --- Children --------------------------------------------------------------------- */

static void tell_need(struct host *host, uint32_t task, uint32_t child,
                      enum core_event_type type)
{
    struct core_event event = {.type = type, .hash = host->sim->hashes[child]};
    event.u.need.want = WANT_DATA;
    event.u.need.by_task = true;
    event.u.need.waiter = host->sim->hashes[task];
    event.entry =
        type == CORE_EV_NEED ? host_enter(host, child) : host->records[child].entry;
    host_step(host, &event);
}

static void tell_waiting(struct host *host, uint32_t task, bool waiting)
{
    struct core_event event = {.type = CORE_EV_TASK_WAIT,
                               .hash = host->sim->hashes[task]};
    event.u.task_wait.waiting = waiting;
    host_step(host, &event);
}

static bool child_has_ended(const struct host *host, uint32_t child)
{
    const struct record *record = &host->records[child];
    return record->verdict != MOOT_OK || (record->done && record->done_data) ||
           (record->kept && record->kept_data);
}

/* Only where it matters which kernels run beside one another. */
static void show_pause(struct host *host, uint32_t task)
{
    const struct storm *storm = host->sim->options.storm;
    struct sight sight = host_sight(host, SIGHT_PAUSE, task);
    if (storm != NULL && storm->vague) {
        sim_see(host->sim, &sight);
    }
}

/* Waits for the next awaited child that has not ended; false if there is none. */
static bool wait_for_child(struct host *host, uint32_t task)
{
    const struct program_task *spec = &host->sim->program->tasks[task];
    struct record *record = &host->records[task];
    for (; record->next_child < spec->children.count; record->next_child++) {
        uint32_t child = spec->children.items[record->next_child];
        if (!host->sim->program->tasks[child].awaited || child_has_ended(host, child)) {
            continue;
        }
        give_slot_back(host, task);
        show_pause(host, task);
        tell_waiting(host, task, true);
        if (host->undone) {
            return true;
        }
        record->waits_child = true;
        host->parents_waiting++;
        tell_need(host, task, child, CORE_EV_NEED);
        worker_fill(host);
        return true;
    }
    return false;
}

static int32_t children_status(const struct host *host, uint32_t task)
{
    const struct program_task *spec = &host->sim->program->tasks[task];
    for (uint32_t i = 0; i < spec->children.count; i++) {
        uint32_t child = spec->children.items[i];
        const struct record *record = &host->records[child];
        if (!host->sim->program->tasks[child].awaited) {
            continue;
        }
        if (record->verdict != MOOT_OK || record->status != MOOT_OK) {
            return MOOT_ERR_TASK_FAILED;
        }
    }
    return MOOT_OK;
}

void worker_wake(struct host *host, uint32_t task)
{
    int32_t parent = host->sim->program->tasks[task].parent;
    if (parent != PROGRAM_NONE) {
        host->woken |= host->records[parent].waits_child;
    }
}

void worker_settle(struct host *host)
{
    uint32_t tasks = host->parents_waiting > 0 ? host->sim->program->task_count : 0;
    for (uint32_t task = 0; task < tasks; task++) {
        struct record *record = &host->records[task];
        if (!record->waits_child || record->child_ended) {
            continue;
        }
        const struct program_task *spec = &host->sim->program->tasks[task];
        if (!child_has_ended(host, spec->children.items[record->next_child])) {
            continue;
        }
        record->child_ended = true;
        tell_waiting(host, task, false);
        schedule(host, task, random_below(&host->sim->durations, 1000));
    }
}

/* --- Starting --------------------------------------------------------------------- */

static void show_start(struct host *host, uint32_t task)
{
    struct sim *sim = host->sim;
    struct sight sight = {
        .type = SIGHT_START, .time_ns = sim->now_ns, .rank = host->rank, .task = task};
    sim_see(sim, &sight);
    if (sim_canary(sim, SIM_CANARY_RUN_TWICE)) {
        sim_see(sim, &sight);
    }
    sight.rank = (sight.rank + 1) % sim->program->rank_count;
    if (sight.rank != host->rank && sim_canary(sim, SIM_CANARY_RUN_ELSEWHERE)) {
        sim_see(sim, &sight);
    }
    strike_at_point(host, CORE_POINT_TASK_START);
}

static void start(struct host *host, uint32_t task)
{
    struct sim *sim = host->sim;
    const struct program_task *spec = &sim->program->tasks[task];
    struct record *record = &host->records[task];
    int32_t status = record->cancelled ? MOOT_ERR_CANCELLED
                     : record->lost    ? MOOT_ERR_RESULT_LOST
                                       : input_status(host, task);
    if (spec->elements > 0 && !record->cancelled) { /* whatever its inputs say */
        status = record->array_code;
    }
    record->started = true;
    record->started_ns = host->sim->now_ns;
    record->holds_slot = true;
    host->slots_used++;
    host->runs_alone = record->alone;
    if (status != MOOT_OK || spec->elements > 0) { /* no kernel of an array's own */
        end(host, task, status);
        return;
    }
    if (end_as_noted(host, task)) {
        return;
    }
    go_back_note_start(host, task);
    show_start(host, task);
    if (host->dead) {
        return;
    }
    host_take_input(host, task);
    for (uint32_t i = 0; i < spec->children.count && !spec->fails; i++) {
        host_register(host, spec->children.items[i], 0, false, NULL);
    }
    uint64_t work_ns = UINT64_C(1000) * spec->work_us;
    schedule(host, task, random_between(&sim->durations, work_ns / 2, work_ns));
}

/* Where a suspect stands among the ready ones; true if there is one. */
static bool find_suspect(const struct host *host, uint64_t *at)
{
    for (uint32_t i = 0; i < host->ready_count; i++) {
        if (host->records[host->ready[i]].alone) {
            *at = i;
            return true;
        }
    }
    return false;
}

/* Starts ready tasks, in a seeded order, while there are slots: suspects first, each
 * when no other kernel runs. */
static void fill(struct host *host)
{
    host->fill_due = false;
    while (host->ready_count > 0 && host->slots_used < slots(host) &&
           !host->runs_alone && !host->drains && !host->undone) {
        uint64_t at = random_below(&host->sim->durations, host->ready_count);
        if (find_suspect(host, &at) && host->slots_used > 0) {
            return; /* until those that run have ended */
        }
        uint32_t task = host->ready[at];
        host->ready[at] = host->ready[--host->ready_count];
        start(host, task);
    }
    while (host->slots_used < slots(host) && !host->runs_alone && !host->drains &&
           !host->undone && array_begin_some(host)) {
        continue;
    }
}

/* The kernel's own time is over, or the child that it waited for has ended. */
static void go_on(struct host *host, uint32_t task)
{
    const struct program_task *spec = &host->sim->program->tasks[task];
    struct record *record = &host->records[task];
    if (record->ended) {
        return;
    }
    if (!record->slowed) {
        record->slowed = true;
        uint64_t more_ns = strike_slow_ns(host, host->sim->now_ns - record->started_ns);
        if (more_ns > 0) {
            schedule(host, task, more_ns);
            return;
        }
    }
    if (record->waits_child) {
        record->waits_child = record->child_ended = false;
        host->parents_waiting--;
        tell_need(host, task, spec->children.items[record->next_child], CORE_EV_UNNEED);
    }
    if (host->undone) {
        return;
    }
    if (spec->poison) {
        strike_poison(host, task);
    } else if (spec->fails) {
        end(host, task, MOOT_ERR_KERNEL_CODE);
    } else if (!wait_for_child(host, task)) {
        end(host, task, children_status(host, task));
    }
}

/* A kernel of before the program went back is gone. */
void worker_go_on(struct host *host, uint32_t task, uint64_t life)
{
    if (life != host->life) {
        return;
    }
    if (task == host->sim->program->task_count) {
        fill(host);
    } else {
        go_on(host, task);
    }
}

void worker_fill(struct host *host)
{
    if (host->fill_due || host->ready_count + host->piece_count == 0) {
        return;
    }
    host->fill_due = true;
    schedule(host, host->sim->program->task_count,
             random_below(&host->sim->durations, 200));
}

void worker_offer(struct host *host, uint32_t task)
{
    if (sim_canary(host->sim, SIM_CANARY_FORGET_TASK)) {
        return;
    }
    host->ready[host->ready_count++] = task;
    worker_fill(host);
}

void worker_give_back(struct host *host)
{
    uint32_t count = host->ready_count;
    uint32_t *tasks = sim_alloc(count, sizeof(*tasks));
    for (uint32_t i = 0; i < count; i++) {
        tasks[i] = host->ready[i];
    }
    host->ready_count = 0;
    const uint64_t life = host->life;
    for (uint32_t i = 0; i < count && host->life == life && !host->undone; i++) {
        struct record *record = &host->records[tasks[i]];
        if (record->cancelled || record->lost) {
            worker_offer(host, tasks[i]);
            continue;
        }
        record->run = false;
        host_step(host, &(struct core_event){.type = CORE_EV_UNSTARTED,
                                             .hash = host->sim->hashes[tasks[i]],
                                             .entry = record->entry});
    }
    free(tasks);
}

void worker_cancel(struct host *host, uint32_t task)
{
    host->records[task].cancelled = true;
}
