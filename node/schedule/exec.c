/* exec.c - see exec.h. */
#include "node/schedule/exec.h"

#include "hashing/base/hot.h"
#include "node/checkpoint/checkpoint.h"
#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/faults/faults.h"
#include "node/members/members.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "node/schedule/call_frame.h"
#include "node/schedule/element_end.h"
#include "node/schedule/element_parts.h"
#include "node/schedule/element_run.h"
#include "node/schedule/fiber.h"
#include "node/schedule/found.h"
#include "node/schedule/ready.h"
#include "node/schedule/retry.h"
#include "node/schedule/task_end.h"
#include "node/schedule/task_handle.h"
#include "node/schedule/verify.h"
#include "node/schedule/wait.h"
#include "node/tasks/board.h"
#include "node/tasks/error_chain.h"
#include "node/tasks/kernel.h"
#include "node/tasks/own_elements.h"

#include <assert.h>
#include <stdlib.h>

enum {
    EXEC_SPARE_RUNS = 64, /* strands that are kept for what comes */
    EXEC_FOLLOW_MAX = 32  /* kernels in one strand after the first */
};

/* A kernel from its beginning to its end. */
struct run {
    struct moot_call call; /* the first member: a call is its run */
    struct strand *strand;
    const struct lane *home; /* where it began; NULL: that thread has ended */
    struct run *next;        /* spare, or can go on */
    exec_enough enough;      /* and what it is asked with */
    void *context;
    uint32_t left;       /* kernels that may follow without a switch (exec_some) */
    uint64_t stopped_ns; /* that its kernel was, if it is timed */
    int code;            /* the kernel's, once it has returned */
    bool active;         /* begun and not ended */
    struct element_run others; /* that it runs behind an element; none, of a task */
};

COLD struct moot_call *exec_call_of(const struct moot *m, const struct task *task)
{
    for (uint32_t i = 0; i < m->schedule.run_count; i++) {
        struct run *run = m->schedule.runs[i];
        if (run->active && run->call.task == task && !run->call.check &&
            !run->call.element) {
            return &run->call;
        }
    }
    return NULL;
}

/* --- Running -------------------------------------------------------------------- */

static void end_of_kernel(struct moot *m, struct moot_call *call, int code)
{
    if (call_was_found(call)) {
        found_end(m, call);
    } else {
        task_end_kernel(m, call, code);
        found_failure(m, call);
    }
}

COLD static bool end_without_stack(struct moot *m, struct task *task)
{
    struct text story = {0};
    story_of_kernel(&story, m, task, MOOT_ERR_NO_MEMORY, "no memory for its stack");
    task->pins++;
    task_end_with_story(m, task, MOOT_ERR_TASK_FAILED, NO_ROOT_CAUSE, &story);
    task_release_inputs(m, task);
    task->pins--;
    task_try_free(m, task);
    return true;
}

/* --- Runs ------------------------------------------------------------------------ */

COLD static struct run *run_make(struct moot *m)
{
    if (m->schedule.runs == NULL) {
        m->schedule.runs = calloc(LIMIT_RUNS, sizeof(struct run *));
    }
    struct run *run = m->schedule.runs != NULL ? calloc(1, sizeof(*run)) : NULL;
    if (run == NULL) {
        return NULL;
    }
    run->strand = strand_new();
    if (run->strand == NULL) {
        free(run);
        return NULL;
    }
    m->schedule.runs[m->schedule.run_count++] = run;
    return run;
}

static struct run *run_take(struct moot *m)
{
    struct run *run = m->schedule.spare_runs;
    if (run == NULL) {
        return run_make(m);
    }
    m->schedule.spare_runs = run->next;
    m->schedule.spare_run_count--;
    return run;
}

static void run_free(struct run *run)
{
    strand_free(run->strand);
    free(run);
}

static void run_give_back(struct moot *m, struct run *run)
{
    if (m->schedule.spare_run_count < EXEC_SPARE_RUNS) {
        run->next = m->schedule.spare_runs;
        m->schedule.spare_runs = run;
        m->schedule.spare_run_count++;
        return;
    }
    uint32_t at = 0;
    while (m->schedule.runs[at] != run) {
        at++;
    }
    m->schedule.runs[at] = m->schedule.runs[--m->schedule.run_count];
    run_free(run);
}

COLD static void close_queues(struct run *run)
{
    struct moot *m = run->call.m;
    engine_lock(m);
    int error = m->engine.hooks->close_queues(m, run->call.lane);
    if (error != MOOT_OK && run->code == MOOT_OK) {
        run->code = moot_call_fail(&run->call, error, text_get(&run->call.lane->error));
    }
    engine_unlock(m);
}

static bool is_timed(const struct moot *m)
{
    return m->faults.plan != NULL || checkpoint_is_on(m);
}

/* On the strand, without the lock. */
static void run_kernel(struct run *run)
{
    const struct kernel *kernel = run->call.task->kernel;
    struct moot *m = run->call.m;
    run->stopped_ns = 0;
    const bool stored = checkpoint_is_on(m) && !run->call.element;
    if (stored && found_instead(&run->call, &run->code)) {
        return;
    }
    const bool noted = run->call.element && run->call.array->once;
    if (noted && checkpoint_is_on(m) && !found_element_begins(&run->call, &run->code)) {
        return;
    }
    uint64_t began_ns = is_timed(m) ? clock_ns() : 0;
    do {
        run->code = kernel->fn(&run->call, kernel->user);
    } while (element_run_next(&run->others, &run->call, run->code));
    if (run->call.queues.top != NULL) {
        close_queues(run);
    }
    if (began_ns == 0) {
        return;
    }
    const uint64_t took_ns = clock_ns() - began_ns - run->stopped_ns;
    if (m->faults.plan != NULL) {
        faults_after_kernel(m, took_ns);
    }
    if (stored) {
        found_keep(&run->call, run->code, took_ns);
    }
}

/* It failed, and nobody has told it to. */
static bool goes_again(struct moot *m, const struct moot_call *call, int code)
{
    struct task *task = call->task;
    bool good = code == MOOT_OK && call->output != NULL;
    if (good || call_was_found(call) || task->cancelled || task->gone || call->lacks) {
        return false;
    }
    return call->element
               ? retry_element(m, call->array, call->place)
               : retry_later(m, task,
                             (call->array != NULL ? call->array->task : task)->kernel);
}

static void tell_check(struct moot *m, const struct task *task, bool runs)
{
    struct core_event event = {.type = CORE_EV_TASK_WAIT, .hash = task->hash};
    event.u.task_wait.waiting = !runs; /* the core counts it as a kernel that runs */
    engine_step(m, &event);
}

/* The run was to compare results, and is none of the task's. */
COLD static void end_check(struct moot *m, struct run *run)
{
    struct task *task = run->call.task;
    call_end(&run->call);
    bool good = run->code == MOOT_OK && !run->call.spoilt;
    verify_unpin_inputs(task);
    verify_ran(m, task, good ? run->call.output : NULL); /* which lets go of them */
    payload_drop(run->call.output);
    text_release(&run->call.why);
    text_release(&run->call.mishap_story);
    tell_check(m, task, false);
    run->active = false;
    task->pins--;
    task_try_release(m, task);
    task_try_free(m, task);
}

/* Messages that a short element leaves go with those of the next short ones. */
static bool more_comes_soon(const struct moot *m, const struct run *run)
{
    const struct elements *next = m->schedule.elements;
    return run->call.element && next != NULL && next->task->kernel->short_runs > 0 &&
           call_ran_ns(&run->call, m->now_ns) <= ELEMENT_SLOW_NS;
}

/* The run is free for another kernel then. */
HOT static void end_run(struct moot *m, struct run *run)
{
    struct task *task = run->call.task;
    if (run->call.check) {
        end_check(m, run);
        return;
    }
    element_run_end(m, &run->others, &run->call);
    call_end(&run->call);
    if (goes_again(m, &run->call, run->code)) {
        payload_drop(run->call.output);
    } else if (run->call.element) {
        trace_element_end(m, task, run->call.index,
                          element_code(&run->call, run->code));
        element_end(m, &run->call, run->code);
        parts_ended(m, more_comes_soon(m, run));
    } else {
        end_of_kernel(m, &run->call, run->code);
        progress_send_free(m); /* whoever waits for it, before its inputs go */
        trace_end(m, task);
        if (run->call.takes_foreign) {
            task_release_inputs(m, task);
        }
    }
    text_release(&run->call.why);
    text_release(&run->call.mishap_story);
    run->active = false;
    task->pins--;
    task_try_free(m, task);
}

/* A check's result is known to be right: it is no suspect. */
static bool is_alone(const struct run *run)
{
    return run->call.task->alone && !run->call.check;
}

/* Its kernel is on that thread from here on, and no more. */
static void enter(struct moot *m, struct lane *lane, const struct run *run)
{
    if (lane->seat == NULL) {
        lane->seat = board_seat(m);
    }
    board_enter(m, lane->seat, run->call.task,
                run->call.element ? run->call.index + 1 : 0, is_alone(run));
    m->schedule.on_threads++;
    m->schedule.alone = is_alone(run);
}

static void leave(struct moot *m, struct lane *lane)
{
    assert(m->schedule.on_threads > 0);
    lane->call = NULL;
    board_leave(lane->seat);
    m->schedule.on_threads--;
    m->schedule.alone = false;
    if (m->schedule.any_alone) {
        progress_wake(m); /* others may have been held back */
    }
}

/* The next thing that happens in `run` is its kernel, without the lock. */
static void go(struct moot *m, struct lane *lane, struct run *run)
{
    if (run->call.stopped_ns != 0 && run->call.state == CALL_STOPPED) {
        run->call.away_ns += m->now_ns - run->call.stopped_ns;
    }
    run->call.lane = lane;
    run->call.state = CALL_RUNS;
    lane->call = &run->call;
    enter(m, lane, run);
    progress_hand_over(m);
    engine_unlock(m);
}

/* Lets it go on until it stops, or has ended and no other kernel follows in it. */
HOT static void run_on(struct moot *m, struct lane *lane, struct run *run)
{
    go(m, lane, run);
    if (strand_run(run->strand)) {
        if (STRAND_KEEPS_LOCKS) {
            engine_lock(m);
        }
        run_give_back(m, run);
        return;
    }
    engine_lock(m);
    leave(m, lane);
    run->call.state = CALL_STOPPED;
    run->call.stopped_ns = m->now_ns;
    if (run->call.goes_on) {
        exec_go_on(m, &run->call);
    }
}

/* Without memory its task ends at once, and false. */
HOT static bool begin(struct moot *m, struct lane *lane, struct task *task,
                      struct run *run)
{
    assert(task->kernel != NULL && task->stage == TASK_READY);
    task->stage = TASK_RUNNING;
    task->pins++; /* it may be forgotten as soon as it has ended */
    run->active = true;
    run->home = lane;
    run->code = MOOT_ERR_NO_MEMORY;
    if (!call_begin(&run->call, m, task)) {
        end_run(m, run);
        return false;
    }
    run->call.began_ns = m->now_ns;
    m->counts.run++;
    m->schedule.running++;
    checkpoint_begin(m, task, &run->call.checkpoint);
    if (!run->call.checkpoint.asks) {
        found_starts(m, &run->call);
    }
    return true;
}

/* False: the element cannot run, and the run's code says why. */
static bool take_inputs(struct run *run)
{
    if (element_lost_input(&run->call)) {
        run->call.lacks = true;
        run->code = MOOT_ERR_TASK_FAILED;
        return false;
    }
    return call_take_inputs(&run->call);
}

/* Likewise the next element of an array. */
static bool begin_element(struct moot *m, struct lane *lane, struct run *run)
{
    uint64_t place = 0;
    struct elements *elements = elements_take(m, &place);
    if (elements == NULL) {
        return false;
    }
    elements_go_on(m);
    elements->task->pins++;
    run->active = true;
    run->home = lane;
    run->code = MOOT_ERR_NO_MEMORY;
    const bool begun = call_begin_element(&run->call, m, elements, place);
    if (!begun || (elements->link_count > 0 && !take_inputs(run))) {
        end_run(m, run);
        return false;
    }
    run->call.began_ns = m->now_ns;
    m->schedule.running++;
    element_run_take(m, &run->others, &run->call);
    trace_element_start(m, elements->task, run->call.index);
    return true;
}

static void free_spent(struct moot *m)
{
    struct task *task = ready_take_spent(&m->schedule.ready);
    while (task != NULL) {
        task_try_free(m, task);
        task = ready_take_spent(&m->schedule.ready);
    }
}

static struct task *take_ready(struct moot *m)
{
    struct task *task = ready_pop(&m->schedule.ready);
    free_spent(m);
    return task;
}

/* The first suspect whose wait is over: it goes on before anything else does. */
static const struct run *next_alone(const struct moot *m)
{
    const struct run *run = m->schedule.going_on;
    while (run != NULL && !is_alone(run)) {
        run = run->next;
    }
    return run;
}

/* Nothing may begin, since one kernel runs alone or is about to: the first that is
 * ready, or one whose wait is over.  Those that run end, or wait, without it. */
static bool is_held_back(struct moot *m)
{
    if (!m->schedule.any_alone) {
        return false;
    }
    const bool first = m->schedule.ready.live > 0 && m->schedule.on_threads > 0 &&
                       ready_first(&m->schedule.ready)->alone;
    return m->schedule.alone || first || next_alone(m) != NULL;
}

static bool may_go_on(const struct moot *m, const struct run *run)
{
    const struct run *alone = m->schedule.any_alone ? next_alone(m) : NULL;
    return !m->schedule.alone &&
           (alone == NULL || (run == alone && m->schedule.on_threads == 0));
}

/* Nothing else is to be done before the next kernel. */
static bool another_may_follow(struct moot *m, struct run *run)
{
    return ready_any(m) && !m->schedule.draining && !is_held_back(m) &&
           m->schedule.going_on == NULL && m->schedule.resting.count == 0 &&
           m->engine.fatal == 0 && m->schedule.kernel_waits < LIMIT_RUNS / 2 &&
           !progress_is_due(m) && !run->enough(m, run->context);
}

/* Tasks of one priority before elements, which fewer wait for. */
static bool task_is_next(struct moot *m)
{
    const struct elements *elements = m->schedule.elements;
    return m->schedule.ready.live > 0 &&
           (elements == NULL ||
            ready_is_before(&m->schedule.ready, elements->task->priority));
}

HOT static bool begin_next(struct moot *m, struct lane *lane, struct run *run)
{
    return task_is_next(m) ? begin(m, lane, take_ready(m), run)
                           : begin_element(m, lane, run);
}

/* On the strand: ends a kernel, and begins the next; false, and the lock is held, if
 * none follows. */
static bool go_to_next(struct moot *m, struct run *run)
{
    engine_lock(m);
    struct lane *lane = run->call.lane;
    leave(m, lane);
    m->schedule.running--;
    if (!run->call.check && !call_was_found(&run->call)) {
        kernel_ran(run->call.task->kernel,
                   call_ran_ns(&run->call, m->now_ns) / (run->others.ended + 1));
    }
    end_run(m, run);
    if (run->left == 0) {
        return false;
    }
    run->left--;
    if (!more_comes_soon(m, run)) {
        progress_send_free(m);
    }
    wait_release_ended(m);
    if (!another_may_follow(m, run) || !begin_next(m, lane, run)) {
        return false;
    }
    go(m, lane, run);
    return true;
}

/* On the strand. */
HOT static void run_kernels(void *argument)
{
    struct run *run = argument;
    struct moot *m = run->call.m;
    do {
        run_kernel(run);
    } while (go_to_next(m, run));
    if (STRAND_KEEPS_LOCKS) {
        engine_unlock(m);
    }
}

void exec_each_call(const struct moot *m,
                    void (*see)(void *context, const struct moot_call *call),
                    void *context)
{
    for (uint32_t i = 0; i < m->schedule.run_count; i++) {
        if (m->schedule.runs[i]->active) {
            see(context, &m->schedule.runs[i]->call);
        }
    }
}

bool exec_stop(struct moot *m, struct moot_call *call)
{
    if (m->schedule.kernel_waits >= LIMIT_RUNS) {
        return false;
    }
    struct run *run = (struct run *)call;
    run->left = 0; /* who lets it go on may want no more than its end */
    call->state = CALL_LEAVES;
    call->goes_on = false;
    assert(!call->element); /* which has no children to wait for */
    uint64_t from_ns = is_timed(m) ? clock_ns() : 0;
    engine_unlock(m);
    strand_suspend(run->strand);
    engine_lock(m);
    run->stopped_ns += from_ns != 0 ? clock_ns() - from_ns : 0;
    return true;
}

void exec_go_on(struct moot *m, struct moot_call *call)
{
    if (call->state != CALL_STOPPED) {
        call->goes_on = true; /* which matters if it is just leaving */
        return;
    }
    struct run *run = (struct run *)call, **last = &m->schedule.going_on;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    run->next = NULL;
    *last = run;
    progress_wake(m);
}

/* Whose thread does not come round to them is anyone's. */
static struct run *take_going_on(struct moot *m, const struct lane *lane)
{
    for (struct run **link = &m->schedule.going_on; *link != NULL;
         link = &(*link)->next) {
        struct run *run = *link;
        if (!may_go_on(m, run)) {
            continue;
        }
        if (run->home == lane || run->home == NULL || !run->home->here) {
            *link = run->next;
            return run;
        }
    }
    return NULL;
}

static bool is_full(const struct moot *m)
{
    return m->schedule.run_count == LIMIT_RUNS && m->schedule.spare_runs == NULL;
}

static bool is_reluctant(const struct moot *m, uint32_t idle_rounds)
{
    return m->schedule.kernel_waits >= LIMIT_RUNS / 2 &&
           idle_rounds < EXEC_RELUCTANT_ROUNDS &&
           (m->schedule.ready.live == 0 || !ready_first(&m->schedule.ready)->nested);
}

/* Runs a task a second time, if there is one to check; there is nothing else to do. */
static bool check_one(struct moot *m, struct lane *lane)
{
    struct task *task = is_full(m) ? NULL : verify_next(m);
    struct run *run = task != NULL ? run_take(m) : NULL;
    if (task != NULL && run == NULL) {
        verify_ran(m, task, NULL);
    }
    if (run == NULL) {
        return false;
    }
    task->pins++;
    verify_pin_inputs(task);
    tell_check(m, task, true);
    run->active = true;
    run->home = lane;
    run->code = MOOT_ERR_NO_MEMORY;
    run->left = 0;
    bool begun = call_begin(&run->call, m, task);
    run->call.check = true;
    if (!begun) {
        end_run(m, run);
        run_give_back(m, run);
        return true;
    }
    m->schedule.running++;
    strand_begin(run->strand, run_kernels, run);
    run_on(m, lane, run);
    return true;
}

HOT bool exec_some(struct moot *m, struct lane *lane, uint32_t idle_rounds,
                   exec_enough enough, void *context)
{
    wait_release_ended(m);
    if (m->schedule.resting.count > 0) {
        retry_wake(m);
    }
    struct run *run = take_going_on(m, lane);
    if (run != NULL) {
        run_on(m, lane, run);
        return true;
    }
    if (m->schedule.draining || is_held_back(m)) {
        return false;
    }
    if (!ready_any(m) && m->schedule.checks != NULL) {
        return check_one(m, lane);
    }
    if (!ready_any(m) || m->engine.fatal != 0 || is_full(m) ||
        is_reluctant(m, idle_rounds)) {
        return false;
    }
    run = run_take(m);
    if (run == NULL) { /* elements wait for memory */
        return m->schedule.ready.live > 0 && end_without_stack(m, take_ready(m));
    }
    run->enough = enough;
    run->context = context;
    run->left = EXEC_FOLLOW_MAX;
    if (begin_next(m, lane, run)) {
        strand_begin(run->strand, run_kernels, run);
        run_on(m, lane, run);
    } else {
        run_give_back(m, run);
    }
    return true;
}

static bool one_is_enough(struct moot *m, void *context)
{
    (void)m;
    (void)context;
    return true;
}

bool exec_one(struct moot *m, struct lane *lane, uint32_t idle_rounds)
{
    return exec_some(m, lane, idle_rounds, one_is_enough, NULL);
}

/* Threads that are none of the program's have no number. */
void exec_here(struct lane *lane, bool here)
{
    if (here != lane->here && lane->number != LANE_NO_NUMBER) {
        board_add_outside(lane->bond->m, here ? -1 : 1);
    }
    lane->here = here;
}

void exec_forget_lane(struct moot *m, struct lane *lane)
{
    board_add_outside(m, lane->number != LANE_NO_NUMBER && !lane->here ? -1 : 0);
    board_seat_give(lane->seat);
    lane->seat = NULL;
    for (uint32_t i = 0; i < m->schedule.run_count; i++) {
        if (m->schedule.runs[i]->home == lane) {
            m->schedule.runs[i]->home = NULL;
        }
    }
}

void exec_release(struct moot *m)
{
    for (uint32_t i = 0; i < m->schedule.run_count; i++) {
        run_free(m->schedule.runs[i]);
    }
    free(m->schedule.runs);
    ready_release(&m->schedule.ready);
    retry_release(m);
    verify_release(m);
}
