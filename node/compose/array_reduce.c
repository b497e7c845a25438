/* array_reduce.c - see array_reduce.h. */
#include "node/compose/array_reduce.h"

#include "consensus/shape/array_map.h"
#include "consensus/shape/array_schedule.h"
#include "hashing/base/byte_order.h"
#include "node/compose/task_array.h"
#include "node/engine/engine.h"
#include "node/engine/lane.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/own_elements.h"

#include <inttypes.h>

static uint64_t count_above(uint64_t count)
{
    return (count - 1) / MOOT_REDUCE_WAYS + 1;
}

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
                             "combine%s is said: tasks of the tree "
                             "have a kernel, args, a key, a priority and a label alone",
                             others[i].name);
        }
    }
    return MOOT_OK;
}

/* The first level takes the most. */
static int check_count(struct lane *lane, const struct elements *elements)
{
    unsigned char ways[ARRAY_BLOCKS_BYTES];
    const struct array_mapping blocks = {&array_map_blocks, ways, sizeof(ways)};
    const struct array_spread level = {.count = count_above(elements->spread.count),
                                       .homes = elements->spread.homes,
                                       .kind = ARRAY_SPREAD_BLOCK};
    put_word(ways, MOOT_REDUCE_WAYS);
    return array_schedule_can_be(&level, &elements->spread, &blocks) != MOOT_ERR_LIMIT
               ? MOOT_OK
               : lane_fail(lane, MOOT_ERR_LIMIT,
                           "the array has %" PRIu64 " elements on %" PRIu32
                           " ranks, and each of these may combine %d at most: share "
                           "the array among more ranks, or give an element more to do",
                           elements->spread.count, elements->spread.homes,
                           ARRAY_EDGES_MAX);
}

static int check_reduce(struct moot *m, struct lane *lane, moot_array array,
                        const moot_task_spec *combine, const struct elements **out)
{
    struct elements *elements = NULL;
    int error = array_check_open(
        m, lane,
        "there is no such call for children: spawn arrays of them whose inputs are by "
        "MOOT_MAP_BLOCKS (moot_call_array_spawn), or let the program reduce");
    if (error == MOOT_OK) {
        error = check_combine(lane, combine);
    }
    if (error == MOOT_OK) {
        error = array_find_elements(m, lane, array, &elements);
    }
    if (error == MOOT_OK) {
        error = check_count(lane, elements);
    }
    *out = elements;
    return error;
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
        task_handle_release(m, handle);
    }
}

int array_reduce(struct moot *m, struct lane *lane, moot_array array,
                 const moot_task_spec *combine, const char *site, moot_task *out)
{
    const struct elements *elements = NULL;
    uint64_t count = 1;
    moot_array below = array, level = {0};
    int error = check_reduce(m, lane, array, combine, &elements);
    if (error == MOOT_OK) {
        count = elements->spread.count;
    }
    do {
        count = count_above(count);
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
