/* look.c - the public calls that show what is known of tasks: one, some, all. */
#include "node/api/look.h"

#include "consensus/core_view.h"
#include "hashing/placement.h"
#include "node/compose/task_wait.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/error_chain.h"
#include "node/tasks/task_list.h"
#include "proto/error.h"

#include <stdlib.h>
#include <string.h>

/* --- One ------------------------------------------------------------------------ */

/* What had ended well on a rank that is gone, and runs again here, has not ended. */
static enum moot_task_state state_of(const struct task *task)
{
    switch ((enum task_stage)task->stage) {
    case TASK_READY:
    case TASK_RESTING:
        return MOOT_TASK_READY;
    case TASK_RUNNING:
        return MOOT_TASK_RUNNING;
    case TASK_IDLE:
    case TASK_ENDED:
        break;
    }
    if (task->known) {
        return task->status == MOOT_OK ? MOOT_TASK_DONE : MOOT_TASK_FAILED;
    }
    return task_seldom(task)->verdict_count > 0 ? MOOT_TASK_FAILED : MOOT_TASK_WAITING;
}

static const char *story_text(const struct task *task)
{
    if (task->known && task->status != MOOT_OK && task->payload != NULL) {
        return (const char *)task->payload->data;
    }
    const char *story = task_seldom(task)->verdict_story;
    return !task->known && story != NULL ? story : "";
}

void look_fill(struct moot *m, const struct task *task, moot_task_info *out)
{
    const struct root_cause root = story_root(task);
    *out = (moot_task_info){
        .hash = task->hash,
        .state = state_of(task),
        .owner = -1,
        .chair = -1,
        .cancelled_by = -1,
        .check =
            task_seldom(task)->second_rank != 0 ? MOOT_ERR_NONDETERMINISTIC : MOOT_OK,
        .second = session_rank(m, task_seldom(task)->second_rank - 1),
        .decided = evidence_name(EVIDENCE_NONE),
        .status = task->known ? task->status : task_seldom(task)->verdict,
        .story = story_text(task),
        .size = task->size,
        .label = task_label(task) != NULL ? task_label(task) : "",
        .site = task_site(task) != NULL ? task_site(task) : "",
        .kernel = task_kernel_name(task),
        .code = root.code,
        .code_rank = root.rank >= 0 ? session_rank(m, (uint32_t)root.rank) : -1};
    struct core_task_view view;
    if (core_task_look(m->core, &task->hash, &view)) {
        out->owner = session_rank(m, view.owner);
        out->chair = session_rank(m, view.chair);
        out->cancelled_by = session_rank(m, view.canceller);
        out->decided = evidence_name(view.evidence);
        core_task_view_release(&view);
    }
}

int moot_task_info_sized(moot *m, moot_task t, moot_task_info *out, size_t size)
{
    moot_task_info info;
    if (m == NULL || out == NULL || !SIZED_ADMITS(size, moot_task_info, kernel)) {
        return lane_invalid(m, "moot_task_info",
                            out == NULL ? "the output is NULL"
                                        : SIZED_REFUSAL_OUT(moot_task_info));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct handle *handle;
    int error = task_handle_find(m, t.id, &handle);
    if (error == MOOT_OK) {
        look_fill(m, handle->task, &info);
        sized_give(out, size, &info, sizeof(info));
    } else {
        lane_fail(lane, error, "moot_task_info: the handle %s", handle_why(error));
    }
    engine_leave(m);
    return error;
}

/* --- Some ----------------------------------------------------------------------- */

static int info_all(struct moot *m, struct lane *lane, const moot_task *tasks,
                    size_t count, void *infos, size_t size)
{
    struct handle *handle;
    moot_task_info info;
    for (size_t i = 0; i < count; i++) {
        int error = task_handle_find(m, tasks[i].id, &handle);
        if (error != MOOT_OK) {
            return task_handle_refuse(lane, "moot_task_info_all", i, count, error);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (task_handle_find(m, tasks[i].id, &handle) == MOOT_OK) {
            look_fill(m, handle->task, &info);
            sized_give((uint8_t *)infos + i * size, size, &info, sizeof(info));
        }
    }
    return MOOT_OK;
}

int moot_task_info_all_sized(moot *m, const moot_task *tasks, size_t count,
                             moot_task_info *infos, size_t size)
{
    if (m == NULL || ((tasks == NULL || infos == NULL) && count > 0) ||
        !SIZED_ADMITS(size, moot_task_info, kernel)) {
        const char *what = count == 0      ? SIZED_REFUSAL_OUT(moot_task_info)
                           : tasks == NULL ? "the array of tasks is NULL"
                           : infos == NULL ? "the array of infos is NULL"
                                           : SIZED_REFUSAL_OUT(moot_task_info);
        return lane_invalid(m, "moot_task_info_all", what);
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = info_all(m, lane, tasks, count, infos, size);
    engine_leave(m);
    return error;
}

/* --- All ------------------------------------------------------------------------ */

/* What a listing shows, copied so that it outlives the lock. */
struct shown {
    moot_task_info *infos;
    size_t count, room;
};

bool look_admits(const moot_task_filter *filter, const moot_task_info *info)
{
    const char *prefix = filter->label_prefix;
    return (filter->states == 0 || (filter->states >> info->state & 1) != 0) &&
           (filter->kernel == NULL || strcmp(filter->kernel, info->kernel) == 0) &&
           (prefix == NULL || strncmp(info->label, prefix, strlen(prefix)) == 0);
}

/* Sites and kernels' names live as long as the context; the rest does not.  Both copies
 * stand in one block, the label first. */
static bool own_strings(moot_task_info *info)
{
    size_t label = strlen(info->label) + 1, story = strlen(info->story) + 1;
    char *block = malloc(label + story);
    if (block == NULL) {
        return false;
    }
    memcpy(block, info->label, label);
    memcpy(block + label, info->story, story);
    info->label = block;
    info->story = block + label;
    return true;
}

static bool shown_add(struct shown *shown, const moot_task_info *info)
{
    if (shown->count == shown->room) {
        size_t room = shown->room ? shown->room * 2 : 256;
        moot_task_info *grown = realloc(shown->infos, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        shown->infos = grown;
        shown->room = room;
    }
    shown->infos[shown->count] = *info;
    bool owned = own_strings(&shown->infos[shown->count]);
    shown->count += owned;
    return owned;
}

static int collect(struct moot *m, struct lane *lane, const moot_task_filter *filter,
                   struct shown *shown)
{
    struct task **tasks = NULL;
    size_t count = 0;
    bool good = task_list(m, &tasks, &count);
    for (size_t i = 0; i < count && good; i++) {
        moot_task_info info;
        look_fill(m, tasks[i], &info);
        good = !look_admits(filter, &info) || shown_add(shown, &info);
    }
    free(tasks);
    return good ? MOOT_OK
                : lane_fail(lane, MOOT_ERR_NO_MEMORY,
                            "moot_tasks_each: no memory for what %zu tasks are",
                            shown->count);
}

int moot_tasks_each(moot *m, const moot_task_filter *filter, moot_tasks_fn fn,
                    void *user)
{
    const moot_task_filter none = {0};
    moot_task_filter room;
    filter = sized_filter(filter != NULL ? filter : &none, &room);
    if (m == NULL || fn == NULL || filter == NULL) {
        return lane_invalid(m, "moot_tasks_each",
                            fn == NULL
                                ? "the function is NULL"
                                : "the filter: " SIZED_REFUSAL(moot_task_filter));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct shown shown = {0};
    int code = collect(m, lane, filter, &shown);
    engine_leave(m);
    for (size_t i = 0; code == MOOT_OK && i < shown.count; i++) {
        code = fn(user, &shown.infos[i]);
    }
    for (size_t i = 0; i < shown.count; i++) {
        free((void *)(uintptr_t)shown.infos[i].label);
    }
    free(shown.infos);
    return code;
}
