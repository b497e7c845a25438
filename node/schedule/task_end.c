/* task_end.c - see task_end.h. */
#include "node/schedule/task_end.h"

#include "hashing/base/hot.h"
#include "node/engine/engine.h"
#include "node/record/task_watch.h"
#include "node/schedule/task_handle.h"
#include "node/schedule/verify.h"
#include "node/tasks/error_chain.h"
#include "node/tasks/own_elements.h"
#include "node/tasks/task.h"
#include <string.h>

/* --- Here ------------------------------------------------------------------------- */

HOT void task_end(struct moot *m, struct task *task, int status,
                  struct payload *payload)
{
    if (status != MOOT_OK && task->seen) {
        status = MOOT_ERR_RESULT_LOST;
    }
    observe_other_end(task, status);
    task->status = status;
    payload_drop(task->payload); /* of an owner that died since */
    task->payload = payload;
    payload_let_go(payload, task->let_go);
    task->size = payload != NULL ? payload->size : 0;
    if (status == MOOT_OK) {
        verify_result(m, task, m->group.rank, verify_digest(m, task, payload));
    }
    task->known = true;
    task->stage = TASK_ENDED;
    /* RESULT_LOST is no failure of this task: it had ended well, and was dropped. */
    m->counts.failed += status != MOOT_OK && status != MOOT_ERR_RESULT_LOST;
    m->schedule.any_failed |= status != MOOT_OK;
    progress_ended(m);
    m->schedule.ended_ns = m->now_ns;
    task_drop_args(task);
    observe_end(m, task);
    progress_wake(m);
    engine_later(m, &(struct later){.type = CORE_EV_DONE,
                                    .hash = task->hash,
                                    .entry = task_entry(task),
                                    .status = status,
                                    .size = task->size,
                                    .leaves = task_seldom(task)->family != NULL});
}

COLD void task_end_with_story(struct moot *m, struct task *task, int status,
                              struct root_cause root, struct text *story)
{
    task_end(m, task, status, story_payload(story, root));
    text_release(story);
}

static bool has_failed(const struct task *task, enum want want)
{
    return task_is_here(task, want) ? task->status != MOOT_OK
                                    : task_seldom(task)->verdict_count > 0;
}

/* While nothing has ever failed here the inputs are not looked at. */
const struct task *task_failed_input(const struct moot *m, const struct task *task)
{
    for (uint32_t i = 0; m->schedule.any_failed && i < task_input_count(task); i++) {
        const struct task *input = task_input(task, i); /* NULL: has ended well */
        enum want want = i < task_data_count(task) ? WANT_DATA : WANT_DONE;
        if (input != NULL && has_failed(input, want)) {
            return input;
        }
    }
    return NULL;
}

static bool ended_ill(const struct task *task)
{
    return task->known && task->status != MOOT_OK;
}

/* The failed task is lost: it ended with that, or had ended well, and a wait for its
 * bytes has ended in a verdict. */
static bool is_lost(const struct task *failed)
{
    return ended_ill(failed)
               ? failed->status == MOOT_ERR_RESULT_LOST
               : failed->known || task_seldom(failed)->verdict == MOOT_ERR_RESULT_LOST;
}

/* The task at which a cycle of waits was cut says so itself; what depends on it has
 * merely failed.  What a lost rank may have run is lost with its input. */
static int status_after(const struct task *failed, bool taken_over)
{
    if (!ended_ill(failed) && task_seldom(failed)->verdict == MOOT_ERR_CYCLE) {
        return MOOT_ERR_CYCLE;
    }
    return is_lost(failed) && taken_over ? MOOT_ERR_RESULT_LOST : MOOT_ERR_TASK_FAILED;
}

COLD void task_end_after(struct moot *m, struct task *task, const struct task *failed,
                         bool taken_over)
{
    struct text story = {0};
    story_of_input(&story, m, task, failed);
    task_end_with_story(m, task, status_after(failed, taken_over), story_root(failed),
                        &story);
}

COLD void task_end_cancelled(struct moot *m, struct task *task, uint32_t by, bool ran)
{
    struct text story = {0};
    story_of_cancel(&story, m, task, by, ran);
    task_end_with_story(m, task, MOOT_ERR_CANCELLED, NO_ROOT_CAUSE, &story);
}

COLD void task_end_lost(struct moot *m, struct task *task)
{
    const bool varies = (task->kernel->flags & MOOT_KERNEL_NONDETERMINISTIC) != 0;
    struct text story = {0};
    task_describe(&story, task);
    text_add(
        &story,
        " ran on a rank that is gone, and cannot run again: %s (moot_task_release)",
        task->seen && varies
            ? "its kernel is said to give another result each time, and somebody "
              "may have read the first; to survive this, release a result late"
            : "an input of it has been forgotten, for every rank had released it "
              "or ended its scope; to survive this, release a result only when "
              "there is the result that is made from it");
    task_end_with_story(m, task, MOOT_ERR_RESULT_LOST, NO_ROOT_CAUSE, &story);
}

COLD void task_end_unplaced(struct moot *m, struct task *task)
{
    struct text story = {0};
    task_describe(&story, task);
    text_add(&story, ": no memory for a place among those that are ready, on rank %u",
             m->group.rank);
    task_end_with_story(m, task, MOOT_ERR_TASK_FAILED, NO_ROOT_CAUSE, &story);
}

/* --- By its kernel --------------------------------------------------------------- */

/* A kernel that returns what a child's wait gave it has not failed by itself. */
static struct root_cause root_of(const struct moot *m, const struct moot_call *call,
                                 int code)
{
    if (call->mishap != NULL && code == call->mishap_code &&
        call->mishap_root_rank >= 0) {
        return (struct root_cause){.code = call->mishap_root_code,
                                   .rank = call->mishap_root_rank};
    }
    return (struct root_cause){.code = code, .rank = (int)m->group.rank};
}

void task_end_kernel(struct moot *m, struct moot_call *call, int code)
{
    struct task *task = call->task;
    struct payload *output = call->output;
    if (code == MOOT_OK && output != NULL) {
        task_end(m, task, MOOT_OK, output);
        return;
    }
    payload_drop(output);
    if (code == MOOT_ERR_CANCELLED && task->cancelled) {
        task_end_cancelled(m, task, call->cancelled_by, true);
        return;
    }
    struct text story = {0};
    if (code == MOOT_OK) {
        code = call->no_memory ? MOOT_ERR_NO_MEMORY : MOOT_ERR_NO_OUTPUT;
    }
    story_of_kernel(&story, m, task, code, text_get(&call->why));
    if (call->mishap != NULL) {
        story_add_mishap(&story, call->mishap, text_get(&call->mishap_story));
    }
    const int status = task->kernel->ends_as_said ? code : MOOT_ERR_TASK_FAILED;
    task_end_with_story(m, task, status, root_of(m, call, code), &story);
}

/* --- At a peer -------------------------------------------------------------------- */

static uint32_t rank_of_uid(const struct moot *m, uint64_t uid)
{
    uint32_t rank = 0;
    while (rank < m->group.size && m->group.uids[rank] != uid) {
        rank++;
    }
    return rank;
}

/* Beside those before; the first makes room for all.  False without memory. */
static bool keep_part(struct moot *m, struct task *task,
                      const struct message_result *result)
{
    struct task_seldom *seldom = task != NULL ? task_seldom_of(m, task) : NULL;
    if (seldom == NULL) {
        return false;
    }
    if (result->part == 1) {
        payload_drop(seldom->partial);
        seldom->partial = inbox_take_whole(m);
    }
    assert(seldom->partial != NULL && m->engine.incoming != NULL);
    memcpy((char *)seldom->partial->data + result_first(result),
           m->engine.incoming->data, (size_t)result_brings(result));
    return true;
}

static void take_bytes(struct moot *m, struct task *task,
                       const struct message_result *result)
{
    struct payload *payload = NULL;
    if (result->part == 0) {
        payload = inbox_take_payload(m);
    } else if (keep_part(m, task, result)) {
        payload = task->seldom->partial;
        task->seldom->partial = NULL;
    } else {
        engine_starve(m, "no memory for the last part of an accepted result");
    }
    payload_drop(task->payload);
    task->payload = payload;
    if (task->seldom != NULL) {
        payload_drop(task->seldom->partial);
        task->seldom->partial = NULL;
    }
}

void task_end_carry_part(struct moot *m, const struct core_output *output)
{
    if (!keep_part(m, output->user, &output->u.result)) {
        engine_starve(m, "no memory for a part of an accepted result");
    }
}

/* The rank that ended an array may not know why an element failed here. */
static void prefer_own_story(struct task *task)
{
    const struct elements *elements = elements_of(task);
    if (task->status == MOOT_ERR_TASK_FAILED && elements != NULL &&
        elements->story != NULL) {
        payload_drop(task->payload);
        task->payload = payload_hold(elements->story);
    }
}

void task_end_carry_result(struct moot *m, const struct core_output *output)
{
    const struct message_result *result = &output->u.result;
    struct task *task = output->user;
    if (task == NULL) {
        task = task_enter(m, &output->hash);
    }
    if (task == NULL) {
        engine_starve(m, "no memory for an accepted result");
        return;
    }
    task->known = true;
    observe_other_end(task, result->status);
    task->status = result->status;
    m->schedule.any_failed |= result->status != MOOT_OK;
    task->size = result->size;
    if (result->data != RESULT_BARE) {
        take_bytes(m, task, result);
    }
    prefer_own_story(task);
    observe_end(m, task);
    if (result->digest != 0) {
        verify_result(m, task, rank_of_uid(m, result->owner_uid), result->digest);
    }
    m->counts.results_received++; /* the arguments stay: it may have to run again */
}

HOT void task_release_inputs(struct moot *m, struct task *task)
{
    uint32_t count = m->engine.stepping ? 0 : task_data_count(task);
    for (uint32_t i = 0; i < count; i++) {
        struct task *input = task_input(task, i);
        if (input != NULL) {
            task_try_release(m, input);
        }
    }
}
