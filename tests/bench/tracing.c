/* tracing.c - what it costs to record what happens.
 *
 *   mpirun -n 2 tracing [--pattern NAME] [--width W] [--steps S] [--grain-us G]
 *                       [--pairs N] [--seconds N] [--target RATIO]
 *
 * The same graph with MOOT_TRACE and without, with kernels of a given length.  The two
 * take turns, the first of a pair by turns, too; a pair gives one ratio of times, and
 * the median of the pairs is the row: N pairs, or as many as begin within so many
 * seconds. The records go to a folder below $TMPDIR, which is removed.
 */
#include "tests/bench/search.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAIRS_MAX = 101, PATH_BYTES = 512 };

struct options {
    const char *pattern;
    long width, steps, pairs;
    double grain_s, seconds, target;
};

/* Rank 0's knobs count for all. */
static void set_trace(const char *directory)
{
    if (directory != NULL) {
        (void)setenv("MOOT_TRACE", directory, 1);
    } else {
        (void)unsetenv("MOOT_TRACE");
    }
}

static double turn_s(const struct graph *graph, const char *directory)
{
    set_trace(directory);
    double took_s = search_turn_s(&way_by_moot, graph);
    set_trace(NULL);
    return took_s;
}

static enum pattern pattern_named(const char *name)
{
    for (int pattern = 0; pattern < PATTERN_END; pattern++) {
        if (strcmp(pattern_name((enum pattern)pattern), name) == 0) {
            return (enum pattern)pattern;
        }
    }
    bench_die("tracing: no such pattern: %s", name);
    return PATTERN_END;
}

static void measure(const struct bench *bench, const struct options *options,
                    const char *directory)
{
    enum pattern pattern = pattern_named(options->pattern);
    struct graph graph = graph_new(bench, pattern, options->steps, options->width);
    graph.iterations = (long)(options->grain_s / graph_iteration_s());
    double ratios[PAIRS_MAX], begun_s = bench_now_s();
    long pairs = 0;
    while (pairs < options->pairs &&
           (pairs == 0 || bench_took_s(begun_s) < options->seconds)) {
        double with_s = 0, without_s;
        if (pairs % 2 == 0) {
            with_s = turn_s(&graph, directory);
        }
        without_s = turn_s(&graph, NULL);
        if (pairs % 2 != 0) {
            with_s = turn_s(&graph, directory);
        }
        ratios[pairs++] = with_s / without_s;
    }
    struct figure ratio = figure_of(ratios, (size_t)pairs);
    char name[96];
    (void)snprintf(name, sizeof(name), "trace-%s-%dranks-width%ld",
                   pattern_name(pattern), bench->ranks, options->width);
    bench_row(bench, name, ratio.median, options->target,
              "%.3f-%.3f in %ld pairs at %.2f us of kernel", ratio.least, ratio.most,
              pairs, 1e6 * options->grain_s);
    graph_release(&graph);
}

static void remove_traces(const char *directory)
{
    DIR *dir = opendir(directory);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (strstr(entry->d_name, ".trace") != NULL) {
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    (void)rmdir(directory);
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "tracing");
    struct options options = {
        .pattern = bench_text(argv, "--pattern", "stencil_1d"),
        .width = bench_number(argv, "--width", 8, 1, PATTERN_WIDTH_MAX),
        .steps = bench_number(argv, "--steps", 1000, 2, 1000000),
        .pairs = bench_number(argv, "--pairs", 15, 1, PAIRS_MAX),
        .grain_s = 1e-6 * bench_real(argv, "--grain-us", 5, 0, BENCH_GRAIN_US_MAX),
        .seconds = bench_real(argv, "--seconds", 60, 0, BENCH_SECONDS_MAX),
        .target = bench_real(argv, "--target", 0, 0, BENCH_TARGET_MAX),
    };
    const char *temporary = getenv("TMPDIR");
    char directory[PATH_BYTES];
    (void)snprintf(directory, sizeof(directory), "%s/moot-trace-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    if (bench.rank == 0 && mkdtemp(directory) == NULL) {
        bench_die("tracing: no folder in %s", directory);
    }
    measure(&bench, &options, directory);
    if (bench.rank == 0) {
        remove_traces(directory);
    }
    bench_close(&bench);
    return 0;
}
