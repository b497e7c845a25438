/* matrix.c - the divergence matrix: every way in which ranks may differ, one row each.
 *
 *   mpirun -n 4 matrix           all rows
 *   mpirun -n 4 matrix ROW...    these
 *   matrix --list
 *
 * The rows stand in divergence/; rows.h says what each of them claims.
 */
#include "tests/mpi/divergence/rows.h"

#include <stdio.h>
#include <string.h>

enum { ROW_DEADLINE_S = 60 };

static const struct row *const tables[] = {rows_holders, rows_order, rows_evidence,
                                           rows_arrays, rows_program};

static bool is_chosen(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return count == 0;
}

static void run_row(const struct row *row)
{
    char name[160];
    (void)snprintf(name, sizeof(name), "%-22s %s", row->name, row->claim);
    if (harness_size() < row->ranks_min) {
        harness_case_skip(name, "it takes more ranks");
        return;
    }
    harness_case_begin(name, ROW_DEADLINE_S);
    row->run();
    harness_case_end();
}

int main(int argc, char **argv)
{
    bool list = argc == 2 && strcmp(argv[1], "--list") == 0;
    int chosen = 0;
    if (!list) {
        harness_open(&argc, &argv, "matrix");
    }
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const struct row *row = tables[i]; row->name != NULL; row++) {
            if (list) {
                printf("%-22s %s\n", row->name, row->claim);
            } else if (is_chosen(row->name, argc - 1, argv + 1)) {
                run_row(row);
                chosen++;
            }
        }
    }
    if (list) {
        return 0;
    }
    if (chosen == 0) {
        harness_check(false, "matrix", "there is no such row");
    }
    int status = harness_close();
    return chosen == 0 ? 2 : status;
}
