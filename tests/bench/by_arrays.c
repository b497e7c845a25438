/* by_arrays.c - the graph as a moot program of task arrays.
 *
 * Each row is one array, whose elements take those of the row before by the maps that
 * moot_array.h has.  A rank spawns all rows, lets a row go as soon as the next has
 * taken it, and waits for the last; in `trivial`, whose rows take nothing, for the
 * group of them all.  That is the natural program: nothing in it is tuned.
 *
 * Left out is what no built-in map says: rows of other widths (dom, tree) and random
 * connections.
 */
#include "tests/bench/graph.h"

#include "node/api/moot_array.h"
#include "node/api/moot_mpi.h"
#include <stdlib.h>

struct by_arrays {
    moot *m;
    moot_kernel_id execute;
    const struct graph *graph; /* that runs */
    int64_t run;
};

/* Padding would be part of an array's identity: there is none. */
struct row_args {
    int64_t run, step;
};

/* A row's inputs, and room for what they point at. */
struct taken {
    moot_array_input inputs[PATTERN_RADIX];
    union {
        moot_map_window window;
        moot_map_shift shift;
    } args[PATTERN_RADIX];
    size_t count;
};

/* --- The kernel ------------------------------------------------------------------- */

/* By their points: maps that wrap give them in another order. */
static int order_by_point(const void *a, const void *b)
{
    const struct token *x = *(const struct token *const *)a;
    const struct token *y = *(const struct token *const *)b;
    return (x->point > y->point) - (x->point < y->point);
}

static int execute_element(moot_call *call, void *user)
{
    const struct by_arrays *by_arrays = user;
    const struct row_args *args = moot_call_args(call, NULL);
    const struct token *inputs[PATTERN_WIDTH_MAX];
    const size_t count = moot_call_input_count(call);
    bool ordered = true;
    for (size_t i = 0; i < count; i++) {
        inputs[i] = moot_call_input(call, i, NULL);
        ordered = ordered && (i == 0 || inputs[i]->point > inputs[i - 1]->point);
    }
    if (!ordered) {
        qsort(inputs, count, sizeof(*inputs), order_by_point);
    }
    struct token *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    graph_execute(by_arrays->graph, args->step, (long)moot_call_index(call), inputs,
                  count, out);
    return MOOT_OK;
}

/* --- Maps ------------------------------------------------------------------------- */

static void take_by_map(struct taken *taken, moot_array before, moot_map_id map)
{
    taken->inputs[taken->count++] = (moot_array_input){.array = before, .map = map};
}

static void take_window(struct taken *taken, moot_array before, enum moot_edge edges)
{
    moot_map_window *window = &taken->args[taken->count].window;
    *window = (moot_map_window){.low = -1, .high = 1, .edges = edges};
    taken->inputs[taken->count++] =
        (moot_array_input){.array = before,
                           .map = MOOT_MAP_WINDOW,
                           .map_args = window,
                           .map_args_size = sizeof(*window)};
}

static void take_shift(struct taken *taken, moot_array before, long by,
                       enum moot_edge edges)
{
    moot_map_shift *shift = &taken->args[taken->count].shift;
    *shift = (moot_map_shift){.by = by, .edges = edges};
    taken->inputs[taken->count++] = (moot_array_input){.array = before,
                                                       .map = MOOT_MAP_SHIFT,
                                                       .map_args = shift,
                                                       .map_args_size = sizeof(*shift)};
}

/* The same shifts as pattern_connects has, each once. */
static void take_spread(struct taken *taken, moot_array before, long width, long set)
{
    long shifts[PATTERN_RADIX];
    for (long i = 0; i < PATTERN_RADIX; i++) {
        bool is_new = true;
        shifts[i] = (i * width / PATTERN_RADIX + (i > 0 ? set : 0)) % width;
        for (long other = 0; other < i; other++) {
            is_new = is_new && shifts[other] != shifts[i];
        }
        if (is_new) {
            take_shift(taken, before, shifts[i], MOOT_EDGE_WRAP);
        }
    }
}

static void take_inputs(const struct graph *graph, long step, moot_array before,
                        struct taken *taken)
{
    const long sets = pattern_sets(graph->pattern, graph->width);
    const long set = pattern_set(graph->pattern, sets, step);
    taken->count = 0;
    if (step == 0) {
        return;
    }
    switch ((int)graph->pattern) {
    case PATTERN_no_comm:
        take_by_map(taken, before, MOOT_MAP_SAME);
        return;
    case PATTERN_all_to_all:
        take_by_map(taken, before, MOOT_MAP_ALL);
        return;
    case PATTERN_stencil_1d:
    case PATTERN_nearest:
        take_window(taken, before, MOOT_EDGE_CUT);
        return;
    case PATTERN_stencil_1d_periodic:
        take_window(taken, before, MOOT_EDGE_WRAP);
        return;
    case PATTERN_fft:
        take_shift(taken, before, -(1L << set), MOOT_EDGE_CUT);
        take_by_map(taken, before, MOOT_MAP_SAME);
        take_shift(taken, before, 1L << set, MOOT_EDGE_CUT);
        return;
    case PATTERN_spread:
        take_spread(taken, before, graph->width, set);
        return;
    default:
        return; /* trivial */
    }
}

bool by_arrays_can(enum pattern pattern)
{
    return pattern != PATTERN_dom && pattern != PATTERN_tree &&
           pattern != PATTERN_random_nearest;
}

/* --- A run ------------------------------------------------------------------------ */

/* Spawns all rows; the last one's handle is the caller's to release. */
static moot_array spawn_rows(struct by_arrays *by_arrays)
{
    const struct graph *graph = by_arrays->graph;
    moot_array before = {0}, now = {0};
    for (long step = 0; step < graph->steps; step++) {
        const struct row_args args = {by_arrays->run, step};
        struct taken taken;
        take_inputs(graph, step, before, &taken);
        const moot_array_spec spec = {.kernel = by_arrays->execute,
                                      .count = (uint64_t)graph->width,
                                      .args = &args,
                                      .args_size = sizeof(args),
                                      .inputs = taken.inputs,
                                      .input_count = taken.count};
        bench_check(by_arrays->m, moot_array_spawn(by_arrays->m, &spec, &now),
                    "moot_array_spawn");
        if (step > 0) {
            bench_check(by_arrays->m, moot_array_release(by_arrays->m, before),
                        "moot_array_release");
        }
        before = now;
    }
    return now;
}

static void spawn_and_wait(struct by_arrays *by_arrays)
{
    moot *m = by_arrays->m;
    const bool by_group = by_arrays->graph->pattern == PATTERN_trivial;
    if (by_group) {
        bench_check(m, moot_group_open(m), "moot_group_open");
    }
    const moot_array last = spawn_rows(by_arrays);
    if (by_group) {
        bench_check(m, moot_group_close(m, MOOT_FOREVER), "moot_group_close");
    } else {
        bench_check(m, moot_array_wait(m, last, MOOT_FOREVER), "moot_array_wait");
    }
    bench_check(m, moot_array_release(m, last), "moot_array_release");
}

double by_arrays_run(struct by_arrays *by_arrays, const struct graph *graph)
{
    by_arrays->graph = graph;
    by_arrays->run++;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun_s = bench_now_s();
    spawn_and_wait(by_arrays);
    double mine_s = bench_now_s() - begun_s, took_s;
    bench_check(by_arrays->m, moot_barrier(by_arrays->m), "moot_barrier");
    MPI_Allreduce(&mine_s, &took_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    graph_check_executed(graph);
    return took_s;
}

struct by_arrays *by_arrays_open(void)
{
    struct by_arrays *by_arrays = bench_alloc(1, sizeof(*by_arrays));
    const moot_kernel kernel = {
        .name = "execute", .fn = execute_element, .user = by_arrays};
    bench_check(NULL, moot_open_comm(NULL, MPI_COMM_WORLD, &by_arrays->m),
                "moot_open_comm");
    bench_check(by_arrays->m,
                moot_kernel_register(by_arrays->m, &kernel, &by_arrays->execute),
                "execute");
    return by_arrays;
}

void by_arrays_close(struct by_arrays *by_arrays)
{
    bench_check(NULL, moot_close(by_arrays->m), "moot_close");
    free(by_arrays);
}
