/* task_array.c - see task_array.h. */
#include "node/compose/task_array.h"

#include "node/compose/array_adopt.h"
#include "node/compose/array_homes.h"
#include "node/compose/array_inputs.h"
#include "node/compose/array_part.h"
#include "node/compose/element_gate.h"
#include "node/compose/element_read.h"
#include "node/compose/group.h"
#include "node/engine/engine.h"
#include "node/schedule/element_parts.h"
#include "node/schedule/task_handle.h"
#include "node/spawn/spawn.h"
#include "node/tasks/kernel.h"
#include "node/tasks/own_elements.h"

#include <inttypes.h>
#include <string.h>

int array_check_open(struct moot *m, struct lane *lane, const char *instead)
{
    int error = spawn_check_open(m, lane);
    if (error == MOOT_ERR_STATE && lane->call != NULL) {
        return lane_fail(lane, error, "not inside a kernel: %s", instead);
    }
    return error;
}

int array_find_end(struct moot *m, struct lane *lane, moot_array array,
                   struct task **out)
{
    struct handle *handle;
    const int error = task_handle_find(m, array.id, &handle);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, "the array's handle %s", handle_why(error));
    }
    const bool is_array = hash_has(&handle->task->hash, MOOT_HASH_ARRAY);
    *out = is_array ? handle->task : NULL;
    return is_array ? MOOT_OK
                    : lane_fail(lane, MOOT_ERR_INVALID,
                                "this is a task's handle, and no array's");
}

int array_find_elements(struct moot *m, struct lane *lane, moot_array array,
                        struct elements **out)
{
    struct task *end = NULL;
    const int error = array_find_end(m, lane, array, &end);
    if (end == NULL) {
        return error;
    }
    *out = elements_of(end);
    return *out != NULL
               ? MOOT_OK
               : lane_fail(lane, MOOT_ERR_INVALID,
                           "this rank has not spawned the array: moot_array_find() "
                           "gives its elements");
}

/* A group is the program's, and so is what keeps it from spawning too far ahead. */
static struct group *group_of(const struct lane *lane, const struct task *parent)
{
    return parent == NULL ? lane->group : NULL;
}

static void end_spawn(struct moot *m, struct lane *lane, const struct task *parent,
                      moot_task spawned)
{
    if (group_of(lane, parent) != NULL) {
        group_add(m, lane, spawned);
    }
    if (parent == NULL) {
        spawn_make_room(m, lane);
    } else {
        spawn_drive(m);
    }
}

/* --- Reading ---------------------------------------------------------------------- */

/* A child's handle knows its parent. */
static int spawn_child_read(struct moot *m, struct lane *lane, struct task_facts *facts,
                            moot_task *out)
{
    struct spawned spawned;
    lane_forget_stubs(lane, facts->reg.input_count);
    int error = spawn_enter(m, lane, facts, &spawned);
    if (error == MOOT_OK) {
        error = spawn_hold(m, lane, facts, &spawned);
    }
    if (error == MOOT_OK) {
        out->id = spawned.id;
    }
    return error;
}

int array_spawn_read(struct moot *m, struct lane *lane, struct spawn *spawn,
                     moot_task *out)
{
    const struct task *parent = spawn->facts.parent;
    int error = group_of(lane, parent) != NULL ? group_reserve(m, lane) : MOOT_OK;
    if (error == MOOT_OK) {
        error = parent == NULL ? spawn_at_once(m, lane, &spawn->facts, out)
                               : spawn_child_read(m, lane, &spawn->facts, out);
    }
    if (error == MOOT_OK) {
        end_spawn(m, lane, parent, *out);
    }
    return error;
}

/* The array is pinned by its handle. */
static int read_element(struct moot *m, struct lane *lane, moot_array array,
                        const struct elements *elements, uint64_t index,
                        struct task *parent, const char *site, moot_task *out)
{
    unsigned char args[READ_ARGS_BYTES];
    const moot_task end = {array.id};
    const moot_task_spec spec = {.size = sizeof(spec),
                                 .kernel = m->compose.element,
                                 .args = args,
                                 .args_size = sizeof(args),
                                 .after = &end,
                                 .after_count = 1,
                                 .label = task_label(elements->task)};
    struct spawn spawn;
    read_pack(&elements->task->hash, index, args);
    int error = spawn_check(m, lane, &spec, site, parent, &spawn);
    if (error == MOOT_OK &&
        !read_aim(m, &spawn.facts, &elements->homes,
                  elements_home(&elements->spread, &elements->homes, index))) {
        error = lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory");
    }
    if (error == MOOT_OK) {
        error = array_spawn_read(m, lane, &spawn, out);
    }
    rankset_release(&spawn.candidates);
    return error;
}

int array_at(struct moot *m, struct lane *lane, moot_array array, uint64_t index,
             struct task *parent, const char *site, moot_task *out)
{
    struct elements *elements = NULL;
    int error = parent != NULL
                    ? spawn_judge_open(m, lane, parent)
                    : array_check_open(m, lane, "moot_call_array_at() is the call");
    if (error == MOOT_OK) {
        error = array_find_elements(m, lane, array, &elements);
    }
    if (elements == NULL) {
        return error;
    }
    if (index >= elements->spread.count) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "there is no element %" PRIu64 ": the array has %" PRIu64
                         ", from 0 on",
                         index, elements->spread.count);
    }
    return read_element(m, lane, array, elements, index, parent, site, out);
}

/* --- Spawning --------------------------------------------------------------------- */

static int check_spec(struct lane *lane, const moot_array_spec *spec,
                      struct array_spread *spread)
{
    static const enum array_spread_kind kinds[] = {
        [MOOT_SPREAD_BLOCK] = ARRAY_SPREAD_BLOCK,
        [MOOT_SPREAD_CYCLIC] = ARRAY_SPREAD_CYCLIC,
        [MOOT_SPREAD_HASHED] = ARRAY_SPREAD_HASHED};
    if (spec->count == 0 || spec->count > ARRAY_COUNT_MAX) {
        return lane_fail(lane, MOOT_ERR_INVALID, ".count is %" PRIu64 ", not 1 to 2^32",
                         spec->count);
    }
    if (spec->flags != 0) {
        return lane_fail(lane, MOOT_ERR_INVALID, ".flags has unknown bits: %#" PRIx32,
                         spec->flags);
    }
    if ((unsigned)spec->spread.kind > MOOT_SPREAD_HASHED) {
        return lane_fail(
            lane, MOOT_ERR_INVALID,
            ".spread.kind is %d: give MOOT_SPREAD_BLOCK, MOOT_SPREAD_CYCLIC or "
            "MOOT_SPREAD_HASHED",
            (int)spec->spread.kind);
    }
    const bool cyclic = spec->spread.kind == MOOT_SPREAD_CYCLIC;
    if (!cyclic && spec->spread.block != 0) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".spread.block is %" PRIu64
                         ", and is for MOOT_SPREAD_CYCLIC: give 0",
                         spec->spread.block);
    }
    const uint64_t block = cyclic && spec->spread.block == 0 ? 1 : spec->spread.block;
    *spread = (struct array_spread){
        .count = spec->count,
        .block = block < spec->count || !cyclic ? block : spec->count,
        .kind = kinds[spec->spread.kind]};
    return MOOT_OK;
}

/* The array beside which this one is to be gives it its spread. */
static int check_beside(struct lane *lane, struct moot *m, const moot_array_spec *spec,
                        struct array_spread *spread, const struct elements **beside)
{
    struct handle *handle;
    if (spec->beside.id == 0) {
        return MOOT_OK;
    }
    const int error = task_handle_find(m, spec->beside.id, &handle);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, ".beside is no array's handle: it %s",
                         handle_why(error));
    }
    const struct elements *other = elements_of(handle->task);
    if (other == NULL) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".beside is a task's handle, and no array's: of a "
                         "task it is a task's .beside");
    }
    if (other->spread.count != spread->count) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".beside has %" PRIu64 " elements, and "
                         ".count is %" PRIu64 ": only arrays of equal counts can be "
                         "beside each other",
                         other->spread.count, spread->count);
    }
    const bool said = spec->spread.kind != MOOT_SPREAD_BLOCK;
    if (said &&
        (spread->kind != other->spread.kind || spread->block != other->spread.block)) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".spread is not that of .beside: leave it "
                         "out, and this array has the other's");
    }
    *spread = other->spread;
    *beside = other;
    return MOOT_OK;
}

static int check_kernel(struct lane *lane, const struct kernel *kernel, bool some)
{
    const bool once = (kernel->flags & MOOT_KERNEL_ONCE) != 0;
    if ((kernel->flags & MOOT_KERNEL_IDEMPOTENT) != 0) {
        return lane_fail(
            lane, MOOT_ERR_INVALID,
            "kernel '%s' is idempotent, and no array is: "
            "register it without MOOT_KERNEL_IDEMPOTENT, and what may have "
            "run ends with MOOT_ERR_MAYBE_RAN; or spawn single tasks",
            kernel->name);
    }
    if ((kernel->flags & MOOT_KERNEL_NONDETERMINISTIC) != 0 && !once) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "kernel '%s' is non-deterministic, and a "
                         "rank may have to make an element again: register it with "
                         "MOOT_KERNEL_ONCE, or spawn single tasks",
                         kernel->name);
    }
    if (once && some) {
        return lane_fail(
            lane, MOOT_ERR_INVALID,
            "kernel '%s' is once, and an array of "
            "such a kernel is spawned as a whole: call moot_array_spawn(), "
            "or spawn single tasks",
            kernel->name);
    }
    return MOOT_OK;
}

/* All that this rank has spawned of it with this call; grows: some of it is new, and
 * the core is to hear of that. */
static int add_part(struct lane *lane, const struct elements *elements,
                    const struct range_set *part, struct range_set *sum, bool *grows)
{
    *grows = false;
    if (elements->whole) {
        return MOOT_OK;
    }
    if (!range_set_copy(sum, part) || !range_set_merge(sum, &elements->part)) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory");
    }
    *grows = !range_set_equal(sum, &elements->part);
    return sum->count <= LIMIT_PART_RANGES ? MOOT_OK : array_part_refuse(lane);
}

/* The core has heard of it. */
static void keep_part(struct elements *elements, struct range_set *sum)
{
    const struct range all = {0, elements->spread.count};
    elements->whole = elements->whole || range_set_covers(sum, all);
    range_set_release(&elements->part);
    if (!elements->whole) {
        elements->part = *sum;
        *sum = (struct range_set){0};
    }
}

/* Spawns these places of it. */
static int spawn_part(struct moot *m, struct lane *lane, struct task_facts *facts,
                      const struct spawned *spawned, const struct range_set *part)
{
    struct elements *elements = elements_of(spawned->task);
    struct range_set sum = {0};
    int error = add_part(lane, elements, part, &sum, &facts->grows);
    facts->reg.part = elements->once ? NULL : range_set_items(part);
    facts->reg.part_count = elements->once ? 0 : part->count;
    if (error != MOOT_OK) {
        spawn_undo(m, spawned);
    } else {
        error = spawn_hold(m, lane, facts, spawned);
    }
    if (error == MOOT_OK) {
        keep_part(elements, &sum);
    }
    range_set_release(&sum);
    return error;
}

static int spawn_checked(struct moot *m, struct lane *lane, struct spawn *spawn,
                         const struct array_spread *spread,
                         const struct element_homes *homes,
                         const struct array_inputs *inputs,
                         const struct range_set *part, bool some, moot_array *out)
{
    struct spawned spawned;
    struct task_facts *facts = &spawn->facts;
    facts->reg.array = spread;
    facts->reg.homes = homes->ranks;
    facts->reg.bound = homes->bound;
    const bool once = (facts->kernel->flags & MOOT_KERNEL_ONCE) != 0;
    const bool adoptable = array_has_spec(inputs) && !once;
    facts->reg.flags &= (uint32_t)(CORE_TASK_HINT | CORE_TASK_NESTED) |
                        (adoptable ? (uint32_t)CORE_TASK_PORTABLE : 0u);
    facts->reg.flags |= once ? (uint32_t)CORE_TASK_STRETCHES : 0u;
    int error = check_kernel(lane, facts->kernel, some);
    if (error == MOOT_OK) {
        error = spawn_enter(m, lane, facts, &spawned);
    }
    if (error != MOOT_OK) {
        return error;
    }
    const bool fresh = elements_of(spawned.task) == NULL;
    if (!elements_make(m, spawned.task, spread, homes, facts->args, facts->args_size)) {
        spawn_undo(m, &spawned);
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory");
    }
    struct elements *elements = spawned.task->seldom->elements;
    if (fresh) { /* later these run, and their threads read without the lock */
        elements->scope = facts->reg.scope;
        elements->once = once;
    }
    error = fresh ? array_inputs_take(m, lane, elements, inputs) : MOOT_OK;
    if (error != MOOT_OK) {
        elements_free(m, spawned.task);
        spawn_undo(m, &spawned);
        return error;
    }
    spawned.task->pins++;
    error = spawn_part(m, lane, facts, &spawned, part);
    spawned.task->pins--;
    if (error != MOOT_OK) {
        if (fresh) { /* nothing keeps what it was to take */
            elements_free(m, spawned.task);
        }
        task_try_free(m, spawned.task);
        return error;
    }
    out->id = spawned.id;
    if (fresh && inputs->count > 0) {
        parts_take_early(m, elements);
        gates_ask_tasks(m, elements);
    }
    reads_take_early(m);
    end_spawn(m, lane, facts->parent, (moot_task){spawned.id});
    return MOOT_OK;
}

/* The places that the call names; no ranges: all. */
static int find_part(struct lane *lane, const struct array_spread *spread,
                     const struct array_ranges *some, struct range_set *part)
{
    const struct range all = {0, spread->count};
    if (some != NULL) {
        return array_part_find(lane, spread, some->ranges, some->count, part);
    }
    (void)range_set_add(part, all); /* one range takes no memory */
    return MOOT_OK;
}

int array_spawn(struct moot *m, struct lane *lane, const moot_array_spec *spec,
                const struct array_ranges *some, const struct elements *near,
                struct task *parent, const char *site, moot_array *out)
{
    struct array_inputs inputs = {0};
    const moot_task_spec single = {.size = sizeof(single),
                                   .kernel = spec->kernel,
                                   .args = spec->args,
                                   .args_size = spec->args_size,
                                   .key = spec->key,
                                   .key_size = spec->key_size,
                                   .after = inputs.handles,
                                   .after_count = spec->input_count,
                                   .priority = spec->priority,
                                   .label = spec->label,
                                   .beside = {spec->beside.id}};
    const struct elements *beside = NULL;
    struct homes_said said = {.count = 0};
    struct array_spread spread = {.count = 0};
    struct spawn spawn;
    struct range_set part = {0};
    int error = parent != NULL
                    ? spawn_judge_open(m, lane, parent)
                    : array_check_open(m, lane, "moot_call_array_spawn() is the call");
    if (error == MOOT_OK) {
        error = check_spec(lane, spec, &spread);
    }
    if (error == MOOT_OK) {
        error = check_beside(lane, m, spec, &spread, &beside);
    }
    if (error == MOOT_OK) {
        error = array_homes_find(m, lane, spec, beside, near, &said);
        spread.homes = said.count;
    }
    if (error == MOOT_OK) {
        error = find_part(lane, &spread, some, &part);
    }
    if (error == MOOT_OK) {
        error = array_inputs_find(lane, m, spec, &spread, &inputs);
    }
    if (error == MOOT_OK && group_of(lane, parent) != NULL) {
        error = group_reserve(m, lane);
    }
    if (error == MOOT_OK) {
        error = spawn_check(m, lane, &single, site, parent, &spawn);
        if (error == MOOT_OK) {
            spawn.facts.maps = inputs.maps;
            error = spawn_checked(m, lane, &spawn, &spread, &said.homes, &inputs, &part,
                                  some != NULL, out);
        }
        rankset_release(&spawn.candidates);
    }
    rankset_release(&said.ranks);
    range_set_release(&part);
    return error;
}
