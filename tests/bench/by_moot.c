/* by_moot.c - the graph as a moot program.
 *
 * Every rank spawns all of it, row by row, each task on the rank that has its point,
 * and lets a row's handles go as soon as the next row has taken them as inputs.
 *
 * How does it know that all is done?  The sinks, whose results no task takes, are the
 * last row, half of each row of `tree`, and every task of `trivial`.  A wait for a sink
 * itself makes its owner tell every rank of it, a message for each, and in `trivial`
 * that would be all there is to measure.  So a rank's sinks are gathered by tasks of
 * that rank that run after them and give nothing, each after up to GATHER_TASKS sinks
 * and after the one before it.  Behind the last gatherers of all ranks every rank has
 * one task more, its end, and waits for that: owners know from the graph whose ends
 * follow their gatherers, and push, one message for each pair of ranks whatever the
 * pattern.  (Who waits for another rank's task that nothing of its own takes has it
 * pushed only once that rank has heard that it is held here, or must ask.)
 *
 * That is how a program is tuned.  A plain one waits for all that it has spawned: by a
 * group around its spawns, or by one call for all handles (enum waiting).
 */
#include "tests/bench/graph.h"

#include "node/api/moot_mpi.h"
#include <stdio.h>
#include <stdlib.h>

enum { GATHER_TASKS = 1024 };

/* Padding would be part of a task's identity: there is none. */
struct place {
    int64_t run, step, point;
};

/* A rank's sinks that are not gathered yet. */
struct sheaf {
    moot_task sinks[GATHER_TASKS + 1]; /* the last one's place is the gatherer's */
    size_t count;
    moot_task gatherer; /* the latest; 0: none */
    int64_t gatherers;
};

struct by_moot {
    moot *m;
    moot_kernel_id execute, gather;
    const struct graph *graph; /* that runs, and how */
    struct divergence divergence;
    enum waiting waiting;
    moot_task *kept; /* WAITING_ALL: all tasks of this run, */
    size_t kept_count, kept_room;
    int64_t run;
    uint64_t draws; /* this rank's random state */
    struct sheaf *sheaves;
};

/* --- Kernels ---------------------------------------------------------------------- */

static int execute(moot_call *call, void *user)
{
    const struct by_moot *by_moot = user;
    const struct place *place = moot_call_args(call, NULL);
    const struct token *inputs[PATTERN_WIDTH_MAX];
    size_t count = moot_call_input_count(call);
    for (size_t i = 0; i < count; i++) {
        inputs[i] = moot_call_input(call, i, NULL);
    }
    struct token *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    graph_execute(by_moot->graph, place->step, place->point, inputs, count, out);
    return MOOT_OK;
}

static int gather(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* --- Divergence ------------------------------------------------------------------- */

/* xorshift64 (Marsaglia, 2003). */
static bool draws_below(struct by_moot *by_moot, double share)
{
    uint64_t x = by_moot->draws;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    by_moot->draws = x;
    return (double)(x >> 11) * 0x1p-53 < share;
}

/* The order in which this rank spawns the points of a row. */
static void order_row(struct by_moot *by_moot, struct row row, long *order)
{
    for (long i = 0; i < row.count; i++) {
        order[i] = row.first + i;
    }
    if (by_moot->divergence.shuffled <= 0 ||
        !draws_below(by_moot, by_moot->divergence.shuffled)) {
        return;
    }
    for (long i = row.count - 1; i > 0; i--) {
        (void)draws_below(by_moot, 0);
        long other = (long)(by_moot->draws % (uint64_t)(i + 1)), point = order[i];
        order[i] = order[other];
        order[other] = point;
    }
}

/* --- Spawning --------------------------------------------------------------------- */

static moot_task name_by_hash(struct by_moot *by_moot, const moot_task_spec *spec)
{
    moot_hash hash;
    moot_task task;
    bench_check(by_moot->m, moot_spec_hash(by_moot->m, spec, &hash), "moot_spec_hash");
    bench_check(by_moot->m, moot_task_find(by_moot->m, &hash, &task), "moot_task_find");
    return task;
}

static moot_task spawn_point(struct by_moot *by_moot, long step, long point,
                             const moot_task *before)
{
    const struct graph *graph = by_moot->graph;
    const struct divergence *divergence = &by_moot->divergence;
    moot_task inputs[PATTERN_WIDTH_MAX], task;
    long count;
    const long *takes = graph_inputs(graph, step, point, &count);
    for (long i = 0; i < count; i++) {
        inputs[i] = before[takes[i]];
    }
    struct place place = {by_moot->run, step, point};
    int owner = graph_owner(graph, point);
    moot_task_spec spec = {.kernel = by_moot->execute,
                           .args = &place,
                           .args_size = sizeof(place),
                           .inputs = inputs,
                           .input_count = (size_t)count};
    if (!divergence->free) {
        spec.owner = MOOT_ON(owner);
    }
    if (divergence->skipped > 0 && owner != graph->rank &&
        draws_below(by_moot, divergence->skipped)) {
        return name_by_hash(by_moot, &spec);
    }
    bench_check(by_moot->m, moot_task_spawn(by_moot->m, &spec, &task),
                "moot_task_spawn");
    return task;
}

static void release(struct by_moot *by_moot, moot_task task)
{
    bench_check(by_moot->m, moot_task_release(by_moot->m, task), "moot_task_release");
}

static moot_task spawn_behind(struct by_moot *by_moot, int64_t step, int owner,
                              const moot_task *after, size_t count)
{
    struct place place = {by_moot->run, step, owner};
    moot_task_spec spec = {.kernel = by_moot->gather,
                           .args = &place,
                           .args_size = sizeof(place),
                           .after = after,
                           .after_count = count,
                           .owner = MOOT_ON(owner)};
    moot_task task;
    bench_check(by_moot->m, moot_task_spawn(by_moot->m, &spec, &task),
                "moot_task_spawn");
    return task;
}

/* Gathers the sinks in rank `owner`'s sheaf. */
static void bind_sheaf(struct by_moot *by_moot, int owner)
{
    struct sheaf *sheaf = &by_moot->sheaves[owner];
    if (sheaf->gatherer.id != 0) {
        sheaf->sinks[sheaf->count++] = sheaf->gatherer;
    }
    sheaf->gatherer = spawn_behind(by_moot, -1 - sheaf->gatherers++, owner,
                                   sheaf->sinks, sheaf->count);
    for (size_t i = 0; i < sheaf->count; i++) {
        release(by_moot, sheaf->sinks[i]);
    }
    sheaf->count = 0;
}

/* A row that the next has taken from, or the last. */
static void let_go(struct by_moot *by_moot, long step, const moot_task *tasks)
{
    const struct graph *graph = by_moot->graph;
    struct row row = graph_row(graph, step);
    for (long point = row.first; point < row.first + row.count; point++) {
        if (by_moot->waiting == WAITING_ALL) {
            by_moot->kept[by_moot->kept_count++] = tasks[point];
            continue;
        }
        if (by_moot->waiting == WAITING_GROUP || !graph_is_sink(graph, step, point)) {
            release(by_moot, tasks[point]);
            continue;
        }
        int owner = graph_owner(graph, point);
        struct sheaf *sheaf = &by_moot->sheaves[owner];
        sheaf->sinks[sheaf->count++] = tasks[point];
        if (sheaf->count == GATHER_TASKS) {
            bind_sheaf(by_moot, owner);
        }
    }
}

static void spawn_all(struct by_moot *by_moot)
{
    const struct graph *graph = by_moot->graph;
    moot_task rows[2][PATTERN_WIDTH_MAX];
    long order[PATTERN_WIDTH_MAX];
    for (long step = 0; step < graph->steps; step++) {
        moot_task *now = rows[step % 2], *before = rows[1 - step % 2];
        struct row row = graph_row(graph, step);
        order_row(by_moot, row, order);
        for (long i = 0; i < row.count; i++) {
            now[order[i]] = spawn_point(by_moot, step, order[i], before);
        }
        let_go(by_moot, step - 1, before);
    }
    let_go(by_moot, graph->steps - 1, rows[(graph->steps - 1) % 2]);
}

/* --- A run ------------------------------------------------------------------------ */

/* The last gatherers; returns how many there are. */
static size_t bind_all(struct by_moot *by_moot, moot_task *last)
{
    size_t count = 0;
    for (int rank = 0; rank < by_moot->graph->ranks; rank++) {
        struct sheaf *sheaf = &by_moot->sheaves[rank];
        if (sheaf->count > 0) {
            bind_sheaf(by_moot, rank);
        }
        if (sheaf->gatherer.id != 0) {
            last[count++] = sheaf->gatherer;
        }
        sheaf->gatherer.id = 0;
        sheaf->gatherers = 0;
    }
    return count;
}

/* Waits until all is done on all ranks; returns this rank's end, which is to be
 * released. */
static moot_task finish(struct by_moot *by_moot)
{
    const struct graph *graph = by_moot->graph;
    moot_task *last = bench_alloc((size_t)graph->ranks, sizeof(*last)), mine = {0};
    size_t count = bind_all(by_moot, last);
    for (int rank = 0; rank < graph->ranks; rank++) {
        moot_task end = spawn_behind(by_moot, graph->steps, rank, last, count);
        if (rank == graph->rank) {
            mine = end;
        } else {
            release(by_moot, end);
        }
    }
    for (size_t i = 0; i < count; i++) {
        release(by_moot, last[i]);
    }
    free(last);
    bench_check(by_moot->m, moot_task_wait(by_moot->m, mine, MOOT_FOREVER),
                "moot_task_wait");
    return mine;
}

static moot_task spawn_and_wait(struct by_moot *by_moot)
{
    moot_task none = {0};
    switch (by_moot->waiting) {
    case WAITING_GROUP:
        bench_check(by_moot->m, moot_group_open(by_moot->m), "moot_group_open");
        spawn_all(by_moot);
        bench_check(by_moot->m, moot_group_close(by_moot->m, MOOT_FOREVER),
                    "moot_group_close");
        return none;
    case WAITING_ALL:
        spawn_all(by_moot);
        bench_check(by_moot->m,
                    moot_task_wait_all(by_moot->m, by_moot->kept, by_moot->kept_count,
                                       MOOT_FOREVER),
                    "moot_task_wait_all");
        for (size_t i = 0; i < by_moot->kept_count; i++) {
            release(by_moot, by_moot->kept[i]);
        }
        return none;
    case WAITING_OWN_END:
    default:
        spawn_all(by_moot);
        return finish(by_moot);
    }
}

/* Room for WAITING_ALL, before any clock starts. */
static void make_room(struct by_moot *by_moot)
{
    size_t tasks = (size_t)graph_tasks(by_moot->graph);
    if (by_moot->waiting == WAITING_ALL && tasks > by_moot->kept_room) {
        free(by_moot->kept);
        by_moot->kept = bench_alloc(tasks, sizeof(*by_moot->kept));
        by_moot->kept_room = tasks;
    }
    by_moot->kept_count = 0;
}

static double run_once(struct by_moot *by_moot, const struct graph *graph)
{
    by_moot->graph = graph;
    by_moot->run++;
    make_room(by_moot);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun_s = bench_now_s();
    moot_task end = spawn_and_wait(by_moot);
    double mine_s = bench_now_s() - begun_s, took_s;
    if (end.id == 0) {
        bench_check(by_moot->m, moot_barrier(by_moot->m), "moot_barrier");
    } else {
        bench_meet(by_moot->m, end);
        release(by_moot, end);
    }
    MPI_Allreduce(&mine_s, &took_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    graph_check_executed(graph);
    return took_s;
}

double by_moot_run(struct by_moot *by_moot, const struct graph *graph,
                   const struct divergence *divergence)
{
    static const struct divergence none;
    by_moot->divergence = divergence != NULL ? *divergence : none;
    by_moot->waiting = WAITING_OWN_END;
    return run_once(by_moot, graph);
}

double by_moot_run_waiting(struct by_moot *by_moot, const struct graph *graph,
                           enum waiting waiting)
{
    by_moot->divergence = (struct divergence){0};
    by_moot->waiting = waiting;
    return run_once(by_moot, graph);
}

/* --- Opening and closing ---------------------------------------------------------- */

static moot_kernel_id register_kernel(struct by_moot *by_moot, const char *name,
                                      moot_kernel_fn fn)
{
    moot_kernel_id id;
    moot_kernel kernel = {.name = name, .fn = fn, .user = by_moot};
    bench_check(by_moot->m, moot_kernel_register(by_moot->m, &kernel, &id), name);
    return id;
}

struct by_moot *by_moot_open(const char *mode)
{
    struct by_moot *by_moot = bench_alloc(1, sizeof(*by_moot));
    char knob[64];
    (void)snprintf(knob, sizeof(knob), "MOOT_DIVERGENCE=%s", mode);
    const char *const knobs[] = {knob, NULL};
    bench_check(
        NULL,
        moot_open_comm(&(moot_options){.knobs = knobs}, MPI_COMM_WORLD, &by_moot->m),
        "moot_open_comm");
    by_moot->execute = register_kernel(by_moot, "execute", execute);
    by_moot->gather = register_kernel(by_moot, "gather", gather);
    by_moot->draws = 0x9e3779b97f4a7c15u * (uint64_t)(moot_rank(by_moot->m) + 1);
    by_moot->sheaves =
        bench_alloc((size_t)moot_size(by_moot->m), sizeof(*by_moot->sheaves));
    return by_moot;
}

moot_stats by_moot_stats(const struct by_moot *by_moot)
{
    moot_stats stats;
    bench_check(by_moot->m, moot_stats_get(by_moot->m, &stats), "moot_stats_get");
    return stats;
}

void by_moot_close(struct by_moot *by_moot)
{
    bench_check(NULL, moot_close(by_moot->m), "moot_close");
    free(by_moot->sheaves);
    free(by_moot->kept);
    free(by_moot);
}
