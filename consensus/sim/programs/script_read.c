/* script_read.c - reads a script (script.h has the grammar).
 *
 * A line is read word by word (script_words.c).  The first mistake ends the reading,
 * with its place, what is wrong and what is allowed.
 */
#include "consensus/sim/programs/script_private.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WORK_MOST_NS UINT64_C(3600000000000) /* what "1h" says */

/* --- Declarations ---------------------------------------------------------------- */

/* The name with which the present word begins. */
static bool take_name(struct script_reader *reader, const char *allowed,
                      char name[SCRIPT_NAME_BYTES])
{
    struct lexer *word = &reader->word;
    size_t length = lex_word(word);
    char first = lex_peek(word, 0);
    bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
    if (!letter || memchr(word->text + word->at, '%', length) != NULL) {
        return script_wrong(reader, allowed, "this is no name");
    }
    if (length >= SCRIPT_NAME_BYTES) {
        return script_wrong(reader, "", "a name has at most %d letters",
                            SCRIPT_NAME_BYTES - 1);
    }
    memcpy(name, word->text + word->at, length);
    name[length] = '\0';
    word->at += length;
    return true;
}

static bool read_name(struct script_reader *reader, struct script_set *set)
{
    static const char allowed[] = "a name of letters, digits and _, as in tile or "
                                  "tile[64]";
    uint64_t count = 1;
    if (!script_next_word(reader)) {
        return lex_expected(&reader->word, "a task's name", allowed);
    }
    struct lexer *word = &reader->word;
    set->place = script_place_of(reader);
    if (!take_name(reader, allowed, set->name)) {
        return false;
    }
    if (script_is_reserved(reader)) {
        return script_wrong(reader, "", "\"%s\" is a word of the language", set->name);
    }
    for (uint32_t i = 0; i < reader->script->set_count; i++) {
        if (strcmp(reader->names[i], set->name) == 0) {
            return script_wrong(reader, "", "\"%s\" is declared on line %u", set->name,
                                reader->script->sets[i].place.line);
        }
    }
    set->array = lex_skip(word, "[");
    if (set->array && (!lex_integer(word, &count) || !lex_skip(word, "]"))) {
        return lex_expected(word, "\"]\"", allowed);
    }
    if (count < 1 || count > SCRIPT_TASKS_MAX - reader->script->task_count) {
        return script_wrong(reader, "", "a script has 1 to %d tasks", SCRIPT_TASKS_MAX);
    }
    set->count = (uint32_t)count;
    return script_word_ends(reader, "name");
}

static bool read_parent(struct script_reader *reader, struct script_set *set)
{
    if (!script_next_word(reader)) {
        return lex_expected(&reader->word, "the parent's name", "");
    }
    if (!script_read_ref(reader, set->array, &set->parent)) {
        return false;
    }
    const struct script_set *parent = &reader->script->sets[set->parent.set];
    bool one = parent->count == 1 || set->parent.pick == SCRIPT_PICK_SAME ||
               (set->parent.pick == SCRIPT_PICK_RANGE &&
                set->parent.first == set->parent.last);
    if (!one || set->parent.offset != 0 ||
        (set->parent.pick == SCRIPT_PICK_SAME && parent->count < set->count)) {
        return script_wrong(reader, "name, name[3], or name[=] of an array as long",
                            "a task has one parent");
    }
    if (parent->elements > 0) {
        return script_wrong(reader, "", "elements of a task array spawn nothing");
    }
    if (parent == set) {
        return script_wrong(reader, "", "a task is no child of its own");
    }
    if (parent->fails) {
        return script_wrong(reader, "", "a kernel that fails spawns nothing");
    }
    set->depth = parent->depth + 1;
    if (set->depth > PROGRAM_NEST_MAX) {
        return script_wrong(reader, "", "tasks are nested at most %d deep",
                            PROGRAM_NEST_MAX);
    }
    set->child = true;
    return true;
}

static bool read_size(struct script_reader *reader, uint32_t *out_bytes)
{
    static const char allowed[] = "0B to 64MB, as in 100, 8kB, 1MB";
    uint64_t size = 0, unit = 1;
    (void)script_next_word(reader);
    if (!lex_integer(&reader->word, &size)) {
        return false;
    }
    if (lex_skip(&reader->word, "kB")) {
        unit = 1000;
    } else if (lex_skip(&reader->word, "MB")) {
        unit = 1000000;
    } else {
        (void)lex_skip(&reader->word, "B");
    }
    if (reader->word.at < reader->word.end || size > 64000000 / unit) {
        return script_wrong(reader, allowed, "this is no size of a result");
    }
    *out_bytes = (uint32_t)(size * unit);
    return true;
}

static bool read_candidates(struct script_reader *reader, struct script_set *set)
{
    struct plan_ranks ranks;
    if (!script_read_ranks(reader, &ranks)) {
        return false;
    }
    for (uint32_t rank = 0; rank < 64; rank++) {
        if (plan_ranks_has(&ranks, rank)) {
            set->candidates |= UINT64_C(1) << rank;
        }
    }
    if (!ranks.all && ranks.span[ranks.count - 1].last >= 64) {
        return script_wrong(reader, "", "candidates are among the first 64 ranks");
    }
    set->candidates = ranks.all ? 0 : set->candidates;
    return true;
}

static bool read_elements(struct script_reader *reader, struct script_set *set)
{
    (void)script_next_word(reader);
    if (!lex_integer(&reader->word, &set->elements)) {
        return false;
    }
    if (set->elements < 1 || set->elements > SCRIPT_ELEMENTS_MAX) {
        return script_wrong(reader, "", "an array has 1 to %d elements",
                            SCRIPT_ELEMENTS_MAX);
    }
    return script_word_ends(reader, "number");
}

/* A property of a task.  Each but the lists is said once. */
struct property {
    const char *name;
    bool list, of_arrays;
};
static const struct property properties[] = {
    {"<-", true, false},        {"after", true, true},    {"in", false, false},
    {"work", false, true},      {"result", false, false}, {"candidates", false, false},
    {"elements", false, true},  {"once", false, false},   {"idempotent", false, false},
    {"portable", false, false}, {"hint", false, false},   {"fails", false, true},
    {"loose", false, false},    {"poison", false, true}};
enum { PROPERTIES = sizeof(properties) / sizeof(*properties) };

/* Those of the line that is read, as far as they have been. */
struct clauses {
    bool said[PROPERTIES];
    const struct property *not_of_arrays; /* the first; NULL: there is none */
    struct script_place place;            /* where that is */
};

/* The property that is the present word; NULL: there is none, or not once more. */
static const struct property *find_property(struct script_reader *reader,
                                            struct clauses *clauses)
{
    static const char allowed[] =
        "<-, after, in, work, result, candidates, elements, "
        "once, idempotent, portable, hint, fails, loose, poison";
    size_t at = 0;
    while (at < PROPERTIES && !script_is_word(reader, properties[at].name)) {
        at++;
    }
    if (at == PROPERTIES) {
        (void)script_wrong(reader, allowed, "\"%.*s\" is no property of a task",
                           (int)(reader->word.end - reader->from),
                           reader->text + reader->from);
        return NULL;
    }
    if (clauses->said[at] && !properties[at].list) {
        (void)script_wrong(reader, "", "\"%s\" is said twice of a task: say it once",
                           properties[at].name);
        return NULL;
    }
    if (!properties[at].of_arrays && clauses->not_of_arrays == NULL) {
        clauses->not_of_arrays = &properties[at];
        clauses->place = script_place_of(reader);
    }
    clauses->said[at] = true;
    return &properties[at];
}

static bool read_work(struct script_reader *reader, struct script_set *set)
{
    uint64_t work_ns;
    (void)script_next_word(reader);
    if (!lex_time_within(&reader->word, WORK_MOST_NS, "a kernel works for at most 1h",
                         &work_ns) ||
        !script_word_ends(reader, "time")) {
        return false;
    }
    set->work_us = (uint32_t)(work_ns / 1000);
    return true;
}

static bool note_flag(struct script_set *set, const char *name)
{
    const struct {
        const char *name;
        bool *field;
    } flags[] = {{"once", &set->once},         {"idempotent", &set->idempotent},
                 {"portable", &set->portable}, {"hint", &set->hint},
                 {"fails", &set->fails},       {"loose", &set->loose},
                 {"poison", &set->poison}};
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        if (strcmp(name, flags[i].name) == 0) {
            *flags[i].field = true;
        }
    }
    return true;
}

/* The value of a property that is no list. */
static bool read_value(struct script_reader *reader, struct script_set *set,
                       const char *name)
{
    return strcmp(name, "work") == 0         ? read_work(reader, set)
           : strcmp(name, "in") == 0         ? read_parent(reader, set)
           : strcmp(name, "result") == 0     ? read_size(reader, &set->result_bytes)
           : strcmp(name, "candidates") == 0 ? read_candidates(reader, set)
           : strcmp(name, "elements") == 0   ? read_elements(reader, set)
                                             : note_flag(set, name);
}

/* Reads clauses to the line's end. */
static bool read_clauses(struct script_reader *reader, struct script_set *set)
{
    struct clauses clauses = {0};
    bool more = script_next_word(reader);
    while (more) {
        const struct property *property = find_property(reader, &clauses);
        if (property == NULL) {
            return false;
        }
        if (property->list) {
            const bool data = strcmp(property->name, "<-") == 0;
            if (!script_read_refs(reader, set->array,
                                  data ? &set->inputs : &set->after)) {
                return false;
            }
            more = reader->word.end > reader->from;
            continue;
        }
        if (!read_value(reader, set, property->name)) {
            return false;
        }
        more = script_next_word(reader);
    }
    if (set->elements > 0 && clauses.not_of_arrays != NULL) {
        return lex_wrong(&reader->word, clauses.place.column - 1, clauses.place.length,
                         "after, work, fails, poison",
                         "a task array has no property \"%s\" here: leave it out",
                         clauses.not_of_arrays->name);
    }
    return true;
}

/* An array may name itself in its clauses, as in fix[=-1]. */
static bool read_task(struct script_reader *reader)
{
    struct script *script = reader->script;
    struct script_set set = {
        .first = script->task_count, .work_us = 10, .result_bytes = 8};
    if (!read_name(reader, &set)) {
        return false;
    }
    if (script->action_count > 0) {
        return script_wrong(reader, "", "tasks are declared before the first action");
    }
    uint32_t capacity = script->set_capacity;
    script->sets = script_grow(script->sets, &script->set_capacity, script->set_count,
                               sizeof(*script->sets));
    if (capacity != script->set_capacity) {
        reader->names =
            realloc(reader->names, script->set_capacity * sizeof(*reader->names));
        if (reader->names == NULL) {
            abort();
        }
    }
    script->sets[script->set_count++] = set;
    for (uint32_t i = 0; i < script->set_count; i++) {
        reader->names[i] = script->sets[i].name;
    }
    script->task_count += set.count;
    reader->declares_one = !set.array;
    const bool good = read_clauses(reader, &script->sets[script->set_count - 1]);
    reader->declares_one = false;
    return good;
}

/* --- Actions --------------------------------------------------------------------- */

static bool read_section(struct script_reader *reader)
{
    struct script *script = reader->script;
    struct script_section section = {0};
    if (!script_read_ranks(reader, &section.ranks)) {
        return false;
    }
    section.place = script_place_of(reader);
    if (script_next_word(reader)) {
        uint64_t lane = 0;
        if (!script_is_word(reader, "lane")) {
            return script_wrong(reader, "lane", "only a lane may follow the ranks");
        }
        (void)script_next_word(reader);
        if (!lex_integer(&reader->word, &lane) || !script_word_ends(reader, "lane")) {
            return false;
        }
        if (lane >= PROGRAM_LANES_MAX) {
            return script_wrong(reader, "", "lanes are 0 to %d", PROGRAM_LANES_MAX - 1);
        }
        section.lane = (uint32_t)lane;
        (void)script_next_word(reader);
    }
    if (section.lane >= script->lane_count) {
        script->lane_count = section.lane + 1;
    }
    script->sections = script_grow(script->sections, &script->section_capacity,
                                   script->section_count, sizeof(*script->sections));
    script->sections[script->section_count++] = section;
    return true;
}

/* No list of tasks names a child: its parent's kernel spawns it and waits for it. */
static bool check_top(struct script_reader *reader, const struct script_refs *refs)
{
    for (uint32_t i = 0; i < refs->count; i++) {
        const struct script_set *set = &reader->script->sets[refs->items[i].set];
        const struct script_place *place = &refs->items[i].place;
        if (set->child) {
            return lex_wrong(&reader->word, place->column - 1, place->length, "",
                             "\"%s\" is spawned by its parent, and for it", set->name);
        }
    }
    return true;
}

static bool read_spawn(struct script_reader *reader, struct script_action *action)
{
    action->chance_ppb = PLAN_CERTAIN_PPB;
    if (!script_read_refs(reader, reader->in_each, &action->refs)) {
        return false;
    }
    while (reader->word.end > reader->from) {
        if (script_is_word(reader, "shuffled")) {
            action->shuffled = true;
        } else if (script_is_word(reader, "chance")) {
            (void)script_next_word(reader);
            if (!lex_chance(&reader->word, &action->chance_ppb) ||
                !script_word_ends(reader, "chance")) {
                return false;
            }
        } else {
            return script_wrong(reader, "chance, shuffled",
                                "this does not belong to a spawn");
        }
        (void)script_next_word(reader);
    }
    return check_top(reader, &action->refs);
}

static bool read_poll(struct script_reader *reader, struct script_action *action)
{
    if (!script_read_refs(reader, reader->in_each, &action->refs)) {
        return false;
    }
    if (!script_is_word(reader, "for")) {
        return lex_expected(&reader->word, "\"for\" and a time", "for");
    }
    return script_read_time(reader, &action->ns) && check_top(reader, &action->refs);
}

static bool read_each(struct script_reader *reader, struct script_action *action)
{
    if (reader->in_each) {
        return script_wrong(reader, "", "there is an open each, from line %u",
                            reader->each_place.line);
    }
    reader->in_each = true;
    reader->each_place = script_place_of(reader);
    (void)script_next_word(reader);
    return script_lex_range(&reader->word, false, &action->first, &action->last) &&
           script_word_ends(reader, "range");
}

static bool read_end(struct script_reader *reader)
{
    if (!reader->in_each) {
        return script_wrong(reader, "", "there is no each that this could end");
    }
    reader->in_each = false;
    return true;
}

static bool read_compute(struct script_reader *reader, struct script_action *action)
{
    (void)script_next_word(reader);
    return lex_spread(&reader->word, &action->spread) &&
           script_word_ends(reader, "time");
}

/* Equal names are one purpose. */
static uint32_t note_purpose(struct script *script, const char *name)
{
    for (uint32_t i = 0; i < script->purpose_count; i++) {
        if (strcmp(script->purposes[i], name) == 0) {
            return i + 1;
        }
    }
    script->purposes = script_grow(script->purposes, &script->purpose_capacity,
                                   script->purpose_count, sizeof(*script->purposes));
    memcpy(script->purposes[script->purpose_count], name, SCRIPT_NAME_BYTES);
    return ++script->purpose_count;
}

static bool read_meet(struct script_reader *reader, struct script_action *action)
{
    static const char allowed[] = "a name of letters, digits and _, or nothing";
    char name[SCRIPT_NAME_BYTES] = "";
    if (reader->script->sections[action->section].lane != 0) {
        return script_wrong(reader, "", "lane 0 alone meets");
    }
    if (!script_next_word(reader)) {
        return true;
    }
    if (!take_name(reader, allowed, name) || !script_word_ends(reader, "name")) {
        return false;
    }
    action->purpose = note_purpose(reader->script, name);
    return true;
}

static bool read_arguments(struct script_reader *reader, struct script_action *action)
{
    switch (action->op) {
    case SCRIPT_SPAWN:
        return read_spawn(reader, action);
    case SCRIPT_DECLINE:
    case SCRIPT_CANCEL:
    case SCRIPT_WAIT:
    case SCRIPT_ANY:
    case SCRIPT_FETCH:
        return script_read_refs(reader, reader->in_each, &action->refs) &&
               check_top(reader, &action->refs);
    case SCRIPT_POLL:
        return read_poll(reader, action);
    case SCRIPT_COMPUTE:
        return read_compute(reader, action);
    case SCRIPT_MEET:
        return read_meet(reader, action);
    case SCRIPT_EACH:
        return read_each(reader, action);
    case SCRIPT_END:
        return read_end(reader);
    case SCRIPT_BARRIER:
    default:
        return true;
    }
}

static bool read_action(struct script_reader *reader, enum script_op op)
{
    struct script *script = reader->script;
    if (script->section_count == 0 && op != SCRIPT_EACH && op != SCRIPT_END) {
        return script_wrong(reader, "", "say on which ranks first: on all");
    }
    struct script_action action = {.op = op, .place = script_place_of(reader)};
    action.section = script->section_count - 1;
    if (!read_arguments(reader, &action)) {
        free(action.refs.items);
        return false;
    }
    script->actions = script_grow(script->actions, &script->action_capacity,
                                  script->action_count, sizeof(*script->actions));
    script->actions[script->action_count++] = action;
    return true;
}

/* --- Lines ----------------------------------------------------------------------- */

static bool read_line(struct script_reader *reader)
{
    /* In the order of enum script_op, then the two that are none. */
    static const char *const words[] = {
        "spawn",   "decline", "cancel", "wait", "any", "fetch", "poll",
        "compute", "barrier", "meet",   "each", "end", "task",  "on"};
    size_t word;
    if (!script_next_word(reader)) {
        return true;
    }
    if (!lex_name(&reader->word, "word", words, sizeof(words) / sizeof(*words),
                  &word) ||
        !script_word_ends(reader, "word")) {
        return false;
    }
    bool good = strcmp(words[word], "task") == 0 ? read_task(reader)
                : strcmp(words[word], "on") == 0
                    ? read_section(reader)
                    : read_action(reader, (enum script_op)word);
    if (good && (reader->word.end > reader->word.at || script_next_word(reader))) {
        return script_wrong(reader, "", "the line should end here");
    }
    return good;
}

static bool read_all(struct script_reader *reader, const char *text, size_t size)
{
    for (size_t at = 0; at < size; reader->line++) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - (text + at)) : size - at;
        reader->text = text + at;
        reader->size = length;
        reader->at = reader->from = 0;
        if (!read_line(reader)) {
            return false;
        }
        at += length + 1;
    }
    return true;
}

static void tell(const struct script_reader *reader, struct script_error *error)
{
    error->line = reader->line;
    error->column = reader->mistake.column;
    error->length = reader->mistake.length;
    (void)snprintf(error->wrong, sizeof(error->wrong), "%.*s", SCRIPT_WRONG_BYTES - 1,
                   reader->mistake.wrong);
    (void)snprintf(error->allowed, sizeof(error->allowed), "%.*s",
                   SCRIPT_ALLOWED_BYTES - 1, reader->mistake.allowed);
}

struct script *script_parse(const char *text, size_t size, struct script_error *error)
{
    struct script_reader reader = {.line = 1,
                                   .script = calloc(1, sizeof(*reader.script))};
    if (reader.script == NULL) {
        abort();
    }
    reader.script->lane_count = 1;
    bool good = read_all(&reader, text, size);
    if (!good) {
        tell(&reader, error);
    }
    if (good && reader.in_each) {
        script_error_set(error, reader.each_place, "this each has no end");
        good = false;
    }
    free(reader.names);
    if (good) {
        return reader.script;
    }
    script_free(reader.script);
    return NULL;
}

void script_free(struct script *script)
{
    if (script == NULL) {
        return;
    }
    for (uint32_t i = 0; i < script->set_count; i++) {
        free(script->sets[i].inputs.items);
        free(script->sets[i].after.items);
    }
    for (uint32_t i = 0; i < script->action_count; i++) {
        free(script->actions[i].refs.items);
    }
    free(script->sets);
    free(script->purposes);
    free(script->sections);
    free(script->actions);
    free(script);
}
