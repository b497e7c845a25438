/* figures.h - a rank's figures, as the sheet, the trace, the metrics and the program
 * have them, and files of them in the folder that MOOT_SUMMARY names.
 *
 * Under the engine lock.
 */
#ifndef NODE_RECORD_FIGURES_H
#define NODE_RECORD_FIGURES_H

#include "node/context/context.h"

#include <stdio.h>

void stats_fill(const struct moot *m, moot_stats *out);

/* Returns how many. */
enum { SUMMARY_FIGURES = 64 };
struct figure {
    const char *key;
    uint64_t value;
};
size_t summary_figures(const struct moot *m, struct figure out[SUMMARY_FIGURES]);

/* Lines of what the fault plan did here, by the number of the rule. */
void figures_write_hits(FILE *file, const struct moot *m);
/* Adds the name of a file of this process and this moot: `name-<process>`, and behind a
 * dot the moot's name if it has one (moot_name.h). */
void figures_path(const struct moot *m, const char *name, struct text *path);
/* Writes it under another name first. */
bool figures_write_file(const struct moot *m, const char *name,
                        void (*write)(FILE *, const struct moot *, int), int code);

#endif
