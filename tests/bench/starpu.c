/* starpu.c - METG(50%) by moot beside StarPU (beside.h).
 *
 *   mpirun -n 2 --bind-to none starpu [--pattern NAME|all|others] [--width W] [...]
 *
 * StarPU's tasks run in one process, rank 0, and nothing is sent: a worker for each
 * core that the ranks have together, each on its own, and the thread that submits
 * beside them.  (Between ranks its thread for communication would share each of the
 * cores with a worker.)  The other ranks sleep meanwhile, as moot's are gone; moot's,
 * for the sake of these workers, are not pinned.
 *
 * Tasks find their inputs by the data that they read, in the order of their submission:
 * each point has FIELDS results in turn, so that few tasks have to wait for those who
 * still read an older one.  Scheduler and everything else as StarPU chooses them.
 * Debian's StarPU checks its own assertions; its manual recommends tasks of more than
 * some ten microseconds.
 */
#include "tests/bench/beside.h"

#include <starpu.h>
#include <stdlib.h>
#include <time.h>

enum { FIELDS = 8, NAP_NS = 5000000 };

struct work {
    const struct graph *graph;
    long step, point;
    size_t count;
};

/* Nothing on the ranks that sleep. */
struct starpu {
    size_t count;
    struct token *tokens; /* [field * width + point] */
    starpu_data_handle_t *handles;
};

static void execute(void *buffers[], void *argument)
{
    const struct work *work = argument;
    const struct token *inputs[PATTERN_WIDTH_MAX];
    for (size_t i = 0; i < work->count; i++) {
        inputs[i] = (const struct token *)STARPU_VARIABLE_GET_PTR(buffers[i + 1]);
    }
    struct token *out = (struct token *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    graph_execute(work->graph, work->step, work->point, inputs, work->count, out);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {execute}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "execute"};

static void check(int error, const char *what)
{
    if (error != 0) {
        bench_die("%s failed: %d", what, error);
    }
}

/* --- A run ------------------------------------------------------------------------ */

/* It, and these, are StarPU's, which frees them. */
static struct starpu_task *new_task(const struct work *work)
{
    struct starpu_task *task = starpu_task_create();
    struct work *copy = bench_alloc(1, sizeof(*copy));
    *copy = *work;
    task->cl = &codelet;
    task->cl_arg = copy;
    task->cl_arg_size = sizeof(*copy);
    task->cl_arg_free = 1;
    task->nbuffers = (int)work->count + 1;
    if (task->nbuffers > STARPU_NMAXBUFS) {
        task->dyn_handles =
            bench_alloc((size_t)task->nbuffers, sizeof(*task->dyn_handles));
        task->dyn_modes = bench_alloc((size_t)task->nbuffers, sizeof(*task->dyn_modes));
    }
    return task;
}

static void submit(struct starpu *starpu, const struct graph *graph, long step,
                   long point)
{
    starpu_data_handle_t *now = starpu->handles + step % FIELDS * graph->width;
    starpu_data_handle_t *before =
        starpu->handles + (step + FIELDS - 1) % FIELDS * graph->width;
    long count;
    const long *takes = graph_inputs(graph, step, point, &count);
    struct starpu_task *task =
        new_task(&(struct work){graph, step, point, (size_t)count});
    STARPU_TASK_SET_HANDLE(task, now[point], 0);
    STARPU_TASK_SET_MODE(task, STARPU_W, 0);
    for (long i = 0; i < count; i++) {
        STARPU_TASK_SET_HANDLE(task, before[takes[i]], i + 1);
        STARPU_TASK_SET_MODE(task, STARPU_R, i + 1);
    }
    check(starpu_task_submit(task), "starpu_task_submit");
}

static void run_here(struct starpu *starpu, const struct graph *graph)
{
    for (long step = 0; step < graph->steps; step++) {
        struct row row = graph_row(graph, step);
        for (long point = row.first; point < row.first + row.count; point++) {
            submit(starpu, graph, step, point);
        }
    }
    check(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
}

/* Without a core of its own. */
static void meet_asleep(void)
{
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        }
    }
}

static double run(void *opened, const struct graph *graph)
{
    struct starpu *starpu = opened;
    MPI_Barrier(MPI_COMM_WORLD);
    double begun_s = bench_now_s();
    if (graph->rank == 0) {
        run_here(starpu, graph);
    }
    double took_s = bench_now_s() - begun_s;
    meet_asleep();
    MPI_Bcast(&took_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    graph_check_executed(graph);
    return took_s;
}

/* --- Opening and closing ---------------------------------------------------------- */

static void open_here(struct starpu *starpu, const struct graph *graph)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = graph->ranks;
    conf.ncuda = conf.nopencl = 0;
    check(starpu_init(&conf), "starpu_init");
    starpu->count = (size_t)(FIELDS * graph->width);
    starpu->tokens = bench_alloc(starpu->count, sizeof(*starpu->tokens));
    starpu->handles = bench_alloc(starpu->count, sizeof(starpu_data_handle_t));
    for (size_t i = 0; i < starpu->count; i++) {
        starpu_variable_data_register(&starpu->handles[i], STARPU_MAIN_RAM,
                                      (uintptr_t)&starpu->tokens[i],
                                      sizeof(*starpu->tokens));
    }
}

static void *open_starpu(const struct graph *graph)
{
    struct starpu *starpu = bench_alloc(1, sizeof(*starpu));
    if (graph->rank == 0) {
        open_here(starpu, graph);
    }
    meet_asleep();
    return starpu;
}

static void close_starpu(void *opened)
{
    struct starpu *starpu = opened;
    for (size_t i = 0; i < starpu->count; i++) {
        starpu_data_unregister(starpu->handles[i]);
    }
    if (starpu->count > 0) {
        starpu_shutdown();
    }
    meet_asleep();
    free(starpu->handles);
    free(starpu->tokens);
    free(starpu);
}

int main(int argc, char **argv)
{
    (void)argc;
    static const struct way way = {"StarPU", 1e-5, open_starpu, run, close_starpu};
    beside(argv, &(struct beside){"starpu", {&way_by_moot}, &way, {"metg-to-starpu"}});
    return 0;
}
