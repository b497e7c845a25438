/* error_table.c - errors and what explains them, read from a file (error_table.h). */
#include "tests/mpi/support/error_table.h"

#include "proto/moot_error.h"

#include <stdio.h>
#include <string.h>

enum { LINE_BYTES_MAX = 512 };

static int code_of(const char *name)
{
    static const struct {
        const char *name;
        int code;
    } errors[] = {
#define X(name, number, text) {#name, number},
        MOOT_ERRORS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (strcmp(errors[i].name, name) == 0) {
            return errors[i].code;
        }
    }
    return 0;
}

const char *error_name_of(int code)
{
    switch (code) {
    case MOOT_OK:
        return "OK";
#define X(name, number, text)                                                          \
    case number:                                                                       \
        return #name;
        MOOT_ERRORS(X)
#undef X
    default:
        return "no error of moot's";
    }
}

/* The text up to a bar, without the blanks around it. */
static void take_field(char **at, char *to, size_t size)
{
    char *end = *at + strcspn(*at, "|\n");
    char *from = *at + strspn(*at, " ");
    size_t length = from < end ? (size_t)(end - from) : 0;
    while (length > 0 && from[length - 1] == ' ') {
        length--;
    }
    (void)snprintf(to, size, "%.*s", (int)length, from);
    *at = *end == '|' ? end + 1 : end;
}

static bool take_row(struct error_table *table, char *line)
{
    if (table->count == ERROR_ROWS_MAX) {
        return false;
    }
    struct error_row *row = &table->rows[table->count];
    take_field(&line, row->name, sizeof(row->name));
    take_field(&line, row->conditions, sizeof(row->conditions));
    take_field(&line, row->words, sizeof(row->words));
    row->code = code_of(row->name);
    table->count++;
    return row->code != 0 && row->words[0] != '\0';
}

bool error_table_read(struct error_table *table, const char *path)
{
    char line[LINE_BYTES_MAX];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        return false;
    }
    bool good = true;
    while (good && fgets(line, sizeof(line), file) != NULL) {
        good = line[0] == '#' || line[0] == '\n' || take_row(table, line);
        if (!good) {
            fprintf(stderr, "%s: not a row: %s", path, line);
        }
    }
    fclose(file);
    return good && table->count > 0;
}

bool error_row_holds(const struct error_row *row, error_condition holds,
                     const void *judge)
{
    for (const char *at = row->conditions; *at != '\0';) {
        size_t length = strcspn(at, " ");
        if (!holds(judge, at, length)) {
            return false;
        }
        at += length + strspn(at + length, " ");
    }
    return true;
}

bool error_table_explains(const struct error_table *table, int code,
                          error_condition holds, const void *judge)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->rows[i].code == code &&
            error_row_holds(&table->rows[i], holds, judge)) {
            return true;
        }
    }
    return false;
}
