/* check_rows.h - the rows of `moot check-transport` and `moot check-launcher`: one for
 * each check, and one that adds them up.
 */
#ifndef NODE_CLI_CHECK_ROWS_H
#define NODE_CLI_CHECK_ROWS_H

#include <stdbool.h>
#include <stddef.h>

enum { CHECK_WHY_BYTES = 512 }; /* what checks of both kinds need, at least */

struct check_rows {
    size_t count;
    const char *(*name)(size_t i);
    /* False, with a line in why, of CHECK_WHY_BYTES: it failed. */
    bool (*run)(const void *context, size_t i, char *why);
    const void *context;
};

/* Runs them in their order; with `first` to the first that fails.  Where the first of
 * all fails, which opens what is checked, that is the end.  An exit status. */
int check_rows_run(const struct check_rows *rows, bool first);

#endif
