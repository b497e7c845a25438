/* divergence.c - see divergence.h.
 *
 * A spawn is a cell of three lines: its call site, its hash with the kernel, its label
 * behind the count of an array (left out where neither column has one).  A cell that
 * stands alone has its line to itself; nothing else wraps but the list of ranks above a
 * column, which is worth more whole.  Text of the program's is printed as one line:
 * control characters become '?'.
 */
#include "node/explain/divergence.h"

#include "hashing/identity.h"
#include "hashing/rankset.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    COLUMN = 47, /* 2 for the mark, two columns, 3 between them: 99 */
    CELL_LINES = 3,
    CELL_BYTES = 512,
    COUNT_BYTES = 40,
    RANKS_BYTES = 256
};

struct cell {
    char line[CELL_LINES][CELL_BYTES];
};

/* --- Characters ----------------------------------------------------------------- */

static bool begins_character(char byte) { return ((unsigned char)byte & 0xc0) != 0x80; }

static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++) {
        width += begins_character(*text);
    }
    return width;
}

/* Where the character after the first `count` begins, or the text ends. */
static const char *skip(const char *text, size_t count)
{
    for (; *text != '\0'; text++) {
        if (begins_character(*text) && count-- == 0) {
            break;
        }
    }
    return text;
}

static void make_plain(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            *text = '?';
        }
    }
}

static void cut_end(char *text)
{
    if (width_of(text) > COLUMN) {
        size_t kept = (size_t)(skip(text, COLUMN - 2) - text);
        memcpy(text + kept, "..", sizeof(".."));
    }
}

static void cut_beginning(char *text)
{
    size_t width = width_of(text);
    if (width > COLUMN) {
        const char *rest = skip(text, width - (COLUMN - 2));
        memmove(text + 2, rest, strlen(rest) + 1);
        memcpy(text, "..", 2);
    }
}

/* --- Cells ---------------------------------------------------------------------- */

static const char *spawn_word(const moot_hash *hash)
{
    return hash_has(hash, MOOT_HASH_ARRAY) ? "array" : "task";
}

/* "20 elements", "" of what is no array. */
static const char *name_count(const struct divergence_spawn *spawn,
                              char text[COUNT_BYTES])
{
    text[0] = '\0';
    if (spawn->count > 0) {
        (void)snprintf(text, COUNT_BYTES, "%" PRIu64 " element%s", spawn->count,
                       spawn->count == 1 ? "" : "s");
    }
    return text;
}

static void fill(struct cell *cell, const struct divergence_spawn *spawn)
{
    memset(cell, 0, sizeof(*cell));
    if (hash_is_zero(&spawn->hash)) {
        (void)snprintf(cell->line[0], CELL_BYTES, "nothing more");
        return;
    }
    char digits[MOOT_HASH_TEXT_BYTES];
    (void)snprintf(cell->line[0], CELL_BYTES, "%s",
                   spawn->site != NULL ? spawn->site : "at an unknown place");
    (void)snprintf(
        cell->line[1], CELL_BYTES, "  %s %.8s%s%s%s", spawn_word(&spawn->hash),
        hash_format(&spawn->hash, digits), spawn->kernel != NULL ? " of kernel '" : "",
        spawn->kernel != NULL ? spawn->kernel : "", spawn->kernel != NULL ? "'" : "");
    char count[COUNT_BYTES];
    const bool labelled = spawn->label != NULL, counted = spawn->count > 0;
    if (labelled || counted) {
        (void)snprintf(cell->line[2], CELL_BYTES, "  %s%s%s%s%s",
                       name_count(spawn, count), labelled && counted ? " " : "",
                       labelled ? "'" : "", labelled ? spawn->label : "",
                       labelled ? "'" : "");
    }
    for (int i = 0; i < CELL_LINES; i++) {
        make_plain(cell->line[i]);
    }
    cut_beginning(cell->line[0]);
    cut_end(cell->line[1]);
    cut_end(cell->line[2]);
}

/* `right` is NULL where there is one column only. */
static void add_line(struct text *text, char mark, const char *left, const char *right)
{
    if (right == NULL) {
        text_add(text, "%c %s\n", mark, left);
        return;
    }
    int pad = COLUMN - (int)width_of(left);
    text_add(text, "%c %s%*s |%s%s\n", mark, left, pad > 0 ? pad : 0, "",
             *right != '\0' ? " " : "", right);
}

static void add_cells(struct text *text, char mark, const struct divergence_spawn *left,
                      const struct divergence_spawn *right)
{
    struct cell cells[2] = {0};
    fill(&cells[0], left);
    if (right != NULL) {
        fill(&cells[1], right);
    }
    for (int i = 0; i < CELL_LINES; i++) {
        if (cells[0].line[i][0] != '\0' || cells[1].line[i][0] != '\0') {
            add_line(text, mark, cells[0].line[i],
                     right != NULL ? cells[1].line[i] : NULL);
        }
    }
}

/* --- Above the columns ---------------------------------------------------------- */

static void name_ranks(const struct rankset *ranks, char names[RANKS_BYTES + 8])
{
    char list[RANKS_BYTES] = "of unknown number";
    if (ranks != NULL && rankset_count(ranks) > 0) {
        rankset_format(ranks, list, sizeof(list));
    }
    bool one = ranks != NULL && rankset_count(ranks) == 1;
    (void)snprintf(names, RANKS_BYTES + 8, "rank%s %s", one ? "" : "s", list);
}

/* Takes as much of the list as fits into a column, up to a comma if there is more. */
static const char *take_line(const char *names, char line[COLUMN + 1])
{
    size_t length = strlen(names);
    if (length > COLUMN) {
        length = COLUMN;
        while (length > 1 && names[length - 1] != ',') {
            length--;
        }
        length = length > 1 ? length : COLUMN;
    }
    memcpy(line, names, length);
    line[length] = '\0';
    return names + length;
}

static void add_heads(struct text *text, const struct divergence_side *side, bool two)
{
    char names[2][RANKS_BYTES + 8] = {"", ""};
    const char *left = names[0], *right = names[1];
    name_ranks(side[0].ranks, names[0]);
    if (two) {
        name_ranks(side[1].ranks, names[1]);
    }
    while (*left != '\0' || *right != '\0') {
        char line[2][COLUMN + 1];
        left = take_line(left, line[0]);
        right = take_line(right, line[1]);
        add_line(text, ' ', line[0], two ? line[1] : NULL);
    }
}

void divergence_compose(struct text *text, const struct divergence *divergence)
{
    text_add(text,
             "moot: the ranks diverged (MOOT_DIVERGENCE=strict).\n"
             "The first difference is spawn number %llu of lane %u, marked '!'.\n",
             (unsigned long long)divergence->position, divergence->lane);
    if (divergence->before_count > 0) {
        text_add(
            text,
            "Above it: what both sides spawned before, with the lines of rank %u.\n",
            divergence->witness);
    }
    for (uint32_t i = 0; i < divergence->side_count; i += 2) {
        const struct divergence_side *side = &divergence->side[i];
        bool two = i + 1 < divergence->side_count;
        add_heads(text, side, two);
        for (uint32_t k = 0; i == 0 && k < divergence->before_count; k++) {
            const struct divergence_spawn *spawn = &divergence->before[k];
            add_cells(text, ' ', spawn, two ? spawn : NULL);
        }
        add_cells(text, '!', &side[0].spawn, two ? &side[1].spawn : NULL);
    }
}

/* --- In one line ---------------------------------------------------------------- */

static void add_spawn(struct text *text, const struct divergence_spawn *spawn)
{
    char digits[MOOT_HASH_TEXT_BYTES], what[CELL_BYTES], site[CELL_BYTES],
        count[COUNT_BYTES];
    if (hash_is_zero(&spawn->hash)) {
        text_add(text, "nothing");
        return;
    }
    (void)snprintf(
        what, sizeof(what), "%s %.8s%s%s%s%s%s%s%s%s", spawn_word(&spawn->hash),
        hash_format(&spawn->hash, digits), spawn->count > 0 ? " of " : "",
        name_count(spawn, count), spawn->kernel != NULL ? " of kernel '" : "",
        spawn->kernel != NULL ? spawn->kernel : "", spawn->kernel != NULL ? "'" : "",
        spawn->label != NULL ? " '" : "", spawn->label != NULL ? spawn->label : "",
        spawn->label != NULL ? "'" : "");
    (void)snprintf(site, sizeof(site), "%s",
                   spawn->site != NULL ? spawn->site : "at an unknown place");
    make_plain(what);
    make_plain(site);
    text_add(text, "%s (%s)", what, site);
}

void divergence_summarise(struct text *text, const struct divergence *divergence)
{
    text_add(text,
             "the ranks diverged (MOOT_DIVERGENCE=strict): spawn number %llu of lane "
             "%u is ",
             (unsigned long long)divergence->position, divergence->lane);
    for (uint32_t i = 0; i < divergence->side_count; i++) {
        char names[RANKS_BYTES + 8];
        name_ranks(divergence->side[i].ranks, names);
        text_add(text, "%s", i > 0 ? ", " : "");
        add_spawn(text, &divergence->side[i].spawn);
        text_add(text, " on %s", names);
    }
}

bool divergence_is_told_by(const struct divergence *divergence, uint32_t rank,
                           uint32_t lowest)
{
    for (uint32_t i = 0; i < divergence->side_count && rank != lowest; i++) {
        const struct rankset *ranks = divergence->side[i].ranks;
        if (ranks != NULL && rankset_next(ranks, 0) == rank) {
            return true;
        }
    }
    return rank == lowest;
}
