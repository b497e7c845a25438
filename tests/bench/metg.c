/* metg.c - the smallest tasks that still pay: METG(50%) by hand and by moot.
 *
 *   mpirun -n 2 metg [--pattern NAME|all] [--width W] [--steps S] [--repeat R]
 *                    [--csv] [--trust]
 *
 * METG(50%) of Task Bench: wall time x cores / tasks, at the grain at which a run
 * reaches half of the speed at which the compute kernel alone runs.  The grain is
 * doubled until a run is that efficient, and then bisected.  Both ways search in turns,
 * so that what disturbs the machine disturbs both; each search is repeated, and the
 * median counts.
 *
 * A line per pattern: pattern, ranks, cores, width, by hand and by moot in microseconds
 * with the least and the most of the repetitions, and the ratio.  --trust compares
 * moot's mode `repair` with `trust` instead.  It warns if the machine was busy.
 */
#include "graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPEATS_MAX = 31, BISECTIONS = 4 };

struct options {
    enum pattern pattern; /* PATTERN_END: all */
    long width, steps, repeats;
    bool csv, trust;
};

static struct {
    int rank, ranks, cores;
    double iteration_s;
    const struct options *options;
} bench;

/* --- One run ------------------------------------------------------------------------
 */

enum way { BY_HAND, BY_MOOT, BY_TRUST };

static double run_s(enum way way, struct graph *graph)
{
    (void)graph_take_executed();
    double took = way == BY_HAND   ? graph_by_hand(graph)
                  : way == BY_MOOT ? graph_by_moot(graph, "repair")
                                   : graph_by_moot(graph, "trust");
    long mine = graph_take_executed(), all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (all != graph_tasks(graph)) {
        if (bench.rank == 0)
            fprintf(stderr, "%s: %ld tasks ran instead of %ld\n",
                    pattern_name(graph->pattern), all, graph_tasks(graph));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return took;
}

/* --- Searching ----------------------------------------------------------------------
 */

struct search {
    enum way way;
    struct graph graph;
    double low, high; /* log2 of iterations: too fine; coarse enough, once seen */
    double low_eff, high_eff; /* the efficiencies there, */
    double low_s, high_s;     /* and the time per task, in core seconds */
    int bisections;
    bool done;
};

static struct search search_begin(enum way way, struct graph graph)
{
    return (struct search){.way = way, .graph = graph, .low = 0, .high = -1};
}

/* One run, one step nearer. */
static void search_step(struct search *search)
{
    double at = search->high < 0 ? search->low + 1 : (search->low + search->high) / 2;
    search->graph.iterations = (long)exp2(at);
    double tasks = (double)graph_tasks(&search->graph);
    double core_s = run_s(search->way, &search->graph) * bench.cores;
    double ideal_s = tasks * (double)search->graph.iterations * bench.iteration_s;
    double efficiency = ideal_s / core_s;
    if (efficiency >= 0.5) {
        search->high = at;
        search->high_eff = efficiency;
        search->high_s = core_s / tasks;
    } else {
        search->low = at;
        search->low_eff = efficiency;
        search->low_s = core_s / tasks;
    }
    if (search->high >= 0)
        search->done =
            search->bisections++ >= BISECTIONS || search->high - search->low < 0.1;
    if (search->low > 24)
        search->done = true;
}

/* Between the two grains around the half. */
static double search_metg_us(const struct search *search)
{
    if (search->high < 0)
        return NAN;
    double share = search->high_eff > search->low_eff
                       ? (0.5 - search->low_eff) / (search->high_eff - search->low_eff)
                       : 1;
    return 1e6 * (search->low_s + share * (search->high_s - search->low_s));
}

/* --- Reporting ----------------------------------------------------------------------
 */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct figure {
    double least, median, most;
};

static struct figure figure_of(double *values, long count)
{
    qsort(values, (size_t)count, sizeof(*values), ascending);
    return (struct figure){values[0], values[count / 2], values[count - 1]};
}

static void print_line(enum pattern pattern, struct figure base, struct figure ours)
{
    const struct options *options = bench.options;
    double ratio = ours.median / base.median;
    if (options->csv)
        printf("%s,%d,%d,%ld,%ld,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f\n",
               pattern_name(pattern), bench.ranks, bench.cores, options->width,
               options->steps, base.median, base.least, base.most, ours.median,
               ours.least, ours.most, ratio);
    else
        printf("%-20s %2d ranks %2d cores  width %3ld  %s %7.2f us (%.2f-%.2f)  %s "
               "%7.2f us (%.2f-%.2f)  ratio %.2f\n",
               pattern_name(pattern), bench.ranks, bench.cores, options->width,
               options->trust ? "trust" : "by hand", base.median, base.least, base.most,
               options->trust ? "repair" : "moot", ours.median, ours.least, ours.most,
               ratio);
    fflush(stdout);
}

static void measure(enum pattern pattern)
{
    const struct options *options = bench.options;
    struct graph graph = {.pattern = pattern,
                          .steps = options->steps,
                          .width = options->width,
                          .rank = bench.rank,
                          .ranks = bench.ranks};
    double base[REPEATS_MAX], ours[REPEATS_MAX];
    for (long i = 0; i < options->repeats; i++) {
        struct search a = search_begin(options->trust ? BY_TRUST : BY_HAND, graph);
        struct search b = search_begin(BY_MOOT, graph);
        while (!a.done || !b.done) {
            if (!a.done)
                search_step(&a);
            if (!b.done)
                search_step(&b);
        }
        base[i] = search_metg_us(&a);
        ours[i] = search_metg_us(&b);
    }
    if (bench.rank == 0)
        print_line(pattern, figure_of(base, options->repeats),
                   figure_of(ours, options->repeats));
}

/* --- Starting -----------------------------------------------------------------------
 */

static void usage(const char *wrong)
{
    if (bench.rank == 0)
        fprintf(stderr,
                "metg: %s\nusage: metg [--pattern NAME|all] [--width 1..%d] [--steps "
                "1..] [--repeat 1..%d] [--csv] [--trust]\n",
                wrong, PATTERN_WIDTH_MAX, REPEATS_MAX);
    MPI_Finalize();
    exit(2);
}

static long number(const char *text, long least, long most)
{
    char *end;
    long value = text != NULL ? strtol(text, &end, 10) : 0;
    if (text == NULL || *end != '\0' || value < least || value > most)
        usage("a number is missing or out of range");
    return value;
}

static struct options read_options(char **arguments)
{
    struct options options = {PATTERN_stencil_1d, 8, 1000, 3, false, false};
    while (*arguments != NULL) {
        const char *name = *arguments++;
        if (strcmp(name, "--csv") == 0)
            options.csv = true;
        else if (strcmp(name, "--trust") == 0)
            options.trust = true;
        else if (strcmp(name, "--width") == 0)
            options.width = number(*arguments++, 1, PATTERN_WIDTH_MAX);
        else if (strcmp(name, "--steps") == 0)
            options.steps = number(*arguments++, 1, 1000000);
        else if (strcmp(name, "--repeat") == 0)
            options.repeats = number(*arguments++, 1, REPEATS_MAX);
        else if (strcmp(name, "--pattern") == 0 && *arguments != NULL) {
            options.pattern = pattern_find(*arguments);
            if (options.pattern == PATTERN_END && strcmp(*arguments, "all") != 0)
                usage("unknown pattern");
            arguments++;
        } else
            usage("unknown option");
    }
    return options;
}

static void warn_if_busy(void)
{
    double load[1];
    if (bench.rank == 0 && getloadavg(load, 1) == 1 && load[0] > bench.cores + 0.5)
        fprintf(stderr, "metg: the machine was busy (load %.1f)\n", load[0]);
}

int main(int argc, char **argv)
{
    int provided;
    (void)argc;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
    struct options options = read_options(argv + 1);
    bench.options = &options;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    bench.cores = bench.ranks < online ? bench.ranks : (int)online;
    double mine = graph_iteration_s();
    MPI_Allreduce(&mine, &bench.iteration_s, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    if (bench.rank == 0 && options.csv)
        printf("pattern,ranks,cores,width,steps,base_us,base_min,base_max,moot_us,"
               "moot_min,moot_max,ratio\n");
    for (int pattern = 0; pattern < PATTERN_END; pattern++)
        if (options.pattern == PATTERN_END || options.pattern == (enum pattern)pattern)
            measure((enum pattern)pattern);
    warn_if_busy();
    MPI_Finalize();
    return 0;
}
