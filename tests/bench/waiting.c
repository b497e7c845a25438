/* waiting.c - what it costs to wait for all tasks, beside waiting for one's own end.
 *
 *   mpirun -n 2 waiting [--pattern NAME|some] [--width W] [--steps S] [--pairs N]
 *                       [--seconds N] [--target RATIO]
 *
 * The graphs of metg with kernels that do not compute, so that nothing hides what a
 * wait costs.  A plain program waits by a group around its spawns, or for all of its
 * handles; the other one as by_moot.c says.  The two take turns; a pair gives one ratio
 * of times, and the median of the pairs is the row: N pairs, or as many as begin within
 * so many seconds.  Behind it messages for each thousand tasks, of all ranks together.
 * `some` are trivial, which has nothing but ends, and stencil_1d.
 */
#include "tests/bench/graph.h"

#include <stdio.h>
#include <string.h>

enum { PAIRS_MAX = 101 };

struct options {
    const char *pattern;
    long width, steps, pairs;
    double seconds, target;
};

static const char *const way_names[] = {"tuned", "group", "all"};

/* One run: its time, and what all ranks have sent in it. */
struct turn {
    double took_s, messages;
};

static struct turn take_turn(struct by_moot *by_moot, const struct graph *graph,
                             enum waiting waiting)
{
    struct turn turn;
    moot_stats before = by_moot_stats(by_moot);
    turn.took_s = by_moot_run_waiting(by_moot, graph, waiting);
    moot_stats after = by_moot_stats(by_moot);
    turn.messages = (double)(after.messages_sent - before.messages_sent);
    MPI_Allreduce(MPI_IN_PLACE, &turn.messages, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    turn.messages /= 1e-3 * (double)graph_tasks(graph);
    return turn;
}

static void measure(const struct bench *bench, const struct options *options,
                    enum pattern pattern, enum waiting waiting)
{
    struct graph graph = graph_new(bench, pattern, options->steps, options->width);
    struct by_moot *by_moot = by_moot_open("repair");
    double ratios[PAIRS_MAX], took_s[PAIRS_MAX], begun_s = bench_now_s();
    struct turn plain = {0}, tuned = {0};
    (void)take_turn(by_moot, &graph, WAITING_OWN_END); /* to warm up */
    (void)take_turn(by_moot, &graph, waiting);
    long pairs = 0;
    while (pairs < options->pairs &&
           (pairs == 0 || bench_took_s(begun_s) < options->seconds)) {
        tuned = take_turn(by_moot, &graph, WAITING_OWN_END);
        plain = take_turn(by_moot, &graph, waiting);
        took_s[pairs] = plain.took_s;
        ratios[pairs++] = plain.took_s / tuned.took_s;
    }
    by_moot_close(by_moot);
    struct figure ratio = figure_of(ratios, (size_t)pairs);
    struct figure took = figure_of(took_s, (size_t)pairs);
    char name[96];
    (void)snprintf(name, sizeof(name), "wait-%s-%s-%dranks-width%ld",
                   way_names[waiting], pattern_name(pattern), bench->ranks,
                   options->width);
    bench_row(bench, name, ratio.median, options->target,
              "%.2f-%.2f in %ld pairs; %.2f us a task; messages for each 1000 tasks: "
              "%.0f, tuned %.0f",
              ratio.least, ratio.most, pairs,
              1e6 * took.median / (double)graph_tasks(&graph), plain.messages,
              tuned.messages);
    graph_release(&graph);
}

static bool is_wanted(const struct options *options, enum pattern pattern)
{
    if (strcmp(options->pattern, "some") == 0) {
        return pattern == PATTERN_trivial || pattern == PATTERN_stencil_1d;
    }
    return strcmp(options->pattern, pattern_name(pattern)) == 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "waiting");
    struct options options = {
        .pattern = bench_text(argv, "--pattern", "some"),
        .width = bench_number(argv, "--width", 8, 1, PATTERN_WIDTH_MAX),
        .steps = bench_number(argv, "--steps", 1000, 2, 1000000),
        .pairs = bench_number(argv, "--pairs", 15, 1, PAIRS_MAX),
        .seconds = bench_real(argv, "--seconds", 15, 0, BENCH_SECONDS_MAX),
        .target = bench_real(argv, "--target", 0, 0, BENCH_TARGET_MAX),
    };
    int wanted = 0;
    for (int pattern = 0; pattern < PATTERN_END; pattern++) {
        if (is_wanted(&options, (enum pattern)pattern)) {
            measure(&bench, &options, (enum pattern)pattern, WAITING_GROUP);
            measure(&bench, &options, (enum pattern)pattern, WAITING_ALL);
            wanted++;
        }
    }
    if (wanted == 0) {
        bench_die("waiting: no such pattern: %s", options.pattern);
    }
    bench_close(&bench);
    return 0;
}
