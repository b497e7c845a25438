/* array_adopt.c - see array_adopt.h. */
#include "node/compose/array_adopt.h"

#include "consensus/core_view.h"
#include "node/compose/array_inputs.h"
#include "node/compose/element_gate.h"
#include "node/compose/element_read.h"
#include "node/schedule/element_parts.h"
#include "node/spawn/spawn.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/map.h"
#include "node/tasks/own_elements.h"

static_assert((int)LIMIT_ARRAY_INPUTS == (int)MOOT_ARRAY_INPUTS_MAX,
              "a spec has room for all inputs");

bool array_has_spec(const struct array_inputs *inputs)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < inputs->count; i++) {
        bytes += inputs->from[i] != NULL ? inputs->maps[i].args_size : 0;
    }
    return bytes <= LIMIT_MAPS_BYTES;
}

/* --- What it takes ---------------------------------------------------------------- */

/* Array and map are here, and fit each other. */
static bool find_array(struct moot *m, const struct array_spread *spread,
                       const moot_hash *hash, const struct message_map *said,
                       struct array_inputs *inputs)
{
    const uint32_t i = inputs->count;
    const struct task *end = core_user(m->core, hash);
    const struct array_map *map = map_find_named(m, said->name, said->version);
    struct elements *from = end != NULL && !core_is_stub(end) ? elements_of(end) : NULL;
    if (from == NULL || map == NULL) {
        return false;
    }
    inputs->from[i] = from;
    inputs->mappings[i] = (struct array_mapping){map, said->args, said->args_size};
    inputs->maps[i] =
        (struct identity_map){map->name, map->version, said->args, said->args_size};
    return array_schedule_can_be(spread, &from->spread, &inputs->mappings[i]) ==
           MOOT_OK;
}

static bool find_inputs(struct moot *m, const struct message_spec *spec,
                        const struct array_spread *spread, struct array_inputs *inputs)
{
    bool found = true;
    for (size_t i = 0; i < spec->input_count && found; i++) {
        const struct message_map *said = &spec->maps[i];
        if (said->name != NULL) {
            found = find_array(m, spread, &spec->inputs[i], said, inputs);
        } else {
            inputs->tasks[i] = task_enter(m, &spec->inputs[i]);
            found = inputs->tasks[i] != NULL;
        }
        inputs->count += found;
    }
    return found;
}

static bool take_inputs(struct moot *m, struct elements *elements,
                        const struct array_inputs *inputs)
{
    bool fits = inputs->count == 0 || links_open(m, elements, inputs->count);
    for (uint32_t i = 0; i < inputs->count && fits; i++) {
        fits = (inputs->from[i] != NULL
                    ? link_make(m, elements, inputs->from[i], &inputs->mappings[i])
                    : link_make_single(elements, inputs->tasks[i])) == MOOT_OK &&
               gates_keep(m, elements->links[i]) == MOOT_OK;
    }
    return fits;
}

/* --- Adopting --------------------------------------------------------------------- */

static void fill_facts(struct task_facts *facts, struct kernel *kernel,
                       const moot_hash *hash, const struct message_spec *spec)
{
    *facts = (struct task_facts){
        .kernel = kernel,
        .args = spec->args,
        .args_size = spec->args_size,
        .key = spec->key,
        .key_size = spec->key_size,
        .priority = spec->priority,
        .place = spec->flags & CORE_TASK_BESIDE ? hash_place(hash) : 0,
        .label = spec->label};
    facts->reg = (struct core_register){
        .scope = spec->scope,
        .flags = kernel->core_flags | (spec->flags & (uint32_t)CORE_TASK_HINT),
        .inputs = spec->inputs,
        .input_count = spec->input_count,
        .after_count = spec->after_count,
        .homes = spec->candidates,
        .bound = spec->bound,
        .site = spec->site};
}

/* The array is what it says it is, and its record is new. */
static void take_in(struct moot *m, struct task *task, struct task_facts *facts,
                    const struct array_inputs *inputs)
{
    const struct array_spread *spread = facts->reg.array;
    const struct element_homes homes = {facts->reg.homes, facts->reg.bound};
    if (!elements_make(m, task, spread, &homes, facts->args, facts->args_size)) {
        return;
    }
    struct elements *elements = elements_of(task);
    elements->scope = facts->reg.scope;
    elements->whole = true;
    if (!take_inputs(m, elements, inputs) || spawn_take_in(m, task, facts) != MOOT_OK) {
        elements_free(m, task);
        return;
    }
    if (inputs->count > 0) {
        parts_take_early(m, elements);
        gates_ask_tasks(m, elements);
    }
    reads_take_early(m);
}

static void adopt(struct moot *m, const moot_hash *hash,
                  const struct message_spec *spec)
{
    struct kernel *kernel = spawn_portable_kernel(m, spec);
    const struct array_spread spread = {.count = spec->count,
                                        .block = spec->block,
                                        .homes = spec->candidates != NULL
                                                     ? rankset_count(spec->candidates)
                                                     : m->group.founders,
                                        .kind = (enum array_spread_kind)spec->spread};
    struct array_inputs inputs = {0};
    struct task_facts facts;
    if (kernel == NULL || m->engine.fatal != 0 ||
        !find_inputs(m, spec, &spread, &inputs)) {
        return;
    }
    fill_facts(&facts, kernel, hash, spec);
    facts.maps = inputs.maps;
    facts.reg.array = &spread;
    const moot_hash said = spawn_hash_of(&facts);
    struct task *task = hash_equal(&said, hash) ? task_enter(m, hash) : NULL;
    bool entered = task != NULL && !task->held && !task->pending;
    for (size_t i = 0; i < spec->input_count && entered; i++) {
        entered = task_enter(m, &spec->inputs[i]) != NULL;
    }
    if (entered && elements_of(task) == NULL) {
        take_in(m, task, &facts, &inputs);
    }
}

bool array_take_motion(struct moot *m, uint32_t from, const struct message *motion)
{
    const struct message_spec *spec = motion->u.motion.spec;
    if (spec != NULL && spec->count > 0 &&
        core_would_adopt(m->core, from, m->group.uids[from], motion)) {
        adopt(m, &motion->hash, spec);
    }
    return early_take_motion(m, from, motion);
}

bool array_take_elements(struct moot *m, uint32_t from, const struct message *message)
{
    const struct message_spec *spec = message->u.elements.spec;
    if (spec != NULL && core_would_adopt(m->core, from, m->group.uids[from], message)) {
        adopt(m, &message->hash, spec);
    }
    return true;
}
