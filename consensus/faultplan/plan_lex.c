/* plan_lex.c - the words of a fault plan: names, numbers, times, ranks.
 *
 * Each lex_* function reads what it is named after from where the lexer stands and
 * moves on, or records the first mistake and returns false.  A mistake is recorded with
 * the place of the word that is wrong, not of the character at which reading stopped.
 */
#include "consensus/faultplan/plan_words.h"
#include "proto/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { QUOTE_BYTES = 40, NAME_BYTES_MAX = 24 };

static const uint64_t billion = 1000000000;

bool lex_wrong(struct lexer *lexer, size_t from, size_t length, const char *allowed,
               const char *format, ...)
{
    if (lexer->failed) {
        return false;
    }
    lexer->failed = true;
    if (lexer->error == NULL) {
        return false;
    }
    struct plan_error *error = lexer->error;
    error->column = (uint32_t)from + 1;
    error->length = length > 0 ? (uint32_t)length : 1;
    snprintf(error->allowed, sizeof(error->allowed), "%s", allowed);
    va_list args;
    va_start(args, format);
    vsnprintf(error->wrong, sizeof(error->wrong), format, args);
    va_end(args);
    /* The text may quote what was read, which may be anything. */
    for (char *c = error->wrong; *c != '\0'; c++) {
        if (*c < ' ' || *c > '~') {
            *c = '?';
        }
    }
    return false;
}

char lex_peek(const struct lexer *lexer, size_t ahead)
{
    return lexer->end - lexer->at > ahead ? lexer->text[lexer->at + ahead] : '\0';
}

bool lex_skip(struct lexer *lexer, const char *text)
{
    size_t length = strlen(text);
    if (lexer->end - lexer->at < length ||
        memcmp(lexer->text + lexer->at, text, length) != 0) {
        return false;
    }
    lexer->at += length;
    return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool in_word(char c)
{
    return is_digit(c) || is_letter(c) || c == '.' || c == '_' || c == '%';
}

size_t lex_word(const struct lexer *lexer)
{
    size_t length = 0;
    while (in_word(lex_peek(lexer, length))) {
        length++;
    }
    return length;
}

bool lex_expected(struct lexer *lexer, const char *what, const char *allowed)
{
    char next = lex_peek(lexer, 0);
    if (next == '\0') {
        return lex_wrong(lexer, lexer->at, 1, allowed, "%s is missing here", what);
    }
    if (next == ' ' || (next >= '\t' && next <= '\r')) {
        return lex_wrong(lexer, lexer->at, 1, "",
                         "a plan is one word, without white space");
    }
    size_t length = lex_word(lexer);
    if (length == 0) {
        length = 1;
    }
    return lex_wrong(
        lexer, lexer->at, length, allowed, "%s should stand here, not \"%.*s\"", what,
        (int)(length < QUOTE_BYTES ? length : QUOTE_BYTES), lexer->text + lexer->at);
}

/* --- Names ------------------------------------------------------------------------ */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Edits between two words: letters put in, left out, replaced, or two swapped (the
 * "optimal string alignment" distance).  The case of a letter does not count. */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned row[3][NAME_BYTES_MAX + 1];
    for (size_t j = 0; j <= b_length; j++) {
        row[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *here = row[i % 3], *above = row[(i + 2) % 3];
        const unsigned *above2 = row[(i + 1) % 3];
        here[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            unsigned best = above[j - 1] + (same ? 0 : 1);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = here[j - 1] + 1 < best ? here[j - 1] + 1 : best;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]) && above2[j - 2] + 1 < best) {
                best = above2[j - 2] + 1;
            }
            here[j] = best;
        }
    }
    return row[a_length % 3][b_length];
}

/* The index of the word among the names; `count` if it is none of them.  Then *closest
 * is the name that may have been meant, or NULL. */
static size_t lex_find(const char *word, size_t length, const char *const *names,
                       size_t count, const char **closest)
{
    *closest = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0) {
            return i;
        }
    }
    if (length > NAME_BYTES_MAX) {
        return count;
    }
    unsigned least = length < 4 ? 2 : 3; /* this many edits are no slip any more */
    for (size_t i = 0; i < count; i++) {
        size_t name_length = strlen(names[i]);
        if (name_length > NAME_BYTES_MAX) {
            continue;
        }
        unsigned edits = distance(word, length, names[i], name_length);
        if (edits < least && edits < name_length) {
            least = edits;
            *closest = names[i];
        }
    }
    return count;
}

bool lex_name(struct lexer *lexer, const char *what, const char *const *names,
              size_t count, size_t *out)
{
    char allowed[PLAN_ALLOWED_BYTES];
    struct plan_text list = {.bytes = allowed, .size = sizeof(allowed)};
    for (size_t i = 0; i < count; i++) {
        plan_put(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    plan_text_end(&list);
    size_t length = lex_word(lexer);
    if (length == 0) {
        char a_name[32];
        snprintf(a_name, sizeof(a_name), "a %s", what);
        return lex_expected(lexer, a_name, allowed);
    }
    const char *word = lexer->text + lexer->at, *closest;
    *out = lex_find(word, length, names, count, &closest);
    int shown = (int)(length < QUOTE_BYTES ? length : QUOTE_BYTES);
    if (*out == count && closest != NULL) {
        return lex_wrong(lexer, lexer->at, length, allowed,
                         "unknown %s \"%.*s\"; did you mean \"%s\"?", what, shown, word,
                         closest);
    }
    if (*out == count) {
        return lex_wrong(lexer, lexer->at, length, allowed, "unknown %s \"%.*s\"", what,
                         shown, word);
    }
    lexer->at += length;
    return true;
}

/* --- Numbers ---------------------------------------------------------------------- */

bool lex_integer(struct lexer *lexer, uint64_t *out)
{
    size_t from = lexer->at, word = lex_word(lexer);
    if (!is_digit(lex_peek(lexer, 0))) {
        return lex_expected(lexer, "a whole number", "");
    }
    uint64_t value = 0;
    while (is_digit(lex_peek(lexer, 0))) {
        unsigned digit = (unsigned)(lex_peek(lexer, 0) - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return lex_wrong(lexer, from, word, "", "this number is too large");
        }
        value = value * 10 + digit;
        lexer->at++;
    }
    *out = value;
    return true;
}

/* A decimal: whole + nano / 10^9, and the word that it stands in. */
struct decimal {
    uint64_t whole, nano;
    size_t from, word;
};

static bool lex_decimal(struct lexer *lexer, const char *what, struct decimal *out)
{
    *out = (struct decimal){.from = lexer->at, .word = lex_word(lexer)};
    if (!is_digit(lex_peek(lexer, 0))) {
        return lex_expected(lexer, what, "");
    }
    if (!lex_integer(lexer, &out->whole)) {
        return false;
    }
    if (!lex_skip(lexer, ".")) {
        return true;
    }
    if (!is_digit(lex_peek(lexer, 0))) {
        return lex_wrong(lexer, out->from, out->word, "",
                         "digits are missing behind the point");
    }
    for (uint64_t unit = billion / 10; is_digit(lex_peek(lexer, 0)); unit /= 10) {
        if (unit == 0) {
            return lex_wrong(lexer, out->from, out->word, "",
                             "there are more than nine digits behind the point");
        }
        out->nano += (uint64_t)(lex_peek(lexer, 0) - '0') * unit;
        lexer->at++;
    }
    return true;
}

bool lex_time(struct lexer *lexer, uint64_t *out_ns)
{
    return lex_time_within(lexer, PLAN_TIME_MAX_NS, "a time is at most 1000h", out_ns);
}

bool lex_time_within(struct lexer *lexer, uint64_t most_ns, const char *too_long,
                     uint64_t *out_ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1},         {"us", 1000},       {"ms", 1000000},
                 {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
    enum { UNITS = sizeof(units) / sizeof(*units) };
    static const char allowed[] = "ns, us, ms, s, m, h, as in 1.5s";
    struct decimal time;
    if (!lex_decimal(lexer, "a time, such as 5ms,", &time)) {
        return false;
    }
    size_t at = lexer->at, length = lex_word(lexer), unit = 0;
    if (length == 0) {
        return lex_wrong(lexer, time.from, time.word, allowed, "a time needs a unit");
    }
    while (unit < UNITS && (strlen(units[unit].name) != length ||
                            memcmp(units[unit].name, lexer->text + at, length) != 0)) {
        unit++;
    }
    if (unit == UNITS) {
        return lex_wrong(lexer, at, length, allowed, "unknown unit of time \"%.*s\"",
                         (int)(length < QUOTE_BYTES ? length : QUOTE_BYTES),
                         lexer->text + at);
    }
    lexer->at += length;
    uint64_t ns = units[unit].ns, part;
    if (time.whole > most_ns / ns) {
        return lex_wrong(lexer, time.from, time.word, "", "%s", too_long);
    }
    /* Either the unit is less than 10^9 ns or a multiple of it: no product overflows.
     */
    if (ns < billion) {
        if (time.nano * ns % billion != 0) {
            return lex_wrong(lexer, time.from, time.word, "",
                             "a time is a whole number of nanoseconds");
        }
        part = time.nano * ns / billion;
    } else {
        part = time.nano * (ns / billion);
    }
    if (part > most_ns - time.whole * ns) {
        return lex_wrong(lexer, time.from, time.word, "", "%s", too_long);
    }
    *out_ns = time.whole * ns + part;
    return true;
}

bool lex_ppm(struct lexer *lexer, const char *what, uint32_t least, uint32_t most,
             uint32_t *out)
{
    struct decimal value;
    if (!lex_decimal(lexer, what, &value)) {
        return false;
    }
    if (value.nano % 1000 != 0) {
        return lex_wrong(lexer, value.from, value.word, "",
                         "there are more than six digits behind the point");
    }
    uint64_t ppm = value.nano / 1000;
    if (value.whole < 10000) {
        ppm += value.whole * 1000000;
    }
    if (value.whole >= 10000 || ppm < least || ppm > most) {
        return lex_wrong(lexer, value.from, value.word, "", "%s is between %g and %g",
                         what, least / 1e6, most / 1e6);
    }
    *out = (uint32_t)ppm;
    return true;
}

bool lex_chance(struct lexer *lexer, uint32_t *out_ppb)
{
    static const char range[] = "a probability is between 0 and 1";
    static const char allowed[] = "0 to 1, as in 0.1, or 0% to 100%, as in 10%";
    size_t from = lexer->at;
    if (lex_skip(lexer, "-")) {
        return lex_wrong(lexer, from, 1 + lex_word(lexer), allowed, range);
    }
    struct decimal value;
    if (!lex_decimal(lexer, "a probability, such as 0.1,", &value)) {
        return false;
    }
    bool percent = lex_skip(lexer, "%");
    if (value.whole > 100) {
        return lex_wrong(lexer, value.from, value.word, allowed, range);
    }
    uint64_t ppb = value.whole * billion + value.nano;
    if (percent && ppb % 100 != 0) {
        return lex_wrong(lexer, value.from, value.word, "",
                         "there are more than seven digits behind the point");
    }
    ppb = percent ? ppb / 100 : ppb;
    if (ppb > PLAN_CERTAIN_PPB) {
        return lex_wrong(lexer, value.from, value.word, allowed, range);
    }
    *out_ppb = (uint32_t)ppb;
    return true;
}

/* --- Ranks ------------------------------------------------------------------------ */

static bool lex_rank(struct lexer *lexer, uint32_t *out)
{
    size_t from = lexer->at;
    uint64_t rank = 0;
    if (!lex_integer(lexer, &rank)) {
        return false;
    }
    size_t digits = lexer->at - from, length = digits + lex_word(lexer);
    if (length > digits) {
        return lex_wrong(lexer, from, length,
                         "ranks, as in r0+2; a duration behind @when, as in @0s+500ms",
                         "\"%.*s\" is no rank",
                         (int)(length < QUOTE_BYTES ? length : QUOTE_BYTES),
                         lexer->text + from);
    }
    if (rank >= LIMIT_RANKS) {
        return lex_wrong(lexer, from, digits, "", "a rank is less than %u",
                         LIMIT_RANKS);
    }
    *out = (uint32_t)rank;
    return true;
}

static bool lex_span(struct lexer *lexer, struct plan_ranks *out)
{
    size_t from = lexer->at, last_from = from;
    uint32_t first = 0, last;
    if (!lex_rank(lexer, &first)) {
        return false;
    }
    last = first;
    if (lex_peek(lexer, 0) == '-' && is_digit(lex_peek(lexer, 1))) {
        last_from = ++lexer->at;
        if (!lex_rank(lexer, &last)) {
            return false;
        }
    }
    if (last < first) {
        return lex_wrong(lexer, from, lexer->at - from, "",
                         "a range goes upwards, as in %u-%u", last, first);
    }
    if (out->count == 0 || last > out->span[out->count - 1].last) {
        out->column = (uint32_t)last_from + 1;
        out->length = (uint32_t)(lexer->at - last_from);
    }
    if (!plan_ranks_add(out, first, last)) {
        return lex_wrong(lexer, from, lexer->at - from, "",
                         "a set has at most %d ranges", PLAN_SPANS_MAX);
    }
    return true;
}

/* Behind the first letter: each may have its own. */
static bool lex_spans(struct lexer *lexer, const char *letter, const char *number,
                      const char *allowed, struct plan_ranks *out)
{
    do {
        if (!is_digit(lex_peek(lexer, 0))) {
            return lex_expected(lexer, number, allowed);
        }
        if (!lex_span(lexer, out)) {
            return false;
        }
        if (!lex_skip(lexer, "+")) {
            return true;
        }
        lex_skip(lexer, letter);
    } while (true);
}

bool lex_ranks(struct lexer *lexer, bool needs_r, struct plan_ranks *out)
{
    static const char allowed[] = "one rank (r2), a range (r0-3), a list (r0+2-3)";
    if (!lex_skip(lexer, "r") && (needs_r || !is_digit(lex_peek(lexer, 0)))) {
        return lex_expected(lexer, "a rank, such as r2,", allowed);
    }
    return lex_spans(lexer, "r", "the number of a rank", allowed, out);
}

bool lex_places(struct lexer *lexer, bool needs_r, struct plan_ranks *out)
{
    static const char allowed[] = "one host (h2), a range (h0-3), a list (h0+2-3)";
    if (!lex_skip(lexer, "h")) {
        return lex_ranks(lexer, needs_r, out);
    }
    out->of_hosts = true;
    return lex_spans(lexer, "h", "the number of a host", allowed, out);
}
