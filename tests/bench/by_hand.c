/* by_hand.c - the graph in nonblocking MPI, as one would write it.
 *
 * Row after row: receives for what this rank's points take from others are posted, its
 * points run as their inputs are there, and each result leaves at once, once per rank
 * that takes it.  Plans of who sends what are made before the clock starts.
 */
#include "tests/bench/graph.h"

#include <stdlib.h>
#include <string.h>

/* A result that crosses ranks: its point, and from or to whom. */
struct transfer {
    long point;
    int peer;
};

/* One row, for this rank. */
struct plan {
    struct transfer *receives, *sends;
    int receive_count, send_count;
};

static void add(struct transfer **list, int *count, long point, int peer)
{
    for (int i = 0; i < *count; i++) {
        if ((*list)[i].point == point && (*list)[i].peer == peer) {
            return;
        }
    }
    *list = realloc(*list, (size_t)(*count + 1) * sizeof(**list));
    if (*list == NULL) {
        bench_die("no memory for a plan");
    }
    (*list)[(*count)++] = (struct transfer){point, peer};
}

/* What row `step` takes of the row before. */
static void plan_row(const struct graph *graph, long step, struct plan *receives,
                     struct plan *sends)
{
    struct row row = graph_row(graph, step);
    for (long point = row.first; point < row.first + row.count; point++) {
        int owner = graph_owner(graph, point);
        long count;
        const long *inputs = graph_inputs(graph, step, point, &count);
        for (long i = 0; i < count; i++) {
            int from = graph_owner(graph, inputs[i]);
            if (from == owner) {
                continue;
            }
            if (owner == graph->rank) {
                add(&receives->receives, &receives->receive_count, inputs[i], from);
            }
            if (from == graph->rank) {
                add(&sends->sends, &sends->send_count, inputs[i], owner);
            }
        }
    }
}

static struct plan *make_plans(const struct graph *graph)
{
    struct plan *plans = bench_alloc((size_t)graph->steps, sizeof(*plans));
    for (long step = 1; step < graph->steps; step++) {
        plan_row(graph, step, &plans[step], &plans[step - 1]);
    }
    return plans;
}

static void free_plans(const struct graph *graph, struct plan *plans)
{
    for (long step = 0; step < graph->steps; step++) {
        free(plans[step].receives);
        free(plans[step].sends);
    }
    free(plans);
}

/* The results of two rows: tokens[step % 2][point]. */
struct state {
    struct token tokens[2][PATTERN_WIDTH_MAX];
    MPI_Request receives[PATTERN_WIDTH_MAX * 2], sends[2][PATTERN_WIDTH_MAX * 8];
    int send_count[2];
};

static void run_points(const struct graph *graph, const struct plan *plan,
                       struct state *state, long step)
{
    struct token *now = state->tokens[step % 2], *before = state->tokens[1 - step % 2];
    struct row row = graph_row(graph, step);
    const struct token *inputs[PATTERN_WIDTH_MAX];
    for (long point = row.first; point < row.first + row.count; point++) {
        if (graph_owner(graph, point) != graph->rank) {
            continue;
        }
        long count;
        const long *takes = graph_inputs(graph, step, point, &count);
        for (long i = 0; i < count; i++) {
            inputs[i] = &before[takes[i]];
        }
        graph_execute(graph, step, point, inputs, (size_t)count, &now[point]);
        for (int i = 0; i < plan->send_count; i++) {
            if (plan->sends[i].point == point) {
                MPI_Isend(&now[point], sizeof(now[point]), MPI_BYTE,
                          plan->sends[i].peer, (int)point, MPI_COMM_WORLD,
                          &state->sends[step % 2][state->send_count[step % 2]++]);
            }
        }
    }
}

static void run_row(const struct graph *graph, const struct plan *plan,
                    struct state *state, long step)
{
    struct token *before = state->tokens[1 - step % 2];
    for (int i = 0; i < plan->receive_count; i++) {
        MPI_Irecv(&before[plan->receives[i].point], sizeof(*before), MPI_BYTE,
                  plan->receives[i].peer, (int)plan->receives[i].point, MPI_COMM_WORLD,
                  &state->receives[i]);
    }
    MPI_Waitall(plan->receive_count, state->receives, MPI_STATUSES_IGNORE);
    /* This row's places are free once what was sent from them two rows ago is gone. */
    MPI_Waitall(state->send_count[step % 2], state->sends[step % 2],
                MPI_STATUSES_IGNORE);
    state->send_count[step % 2] = 0;
    run_points(graph, plan, state, step);
}

double graph_by_hand(const struct graph *graph)
{
    static struct state state;
    struct plan *plans = make_plans(graph);
    memset(&state, 0, sizeof(state));
    MPI_Barrier(MPI_COMM_WORLD);
    double begun_s = bench_now_s();
    for (long step = 0; step < graph->steps; step++) {
        run_row(graph, &plans[step], &state, step);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Waitall(state.send_count[i], state.sends[i], MPI_STATUSES_IGNORE);
    }
    double took_s = bench_took_s(begun_s);
    free_plans(graph, plans);
    graph_check_executed(graph);
    return took_s;
}
