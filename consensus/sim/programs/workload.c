/* workload.c - see workload.h. */
#include "consensus/sim/programs/workload.h"
#include "consensus/faultplan/plan_words.h"
#include "consensus/sim/programs/program_draft.h"
#include "consensus/sim/programs/program_parts.h"
#include "consensus/sim/programs/random.h"
#include "hashing/array_spread.h"
#include <stdlib.h>
#include <string.h>

enum {
    STREAM_WORKLOAD_TASKS = 401,
    STREAM_WORKLOAD_HOLDERS,
    STREAM_WORKLOAD_PACE,
    STREAM_WORKLOAD_SIZE,
    STREAM_WORKLOAD_HOMES,
    PHASES = 8, /* of spawns and then waits; fewer if there are few tasks */
    SPINE = 8,  /* every so many tasks one is of the spine */
    ONE_PPM = 1000000,
    ARRAYS_PPM = 250000,
    HOMES_PER_MILLE = 125, /* of arrays have candidates */
    ARRAY_SMALL = 8,       /* elements, at most, */
    ARRAY_LARGE = 500      /* and of some */
};

const char *workload_name(enum workload_kind kind)
{
    static const char *const names[] = {
#define X(name, text, rate, what) text,
        WORKLOADS(X)
#undef X
    };
    return kind < WORKLOAD_END ? names[kind] : "?";
}

bool workload_has_phases(enum workload_kind kind)
{
    return kind != WORKLOAD_RANDOM && kind != WORKLOAD_POISON &&
           kind != WORKLOAD_SCRIPT;
}

bool workload_parse(const char *word, struct workload *out, struct plan_error *error)
{
    static const uint32_t rates[] = {
#define X(name, text, rate, what) rate,
        WORKLOADS(X)
#undef X
    };
    const char *names[WORKLOAD_SCRIPT];
    struct lexer lexer = {.text = word, .end = strlen(word), .error = error};
    size_t kind;
    uint32_t chance_ppb;
    for (int i = 0; i < WORKLOAD_SCRIPT; i++) {
        names[i] = workload_name((enum workload_kind)i);
    }
    if (!lex_name(&lexer, "workload", names, WORKLOAD_SCRIPT, &kind)) {
        return false;
    }
    uint32_t rate_ppm = rates[kind];
    if (rate_ppm != 0 && lex_skip(&lexer, ":")) {
        if (!lex_chance(&lexer, &chance_ppb)) {
            return false;
        }
        rate_ppm = chance_ppb / (PLAN_CERTAIN_PPB / ONE_PPM);
    }
    if (lexer.at < lexer.end) {
        return lex_wrong(&lexer, lexer.at, lexer.end - lexer.at, "",
                         rate_ppm != 0 ? "a workload ends behind its rate"
                                       : "\"%s\" takes no rate",
                         names[kind]);
    }
    out->kind = (enum workload_kind)kind;
    out->rate_ppm = rate_ppm;
    return true;
}

/* --- Tasks ------------------------------------------------------------------------ */

struct loom {
    const struct workload *workload;
    struct program *program;
    uint32_t tasks;  /* wanted */
    uint32_t phase;  /* tasks of one */
    bool *fetched;   /* by task: who spawns it fetches it */
    uint32_t *order; /* of a phase, for the rank that is written */
    struct random random, homes;
};

static uint32_t add_task(struct loom *loom, int32_t parent)
{
    char name[PROGRAM_NAME_BYTES];
    (void)snprintf(name, sizeof(name), "t%u", (unsigned)loom->program->task_count);
    uint32_t index = program_add_task(loom->program, name, parent);
    struct program_task *task = &loom->program->tasks[index];
    task->work_us = (uint32_t)random_between(&loom->random, 1, 20);
    task->result_bytes = (uint32_t)random_between(&loom->random, 8, 64);
    task->awaited = parent != PROGRAM_NONE;
    return index;
}

static bool is_spine(uint32_t index) { return index % SPINE == 0; }

static bool has_arrays(enum workload_kind kind)
{
    return kind == WORKLOAD_ARRAY || kind == WORKLOAD_HOLES || kind == WORKLOAD_PARTS ||
           kind == WORKLOAD_CANCELS;
}

/* Few elements, or hundreds, in any spread; of one in sixteen an element fails. */
static void make_array(struct loom *loom, struct program_task *task)
{
    const uint64_t most = random_chance(&loom->random, 250) ? ARRAY_LARGE : ARRAY_SMALL;
    task->elements = random_between(&loom->random, 1, most);
    task->spread = (uint32_t)random_below(&loom->random, ARRAY_SPREAD_HASHED + 1);
    task->block =
        task->spread == ARRAY_SPREAD_CYCLIC ? random_between(&loom->random, 1, 5) : 0;
    task->fails = random_chance(&loom->random, 63);
    task->parted = loom->workload->kind == WORKLOAD_PARTS;
    if (random_chance(&loom->homes, HOMES_PER_MILLE)) {
        task->homes = draft_homes(loom->program, &loom->homes);
    }
}

/* A leaf of such a workload: an array, or a task that may come after one. */
static void add_array_or_leaf(struct loom *loom, uint32_t index)
{
    struct program_task *task = &loom->program->tasks[index];
    const uint32_t rate_ppm = loom->workload->kind == WORKLOAD_ARRAY
                                  ? loom->workload->rate_ppm
                                  : (uint32_t)ARRAYS_PPM;
    if (random_below(&loom->random, ONE_PPM) < rate_ppm) {
        make_array(loom, task);
        loom->fetched[index] = random_chance(&loom->random, 500);
    } else if (loom->workload->kind == WORKLOAD_ARRAY && /* all spawn what it follows */
               loom->program->tasks[index - 1].elements > 0 &&
               random_chance(&loom->random, 500)) {
        program_list_add(&task->after, index - 1);
    }
}

/* The ends of what all are steps of stand in a row. */
static void add_step(struct loom *loom)
{
    const uint32_t index = add_task(loom, PROGRAM_NONE);
    struct program_task *task = &loom->program->tasks[index];
    if (!is_spine(index)) {
        make_array(loom, task);
        loom->fetched[index] = random_chance(&loom->random, 250);
    } else if (index > 0) {
        program_list_add(&task->inputs, index - SPINE);
    }
    if (index > 0 && (task->elements > 0 || !task[-1].fails)) {
        program_list_add(&task->after, index - 1);
    }
}

static void add_leaf_or_spine(struct loom *loom)
{
    uint32_t index = add_task(loom, PROGRAM_NONE);
    struct program_task *task = &loom->program->tasks[index];
    uint32_t latest = index - (is_spine(index) ? SPINE : index % SPINE);
    if (index == 0) {
        return;
    }
    if (has_arrays(loom->workload->kind) && !is_spine(index)) {
        add_array_or_leaf(loom, index);
    }
    if (task->elements > 0) {
        return;
    }
    program_list_add(&task->inputs, latest);
    if (!is_spine(index) && latest > 0 && random_chance(&loom->random, 500)) {
        program_list_add(&task->inputs, latest - SPINE);
    }
    loom->fetched[index] = !is_spine(index) && random_chance(&loom->random, 125);
    task->once = loom->workload->kind == WORKLOAD_ONCE && index % 4 == 1;
    task->hint = loom->workload->kind == WORKLOAD_HINT && !is_spine(index);
}

static void add_tree(struct loom *loom, int32_t parent, uint32_t depth)
{
    if (loom->program->task_count >= loom->tasks) {
        return;
    }
    uint32_t index = add_task(loom, parent);
    loom->fetched[index] = parent == PROGRAM_NONE;
    for (int child = 0; depth < PROGRAM_NEST_MAX && child < 3; child++) {
        add_tree(loom, (int32_t)index, depth + 1);
    }
}

static void add_tasks(struct loom *loom)
{
    while (loom->program->task_count < loom->tasks) {
        uint32_t index = loom->program->task_count;
        switch (loom->workload->kind) {
        case WORKLOAD_TREE:
            add_tree(loom, PROGRAM_NONE, 0);
            break;
        case WORKLOAD_CHAIN:
            (void)add_task(loom, PROGRAM_NONE);
            if (index > 0) {
                program_list_add(&loom->program->tasks[index].inputs, index - 1);
            }
            break;
        case WORKLOAD_STEPS:
            add_step(loom);
            break;
        case WORKLOAD_RANDOM:
        case WORKLOAD_AGREE:
        case WORKLOAD_SKIP:
        case WORKLOAD_SHUFFLE:
        case WORKLOAD_BRANCH:
        case WORKLOAD_ARRAY:
        case WORKLOAD_HOLES:
        case WORKLOAD_PARTS:
        case WORKLOAD_CANCELS:
        case WORKLOAD_ONCE:
        case WORKLOAD_HINT:
        case WORKLOAD_POISON:
        case WORKLOAD_SCRIPT:
        case WORKLOAD_END:
        default:
            add_leaf_or_spine(loom);
            break;
        }
    }
}

/* --- Who spawns what ------------------------------------------------------------- */

/* Leaves that one rank alone spawns, in runs of one to five: the rank plus one, or 0.
 */
static uint32_t *draw_branches(struct loom *loom)
{
    uint32_t count = loom->program->task_count, rank = 0, left = 0;
    uint32_t *only = calloc((size_t)count + 1, sizeof(*only));
    if (only == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < count && loom->workload->kind == WORKLOAD_BRANCH; i++) {
        if (is_spine(i)) {
            continue;
        }
        if (left == 0) {
            bool begins =
                random_below(&loom->random, ONE_PPM) < loom->workload->rate_ppm;
            rank = begins ? 1 + (uint32_t)random_below(&loom->random,
                                                       loom->program->rank_count)
                          : 0;
            left = (uint32_t)random_between(&loom->random, 1, 5);
        }
        left--;
        only[i] = rank;
    }
    return only;
}

static bool skips(const struct loom *loom, struct random *random, uint32_t index)
{
    enum workload_kind kind = loom->workload->kind;
    return !is_spine(index) &&
           (kind == WORKLOAD_SKIP || kind == WORKLOAD_ONCE || kind == WORKLOAD_HINT ||
            kind == WORKLOAD_HOLES || kind == WORKLOAD_STEPS ||
            (kind == WORKLOAD_PARTS && loom->program->tasks[index].parted)) &&
           random_below(random, ONE_PPM) < loom->workload->rate_ppm;
}

/* Some rank spawns every leaf: the last one does if nobody before it did. */
static bool is_left_over(const struct loom *loom, uint32_t rank, uint32_t index)
{
    return rank + 1 == loom->program->rank_count &&
           rankset_empty(&loom->program->tasks[index].holders);
}

/* Some of it, and the others at once, or at the end of the phase. */
static void spawn_parts(struct loom *loom, uint32_t rank, uint32_t index)
{
    struct program *program = loom->program;
    struct range parts[PARTS_MAX];
    const uint32_t count = parts_draw(program, index, rank, parts);
    program_add_step(program, rank, 0, PROGRAM_SPAWN, index)->places = parts[0];
    for (uint32_t i = 1; i < count && index % 2 == 0; i++) {
        program_add_step(program, rank, 0, PROGRAM_GROW, index)->places = parts[i];
    }
}

static void grow_parts(struct loom *loom, uint32_t rank, uint32_t first, uint32_t end)
{
    struct program *program = loom->program;
    for (uint32_t index = first | 1; index < end; index += 2) {
        const struct program_task *task = &program->tasks[index];
        struct range parts[PARTS_MAX];
        const uint32_t count = task->parted && rankset_has(&task->holders, rank)
                                   ? parts_draw(program, index, rank, parts)
                                   : 0;
        for (uint32_t i = 1; i < count; i++) {
            program_add_step(program, rank, 0, PROGRAM_GROW, index)->places = parts[i];
        }
    }
}

static void spawn(struct loom *loom, const uint32_t *only, struct random *random,
                  uint32_t rank, uint32_t index)
{
    struct program *program = loom->program;
    bool held = only[index] == 0 || only[index] == rank + 1;
    if (skips(loom, random, index) && !is_left_over(loom, rank, index)) {
        held = false;
    }
    if (held && program->tasks[index].parted) {
        spawn_parts(loom, rank, index);
    } else if (held) {
        (void)program_add_step(program, rank, 0, PROGRAM_SPAWN, index);
    } else if (loom->workload->kind == WORKLOAD_HINT) {
        (void)program_add_step(program, rank, 0, PROGRAM_DECLINE, index);
    }
}

/* The first ranks do: a program notes as many of a task. */
static void cancel_some(struct loom *loom, struct random *random, uint32_t rank,
                        uint32_t index)
{
    if (loom->workload->kind == WORKLOAD_CANCELS && rank < PROGRAM_RANKS_MAX &&
        loom->program->tasks[index].elements > 0 &&
        random_below(random, ONE_PPM) < loom->workload->rate_ppm) {
        program_add_step(loom->program, rank, 0, PROGRAM_CANCEL, index);
    }
}

static void compute(struct loom *loom, struct random *pace, uint32_t rank)
{
    const struct plan_spread *lateness = &loom->workload->lateness;
    if (lateness->type == PLAN_SPREAD_NONE) {
        return;
    }
    uint64_t us = plan_spread_ns(lateness, random_next(pace)) / 1000;
    if (us > 0) {
        program_add_step(loom->program, rank, 0, PROGRAM_COMPUTE, PROGRAM_NONE)
            ->pause_us = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
    }
}

/* The top-level tasks of first..end-1, in the order in which the rank spawns them. */
static uint32_t order_phase(struct loom *loom, struct random *random, uint32_t first,
                            uint32_t end)
{
    uint32_t *order = loom->order;
    bool shuffled = loom->workload->kind == WORKLOAD_SHUFFLE;
    uint32_t count = 0, fixed = 0;
    for (uint32_t i = first; i < end; i++) {
        if (shuffled && is_spine(i)) {
            order[fixed++] = i;
        }
    }
    count = fixed;
    for (uint32_t i = first; i < end; i++) {
        if (loom->program->tasks[i].parent == PROGRAM_NONE &&
            !(shuffled && is_spine(i))) {
            order[count++] = i;
        }
    }
    for (uint32_t left = count; shuffled && left > fixed + 1; left--) {
        uint32_t at = fixed + (uint32_t)random_below(random, left - fixed);
        uint32_t item = order[at];
        order[at] = order[left - 1];
        order[left - 1] = item;
    }
    return count;
}

static void write_waits(struct loom *loom, uint32_t rank, uint32_t first, uint32_t end)
{
    struct program *program = loom->program;
    enum workload_kind kind = loom->workload->kind;
    uint32_t latest = kind == WORKLOAD_CHAIN ? end - 1 : (end - 1) / SPINE * SPINE;
    for (uint32_t i = first; i < end; i++) {
        if (loom->fetched[i] && rankset_has(&program->tasks[i].holders, rank)) {
            (void)program_add_step(program, rank, 0, PROGRAM_FETCH, i);
        }
    }
    if (kind != WORKLOAD_TREE) {
        (void)program_add_step(program, rank, 0, PROGRAM_FETCH, latest);
    }
}

static void write_rank(struct loom *loom, const uint32_t *only, uint32_t rank)
{
    uint64_t place = random_mix(loom->program->seed) + rank;
    struct random random = random_stream(place, STREAM_WORKLOAD_HOLDERS);
    struct random pace = random_stream(place, STREAM_WORKLOAD_PACE);
    for (uint32_t first = 0; first < loom->program->task_count; first += loom->phase) {
        uint32_t end = first + loom->phase;
        if (end > loom->program->task_count) {
            end = loom->program->task_count;
        }
        compute(loom, &pace, rank);
        uint32_t count = order_phase(loom, &random, first, end);
        for (uint32_t i = 0; i < count; i++) {
            spawn(loom, only, &random, rank, loom->order[i]);
            cancel_some(loom, &random, rank, loom->order[i]);
        }
        grow_parts(loom, rank, first, end);
        write_waits(loom, rank, first, end);
    }
}

/* --- The whole -------------------------------------------------------------------- */

/* Nobody spawns it of the ranks that may run it. */
static bool lacks_home(const struct program *program, uint32_t task)
{
    const struct rankset *holders = &program->tasks[task].holders;
    uint32_t rank = rankset_next(holders, 0);
    while (rank != UINT32_MAX && !program_is_home(program, task, rank)) {
        rank = rankset_next(holders, rank + 1);
    }
    return rank == UINT32_MAX && program->tasks[task].homes != 0;
}

static struct program *weave(const struct workload *workload, uint64_t seed,
                             uint32_t ranks, uint32_t tasks)
{
    enum workload_kind kind = workload->kind;
    struct loom loom = {
        .workload = workload,
        .program = program_blank(seed, ranks, 1),
        .tasks = tasks,
        .fetched = calloc((size_t)tasks + 1, sizeof(*loom.fetched)),
        .random = random_stream(seed, STREAM_WORKLOAD_TASKS),
        .homes = random_stream(seed, STREAM_WORKLOAD_HOMES),
    };
    loom.phase = SPINE * ((tasks + PHASES * SPINE - 1) / (PHASES * SPINE));
    loom.order = calloc(loom.phase, sizeof(*loom.order));
    if (loom.fetched == NULL || loom.order == NULL) {
        abort();
    }
    loom.program->agree = kind == WORKLOAD_AGREE || kind == WORKLOAD_CHAIN ||
                          kind == WORKLOAD_TREE || kind == WORKLOAD_ARRAY;
    loom.program->waits_alike = loom.program->agree;
    loom.program->plain = kind != WORKLOAD_STEPS && /* an end may come after what its
                                                     rank has skipped */
                          kind != WORKLOAD_PARTS;
    add_tasks(&loom);
    uint32_t *only = draw_branches(&loom);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        write_rank(&loom, only, rank);
    }
    for (uint32_t i = 0; i < loom.program->task_count; i++) {
        struct program_task *task = &loom.program->tasks[i];
        task->gaps = (task->parted && parts_leave_gaps(loom.program, i)) ||
                     lacks_home(loom.program, i);
    }
    program_finish(loom.program);
    free(only);
    free(loom.order);
    free(loom.fetched);
    return loom.program;
}

uint32_t workload_task_count(uint64_t seed, uint32_t tasks)
{
    struct random size = random_stream(seed, STREAM_WORKLOAD_SIZE);
    uint32_t drawn = (uint32_t)random_between(&size, 12, 60);
    return tasks != 0 ? tasks : drawn;
}

static struct program *draw(uint64_t seed, uint32_t ranks, uint32_t tasks,
                            uint32_t features, struct script_error *error)
{
    *error = (struct script_error){0};
    (void)snprintf(error->wrong, sizeof(error->wrong),
                   "random programs have at most %d ranks", PROGRAM_RANKS_MAX);
    return program_new(
        &(struct program_options){.seed = seed,
                                  .ranks = ranks,
                                  .tasks = workload_task_count(seed, tasks),
                                  .features = features});
}

struct program *workload_program(const struct workload *workload, uint64_t seed,
                                 uint32_t ranks, uint32_t tasks,
                                 struct script_error *error)
{
    if (workload->kind == WORKLOAD_SCRIPT) {
        return script_program(workload->script, seed, ranks, error);
    }
    if (workload->kind == WORKLOAD_RANDOM) {
        return draw(seed, ranks, tasks, PROGRAM_ALL, error);
    }
    if (workload->kind == WORKLOAD_POISON) {
        return workload_survivable(seed, ranks, tasks, PROGRAM_POISON, error);
    }
    return weave(workload, seed, ranks, workload_task_count(seed, tasks));
}

struct program *workload_survivable(uint64_t seed, uint32_t ranks, uint32_t tasks,
                                    uint32_t more, struct script_error *error)
{
    const uint32_t features = (PROGRAM_ALL & ~(uint32_t)PROGRAM_BARRIERS) | more;
    return draw(seed, ranks, tasks, features, error);
}
