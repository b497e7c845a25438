/* identify.c - the hashes of a program's tasks, and what travels with them. */
#include "consensus/sim/engine/sim_internal.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include <assert.h>
#include <stdlib.h>

static void set_ranks(struct rankset *set, uint64_t ranks)
{
    *set = (struct rankset){.low = ranks};
}

moot_hash sim_scope(uint32_t scope)
{
    const moot_hash top = {{0}};
    char name[24];
    (void)snprintf(name, sizeof(name), "phase %u", (unsigned)scope);
    return identity_scope(&top, name);
}

moot_hash sim_purpose(uint32_t purpose)
{
    const moot_hash top = {{0}};
    char name[24];
    (void)snprintf(name, sizeof(name), "purpose %u", (unsigned)purpose);
    return identity_scope(&top, name);
}

static moot_hash identify(const struct program *program, uint32_t index,
                          const moot_hash *hashes)
{
    const struct program_task *task = &program->tasks[index];
    uint8_t args[PROGRAM_ARGS_BYTES], key[PROGRAM_KEY_BYTES];
    program_args(program, index, args);
    program_key(program, index, key);
    struct rankset candidates;
    set_ranks(&candidates, task->candidates);
    moot_hash *inputs = sim_alloc(task->inputs.count, sizeof(*inputs));
    for (uint32_t i = 0; i < task->inputs.count; i++) {
        inputs[i] = hashes[task->inputs.items[i]];
    }
    struct identity spec = {
        .kernel_name = program_kernel_name(program_kernel(program, index)),
        .kernel_version = 1,
        .args = args,
        .args_size = sizeof(args),
        .inputs = inputs,
        .input_count = task->inputs.count,
        .key = task->once ? key : NULL,
        .key_size = task->once ? sizeof(key) : 0,
        .once = task->once || task->stretches,
        .idempotent = task->idempotent,
        .nested = task->parent != PROGRAM_NONE,
        .candidates = task->candidates != 0 ? &candidates : NULL,
    };
    if (task->beside != PROGRAM_NONE) {
        spec.place = hash_place(&hashes[task->beside]);
    }
    if (task->parent != PROGRAM_NONE) {
        spec.scope = hashes[task->parent];
    } else if (task->scope != 0) {
        spec.scope = sim_scope(task->scope);
    }
    struct rankset homes;
    set_ranks(&homes, task->homes);
    const struct identity_array array = {.count = task->elements,
                                         .block = task->block,
                                         .spread = task->spread,
                                         .homes = task->homes != 0 ? &homes : NULL,
                                         .bound = task->homes != 0};
    moot_hash hash =
        task->elements > 0 ? identity_array_hash(&spec, &array) : identity_hash(&spec);
    free(inputs);
    return hash;
}

/* --- Looking a hash up ------------------------------------------------------------ */

static void table_fill(struct sim *sim)
{
    sim->table_size = 16;
    while (sim->table_size < 2 * sim->program->task_count) {
        sim->table_size *= 2;
    }
    sim->table = sim_alloc(sim->table_size, sizeof(*sim->table));
    for (uint32_t i = 0; i < sim->program->task_count; i++) {
        uint64_t at = hash_word(&sim->hashes[i]);
        while (sim->table[at % sim->table_size] != 0) {
            at++;
        }
        sim->table[at % sim->table_size] = i + 1;
    }
}

uint32_t sim_task(const struct sim *sim, const moot_hash *hash)
{
    for (uint64_t at = hash_word(hash);; at++) {
        uint32_t entry = sim->table[at % sim->table_size];
        if (entry == 0) {
            return sim->program->task_count;
        }
        if (hash_equal(&sim->hashes[entry - 1], hash)) {
            return entry - 1;
        }
    }
}

const moot_hash *sim_hash(const struct sim *sim, uint32_t task)
{
    return &sim->hashes[task];
}

const moot_hash *sim_root(const struct sim *sim, uint32_t task)
{
    while (sim->program->tasks[task].beside != PROGRAM_NONE) {
        task = (uint32_t)sim->program->tasks[task].beside;
    }
    return &sim->hashes[task];
}

static uint32_t place(const struct program *program, uint64_t candidates,
                      const moot_hash *hash)
{
    struct rankset members, among;
    members = (struct rankset){0};
    for (uint32_t rank = program->rank_count; rank-- > 0;) {
        if (!rankset_add(&members, rank)) {
            abort();
        }
    }
    set_ranks(&among, candidates);
    uint32_t chair = placement_chair(hash, &members, candidates != 0 ? &among : NULL);
    rankset_release(&members);
    return chair;
}

uint32_t sim_chair(const struct sim *sim, uint32_t task)
{
    return place(sim->program, sim->program->tasks[task].candidates,
                 &sim->hashes[task]);
}

static moot_hash identify_one(const struct program *program, uint32_t task)
{
    bool ready = hashing_init();
    assert(ready);
    (void)ready;
    moot_hash *hashes = sim_alloc(task + 1, sizeof(*hashes));
    for (uint32_t i = 0; i <= task; i++) {
        hashes[i] = identify(program, i, hashes);
    }
    moot_hash hash = hashes[task];
    free(hashes);
    return hash;
}

void sim_seat(struct program *program, const uint32_t *chairs)
{
    bool ready = hashing_init();
    assert(ready);
    (void)ready;
    moot_hash *hashes = sim_alloc(program->task_count, sizeof(*hashes));
    for (uint32_t i = 0; i < program->task_count; i++) {
        struct program_task *task = &program->tasks[i];
        hashes[i] = identify(program, i, hashes);
        while (chairs[i] < program->rank_count &&
               place(program, task->candidates, &hashes[i]) != chairs[i]) {
            task->salt++;
            hashes[i] = identify(program, i, hashes);
        }
    }
    free(hashes);
}

uint32_t sim_chair_of(const struct program *program, uint32_t task)
{
    moot_hash hash = identify_one(program, task);
    return place(program, program->tasks[task].candidates, &hash);
}

uint32_t sim_finder_of(const struct program *program, uint32_t task)
{
    moot_hash hash = identify_one(program, task);
    return place(program, 0, &hash);
}

/* --- All of a program ------------------------------------------------------------- */

static void gather_inputs(struct sim *sim, uint32_t index)
{
    const struct program_task *task = &sim->program->tasks[index];
    uint32_t count = task->inputs.count + task->after.count;
    sim->inputs[index] = sim_alloc(count, sizeof(**sim->inputs));
    for (uint32_t i = 0; i < task->inputs.count; i++) {
        sim->inputs[index][i] = sim->hashes[task->inputs.items[i]];
    }
    for (uint32_t i = 0; i < task->after.count; i++) {
        sim->inputs[index][task->inputs.count + i] = sim->hashes[task->after.items[i]];
    }
}

/* An array comes after what it names, and takes nothing of it. */
static const struct message_map order_alone[LIMIT_ARRAY_INPUTS];

static void make_spec(struct sim *sim, uint32_t index)
{
    const struct program_task *task = &sim->program->tasks[index];
    program_args(sim->program, index, sim->args[index]);
    program_key(sim->program, index, sim->keys[index]);
    set_ranks(&sim->candidates[index], task->candidates);
    sim->specs[index] = (struct message_spec){
        .kernel_name = program_kernel_name(program_kernel(sim->program, index)),
        .kernel_version = 1,
        .flags = (task->once ? (uint32_t)CORE_TASK_ONCE : 0u) | CORE_TASK_PORTABLE |
                 (task->idempotent ? (uint32_t)CORE_TASK_IDEMPOTENT : 0u) |
                 (task->varies ? (uint32_t)CORE_TASK_NONDETERMINISTIC : 0u) |
                 (task->parent != PROGRAM_NONE ? (uint32_t)CORE_TASK_NESTED : 0u),
        .args = sim->args[index],
        .args_size = PROGRAM_ARGS_BYTES,
        .inputs = sim->inputs[index],
        .input_count = task->inputs.count + task->after.count,
        .after_count = task->after.count,
        .key = task->once ? sim->keys[index] : NULL,
        .key_size = task->once ? PROGRAM_KEY_BYTES : 0,
        .candidates = task->candidates != 0 ? &sim->candidates[index] : NULL,
        .count = task->elements,
        .block = task->elements > 0 ? task->block : 0,
        .spread = task->elements > 0 ? task->spread : 0,
        .maps = task->elements > 0 && task->after.count > 0 ? order_alone : NULL,
    };
    if (task->parent != PROGRAM_NONE) {
        sim->specs[index].scope = sim->specs[index].parent = sim->hashes[task->parent];
    } else if (task->scope != 0) {
        sim->specs[index].scope = sim_scope(task->scope);
    }
}

void sim_identify(struct sim *sim)
{
    uint32_t count = sim->program->task_count;
    bool ready = hashing_init();
    assert(ready);
    (void)ready;
    sim->hashes = sim_alloc(count, sizeof(*sim->hashes));
    sim->specs = sim_alloc(count, sizeof(*sim->specs));
    sim->args = sim_alloc(count, sizeof(*sim->args));
    sim->keys = sim_alloc(count, sizeof(*sim->keys));
    sim->candidates = sim_alloc(count, sizeof(*sim->candidates));
    sim->inputs = sim_alloc(count, sizeof(*sim->inputs));
    for (uint32_t i = 0; i < count; i++) {
        sim->hashes[i] = identify(sim->program, i, sim->hashes);
    }
    for (uint32_t i = 0; i < count; i++) {
        gather_inputs(sim, i);
        make_spec(sim, i);
    }
    table_fill(sim);
}

void sim_forget(struct sim *sim)
{
    for (uint32_t i = 0; sim->inputs != NULL && i < sim->program->task_count; i++) {
        free(sim->inputs[i]);
    }
    free(sim->inputs);
    free(sim->candidates);
    free(sim->keys);
    free(sim->args);
    free(sim->specs);
    free(sim->hashes);
    free(sim->table);
}
