/* script_write.c - makes a script's program for so many ranks, and tells mistakes.
 *
 * What cannot be known before the number of ranks is said here: ranks that are not
 * there, and tasks that a rank spawns twice, declines too, or spawns on two lanes.
 */
#include "consensus/sim/programs/random.h"
#include "consensus/sim/programs/script_private.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_CHANCES = 301, STREAM_ORDERS, STREAM_PAUSES, STEPS_MAX = 4000000 };

struct writer {
    const struct script *script;
    struct program *program;
    struct script_error *error;
    uint32_t rank, lane;
    struct random chances, orders, pauses;
    struct program_list tasks; /* of the action that is written */
    uint32_t *marks;           /* by task: the last list that it was put on, from 1 */
    uint32_t list_number;
    uint32_t barriers;
    bool laned; /* the script has several lanes */
};

bool script_has_poison(const struct script *script)
{
    bool any = false;
    for (uint32_t i = 0; i < script->set_count; i++) {
        any = any || script->sets[i].poison;
    }
    return any;
}

void script_error_set(struct script_error *error, struct script_place place,
                      const char *format, ...)
{
    *error = (struct script_error){
        .line = place.line, .column = place.column, .length = place.length};
    va_list values;
    va_start(values, format);
    (void)vsnprintf(error->wrong, sizeof(error->wrong), format, values);
    va_end(values);
}

uint32_t script_resolve(const struct script *script, const struct script_ref *ref,
                        uint32_t same, uint32_t *first)
{
    const struct script_set *set = &script->sets[ref->set];
    int64_t at = (int64_t)same + ref->offset;
    switch (ref->pick) {
    case SCRIPT_PICK_RANGE:
        *first = set->first + ref->first;
        return ref->last - ref->first + 1;
    case SCRIPT_PICK_SAME:
        *first = set->first + (uint32_t)(at >= 0 ? at : 0);
        return at >= 0 && at < set->count;
    case SCRIPT_PICK_ALL:
    default:
        *first = set->first;
        return set->count;
    }
}

/* --- Tasks ------------------------------------------------------------------------ */

static void begin_list(struct writer *writer)
{
    writer->tasks.count = 0;
    writer->list_number++;
}

/* Puts what the reference means on the list; false if something is there already. */
static bool add_ref(struct writer *writer, const struct script_ref *ref, uint32_t same)
{
    uint32_t first;
    uint32_t count = script_resolve(writer->script, ref, same, &first);
    for (uint32_t task = first; task < first + count; task++) {
        if (writer->marks[task] == writer->list_number) {
            script_error_set(writer->error, ref->place, "\"%s\" is named twice",
                             writer->script->sets[ref->set].name);
            return false;
        }
        writer->marks[task] = writer->list_number;
        program_list_add(&writer->tasks, task);
    }
    return true;
}

static bool list_has(const struct program_list *list, uint32_t item)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i] == item) {
            return true;
        }
    }
    return false;
}

/* Whether a task may take another's result: what is spawned in the same place, and for
 * a child also what its parent takes. */
static bool may_take(const struct program *program, uint32_t task, uint32_t input)
{
    int32_t parent = program->tasks[task].parent;
    return program->tasks[input].parent == parent ||
           (parent != PROGRAM_NONE && list_has(&program->tasks[parent].inputs, input));
}

/* An array is nobody's input: it comes before. */
static bool gives_a_result(struct writer *writer, uint32_t task, uint32_t input,
                           const struct script_ref *ref)
{
    const struct program *program = writer->program;
    if (program->tasks[input].elements == 0) {
        return true;
    }
    script_error_set(writer->error, ref->place,
                     "\"%s\" is a task array: \"%s\" comes after it",
                     program->tasks[input].name, program->tasks[task].name);
    return false;
}

static bool add_inputs(struct writer *writer, const struct script_refs *refs,
                       uint32_t task, uint32_t same, struct program_list *to)
{
    for (uint32_t i = 0; i < refs->count; i++) {
        uint32_t before = writer->tasks.count;
        if (!add_ref(writer, &refs->items[i], same)) {
            return false;
        }
        for (uint32_t k = before; k < writer->tasks.count; k++) {
            uint32_t input = writer->tasks.items[k];
            if (input >= task || !may_take(writer->program, task, input)) {
                script_error_set(writer->error, refs->items[i].place,
                                 input == task  ? "\"%s\" comes before \"%s\", itself: "
                                                  "name tasks that are declared above"
                                 : input > task ? "\"%s\" is not declared before \"%s\""
                                                : "\"%s\" is out of reach of \"%s\"",
                                 writer->script->sets[refs->items[i].set].name,
                                 writer->program->tasks[task].name);
                return false;
            }
            if (to == &writer->program->tasks[task].inputs &&
                !gives_a_result(writer, task, input, &refs->items[i])) {
                return false;
            }
            program_list_add(to, input);
        }
        if (writer->tasks.count > LIMIT_INPUTS) {
            script_error_set(writer->error, refs->items[i].place,
                             "a task has at most %u inputs", LIMIT_INPUTS);
            return false;
        }
    }
    return true;
}

static bool write_task(struct writer *writer, const struct script_set *set,
                       uint32_t same)
{
    char name[PROGRAM_NAME_BYTES];
    if (set->array) {
        (void)snprintf(name, sizeof(name), "%s[%u]", set->name, (unsigned)same);
    } else {
        (void)snprintf(name, sizeof(name), "%s", set->name);
    }
    uint32_t parent = 0;
    if (set->child) {
        (void)script_resolve(writer->script, &set->parent, same, &parent);
    }
    uint32_t index = program_add_task(writer->program, name,
                                      set->child ? (int32_t)parent : PROGRAM_NONE);
    struct program_task *task = &writer->program->tasks[index];
    task->work_us = set->work_us;
    task->result_bytes = set->result_bytes;
    task->candidates = set->candidates;
    task->once = set->once;
    task->idempotent = set->idempotent;
    task->portable = set->portable;
    task->hint = set->hint;
    task->fails = set->fails;
    task->poison = set->poison;
    task->elements = set->elements;
    task->awaited = set->child && !set->loose;
    begin_list(writer);
    return add_inputs(writer, &set->inputs, index, same, &task->inputs) &&
           add_inputs(writer, &set->after, index, same, &task->after);
}

static bool write_tasks(struct writer *writer)
{
    const struct script *script = writer->script;
    for (uint32_t i = 0; i < script->set_count; i++) {
        for (uint32_t same = 0; same < script->sets[i].count; same++) {
            if (!write_task(writer, &script->sets[i], same)) {
                return false;
            }
        }
    }
    return true;
}

/* --- Actions ---------------------------------------------------------------------- */

static bool mistake(struct writer *writer, const struct script_action *action,
                    uint32_t task, const char *what)
{
    script_error_set(writer->error, action->place, "rank %u %s \"%s\"",
                     (unsigned)writer->rank, what, writer->program->tasks[task].name);
    return false;
}

static void shuffle(struct random *random, struct program_list *list)
{
    for (uint32_t left = list->count; left > 1; left--) {
        uint32_t at = (uint32_t)random_below(random, left);
        uint32_t item = list->items[at];
        list->items[at] = list->items[left - 1];
        list->items[left - 1] = item;
    }
}

static struct program_step *write_step(struct writer *writer, enum program_op op,
                                       int64_t task)
{
    return program_add_step(writer->program, writer->rank, writer->lane, op, task);
}

static bool write_spawns(struct writer *writer, const struct script_action *action)
{
    const struct plan_rule chance = {.chance_ppb = action->chance_ppb};
    if (action->shuffled) {
        shuffle(&writer->orders, &writer->tasks);
    }
    for (uint32_t i = 0; i < writer->tasks.count; i++) {
        uint32_t index = writer->tasks.items[i];
        struct program_task *task = &writer->program->tasks[index];
        if (!plan_chance(&chance, random_next(&writer->chances))) {
            continue;
        }
        if (rankset_has(&task->holders, writer->rank)) {
            return mistake(writer, action, index, "spawns twice:");
        }
        if (rankset_has(&task->decliners, writer->rank)) {
            return mistake(writer, action, index, "has declined");
        }
        if (!rankset_empty(&task->holders) && task->lane != writer->lane) {
            return mistake(writer, action, index, "spawns on another lane:");
        }
        task->lane = writer->lane;
        (void)write_step(writer, PROGRAM_SPAWN, index);
    }
    return true;
}

static bool write_declines(struct writer *writer, const struct script_action *action)
{
    for (uint32_t i = 0; i < writer->tasks.count; i++) {
        uint32_t task = writer->tasks.items[i];
        if (rankset_has(&writer->program->tasks[task].holders, writer->rank)) {
            return mistake(writer, action, task, "declines what it has spawned:");
        }
        (void)write_step(writer, PROGRAM_DECLINE, task);
    }
    return true;
}

/* One step for each task of the list, or one for all. */
static void write_waits(struct writer *writer, enum program_op op, bool together,
                        uint32_t pause_us)
{
    struct program_step *step = NULL;
    for (uint32_t i = 0; i < writer->tasks.count; i++) {
        if (step != NULL && together) {
            program_list_add(&step->tasks, writer->tasks.items[i]);
            continue;
        }
        step = write_step(writer, op, writer->tasks.items[i]);
        step->pause_us = pause_us;
    }
}

static uint32_t pause_of(uint64_t ns)
{
    return ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) : UINT32_MAX;
}

static void write_compute(struct writer *writer, const struct script_action *action)
{
    uint64_t ns = plan_spread_ns(&action->spread, random_next(&writer->pauses));
    if (pause_of(ns) > 0) {
        write_step(writer, PROGRAM_COMPUTE, PROGRAM_NONE)->pause_us = pause_of(ns);
    }
}

static bool write_barrier(struct writer *writer, const struct script_action *action)
{
    if (writer->laned) {
        script_error_set(writer->error, action->place,
                         "a barrier needs a program of one lane");
        return false;
    }
    writer->barriers++;
    (void)write_step(writer, PROGRAM_BARRIER, PROGRAM_NONE);
    return true;
}

static bool write_action(struct writer *writer, const struct script_action *action,
                         uint32_t same)
{
    begin_list(writer);
    for (uint32_t i = 0; i < action->refs.count; i++) {
        if (!add_ref(writer, &action->refs.items[i], same)) {
            return false;
        }
    }
    if (program_script(writer->program, writer->rank, writer->lane)->count >
        STEPS_MAX) {
        script_error_set(writer->error, action->place, "rank %u has more than %d steps",
                         (unsigned)writer->rank, STEPS_MAX);
        return false;
    }
    switch (action->op) {
    case SCRIPT_SPAWN:
        return write_spawns(writer, action);
    case SCRIPT_DECLINE:
        return write_declines(writer, action);
    case SCRIPT_CANCEL:
        write_waits(writer, PROGRAM_CANCEL, false, 0);
        return true;
    case SCRIPT_WAIT:
        write_waits(writer, PROGRAM_WAIT_ALL, true, 0);
        return true;
    case SCRIPT_ANY:
        write_waits(writer, PROGRAM_WAIT_ANY, true, 0);
        return true;
    case SCRIPT_FETCH:
        write_waits(writer, PROGRAM_FETCH, false, 0);
        return true;
    case SCRIPT_POLL:
        write_waits(writer, PROGRAM_POLL, false, pause_of(action->ns) + 1);
        return true;
    case SCRIPT_COMPUTE:
        write_compute(writer, action);
        return true;
    case SCRIPT_BARRIER:
        return write_barrier(writer, action);
    case SCRIPT_MEET:
        write_step(writer, PROGRAM_MEET, PROGRAM_NONE)->purpose = action->purpose;
        return true;
    case SCRIPT_EACH:
    case SCRIPT_END:
    default:
        return true;
    }
}

static bool is_for(const struct writer *writer, const struct script_action *action)
{
    const struct script_section *section = &writer->script->sections[action->section];
    return section->lane == writer->lane &&
           plan_ranks_has(&section->ranks, writer->rank);
}

/* Actions from `at` on, once; returns where the round or the script ends, or
 * UINT32_MAX. */
static uint32_t write_round(struct writer *writer, uint32_t at, uint32_t same)
{
    const struct script *script = writer->script;
    for (; at < script->action_count; at++) {
        const struct script_action *action = &script->actions[at];
        if (action->op == SCRIPT_END || action->op == SCRIPT_EACH) {
            return at;
        }
        if (is_for(writer, action) && !write_action(writer, action, same)) {
            return UINT32_MAX;
        }
    }
    return at;
}

static bool write_lane(struct writer *writer)
{
    const struct script *script = writer->script;
    for (uint32_t at = 0; at < script->action_count; at++) {
        const struct script_action *each = &script->actions[at];
        uint32_t end = at;
        if (each->op != SCRIPT_EACH) {
            end = write_round(writer, at, 0);
            if (end == UINT32_MAX) {
                return false;
            }
            at = end - (end < script->action_count);
            continue;
        }
        for (uint32_t same = each->first; same <= each->last; same++) {
            end = write_round(writer, at + 1, same);
            if (end == UINT32_MAX) {
                return false;
            }
        }
        at = end;
    }
    return true;
}

static bool write_rank(struct writer *writer, uint64_t seed)
{
    uint32_t barriers = writer->barriers;
    writer->chances = random_stream(seed ^ random_mix(writer->rank), STREAM_CHANCES);
    writer->orders = random_stream(seed ^ random_mix(writer->rank), STREAM_ORDERS);
    writer->pauses = random_stream(seed ^ random_mix(writer->rank), STREAM_PAUSES);
    writer->barriers = 0;
    for (writer->lane = 0; writer->lane < writer->script->lane_count; writer->lane++) {
        if (!write_lane(writer)) {
            return false;
        }
    }
    if (writer->rank > 0 && writer->barriers != barriers) {
        script_error_set(writer->error, (struct script_place){0},
                         "rank %u comes to %u barriers, and rank %u to %u",
                         (unsigned)writer->rank, (unsigned)writer->barriers,
                         (unsigned)writer->rank - 1, (unsigned)barriers);
        return false;
    }
    return true;
}

/* --- The whole -------------------------------------------------------------------- */

static bool check_ranks(const struct script *script, uint32_t ranks,
                        struct script_error *error)
{
    for (uint32_t i = 0; i < script->section_count; i++) {
        const struct script_section *section = &script->sections[i];
        const struct plan_ranks *of = &section->ranks;
        if (!of->all && of->span[of->count - 1].last >= ranks) {
            script_error_set(error, section->place,
                             "there is no rank %u: the run has %u, 0 to %u",
                             (unsigned)of->span[of->count - 1].last, (unsigned)ranks,
                             (unsigned)ranks - 1);
            return false;
        }
    }
    return true;
}

struct program *script_program(const struct script *script, uint64_t seed,
                               uint32_t ranks, struct script_error *error)
{
    if (!check_ranks(script, ranks, error)) {
        return NULL;
    }
    struct writer writer = {
        .script = script,
        .program = program_blank(seed, ranks, script->lane_count),
        .error = error,
        .marks = calloc((size_t)script->task_count + 1, sizeof(*writer.marks)),
        .laned = script->lane_count > 1,
    };
    if (writer.marks == NULL) {
        abort();
    }
    bool good = write_tasks(&writer);
    for (; good && writer.rank < ranks; writer.rank++) {
        good = write_rank(&writer, seed);
    }
    free(writer.marks);
    free(writer.tasks.items);
    if (good) {
        program_finish(writer.program);
        return writer.program;
    }
    program_free(writer.program);
    return NULL;
}

/* --- Mistakes --------------------------------------------------------------------- */

/* The line's text without what stands behind it; NULL if there is no such line. */
static const char *find_line(const char *text, size_t size, uint32_t line,
                             size_t *length)
{
    size_t at = 0;
    for (uint32_t i = 1; i < line; i++) {
        const char *end = memchr(text + at, '\n', size - at);
        if (end == NULL) {
            return NULL;
        }
        at = (size_t)(end - text) + 1;
    }
    const char *end = memchr(text + at, '\n', size - at);
    *length = end != NULL ? (size_t)(end - text) - at : size - at;
    return text + at;
}

size_t script_error_format(const char *path, const char *text, size_t text_size,
                           const struct script_error *error, char *out, size_t size)
{
    struct plan_text to = {.bytes = out, .size = size};
    size_t length = 0;
    const char *line =
        error->line > 0 ? find_line(text, text_size, error->line, &length) : NULL;
    if (line == NULL) {
        plan_put(&to, "%s: %s\n", path, error->wrong);
        return plan_text_end(&to);
    }
    plan_put(&to, "%s:%u:%u: %s\n  ", path, (unsigned)error->line,
             (unsigned)error->column, error->wrong);
    for (size_t i = 0; i < length && i < 200; i++) {
        plan_put(&to, "%c", line[i] >= ' ' && line[i] <= '~' ? line[i] : ' ');
    }
    plan_put(&to, "\n  %*s", (int)error->column - 1, "");
    for (uint32_t i = 0; i < error->length && i < 60; i++) {
        plan_put(&to, "%c", i == 0 ? '^' : '~');
    }
    plan_put(&to, "\n");
    if (error->allowed[0] != '\0') {
        plan_put(&to, "  allowed: %s\n", error->allowed);
    }
    return plan_text_end(&to);
}
