/* wait.c - see wait.h. */
#include "node/schedule/wait.h"

#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "node/engine/engine.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "node/schedule/call_frame.h"
#include "node/schedule/exec.h"
#include "node/schedule/many.h"
#include "node/schedule/task_handle.h"
#include "node/schedule/undo.h"
#include "node/tasks/error_chain.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- Has it ended? -------------------------------------------------------------- */

static int public_code(int status)
{
    bool own_code = status == MOOT_OK || status == MOOT_ERR_CANCELLED ||
                    status == MOOT_ERR_CYCLE || status == MOOT_ERR_NO_MEMORY ||
                    status == MOOT_ERR_RESULT_LOST || status == MOOT_ERR_MAYBE_RAN ||
                    status == MOOT_ERR_FINGERPRINT || status == MOOT_ERR_FILE ||
                    status == MOOT_ERR_NOT_HELD || /* some of an array's elements, */
                    status == MOOT_ERR_NO_CANDIDATE || /* and so are these */
                    status == MOOT_ERR_CRASHED;
    return own_code ? status : MOOT_ERR_TASK_FAILED;
}

static bool item_ends(const struct moot *m, struct wait_item *item, enum want want)
{
    const struct task *task = item->task;
    if (task->undone) {
        item->code = MOOT_ERR_CANCELLED;
        return true;
    }
    if (task_is_here(task, want)) {
        item->code = public_code(task->status);
        return true;
    }
    if (task->gone) {
        item->code = MOOT_ERR_SCOPE_CLOSED;
        return true;
    }
    if (item->refused != MOOT_OK) {
        item->code = item->refused;
        return true;
    }
    if (task_seldom(task)->verdict_count != item->verdicts_seen) {
        item->code = task_seldom(task)->verdict;
        return true;
    }
    if (task->kernel != NULL && task->kernel->conflict) {
        item->code = MOOT_ERR_KERNEL_MISMATCH;
        return true;
    }
    if (m->engine.fatal != 0) {
        item->code = m->engine.fatal;
        return true;
    }
    return false;
}

static bool look_any(struct moot *m, struct wait *wait)
{
    for (size_t i = 0; i < wait->count; i++) {
        struct wait_item *item = &wait->items[i];
        if (item_ends(m, item, wait->want)) {
            item->ended = true;
            wait->which = i;
            return true;
        }
    }
    return false;
}

static bool look_all(struct moot *m, struct wait *wait)
{
    while (wait->next_open < wait->count) {
        struct wait_item *item = &wait->items[wait->next_open];
        if (!item_ends(m, item, wait->want)) {
            return false;
        }
        item->ended = true;
        wait->next_open++;
    }
    return true;
}

static bool look_at_meeting(const struct moot *m, const struct wait *wait)
{
    return m->schedule.meetings.met >= wait->meeting || m->engine.fatal != 0;
}

static bool look_while_draining(struct wait *wait)
{
    for (size_t i = 0; i < wait->count; i++) {
        wait->items[i].code = MOOT_ERR_CANCELLED;
        wait->items[i].ended = true;
    }
    return true;
}

static bool look(struct moot *m, struct wait *wait)
{
    if (m->schedule.draining && wait->waiter != NULL) {
        return look_while_draining(wait);
    }
    if (wait->until != NULL) {
        return wait->until(m) || m->engine.fatal != 0;
    }
    if (wait->said != NULL) {
        return *wait->said || m->engine.fatal != 0;
    }
    if (wait->meeting != 0) {
        return look_at_meeting(m, wait);
    }
    return wait->any ? look_any(m, wait) : look_all(m, wait);
}

static bool wait_ended(struct moot *m, struct wait *wait)
{
    if (!wait->over &&
        (wait->until != NULL ||
         wait->ends_seen != m->engine.end_count)) { /* else nothing has ended */
        wait->ends_seen = m->engine.end_count;
        wait->over = look(m, wait);
    }
    return wait->over;
}

HOT void wait_release_ended(struct moot *m)
{
    if (m->schedule.ends_released == m->engine.end_count) {
        return;
    }
    m->schedule.ends_released = m->engine.end_count;
    for (struct wait *wait = m->schedule.waits; wait != NULL; wait = wait->next) {
        if (wait->released || !wait_ended(m, wait)) {
            continue;
        }
        wait->released = true;
        if (wait->waiter != NULL) {
            engine_later(m, &(struct later){.type = CORE_EV_TASK_WAIT,
                                            .hash = wait->waiter->task->hash});
            exec_go_on(m, wait->waiter);
        } else if (wait->lane->number != LANE_NO_NUMBER) {
            wait->lane->state = CORE_LANE_RUNNING;
            engine_later(m, &(struct later){.type = CORE_EV_LANE,
                                            .lane = wait->lane->number,
                                            .state = CORE_LANE_RUNNING});
        }
    }
}

/* --- Needs ---------------------------------------------------------------------- */

static void tell_need(struct moot *m, struct wait *wait, struct wait_item *item,
                      enum core_event_type type)
{
    struct core_event event = {
        .type = type, .hash = item->task->hash, .entry = task_entry(item->task)};
    event.u.need.want = wait->want;
    event.u.need.by_task = wait->waiter != NULL;
    if (wait->waiter != NULL) {
        event.u.need.waiter = wait->waiter->task->hash;
    } else {
        event.u.need.lane = wait->lane->number;
    }
    event.u.need.wait = wait->any ? 0 : wait->number;
    int code = engine_step(m, &event);
    if (type == CORE_EV_NEED) {
        bool gone = code == MOOT_ERR_RESULT_LOST || code == MOOT_ERR_SCOPE_CLOSED;
        item->refused = gone ? code : MOOT_OK;
    }
    item->needed = type == CORE_EV_NEED && item->refused == MOOT_OK;
}

/* A lane's first wait for a result that was made here is told even though it is over at
 * once: it is how the core learns that those who spawned the task too will want it, and
 * that it should be pushed to them (T3a).  One rank alone has nobody to push it to. */
static bool must_tell(const struct moot *m, const struct wait *wait,
                      struct wait_item *item)
{
    struct task *task = item->task;
    if (!task->own || task->lane_waited || task->undone || wait->waiter != NULL ||
        m->group.size == 1) {
        return false;
    }
    task->lane_waited = true;
    return true;
}

void wait_need(struct moot *m, struct wait *wait, struct wait_item *item)
{
    if (!item_ends(m, item, wait->want) || must_tell(m, wait, item)) {
        tell_need(m, wait, item, CORE_EV_NEED);
    }
}

static void begin_needs(struct moot *m, struct wait *wait)
{
    many_count(wait);
    many_begin(m, wait);
    for (size_t i = 0; i < wait->count; i++) {
        struct wait_item *item = &wait->items[i];
        item->verdicts_seen = task_seldom(item->task)->verdict_count;
        if (item->task->verdict_waits && wait->waiter == NULL) {
            item->task->verdict_waits = false;
            item->verdicts_seen--; /* it came between two polls */
        }
        if (!item->worded) {
            wait_need(m, wait, item);
        }
    }
}

void wait_end_linger(struct moot *m, struct task *task)
{
    if (!task->lingers) {
        return;
    }
    task->lingers = false;
    struct task_seldom *seldom = task->seldom; /* there since it lingers */
    if (seldom->linger_prev != NULL) {
        seldom->linger_prev->seldom->linger_next = seldom->linger_next;
    } else {
        m->schedule.lingering = seldom->linger_next;
    }
    if (seldom->linger_next != NULL) {
        seldom->linger_next->seldom->linger_prev = seldom->linger_prev;
    }
    seldom->linger_prev = seldom->linger_next = NULL;
    engine_later(m, &(struct later){.type = CORE_EV_UNNEED,
                                    .hash = task->hash,
                                    .want = (enum want)seldom->linger_want,
                                    .lane = seldom->linger_lane});
}

/* Without memory the need ends with its wait. */
static void linger(struct moot *m, struct wait *wait, struct wait_item *item)
{
    struct task *task = item->task;
    struct task_seldom *seldom = task_seldom_of(m, task);
    if (seldom == NULL || (task->lingers && seldom->linger_want >= wait->want)) {
        tell_need(m, wait, item, CORE_EV_UNNEED);
        return;
    }
    wait_end_linger(m, task);
    item->needed = false;
    task->lingers = true;
    seldom->linger_want = (uint8_t)wait->want;
    seldom->linger_lane = wait->lane->number;
    seldom->linger_next = m->schedule.lingering;
    if (seldom->linger_next != NULL) {
        seldom->linger_next->seldom->linger_prev = task;
    }
    m->schedule.lingering = task;
}

static void end_needs(struct moot *m, struct wait *wait, bool timed_out)
{
    many_end(m, wait);
    for (size_t i = 0; i < wait->count; i++) {
        struct wait_item *item = &wait->items[i];
        if (!item->needed || item->task->undone) {
            continue; /* the core knows nothing of it */
        }
        if (timed_out && !item_ends(m, item, wait->want) &&
            item->task->handle_count > 0) {
            linger(m, wait, item);
        } else {
            tell_need(m, wait, item, CORE_EV_UNNEED);
        }
    }
}

/* --- The loop ------------------------------------------------------------------- */

static bool is_enough(struct moot *m, void *context)
{
    return wait_ended(m, context) || m->engine.closing || m->service.goes;
}

/* A program that polls is told so with most calls: the texts are as they are. */
static int fail_for_time(struct wait *wait)
{
    return wait->want == WANT_DATA
               ? lane_fail(wait->lane, MOOT_ERR_TIMEOUT,
                           "the wait's timeout passed before the task's data were here")
               : lane_fail(wait->lane, MOOT_ERR_TIMEOUT,
                           "the wait's timeout passed before the task ended");
}

/* A lane's. */
static int loop(struct moot *m, struct wait *wait)
{
    struct idle idle = {0};
    while (!wait_ended(m, wait)) {
        if (m->engine.closing || m->service.goes) {
            return lane_fail(wait->lane, MOOT_ERR_CLOSED, "%s", engine_closed_why(m));
        }
        bool moved = progress_drive_between(m);
        if (wait_ended(m, wait)) {
            break;
        }
        if (wait->words_in) {
            many_ask(m, wait);
        }
        if (exec_some(m, wait->lane, idle.rounds, is_enough, wait)) {
            progress_send_free(m);
            moved = true;
            if (wait_ended(m, wait)) {
                break;
            }
        }
        if (m->now_ns >= wait->deadline_ns) {
            return fail_for_time(wait);
        }
        if (moved) {
            idle.rounds = 0;
        } else {
            progress_idle(m, &idle, wait->deadline_ns);
        }
    }
    return MOOT_OK;
}

/* A kernel's. */
static int stop(struct moot *m, struct wait *wait)
{
    while (!wait_ended(m, wait)) {
        if (!exec_stop(m, wait->waiter)) {
            return lane_fail(wait->waiter->lane, MOOT_ERR_LIMIT,
                             "%u kernels of this rank wait for children already",
                             LIMIT_RUNS - 1);
        }
    }
    return MOOT_OK;
}

static void link_wait(struct moot *m, struct wait *wait)
{
    wait->since_ns = m->now_ns;
    wait->prev = NULL;
    wait->next = m->schedule.waits;
    if (wait->next != NULL) {
        wait->next->prev = wait;
    }
    m->schedule.waits = wait;
    if (wait->waiter != NULL) {
        m->schedule.kernel_waits++;
    } else {
        m->schedule.program_waits++;
    }
    m->engine.hooks->wait_begins(m, wait->since_ns);
    trace_wait(m, wait, false, MOOT_OK);
    observe_wait(m, wait);
}

static void unlink_wait(struct moot *m, struct wait *wait)
{
    if (wait->prev != NULL) {
        wait->prev->next = wait->next;
    } else {
        m->schedule.waits = wait->next;
    }
    if (wait->next != NULL) {
        wait->next->prev = wait->prev;
    }
    if (wait->waiter != NULL) {
        m->schedule.kernel_waits--;
    } else {
        m->schedule.program_waits--;
    }
}

static void tell_waiting(struct moot *m, const struct wait *wait, bool waiting)
{
    struct core_event event = {.type = CORE_EV_TASK_WAIT,
                               .hash = wait->waiter->task->hash};
    event.u.task_wait.waiting = waiting;
    engine_step(m, &event);
}

int wait_run(struct moot *m, struct wait *wait)
{
    wait->ends_seen = m->engine.end_count - 1;
    wait->number = ++m->schedule.waits_begun;
    begin_needs(m, wait);
    if (wait_ended(m, wait)) {
        if (wait->waiter == NULL) {
            lane_set_state(m, wait->lane, CORE_LANE_RUNNING);
        }
        end_needs(m, wait, false);
        return MOOT_OK;
    }
    link_wait(m, wait);
    if (wait->waiter != NULL) {
        tell_waiting(m, wait, true);
    } else {
        lane_set_state(m, wait->lane,
                       wait->deadline_ns == CORE_NEVER && !wait->goes_on
                           ? CORE_LANE_BLOCKED
                           : CORE_LANE_TIMED);
    }
    int code;
    if (wait->waiter != NULL) {
        code = stop(m, wait);
    } else {
        exec_here(wait->lane, true);
        code = loop(m, wait);
        exec_here(wait->lane, false);
    }
    if (wait->waiter != NULL) {
        if (!wait->released) {
            tell_waiting(m, wait, false);
        }
    } else if (code != MOOT_ERR_TIMEOUT) {
        lane_set_state(m, wait->lane, CORE_LANE_RUNNING);
    }
    end_needs(m, wait, code == MOOT_ERR_TIMEOUT);
    trace_wait(m, wait, true, code);
    unlink_wait(m, wait);
    outbox_flush(m); /* the program may be gone for long */
    progress_hand_over(m);
    if (code == MOOT_ERR_CLOSED && m->service.goes) {
        m->engine.hooks->leaves(m, wait->lane);
    }
    return code;
}

void wait_pin(const struct wait *wait)
{
    for (size_t i = 0; i < wait->count; i++) {
        wait->items[i].task->pins++;
    }
}

void wait_unpin(struct moot *m, const struct wait *wait)
{
    for (size_t i = 0; i < wait->count; i++) {
        struct task *task = wait->items[i].task;
        if (--task->pins == 0 && task->handle_count == 0) {
            task_try_release(m, task);
            task_try_free(m, task);
        }
    }
}

void wait_look_at_all(struct moot *m, struct wait *wait)
{
    for (size_t i = 0; i < wait->count; i++) {
        struct wait_item *item = &wait->items[i];
        item->ended = item->ended || item_ends(m, item, wait->want);
    }
}

/* --- How it ended --------------------------------------------------------------- */

int wait_tell(struct moot *m, struct lane *lane, const struct task *task, int code)
{
    if (code == MOOT_OK) {
        return code;
    }
    text_clear(&lane->error);
    story_of_wait(&lane->error, m, task, code);
    return code;
}

static struct task *task_of(struct moot *m, const struct core_output *output)
{
    return output->user != NULL ? output->user : task_enter(m, &output->hash);
}

void wait_carry_done(struct moot *m, const struct core_output *output)
{
    struct task *task = task_of(m, output);
    progress_ended(m);
    m->schedule.ended_ns = m->now_ns;
    if (task != NULL && task->lingers &&
        task_is_here(task, (enum want)task->seldom->linger_want)) {
        wait_end_linger(m, task);
    }
    wait_release_ended(m);
    progress_wake(m);
}

void wait_carry_verdict(struct moot *m, const struct core_output *output)
{
    struct task *task = task_of(m, output);
    const int code = output->u.verdict.code;
    struct task_seldom *seldom = task != NULL ? task_seldom_of(m, task) : NULL;
    if (seldom == NULL) {
        engine_starve(m, "no memory for a task's verdict");
        return;
    }
    struct text story = {0};
    bool again = output->u.verdict.for_good && seldom->verdict_count > 0 &&
                 seldom->verdict == code;
    trace_verdict(m, task, code);
    story_of_verdict(&story, m, task, output);
    free(seldom->verdict_story);
    seldom->verdict_story = story.bytes;
    seldom->verdict = code;
    seldom->verdict_count++;
    m->schedule.any_failed = true;
    if (!again) {
        observe_verdict(m, task);
    }
    progress_ended(m);
    m->schedule.ended_ns = m->now_ns;
    if (task->lingers) {
        wait_end_linger(m, task);
        task->verdict_waits = true;
    }
    wait_release_ended(m);
    progress_wake(m);
}

static void take_words(struct moot *m, const void *words, size_t size)
{
    struct meetings *meetings = &m->schedule.meetings;
    free(meetings->words);
    meetings->words = size > 0 ? malloc(size) : NULL;
    meetings->words_size = meetings->words != NULL ? size : 0;
    if (meetings->words != NULL) {
        memcpy(meetings->words, words, size);
    } else if (size > 0) {
        engine_starve(m, "no memory for what was said at a meeting");
    }
}

void wait_carry_met(struct moot *m, const struct core_output *output)
{
    struct meetings *meetings = &m->schedule.meetings;
    meetings->met = output->u.met.number;
    meetings->code = output->u.met.code;
    rankset_release(&meetings->came);
    if (output->u.met.came != NULL &&
        !rankset_copy(&meetings->came, output->u.met.came)) {
        engine_starve(m, "no memory for who came to a meeting");
    }
    take_words(m, output->u.met.words, output->u.met.words_size);
    if (m->schedule.reload.meets && meetings->code == MOOT_OK) {
        undo_drain(m, true); /* the thread that waits may be in a kernel */
    }
    progress_ended(m);
    m->schedule.ended_ns = m->now_ns;
    wait_release_ended(m);
    progress_wake(m);
}

int wait_arrive(struct moot *m, const moot_hash *purpose, const void *words,
                size_t words_size)
{
    struct core_event event = {.type = CORE_EV_MEET, .hash = *purpose};
    event.u.meet.words = words;
    event.u.meet.words_size = words_size;
    assert(!wait_is_at_meeting(m));
    m->schedule.meetings.number = core_meetings(m->core) + 1;
    int error = engine_step(m, &event);
    if (error != MOOT_OK) {
        m->schedule.meetings.number = core_meetings(m->core);
    }
    return error;
}
