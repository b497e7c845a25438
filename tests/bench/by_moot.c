/* by_moot.c - the graph as a moot program: every rank spawns all of it, each task on
 * the rank that has its point, and waits for its own. */
#include "graph.h"

#include <moot.h>
#include <moot_mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct place {
    int64_t step, point;
};

static void check(moot *m, int code, const char *what)
{
    if (code != MOOT_OK) {
        fprintf(stderr, "%s: %s\n", what, moot_last_error(m));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int execute(moot_call *call, void *user)
{
    const struct graph *graph = user;
    const struct place *place = moot_call_args(call, NULL);
    const struct token *inputs[PATTERN_WIDTH_MAX];
    size_t count = moot_call_input_count(call);
    for (size_t i = 0; i < count; i++)
        inputs[i] = moot_call_input(call, i, NULL);
    struct token *out = moot_call_output(call, sizeof(*out));
    if (out == NULL)
        return MOOT_ERR_NO_MEMORY;
    graph_execute(graph, place->step, place->point, inputs, count, out);
    return MOOT_OK;
}

static void spawn_row(moot *m, const struct graph *graph, moot_kernel_id kernel,
                      long step, const moot_task *before, moot_task *now)
{
    struct row row = pattern_row(graph->pattern, graph->steps, graph->width, step);
    long takes[PATTERN_WIDTH_MAX];
    moot_task inputs[PATTERN_WIDTH_MAX];
    for (long point = row.first; point < row.first + row.count; point++) {
        long count = pattern_inputs(graph->pattern, graph->steps, graph->width, step,
                                    point, takes);
        for (long i = 0; i < count; i++)
            inputs[i] = before[takes[i]];
        struct place place = {step, point};
        check(m,
              moot_task_spawn(
                  m,
                  &(moot_task_spec){.kernel = kernel,
                                    .args = &place,
                                    .args_size = sizeof(place),
                                    .inputs = inputs,
                                    .input_count = (size_t)count,
                                    .owner = MOOT_ON(graph_owner(graph, point))},
                  &now[point]),
              "moot_task_spawn");
    }
}

/* Spawns all, keeping the handles of this rank's own tasks, and waits for those. */
static void run(moot *m, const struct graph *graph, moot_kernel_id kernel,
                moot_task *own)
{
    moot_task rows[2][PATTERN_WIDTH_MAX];
    size_t own_count = 0;
    for (long step = 0; step < graph->steps; step++) {
        moot_task *now = rows[step % 2], *before = rows[1 - step % 2];
        spawn_row(m, graph, kernel, step, before, now);
        struct row row = pattern_row(graph->pattern, graph->steps, graph->width, step);
        struct row last =
            pattern_row(graph->pattern, graph->steps, graph->width, step - 1);
        for (long point = last.first; point < last.first + last.count; point++)
            if (graph_owner(graph, point) != graph->rank)
                check(m, moot_task_release(m, before[point]), "moot_task_release");
        for (long point = row.first; point < row.first + row.count; point++)
            if (graph_owner(graph, point) == graph->rank)
                own[own_count++] = now[point];
    }
    check(m, moot_task_wait_all(m, own, own_count, MOOT_FOREVER), "moot_task_wait_all");
}

double graph_by_moot(const struct graph *graph, const char *mode)
{
    char knob[64];
    (void)snprintf(knob, sizeof(knob), "MOOT_DIVERGENCE=%s", mode);
    const char *const knobs[] = {knob, NULL};
    moot *m = NULL;
    check(NULL, moot_open_comm(&(moot_options){.knobs = knobs}, MPI_COMM_WORLD, &m),
          "moot_open_comm");
    moot_kernel_id kernel;
    check(m,
          moot_kernel_register(m,
                               &(moot_kernel){.name = "execute",
                                              .fn = execute,
                                              .user = (void *)(uintptr_t)graph},
                               &kernel),
          "moot_kernel_register");
    moot_task *own = calloc((size_t)graph_own_tasks(graph) + 1, sizeof(*own));
    if (own == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    run(m, graph, kernel, own);
    check(m, moot_park(m), "moot_park");
    MPI_Barrier(MPI_COMM_WORLD);
    double took = MPI_Wtime() - begin;
    check(m, moot_unpark(m), "moot_unpark");
    free(own);
    check(NULL, moot_close(m), "moot_close");
    return took;
}
