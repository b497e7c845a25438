/* search.c - see search.h. */
#include "tests/bench/search.h"

#include <math.h>
#include <string.h>

/* At least so many runs, unless they take too long: then one. */
enum { RUNS_MIN = 3, RUNS_MAX = 12 };

/* The rounds whose lower quartile leads to the next. */
enum { LEADERS = 5 };

static const double RUNS_LONG_S = 0.5;

/* Where a search stops looking: on a machine that is taken away for milliseconds,
 * estimates know no end. */
static const double GRAIN_MOST_S = 1e-4;

/* --- Ways ---------------------------------------------------------------------------
 */

static void *open_by_hand(const struct graph *graph)
{
    (void)graph;
    return NULL;
}

static double run_by_hand(void *opened, const struct graph *graph)
{
    (void)opened;
    return graph_by_hand(graph);
}

static void close_by_hand(void *opened) { (void)opened; }

static void *open_by_moot(const struct graph *graph)
{
    (void)graph;
    return by_moot_open("repair");
}

static void *open_by_trust(const struct graph *graph)
{
    (void)graph;
    return by_moot_open("trust");
}

static double run_by_moot(void *opened, const struct graph *graph)
{
    return by_moot_run(opened, graph, NULL);
}

static void close_by_moot(void *opened) { by_moot_close(opened); }

static void *open_by_arrays(const struct graph *graph)
{
    (void)graph;
    return by_arrays_open();
}

static double run_by_arrays(void *opened, const struct graph *graph)
{
    return by_arrays_run(opened, graph);
}

static void close_by_arrays(void *opened) { by_arrays_close(opened); }

const struct way way_by_hand = {"by hand", 1e-6, open_by_hand, run_by_hand,
                                close_by_hand};
const struct way way_by_moot = {"moot", 4e-6, open_by_moot, run_by_moot, close_by_moot};
const struct way way_by_trust = {"trust", 4e-6, open_by_trust, run_by_moot,
                                 close_by_moot};
const struct way way_by_arrays = {"arrays", 4e-6, open_by_arrays, run_by_arrays,
                                  close_by_arrays};

/* --- Searching ----------------------------------------------------------------------
 */

static bool is_enough(int runs, double all_s)
{
    if (runs < RUNS_MIN) {
        return runs > 0 && all_s > RUNS_LONG_S;
    }
    return runs == RUNS_MAX || all_s > SEARCH_TURN_S;
}

double search_turn_s(const struct way *way, const struct graph *graph)
{
    double best_s = INFINITY, all_s = 0;
    void *opened = way->open(graph);
    for (int run = -1; !is_enough(run, all_s); run++) {
        double took_s = way->run(opened, graph);
        if (run < 0) {
            continue; /* that was to warm up */
        }
        best_s = fmin(best_s, took_s);
        all_s += took_s;
    }
    way->close(opened);
    return best_s;
}

/* Seconds per task, of the next round. */
static double next_grain_s(const struct search *search)
{
    double last[LEADERS];
    size_t count = search->count < LEADERS ? search->count : LEADERS;
    if (count == 0) {
        return search->way->grain_s;
    }
    memcpy(last, search->metg_s + search->count - count, count * sizeof(*last));
    (void)figure_of(last, count); /* sorts them */
    return fmin(last[(count - 1) / 4] / 2, GRAIN_MOST_S);
}

double search_set_grain(struct search *search, struct graph *graph)
{
    double iteration_s = graph_iteration_s();
    graph->iterations = lrint(fmax(1, next_grain_s(search) / iteration_s));
    return (double)graph->iterations * iteration_s;
}

void search_round(struct search *search, const struct bench *bench, struct graph *graph)
{
    if (search->count == SEARCH_ROUNDS_MAX) {
        bench_die("a search has at most %d rounds", SEARCH_ROUNDS_MAX);
    }
    double grain_s = search_set_grain(search, graph);
    double task_s =
        search_turn_s(search->way, graph) * bench->cores / (double)graph_tasks(graph);
    search->efficiency[search->count] = grain_s / task_s;
    search->metg_s[search->count++] = 2 * fmax(task_s - grain_s, 1e-9);
}

static struct figure settled(const struct search *search, const double *values)
{
    double copy[SEARCH_ROUNDS_MAX];
    size_t from = search->count > SEARCH_ROUNDS_TO_SETTLE ? SEARCH_ROUNDS_TO_SETTLE
                                                          : search->count - 1;
    memcpy(copy, values + from, (search->count - from) * sizeof(*copy));
    return figure_of(copy, search->count - from);
}

struct figure search_metg_s(const struct search *search)
{
    return settled(search, search->metg_s);
}

struct figure search_efficiency(const struct search *search)
{
    return settled(search, search->efficiency);
}
