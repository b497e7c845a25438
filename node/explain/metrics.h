/* metrics.h - a rank's figures as Prometheus text (exposition format 0.0.4).
 *
 * With MOOT_METRICS=FILE each rank writes its figures at close, under another name that
 * is then renamed, as the node exporter's textfile collector wants it.  Of several
 * ranks each has a file of its own: the rank stands before the name's last dot.
 */
#ifndef NODE_EXPLAIN_METRICS_H
#define NODE_EXPLAIN_METRICS_H

#include "node/record/figures.h"

#include <stdio.h>

struct metrics_rank {
    uint32_t rank;
    const struct figure *figures;
    size_t figure_count;
    int close_code;
};

/* All ranks' samples, metric by metric. */
void metrics_print(FILE *file, const struct metrics_rank *ranks, size_t count);

/* "run.prom" is "run-3.prom" for rank 3 of several. */
void metrics_path(struct text *path, const char *name, uint32_t rank, uint32_t size);

/* If the knobs ask for it.  Best effort: what cannot be written is reported. */
void metrics_write(struct moot *m, int close_code);

#endif
