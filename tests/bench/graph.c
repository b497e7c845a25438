/* graph.c - see graph.h: what both ways share. */
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>

static long executed;
static volatile double sink;

int graph_owner(const struct graph *graph, long point)
{
    return (int)(point * graph->ranks / graph->width);
}

static long count_tasks(const struct graph *graph, int owner)
{
    long count = 0;
    for (long step = 0; step < graph->steps; step++) {
        struct row row = pattern_row(graph->pattern, graph->steps, graph->width, step);
        for (long point = row.first; point < row.first + row.count; point++)
            count += owner < 0 || graph_owner(graph, point) == owner;
    }
    return count;
}

long graph_tasks(const struct graph *graph) { return count_tasks(graph, -1); }

long graph_own_tasks(const struct graph *graph)
{
    return count_tasks(graph, graph->rank);
}

void graph_compute(long iterations)
{
    double a[64];
    for (int i = 0; i < 64; i++)
        a[i] = 1.0 / (i + 2);
    for (long n = 0; n < iterations; n++)
        for (int i = 0; i < 64; i++)
            a[i] = a[i] * a[i] + a[i] * 0.5;
    sink = a[iterations % 64];
}

double graph_iteration_s(void)
{
    enum { ITERATIONS = 1 << 18, REPEATS = 5 };
    double best = 1e9;
    for (int i = 0; i < REPEATS; i++) {
        double begin = MPI_Wtime();
        graph_compute(ITERATIONS);
        double took = MPI_Wtime() - begin;
        best = took < best ? took : best;
    }
    return best / ITERATIONS;
}

void graph_execute(const struct graph *graph, long step, long point,
                   const struct token *const *inputs, size_t input_count,
                   struct token *out)
{
    long wanted[PATTERN_WIDTH_MAX];
    long count =
        pattern_inputs(graph->pattern, graph->steps, graph->width, step, point, wanted);
    bool good = (size_t)count == input_count;
    for (long i = 0; good && i < count; i++)
        good = inputs[i]->step == step - 1 && inputs[i]->point == wanted[i];
    if (!good) {
        fprintf(stderr, "%s: task (%ld, %ld) has a wrong input\n",
                pattern_name(graph->pattern), step, point);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    graph_compute(graph->iterations);
    *out = (struct token){step, point};
    executed++;
}

long graph_take_executed(void)
{
    long taken = executed;
    executed = 0;
    return taken;
}
