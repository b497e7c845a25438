/* trace_told.h - reading a trace for a verb, telling what it lacks, and writing what
 * the verb makes of it. */
#ifndef NODE_CLI_TRACE_TOLD_H
#define NODE_CLI_TRACE_TOLD_H

#include "node/cli/cli.h"
#include "node/tools/trace_model.h"
#include <stdio.h>

/* False: out of memory. */
typedef bool told_write(const struct model *model, FILE *file);

/* Reads the traces in a folder and writes what is made of them to `path`, "-" for
 * standard output; a file's name and size are told there.  What is missing or torn is
 * said on standard error, for the verb.  An exit status. */
int told_export(const struct verb *verb, const char *directory, told_write *write,
                const char *path);

#endif
