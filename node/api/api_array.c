/* api_array.c - see moot_array.h. */
#include "node/api/moot_array.h"

#include "node/compose/task_array.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/tasks/own_elements.h"

static_assert(sizeof(moot_array) == sizeof(moot_task),
              "an array's handle is its end's");

int moot_array_spawn_at(moot *m, const moot_array_spec *spec, moot_array *out,
                        const char *site)
{
    if (m == NULL || spec == NULL || out == NULL) {
        return lane_invalid(m, "moot_array_spawn", "an argument is NULL");
    }
    moot_array_spec room;
    spec = sized_array(spec, &room);
    if (spec == NULL) {
        return lane_invalid(m, "moot_array_spawn", SIZED_REFUSAL);
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = array_spawn(m, lane, spec, site, out);
    engine_leave(m);
    return error;
}

int moot_array_at_at(moot *m, moot_array array, uint64_t index, moot_task *out,
                     const char *site)
{
    if (m == NULL || out == NULL) {
        return lane_invalid(m, "moot_array_at", "an argument is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = array_at(m, lane, array, index, site, out);
    engine_leave(m);
    return error;
}

int moot_array_wait(moot *m, moot_array array, moot_duration timeout)
{
    return moot_task_wait(m, (moot_task){array.id}, timeout);
}

int moot_array_release(moot *m, moot_array array)
{
    return moot_task_release(m, (moot_task){array.id});
}

uint64_t moot_call_index(const moot_call *call)
{
    return call != NULL && call->array != NULL ? call->index : 0;
}

uint64_t moot_call_count(const moot_call *call)
{
    return call != NULL && call->array != NULL ? call->array->spread.count : 1;
}
