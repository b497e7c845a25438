/* error_table.h - the errors that a wait may end with, and what explains each.
 *
 * The table is a file (tests/mpi/hostile/errors.txt says how a row reads).  Its
 * conditions are words, which the judge of a program answers: it knows the program, its
 * faults, and who finished.
 */
#ifndef TESTS_MPI_SUPPORT_ERROR_TABLE_H
#define TESTS_MPI_SUPPORT_ERROR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ERROR_ROWS_MAX = 32 };

struct error_row {
    int code;
    char name[32], conditions[96], words[256];
};

struct error_table {
    struct error_row rows[ERROR_ROWS_MAX];
    uint32_t count;
};

/* Whether the condition `word`, of `length` bytes, is so.  False for a word that it
 * does not have, after having said so where that is a mistake. */
typedef bool (*error_condition)(const void *judge, const char *word, size_t length);

/* Adds the rows of a file.  False: it cannot be read, or a line is no row; told on the
 * standard error. */
bool error_table_read(struct error_table *table, const char *path);

/* The name of a code, without MOOT_ERR_. */
const char *error_name_of(int code);

bool error_row_holds(const struct error_row *row, error_condition holds,
                     const void *judge);

/* Some row of that code holds. */
bool error_table_explains(const struct error_table *table, int code,
                          error_condition holds, const void *judge);

#endif
