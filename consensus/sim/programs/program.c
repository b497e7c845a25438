/* program.c - what a program is made of, what its tasks compute, and its oracle.
 *
 * program.h says what programs are; program_random.c draws them, program_print.c shows
 * them.  The mixing function is plain 64-bit arithmetic over bytes taken as
 * little-endian words, so that the oracle is the same on every machine.
 */
#include "consensus/sim/programs/program.h"
#include "consensus/sim/programs/random.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *items, uint32_t *capacity, uint32_t count, size_t item_bytes)
{
    if (count < *capacity) {
        return items;
    }
    *capacity = *capacity == 0 ? 4 : *capacity * 2;
    void *more = realloc(items, *capacity * item_bytes);
    if (more == NULL) {
        abort();
    }
    return more;
}

static void *zeroed(size_t count, size_t item_bytes)
{
    void *items = calloc(count == 0 ? 1 : count, item_bytes);
    if (items == NULL) {
        abort();
    }
    return items;
}

void program_list_add(struct program_list *list, uint32_t item)
{
    list->items = grow(list->items, &list->capacity, list->count, sizeof(*list->items));
    list->items[list->count++] = item;
}

struct program *program_blank(uint64_t seed, uint32_t ranks, uint32_t lanes)
{
    assert(ranks >= 1 && ranks <= LIMIT_RANKS);
    assert(lanes >= 1 && lanes <= PROGRAM_LANES_MAX);
    struct program *program = zeroed(1, sizeof(*program));
    program->seed = seed;
    program->rank_count = ranks;
    program->lane_count = lanes;
    program->scripts = zeroed((size_t)ranks * lanes, sizeof(*program->scripts));
    return program;
}

void program_free(struct program *program)
{
    if (program == NULL) {
        return;
    }
    for (uint32_t i = 0; i < program->task_count; i++) {
        free(program->tasks[i].inputs.items);
        free(program->tasks[i].after.items);
        free(program->tasks[i].children.items);
        rankset_release(&program->tasks[i].holders);
        rankset_release(&program->tasks[i].decliners);
        if (program->outcomes != NULL) {
            free(program->outcomes[i].bytes);
        }
    }
    for (uint32_t s = 0; s < program->rank_count * program->lane_count; s++) {
        for (uint32_t i = 0; i < program->scripts[s].count; i++) {
            free(program->scripts[s].steps[i].tasks.items);
        }
        free(program->scripts[s].steps);
    }
    free(program->tasks);
    free(program->outcomes);
    free(program->scripts);
    free(program);
}

uint32_t program_add_task(struct program *program, const char *name, int32_t parent)
{
    program->tasks = grow(program->tasks, &program->task_capacity, program->task_count,
                          sizeof(*program->tasks));
    uint32_t index = program->task_count++;
    struct program_task *task = &program->tasks[index];
    memset(task, 0, sizeof(*task));
    (void)snprintf(task->name, sizeof(task->name), "%s", name);
    task->parent = parent;
    task->beside = PROGRAM_NONE;
    task->result_bytes = 8;
    if (parent != PROGRAM_NONE) {
        task->depth = program->tasks[parent].depth + 1;
        program_list_add(&program->tasks[parent].children, index);
    }
    return index;
}

static void include(struct rankset *ranks, uint32_t rank)
{
    if (!rankset_add(ranks, rank)) {
        abort();
    }
}

struct program_step *program_add_step(struct program *program, uint32_t rank,
                                      uint32_t lane, enum program_op op, int64_t task)
{
    assert(rank < program->rank_count && lane < program->lane_count);
    struct program_script *script =
        &program->scripts[rank * program->lane_count + lane];
    script->steps =
        grow(script->steps, &script->capacity, script->count, sizeof(*script->steps));
    struct program_step *step = &script->steps[script->count++];
    memset(step, 0, sizeof(*step));
    step->op = op;
    if (task != PROGRAM_NONE) {
        program_list_add(&step->tasks, (uint32_t)task);
    }
    if (op == PROGRAM_SPAWN) {
        include(&program->tasks[task].holders, rank);
    }
    if (op == PROGRAM_DECLINE) {
        include(&program->tasks[task].decliners, rank);
    }
    if (op == PROGRAM_CANCEL && rank < 64) {
        program->tasks[task].late_cancellers |= UINT64_C(1) << rank;
    }
    return step;
}

const struct program_script *program_script(const struct program *program,
                                            uint32_t rank, uint32_t lane)
{
    assert(rank < program->rank_count && lane < program->lane_count);
    return &program->scripts[rank * program->lane_count + lane];
}

bool program_has_step(const struct program *program, enum program_op op)
{
    const struct program_script *script = program_script(program, 0, 0);
    for (uint32_t i = 0; i < script->count; i++) {
        if (script->steps[i].op == op) {
            return true;
        }
    }
    return false;
}

/* --- Identity --------------------------------------------------------------------- */

uint32_t program_kernel(const struct program *program, uint32_t task)
{
    return (program->tasks[task].once ? PROGRAM_KERNEL_ONCE : 0u) |
           (program->tasks[task].portable ? PROGRAM_KERNEL_PORTABLE : 0u) |
           (program->tasks[task].idempotent ? PROGRAM_KERNEL_IDEMPOTENT : 0u);
}

const char *program_kernel_name(uint32_t kernel)
{
    static const char *const names[PROGRAM_KERNELS] = {"mix",
                                                       "mix-once",
                                                       "mix-portable",
                                                       "mix-once-portable",
                                                       "mix-idempotent",
                                                       "mix-once-idempotent",
                                                       "mix-portable-idempotent",
                                                       "mix-once-portable-idempotent"};
    assert(kernel < PROGRAM_KERNELS);
    return names[kernel];
}

static void put_word(uint8_t *to, uint64_t word)
{
    for (int i = 0; i < 8; i++) {
        to[i] = (uint8_t)(word >> (8 * i));
    }
}

static uint64_t get_word(const uint8_t *from, size_t size)
{
    uint64_t word = 0;
    for (size_t i = 0; i < size && i < 8; i++) {
        word |= (uint64_t)from[i] << (8 * i);
    }
    return word;
}

void program_args(const struct program *program, uint32_t task,
                  uint8_t args[PROGRAM_ARGS_BYTES])
{
    put_word(args, program->seed);
    put_word(args + 8, task);
    put_word(args + 16, program->tasks[task].salt);
}

uint32_t program_args_task(const struct program *program, const void *args, size_t size)
{
    const uint8_t *bytes = args;
    if (size != PROGRAM_ARGS_BYTES || get_word(bytes, 8) != program->seed) {
        return program->task_count;
    }
    uint64_t task = get_word(bytes + 8, 8);
    return task < program->task_count ? (uint32_t)task : program->task_count;
}

void program_key(const struct program *program, uint32_t task,
                 uint8_t key[PROGRAM_KEY_BYTES])
{
    put_word(key, random_mix(program->seed) + task);
}

/* --- What a task gives ------------------------------------------------------------ */

static uint64_t absorb(uint64_t state, const uint8_t *bytes, size_t size)
{
    state = random_mix(state + size + 1);
    for (size_t at = 0; at < size; at += 8) {
        state = random_mix(state ^ get_word(bytes + at, size - at)) + at;
    }
    return state;
}

void program_compute(const struct program *program, uint32_t task,
                     const struct program_bytes *parts, size_t part_count, uint8_t *out)
{
    uint64_t state = random_mix(program->seed) ^ (uint64_t)task << 32;
    for (size_t i = 0; i < part_count; i++) {
        state = absorb(state, parts[i].data, parts[i].size);
    }
    struct random stream = random_stream(state, task);
    uint8_t word[8];
    for (size_t at = 0; at < program->tasks[task].result_bytes; at += 8) {
        size_t left = program->tasks[task].result_bytes - at;
        put_word(word, random_next(&stream));
        memcpy(out + at, word, left < 8 ? left : 8);
    }
}

/* --- The oracle ------------------------------------------------------------------- */

const uint8_t *program_result(const struct program *program, uint32_t task,
                              size_t *size)
{
    const struct program_outcome *outcome = &program->outcomes[task];
    *size = outcome->fails ? 0 : program->tasks[task].result_bytes;
    return outcome->fails ? NULL : outcome->bytes;
}

bool program_fails(const struct program *program, uint32_t task)
{
    return program->outcomes[task].fails;
}

bool program_runs(const struct program *program, uint32_t task)
{
    return program->outcomes[task].runs;
}

bool program_homed(const struct program *program, uint32_t task)
{
    return program->outcomes[task].homed;
}

bool program_is_home(const struct program *program, uint32_t task, uint32_t rank)
{
    const uint64_t homes = program->tasks[task].homes;
    return homes == 0 || (rank < 64 && (homes >> rank & 1) != 0);
}

bool program_shaky(const struct program *program, uint32_t task)
{
    return program->outcomes[task].shaky;
}

uint32_t program_poison_count(const struct program *program)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->task_count; i++) {
        count += program->tasks[i].poison;
    }
    return count;
}

bool program_ghost(const struct program *program, uint32_t task)
{
    return program->tasks[task].parent == PROGRAM_NONE &&
           rankset_empty(&program->tasks[task].holders);
}

static void evaluate(struct program *program, uint32_t index);

/* Evaluates all of them; true if none fails.  A ghost among them shows in *ghostly. */
static bool all_succeed(struct program *program, const struct program_list *list,
                        bool *ghostly)
{
    bool good = true;
    for (uint32_t i = 0; i < list->count; i++) {
        good &= !program->outcomes[list->items[i]].fails;
        *ghostly |= program->outcomes[list->items[i]].ghostly;
    }
    return good;
}

static void evaluate_result(struct program *program, uint32_t index)
{
    const struct program_task *task = &program->tasks[index];
    struct program_bytes *parts =
        zeroed((size_t)task->inputs.count + task->children.count, sizeof(*parts));
    size_t count = 0;
    for (uint32_t i = 0; i < task->inputs.count; i++, count++) {
        parts[count].data =
            program_result(program, task->inputs.items[i], &parts[count].size);
    }
    for (uint32_t i = 0; i < task->children.count; i++) {
        if (program->tasks[task->children.items[i]].awaited) {
            parts[count].data =
                program_result(program, task->children.items[i], &parts[count].size);
            count++;
        }
    }
    program->outcomes[index].bytes = zeroed(task->result_bytes, 1);
    program_compute(program, index, parts, count, program->outcomes[index].bytes);
    free(parts);
}

/* Evaluates a task whose inputs are evaluated and whose spawner, if it has one, runs.
 */
static void evaluate(struct program *program, uint32_t index)
{
    const struct program_task *task = &program->tasks[index];
    struct program_outcome *outcome = &program->outcomes[index];
    outcome->ghostly = program_ghost(program, index);
    bool good = !outcome->ghostly;
    outcome->ghostly |= task->gaps;
    if (task->elements == 0) {
        good &= all_succeed(program, &task->inputs, &outcome->ghostly);
        good &= all_succeed(program, &task->after, &outcome->ghostly);
    }
    outcome->runs = good && task->elements == 0;
    outcome->fails = true;
    if (!good || task->fails || task->gaps) {
        return;
    }
    bool children_good = true;
    for (uint32_t i = 0; i < task->children.count; i++) {
        uint32_t child = task->children.items[i];
        evaluate(program, child);
        if (!program->tasks[child].awaited) {
            continue;
        }
        children_good &= !program->outcomes[child].fails;
        outcome->ghostly |= program->outcomes[child].ghostly;
    }
    if (!children_good || task->poison) {
        return;
    }
    outcome->fails = false;
    evaluate_result(program, index);
}

static bool any_homed(const struct program *program, const struct program_list *list)
{
    bool any = false;
    for (uint32_t i = 0; i < list->count; i++) {
        any |= program->outcomes[list->items[i]].homed;
    }
    return any;
}

static bool find_homed(struct program *program)
{
    bool found = false;
    for (uint32_t i = 0; i < program->task_count; i++) {
        const struct program_task *task = &program->tasks[i];
        struct program_outcome *outcome = &program->outcomes[i];
        const bool homed =
            task->homes != 0 || any_homed(program, &task->inputs) ||
            any_homed(program, &task->after) || any_homed(program, &task->children) ||
            (task->parent != PROGRAM_NONE && program->outcomes[task->parent].homed);
        found |= homed && !outcome->homed;
        outcome->homed |= homed;
    }
    return found;
}

static bool any_shaky(const struct program *program, const struct program_list *list)
{
    bool any = false;
    for (uint32_t i = 0; i < list->count; i++) {
        any |= program->outcomes[list->items[i]].shaky;
    }
    return any;
}

/* True if anything was found that was not known to be. */
static bool find_shaky(struct program *program)
{
    bool found = false;
    for (uint32_t i = 0; i < program->task_count; i++) {
        const struct program_task *task = &program->tasks[i];
        struct program_outcome *outcome = &program->outcomes[i];
        bool shaky =
            (task->cancellers | task->late_cancellers) != 0 || task->parted ||
            any_shaky(program, &task->inputs) || any_shaky(program, &task->after) ||
            any_shaky(program, &task->children) ||
            (task->parent != PROGRAM_NONE && program->outcomes[task->parent].shaky);
        found |= shaky && !outcome->shaky;
        outcome->shaky |= shaky;
    }
    return found;
}

void program_finish(struct program *program)
{
    assert(program->outcomes == NULL);
    program->outcomes = zeroed(program->task_count, sizeof(*program->outcomes));
    for (uint32_t i = 0; i < program->task_count; i++) {
        if (program->tasks[i].parent == PROGRAM_NONE) {
            evaluate(program, i);
        } else if (!program->outcomes[program->tasks[i].parent].runs) {
            program->outcomes[i].fails = true;
        }
    }
    while (find_homed(program)) {
        continue;
    }
    while (find_shaky(program)) {
        continue;
    }
}
