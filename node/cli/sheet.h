/* sheet.h - the figures that ranks leave behind, read and told to a person.
 *
 * A rank whose MOOT_SUMMARY names a directory writes one file into it at close, `key
 * value` per line: rank, size, exit, wall_ns, every field of moot_stats by its name,
 * votes_by.<evidence>, common, partial, and as its last line `complete 1`.  Without
 * that line the rank died while it wrote.  Unknown keys are skipped.
 */
#ifndef NODE_CLI_SHEET_H
#define NODE_CLI_SHEET_H

#include "moot.h"
#include <stdbool.h>
#include <stdio.h>

struct sheet {
    uint64_t rank, size, wall_ns;
    int64_t exit_code; /* the rank's own verdict; 0: well */
    moot_stats stats;
    uint64_t common, partial; /* tasks of its roll that all ranks held, or not all */
    uint64_t complete;
};

/* All sheets of a directory, by rank; room for `ranks` of them. */
struct sheets {
    struct sheet *items; /* one per rank of the moot; complete is 0 where none came */
    size_t count;        /* ranks of the moot; 0: nobody left anything */
};

/* Reads what lies in the directory; false without memory.  Release either way. */
bool sheets_read(const char *directory, struct sheets *out);
void sheets_release(struct sheets *sheets);

/* Tells what happened. */
void sheets_print(const struct sheets *sheets, FILE *to);

/* How many ranks left no sheet, or say that they failed; each is named on `to`. */
size_t sheets_failures(const struct sheets *sheets, FILE *to);

#endif
