/* program_script.c - what each rank does, in which order, and where it waits.
 *
 * A lane picks its next spawn among the first few that are left in canonical order and
 * whose inputs it has spawned.  `limit` says up to which index it has spawned all that
 * is its own; rule (W) of program.h is that waits stay below it.
 */
#include "consensus/sim/programs/program_draft.h"
#include "consensus/sim/programs/program_parts.h"
#include <stdlib.h>
#include <string.h>

struct scribe {
    const struct program_draft *draft;
    const struct program_list *top;
    struct random random; /* for orders */
    struct random waits;
    uint32_t rank, lane;
    uint32_t limit;             /* every own task of a lower index is spawned */
    uint32_t top_limit;         /* top[0..top_limit-1] have indices below limit */
    uint32_t next_decline;      /* top[] position */
    uint32_t next_barrier;      /* canonical index; task_count: none */
    uint32_t barrier_every;     /* tasks between two; 0: none */
    uint32_t next_harvest;      /* canonical index, */
    uint32_t harvest_every;     /* likewise; 0: none */
    uint32_t next_meet;         /* lane 0; the program's count: none */
    struct program_step *grown; /* to be spawned later: GROW steps, so many */
    uint32_t grown_count;
};

static struct program_step *write_step(struct scribe *scribe, enum program_op op,
                                       int64_t task)
{
    return program_add_step(scribe->draft->program, scribe->rank, scribe->lane, op,
                            task);
}

/* The rest of arrays that this rank has spawned in part. */
static void write_growth(struct scribe *scribe)
{
    for (uint32_t i = 0; i < scribe->grown_count; i++) {
        const struct program_step *step = &scribe->grown[i];
        write_step(scribe, PROGRAM_GROW, step->tasks.items[0])->places = step->places;
        free(step->tasks.items);
    }
    free(scribe->grown);
    scribe->grown = NULL;
    scribe->grown_count = 0;
}

static void grow_later(struct scribe *scribe, uint32_t task, struct range places)
{
    const size_t size = (scribe->grown_count + 1) * sizeof(*scribe->grown);
    struct program_step *grown = realloc(scribe->grown, size);
    if (grown == NULL) {
        abort();
    }
    scribe->grown = grown;
    grown[scribe->grown_count] = (struct program_step){.places = places};
    program_list_add(&grown[scribe->grown_count++].tasks, task);
}

/* The first part of an array in parts, and the others now or later. */
static void write_spawn(struct scribe *scribe, uint32_t task)
{
    const struct program *program = scribe->draft->program;
    struct range parts[PARTS_MAX];
    const uint32_t count = program->tasks[task].parted
                               ? parts_draw(program, task, scribe->rank, parts)
                               : 0;
    struct program_step *first = write_step(scribe, PROGRAM_SPAWN, task);
    if (count > 0) {
        first->places = parts[0];
    }
    for (uint32_t i = 1; i < count; i++) {
        if ((i + task) % 2 == 0) {
            grow_later(scribe, task, parts[i]);
        } else {
            write_step(scribe, PROGRAM_GROW, task)->places = parts[i];
        }
    }
}

/* Unless the rank may wait for what it lacks, it names what it holds. */
static bool may_name(const struct scribe *scribe, uint32_t task)
{
    return has(scribe->draft, PROGRAM_LACKS) ||
           rankset_has(&scribe->draft->program->tasks[task].holders, scribe->rank);
}

/* A task that a wait may name here by (W), among the latest; PROGRAM_NONE if the draw
 * falls on what may only be waited for at the end, or nothing is covered yet. */
static int64_t draw_awaited(struct scribe *scribe)
{
    uint32_t back =
        1 + (uint32_t)random_below(&scribe->waits, random_chance(&scribe->waits, 700)
                                                       ? 5
                                                       : scribe->top->count);
    if (back > scribe->top_limit) {
        return PROGRAM_NONE;
    }
    uint32_t task = scribe->top->items[scribe->top_limit - back];
    if (scribe->draft->program->outcomes[task].ghostly || !may_name(scribe, task)) {
        return PROGRAM_NONE;
    }
    return task;
}

static void write_poll(struct scribe *scribe)
{
    uint64_t any = random_below(&scribe->waits, scribe->top->count);
    uint32_t most_us = random_chance(&scribe->waits, 100) ? 20000 : 300;
    uint32_t pause_us = (uint32_t)random_between(&scribe->waits, 1, most_us);
    if (has(scribe->draft, PROGRAM_POLLS)) {
        write_step(scribe, PROGRAM_POLL, scribe->top->items[any])->pause_us = pause_us;
    }
}

/* Waits for a task with its bytes; an array has none. */
static void write_fetch(struct scribe *scribe, uint32_t task)
{
    const bool array = scribe->draft->program->tasks[task].elements > 0;
    write_step(scribe, array ? PROGRAM_WAIT_ALL : PROGRAM_FETCH, task);
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
    if (task == PROGRAM_NONE) {
        return;
    }
    if (op == PROGRAM_FETCH) {
        write_fetch(scribe, (uint32_t)task);
        return;
    }
    struct program_step *step = write_step(scribe, op, task);
    for (uint64_t more = random_below(&scribe->waits, 4); more > 0; more--) {
        int64_t other = draw_awaited(scribe);
        if (other != PROGRAM_NONE && !list_has(&step->tasks, (uint32_t)other)) {
            program_list_add(&step->tasks, (uint32_t)other);
        }
    }
}

static void write_declines(struct scribe *scribe, uint32_t top_end)
{
    const struct program *program = scribe->draft->program;
    for (; scribe->lane == 0 && scribe->next_decline < top_end;
         scribe->next_decline++) {
        uint32_t task = scribe->top->items[scribe->next_decline];
        if (rankset_has(&program->tasks[task].decliners, scribe->rank)) {
            write_step(scribe, PROGRAM_DECLINE, task);
        }
    }
}

/* This rank's program lets the next meeting be, and ends: until then it waits for
 * nothing that others may spawn behind that. */
static bool is_closing(const struct scribe *scribe)
{
    const struct meets *meets = &scribe->draft->meets;
    uint32_t comes_to = meets->comes_to[scribe->rank];
    return comes_to < meets->count && scribe->limit > meets->place[comes_to];
}

/* The next barrier, if everything up to there is spawned; UINT32_MAX: it is not. */
static uint32_t barrier_place(const struct scribe *scribe)
{
    bool due = scribe->barrier_every != 0 && scribe->limit > scribe->next_barrier &&
               scribe->next_barrier < scribe->draft->program->task_count;
    return due ? scribe->next_barrier : UINT32_MAX;
}

/* Likewise the next meeting that this rank comes to. */
static uint32_t meet_place(const struct scribe *scribe)
{
    const struct meets *meets = &scribe->draft->meets;
    bool comes = scribe->lane == 0 && scribe->next_meet < meets->comes_to[scribe->rank];
    uint32_t place = comes ? meets->place[scribe->next_meet] : UINT32_MAX;
    return scribe->limit > place ? place : UINT32_MAX;
}

static void write_meet(struct scribe *scribe)
{
    const struct meets *meets = &scribe->draft->meets;
    bool odd = scribe->rank == meets->odd_rank && scribe->next_meet == meets->odd_meet;
    const uint32_t at = scribe->next_meet++;
    if (meets->ends[at]) {
        write_step(scribe, PROGRAM_SESSION, PROGRAM_NONE)->leaves =
            meets->leaves_at[scribe->rank] == at;
        return;
    }
    write_step(scribe, PROGRAM_MEET, PROGRAM_NONE)->purpose = odd;
}

/* Barriers and meetings that are due, in the same order on all ranks. */
static void write_gatherings(struct scribe *scribe)
{
    for (;;) {
        uint32_t barrier = barrier_place(scribe), meet = meet_place(scribe);
        if (barrier == UINT32_MAX && meet == UINT32_MAX) {
            return;
        }
        write_growth(scribe); /* nobody is kept waiting for it there */
        if (meet < barrier) {
            write_meet(scribe);
            continue;
        }
        write_step(scribe, PROGRAM_BARRIER, PROGRAM_NONE);
        scribe->next_barrier += scribe->barrier_every;
    }
}

/* Where all ranks wait for the latest of their own tasks, at the same places: such
 * waits are what words are for (PROTOCOL.md, T12). */
static void write_harvest(struct scribe *scribe)
{
    enum { HARVEST_MAX = 40 };
    const struct program *program = scribe->draft->program;
    const uint32_t end = scribe->next_harvest;
    struct program_step *step = NULL;
    if (scribe->harvest_every == 0 || scribe->limit < end || end == 0) {
        return;
    }
    scribe->next_harvest += scribe->harvest_every;
    for (uint32_t i = scribe->top_limit; i-- > 0 && !is_closing(scribe);) {
        const uint32_t task = scribe->top->items[i];
        const struct program_task *spec = &program->tasks[task];
        if (task >= end || spec->lane != scribe->lane ||
            program->outcomes[task].ghostly ||
            !rankset_has(&spec->holders, scribe->rank)) {
            continue;
        }
        if (step == NULL) {
            step = write_step(scribe, PROGRAM_WAIT_ALL, task);
        } else if (step->tasks.count < HARVEST_MAX) {
            program_list_add(&step->tasks, task);
        }
    }
}

/* Half of the programs with waits. */
static void draw_harvests(struct scribe *scribe)
{
    const struct program *program = scribe->draft->program;
    struct random random = random_stream(program->seed, STREAM_HARVESTS);
    const bool harvests = random_chance(&random, 500);
    const uint32_t least = program->task_count / 5 + 1;
    const uint32_t every =
        (uint32_t)random_between(&random, least, program->task_count + 1);
    if (harvests && has(scribe->draft, PROGRAM_WAITS)) {
        scribe->harvest_every = scribe->next_harvest = every;
    }
}

/* Steps between two spawns.  Barriers and meetings come before waits, so that
 * no wait before one at b is for a task above b. */
static void write_between(struct scribe *scribe)
{
    const struct program_draft *draft = scribe->draft;
    while (scribe->top_limit < scribe->top->count &&
           scribe->top->items[scribe->top_limit] < scribe->limit) {
        scribe->top_limit++;
    }
    if (random_chance(&scribe->random, 300)) {
        write_declines(scribe, scribe->top_limit);
    }
    write_gatherings(scribe);
    write_harvest(scribe);
    if (random_chance(&scribe->waits, draft->style.wait_per_mille) &&
        has(draft, PROGRAM_WAITS) && !is_closing(scribe)) {
        write_wait(scribe);
    }
    uint32_t pause_us = (uint32_t)random_between(&scribe->waits, 1, 100);
    if (random_chance(&scribe->waits, 30)) {
        write_step(scribe, PROGRAM_COMPUTE, PROGRAM_NONE)->pause_us = pause_us;
    }
}

/* True if nothing among left[0..before-1] is an input or `after` of the task. */
static bool is_ready(const struct program *program, uint32_t task, const uint32_t *left,
                     uint32_t before)
{
    for (uint32_t i = 0; i < before; i++) {
        if (list_has(&program->tasks[task].inputs, left[i]) ||
            list_has(&program->tasks[task].after, left[i])) {
            return false;
        }
    }
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
        while (!is_ready(program, left[at], left, at)) {
            at--; /* left[0] is always ready */
        }
        if (scribe->grown_count > 0 && (left[at] % 3 == 0)) {
            write_growth(scribe);
        }
        write_spawn(scribe, left[at]);
        memmove(&left[at], &left[at + 1], (count - at - 1) * sizeof(left[0]));
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
    write_growth(scribe);
    write_between(scribe);
    write_declines(scribe, scribe->top->count);
    for (int ghosts = 0; ghosts < 2; ghosts++) {
        for (uint32_t i = 0; i < scribe->top->count; i++) {
            uint32_t task = scribe->top->items[i];
            bool fetch =
                random_chance(&scribe->waits, scribe->draft->style.final_per_mille);
            if (fetch && may_name(scribe, task) && !is_closing(scribe) &&
                program->outcomes[task].ghostly == (ghosts == 1)) {
                write_fetch(scribe, task);
            }
        }
    }
}

/* Anywhere among the other steps. */
static void write_cancels(struct scribe *scribe)
{
    struct program *program = scribe->draft->program;
    struct random random =
        random_stream(program->seed, STREAM_LATE_PLACES + scribe->rank);
    for (uint32_t i = 0; i < scribe->top->count && scribe->lane == 0; i++) {
        uint32_t task = scribe->top->items[i];
        if (!(program->tasks[task].late_cancellers >> scribe->rank & 1)) {
            continue;
        }
        struct program_step *last = write_step(scribe, PROGRAM_CANCEL, task);
        struct program_script *script =
            &program->scripts[scribe->rank * program->lane_count];
        uint32_t at = (uint32_t)random_below(&random, script->count);
        const struct program_step cancel = *last;
        memmove(&script->steps[at + 1], &script->steps[at],
                (script->count - 1 - at) * sizeof(cancel));
        script->steps[at] = cancel;
    }
}

/* Likewise, a few times in half of the scripts: behind whatever stands there. */
static void write_parks(struct scribe *scribe)
{
    struct program *program = scribe->draft->program;
    uint32_t place = scribe->rank * program->lane_count + scribe->lane;
    struct random random = random_stream(program->seed, STREAM_PARKS + place);
    uint64_t count = random_chance(&random, 500) ? random_between(&random, 1, 4) : 0;
    for (uint64_t i = 0; i < count && has(scribe->draft, PROGRAM_PARKS); i++) {
        struct program_step *last = write_step(scribe, PROGRAM_PARK, PROGRAM_NONE);
        struct program_script *script = &program->scripts[place];
        last->pause_us = (uint32_t)random_between(&random, 10, 5000);
        uint32_t at = (uint32_t)random_below(&random, script->count);
        const struct program_step park = *last;
        memmove(&script->steps[at + 1], &script->steps[at],
                (script->count - 1 - at) * sizeof(park));
        script->steps[at] = park;
    }
}

void draft_write_script(const struct program_draft *draft,
                        const struct program_list *top, uint32_t rank, uint32_t lane)
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
    if (lane == 0 && has(draft, PROGRAM_BARRIERS)) {
        scribe.barrier_every = program->task_count / 4 + 1;
    }
    scribe.next_barrier = scribe.barrier_every;
    draw_harvests(&scribe);
    bool disorderly = random_chance(&scribe.random, 700);
    bool late = random_chance(&scribe.random, 150);
    uint32_t window =
        has(draft, PROGRAM_DISORDER) && disorderly ? draft->style.window : 1;
    if (late) {
        write_step(&scribe, PROGRAM_COMPUTE, PROGRAM_NONE)->pause_us =
            (uint32_t)random_between(&scribe.random, 100, 3000);
    }
    uint32_t *left = calloc(top->count + 1, sizeof(*left));
    if (left == NULL) {
        abort();
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < top->count; i++) {
        const struct program_task *task = &program->tasks[top->items[i]];
        if (rankset_has(&task->holders, rank) && task->lane == lane) {
            left[count++] = top->items[i];
        }
    }
    write_spawns(&scribe, left, count, window);
    write_end(&scribe);
    write_cancels(&scribe);
    write_parks(&scribe);
    free(left);
}
