/* array_reduce.c - see array_reduce.h. */
#include "node/compose/array_reduce.h"

#include "consensus/shape/array_map.h"
#include "hashing/base/byte_order.h"
#include "node/compose/task_array.h"
#include "node/compose/task_wait.h"
#include "node/engine/engine.h"
#include "node/engine/lane.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/own_elements.h"

static int check_combine(struct lane *lane, const moot_task_spec *combine)
{
    const struct {
        const char *name;
        bool said;
    } others[] = {{".inputs", combine->input_count > 0},
                  {".input_hashes", combine->input_hash_count > 0},
                  {".after", combine->after_count > 0},
                  {".owner", combine->owner.rank_plus_one != 0},
                  {".candidates", combine->candidates.count > 0},
                  {".pset", combine->pset != NULL},
                  {".beside", combine->beside.id != 0},
                  {".flags", combine->flags != 0}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (others[i].said) {
            return lane_fail(lane, MOOT_ERR_INVALID,
                             "moot_array_reduce: combine%s is said: tasks of the tree "
                             "have a kernel, args, a key, a priority and a label alone",
                             others[i].name);
        }
    }
    return MOOT_OK;
}

static int find_elements(struct moot *m, struct lane *lane, moot_array array,
                         const struct elements **out)
{
    static const char call[] = "moot_array_reduce";
    struct handle *handle;
    const int error = task_handle_find(m, array.id, &handle);
    if (error != MOOT_OK) {
        return task_handle_refuse(lane, call, 0, 1, error);
    }
    const struct elements *elements = elements_of(handle->task);
    if (elements == NULL) {
        return lane_fail(lane, MOOT_ERR_INVALID, "%s: the handle is a task's", call);
    }
    *out = elements;
    return MOOT_OK;
}

/* The level above `below`, at the homes of the array `of`.  Others may run it, too. */
static int spawn_level(struct moot *m, struct lane *lane, const moot_task_spec *combine,
                       moot_array below, const struct elements *of, uint64_t count,
                       const char *site, moot_array *out)
{
    unsigned char ways[ARRAY_BLOCKS_BYTES];
    put_word(ways, MOOT_REDUCE_WAYS);
    const moot_array_input input = {.array = below,
                                    .map = MOOT_MAP_BLOCKS,
                                    .map_args = ways,
                                    .map_args_size = sizeof(ways)};
    const moot_array_spec spec = {.size = sizeof(spec),
                                  .kernel = combine->kernel,
                                  .count = count,
                                  .args = combine->args,
                                  .args_size = combine->args_size,
                                  .key = combine->key,
                                  .key_size = combine->key_size,
                                  .priority = combine->priority,
                                  .label = combine->label,
                                  .inputs = &input,
                                  .input_count = 1};
    return array_spawn(m, lane, &spec, NULL, of, NULL, site, out);
}

static void release(struct moot *m, moot_array array)
{
    struct handle *handle;
    engine_look_at_clock(m);
    if (handle_find(&m->tasks.handles, array.id, &handle) == MOOT_OK) {
        task_handle_end(m, handle);
    }
}

int array_reduce(struct moot *m, struct lane *lane, moot_array array,
                 const moot_task_spec *combine, const char *site, moot_task *out)
{
    const struct elements *elements = NULL;
    uint64_t count = 1;
    moot_array below = array, level = {0};
    int error = check_combine(lane, combine);
    if (error == MOOT_OK) {
        error = find_elements(m, lane, array, &elements);
        count = elements != NULL ? elements->spread.count : 1;
    }
    do {
        count = (count - 1) / MOOT_REDUCE_WAYS + 1;
        if (error == MOOT_OK) {
            error = spawn_level(m, lane, combine, below, elements, count, site, &level);
        }
        if (below.id != array.id) {
            release(m, below);
        }
        below = level;
    } while (error == MOOT_OK && count > 1);
    if (error == MOOT_OK) {
        error = array_at(m, lane, level, 0, NULL, site, out);
        release(m, level);
    }
    return error;
}
