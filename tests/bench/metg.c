/* metg.c - METG(50%) by hand and by moot, side by side.
 *
 *   mpirun -n 2 metg [--pattern NAME|all|others] [--width W] [--steps S] [--rounds R]
 *                    [--seconds N] [--target RATIO] [--most-us LIMIT] [--csv FILE]
 *
 * search.h says what METG is and how it is found.  Both ways take turns, round by
 * round, so that what disturbs the machine disturbs both; R rounds of each count, or as
 * many as begin within N seconds.  `others` are all patterns but stencil_1d.
 *
 * A row per pattern: the ratio of the medians, and behind it both medians with the
 * least and the most, and the efficiencies there.  These are about 0.5, or the search
 * has found no grain, which is so when others use the cores, and the row says nan.
 * --most-us LIMIT adds a row: the highest of moot's medians, of the rows that do not.
 */
#include "search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 2 };

struct options {
    const char *pattern;
    long width, steps, rounds;
    double seconds, target, most_us;
    FILE *csv;
};

/* --- Reporting -------------------------------------------------------------------- */

static void write_csv(const struct bench *bench, const struct options *options,
                      enum pattern pattern, const struct figure *metg_s)
{
    if (options->csv == NULL)
        return;
    fprintf(options->csv, "%s,%d,%d,%ld,%ld", pattern_name(pattern), bench->ranks,
            bench->cores, options->width, options->steps);
    for (int way = 0; way < WAYS; way++)
        fprintf(options->csv, ",%.4f,%.4f,%.4f", 1e6 * metg_s[way].median,
                1e6 * metg_s[way].least, 1e6 * metg_s[way].most);
    fprintf(options->csv, ",%.3f\n", metg_s[BY_MOOT].median / metg_s[BY_HAND].median);
    (void)fflush(options->csv);
}

static void search_both(const struct bench *bench, const struct options *options,
                        struct graph *graph, struct search search[WAYS])
{
    double begun_s = bench_now_s();
    long most = SEARCH_ROUNDS_TO_SETTLE + options->rounds;
    for (long round = 0; round < most; round++) {
        if (round > 0 && bench_took_s(begun_s) > options->seconds)
            break;
        for (int way = 0; way < WAYS; way++)
            search_round(&search[way], bench, graph);
    }
}

/* NAN where a search has found no grain.  A third to two thirds of the peak will do:
 * what a task costs beside its kernel hardly depends on the kernel. */
static double ratio_of(const struct search search[WAYS])
{
    for (int way = 0; way < WAYS; way++)
        if (fabs(search_efficiency(&search[way]).median - 0.5) > 0.15)
            return NAN;
    return search_metg_s(&search[BY_MOOT]).median /
           search_metg_s(&search[BY_HAND]).median;
}

/* Returns moot's METG, in seconds; NAN where no grain was found. */
static double measure(const struct bench *bench, const struct options *options,
                      enum pattern pattern)
{
    struct graph graph = graph_new(bench, pattern, options->steps, options->width);
    struct search search[WAYS] = {{.way = BY_HAND}, {.way = BY_MOOT}};
    struct figure metg_s[WAYS];
    search_both(bench, options, &graph, search);
    for (int way = 0; way < WAYS; way++)
        metg_s[way] = search_metg_s(&search[way]);
    char name[96];
    (void)snprintf(name, sizeof(name), "metg-%s-%dranks-width%ld",
                   pattern_name(pattern), bench->ranks, options->width);
    double ratio = ratio_of(search);
    bench_row(bench, name, ratio, options->target,
              "moot %.2f us (%.2f-%.2f) at %.2f, by hand %.2f us (%.2f-%.2f) at %.2f",
              1e6 * metg_s[BY_MOOT].median, 1e6 * metg_s[BY_MOOT].least,
              1e6 * metg_s[BY_MOOT].most, search_efficiency(&search[BY_MOOT]).median,
              1e6 * metg_s[BY_HAND].median, 1e6 * metg_s[BY_HAND].least,
              1e6 * metg_s[BY_HAND].most, search_efficiency(&search[BY_HAND]).median);
    write_csv(bench, options, pattern, metg_s);
    graph_release(&graph);
    return isnan(ratio) ? NAN : metg_s[BY_MOOT].median;
}

/* --- Starting --------------------------------------------------------------------- */

static bool is_wanted(const struct options *options, enum pattern pattern)
{
    return strcmp(options->pattern, "all") == 0 ||
           (strcmp(options->pattern, "others") == 0 && pattern != PATTERN_stencil_1d) ||
           strcmp(options->pattern, pattern_name(pattern)) == 0;
}

static void measure_wanted(const struct bench *bench, const struct options *options)
{
    double most_s = NAN;
    int found = 0, wanted = 0;
    for (int pattern = 0; pattern < PATTERN_END; pattern++)
        if (is_wanted(options, (enum pattern)pattern)) {
            double metg_s = measure(bench, options, (enum pattern)pattern);
            most_s = fmax(most_s, metg_s); /* of a number and NAN, the number */
            found += !isnan(metg_s);
            wanted++;
        }
    if (wanted == 0)
        bench_die("metg: no such pattern: %s", options->pattern);
    char name[96];
    (void)snprintf(name, sizeof(name), "metg-most-us-%dranks-width%ld", bench->ranks,
                   options->width);
    if (options->most_us > 0)
        bench_row(bench, name, 1e6 * most_s, options->most_us,
                  "of %d patterns; %d without a grain are left out", wanted,
                  wanted - found);
}

static FILE *open_csv(const struct bench *bench, const char *path)
{
    if (bench->rank != 0 || path == NULL)
        return NULL;
    FILE *file = fopen(path, "ae");
    if (file == NULL)
        bench_die("metg: cannot write to %s", path);
    (void)fseek(file, 0, SEEK_END);
    if (ftell(file) == 0)
        fprintf(file, "pattern,ranks,cores,width,steps,hand_us,hand_min,hand_max,"
                      "moot_us,moot_min,moot_max,ratio\n");
    return file;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "metg");
    struct options options = {
        .pattern = bench_text(argv, "--pattern", "stencil_1d"),
        .width = bench_number(argv, "--width", 8, 1, PATTERN_WIDTH_MAX),
        .steps = bench_number(argv, "--steps", 1000, 2, 1000000),
        .rounds = bench_number(argv, "--rounds", 9, 1,
                               SEARCH_ROUNDS_MAX - SEARCH_ROUNDS_TO_SETTLE),
        .seconds = bench_real(argv, "--seconds", 60, 0, BENCH_SECONDS_MAX),
        .target = bench_real(argv, "--target", 0, 0, BENCH_TARGET_MAX),
        .most_us = bench_real(argv, "--most-us", 0, 0, BENCH_TARGET_MAX),
        .csv = open_csv(&bench, bench_text(argv, "--csv", NULL)),
    };
    measure_wanted(&bench, &options);
    if (options.csv != NULL)
        (void)fclose(options.csv);
    bench_close(&bench);
    return 0;
}
