/* graph.h - one task graph, run by hand and by moot.
 *
 * Points are dealt to ranks in blocks.  Every task runs the same compute kernel, checks
 * that each input is the result it should be, and counts itself, so a run that skipped
 * or repeated work is seen.  Both ways take the edges from the same tables, which are
 * made before any clock starts, and are timed alike: from a barrier until the last rank
 * has seen the end of all that it waits for.
 */
#ifndef TESTS_BENCH_GRAPH_H
#define TESTS_BENCH_GRAPH_H

#include "tests/bench/bench.h"
#include "tests/bench/pattern.h"

struct graph_tables;

struct graph {
    enum pattern pattern;
    long steps, width;
    int rank, ranks;
    long iterations; /* of the compute kernel, per task */
    struct graph_tables *tables;
};

/* What a task gives its consumers. */
struct token {
    int64_t step, point;
};

/* A graph of no iterations; release it. */
struct graph graph_new(const struct bench *bench, enum pattern pattern, long steps,
                       long width);
void graph_release(struct graph *graph);

int graph_owner(const struct graph *graph, long point);
struct row graph_row(const struct graph *graph, long step);
/* The points of the row before that (step, point) takes, ascending; borrowed. */
const long *graph_inputs(const struct graph *graph, long step, long point, long *count);
/* Whether no task takes its result. */
bool graph_is_sink(const struct graph *graph, long step, long point);
long graph_tasks(const struct graph *graph);

/* The compute kernel: 64 multiply-adds an iteration, and, as in Task Bench, one product
 * of all 64 at the end. */
void graph_compute(long iterations);
/* The peak that an efficiency is measured against, as core seconds per iteration: the
 * kernel alone, on all ranks at once, for some milliseconds; the best of several runs.
 * In processor time, which others on the core do not lengthen.  Collective. */
double graph_iteration_s(void);

/* The body of every task.  Ends the job with a message if an input is not the result
 * of its task. */
void graph_execute(const struct graph *graph, long step, long point,
                   const struct token *const *inputs, size_t input_count,
                   struct token *out);
/* Ends the job unless each task has run once, on some rank, since the last call.
 * Collective. */
void graph_check_executed(const struct graph *graph);

/* --- The two ways ----------------------------------------------------------------- */

/* Runs the graph once and returns the seconds that it took.  Collective. */
double graph_by_hand(const struct graph *graph);

/* How ranks differ in what they spawn.  Zero: they do not. */
struct divergence {
    double skipped;  /* of the tasks that are another's by graph_owner, the share that
                        this rank names by their hash instead of spawning them */
    double shuffled; /* of the rows, the share that this rank spawns in an order of its
                        own */
    bool free;       /* tasks are not bound to graph_owner: their hash says who runs
                        them, and there is something to vote about */
};

/* How a rank waits until all is done, on all ranks. */
enum waiting {
    WAITING_OWN_END, /* for a task of its own behind all others (by_moot.c) */
    WAITING_GROUP,   /* moot_group_open and moot_group_close around the spawns */
    WAITING_ALL      /* it keeps a handle of each task: moot_task_wait_all */
};

/* A moot to run graphs in, many one after the other. */
struct by_moot;
/* `mode` is a value of MOOT_DIVERGENCE.  Collective. */
struct by_moot *by_moot_open(const char *mode);
double by_moot_run(struct by_moot *by_moot, const struct graph *graph,
                   const struct divergence *divergence);
/* Likewise, of ranks that spawn alike.  Collective. */
double by_moot_run_waiting(struct by_moot *by_moot, const struct graph *graph,
                           enum waiting waiting);
/* What this rank has counted since by_moot_open. */
moot_stats by_moot_stats(const struct by_moot *by_moot);
void by_moot_close(struct by_moot *by_moot);

/* Likewise of task arrays, by defaults; of the patterns that built-in maps express. */
struct by_arrays;
bool by_arrays_can(enum pattern pattern);
struct by_arrays *by_arrays_open(void);
double by_arrays_run(struct by_arrays *by_arrays, const struct graph *graph);
void by_arrays_close(struct by_arrays *by_arrays);

#endif
