/* graph.c - see graph.h: what both ways share. */
#include "tests/bench/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile double sink;

/* --- Tables ----------------------------------------------------------------------- */

/* The inputs of a point depend on its step only by the set of connections that the step
 * uses, and by where the row before begins and ends. */
struct graph_tables {
    long sets;
    long *counts;        /* [set][point] */
    long *inputs;        /* [set][point][width] */
    int *owners;         /* [point] */
    bool *is_taken;      /* [step][point] */
    unsigned char *runs; /* [step][point], on this rank */
    long tasks;
};

static void fill_inputs(const struct graph *graph)
{
    struct graph_tables *tables = graph->tables;
    long width = graph->width;
    for (long set = 0; set < tables->sets; set++) {
        for (long point = 0; point < width; point++) {
            long at = set * width + point;
            for (long input = 0; input < width; input++) {
                if (pattern_connects(graph->pattern, width, set, point, input)) {
                    tables->inputs[at * width + tables->counts[at]++] = input;
                }
            }
        }
    }
}

static void fill_sinks(const struct graph *graph)
{
    struct graph_tables *tables = graph->tables;
    for (long step = 0; step < graph->steps; step++) {
        struct row row = graph_row(graph, step);
        tables->tasks += row.count;
        for (long point = row.first; point < row.first + row.count; point++) {
            long count;
            const long *inputs = graph_inputs(graph, step, point, &count);
            for (long i = 0; i < count; i++) {
                tables->is_taken[(step - 1) * graph->width + inputs[i]] = true;
            }
        }
    }
}

struct graph graph_new(const struct bench *bench, enum pattern pattern, long steps,
                       long width)
{
    struct graph graph = {pattern, steps, width, bench->rank, bench->ranks, 0, NULL};
    struct graph_tables *tables = graph.tables = bench_alloc(1, sizeof(*tables));
    tables->sets = pattern_sets(pattern, width);
    size_t points = (size_t)(tables->sets * width);
    tables->counts = bench_alloc(points, sizeof(*tables->counts));
    tables->inputs = bench_alloc(points * (size_t)width, sizeof(*tables->inputs));
    tables->owners = bench_alloc((size_t)width, sizeof(*tables->owners));
    tables->is_taken = bench_alloc((size_t)(steps * width), sizeof(*tables->is_taken));
    tables->runs = bench_alloc((size_t)(steps * width), 1);
    for (long point = 0; point < width; point++) {
        tables->owners[point] = (int)(point * graph.ranks / width);
    }
    fill_inputs(&graph);
    fill_sinks(&graph);
    return graph;
}

void graph_release(struct graph *graph)
{
    free(graph->tables->counts);
    free(graph->tables->inputs);
    free(graph->tables->owners);
    free(graph->tables->is_taken);
    free(graph->tables->runs);
    free(graph->tables);
    graph->tables = NULL;
}

int graph_owner(const struct graph *graph, long point)
{
    return graph->tables->owners[point];
}

struct row graph_row(const struct graph *graph, long step)
{
    return pattern_row(graph->pattern, graph->steps, graph->width, step);
}

const long *graph_inputs(const struct graph *graph, long step, long point, long *count)
{
    const struct graph_tables *tables = graph->tables;
    struct row before = graph_row(graph, step - 1);
    long set = pattern_set(graph->pattern, tables->sets, step);
    long at = set * graph->width + point;
    const long *inputs = tables->inputs + at * graph->width;
    long from = 0, to = tables->counts[at];
    while (from < to && inputs[from] < before.first) {
        from++;
    }
    while (from < to && inputs[to - 1] >= before.first + before.count) {
        to--;
    }
    *count = to - from;
    return inputs + from;
}

bool graph_is_sink(const struct graph *graph, long step, long point)
{
    return !graph->tables->is_taken[step * graph->width + point];
}

long graph_tasks(const struct graph *graph) { return graph->tables->tasks; }

/* --- Computing -------------------------------------------------------------------- */

void graph_compute(long iterations)
{
    double a[64], product = 1;
    for (int i = 0; i < 64; i++) {
        a[i] = 1.5;
    }
    for (long n = 0; n < iterations; n++) {
        for (int i = 0; i < 64; i++) {
            a[i] = a[i] * 0.75 + 0.5;
        }
    }
    for (int i = 0; i < 64; i++) {
        product *= a[i];
    }
    sink = product;
}

static double used_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* On the slowest rank. */
static double run_alone_s(long iterations)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begun_s = used_s();
    graph_compute(iterations);
    double mine_s = used_s() - begun_s, most_s;
    MPI_Allreduce(&mine_s, &most_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most_s;
}

double graph_iteration_s(void)
{
    enum { ITERATIONS = 1 << 19, RUNS = 5 };
    double best_s = INFINITY;
    for (int run = 0; run < RUNS; run++) {
        best_s = fmin(best_s, run_alone_s(ITERATIONS));
    }
    return best_s / ITERATIONS;
}

/* By the definition, not by the tables that spawned it; but for their number. */
static bool inputs_are_good(const struct graph *graph, long step, long point,
                            const struct token *const *inputs, long count)
{
    long wanted, set = pattern_set(graph->pattern, graph->tables->sets, step);
    (void)graph_inputs(graph, step, point, &wanted);
    bool good = count == wanted;
    for (long i = 0; good && i < count; i++) {
        good = inputs[i]->step == step - 1 &&
               (i == 0 || inputs[i]->point > inputs[i - 1]->point) &&
               pattern_connects(graph->pattern, graph->width, set, point,
                                inputs[i]->point);
    }
    return good;
}

void graph_execute(const struct graph *graph, long step, long point,
                   const struct token *const *inputs, size_t input_count,
                   struct token *out)
{
    if (!inputs_are_good(graph, step, point, inputs, (long)input_count)) {
        bench_die("%s: task (%ld, %ld) has a wrong input", pattern_name(graph->pattern),
                  step, point);
    }
    graph_compute(graph->iterations);
    *out = (struct token){step, point};
    graph->tables->runs[step * graph->width + point]++;
}

void graph_check_executed(const struct graph *graph)
{
    size_t cells = (size_t)(graph->steps * graph->width);
    MPI_Allreduce(MPI_IN_PLACE, graph->tables->runs, (int)cells, MPI_UNSIGNED_CHAR,
                  MPI_SUM, MPI_COMM_WORLD);
    for (long step = 0; step < graph->steps; step++) {
        struct row row = graph_row(graph, step);
        for (long point = row.first; point < row.first + row.count; point++) {
            int runs = graph->tables->runs[step * graph->width + point];
            if (runs != 1) {
                bench_die("%s: task (%ld, %ld) ran %d times",
                          pattern_name(graph->pattern), step, point, runs);
            }
        }
    }
    memset(graph->tables->runs, 0, cells);
}
