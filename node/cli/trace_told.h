/* trace_told.h - reading a trace for a verb, and telling what it lacks. */
#ifndef NODE_CLI_TRACE_TOLD_H
#define NODE_CLI_TRACE_TOLD_H

#include "cli.h"
#include "trace_model.h"
#include <stdio.h>

struct told {
    struct trace trace;
    struct model model;
};

/* Reads and models it.  What is missing or torn is said on standard error, for the
 * verb; false if there is nothing to go on with, and that has been said. */
bool told_read(const struct verb *verb, const char *directory, struct told *out);
void told_release(struct told *told);

/* Says on standard output what was written, and how much that is. */
void told_written(const char *path, FILE *file);

#endif
