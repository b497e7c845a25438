/* found.c - see found.h, and node/checkpoint/checkpoint.h for what is found and stored.
 *
 * The public calls by which a kernel stores its own half-done state stand here, too.
 */
#include "node/schedule/found.h"

#include "node/api/moot_checkpoint.h"
#include "node/checkpoint/checkpoint.h"
#include "node/diskstore/diskstore.h"
#include "node/engine/engine.h"
#include "node/faults/faults.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "node/schedule/descendants.h"
#include "node/schedule/task_end.h"
#include "node/tasks/error_chain.h"
#include "node/tasks/task.h"

#include <stdlib.h>
#include <string.h>

void found_starts(struct moot *m, struct moot_call *call)
{
    struct task *task = call->task;
    faults_at_point(m, CORE_POINT_TASK_START);
    if (task_seldom(task)->failures == 0) { /* a trace shows one run, with its pauses */
        trace_start(m, task);
    }
    observe_event(m, MOOT_EVENT_RUNNING, task, (int)m->group.rank, NULL);
}

/* False without memory: then it runs. */
static bool take_end(struct moot_call *call, const struct diskstore_found *found)
{
    void *output = moot_call_output(call, (size_t)found->size);
    if (output == NULL) {
        return false;
    }
    if (found->size > 0) {
        memcpy(output, found->data, (size_t)found->size);
    }
    call->checkpoint.found = true;
    call->checkpoint.status = found->status;
    return true;
}

static bool look_up(struct moot_call *call)
{
    struct diskstore_found found;
    bool ended = false;
    switch (checkpoint_find(call->m, call->task, &call->checkpoint, &found)) {
    case CHECKPOINT_NOTHING:
        return false;
    case CHECKPOINT_MAY_HAVE:
        call->checkpoint.may_have = true;
        return true;
    case CHECKPOINT_UNREAD:
        call->checkpoint.may_have = true;
        call->checkpoint.unread = found.unread;
        call->checkpoint.unread_in = strdup(found.environment);
        return true;
    case CHECKPOINT_ENDED:
        ended = take_end(call, &found);
        free(found.data);
        break;
    }
    return ended;
}

/* A once task whose start cannot be put on the disk. */
static int refuse_start(struct moot_call *call)
{
    struct text why = {0};
    text_add(&why,
             "it was not started, since the checkpoint %s could not note that "
             "it starts (",
             call->m->knobs.checkpoint);
    checkpoint_why(call->m, &why);
    text_add(
        &why,
        "), and a later job might start it again; mend that and run the job again, "
        "or set MOOT_CHECKPOINT_ONCE=0, which lets it start");
    const int code = moot_call_fail(call, MOOT_ERR_FILE, text_get(&why));
    text_release(&why);
    return code;
}

static void count_refused(struct moot *m, bool refused)
{
    __atomic_fetch_add(&m->checkpoint.refused, refused, __ATOMIC_RELAXED);
}

bool found_instead(struct moot_call *call, int *code)
{
    struct moot *m = call->m;
    call->checkpoint.inputs = call->inputs;
    call->checkpoint.input_count = call->input_count;
    if (call->checkpoint.asks) {
        if (look_up(call)) {
            *code = call->checkpoint.may_have ? MOOT_ERR_MAYBE_RAN
                                              : call->checkpoint.status;
            count_refused(m, call->checkpoint.may_have);
            return true;
        }
        engine_lock(m);
        found_starts(m, call);
        engine_unlock(m);
    }
    if (call->checkpoint.accepts &&
        !checkpoint_accept(m, call->task, &call->checkpoint)) {
        call->checkpoint.keeps = false;
        *code = refuse_start(call);
        count_refused(m, true);
        return true;
    }
    return false;
}

bool found_element_begins(struct moot_call *call, int *code)
{
    struct moot *m = call->m;
    const moot_hash *element = moot_call_hash(call);
    if (!checkpoint_may_begin(m, element, &call->checkpoint)) {
        *code = MOOT_ERR_MAYBE_RAN;
        count_refused(m, true);
        return false;
    }
    if (call->checkpoint.accepts &&
        !checkpoint_accept_element(m, call->task, element, &call->checkpoint)) {
        *code = refuse_start(call);
        count_refused(m, true);
        return false;
    }
    return true;
}

/* Whether it leaves nothing to be done.  A parent without a result runs again, and
 * spawns its children again; a once task does not, so that its result says more than
 * none, if all children are over. */
static bool is_whole(struct moot_call *call)
{
    if (call->child_count == 0 && call->released_count == 0) {
        return true;
    }
    if (!call->checkpoint.accepts) {
        return false;
    }
    engine_lock(call->m);
    const bool whole = family_make(call) && task_seldom(call->task)->family == NULL;
    engine_unlock(call->m);
    return whole;
}

void found_keep(struct moot_call *call, int code, uint64_t took_ns)
{
    if (code != MOOT_OK || call->output == NULL || call->check || !is_whole(call)) {
        return;
    }
    const struct checkpoint_end end = {
        .status = MOOT_OK, .payload = call->output, .took_ns = took_ns};
    checkpoint_keep(call->m, call->task, &call->checkpoint, &end);
}

static void tell_unread(struct text *story, struct moot_call *call)
{
    const char *env = call->checkpoint.unread_in;
    text_add(
        story,
        " is a once task that has ended, and whose end is stored in the checkpoint "
        "(%s, in %s), but cannot be read now: %s; it is not started again: run "
        "the job again when that is mended, which `moot checkpoint verify` tells",
        call->m->knobs.checkpoint, env != NULL ? env : "an environment",
        call->checkpoint.unread);
    free(call->checkpoint.unread_in);
    call->checkpoint.unread_in = NULL;
}

static void tell_doubt(struct text *story, const struct moot_call *call)
{
    const char *folder = call->m->knobs.checkpoint;
    if (call->checkpoint.began) {
        text_add(
            story,
            " is a once task that began before, and whose end is not found in the "
            "checkpoint (%s): it may have run, and is not started again; look at what "
            "it was to do, and spawn it by another key to run it once more",
            folder);
    } else {
        text_add(
            story,
            " is a once task, and not all of the checkpoint (%s) can be read, so "
            "nobody can tell whether it began before: it may have run, and is not "
            "started; `moot checkpoint verify` says what cannot be read, and `moot "
            "checkpoint prune --damaged` drops what is damaged",
            folder);
    }
}

void found_end(struct moot *m, struct moot_call *call)
{
    struct task *task = call->task;
    if (call->checkpoint.found) {
        trace_found(m, task);
        task_end(m, task, call->checkpoint.status, call->output);
        return;
    }
    const bool unread = call->checkpoint.unread != NULL;
    struct text story = {0};
    task_describe(&story, task);
    if (unread) {
        tell_unread(&story, call);
    } else {
        tell_doubt(&story, call);
    }
    payload_drop(call->output);
    task_end_with_story(m, task, unread ? MOOT_ERR_FILE : MOOT_ERR_MAYBE_RAN,
                        NO_ROOT_CAUSE, &story);
}

void found_failure(struct moot *m, const struct moot_call *call)
{
    const bool kept = call->checkpoint.accepts && call->checkpoint.keeps &&
                      !m->schedule.draining; /* else it failed for a reload */
    const bool whole = task_seldom(call->task)->family == NULL;
    if (kept && call->task->status != MOOT_OK && whole) {
        checkpoint_keep_failure(m, call->task, &call->checkpoint);
    }
}

/* --- Half-done state -------------------------------------------------------------- */

int moot_call_checkpoint(moot_call *call, const void *state, size_t size)
{
    if (call == NULL || (state == NULL && size > 0)) {
        return thread_fail(MOOT_ERR_INVALID, "moot_call_checkpoint: %s",
                           call == NULL ? "the call is NULL"
                                        : "the state is NULL, and its size is not 0");
    }
    if (!checkpoint_is_on(call->m) || call->check || call->array != NULL) {
        return MOOT_OK;
    }
    return checkpoint_put_state(call->m, call->task, &call->checkpoint, state, size)
               ? MOOT_OK
               : thread_fail(MOOT_ERR_NO_MEMORY,
                             "moot_call_checkpoint: no memory for %zu bytes", size);
}

const void *moot_call_resume(moot_call *call, size_t *size)
{
    size_t found = 0;
    if (call != NULL && call->checkpoint.state == NULL && !call->check &&
        call->array == NULL && checkpoint_is_on(call->m)) {
        call->checkpoint.state =
            checkpoint_state(call->m, call->task, &call->checkpoint, &found);
        call->checkpoint.state_size = found;
    }
    const bool has = call != NULL && call->checkpoint.state != NULL;
    if (size != NULL) {
        *size = has ? call->checkpoint.state_size : 0;
    }
    return has ? call->checkpoint.state : NULL;
}
