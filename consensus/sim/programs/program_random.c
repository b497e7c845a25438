/* program_random.c - draws a program from a seed.
 *
 * A seed first draws a *style*: which features occur, how far inputs reach back (chains
 * or wide graphs), how often ranks diverge, how disorderly they spawn, how often they
 * wait.  Then tasks, then who holds what, then the scripts (program_script.c), each
 * from a stream of its own.  Tasks that are skipped come in runs ("branches"), because
 * that is how programs diverge: a condition guards a stretch of code, not one spawn.
 *
 * The rules that make a program legal stand in program.h.  A drawn program has at most
 * PROGRAM_RANKS_MAX ranks, so a set of them is the word `low`.
 */
#include "consensus/sim/programs/program_draft.h"
#include "consensus/sim/programs/ranks.h"
#include "proto/limits.h"
#include <assert.h>
#include <stdlib.h>

enum { POISON_PICKS = 6 };

/* One of four, alike. */
static uint32_t pick(struct random *random, uint32_t a, uint32_t b, uint32_t c,
                     uint32_t d)
{
    const uint32_t of[4] = {a, b, c, d};
    return of[random_below(random, 4)];
}

/* Each feature occurs in about half of the programs; the mask takes features away
 * without moving anything else in the style. */
static uint32_t draw_features(struct random *random, uint32_t mask)
{
    uint32_t drawn = 0;
    for (uint32_t bit = 1; bit < PROGRAM_CANCELS; bit <<= 1) {
        if (random_chance(random, bit <= PROGRAM_WAITS ? 850 : 450)) {
            drawn |= bit;
        }
    }
    drawn |= PROGRAM_CANCELS | PROGRAM_SCOPES | PROGRAM_MEETS | PROGRAM_LATE_CANCELS |
             PROGRAM_POISON | PROGRAM_PARKS | PROGRAM_SESSIONS | PROGRAM_GATHERS |
             PROGRAM_ARRAYS;
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
    if (tasks != 0) {
        style.tasks = tasks;
    }
    if (agree) {
        style.window = 1;
    }
    return style;
}

/* --- Tasks ------------------------------------------------------------------------ */

static void draw_result_and_work(const struct program_draft *draft,
                                 struct random *random, struct program_task *task)
{
    task->result_bytes = (uint32_t)random_between(random, 0, 64);
    if (random_chance(random, 30) && has(draft, PROGRAM_LARGE)) {
        task->result_bytes =
            LIMIT_EAGER_BYTES + (uint32_t)random_between(random, 0, 32768);
    }
    task->work_us = (uint32_t)random_between(random, 1, draft->style.work_us_max);
    task->portable = random_chance(random, 250) && has(draft, PROGRAM_PORTABLE);
    task->once = random_chance(random, 120) && has(draft, PROGRAM_ONCE);
    task->fails = random_chance(random, 25) && has(draft, PROGRAM_FAILURES);
}

/* A child may use what its parent may use, older siblings, and whatever comes before
 * the top-level task that it is of, whether its parent waits for that or not. */
static void draw_child_inputs(struct program_draft *draft, struct random *random,
                              const struct program_list *top, uint32_t child)
{
    struct program *program = draft->program;
    struct program_task *task = &program->tasks[child];
    const struct program_task *parent = &program->tasks[task->parent];
    for (uint32_t i = 0; i < parent->inputs.count; i++) {
        if (random_chance(random, 200)) {
            program_list_add(&task->inputs, parent->inputs.items[i]);
        }
    }
    for (uint32_t i = 0; i + 1 < parent->children.count; i++) {
        if (random_chance(random, 300)) {
            program_list_add(&task->inputs, parent->children.items[i]);
        }
    }
    struct random others = random_stream(program->seed + child, STREAM_CHILDREN);
    uint32_t before = top->count - 1; /* the last is its own */
    for (int i = 0; i < 2 && before > 0 && random_chance(&others, 300); i++) {
        uint32_t other = top->items[random_below(&others, before)];
        if (!list_has(&task->inputs, other)) {
            program_list_add(&task->inputs, other);
        }
    }
}

/* Adds some children below `parent`, and below these, depth first: a subtree is a run
 * of indices. */
static void add_children(struct program_draft *draft, struct random *random,
                         const struct program_list *top, uint32_t parent)
{
    struct program *program = draft->program;
    uint32_t depth = program->tasks[parent].depth;
    uint32_t count = (uint32_t)random_between(random, 1, 5 - depth);
    for (uint32_t i = 0; i < count && program->task_count < draft->style.tasks; i++) {
        char name[PROGRAM_NAME_BYTES];
        (void)snprintf(name, sizeof(name), "t%u", (unsigned)program->task_count);
        uint32_t child = program_add_task(program, name, (int32_t)parent);
        draw_result_and_work(draft, random, &program->tasks[child]);
        program->tasks[child].awaited = random_chance(random, 700);
        draw_child_inputs(draft, random, top, child);
        if (depth + 1 < PROGRAM_NEST_MAX && random_chance(random, 300) &&
            !program->tasks[child].fails) {
            add_children(draft, random, top, child);
        }
    }
}

static void draw_inputs(const struct program_draft *draft, struct random *random,
                        struct program_task *task, const struct program_list *top)
{
    uint32_t count = (uint32_t)random_below(random, draft->style.inputs_max + 1);
    uint32_t reach = draft->style.reach < top->count ? draft->style.reach : top->count;
    for (uint32_t i = 0; i < count && reach > 0; i++) {
        uint32_t back = 1 + (uint32_t)random_below(random, reach);
        assert(top->items != NULL && back <= top->count);
        uint32_t other = top->items[top->count - back];
        bool order_only = random_chance(random, 250);
        if (list_has(&task->inputs, other) || list_has(&task->after, other)) {
            continue;
        }
        if (!order_only) {
            program_list_add(&task->inputs, other);
        } else if (has(draft, PROGRAM_AFTER)) {
            program_list_add(&task->after, other);
        }
    }
}

static void draw_tasks(struct program_draft *draft, struct program_list *top)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_TASKS);
    while (program->task_count < draft->style.tasks) {
        char name[PROGRAM_NAME_BYTES];
        (void)snprintf(name, sizeof(name), "t%u", (unsigned)program->task_count);
        uint32_t index = program_add_task(program, name, PROGRAM_NONE);
        struct program_task *task = &program->tasks[index];
        draw_result_and_work(draft, &random, task);
        draw_inputs(draft, &random, task, top);
        task->lane = (uint32_t)random_below(&random, program->lane_count);
        task->hint = random_chance(&random, 150) && has(draft, PROGRAM_HINTS);
        program_list_add(top, index);
        if (random_chance(&random, 80) && has(draft, PROGRAM_NESTED) && !task->fails) {
            add_children(draft, &random, top, index);
        }
    }
}

/* --- Who holds what --------------------------------------------------------------- */

static uint64_t all_ranks(const struct program *program)
{
    assert(program->rank_count >= 1 && program->rank_count <= PROGRAM_RANKS_MAX);
    return UINT64_MAX >> (PROGRAM_RANKS_MAX - program->rank_count);
}

uint64_t random_ranks(struct random *random, uint32_t count, uint32_t per_mille)
{
    uint64_t ranks = 0;
    for (uint32_t rank = 0; rank < count; rank++) {
        if (random_chance(random, per_mille)) {
            ranks |= UINT64_C(1) << rank;
        }
    }
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
    if (random_chance(random, 600)) {
        task->candidates |= random_ranks(random, program->rank_count, 400);
    }
    if ((task->candidates & task->holders.low) == 0) {
        task->holders.low |= one;
    }
}

/* Sees to it that who holds a task holds its inputs. */
static void close_holders(struct program *program, const struct program_list *top)
{
    for (uint32_t i = top->count; i-- > 0;) {
        const struct program_task *task = &program->tasks[top->items[i]];
        for (uint32_t k = 0; k < task->inputs.count; k++) {
            program->tasks[task->inputs.items[k]].holders.low |= task->holders.low;
        }
        for (uint32_t k = 0; k < task->after.count; k++) {
            program->tasks[task->after.items[k]].holders.low |= task->holders.low;
        }
    }
    for (uint32_t i = 0; i < top->count; i++) {
        program->tasks[top->items[i]].decliners.low &=
            ~program->tasks[top->items[i]].holders.low;
    }
}

/* In one program of two, some tasks are beside an earlier one, whose candidates they
 * have; chains of them come about by chance. */
static void draw_beside(struct program_draft *draft, const struct program_list *top)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_BESIDE);
    if (!has(draft, PROGRAM_CANDIDATES) || !random_chance(&random, 500)) {
        return;
    }
    uint64_t per_mille = random_between(&random, 50, 500);
    for (uint32_t i = 1; i < top->count; i++) {
        if (!random_chance(&random, (uint32_t)per_mille)) {
            continue;
        }
        struct program_task *task = &program->tasks[top->items[i]];
        uint64_t back = random_between(&random, 1, i < 8 ? i : 8);
        task->beside = (int32_t)top->items[i - back];
        task->candidates = program->tasks[task->beside].candidates;
        if (task->candidates != 0 && (task->candidates & task->holders.low) == 0) {
            task->holders.low |= task->candidates & (~task->candidates + 1);
            task->decliners.low &= ~task->holders.low;
        }
    }
}

static void draw_divergence(struct program_draft *draft, const struct program_list *top)
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
        task->holders.low = skips ? branch : all;
        if (random_chance(&random, 10) && has(draft, PROGRAM_GHOSTS)) {
            task->holders.low = 0;
        } else if (random_chance(&random, 120) && has(draft, PROGRAM_CANDIDATES)) {
            draw_candidates(program, &random, task);
        }
        uint64_t decliners = random_ranks(&random, program->rank_count, 300);
        if (has(draft, PROGRAM_DECLINES)) {
            task->decliners.low = decliners & all & ~task->holders.low;
        }
    }
    draw_beside(draft, top);
    if (!has(draft, PROGRAM_LACKS)) {
        close_holders(program, top);
    }
}

/* Some tasks that nothing depends on may be cancelled, in one program of three. */
static void draw_cancellers(struct program_draft *draft, const struct program_list *top)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_CANCELS);
    if (!random_chance(&random, 333) || !has(draft, PROGRAM_CANCELS)) {
        return;
    }
    bool *needed = calloc(program->task_count + 1, sizeof(*needed));
    if (needed == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < program->task_count; i++) {
        const struct program_task *task = &program->tasks[i];
        for (uint32_t k = 0; task->parent != PROGRAM_NONE && k < task->inputs.count;
             k++) {
            needed[task->inputs.items[k]] = true;
        }
    }
    for (uint32_t i = top->count; i-- > 0;) {
        struct program_task *task = &program->tasks[top->items[i]];
        if (!needed[top->items[i]] && task->children.count == 0 &&
            random_chance(&random, 200)) {
            task->cancellers =
                task->holders.low & random_ranks(&random, program->rank_count, 500);
        }
        for (uint32_t k = 0; k < task->inputs.count; k++) {
            needed[task->inputs.items[k]] = true;
        }
        for (uint32_t k = 0; k < task->after.count; k++) {
            needed[task->after.items[k]] = true;
        }
    }
    free(needed);
}

/* Any task, by any rank, whether that spawns it or not. */
static void draw_late_cancellers(struct program_draft *draft,
                                 const struct program_list *top)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_LATE_CANCELS);
    for (uint32_t i = 0; i < top->count; i++) {
        uint64_t ranks = random_ranks(&random, program->rank_count, 400);
        if (random_chance(&random, 150) && has(draft, PROGRAM_LATE_CANCELS)) {
            program->tasks[top->items[i]].late_cancellers = ranks;
        }
    }
}

/* A kernel may name by its hash what is not its input: that must not have been
 * forgotten. */
static bool keep_for_children(struct program *program)
{
    bool changed = false;
    for (uint32_t i = 0; i < program->task_count; i++) {
        uint32_t root = i;
        while (program->tasks[root].parent != PROGRAM_NONE) {
            root = (uint32_t)program->tasks[root].parent;
        }
        const struct program_list *inputs = &program->tasks[i].inputs;
        for (uint32_t k = 0; k < inputs->count && root != i; k++) {
            struct program_task *input = &program->tasks[inputs->items[k]];
            bool other = input->scope != program->tasks[root].scope;
            changed = changed || (other && input->scope != 0);
            input->scope = other ? 0 : input->scope;
        }
    }
    return changed;
}

/* Half of the programs have phases: runs of tasks, but for some that are in none. */
static void draw_scopes(struct program_draft *draft, const struct program_list *top)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_SCOPES);
    bool any = random_chance(&random, 500);
    uint32_t count = (uint32_t)random_between(&random, 1, PROGRAM_SCOPES_MAX);
    uint32_t none_per_mille = pick(&random, 0, 0, 100, 500);
    for (uint32_t i = 0; i < top->count; i++) {
        bool none = random_chance(&random, none_per_mille);
        if (any && !none && has(draft, PROGRAM_SCOPES)) {
            program->tasks[top->items[i]].scope = 1 + i * count / top->count;
        }
    }
    while (keep_for_children(program)) {
    }
}

/* Some of the once tasks; of these some are said to give another result each time. */
static void draw_idempotent(struct program_draft *draft)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_IDEMPOTENT);
    for (uint32_t i = 0; i < program->task_count; i++) {
        bool again = random_chance(&random, 400), varies = random_chance(&random, 150);
        program->tasks[i].idempotent = again && program->tasks[i].once;
        program->tasks[i].varies |= varies && program->tasks[i].idempotent;
    }
}

static void draw_varying(struct program_draft *draft)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_VARIES);
    for (uint32_t i = 0; i < program->task_count; i++) {
        program->tasks[i].varies =
            random_chance(&random, 150) && !program->tasks[i].once;
    }
}

static void draw_places(struct random *random, const struct program *program,
                        struct meets *meets)
{
    for (uint32_t i = 0; i < meets->count; i++) {
        uint32_t place = (uint32_t)random_below(random, program->task_count);
        uint32_t at = i;
        for (; at > 0 && meets->place[at - 1] > place; at--) {
            meets->place[at] = meets->place[at - 1];
        }
        meets->place[at] = place;
    }
}

/* One program in four, or each.  Ranks come to fewer meetings, or for other purposes,
 * where they may differ, and where nobody waits for them in code that is not moot's. */
static void draw_meets(struct program_draft *draft)
{
    const struct program *program = draft->program;
    struct meets *meets = &draft->meets;
    struct random random = random_stream(program->seed, STREAM_MEETS);
    meets->odd_rank = PROGRAM_RANKS_MAX;
    const bool meets_so = random_chance(&random, 250) && has(draft, PROGRAM_MEETS);
    if (!meets_so && !has(draft, PROGRAM_GATHERS)) {
        return;
    }
    meets->count = (uint32_t)random_between(&random, 1, PROGRAM_MEETS_MAX);
    assert(meets->count > 0 && program->task_count > 0);
    draw_places(&random, program, meets);
    bool some_close =
        random_chance(&random, 400) && !program->agree && !has(draft, PROGRAM_BARRIERS);
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        bool closes = random_chance(&random, 300);
        uint32_t comes_to = (uint32_t)random_below(&random, meets->count);
        meets->comes_to[rank] = some_close && closes ? comes_to : meets->count;
    }
    if (random_chance(&random, 200) && !program->agree) {
        meets->odd_rank = (uint32_t)random_below(&random, program->rank_count);
        meets->odd_meet = (uint32_t)random_below(&random, meets->count);
    }
}

/* Two programs in five, where there may be sessions: some of their meetings, or places
 * of their own, are ends of sessions, and some ranks leave at one of them. */
static void draw_sessions(struct program_draft *draft)
{
    struct program *program = draft->program;
    struct meets *meets = &draft->meets;
    struct random random = random_stream(program->seed, STREAM_SESSIONS);
    if (!random_chance(&random, 400) || !has(draft, PROGRAM_SESSIONS)) {
        return;
    }
    if (meets->count == 0) {
        meets->count = (uint32_t)random_between(&random, 1, PROGRAM_MEETS_MAX);
        assert(program->task_count > 0);
        draw_places(&random, program, meets);
        for (uint32_t rank = 0; rank < program->rank_count; rank++) {
            meets->comes_to[rank] = meets->count;
        }
    }
    const uint32_t sure = (uint32_t)random_below(&random, meets->count);
    for (uint32_t i = 0; i < meets->count; i++) {
        meets->ends[i] = random_chance(&random, 600) || i == sure;
        program->sessions += meets->ends[i];
        if (meets->ends[i] && i == meets->odd_meet) {
            meets->odd_rank = PROGRAM_RANKS_MAX; /* who ends a session comes for that */
        }
    }
    const uint32_t per_mille = pick(&random, 0, 100, 200, 500);
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        const bool leaves = random_chance(&random, per_mille);
        const uint32_t at = (uint32_t)random_below(&random, meets->count);
        meets->leaves_at[rank] = leaves ? at : PROGRAM_MEETS_MAX;
    }
}

/* The number of tasks that take its result. */
static uint32_t count_takers(const struct program *program, uint32_t index)
{
    uint32_t count = program->tasks[index].awaited;
    for (uint32_t i = index; i < program->task_count; i++) {
        count += list_has(&program->tasks[i].inputs, index);
        count += list_has(&program->tasks[i].after, index);
    }
    return count;
}

static bool may_be_poison(const struct program *program, uint32_t index)
{
    const struct program_task *task = &program->tasks[index];
    bool spawned = task->parent != PROGRAM_NONE || !rankset_empty(&task->holders);
    return spawned && !task->fails && !task->poison && !task->stretches && !task->gaps;
}

/* One that few others take, so that much is left of the program; nested ones, of which
 * there are fewer, come up as often as others. */
static uint32_t pick_poison(const struct program *program, struct random *random)
{
    uint32_t count = program->task_count, best = count, fewest = UINT32_MAX;
    assert(count > 0);
    for (int i = 0; i < POISON_PICKS; i++) {
        uint32_t at = (uint32_t)random_below(random, count), looked = 0;
        bool nested = random_chance(random, 400);
        while (nested && program->tasks[at].parent == PROGRAM_NONE &&
               looked++ < count) {
            at = (at + 1) % count;
        }
        uint32_t takers = count_takers(program, at);
        if (may_be_poison(program, at) && takers < fewest) {
            fewest = takers;
            best = at;
        }
    }
    return best;
}

/* Two ranks may die of each, and some are to be left. */
static void draw_poison(struct program_draft *draft)
{
    struct program *program = draft->program;
    struct random random = random_stream(program->seed, STREAM_POISON);
    uint32_t most = (program->rank_count - 1) / 2;
    if (most == 0 || !has(draft, PROGRAM_POISON)) {
        return;
    }
    uint32_t count = (uint32_t)random_between(&random, 1, most);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t picked = pick_poison(program, &random);
        if (picked < program->task_count) {
            program->tasks[picked].poison = true;
        }
    }
}

/* Do all who spawn the program's tasks spawn what their children take, too? */
static bool children_lack_nothing(const struct program *program)
{
    for (uint32_t i = 0; i < program->task_count; i++) {
        const struct program_task *task = &program->tasks[i], *root = task;
        while (root->parent != PROGRAM_NONE) {
            root = &program->tasks[root->parent];
        }
        for (uint32_t j = 0; root != task && j < task->inputs.count; j++) {
            const struct program_task *input = &program->tasks[task->inputs.items[j]];
            if (input->parent == PROGRAM_NONE &&
                !ranks_within(&root->holders, &input->holders)) {
                return false;
            }
        }
    }
    return true;
}

struct program *program_new(const struct program_options *options)
{
    if (options->ranks < 1 || options->ranks > PROGRAM_RANKS_MAX) {
        return NULL;
    }
    struct random random = random_stream(options->seed, STREAM_STYLE);
    uint32_t mask = options->features != 0 ? options->features : PROGRAM_ALL;
    if (options->agree) {
        mask &= PROGRAM_AGREEING;
    }
    uint32_t features = draw_features(&random, mask);
    uint32_t lanes = 1;
    if (features & PROGRAM_LANES) {
        lanes = (uint32_t)random_between(&random, 2, 3);
    }
    struct program_draft draft = {
        .program = program_blank(options->seed, options->ranks, lanes),
        .style = draw_style(&random, options->tasks, options->agree),
    };
    draft.program->features = features;
    draft.program->agree = options->agree;
    draft.program->waits_alike = options->agree && draft.style.waits_alike;
    struct program_list top = {0};
    draw_tasks(&draft, &top);
    draw_divergence(&draft, &top);
    draw_cancellers(&draft, &top);
    draw_late_cancellers(&draft, &top);
    draw_scopes(&draft, &top);
    draw_varying(&draft);
    draw_idempotent(&draft);
    draft_arrays(&draft, &top);
    draw_meets(&draft);
    draw_sessions(&draft);
    draw_poison(&draft);
    draft.program->plain = (features & ~(uint32_t)PROGRAM_PLAIN) == 0 &&
                           draft.meets.count == 0 &&
                           children_lack_nothing(draft.program);
    program_finish(draft.program);
    for (uint32_t rank = 0; rank < options->ranks; rank++) {
        for (uint32_t lane = 0; lane < lanes; lane++) {
            draft_write_script(&draft, &top, rank, lane);
        }
    }
    free(top.items);
    return draft.program;
}
