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
#include <string.h>

enum { WAIT_ITEMS_INLINE = 16 };

/* A result up to this size is copied under the lock; a larger one with the lock free.
 */
enum { COPY_LOCKED_BYTES = 4096 };

static const char no_tasks[] = "the array of tasks is NULL, and count is not 0";

/* --- Waiting -------------------------------------------------------------------- */

/* The places of `count` results: each array may be NULL. */
struct fetched {
    const void **data;
    size_t *sizes;
};

static void give_result(const struct fetched *fetched, size_t at, const void *data,
                        size_t size)
{
    if (fetched->data != NULL) {
        fetched->data[at] = data;
    }
    if (fetched->sizes != NULL) {
        fetched->sizes[at] = size;
    }
}

/* The handle borrows its task's result, until it is released. */
static const struct payload *borrow(struct handle *handle)
{
    struct payload *payload = handle->task->payload;
    if (!handle->borrowed) {
        handle->borrowed = true;
        payload_hold(payload);
    }
    return payload;
}

/* The wait has ended by its tasks, and `error` is the first of theirs. */
static int borrow_all(struct moot *m, struct lane *lane, const moot_task *tasks,
                      const struct wait_item *items, size_t count,
                      const struct fetched *fetched, int error)
{
    for (size_t i = 0; i < count; i++) {
        give_result(fetched, i, NULL, 0);
        if (items[i].code != MOOT_OK) {
            continue;
        }
        struct handle *handle;
        int found = task_handle_find(m, tasks[i].id, &handle); /* another thread's */
        if (found == MOOT_OK) {
            const struct payload *payload = borrow(handle);
            give_result(fetched, i, payload->data, (size_t)payload->size);
        } else if (error == MOOT_OK) {
            error = task_handle_refuse(lane, "moot_task_fetch_all", i, count, found);
        }
    }
    return error;
}

/* Waits for all, or for one of several if there is a place to say for which; or for the
 * data of all if there are places for them. */
static int wait_many(const char *call, moot *m, const moot_task *tasks, size_t count,
                     moot_duration timeout, const struct task_ends *ends,
                     const struct fetched *fetched)
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
        struct wait wait = {.want = fetched != NULL ? WANT_DATA : WANT_DONE,
                            .any = ends != NULL,
                            .items = items,
                            .count = count};
        error = task_wait_locked(m, lane, call, tasks, timeout, &wait, ends);
        if (fetched != NULL && wait.over) {
            error = borrow_all(m, lane, tasks, items, count, fetched, error);
        }
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
        return lane_invalid(m, "moot_task_wait", "");
    }
    return wait_many("moot_task_wait", m, &t, 1, timeout, NULL, NULL);
}

int moot_task_wait_all(moot *m, const moot_task *t, size_t count, moot_duration timeout)
{
    if (m == NULL || (t == NULL && count > 0)) {
        return lane_invalid(m, "moot_task_wait_all", no_tasks);
    }
    return wait_many("moot_task_wait_all", m, t, count, timeout, NULL, NULL);
}

int moot_task_wait_any(moot *m, const moot_task *t, size_t count, moot_duration timeout,
                       size_t *which)
{
    if (m == NULL || t == NULL || which == NULL || count == 0) {
        return lane_invalid(m, "moot_task_wait_any",
                            count == 0  ? "count is 0"
                            : t == NULL ? "the array of tasks is NULL"
                                        : "the place for which is NULL");
    }
    const struct task_ends ends = {.which = which};
    return wait_many("moot_task_wait_any", m, t, count, timeout, &ends, NULL);
}

int moot_task_wait_some(moot *m, const moot_task *t, size_t count,
                        moot_duration timeout, size_t *indices, size_t *done)
{
    if (m == NULL || t == NULL || indices == NULL || done == NULL || count == 0) {
        return lane_invalid(m, "moot_task_wait_some",
                            count == 0  ? "count is 0"
                            : t == NULL ? "the array of tasks is NULL"
                                        : "a place for the result is NULL");
    }
    const struct task_ends ends = {.indices = indices, .done = done};
    return wait_many("moot_task_wait_some", m, t, count, timeout, &ends, NULL);
}

/* --- Fetching and letting go ---------------------------------------------------- */

/* Waits for the task's bytes, and finds its handle. */
static int wait_for_data(struct moot *m, struct lane *lane, const char *call,
                         moot_task t, moot_duration timeout, struct handle **handle)
{
    struct wait_item item;
    struct wait wait = {.want = WANT_DATA, .items = &item, .count = 1};
    int error = task_wait_locked(m, lane, call, &t, timeout, &wait, NULL);
    if (error != MOOT_OK) {
        return error;
    }
    error = task_handle_find(m, t.id, handle); /* it may be gone by now */
    return error == MOOT_OK ? error : task_handle_refuse(lane, call, 0, 1, error);
}

static int fetch_locked(struct moot *m, struct lane *lane, moot_task t,
                        moot_duration timeout, const void **data, size_t *size)
{
    struct handle *handle;
    int error = wait_for_data(m, lane, "moot_task_fetch", t, timeout, &handle);
    if (error != MOOT_OK) {
        return error;
    }
    const struct payload *payload = borrow(handle);
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
        return lane_invalid(m, "moot_task_fetch", "the place for the data is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = fetch_locked(m, lane, t, timeout, data, size);
    engine_leave(m);
    return error;
}

int moot_task_fetch_all(moot *m, const moot_task *t, size_t count,
                        moot_duration timeout, const void **data, size_t *sizes)
{
    if (m == NULL || (t == NULL && count > 0)) {
        return lane_invalid(m, "moot_task_fetch_all", no_tasks);
    }
    const struct fetched fetched = {.data = data, .sizes = sizes};
    return wait_many("moot_task_fetch_all", m, t, count, timeout, NULL, &fetched);
}

/* Other threads may go on meanwhile. */
static void copy_out(struct moot *m, struct payload *payload, void *buffer)
{
    if (payload->size <= COPY_LOCKED_BYTES) {
        if (payload->size > 0) {
            memcpy(buffer, payload->data, (size_t)payload->size);
        }
        return;
    }
    payload_hold(payload);
    engine_unlock(m);
    memcpy(buffer, payload->data, (size_t)payload->size);
    engine_lock(m);
    payload_drop(payload);
}

static int fetch_into_locked(struct moot *m, struct lane *lane, moot_task t,
                             moot_duration timeout, void *buffer, size_t buffer_size,
                             size_t *size)
{
    struct handle *handle;
    int error = wait_for_data(m, lane, "moot_task_fetch_into", t, timeout, &handle);
    if (error != MOOT_OK) {
        return error;
    }
    struct payload *payload = handle->task->payload;
    if (size != NULL) {
        *size = (size_t)payload->size;
    }
    if (payload->size > buffer_size) {
        return lane_fail(lane, MOOT_ERR_LIMIT,
                         "moot_task_fetch_into: the result has %llu bytes, the buffer "
                         "has %zu",
                         (unsigned long long)payload->size, buffer_size);
    }
    copy_out(m, payload, buffer);
    return MOOT_OK;
}

int moot_task_fetch_into(moot *m, moot_task t, moot_duration timeout, void *buffer,
                         size_t buffer_size, size_t *size)
{
    if (m == NULL || (buffer == NULL && buffer_size > 0)) {
        return lane_invalid(m, "moot_task_fetch_into",
                            "the buffer is NULL, and its size is not 0");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = fetch_into_locked(m, lane, t, timeout, buffer, buffer_size, size);
    engine_leave(m);
    return error;
}

/* The clock is looked at where the core may have a step. */
static inline int release_locked(struct moot *m, struct lane *lane, const char *call,
                                 size_t at, size_t count, moot_task t)
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
        return task_handle_refuse(lane, call, at, count, error);
    }
    if (handle->parent != NULL && !family_note_release(m, handle)) {
        return task_handle_refuse(lane, call, at, count, MOOT_ERR_NO_MEMORY);
    }
    if (!unnamed && task_handle_may_step(handle)) {
        engine_look_at_clock(m);
    }
    if (m->spawn.unnamed.count == 0 || handle->grouped ||
        !unnamed_release(m, t.id, &handle)) {
        task_handle_release(m, handle);
    }
    return MOOT_OK;
}

HOT int moot_task_release(moot *m, moot_task t)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_task_release", "");
    }
    struct lane *lane = engine_enter_untimed(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = release_locked(m, lane, "moot_task_release", 0, 1, t);
    engine_leave(m);
    return error;
}

/* One that stands there twice is released once. */
static int release_all_locked(struct moot *m, struct lane *lane, const moot_task *tasks,
                              size_t count)
{
    const char *call = "moot_task_release_all";
    struct handle *handle;
    for (size_t i = 0; i < count; i++) {
        int error = handle_find(&m->tasks.handles, tasks[i].id, &handle);
        if (error != MOOT_OK) {
            return task_handle_refuse(lane, call, i, count, error);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (handle_find(&m->tasks.handles, tasks[i].id, &handle) != MOOT_OK) {
            continue;
        }
        int error = release_locked(m, lane, call, i, count, tasks[i]);
        if (error != MOOT_OK) {
            return error;
        }
    }
    return MOOT_OK;
}

int moot_task_release_all(moot *m, const moot_task *t, size_t count)
{
    if (m == NULL || (t == NULL && count > 0)) {
        return lane_invalid(m, "moot_task_release_all", no_tasks);
    }
    struct lane *lane = engine_enter_untimed(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = release_all_locked(m, lane, t, count);
    engine_leave(m);
    return error;
}
