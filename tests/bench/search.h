/* search.h - METG(50%): the smallest tasks that still pay.
 *
 * METG(50%) of Task Bench: wall time x cores / tasks, at the grain at which a run
 * reaches half of the peak.  The peak is the compute kernel alone on all cores at once,
 * as in Task Bench, but each round measures its own: where a neighbour's load comes and
 * goes the same core computes at 0.6 of its speed for seconds, and a peak that was
 * measured in other seconds than the run makes three fifths or five thirds of an
 * efficiency.
 *
 * How the grain is found.  A run at g seconds of kernel per task takes T core seconds
 * per task, of which o = T - g are overhead; at half of the peak g = o, so 2 o is an
 * estimate of METG from a single run, the better the nearer g is to o, and exact where
 * they meet.  So each round runs at the grain that the lower quartile of the last
 * rounds suggests, and gives one estimate; no slope is taken between two noisy points,
 * as a bisection does, and a round that was disturbed leads nowhere.
 * The first rounds find the grain, and the others' estimates count.
 *
 * A round is a turn of one way, behind a few runs of the kernel alone: it runs the
 * graph for SEARCH_TURN_S, or a few times at least, and the fastest run counts, for
 * what can disturb a run only makes it slower. moot's turn opens a moot, runs once to
 * warm up, and closes it after the last run: an idle moot beside the hand-written run
 * would disturb that.  Neither opening nor closing is timed.
 */
#ifndef TESTS_BENCH_SEARCH_H
#define TESTS_BENCH_SEARCH_H

#include "tests/bench/graph.h"

enum { SEARCH_ROUNDS_TO_SETTLE = 5, SEARCH_ROUNDS_MAX = 64 };
#define SEARCH_TURN_S 0.06

/* A way to run graphs.  Its functions are collective. */
struct way {
    const char *name;
    double grain_s; /* of the first round, per task */
    void *(*open)(const struct graph *graph);
    double (*run)(void *opened, const struct graph *graph); /* seconds */
    void (*close)(void *opened);
};
extern const struct way way_by_hand, way_by_moot, way_by_trust, way_by_arrays;

/* Zero-initialise, and set the way. */
struct search {
    const struct way *way;
    double metg_s[SEARCH_ROUNDS_MAX]; /* a round's estimate */
    double efficiency[SEARCH_ROUNDS_MAX];
    size_t count;
};

/* Seconds of the fastest run of a turn.  Collective. */
double search_turn_s(const struct way *way, const struct graph *graph);

/* Measures the peak, and sets the graph's iterations to the grain that the rounds so
 * far suggest, which it returns, in seconds per task.  Collective. */
double search_set_grain(struct search *search, struct graph *graph);
/* One round.  Changes the graph's iterations.  Collective. */
void search_round(struct search *search, const struct bench *bench,
                  struct graph *graph);

/* Of the rounds after those to settle, or of the last if there is none. */
struct figure search_metg_s(const struct search *search);
struct figure search_efficiency(const struct search *search);

#endif
