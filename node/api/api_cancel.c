/* api_cancel.c - the public calls that cancel tasks: one, some, by label; and arrays.
 *
 * All of them come down to one event of the core per task, which sees to it that
 * whoever decides hears of it (consensus/ownership/cancel.c).  Tasks are named by their
 * hashes here, because a step may end the very records that are gone through.
 */
#include "node/api/moot_array.h"

#include "node/compose/task_wait.h"
#include "node/engine/engine.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/task_list.h"
#include "proto/error.h"

#include <stdlib.h>
#include <string.h>

struct victims {
    moot_hash *hashes;
    size_t count, room;
};

static bool add(struct victims *victims, const moot_hash *hash)
{
    if (victims->count == victims->room) {
        size_t room = victims->room ? victims->room * 2 : 64;
        moot_hash *grown = realloc(victims->hashes, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        victims->hashes = grown;
        victims->room = room;
    }
    victims->hashes[victims->count++] = *hash;
    return true;
}

static int cancel_each(struct moot *m, struct lane *lane, const struct victims *victims)
{
    for (size_t i = 0; i < victims->count; i++) {
        struct core_event event = {.type = CORE_EV_CANCEL, .hash = victims->hashes[i]};
        int error = engine_step(m, &event);
        if (error != MOOT_OK) {
            return lane_fail(lane, error, "%s", error_text(error));
        }
    }
    return MOOT_OK;
}

/* --- By handle ------------------------------------------------------------------ */

static int find_all(struct moot *m, struct lane *lane, const char *call,
                    const moot_task *tasks, size_t count, struct victims *victims)
{
    for (size_t i = 0; i < count; i++) {
        struct handle *handle;
        int error = task_handle_find(m, tasks[i].id, &handle);
        if (error != MOOT_OK) {
            return task_handle_refuse(lane, call, i, count, error);
        }
        if (handle->task->undone) {
            continue; /* a reload has cancelled it: the hash is another task's now */
        }
        if (!add(victims, &handle->task->hash)) {
            return lane_fail(lane, MOOT_ERR_NO_MEMORY, "%s: no memory", call);
        }
    }
    return MOOT_OK;
}

static int cancel_handles(struct moot *m, const char *call, const moot_task *tasks,
                          size_t count)
{
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct victims victims = {0};
    int error = find_all(m, lane, call, tasks, count, &victims);
    if (error == MOOT_OK) {
        error = cancel_each(m, lane, &victims);
    }
    free(victims.hashes);
    engine_leave(m);
    return error;
}

int moot_task_cancel(moot *m, moot_task t)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_task_cancel", "");
    }
    return cancel_handles(m, "moot_task_cancel", &t, 1);
}

int moot_task_cancel_all(moot *m, const moot_task *t, size_t count)
{
    if (m == NULL || (t == NULL && count > 0)) {
        return lane_invalid(m, "moot_task_cancel_all",
                            "the array of tasks is NULL, and count is not 0");
    }
    return cancel_handles(m, "moot_task_cancel_all", t, count);
}

int moot_array_cancel(moot *m, moot_array array)
{
    static const char call[] = "moot_array_cancel";
    const moot_task end = {array.id};
    struct handle *handle;
    struct lane *lane = m != NULL ? engine_enter(m) : NULL;
    if (lane == NULL) {
        return m == NULL ? lane_invalid(m, call, "") : MOOT_ERR_NO_MEMORY;
    }
    const bool is_task = task_handle_find(m, array.id, &handle) == MOOT_OK &&
                         !hash_has(&handle->task->hash, MOOT_HASH_ARRAY);
    const int error = is_task ? lane_fail(lane, MOOT_ERR_INVALID,
                                          "moot_array_cancel: this is a task's handle, "
                                          "and no array's: call moot_task_cancel")
                              : MOOT_OK;
    engine_leave(m);
    return error == MOOT_OK ? cancel_handles(m, call, &end, 1) : error;
}

/* --- By label ------------------------------------------------------------------- */

/* A task that a peer's spec brought the program has not spawned. */
static bool is_meant(const struct task *task, const char *prefix, size_t length)
{
    const char *label = task_label(task) != NULL ? task_label(task) : "";
    bool spawned = (task->held && !task->adopted) || task->pending;
    return spawned && !task->gone && !task->known && task->stage != TASK_ENDED &&
           strncmp(label, prefix, length) == 0;
}

static int cancel_labelled(struct moot *m, struct lane *lane, const char *prefix)
{
    struct victims victims = {0};
    size_t length = strlen(prefix);
    struct task **tasks = NULL;
    size_t count = 0;
    bool good = task_list(m, &tasks, &count);
    for (size_t i = 0; i < count && good; i++) {
        good = !is_meant(tasks[i], prefix, length) || add(&victims, &tasks[i]->hash);
    }
    free(tasks);
    int error =
        good ? cancel_each(m, lane, &victims)
             : lane_fail(lane, MOOT_ERR_NO_MEMORY, "moot_task_cancel_label: no memory");
    free(victims.hashes);
    return error;
}

int moot_task_cancel_label(moot *m, const char *prefix)
{
    if (m == NULL || prefix == NULL) {
        return lane_invalid(m, "moot_task_cancel_label", "the prefix is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = cancel_labelled(m, lane, prefix);
    engine_leave(m);
    return error;
}
