/* api_task.c - the public calls on task handles: wait, fetch, release, info. */
#include "node/api/moot.h"

#include "hashing/base/hot.h"
#include "node/compose/bulk_region.h"
#include "node/compose/task_wait.h"
#include "node/engine/engine.h"
#include "node/record/task_watch.h"
#include "node/schedule/descendants.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/handle.h"
#include "proto/error.h"

#include <stdlib.h>

enum { WAIT_ITEMS_INLINE = 16 };

/* The story goes to the context's thread if there is a context. */
static int invalid(const moot *m, const char *call)
{
    struct lane *lane = m != NULL ? lane_of_thread(m->bond) : NULL;
    if (lane != NULL) {
        return lane_fail(lane, MOOT_ERR_INVALID, "%s: invalid argument", call);
    }
    return thread_fail(MOOT_ERR_INVALID, "%s: invalid argument", call);
}

/* --- Waiting -------------------------------------------------------------------- */

/* Waits for all, or for one of several if there is a place to say for which. */
static int wait_many(const char *call, moot *m, const moot_task *tasks, size_t count,
                     moot_duration timeout, const struct task_ends *ends)
{
    struct wait_item inline_items[WAIT_ITEMS_INLINE], *items = inline_items;
    if (count > WAIT_ITEMS_INLINE) {
        items = calloc(count, sizeof(*items));
        if (items == NULL) {
            return MOOT_ERR_NO_MEMORY;
        }
    }
    struct lane *lane = engine_enter(m);
    int error = MOOT_ERR_NO_MEMORY;
    if (lane != NULL) {
        struct wait wait = {
            .want = WANT_DONE, .any = ends != NULL, .items = items, .count = count};
        error = task_wait_locked(m, lane, call, tasks, timeout, &wait, ends);
        engine_leave(m);
    }
    if (items != inline_items) {
        free(items);
    }
    return error;
}

int moot_task_wait(moot *m, moot_task t, moot_duration timeout)
{
    if (m == NULL) {
        return invalid(m, "moot_task_wait");
    }
    return wait_many("moot_task_wait", m, &t, 1, timeout, NULL);
}

int moot_task_wait_all(moot *m, const moot_task *t, size_t count, moot_duration timeout)
{
    if (m == NULL || (t == NULL && count > 0)) {
        return invalid(m, "moot_task_wait_all");
    }
    return wait_many("moot_task_wait_all", m, t, count, timeout, NULL);
}

int moot_task_wait_any(moot *m, const moot_task *t, size_t count, moot_duration timeout,
                       size_t *which)
{
    if (m == NULL || t == NULL || which == NULL || count == 0) {
        return invalid(m, "moot_task_wait_any");
    }
    const struct task_ends ends = {.which = which};
    return wait_many("moot_task_wait_any", m, t, count, timeout, &ends);
}

int moot_task_wait_some(moot *m, const moot_task *t, size_t count,
                        moot_duration timeout, size_t *indices, size_t *done)
{
    if (m == NULL || t == NULL || indices == NULL || done == NULL || count == 0) {
        return invalid(m, "moot_task_wait_some");
    }
    const struct task_ends ends = {.indices = indices, .done = done};
    return wait_many("moot_task_wait_some", m, t, count, timeout, &ends);
}

/* --- Fetching and letting go ---------------------------------------------------- */

static int fetch_locked(struct moot *m, struct lane *lane, moot_task t,
                        moot_duration timeout, const void **data, size_t *size)
{
    struct wait_item item;
    struct wait wait = {.want = WANT_DATA, .items = &item, .count = 1};
    int error = task_wait_locked(m, lane, "moot_task_fetch", &t, timeout, &wait, NULL);
    if (error != MOOT_OK) {
        return error;
    }
    struct handle *handle;
    error = task_handle_find(m, t.id, &handle); /* it may be gone by now */
    if (error != MOOT_OK) {
        return task_handle_refuse(lane, "moot_task_fetch", 0, error);
    }
    struct payload *payload = handle->task->payload;
    if (!handle->borrowed) {
        handle->borrowed = true;
        payload_hold(payload);
    }
    *data = payload->data;
    if (size != NULL) {
        *size = (size_t)payload->size;
    }
    return MOOT_OK;
}

int moot_task_fetch(moot *m, moot_task t, moot_duration timeout, const void **data,
                    size_t *size)
{
    if (m == NULL || data == NULL) {
        return invalid(m, "moot_task_fetch");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = fetch_locked(m, lane, t, timeout, data, size);
    engine_leave(m);
    return error;
}

/* The clock is looked at where the core may have a step. */
static inline int release_locked(struct moot *m, struct lane *lane, moot_task t)
{
    struct handle *handle;
    bool unnamed = m->spawn.unnamed.count + m->compose.in_regions > 0;
    if (unnamed) {
        engine_look_at_clock(m);
    }
    if (m->compose.in_regions > 0) {
        region_end_patiently(m);
    }
    int error = handle_find(&m->tasks.handles, t.id, &handle);
    if (error != MOOT_OK) {
        return task_handle_refuse(lane, "moot_task_release", 0, error);
    }
    if (handle->parent != NULL && !family_note_release(m, handle)) {
        return task_handle_refuse(lane, "moot_task_release", 0, MOOT_ERR_NO_MEMORY);
    }
    if (!unnamed && task_handle_may_step(handle)) {
        engine_look_at_clock(m);
    }
    if (m->spawn.unnamed.count == 0 || !unnamed_release(m, t.id, &handle)) {
        task_handle_end(m, handle);
    }
    return MOOT_OK;
}

HOT int moot_task_release(moot *m, moot_task t)
{
    if (m == NULL) {
        return invalid(m, "moot_task_release");
    }
    struct lane *lane = engine_enter_untimed(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = release_locked(m, lane, t);
    engine_leave(m);
    return error;
}
