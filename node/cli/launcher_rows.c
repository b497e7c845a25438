/* launcher_rows.c - see launcher_rows.h. */
#include "node/cli/launcher_rows.h"

#include <ctype.h>
#include <string.h>

/* The kind of a row, as far as it has come. */
enum likeness { ROW_OTHER, ROW_UNDECIDED, ROW_TAKEN, ROW_LINE };

enum { DASHES_MIN = 60 };

/* --- Rows ------------------------------------------------------------------------- */

/* The text begins with the word, or may once it goes on. */
static enum likeness begins_with(const char *text, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    size_t common = length < word_length ? length : word_length;
    if (memcmp(text, word, common) != 0) {
        return ROW_OTHER;
    }
    return length < word_length ? ROW_UNDECIDED : ROW_TAKEN;
}

static enum likeness best_of(enum likeness a, enum likeness b) { return a > b ? a : b; }

/* "[host:4711] PMIX ERROR", "[host:4711] [[1,0],0] ORTE_ERROR_LOG" */
static enum likeness looks_like_log(const char *row, size_t length)
{
    size_t at = 1, digits = 0;
    if (length == 0 || row[0] != '[') {
        return length == 0 ? ROW_UNDECIDED : ROW_OTHER;
    }
    while (at < length && (isalnum((unsigned char)row[at]) || row[at] == '-' ||
                           row[at] == '.' || row[at] == '_')) {
        at++;
    }
    if (at < length && (row[at++] != ':' || at < 3)) {
        return ROW_OTHER;
    }
    while (at + digits < length && isdigit((unsigned char)row[at + digits])) {
        digits++;
    }
    at += digits;
    enum likeness end = begins_with(row + at, length - at, "] ");
    if (end != ROW_TAKEN) {
        return at < length && digits == 0 ? ROW_OTHER : end;
    }
    at += 2;
    enum likeness likeness = begins_with(row + at, length - at, "PMIX ERROR");
    if (begins_with(row + at, length - at, "[[") != ROW_OTHER) {
        while (at < length && row[at] != '\0' && strchr("[],0123456789", row[at])) {
            at++;
        }
        likeness =
            best_of(likeness, begins_with(row + at, length - at, " ORTE_ERROR_LOG"));
    }
    return likeness;
}

static enum likeness looks_like_line(const char *row, size_t length)
{
    size_t dashes = 0;
    while (dashes < length && row[dashes] == '-') {
        dashes++;
    }
    if (dashes == length) {
        return ROW_UNDECIDED;
    }
    return dashes >= DASHES_MIN && row[dashes] == '\n' ? ROW_LINE : ROW_OTHER;
}

/* The row below the line of dashes. */
static enum likeness looks_like_banner(const char *row, size_t length)
{
    static const char *const openings[] = {
        "mpirun noticed that process rank ", "mpiexec noticed that process rank ",
        "prterun noticed that process rank ", "Primary job  terminated normally, but "};
    enum likeness likeness = ROW_OTHER;
    for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
        likeness = best_of(likeness, begins_with(row, length, openings[i]));
    }
    return likeness;
}

/* --- Bytes ------------------------------------------------------------------------ */

static void keep(struct launcher_rows *rows)
{
    size_t room = sizeof(rows->kept) - rows->kept_count;
    size_t count = rows->count < room ? rows->count : room;
    memcpy(rows->kept + rows->kept_count, rows->undecided, count);
    rows->kept_count += count;
    rows->count = rows->row = 0;
    rows->banner = false;
}

void launcher_rows_rest(struct launcher_rows *rows, rows_put put, void *context)
{
    if (rows->count > 0) {
        rows->passing = rows->undecided[rows->count - 1] != '\n';
        put(context, rows->undecided, rows->count);
    }
    rows->count = rows->row = 0;
    rows->banner = false;
}

/* The first of two lines was the program's. */
static void pass_line(struct launcher_rows *rows, rows_put put, void *context)
{
    put(context, rows->undecided, rows->row);
    rows->count -= rows->row;
    memmove(rows->undecided, rows->undecided + rows->row, rows->count);
    rows->row = rows->count;
}

/* One more byte of a row that may be the launcher's. */
static void take_byte(struct launcher_rows *rows, char byte, rows_put put,
                      void *context)
{
    rows->undecided[rows->count++] = byte;
    const char *row = rows->undecided + rows->row;
    size_t length = rows->count - rows->row;
    bool whole = byte == '\n';
    enum likeness likeness;
    if (rows->banner) { /* its rows may say anything, up to a line */
        if (whole && looks_like_line(row, length) == ROW_LINE) {
            keep(rows);
        } else if (whole) {
            rows->row = rows->count;
        }
        likeness = ROW_UNDECIDED;
    } else if (rows->row > 0) { /* below a line */
        likeness = looks_like_banner(row, length);
        rows->banner = likeness == ROW_TAKEN;
        if (likeness == ROW_OTHER) {
            likeness = looks_like_line(row, length);
        }
        if (likeness == ROW_LINE) {
            pass_line(rows, put, context);
        }
    } else {
        likeness = best_of(looks_like_log(row, length), looks_like_line(row, length));
        if (likeness == ROW_TAKEN && whole) {
            keep(rows);
        } else if (likeness == ROW_LINE) {
            rows->row = rows->count;
        }
    }
    if (likeness == ROW_OTHER || rows->count == sizeof(rows->undecided)) {
        launcher_rows_rest(rows, put, context);
    }
}

void launcher_rows_take(struct launcher_rows *rows, const char *bytes, size_t size,
                        rows_put put, void *context)
{
    while (size > 0) {
        if (!rows->passing) {
            take_byte(rows, *bytes, put, context);
            bytes++;
            size--;
            continue;
        }
        const char *end = memchr(bytes, '\n', size);
        size_t length = end != NULL ? (size_t)(end - bytes) + 1 : size;
        put(context, bytes, length);
        rows->passing = end == NULL;
        bytes += length;
        size -= length;
    }
}
