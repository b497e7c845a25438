/* kernel_call.c - what a running kernel calls to have children: it spawns them, and
 * waits for them.  What else it calls stands in node/schedule/call_frame.c.
 */
#include "node/api/moot_array.h"

#include "node/compose/queue.h"
#include "node/compose/submit.h"
#include "node/compose/task_array.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/schedule/call_frame.h"
#include "node/schedule/task_handle.h"
#include "node/schedule/wait.h"
#include "node/tasks/error_chain.h"
#include "node/tasks/handle.h"
#include "node/tasks/task.h"

#include <stdlib.h>

enum { WAIT_ITEMS_INLINE = 16 };

/* Keeps the story of the lane's error, so that a kernel that just returns the code does
 * not lose the first cause. */
static void remember(struct moot_call *call, struct lane *lane, int error,
                     struct root_cause root, const char *mishap)
{
    call->mishap = mishap;
    call->mishap_code = error;
    call->mishap_root_code = root.code;
    call->mishap_root_rank = root.rank;
    text_clear(&call->mishap_story);
    text_add(&call->mishap_story, "%s", text_get(&lane->error));
}

static bool grow(void **array, size_t *room, size_t count, size_t item_size)
{
    if (count < *room) {
        return true;
    }
    size_t wanted = *room ? *room * 2 : 8;
    void *grown = realloc(*array, wanted * item_size);
    if (grown == NULL) {
        return false;
    }
    *array = grown;
    *room = wanted;
    return true;
}

static bool child_room(struct moot_call *call)
{
    void *array = call->children;
    bool ok = grow(&array, &call->child_room, call->child_count, sizeof(uint64_t));
    call->children = array;
    return ok;
}

static bool borrow_room(struct moot_call *call)
{
    void *array = call->borrowed;
    bool ok = grow(&array, &call->borrowed_room, call->borrowed_count, sizeof(void *));
    call->borrowed = array;
    return ok;
}

/* The call must be that of the kernel that runs on the thread that makes it. */
static int check_call(const moot_call *call, struct lane *lane, const char *what)
{
    if (lane->call != call) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "%s: this is not the kernel that runs on this thread", what);
    }
    return MOOT_OK;
}

/* The kernel may spawn, and there is room to note one more child. */
static int check_spawn(moot_call *call, struct lane *lane, const char *name)
{
    int error = check_call(call, lane, name);
    if (error != MOOT_OK) {
        return error;
    }
    if (call->check) {
        call->spoilt = true;
        return lane_fail(lane, MOOT_ERR_STATE,
                         "this run only compares results (MOOT_VERIFY): it spawns "
                         "nothing");
    }
    if (call->array != NULL) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "%s: an element of an array spawns nothing; let its kernel do "
                         "the work itself, or spawn a task in its place",
                         name);
    }
    return child_room(call)
               ? MOOT_OK
               : lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for a child's handle");
}

static void note_child(moot_call *call, uint64_t id)
{
    call->children[call->child_count++] = id;
    handle_at(&call->m->tasks.handles, id)->child = true;
}

/* One of a call's arguments is NULL. */
static const char *name_missing(const moot_call *call, const void *spec)
{
    return call == NULL   ? "the call is NULL"
           : spec == NULL ? "the spec is NULL"
                          : "the output is NULL";
}

static int spawn_child(moot_call *call, struct lane *lane, const moot_task_spec *spec,
                       moot_task *out, const char *site)
{
    int error = check_spawn(call, lane, "moot_call_spawn");
    if (error == MOOT_OK) {
        error = queue_inherit(call->m, lane);
    }
    if (error == MOOT_OK) {
        error = spawn_task(call->m, call->lane, spec, site, call->task, out);
    }
    if (error == MOOT_OK) {
        note_child(call, out->id);
    }
    return error;
}

int moot_call_spawn_at(moot_call *call, const moot_task_spec *spec, moot_task *out,
                       const char *site)
{
    if (call == NULL || spec == NULL || out == NULL) {
        return thread_fail(MOOT_ERR_INVALID, "moot_call_spawn: %s",
                           name_missing(call, spec));
    }
    moot_task_spec room;
    spec = sized_spec(spec, &room);
    if (spec == NULL) {
        return thread_fail(MOOT_ERR_INVALID,
                           "moot_call_spawn: " SIZED_REFUSAL(moot_task_spec));
    }
    struct lane *lane = engine_enter(call->m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    moot_task child;
    int error = spawn_child(call, lane, spec, &child, site);
    if (error == MOOT_OK) {
        *out = child;
    } else {
        lane_name_call(call->lane, "moot_call_spawn");
        remember(call, call->lane, error, NO_ROOT_CAUSE, "moot_call_spawn failed");
    }
    engine_leave(call->m);
    return error;
}

/* The child's record; NULL with the error told. */
static struct task *find_child(moot_call *call, struct lane *lane, const char *name,
                               moot_task child, int *error)
{
    struct handle *handle;
    *error = task_handle_find(call->m, child.id, &handle);
    if (*error != MOOT_OK) {
        lane_fail(lane, *error, "%s: the handle %s", name, handle_why(*error));
        return NULL;
    }
    if (handle->parent != call->task) {
        struct text *text = &lane->error;
        text_clear(text);
        task_describe(text, call->task);
        text_add(text, " waits for ");
        task_describe(text, handle->task);
        text_add(text, ", which it did not spawn: a running task may wait only for its "
                       "own children (make it an input instead)");
        *error = MOOT_ERR_NOT_CHILD;
        return NULL;
    }
    return handle->task;
}

/* Fills in the items, and has the queues that the kernel has open submit the children.
 */
static int find_children(moot_call *call, struct lane *lane, const char *name,
                         const moot_task *children, struct wait *wait)
{
    int error = check_call(call, lane, name);
    for (size_t i = 0; i < wait->count && error == MOOT_OK; i++) {
        struct task *task = find_child(call, lane, name, children[i], &error);
        wait->items[i] = (struct wait_item){.task = task};
    }
    return error == MOOT_OK
               ? queue_before_wait(call->m, lane, children, wait->count, name)
               : error;
}

/* Children that the kernel leaves running are no affair of its parent's. */
static void mark_awaited(moot_call *call, const moot_task *children, size_t count)
{
    struct handle *handle;
    for (size_t i = 0; i < count; i++) {
        if (task_handle_find(call->m, children[i].id, &handle) == MOOT_OK) {
            handle->awaited = true;
        }
    }
}

/* The first error by index, told, and its root cause. */
static int first_error(moot_call *call, const struct wait *wait,
                       struct root_cause *root)
{
    for (size_t i = 0; i < wait->count; i++) {
        if (wait->items[i].code != MOOT_OK) {
            *root = story_root(wait->items[i].task);
            return wait_tell(call->m, call->lane, wait->items[i].task,
                             wait->items[i].code);
        }
    }
    return MOOT_OK;
}

/* Waits for the results of all; the caller has set items and count, and unpins them
 * if *pinned. */
static int wait_children(moot_call *call, struct lane *lane, const char *name,
                         const moot_task *children, struct wait *wait, bool *pinned,
                         struct root_cause *root)
{
    *pinned = false;
    *root = NO_ROOT_CAUSE;
    int error = find_children(call, lane, name, children, wait);
    if (error != MOOT_OK) {
        return error;
    }
    wait->lane = call->lane; /* a queue's function may have waited */
    wait->waiter = call;
    wait->want = WANT_DATA;
    wait->deadline_ns = CORE_NEVER;
    wait_pin(wait);
    *pinned = true;
    error = wait_run(call->m, wait);
    if (error == MOOT_OK) {
        mark_awaited(call, children, wait->count);
        error = first_error(call, wait, root);
    }
    return error;
}

static int wait_child(moot_call *call, struct lane *lane, const char *name,
                      moot_task child, const void **data, size_t *size,
                      struct root_cause *root)
{
    struct wait_item item;
    struct wait wait = {.items = &item, .count = 1};
    bool pinned;
    if (!borrow_room(call)) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for a borrow");
    }
    int error = wait_children(call, lane, name, &child, &wait, &pinned, root);
    if (error == MOOT_OK) {
        struct payload *payload = item.task->payload;
        call->borrowed[call->borrowed_count++] = payload_hold(payload);
        *data = payload->data;
        *size = (size_t)payload->size;
    }
    if (pinned) {
        wait_unpin(call->m, &wait);
    }
    return error;
}

/* A kernel that returns the error as it is keeps its story. */
static void remember_wait(moot_call *call, int error, struct root_cause root,
                          const char *mishap)
{
    if (error != MOOT_OK) {
        bool ended = error == MOOT_ERR_TASK_FAILED || error == MOOT_ERR_CANCELLED;
        remember(call, call->lane, error, root, ended ? "child failed" : mishap);
    }
}

static int wait_named(moot_call *call, const char *name, const char *mishap,
                      moot_task child, const void **data, size_t *size)
{
    const void *no_data;
    size_t no_size;
    struct lane *lane = engine_enter(call->m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct root_cause root = NO_ROOT_CAUSE;
    int error = wait_child(call, lane, name, child, data != NULL ? data : &no_data,
                           size != NULL ? size : &no_size, &root);
    remember_wait(call, error, root, mishap);
    engine_leave(call->m);
    return error;
}

int moot_call_wait(moot_call *call, moot_task child, const void **data, size_t *size)
{
    return call != NULL
               ? wait_named(call, "moot_call_wait", "moot_call_wait failed", child,
                            data, size)
               : thread_fail(MOOT_ERR_INVALID, "moot_call_wait: the call is NULL");
}

static int wait_for_all(moot_call *call, struct lane *lane, const moot_task *children,
                        struct wait_item *items, size_t count, struct root_cause *root)
{
    struct wait wait = {.items = items, .count = count};
    bool pinned;
    int error =
        wait_children(call, lane, "moot_call_wait_all", children, &wait, &pinned, root);
    if (pinned) {
        wait_unpin(call->m, &wait);
    }
    return error;
}

int moot_call_wait_all(moot_call *call, const moot_task *children, size_t count)
{
    if (call == NULL || (children == NULL && count > 0)) {
        return thread_fail(MOOT_ERR_INVALID, "moot_call_wait_all: %s",
                           call == NULL
                               ? "the call is NULL"
                               : "the array of children is NULL, and count is not 0");
    }
    if (count == 0) {
        return MOOT_OK;
    }
    struct wait_item inline_items[WAIT_ITEMS_INLINE], *items = inline_items;
    if (count > WAIT_ITEMS_INLINE) {
        items = calloc(count, sizeof(*items));
        if (items == NULL) {
            return MOOT_ERR_NO_MEMORY;
        }
    }
    struct lane *lane = engine_enter(call->m);
    int error = MOOT_ERR_NO_MEMORY;
    if (lane != NULL) {
        struct root_cause root = NO_ROOT_CAUSE;
        error = wait_for_all(call, lane, children, items, count, &root);
        remember_wait(call, error, root, "moot_call_wait_all failed");
        engine_leave(call->m);
    }
    if (items != inline_items) {
        free(items);
    }
    return error;
}

/* --- Arrays of children ------------------------------------------------------------
 */

int moot_call_array_spawn_at(moot_call *call, const moot_array_spec *spec,
                             moot_array *out, const char *site)
{
    static const char name[] = "moot_call_array_spawn";
    if (call == NULL || spec == NULL || out == NULL) {
        return thread_fail(MOOT_ERR_INVALID, "%s: %s", name, name_missing(call, spec));
    }
    moot_array_spec room;
    spec = sized_array(spec, &room);
    if (spec == NULL) {
        return thread_fail(MOOT_ERR_INVALID, "%s: " SIZED_REFUSAL(moot_array_spec),
                           name);
    }
    struct lane *lane = engine_enter(call->m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    moot_array child;
    int error = check_spawn(call, lane, name);
    if (error == MOOT_OK) {
        error = array_spawn(call->m, lane, spec, NULL, NULL, call->task, site, &child);
    }
    if (error == MOOT_OK) {
        note_child(call, child.id);
        *out = child;
    } else {
        lane_name_call(lane, name);
        remember(call, call->lane, error, NO_ROOT_CAUSE,
                 "moot_call_array_spawn failed");
    }
    engine_leave(call->m);
    return error;
}

static int read_child(moot_call *call, struct lane *lane, moot_array array,
                      uint64_t index, const char *site, moot_task *out)
{
    static const char name[] = "moot_call_array_at";
    int error = check_spawn(call, lane, name);
    if (error == MOOT_OK) {
        (void)find_child(call, lane, name, (moot_task){array.id}, &error);
    }
    if (error == MOOT_OK) {
        error = array_at(call->m, lane, array, index, call->task, site, out);
    }
    if (error == MOOT_OK) {
        note_child(call, out->id);
    }
    return error;
}

int moot_call_array_at_at(moot_call *call, moot_array array, uint64_t index,
                          moot_task *out, const char *site)
{
    if (call == NULL || out == NULL) {
        return thread_fail(MOOT_ERR_INVALID, "moot_call_array_at: %s",
                           name_missing(call, &array));
    }
    struct lane *lane = engine_enter(call->m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    moot_task child;
    int error = read_child(call, lane, array, index, site, &child);
    if (error == MOOT_OK) {
        *out = child;
    } else {
        lane_name_call(lane, "moot_call_array_at");
        remember(call, call->lane, error, NO_ROOT_CAUSE, "moot_call_array_at failed");
    }
    engine_leave(call->m);
    return error;
}

int moot_call_array_wait(moot_call *call, moot_array array)
{
    return call != NULL
               ? wait_named(call, "moot_call_array_wait", "moot_call_array_wait failed",
                            (moot_task){array.id}, NULL, NULL)
               : thread_fail(MOOT_ERR_INVALID,
                             "moot_call_array_wait: the call is NULL");
}
