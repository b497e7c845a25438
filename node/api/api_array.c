/* api_array.c - see moot_array.h. */
#include "node/api/moot_array.h"

#include "node/compose/array_reduce.h"
#include "node/compose/element_find.h"
#include "node/compose/task_array.h"
#include "node/compose/task_wait.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/map.h"
#include "node/tasks/own_elements.h"

#include <string.h>

static_assert(sizeof(moot_array) == sizeof(moot_task),
              "an array's handle is its end's");

/* The call is over; a failure's story begins with its name. */
static int leave(moot *m, struct lane *lane, const char *call, int error)
{
    if (error != MOOT_OK) {
        lane_name_call(lane, call);
    }
    engine_leave(m);
    return error;
}

/* --- Maps ---------------------------------------------------------------------------
 */

static int check_map(struct lane *lane, const moot_map *map)
{
    static const char own[] = "moot.";
    if (map->name == NULL || map->name[0] == '\0') {
        return lane_fail(lane, MOOT_ERR_INVALID, "a map needs a .name");
    }
    if (strnlen(map->name, LIMIT_KERNEL_NAME_BYTES + 1) > LIMIT_KERNEL_NAME_BYTES) {
        return lane_fail(lane, MOOT_ERR_LIMIT, "a map's .name has at most %u bytes",
                         LIMIT_KERNEL_NAME_BYTES);
    }
    if (strncmp(map->name, own, sizeof(own) - 1) == 0) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "map '%s': names that begin with \"moot.\" are the "
                         "library's own: take another",
                         map->name);
    }
    if (map->sources == NULL) {
        return lane_fail(lane, MOOT_ERR_INVALID, "map '%s' has no .sources", map->name);
    }
    return MOOT_OK;
}

static int register_map(struct moot *m, struct lane *lane, const moot_map *map,
                        moot_map_id *out)
{
    moot_map_id id = {0};
    int error = check_map(lane, map);
    if (error != MOOT_OK) {
        return error;
    }
    error = map_add(m, map, &id);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, "map '%s': %s", map->name,
                         error == MOOT_ERR_INVALID
                             ? "another one of this name is registered already, with "
                               "another .version, .sources, .targets or .user"
                         : error == MOOT_ERR_LIMIT ? "no more than 1024 maps"
                                                   : "no memory");
    }
    *out = id;
    return MOOT_OK;
}

int moot_map_register(moot *m, const moot_map *map, moot_map_id *out)
{
    if (m == NULL || map == NULL || out == NULL) {
        return lane_invalid(m, "moot_map_register",
                            map == NULL ? "the map is NULL" : "the output is NULL");
    }
    moot_map room;
    map = sized_map(map, &room);
    if (map == NULL) {
        return lane_invalid(m, "moot_map_register", SIZED_REFUSAL(moot_map));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int error = register_map(m, lane, map, out);
    return leave(m, lane, "moot_map_register", error);
}

/* --- Arrays -------------------------------------------------------------------------
 */

/* `some`: NULL, if the call is to spawn all. */
static int spawn_elements(moot *m, const char *call, const moot_array_spec *spec,
                          const struct array_ranges *some, moot_array *out,
                          const char *site)
{
    if (m == NULL || spec == NULL || out == NULL) {
        return lane_invalid(m, call,
                            spec == NULL ? "the spec is NULL" : "the output is NULL");
    }
    moot_array_spec room;
    spec = sized_array(spec, &room);
    if (spec == NULL) {
        return lane_invalid(m, call, SIZED_REFUSAL(moot_array_spec));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int error = array_spawn(m, lane, spec, some, NULL, NULL, site, out);
    return leave(m, lane, call, error);
}

int moot_array_spawn_at(moot *m, const moot_array_spec *spec, moot_array *out,
                        const char *site)
{
    return spawn_elements(m, "moot_array_spawn", spec, NULL, out, site);
}

int moot_array_spawn_some_at(moot *m, const moot_array_spec *spec,
                             const moot_range *ranges, size_t range_count,
                             moot_array *out, const char *site)
{
    const struct array_ranges some = {ranges, range_count};
    return spawn_elements(m, "moot_array_spawn_some", spec, &some, out, site);
}

int moot_array_at_at(moot *m, moot_array array, uint64_t index, moot_task *out,
                     const char *site)
{
    if (m == NULL || out == NULL) {
        return lane_invalid(m, "moot_array_at", "the output is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int error = array_at(m, lane, array, index, NULL, site, out);
    return leave(m, lane, "moot_array_at", error);
}

int moot_array_find_at(moot *m, const moot_hash *array, uint64_t index, moot_task *out,
                       const char *site)
{
    if (m == NULL || array == NULL || out == NULL) {
        return lane_invalid(m, "moot_array_find",
                            array == NULL ? "the hash is NULL" : "the output is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int error = array_find(m, lane, array, index, site, out);
    return leave(m, lane, "moot_array_find", error);
}

int moot_array_hash(moot *m, moot_array array, moot_hash *out)
{
    static const char call[] = "moot_array_hash";
    struct elements *elements = NULL;
    if (m == NULL || out == NULL) {
        return lane_invalid(m, call, "the output is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int error = array_find_elements(m, lane, array, &elements);
    if (error == MOOT_OK) {
        *out = elements->task->hash;
    }
    return leave(m, lane, call, error);
}

/* A wait of tasks says what is wrong with any other handle. */
static int refuse_task(struct moot *m, struct lane *lane, moot_array array,
                       const char *instead)
{
    struct handle *handle;
    return task_handle_find(m, array.id, &handle) != MOOT_OK ||
                   hash_has(&handle->task->hash, MOOT_HASH_ARRAY)
               ? MOOT_OK
               : lane_fail(lane, MOOT_ERR_INVALID,
                           "this is a task's handle, and no array's: call %s", instead);
}

int moot_array_wait(moot *m, moot_array array, moot_duration timeout)
{
    static const char call[] = "moot_array_wait";
    const moot_task end = {array.id};
    struct wait_item item;
    struct wait wait = {.want = WANT_DONE, .items = &item, .count = 1};
    struct lane *lane = m != NULL ? engine_enter(m) : NULL;
    if (lane == NULL) {
        return m == NULL ? lane_invalid(m, call, "") : MOOT_ERR_NO_MEMORY;
    }
    int error = refuse_task(m, lane, array, "moot_task_wait");
    if (error == MOOT_OK) {
        error = task_wait_locked(m, lane, call, &end, timeout, &wait, NULL);
    } else {
        lane_name_call(lane, call);
    }
    engine_leave(m);
    return error;
}

int moot_array_reduce_at(moot *m, moot_array array, const moot_task_spec *combine,
                         moot_task *out, const char *site)
{
    if (m == NULL || combine == NULL || out == NULL) {
        return lane_invalid(m, "moot_array_reduce",
                            combine == NULL ? "combine is NULL" : "the output is NULL");
    }
    moot_task_spec room;
    combine = sized_spec(combine, &room);
    if (combine == NULL) {
        return lane_invalid(m, "moot_array_reduce", SIZED_REFUSAL(moot_task_spec));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int error = array_reduce(m, lane, array, combine, site, out);
    return leave(m, lane, "moot_array_reduce", error);
}

int moot_array_release(moot *m, moot_array array)
{
    static const char call[] = "moot_array_release";
    struct task *end = NULL;
    struct lane *lane = m != NULL ? engine_enter_untimed(m) : NULL;
    if (lane == NULL) {
        return m == NULL ? lane_invalid(m, call, "") : MOOT_ERR_NO_MEMORY;
    }
    int error = array_find_end(m, lane, array, &end);
    error = leave(m, lane, call, error);
    return error == MOOT_OK ? moot_task_release(m, (moot_task){array.id}) : error;
}

uint64_t moot_call_index(const moot_call *call)
{
    return call != NULL && call->array != NULL ? call->index : 0;
}

uint64_t moot_call_count(const moot_call *call)
{
    return call != NULL && call->array != NULL ? call->array->spread.count : 1;
}
