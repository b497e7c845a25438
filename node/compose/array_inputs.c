/* array_inputs.c - see array_inputs.h. */
#include "node/compose/array_inputs.h"

#include "node/compose/element_gate.h"
#include "node/engine/engine.h"
#include "node/engine/report_queue.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/map.h"
#include "node/tasks/map_misfit.h"

/* --- The spec ----------------------------------------------------------------------
 */

/* Why a map of the program, or a share that has grown with a death, is refused. */
static const char *why_refused(const struct array_map *map, int error)
{
    return error == MOOT_ERR_NO_MEMORY ? "no memory"
           : error == MOOT_ERR_INVALID
               ? "it gives no answer for some element, or one that changes, or "
                 "names elements that there are not"
           : map->targets == NULL
               ? "without .targets a map is asked for all elements, of which there may "
                 "be 2^20, and each takes up to 4096: give it .targets, or take fewer"
               : "an element takes more than 4096, or those of one rank more than 2^20 "
                 "together: take fewer, or share the arrays among more ranks";
}

static int refuse_map(struct lane *lane, uint32_t i, const struct array_map *map,
                      int error, const char *why)
{
    return lane_fail(lane, error, ".inputs[%u] by the map '%s': %s", i, map->name, why);
}

static int find_taken(struct lane *lane, struct moot *m, const moot_array_input *input,
                      uint32_t i, struct elements **from)
{
    struct handle *handle;
    if (input->array.id == 0) {
        return lane_fail(lane, MOOT_ERR_STALE,
                         ".inputs[%u] has neither .array nor .task: give one of them",
                         i);
    }
    int error = task_handle_find(m, input->array.id, &handle);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, ".inputs[%u].array is no array's handle: it %s",
                         i, handle_why(error));
    }
    *from = elements_of(handle->task);
    return *from != NULL
               ? MOOT_OK
               : lane_fail(lane, MOOT_ERR_INVALID,
                           ".inputs[%u].array is a task's handle: give it as .task", i);
}

/* Every rank refuses what one would have to. */
static int check_map(struct lane *lane, const struct moot *m,
                     const struct array_spread *spread, const moot_array_input *input,
                     struct array_inputs *inputs)
{
    const uint32_t i = inputs->count;
    const struct array_map *map = map_find(m, input->map);
    if (map == NULL || (input->map_args == NULL && input->map_args_size > 0)) {
        return lane_fail(lane, MOOT_ERR_INVALID, ".inputs[%u].map%s", i,
                         map == NULL ? " is none of moot_array.h, and none that "
                                       "moot_map_register() has given"
                                     : "_args is NULL, and .map_args_size is not 0");
    }
    inputs->mappings[i] =
        (struct array_mapping){map, input->map_args, input->map_args_size};
    inputs->maps[i] = (struct identity_map){map->name, map->version, input->map_args,
                                            input->map_args_size};
    const struct array_spread *from = &inputs->from[i]->spread;
    const struct array_counts counts = {spread->count, from->count};
    int error = array_schedule_can_be(spread, from, &inputs->mappings[i]);
    if (error == MOOT_OK) {
        return MOOT_OK;
    }
    struct text why = {0};
    if (error == MOOT_ERR_LIMIT) {
        map_tell_excess(&why, &inputs->mappings[i], spread, from);
    } else {
        map_tell_misfit(&why, &inputs->mappings[i], &counts);
    }
    error = refuse_map(lane, i, map, error, text_get(&why));
    text_release(&why);
    return error;
}

static bool names_both(const moot_array_input *input)
{
    return input->array.id != 0 || input->map.id != 0 || input->map_args != NULL ||
           input->map_args_size != 0;
}

/* A single task, whose result each element takes. */
static int find_single(struct lane *lane, struct moot *m, const moot_array_input *input,
                       struct array_inputs *inputs)
{
    const uint32_t i = inputs->count;
    struct handle *handle;
    if (names_both(input)) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".inputs[%u] has .task, and .array or "
                         ".map, too: give a task or an array, and a map for the "
                         "latter alone",
                         i);
    }
    int error = task_handle_find(m, input->task.id, &handle);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, ".inputs[%u].task is no task's handle: it %s", i,
                         handle_why(error));
    }
    if (elements_of(handle->task) != NULL) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".inputs[%u].task is an array's handle: "
                         "give it as .array",
                         i);
    }
    inputs->tasks[i] = handle->task;
    inputs->handles[i] = input->task;
    inputs->count++;
    return MOOT_OK;
}

static int find_input(struct lane *lane, struct moot *m,
                      const struct array_spread *spread, const moot_array_input *input,
                      struct array_inputs *inputs)
{
    const uint32_t i = inputs->count;
    if (input->task.id != 0) {
        return find_single(lane, m, input, inputs);
    }
    int error = find_taken(lane, m, input, i, &inputs->from[i]);
    if (error == MOOT_OK) {
        error = check_map(lane, m, spread, input, inputs);
    }
    if (error == MOOT_OK) {
        inputs->handles[i] = (moot_task){input->array.id};
        inputs->count++;
    }
    return error;
}

int array_inputs_find(struct lane *lane, struct moot *m, const moot_array_spec *spec,
                      const struct array_spread *spread, struct array_inputs *inputs)
{
    if (spec->input_count > 0 && spec->inputs == NULL) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".inputs is NULL, and .input_count is %zu", spec->input_count);
    }
    if (spec->input_count > MOOT_ARRAY_INPUTS_MAX) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".input_count is %zu, above MOOT_ARRAY_INPUTS_MAX (%d): take "
                         "by one map what several take of one array, or combine arrays "
                         "first",
                         spec->input_count, MOOT_ARRAY_INPUTS_MAX);
    }
    int error = MOOT_OK;
    for (size_t i = 0; error == MOOT_OK && i < spec->input_count; i++) {
        error = find_input(lane, m, spread, &spec->inputs[i], inputs);
    }
    return error;
}

/* --- The links ----------------------------------------------------------------------
 */

/* The refusal of a program's map says which element is wrong. */
static int refuse_link(struct moot *m, struct lane *lane, struct elements *elements,
                       const struct array_inputs *inputs, uint32_t i, int error)
{
    const struct array_mapping *mapping = &inputs->mappings[i];
    const struct elements *from = inputs->from[i];
    const struct array_shape shape = link_shape(m, elements, from, mapping);
    const struct array_counts counts = {elements->spread.count, from->spread.count};
    struct map_fault fault;
    if (error == MOOT_ERR_NO_MEMORY || !map_fault_find(&shape, &fault)) {
        return refuse_map(lane, i, mapping->map, error,
                          why_refused(mapping->map, error));
    }
    struct text text = {0};
    map_tell_fault(&text, mapping, &counts, &fault);
    error = lane_fail(lane, error, ".inputs[%u]: %s", i, text_get(&text));
    text_release(&text);
    return error;
}

/* The elements of a new shape that this rank touches are looked at. */
static void verify_inverse(struct moot *m, struct elements *elements,
                           const struct array_inputs *inputs, uint32_t i)
{
    const struct array_mapping *mapping = &inputs->mappings[i];
    const struct array_shape shape = link_shape(m, elements, inputs->from[i], mapping);
    const struct array_counts counts = {elements->spread.count,
                                        inputs->from[i]->spread.count};
    struct inverse_fault fault;
    if (!inverse_fault_find(&shape, &fault)) {
        return;
    }
    struct text text = {0};
    map_tell_inverse(&text, mapping->map, &counts, &fault);
    report_add(m,
               "moot: rank %u: %s; no result is another for that, but it costs time: "
               "mend .targets, or leave it out\n",
               m->group.rank, text_get(&text));
    text_release(&text);
}

static int take_single(struct moot *m, struct lane *lane, struct elements *elements,
                       const struct array_inputs *inputs, uint32_t i)
{
    int error = link_make_single(elements, inputs->tasks[i]);
    if (error == MOOT_OK) {
        error = gates_keep(m, elements->links[i]);
    }
    return error == MOOT_OK ? MOOT_OK
                            : lane_fail(lane, error, "no memory for .inputs[%u]", i);
}

static int take_input(struct moot *m, struct lane *lane, struct elements *elements,
                      const struct array_inputs *inputs, uint32_t i)
{
    uint64_t before, after;
    (void)schedule_cache_count(m->tasks.schedules, &before);
    int error = link_make(m, elements, inputs->from[i], &inputs->mappings[i]);
    if (error == MOOT_OK) {
        error = gates_keep(m, elements->links[i]);
    }
    if (error != MOOT_OK) {
        return refuse_link(m, lane, elements, inputs, i, error);
    }
    (void)schedule_cache_count(m->tasks.schedules, &after);
    if (after > before && m->knobs.verify_ppm > 0 &&
        !array_map_is_sure(inputs->mappings[i].map)) {
        verify_inverse(m, elements, inputs, i);
    }
    return MOOT_OK;
}

int array_inputs_take(struct moot *m, struct lane *lane, struct elements *elements,
                      const struct array_inputs *inputs)
{
    if (inputs->count > 0 && !links_open(m, elements, inputs->count)) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory");
    }
    int error = MOOT_OK;
    for (uint32_t i = 0; error == MOOT_OK && i < inputs->count; i++) {
        error = inputs->from[i] != NULL ? take_input(m, lane, elements, inputs, i)
                                        : take_single(m, lane, elements, inputs, i);
    }
    return error;
}
