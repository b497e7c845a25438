/* task_wait.c - see task_wait.h. */
#include "node/compose/task_wait.h"

#include "node/compose/queue.h"
#include "node/engine/engine.h"
#include "node/record/task_watch.h"
#include "node/schedule/task_handle.h"
#include "proto/error.h"

#include <assert.h>

int task_handle_refuse(struct lane *lane, const char *call, size_t index, size_t count,
                       int error)
{
    const char *why = handle_why(error);
    return count == 1 ? lane_fail(lane, error, "%s: the handle %s", call, why)
                      : lane_fail(lane, error, "%s: handle %zu %s", call, index, why);
}

int task_wait_check(struct moot *m, struct lane *lane, const char *call,
                    moot_duration timeout)
{
    if (lane->call != NULL) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "%s inside a kernel: moot_call_wait() is the call to use, and "
                         "of an array moot_call_array_wait()",
                         call);
    }
    if (observe_is_telling(lane)) {
        return observe_refuse(lane, call);
    }
    if (lane->parked) {
        return lane_fail(lane, MOOT_ERR_STATE, "%s: this thread is parked", call);
    }
    if (timeout < 0) {
        return lane_fail(lane, MOOT_ERR_INVALID, "%s: the timeout is negative", call);
    }
    if (m->engine.closing) {
        return lane_fail(lane, MOOT_ERR_CLOSED, "%s: %s", call, engine_closed_why(m));
    }
    int error = lane_enrol(m, lane);
    if (error == MOOT_OK) {
        return error;
    }
    return lane_fail(lane, error, "%s: %s", call,
                     error == m->engine.fatal ? text_get(&m->engine.fatal_story)
                                              : error_text(error));
}

static uint64_t deadline_of(moot_duration timeout)
{
    if (timeout == MOOT_FOREVER) {
        return CORE_NEVER;
    }
    return clock_ns() + (uint64_t)timeout;
}

static int fill_items(struct moot *m, struct lane *lane, const char *call,
                      const moot_task *tasks, struct wait *wait)
{
    for (size_t i = 0; i < wait->count; i++) {
        struct handle *handle;
        int error = task_handle_find(m, tasks[i].id, &handle);
        if (error != MOOT_OK) {
            return task_handle_refuse(lane, call, i, wait->count, error);
        }
        wait->items[i] = (struct wait_item){.task = handle->task};
    }
    return MOOT_OK;
}

/* The code of the first failed item, or of the one that ended; its story is told. */
static int outcome(struct moot *m, const struct wait *wait, bool some)
{
    if (wait->any && !some) {
        const struct wait_item *item = &wait->items[wait->which];
        return wait_tell(m, wait->lane, item->task, item->code);
    }
    for (size_t i = 0; i < wait->count; i++) {
        if (wait->items[i].ended && wait->items[i].code != MOOT_OK) {
            return wait_tell(m, wait->lane, wait->items[i].task, wait->items[i].code);
        }
    }
    return MOOT_OK;
}

static void give_ends(const struct wait *wait, const struct task_ends *ends)
{
    if (ends->which != NULL) {
        *ends->which = wait->which;
        return;
    }
    assert(ends->done != NULL && ends->indices != NULL);
    *ends->done = 0;
    for (size_t i = 0; i < wait->count; i++) {
        if (wait->items[i].ended) {
            ends->indices[(*ends->done)++] = i;
        }
    }
}

static int give_outcome(struct moot *m, struct wait *wait, const struct task_ends *ends)
{
    bool some = ends != NULL && ends->indices != NULL;
    if (some) {
        wait_look_at_all(m, wait);
    }
    if (ends != NULL) {
        give_ends(wait, ends);
    }
    return outcome(m, wait, some);
}

int task_wait_locked(struct moot *m, struct lane *lane, const char *call,
                     const moot_task *tasks, moot_duration timeout, struct wait *wait,
                     const struct task_ends *ends)
{
    int error = task_wait_check(m, lane, call, timeout);
    if (error == MOOT_OK) {
        error = queue_before_wait(m, lane, tasks, wait->count, call);
    }
    if (error == MOOT_OK) {
        error = fill_items(m, lane, call, tasks, wait);
    }
    if (error != MOOT_OK) {
        return error;
    }
    wait->lane = lane;
    wait->deadline_ns = deadline_of(timeout);
    wait_pin(wait);
    error = wait_run(m, wait);
    if (error == MOOT_OK) {
        error = give_outcome(m, wait, ends);
    }
    wait_unpin(m, wait);
    return error;
}
