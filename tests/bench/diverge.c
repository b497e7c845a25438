/* diverge.c - what divergence costs: an axis that no other benchmark has.
 *
 *   mpirun -n 2 diverge [--pattern NAME|all|some] [--width W] [--steps S] [--repeat R]
 *                       [--grain-us G] [--csv FILE]
 *
 * The graphs of metg, but nothing says where a task runs: its hash does, among all
 * ranks.  Then p % of the spawns are skipped on each rank (of the tasks of another
 * rank's points, so that each task is spawned by one rank at least; who skipped a task
 * and needs its result names it by its hash), or p % of the rows are spawned in an
 * order of the rank's own, for p in 0, 0.1, 1 and 10.  A chair that skipped its task
 * must be voted out; whoever skipped one that it consumes must ask for it.
 *
 * A row each: the time against p = 0 of the same call, where the two took turns; behind
 * it votes, motions and messages for each thousand tasks.  These rows have no target.
 */
#include "tests/bench/graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MAX = 101, RUNS = 3 };

struct options {
    const char *pattern;
    long width, steps, repeats;
    double grain_s;
    FILE *csv;
};

/* Of one turn: seconds of its fastest run, and what all ranks counted in all its runs,
 * for each thousand tasks. */
struct turn {
    double took_s, votes, motions, messages;
};

static struct turn take_turn(const struct graph *graph,
                             const struct divergence *divergence)
{
    struct turn turn = {.took_s = INFINITY};
    struct by_moot *by_moot = by_moot_open("repair");
    for (int i = 0; i <= RUNS; i++) {
        double took_s = by_moot_run(by_moot, graph, divergence);
        if (i > 0) {
            turn.took_s = fmin(turn.took_s, took_s);
        }
    }
    moot_stats stats = by_moot_stats(by_moot);
    by_moot_close(by_moot);
    double counts[3] = {(double)stats.votes, (double)stats.motions,
                        (double)stats.messages_sent};
    MPI_Allreduce(MPI_IN_PLACE, counts, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double thousands = 1e-3 * (double)graph_tasks(graph) * (RUNS + 1);
    turn.votes = counts[0] / thousands;
    turn.motions = counts[1] / thousands;
    turn.messages = counts[2] / thousands;
    return turn;
}

static void report(const struct bench *bench, const struct options *options,
                   enum pattern pattern, const char *kind, double percent,
                   struct figure ratio, const struct turn *turn)
{
    char name[96];
    (void)snprintf(name, sizeof(name), "%s-%g%%-%s-%dranks-width%ld", kind, percent,
                   pattern_name(pattern), bench->ranks, options->width);
    bench_row(bench, name, ratio.median, 0,
              "%.2f-%.2f; per 1000 tasks %.1f votes, %.1f motions, %.0f messages",
              ratio.least, ratio.most, turn->votes, turn->motions, turn->messages);
    if (options->csv != NULL) {
        fprintf(options->csv, "%s,%d,%ld,%s,%g,%.4f,%.4f,%.4f,%.3f,%.3f,%.3f\n",
                pattern_name(pattern), bench->ranks, options->width, kind, percent,
                ratio.median, ratio.least, ratio.most, turn->votes, turn->motions,
                turn->messages);
    }
}

static void measure(const struct bench *bench, const struct options *options,
                    enum pattern pattern, const struct graph *graph, bool skip)
{
    static const double percents[] = {0, 0.1, 1, 10};
    for (size_t p = 0; p < sizeof(percents) / sizeof(*percents); p++) {
        struct divergence none = {.free = true}, some = none;
        *(skip ? &some.skipped : &some.shuffled) = percents[p] / 100;
        double ratios[REPEATS_MAX];
        struct turn turn = {0};
        for (long i = 0; i < options->repeats; i++) {
            double base_s = take_turn(graph, &none).took_s;
            turn = take_turn(graph, &some);
            ratios[i] = turn.took_s / base_s;
        }
        report(bench, options, pattern, skip ? "skip" : "shuffle", percents[p],
               figure_of(ratios, (size_t)options->repeats), &turn);
    }
}

static bool is_wanted(const struct options *options, enum pattern pattern)
{
    bool is_one_of_some = pattern == PATTERN_stencil_1d || pattern == PATTERN_fft ||
                          pattern == PATTERN_tree;
    return strcmp(options->pattern, "all") == 0 ||
           (strcmp(options->pattern, "some") == 0 && is_one_of_some) ||
           strcmp(options->pattern, pattern_name(pattern)) == 0;
}

static FILE *open_csv(const struct bench *bench, const char *path)
{
    if (bench->rank != 0 || path == NULL) {
        return NULL;
    }
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        bench_die("diverge: cannot write to %s", path);
    }
    fprintf(file, "pattern,ranks,width,kind,percent,ratio,ratio_min,ratio_max,votes,"
                  "motions,messages\n");
    return file;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "diverge");
    struct options options = {
        .pattern = bench_text(argv, "--pattern", "some"),
        .width = bench_number(argv, "--width", 8, 1, PATTERN_WIDTH_MAX),
        .steps = bench_number(argv, "--steps", 500, 2, 1000000),
        .repeats = bench_number(argv, "--repeat", 5, 1, REPEATS_MAX),
        .grain_s = 1e-6 * bench_real(argv, "--grain-us", 5, 0, BENCH_GRAIN_US_MAX),
        .csv = open_csv(&bench, bench_text(argv, "--csv", NULL)),
    };
    double iteration_s = graph_iteration_s();
    for (int pattern = 0; pattern < PATTERN_END; pattern++) {
        if (!is_wanted(&options, (enum pattern)pattern)) {
            continue;
        }
        struct graph graph =
            graph_new(&bench, (enum pattern)pattern, options.steps, options.width);
        graph.iterations = lrint(options.grain_s / iteration_s);
        measure(&bench, &options, (enum pattern)pattern, &graph, true);
        measure(&bench, &options, (enum pattern)pattern, &graph, false);
        graph_release(&graph);
    }
    if (options.csv != NULL) {
        (void)fclose(options.csv);
    }
    bench_close(&bench);
    return 0;
}
