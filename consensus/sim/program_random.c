/* program_random.c - draws a program from a seed.
 *
 * A seed first draws a *style*: which features occur, how far inputs reach back (chains
 * or wide graphs), how often ranks diverge, how disorderly they spawn, how often they
 * wait.  Then tasks, then who holds what, then the scripts, each from a stream of its
 * own.  Tasks that are skipped come in runs ("branches"), because that is how programs
 * diverge: a condition guards a stretch of code, not one spawn.
 *
 * The rules that make a program legal stand in program.h; where one is kept here, the
 * comment says (W) or names it.
 */
#include "program.h"
#include "proto/limits.h"
#include "random.h"
#include <stdlib.h>
#include <string.h>

/* What the streams of a seed are for. */
enum { STREAM_STYLE = 1, STREAM_TASKS, STREAM_HOLDERS, STREAM_SCRIPTS };

struct style {
    uint32_t tasks;
    uint32_t reach;      /* how far back an input lies, at most */
    uint32_t inputs_max; /* per task */
    uint32_t diverge_per_mille;
    uint32_t branch_max; /* tasks in a row with the same holders */
    uint32_t window;     /* a rank spawns any of the next `window` that are ready */
    uint32_t wait_per_mille;
    uint32_t final_per_mille; /* of all tasks, fetched at the end of each script */
    uint32_t work_us_max;
    bool waits_alike; /* agreeing: even the waits are the same on all ranks */
};

struct draft {
    struct program *program;
    struct style style;
};

static bool has(const struct draft *draft, enum program_feature feature)
{
    return (draft->program->features & (uint32_t)feature) != 0;
}

/* One of four, alike. */
static uint32_t pick(struct random *random, uint32_t a, uint32_t b, uint32_t c,
                     uint32_t d)
{
    const uint32_t of[4] = {a, b, c, d};
    return of[random_below(random, 4)];
}

/* Each feature occurs in three programs of five; the mask takes features away without
 * moving anything else in the style. */
static uint32_t draw_features(struct random *random, uint32_t mask)
{
    uint32_t drawn = 0;
    for (uint32_t bit = 1; bit < PROGRAM_ALL; bit <<= 1)
        if (random_chance(random, bit <= PROGRAM_WAITS ? 850 : 450))
            drawn |= bit;
    return drawn & mask;
}

static struct style draw_style(struct random *random, uint32_t tasks, bool agree)
{
    struct style style = {
        .tasks = (uint32_t)random_between(random, 50, 500),
        .reach = pick(random, 1, 4, 16, 1000),
        .inputs_max = pick(random, 1, 2, 3, 6),
        .diverge_per_mille = pick(random, 20, 100, 300, 900),
        .branch_max = pick(random, 1, 1, 5, 40),
        .window = pick(random, 2, 4, 16, 1000),
        .wait_per_mille = pick(random, 10, 50, 200, 600),
        .final_per_mille = pick(random, 0, 50, 300, 1000),
        .work_us_max = pick(random, 1, 10, 50, 200),
        .waits_alike = random_chance(random, 500),
    };
    if (tasks != 0)
        style.tasks = tasks;
    if (agree)
        style.window = 1;
    return style;
}

/* --- Tasks ------------------------------------------------------------------------ */

static bool list_has(const struct program_list *list, uint32_t item)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i] == item)
            return true;
    return false;
}

static void draw_result_and_work(const struct draft *draft, struct random *random,
                                 struct program_task *task)
{
    task->result_bytes = (uint32_t)random_between(random, 0, 64);
    if (random_chance(random, 30) && has(draft, PROGRAM_LARGE))
        task->result_bytes =
            LIMIT_EAGER_BYTES + (uint32_t)random_between(random, 0, 32768);
    task->work_us = (uint32_t)random_between(random, 1, draft->style.work_us_max);
    task->portable = random_chance(random, 250) && has(draft, PROGRAM_PORTABLE);
    task->once = random_chance(random, 120) && has(draft, PROGRAM_ONCE);
    task->fails = random_chance(random, 25) && has(draft, PROGRAM_FAILURES);
}

/* A child may use what its parent may use, and older siblings. */
static void draw_child_inputs(struct program *program, struct random *random,
                              uint32_t child)
{
    struct program_task *task = &program->tasks[child];
    const struct program_task *parent = &program->tasks[task->parent];
    for (uint32_t i = 0; i < parent->inputs.count; i++)
        if (random_chance(random, 200))
            program_list_add(&task->inputs, parent->inputs.items[i]);
    for (uint32_t i = 0; i + 1 < parent->children.count; i++)
        if (random_chance(random, 300))
            program_list_add(&task->inputs, parent->children.items[i]);
}

/* Adds up to five levels' worth of children below `parent`, depth first, so that a
 * subtree is a run of indices. */
static void add_children(struct draft *draft, struct random *random, uint32_t parent)
{
    struct program *program = draft->program;
    uint32_t depth = program->tasks[parent].depth;
    uint32_t count = (uint32_t)random_between(random, 1, 5 - depth);
    for (uint32_t i = 0; i < count && program->task_count < draft->style.tasks; i++) {
        char name[PROGRAM_NAME_BYTES];
        (void)snprintf(name, sizeof name, "t%u", (unsigned)program->task_count);
        uint32_t child = program_add_task(program, name, (int32_t)parent);
        draw_result_and_work(draft, random, &program->tasks[child]);
        program->tasks[child].awaited = random_chance(random, 700);
        draw_child_inputs(program, random, child);
        if (depth + 1 < PROGRAM_NEST_MAX && random_chance(random, 300) &&
            !program->tasks[child].fails)
            add_children(draft, random, child);
    }
}

static void draw_inputs(const struct draft *draft, struct random *random,
                        struct program_task *task, const struct program_list *top)
{
    uint32_t count = (uint32_t)random_below(random, draft->style.inputs_max + 1);
    uint32_t reach = draft->style.reach < top->count ? draft->style.reach : top->count;
    for (uint32_t i = 0; i < count && reach > 0; i++) {
        uint32_t back = 1 + (uint32_t)random_below(random, reach);
        uint32_t other = top->items[top->count - back];
        bool order_only = random_chance(random, 250);
        if (list_has(&task->inputs, other) || list_has(&task->after, other))
            continue;
        if (!order_only)
            program_list_add(&task->inputs, other);
        else if (has(draft, PROGRAM_AFTER))
            program_list_add(&task->after, other);
    }
}

static void draw_tasks(struct draft *draft, struct program_list *top)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_TASKS);
    while (program->task_count < draft->style.tasks) {
        char name[PROGRAM_NAME_BYTES];
        (void)snprintf(name, sizeof name, "t%u", (unsigned)program->task_count);
        uint32_t index = program_add_task(program, name, PROGRAM_NONE);
        struct program_task *task = &program->tasks[index];
        draw_result_and_work(draft, &random, task);
        draw_inputs(draft, &random, task, top);
        task->lane = (uint32_t)random_below(&random, program->lane_count);
        task->hint = random_chance(&random, 150) && has(draft, PROGRAM_HINTS);
        program_list_add(top, index);
        if (random_chance(&random, 80) && has(draft, PROGRAM_NESTED) && !task->fails)
            add_children(draft, &random, index);
    }
}

/* --- Who holds what --------------------------------------------------------------- */

static uint64_t all_ranks(const struct program *program)
{
    return UINT64_MAX >> (PROGRAM_RANKS_MAX - program->rank_count);
}

static uint64_t random_ranks(struct random *random, uint32_t count, uint32_t per_mille)
{
    uint64_t ranks = 0;
    for (uint32_t rank = 0; rank < count; rank++)
        if (random_chance(random, per_mille))
            ranks |= UINT64_C(1) << rank;
    return ranks;
}

/* The holders of the next branch; never nobody. */
static uint64_t draw_holders(const struct program *program, struct random *random)
{
    uint32_t count = program->rank_count;
    uint64_t one = UINT64_C(1) << random_below(random, count);
    uint64_t ranks = one;
    switch (random_below(random, 4)) {
    case 0:
        break;
    case 1:
        ranks = all_ranks(program) & ~one;
        break;
    case 2:
        ranks = random_ranks(random, count, 500);
        break;
    default:
        ranks = random_ranks(random, count, 850);
        break;
    }
    return ranks != 0 ? ranks : one;
}

/* Draws candidates, and sees to it that one of them holds the task. */
static void draw_candidates(const struct program *program, struct random *random,
                            struct program_task *task)
{
    uint64_t one = UINT64_C(1) << random_below(random, program->rank_count);
    task->candidates = one;
    if (random_chance(random, 600))
        task->candidates |= random_ranks(random, program->rank_count, 400);
    if ((task->candidates & task->holders) == 0)
        task->holders |= one;
}

/* Sees to it that who holds a task holds its inputs. */
static void close_holders(struct program *program, const struct program_list *top)
{
    for (uint32_t i = top->count; i-- > 0;) {
        const struct program_task *task = &program->tasks[top->items[i]];
        for (uint32_t k = 0; k < task->inputs.count; k++)
            program->tasks[task->inputs.items[k]].holders |= task->holders;
        for (uint32_t k = 0; k < task->after.count; k++)
            program->tasks[task->after.items[k]].holders |= task->holders;
    }
    for (uint32_t i = 0; i < top->count; i++)
        program->tasks[top->items[i]].decliners &=
            ~program->tasks[top->items[i]].holders;
}

static void draw_divergence(struct draft *draft, const struct program_list *top)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_HOLDERS);
    uint64_t all = all_ranks(program), branch = all;
    uint32_t branch_left = 0;
    for (uint32_t i = 0; i < top->count; i++) {
        struct program_task *task = &program->tasks[top->items[i]];
        if (branch_left == 0) {
            bool diverges = random_chance(&random, draft->style.diverge_per_mille);
            branch = diverges ? draw_holders(program, &random) : all;
            branch_left = (uint32_t)random_between(&random, 1, draft->style.branch_max);
        }
        branch_left--;
        bool skips = has(draft, PROGRAM_SKIPS);
        task->holders = skips ? branch : all;
        if (random_chance(&random, 10) && has(draft, PROGRAM_GHOSTS))
            task->holders = 0;
        else if (random_chance(&random, 120) && has(draft, PROGRAM_CANDIDATES))
            draw_candidates(program, &random, task);
        uint64_t decliners = random_ranks(&random, program->rank_count, 300);
        if (has(draft, PROGRAM_DECLINES))
            task->decliners = decliners & all & ~task->holders;
    }
    if (!has(draft, PROGRAM_LACKS))
        close_holders(program, top);
}

/* --- Scripts ---------------------------------------------------------------------- */

struct scribe {
    const struct draft *draft;
    const struct program_list *top;
    struct random random; /* for orders */
    struct random waits;
    uint32_t rank, lane;
    uint32_t limit;         /* every own task of a lower index is spawned */
    uint32_t top_limit;     /* top[0..top_limit-1] have indices below limit */
    uint32_t next_decline;  /* top[] position */
    uint32_t next_barrier;  /* canonical index; task_count: none */
    uint32_t barrier_every; /* tasks between two; 0: none */
};

static struct program_step *write_step(struct scribe *scribe, enum program_op op,
                                       int64_t task)
{
    return program_add_step(scribe->draft->program, scribe->rank, scribe->lane, op,
                            task);
}

/* Unless the rank may wait for what it lacks, it names what it holds. */
static bool may_name(const struct scribe *scribe, uint32_t task)
{
    return has(scribe->draft, PROGRAM_LACKS) ||
           (scribe->draft->program->tasks[task].holders >> scribe->rank & 1);
}

/* A task that a wait may name here by (W), among the latest; PROGRAM_NONE if the draw
 * falls on what may only be waited for at the end, or nothing is covered yet. */
static int64_t draw_awaited(struct scribe *scribe)
{
    uint32_t back =
        1 + (uint32_t)random_below(&scribe->waits, random_chance(&scribe->waits, 700)
                                                       ? 5
                                                       : scribe->top->count);
    if (back > scribe->top_limit)
        return PROGRAM_NONE;
    uint32_t task = scribe->top->items[scribe->top_limit - back];
    if (scribe->draft->program->outcomes[task].ghostly || !may_name(scribe, task))
        return PROGRAM_NONE;
    return task;
}

static void write_poll(struct scribe *scribe)
{
    uint64_t any = random_below(&scribe->waits, scribe->top->count);
    uint32_t most_us = random_chance(&scribe->waits, 100) ? 20000 : 300;
    uint32_t pause_us = (uint32_t)random_between(&scribe->waits, 1, most_us);
    if (has(scribe->draft, PROGRAM_POLLS))
        write_step(scribe, PROGRAM_POLL, scribe->top->items[any])->pause_us = pause_us;
}

static void write_wait(struct scribe *scribe)
{
    static const enum program_op ops[8] = {
        PROGRAM_WAIT_ALL, PROGRAM_WAIT_ALL, PROGRAM_WAIT_ALL, PROGRAM_WAIT_ANY,
        PROGRAM_FETCH,    PROGRAM_FETCH,    PROGRAM_FETCH,    PROGRAM_POLL};
    enum program_op op = ops[random_below(&scribe->waits, 8)];
    if (op == PROGRAM_POLL) {
        write_poll(scribe);
        return;
    }
    int64_t task = draw_awaited(scribe);
    if (task == PROGRAM_NONE)
        return;
    struct program_step *step = write_step(scribe, op, task);
    if (op == PROGRAM_FETCH)
        return;
    for (uint64_t more = random_below(&scribe->waits, 4); more > 0; more--) {
        int64_t other = draw_awaited(scribe);
        if (other != PROGRAM_NONE && !list_has(&step->tasks, (uint32_t)other))
            program_list_add(&step->tasks, (uint32_t)other);
    }
}

static void write_declines(struct scribe *scribe, uint32_t top_end)
{
    const struct program *program = scribe->draft->program;
    for (; scribe->lane == 0 && scribe->next_decline < top_end;
         scribe->next_decline++) {
        uint32_t task = scribe->top->items[scribe->next_decline];
        if (program->tasks[task].decliners >> scribe->rank & 1)
            write_step(scribe, PROGRAM_DECLINE, task);
    }
}

/* What may stand between two spawns.  Barriers come before waits, so that no wait
 * before barrier b is for a task above b. */
static void write_between(struct scribe *scribe)
{
    const struct draft *draft = scribe->draft;
    while (scribe->top_limit < scribe->top->count &&
           scribe->top->items[scribe->top_limit] < scribe->limit)
        scribe->top_limit++;
    if (random_chance(&scribe->random, 300))
        write_declines(scribe, scribe->top_limit);
    for (; scribe->barrier_every != 0 && scribe->limit > scribe->next_barrier &&
           scribe->next_barrier < draft->program->task_count;
         scribe->next_barrier += scribe->barrier_every)
        write_step(scribe, PROGRAM_BARRIER, PROGRAM_NONE);
    if (random_chance(&scribe->waits, draft->style.wait_per_mille) &&
        has(draft, PROGRAM_WAITS))
        write_wait(scribe);
    uint32_t pause_us = (uint32_t)random_between(&scribe->waits, 1, 100);
    if (random_chance(&scribe->waits, 30))
        write_step(scribe, PROGRAM_COMPUTE, PROGRAM_NONE)->pause_us = pause_us;
}

/* True if nothing among left[0..before-1] is an input or `after` of the task. */
static bool is_ready(const struct program *program, uint32_t task, const uint32_t *left,
                     uint32_t before)
{
    for (uint32_t i = 0; i < before; i++)
        if (list_has(&program->tasks[task].inputs, left[i]) ||
            list_has(&program->tasks[task].after, left[i]))
            return false;
    return true;
}

/* Spawns all of left[] in a topological order, picking among the first `window`. */
static void write_spawns(struct scribe *scribe, uint32_t *left, uint32_t count,
                         uint32_t window)
{
    const struct program *program = scribe->draft->program;
    while (count > 0) {
        uint32_t at =
            (uint32_t)random_below(&scribe->random, window < count ? window : count);
        while (!is_ready(program, left[at], left, at))
            at--; /* left[0] is always ready */
        write_step(scribe, PROGRAM_SPAWN, left[at]);
        memmove(&left[at], &left[at + 1], (count - at - 1) * sizeof left[0]);
        count--;
        scribe->limit = count > 0 ? left[0] : program->task_count;
        write_between(scribe);
    }
}

/* After the last spawn everything may be fetched, and ghosts may be waited for. */
static void write_end(struct scribe *scribe)
{
    const struct program *program = scribe->draft->program;
    scribe->limit = program->task_count;
    write_between(scribe);
    write_declines(scribe, scribe->top->count);
    for (int ghosts = 0; ghosts < 2; ghosts++)
        for (uint32_t i = 0; i < scribe->top->count; i++) {
            uint32_t task = scribe->top->items[i];
            bool fetch =
                random_chance(&scribe->waits, scribe->draft->style.final_per_mille);
            if (fetch && may_name(scribe, task) &&
                program->outcomes[task].ghostly == (ghosts == 1))
                write_step(scribe, PROGRAM_FETCH, task);
        }
}

static void write_script(const struct draft *draft, const struct program_list *top,
                         uint32_t rank, uint32_t lane)
{
    struct program *program = draft->program;
    uint64_t place = (uint64_t)rank * PROGRAM_LANES_MAX + lane;
    uint64_t waits_place = program->waits_alike ? 0 : place;
    struct scribe scribe = {
        .draft = draft,
        .top = top,
        .random = random_stream(program->seed, STREAM_SCRIPTS + 2 * place),
        .waits = random_stream(program->seed, STREAM_SCRIPTS + 2 * waits_place + 1),
        .rank = rank,
        .lane = lane,
    };
    if (lane == 0 && has(draft, PROGRAM_BARRIERS))
        scribe.barrier_every = program->task_count / 4 + 1;
    scribe.next_barrier = scribe.barrier_every;
    bool disorderly = random_chance(&scribe.random, 700);
    bool late = random_chance(&scribe.random, 150);
    uint32_t window =
        has(draft, PROGRAM_DISORDER) && disorderly ? draft->style.window : 1;
    if (late)
        write_step(&scribe, PROGRAM_COMPUTE, PROGRAM_NONE)->pause_us =
            (uint32_t)random_between(&scribe.random, 100, 3000);
    uint32_t *left = calloc(top->count + 1, sizeof *left);
    if (left == NULL)
        abort();
    uint32_t count = 0;
    for (uint32_t i = 0; i < top->count; i++) {
        const struct program_task *task = &program->tasks[top->items[i]];
        if ((task->holders >> rank & 1) && task->lane == lane)
            left[count++] = top->items[i];
    }
    write_spawns(&scribe, left, count, window);
    write_end(&scribe);
    free(left);
}

struct program *program_new(const struct program_options *options)
{
    if (options->ranks < 1 || options->ranks > PROGRAM_RANKS_MAX)
        return NULL;
    struct random random = random_stream(options->seed, STREAM_STYLE);
    uint32_t mask = options->features != 0 ? options->features : PROGRAM_ALL;
    if (options->agree)
        mask &= PROGRAM_AGREEING;
    uint32_t features = draw_features(&random, mask);
    uint32_t lanes = 1;
    if (features & PROGRAM_LANES)
        lanes = (uint32_t)random_between(&random, 2, 3);
    struct draft draft = {
        .program = program_blank(options->seed, options->ranks, lanes),
        .style = draw_style(&random, options->tasks, options->agree),
    };
    draft.program->features = features;
    draft.program->agree = options->agree;
    draft.program->waits_alike = options->agree && draft.style.waits_alike;
    draft.program->plain = (features & ~(uint32_t)PROGRAM_PLAIN) == 0;
    struct program_list top = {0};
    draw_tasks(&draft, &top);
    draw_divergence(&draft, &top);
    program_finish(draft.program);
    for (uint32_t rank = 0; rank < options->ranks; rank++)
        for (uint32_t lane = 0; lane < lanes; lane++)
            write_script(&draft, &top, rank, lane);
    free(top.items);
    return draft.program;
}
