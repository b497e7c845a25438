/* script_words.c - the words of a script, and what they name.
 *
 * A word ends at white space or at a comment.  It is read with the fault plan's lexer,
 * so that times, chances and ranks are written alike in both.
 */
#include "consensus/sim/programs/script_private.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void *script_grow(void *items, uint32_t *capacity, uint32_t count, size_t item_bytes)
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

/* --- Words ------------------------------------------------------------------------ */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Moves on to the next word of the line; false if there is none. */
bool script_next_word(struct script_reader *reader)
{
    while (reader->at < reader->size && is_space(reader->text[reader->at])) {
        reader->at++;
    }
    size_t from = reader->from = reader->at;
    if (reader->at < reader->size && reader->text[reader->at] == '#') {
        reader->at = reader->size;
    } else {
        while (reader->at < reader->size && !is_space(reader->text[reader->at]) &&
               reader->text[reader->at] != '#') {
            reader->at++;
        }
    }
    bool comment = from < reader->size && reader->text[from] == '#';
    reader->word = (struct lexer){.text = reader->text,
                                  .at = from,
                                  .end = comment ? from : reader->at,
                                  .error = &reader->mistake};
    return reader->word.end > from;
}

struct script_place script_place_of(const struct script_reader *reader)
{
    size_t length = reader->word.end - reader->from;
    return (struct script_place){reader->line, (uint32_t)reader->from + 1,
                                 length > 0 ? (uint32_t)length : 1};
}

bool script_is_word(const struct script_reader *reader, const char *text)
{
    size_t length = reader->word.end - reader->from;
    return strlen(text) == length &&
           memcmp(reader->text + reader->from, text, length) == 0;
}

/* The whole word is wrong. */
__attribute__((format(printf, 3, 4))) bool
script_wrong(struct script_reader *reader, const char *allowed, const char *format, ...)
{
    char text[PLAN_WRONG_BYTES];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    return lex_wrong(&reader->word, reader->from, reader->word.end - reader->from,
                     allowed, "%s", text);
}

/* Nothing of the word is left. */
bool script_word_ends(struct script_reader *reader, const char *what)
{
    if (reader->word.failed || reader->word.at == reader->word.end) {
        return !reader->word.failed;
    }
    return script_wrong(reader, "", "\"%.*s\" is no %s",
                        (int)(reader->word.end - reader->from),
                        reader->text + reader->from, what);
}

bool script_read_time(struct script_reader *reader, uint64_t *out_ns)
{
    (void)script_next_word(reader);
    return lex_time(&reader->word, out_ns) && script_word_ends(reader, "time");
}

/* first-last, or one number if `single` may be. */
bool script_lex_range(struct lexer *word, bool single, uint32_t *first, uint32_t *last)
{
    uint64_t from, to;
    size_t at = word->at;
    if (!lex_integer(word, &from)) {
        return false;
    }
    to = from;
    if (!lex_skip(word, "-")) {
        if (!single) {
            return lex_expected(word, "a hyphen and the last number", "as in 0-9");
        }
    } else if (!lex_integer(word, &to)) {
        return false;
    }
    if (to < from || to >= SCRIPT_TASKS_MAX) {
        return lex_wrong(word, at, word->at - at, "",
                         "a range goes upwards, and ends below %d", SCRIPT_TASKS_MAX);
    }
    *first = (uint32_t)from;
    *last = (uint32_t)to;
    return true;
}

bool script_read_ranks(struct script_reader *reader, struct plan_ranks *out)
{
    *out = (struct plan_ranks){0};
    if (!script_next_word(reader)) {
        return lex_expected(&reader->word, "a set of ranks",
                            "all, a rank (2), a range (0-3), a list (0+2-3)");
    }
    if (script_is_word(reader, "all")) {
        return out->all = true;
    }
    return lex_ranks(&reader->word, false, out) &&
           script_word_ends(reader, "set of ranks");
}

/* --- References ------------------------------------------------------------------ */

/* Words of the language that end a list of tasks; none is a task's name. */
static const char *const reserved[] = {
    "<-",       "after", "in",         "work",   "result",  "candidates", "once",
    "portable", "hint",  "fails",      "loose",  "for",     "chance",     "shuffled",
    "all",      "on",    "task",       "lane",   "spawn",   "wait",       "any",
    "fetch",    "poll",  "decline",    "cancel", "each",    "end",        "compute",
    "barrier",  "meet",  "idempotent", "poison", "elements"};

bool script_is_reserved(const struct script_reader *reader)
{
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++) {
        if (script_is_word(reader, reserved[i])) {
            return true;
        }
    }
    return false;
}

static bool read_index(struct script_reader *reader, const struct script_set *set,
                       bool may_same, struct script_ref *out)
{
    static const char allowed[] = "a number [3], a range [0-3], the same [=], [=-1]";
    struct lexer *word = &reader->word;
    if (!set->array) {
        return script_wrong(reader, "", "\"%s\" is one task, and has no numbers",
                            set->name);
    }
    if (lex_skip(word, "=")) {
        bool minus = lex_skip(word, "-");
        uint64_t distance = 0;
        if ((minus || lex_skip(word, "+")) && !lex_integer(word, &distance)) {
            return false;
        }
        if (!may_same) {
            return script_wrong(reader, "",
                                "[=] stands where an array is declared, or below each");
        }
        out->pick = SCRIPT_PICK_SAME;
        out->offset =
            distance < SCRIPT_TASKS_MAX ? (int64_t)distance : SCRIPT_TASKS_MAX;
        out->offset = minus ? -out->offset : out->offset;
    } else {
        out->pick = SCRIPT_PICK_RANGE;
        if (!script_lex_range(word, true, &out->first, &out->last)) {
            return false;
        }
        if (out->last >= set->count) {
            return script_wrong(reader, "", "\"%s\" has %u tasks, 0 to %u", set->name,
                                set->count, set->count - 1);
        }
    }
    return lex_skip(word, "]") || lex_expected(word, "\"]\"", allowed);
}

/* One task or some of an array, that stand in the present word. */
bool script_read_ref(struct script_reader *reader, bool may_same,
                     struct script_ref *out)
{
    size_t set;
    const struct script *script = reader->script;
    *out = (struct script_ref){.place = script_place_of(reader)};
    /* Its own name is good for a mistake of its own, and no advice. */
    size_t count = script->set_count;
    count -= reader->declares_one && !script_is_word(reader, reader->names[count - 1]);
    if (count == 0) {
        return script_wrong(reader, "", "no task is declared above");
    }
    if (!lex_name(&reader->word, "task", reader->names, count, &set)) {
        return false;
    }
    out->set = (uint32_t)set;
    if (lex_skip(&reader->word, "[") &&
        !read_index(reader, &script->sets[set], may_same, out)) {
        return false;
    }
    return script_word_ends(reader, "task");
}

/* One or more; stops at a reserved word, which is then the present one. */
bool script_read_refs(struct script_reader *reader, bool may_same,
                      struct script_refs *out)
{
    uint32_t before = out->count;
    while (script_next_word(reader) && !script_is_reserved(reader)) {
        struct script_ref ref;
        if (!script_read_ref(reader, may_same, &ref)) {
            return false;
        }
        out->items =
            script_grow(out->items, &out->capacity, out->count, sizeof(*out->items));
        out->items[out->count++] = ref;
    }
    if (out->count == before) {
        return lex_expected(&reader->word, "a task's name", "");
    }
    return true;
}
