/* program_arrays.c - makes some tasks of a drawn program task arrays.
 *
 * PROGRAM_ARRAYS alone draws from the streams here, and changes nothing else that a
 * seed draws.  A task that becomes an array keeps its holders, decliners, lane, scope,
 * hint and place: so all ranks spawn it, or one, or all but one, or half, in any order.
 * Those who would cancel the task cancel the array.
 * Some are spawned in parts (program_parts.h), of which a rank may spawn more later;
 * some of the others go by stretches, as those of once kernels do.
 * Some are portable, so that ranks which do not spawn them adopt them.
 * An array takes no inputs and has no bytes: who took it as an input comes after it.
 * Some arrays have a *twin* of another count, the task behind, which those spawn who do
 * not spawn the first: as ranks do that count differently.  And some tasks *read* an
 * element, by way of a task that comes after the array (moot_array_at), and that any
 * number of ranks spawn.  It is portable, unless ranks agree: where the array is not
 * spawned yet, a real host would not take it.
 */
#include "consensus/sim/programs/program_draft.h"

#include "consensus/sim/programs/program_parts.h"
#include "hashing/array_spread.h"

#include <assert.h>
#include <stdlib.h>

enum { COUNT_MANY = 4000, BLOCK_MAX = 9 };

static uint64_t draw_count(struct random *random, uint32_t ranks)
{
    switch (random_below(random, 16)) {
    case 0:
        return 1;
    case 1:
        return random_between(random, 500, COUNT_MANY);
    case 2:
    case 3:
    case 4:
        return random_between(random, 20, 500);
    default: /* fewer than there are ranks, or some for each */
        return random_between(random, 1, UINT64_C(3) * ranks);
    }
}

static bool may_be_array(const struct program_task *task)
{
    return task->children.count == 0 && task->elements == 0;
}

static bool is_reader(const struct program *program, const struct program_task *task)
{
    return task->inputs.count == 0 && task->after.count == 1 &&
           program->tasks[task->after.items[0]].elements > 0;
}

/* A task that was beside another has a place, and candidates, of its own. */
static void part_from(struct program *program, uint32_t index)
{
    program->tasks[index].beside = PROGRAM_NONE;
    for (uint32_t i = index + 1; i < program->task_count; i++) {
        if (program->tasks[i].beside == (int32_t)index) {
            program->tasks[i].beside = PROGRAM_NONE;
        }
    }
}

static void make_array(const struct program_draft *draft, struct random *random,
                       uint32_t index)
{
    struct program_task *task = &draft->program->tasks[index];
    task->elements = draw_count(random, draft->program->rank_count);
    task->spread = (uint32_t)random_below(random, ARRAY_SPREAD_HASHED + 1);
    const uint64_t block = random_between(random, 1, BLOCK_MAX);
    task->block = task->spread == ARRAY_SPREAD_CYCLIC ? block : 0;
    task->fails = random_chance(random, 150) && has(draft, PROGRAM_FAILURES);
    task->work_us = task->elements < 100 ? task->work_us : 1 + task->work_us / 50;
    task->once = task->idempotent = task->varies = task->portable = false;
    task->candidates = 0;
    task->inputs.count = task->after.count = 0;
    part_from(draft->program, index);
}

/* Takes an item out, keeping the order of the rest; true if it was there. */
static bool take_out(struct program_list *list, uint32_t item)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i] != item) {
            list->items[kept++] = list->items[i];
        }
    }
    const bool was_there = kept < list->count;
    list->count = kept;
    return was_there;
}

/* Tasks that took arrays as inputs come after them; children take them no more. */
static void mend_takers(struct program *program, uint32_t array)
{
    for (uint32_t i = array + 1; i < program->task_count; i++) {
        struct program_task *task = &program->tasks[i];
        const bool took = take_out(&task->inputs, array);
        if (took && task->parent == PROGRAM_NONE && !list_has(&task->after, array)) {
            program_list_add(&task->after, array);
        }
    }
}

static uint64_t all_of(const struct program *program)
{
    return UINT64_MAX >> (PROGRAM_RANKS_MAX - program->rank_count);
}

/* Ranks that do not hold the one array hold the other. */
static void make_twin(const struct program_draft *draft, struct random *random,
                      uint32_t index, uint32_t twin)
{
    struct program_task *tasks = draft->program->tasks;
    const uint64_t count = draw_count(random, draft->program->rank_count);
    make_array(draft, random, twin);
    tasks[twin].elements = count + (count == tasks[index].elements);
    tasks[twin].spread = tasks[index].spread;
    tasks[twin].block = tasks[index].block;
    tasks[twin].lane = tasks[index].lane;
    tasks[twin].scope = tasks[index].scope;
    tasks[twin].holders.low = all_of(draft->program) & ~tasks[index].holders.low;
    tasks[twin].decliners.low = 0;
    tasks[twin].cancellers &= tasks[twin].holders.low;
    mend_takers(draft->program, twin);
}

/* Makes a task read an element: the like of what array_at spawns. */
static void make_reader(const struct program_draft *draft, struct random *random,
                        uint32_t array, uint32_t index)
{
    struct program_task *task = &draft->program->tasks[index];
    task->inputs.count = task->after.count = 0;
    program_list_add(&task->after, array);
    task->portable = has(draft, PROGRAM_PORTABLE);
    task->once = task->idempotent = task->varies = task->hint = false;
    task->fails = false;
    task->candidates = 0;
    part_from(draft->program, index);
    const uint64_t one = UINT64_C(1)
                         << random_below(random, draft->program->rank_count);
    const bool alone = random_chance(random, 400);
    if (has(draft, PROGRAM_SKIPS) && alone) {
        task->holders.low = one; /* an element that nobody else reads */
        task->decliners.low &= ~one;
    }
}

/* Some of the next tasks read elements of the array. */
static void make_readers(const struct program_draft *draft, struct random *random,
                         const struct program_list *top, uint32_t at)
{
    const uint32_t first = at + 1;
    const uint64_t most = random_below(random, 4);
    for (uint32_t i = first; i < top->count && i - first < most; i++) {
        const struct program_task *task = &draft->program->tasks[top->items[i]];
        if (may_be_array(task) && task->cancellers == 0) {
            make_reader(draft, random, top->items[at], top->items[i]);
        }
    }
}

/* Unless ranks may lack what they name, who holds a task holds what it takes. */
static void close_over(const struct program_draft *draft,
                       const struct program_list *top)
{
    struct program_task *tasks = draft->program->tasks;
    for (uint32_t i = top->count; i-- > 0;) {
        const struct program_task *task = &tasks[top->items[i]];
        for (uint32_t k = 0; k < task->inputs.count; k++) {
            tasks[task->inputs.items[k]].holders.low |= task->holders.low;
        }
        for (uint32_t k = 0; k < task->after.count; k++) {
            tasks[task->after.items[k]].holders.low |= task->holders.low;
        }
    }
    for (uint32_t i = 0; i < top->count; i++) {
        struct program_task *task = &tasks[top->items[i]];
        task->decliners.low &= ~task->holders.low;
        task->cancellers &= task->holders.low;
    }
}

uint64_t draft_homes(const struct program *program, struct random *random)
{
    const uint32_t first = program->rank_count < 2 ? program->rank_count : 2;
    const uint32_t ranks = program->rank_count < 64 ? program->rank_count : 64;
    uint64_t homes = UINT64_C(1) << random_below(random, first);
    if (random_chance(random, 700)) {
        homes |= random_ranks(random, ranks, 400);
    }
    return homes;
}

/* Some arrays have candidates; one of these that is there from the beginning holds it.
 */
static void draw_homes(const struct program_draft *draft)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_ARRAY_HOMES);
    const uint32_t per_mille[] = {0, 150, 500};
    const uint32_t rate = per_mille[random_below(&random, 3)];
    for (uint32_t i = 0; i < program->task_count; i++) {
        if (program->tasks[i].elements > 0 && random_chance(&random, rate)) {
            struct program_task *task = &program->tasks[i];
            task->homes = draft_homes(program, &random);
            const uint64_t one = task->homes & (~task->homes + 1);
            if ((task->homes & 3 & task->holders.low) == 0) {
                task->holders.low |= one;
                task->decliners.low &= ~one;
            }
        }
    }
}

/* Where ranks differ some arrays are spawned in parts.  None with candidates that may
 * not be there from the beginning: what nobody spawns of it would depend on that. */
static void draw_parts(const struct program_draft *draft)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_ARRAY_PARTS);
    for (uint32_t i = 0; i < program->task_count; i++) {
        struct program_task *task = &program->tasks[i];
        const bool picked = random_chance(&random, 400);
        const bool founded = (task->homes & ~UINT64_C(1)) == 0;
        if (task->elements > 0 && picked && founded && has(draft, PROGRAM_SKIPS)) {
            task->parted = true;
            task->gaps = parts_leave_gaps(program, i);
        }
    }
}

/* Some of the others have elements that start at most once. */
static void draw_stretches(struct program *program)
{
    struct random random = random_stream(program->seed, STREAM_ARRAY_STRETCHES);
    for (uint32_t i = 0; i < program->task_count; i++) {
        struct program_task *task = &program->tasks[i];
        const bool picked = random_chance(&random, 400);
        task->stretches = task->elements > 0 && picked && !task->parted;
    }
}

/* Some can be adopted by ranks that do not spawn them.  None that has gaps among what
 * its candidates spawn: these adopt it of another rank that has spawned all. */
static void draw_portable(const struct program_draft *draft)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_ARRAY_PORTABLES);
    for (uint32_t i = 0; i < program->task_count; i++) {
        struct program_task *task = &program->tasks[i];
        const bool picked = random_chance(&random, 400);
        if (task->elements > 0 && has(draft, PROGRAM_PORTABLE)) {
            const bool filled = task->gaps && task->homes != 0;
            task->portable = picked && !task->stretches && !filled;
        }
    }
}

void draft_arrays(const struct program_draft *draft, const struct program_list *top)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_ARRAYS);
    if (!has(draft, PROGRAM_ARRAYS)) {
        return;
    }
    const uint32_t per_mille[] = {50, 150, 300, 700};
    const uint32_t rate = per_mille[random_below(&random, 4)];
    for (uint32_t i = 0; i < top->count; i++) {
        const uint32_t index = top->items[i];
        const bool picked = random_chance(&random, rate);
        const bool twin = random_chance(&random, 250) && has(draft, PROGRAM_SKIPS);
        const struct program_task *task = &program->tasks[index];
        if (!picked || !may_be_array(task) || is_reader(program, task)) {
            continue;
        }
        make_array(draft, &random, index);
        mend_takers(program, index);
        if (twin && i + 1 < top->count &&
            may_be_array(&program->tasks[top->items[i + 1]])) {
            make_twin(draft, &random, index, top->items[++i]);
        } else {
            make_readers(draft, &random, top, i);
        }
    }
    draw_homes(draft);
    if (!has(draft, PROGRAM_LACKS)) {
        close_over(draft, top);
    }
    draw_parts(draft);
    draw_stretches(program);
    draw_portable(draft);
}
