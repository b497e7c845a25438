/* graph.h - one run of a task graph, by hand and by moot.
 *
 * Points are dealt to ranks in blocks.  Every task runs the same compute kernel, checks
 * that each input is the result it should be, and counts itself, so a run that skipped
 * or repeated work is seen.  Both ways compute the same and are timed alike: from a
 * barrier to a barrier, without setting up.
 */
#ifndef TESTS_BENCH_GRAPH_H
#define TESTS_BENCH_GRAPH_H

#include "pattern.h"

#include <mpi.h>
#include <stddef.h>

struct graph {
    enum pattern pattern;
    long steps, width;
    long iterations; /* of the compute kernel, per task */
    int rank, ranks;
};

/* What a task gives its consumers. */
struct token {
    int64_t step, point;
};

int graph_owner(const struct graph *graph, long point);
long graph_tasks(const struct graph *graph);     /* in the whole graph */
long graph_own_tasks(const struct graph *graph); /* of them, this rank's */

/* The compute kernel: 64 fused multiply-adds an iteration. */
void graph_compute(long iterations);
/* Seconds that an iteration takes on this rank when nothing else is done. */
double graph_iteration_s(void);

/* The body of every task.  Ends the job with a message if an input is not the result
 * of its task. */
void graph_execute(const struct graph *graph, long step, long point,
                   const struct token *const *inputs, size_t input_count,
                   struct token *out);
/* How many tasks this rank has executed since this was last called. */
long graph_take_executed(void);

/* Runs the graph once and returns the seconds that it took, on rank 0.  Collective. */
double graph_by_hand(const struct graph *graph);
/* `mode` is the value of MOOT_DIVERGENCE; `knobs` as in moot_options, or NULL. */
double graph_by_moot(const struct graph *graph, const char *mode);

#endif
