/* trust.c - what it costs ranks that agree that they could repair a divergence.
 *
 *   mpirun -n 2 trust [--pattern NAME|all|some] [--width W] [--steps S] [--pairs N]
 *                     [--seconds N] [--target RATIO]
 *
 * The same graph in the modes `repair` and `trust`, the second of which neither votes
 * nor asks, at the grain that is METG(50%) for `repair`, where overhead is half of
 * everything.  The two take turns, the first of a pair by turns, too; a pair gives one
 * ratio of times, and the median of the pairs is the row: N pairs, or as many as begin
 * within so many seconds.  `some` are four patterns that differ in what they send.
 */
#include "tests/bench/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_MAX = 101 };

struct options {
    const char *pattern;
    long width, steps, pairs;
    double seconds, target;
};

static bool is_wanted(const struct options *options, enum pattern pattern)
{
    bool is_one_of_some = pattern == PATTERN_trivial || pattern == PATTERN_stencil_1d ||
                          pattern == PATTERN_fft || pattern == PATTERN_all_to_all;
    return strcmp(options->pattern, "all") == 0 ||
           (strcmp(options->pattern, "some") == 0 && is_one_of_some) ||
           strcmp(options->pattern, pattern_name(pattern)) == 0;
}

static double pair_ratio(const struct graph *graph, bool repair_first)
{
    double trust_s, repair_s;
    if (repair_first) {
        repair_s = search_turn_s(&way_by_moot, graph);
    }
    trust_s = search_turn_s(&way_by_trust, graph);
    if (!repair_first) {
        repair_s = search_turn_s(&way_by_moot, graph);
    }
    return repair_s / trust_s;
}

static void measure(const struct bench *bench, const struct options *options,
                    enum pattern pattern)
{
    struct graph graph = graph_new(bench, pattern, options->steps, options->width);
    double ratios[PAIRS_MAX];
    struct search search = {.way = &way_by_moot};
    for (int round = 0; round < SEARCH_ROUNDS_TO_SETTLE; round++) {
        search_round(&search, bench, &graph);
    }
    double grain_s = search_set_grain(&search, &graph), begun_s = bench_now_s();
    long pairs = 0;
    while (pairs < options->pairs &&
           (pairs == 0 || bench_took_s(begun_s) < options->seconds)) {
        ratios[pairs] = pair_ratio(&graph, pairs % 2 == 0);
        pairs++;
    }
    struct figure ratio = figure_of(ratios, (size_t)pairs);
    char name[96];
    (void)snprintf(name, sizeof(name), "repair-trust-%s-%dranks-width%ld",
                   pattern_name(pattern), bench->ranks, options->width);
    bench_row(bench, name, ratio.median, options->target,
              "%.3f-%.3f in %ld pairs at %.2f us of kernel", ratio.least, ratio.most,
              pairs, 1e6 * grain_s);
    graph_release(&graph);
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "trust");
    struct options options = {
        .pattern = bench_text(argv, "--pattern", "some"),
        .width = bench_number(argv, "--width", 8, 1, PATTERN_WIDTH_MAX),
        .steps = bench_number(argv, "--steps", 1000, 2, 1000000),
        .pairs = bench_number(argv, "--pairs", 15, 1, PAIRS_MAX),
        .seconds = bench_real(argv, "--seconds", 60, 0, BENCH_SECONDS_MAX),
        .target = bench_real(argv, "--target", 0, 0, BENCH_TARGET_MAX),
    };
    for (int pattern = 0; pattern < PATTERN_END; pattern++) {
        if (is_wanted(&options, (enum pattern)pattern)) {
            measure(&bench, &options, (enum pattern)pattern);
        }
    }
    bench_close(&bench);
    return 0;
}
