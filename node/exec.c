/* exec.c - see exec.h. */
#include "exec.h"

#include "node/call.h"
#include "node/engine.h"
#include "node/progress.h"
#include "node/story.h"

#include <assert.h>
#include <stdlib.h>

/* A waiter deep on its stack takes others' tasks only after this many idle rounds. */
enum { EXEC_RELUCTANT_ROUNDS = 200 };

/* --- The ready queue ------------------------------------------------------------ */

static bool before(const struct ready_item *a, const struct ready_item *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->order < b->order;
}

static void sift_up(struct ready *ready, size_t at)
{
    struct ready_item item = ready->items[at];
    while (at > 0 && before(&item, &ready->items[(at - 1) / 2])) {
        ready->items[at] = ready->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    ready->items[at] = item;
}

static void sift_down(struct ready *ready, size_t at)
{
    struct ready_item item = ready->items[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= ready->count) {
            break;
        }
        if (child + 1 < ready->count &&
            before(&ready->items[child + 1], &ready->items[child])) {
            child++;
        }
        if (!before(&ready->items[child], &item)) {
            break;
        }
        ready->items[at] = ready->items[child];
        at = child;
    }
    ready->items[at] = item;
}

static bool push(struct ready *ready, struct task *task)
{
    if (ready->count == ready->room) {
        size_t room = ready->room ? ready->room * 2 : 256;
        struct ready_item *grown = realloc(ready->items, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        ready->items = grown;
        ready->room = room;
    }
    uint64_t number = ++ready->newest;
    ready->items[ready->count] = (struct ready_item){
        .priority = task->priority,
        .order = task->nested ? (UINT64_MAX >> 1) - number : number | 1ull << 63,
        .task = task};
    sift_up(ready, ready->count++);
    ready->live++;
    return true;
}

static struct task *take_at(struct ready *ready, size_t at)
{
    struct task *task = ready->items[at].task;
    ready->items[at] = ready->items[--ready->count];
    if (at < ready->count) {
        sift_down(ready, at);
        sift_up(ready, at);
    }
    return task;
}

static struct task *pop(struct ready *ready)
{
    while (ready->count > 0) {
        struct task *task = take_at(ready, 0);
        if (task->stage == TASK_READY) { /* else it was cancelled in the queue */
            ready->live--;
            return task;
        }
    }
    return NULL;
}

static struct task *pop_child_of(struct ready *ready, const struct task *parent)
{
    for (size_t i = 0; i < ready->count; i++) {
        struct task *task = ready->items[i].task;
        if (task->parent == parent && task->stage == TASK_READY) {
            ready->live--;
            return take_at(ready, i);
        }
    }
    return NULL;
}

/* --- How a task ends ------------------------------------------------------------ */

/* Takes over the payload, which is NULL only for an error whose story found no memory.
 */
static void end_task(struct moot *m, struct task *task, int status,
                     struct payload *payload)
{
    task->status = status;
    task->payload = payload;
    task->size = payload != NULL ? payload->size : 0;
    task->known = true;
    task->stage = TASK_ENDED;
    m->counts.failed += status != MOOT_OK;
    m->end_count++;
    m->ended_ns = clock_ns();
    task_drop_args(task);
    progress_wake(m);
    engine_later(m, (struct later){.type = CORE_EV_DONE,
                                   .hash = task->hash,
                                   .status = status,
                                   .size = task->size});
}

static void end_with_story(struct moot *m, struct task *task, int status,
                           struct text *story)
{
    story_cut(story);
    end_task(m, task, status, payload_copy(text_get(story), story->length));
    text_release(story);
}

static const struct task *failed_input(const struct task *task)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct task *input = task->inputs[i];
        if (input->known ? input->status != MOOT_OK : input->verdict_count > 0) {
            return input;
        }
    }
    return NULL;
}

/* The task at which a cycle of waits was cut says so itself; what depends on it has
 * merely failed. */
static int status_after(const struct task *failed)
{
    bool cut = !failed->known && failed->verdict == MOOT_ERR_CYCLE;
    return cut ? MOOT_ERR_CYCLE : MOOT_ERR_TASK_FAILED;
}

static uint32_t data_inputs(const struct task *task)
{
    return task->input_count - task->after_count;
}

static void pin_inputs(struct task *task)
{
    for (uint32_t i = 0; i < data_inputs(task); i++) {
        task->inputs[i]->pins++;
    }
}

static void unpin_inputs(struct moot *m, struct task *task)
{
    for (uint32_t i = 0; i < data_inputs(task); i++) {
        assert(task->inputs[i]->pins > 0);
        task->inputs[i]->pins--;
    }
    for (uint32_t i = 0; !m->stepping && i < data_inputs(task); i++) {
        task_try_release(m, task->inputs[i]);
    }
}

static void end_cancelled(struct moot *m, struct task *task)
{
    struct text story = {0};
    story_of_cancel(&story, m, task);
    end_with_story(m, task, MOOT_ERR_CANCELLED, &story);
}

void exec_take(struct moot *m, struct task *task, bool cancelled)
{
    assert(task != NULL && task->stage == TASK_IDLE);
    task->own = true;
    const struct task *failed = failed_input(task);
    if (cancelled) {
        end_cancelled(m, task);
    } else if (failed != NULL) {
        struct text story = {0};
        story_of_input(&story, m, task, failed);
        end_with_story(m, task, status_after(failed), &story);
    } else if (push(&m->ready, task)) {
        task->stage = TASK_READY;
        pin_inputs(task);
        progress_wake(m);
    } else {
        end_task(m, task, MOOT_ERR_TASK_FAILED, NULL);
    }
}

void exec_cancel(struct moot *m, struct task *task)
{
    if (task == NULL || task->stage != TASK_READY) {
        return; /* too late: it runs, or has ended */
    }
    m->ready.live--;
    unpin_inputs(m, task);
    end_cancelled(m, task);
}

/* --- Running -------------------------------------------------------------------- */

static void end_of_kernel(struct moot *m, struct moot_call *call, int code)
{
    struct task *task = call->task;
    struct payload *output = call->output;
    if (code == MOOT_OK && output != NULL) {
        end_task(m, task, MOOT_OK, output);
        return;
    }
    payload_drop(output);
    struct text story = {0};
    if (code == MOOT_OK) {
        code = call->no_memory ? MOOT_ERR_NO_MEMORY : MOOT_ERR_NO_OUTPUT;
    }
    story_of_kernel(&story, m, task, code, text_get(&call->why));
    if (call->mishap != NULL) {
        story_add_mishap(&story, call->mishap, text_get(&call->mishap_story));
    }
    end_with_story(m, task, MOOT_ERR_TASK_FAILED, &story);
}

static int call_kernel(struct moot *m, struct moot_call *call)
{
    const struct kernel *kernel = call->task->kernel;
    m->counts.run++;
    m->running++;
    call->lane->call = call;
    call->lane->depth++;
    progress_hand_over(m);
    engine_unlock(m);
    int code = kernel->fn(call, kernel->user);
    engine_lock(m);
    call->lane->depth--;
    call->lane->call = call->below;
    m->running--;
    return code;
}

static void run(struct moot *m, struct lane *lane, struct task *task)
{
    assert(task->kernel != NULL && task->stage == TASK_READY);
    task->stage = TASK_RUNNING;
    struct moot_call call;
    int code = MOOT_ERR_NO_MEMORY;
    if (call_begin(&call, m, lane, task)) {
        code = call_kernel(m, &call);
    }
    call_end(&call);
    end_of_kernel(m, &call, code);
    text_release(&call.why);
    text_release(&call.mishap_story);
    unpin_inputs(m, task);
}

bool exec_may(const struct lane *lane) { return lane->depth < LIMIT_NEST_DEPTH; }

bool exec_one(struct moot *m, struct lane *lane, struct task *waiter,
              uint32_t idle_rounds)
{
    if (m->ready.live == 0 || !exec_may(lane) || m->fatal != 0) {
        return false;
    }
    struct task *task;
    if (lane->depth >= LIMIT_NEST_DEPTH / 2 && waiter != NULL) {
        task = pop_child_of(&m->ready, waiter);
        if (task == NULL && idle_rounds >= EXEC_RELUCTANT_ROUNDS) {
            task = pop(&m->ready);
        }
    } else {
        task = pop(&m->ready);
    }
    if (task == NULL) {
        return false;
    }
    run(m, lane, task);
    return true;
}

/* --- Workers -------------------------------------------------------------------- */

static void *worker_main(void *argument)
{
    struct moot *m = argument;
    struct lane *lane = lane_of_thread(m->bond);
    if (lane == NULL) {
        return NULL; /* no memory: one worker less, callers still run tasks */
    }
    struct idle idle = {0};
    engine_lock(m);
    while (!m->stop) {
        if (exec_one(m, lane, NULL, 0) || progress_drive_free(m)) {
            idle.rounds = 0;
        } else {
            progress_idle(m, &idle, CORE_NEVER);
        }
    }
    engine_unlock(m);
    return NULL;
}

bool exec_start_workers(struct moot *m, uint32_t count)
{
    m->workers = calloc(count ? count : 1, sizeof(*m->workers));
    if (m->workers == NULL) {
        return false;
    }
    while (m->worker_count < count) {
        if (!progress_start_thread(&m->workers[m->worker_count], worker_main, m)) {
            return false;
        }
        m->worker_count++;
    }
    return true;
}

/* --- The stand-in --------------------------------------------------------------- */

static bool is_left_alone(const struct moot *m)
{
    if (m->ready.live == 0 || m->worker_count > 0 || m->program_waits > 0 ||
        m->closing) {
        return false;
    }
    const struct lane *lane = m->lanes;
    while (lane != NULL && !lane->parked) {
        lane = lane->next;
    }
    return lane != NULL;
}

static void *stand_in_main(void *argument)
{
    struct moot *m = argument;
    struct lane *lane = lane_of_thread(m->bond);
    if (lane == NULL) {
        return NULL; /* no memory: the parked lane runs them when it is back */
    }
    engine_lock(m);
    while (!m->stop) {
        if (!is_left_alone(m) || !exec_one(m, lane, NULL, 0)) {
            pthread_cond_wait(&m->left_alone, &m->bond->lock);
        }
    }
    engine_unlock(m);
    return NULL;
}

void exec_stand_in(struct moot *m)
{
    if (!is_left_alone(m)) {
        return;
    }
    if (!m->standing_in) {
        m->standing_in = progress_start_thread(&m->stand_in, stand_in_main, m);
    }
    pthread_cond_signal(&m->left_alone);
}

void exec_join_workers(struct moot *m)
{
    if (m->standing_in) {
        pthread_cond_signal(&m->left_alone);
        pthread_join(m->stand_in, NULL);
        m->standing_in = false;
    }
    for (uint32_t i = 0; i < m->worker_count; i++) {
        pthread_join(m->workers[i], NULL);
    }
    m->worker_count = 0;
    free(m->workers);
    m->workers = NULL;
}

void exec_release(struct moot *m)
{
    free(m->ready.items);
    m->ready = (struct ready){0};
}
