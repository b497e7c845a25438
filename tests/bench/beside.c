/* beside.c - see beside.h. */
#include "tests/bench/beside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BY_OTHER, BY_MOOT, WAYS };

struct options {
    const struct way *ours, *other;
    const char *prefix;
    const char *pattern;
    long width, steps, rounds;
    double seconds, target, most_us;
    FILE *csv;
};

/* --- Reporting -------------------------------------------------------------------- */

static void write_csv(const struct bench *bench, const struct options *options,
                      enum pattern pattern, const struct figure *metg_s)
{
    if (options->csv == NULL) {
        return;
    }
    fprintf(options->csv, "%s,%d,%d,%ld,%ld", pattern_name(pattern), bench->ranks,
            bench->cores, options->width, options->steps);
    for (int way = 0; way < WAYS; way++) {
        fprintf(options->csv, ",%.4f,%.4f,%.4f", 1e6 * metg_s[way].median,
                1e6 * metg_s[way].least, 1e6 * metg_s[way].most);
    }
    fprintf(options->csv, ",%.3f\n", metg_s[BY_MOOT].median / metg_s[BY_OTHER].median);
    (void)fflush(options->csv);
}

static void search_both(const struct bench *bench, const struct options *options,
                        struct graph *graph, struct search search[WAYS])
{
    double begun_s = bench_now_s();
    long most = SEARCH_ROUNDS_TO_SETTLE + options->rounds;
    for (long round = 0; round < most; round++) {
        if (round > 0 && bench_took_s(begun_s) > options->seconds) {
            break;
        }
        for (int way = 0; way < WAYS; way++) {
            search_round(&search[way], bench, graph);
        }
    }
}

/* NAN where a search has found no grain.  A third to two thirds of the peak will do:
 * what a task costs beside its kernel hardly depends on the kernel. */
static double ratio_of(const struct search search[WAYS])
{
    for (int way = 0; way < WAYS; way++) {
        if (fabs(search_efficiency(&search[way]).median - 0.5) > 0.15) {
            return NAN;
        }
    }
    return search_metg_s(&search[BY_MOOT]).median /
           search_metg_s(&search[BY_OTHER]).median;
}

/* Returns moot's METG, in seconds; NAN where no grain was found. */
static double measure(const struct bench *bench, const struct options *options,
                      enum pattern pattern)
{
    struct graph graph = graph_new(bench, pattern, options->steps, options->width);
    struct search search[WAYS] = {{.way = options->other}, {.way = options->ours}};
    struct figure metg_s[WAYS];
    search_both(bench, options, &graph, search);
    for (int way = 0; way < WAYS; way++) {
        metg_s[way] = search_metg_s(&search[way]);
    }
    char name[96];
    (void)snprintf(name, sizeof(name), "%s-%s-%dranks-width%ld", options->prefix,
                   pattern_name(pattern), bench->ranks, options->width);
    double ratio = ratio_of(search);
    bench_row(bench, name, ratio, options->target,
              "%s %.2f us (%.2f-%.2f) at %.2f, %s %.2f us (%.2f-%.2f) at %.2f",
              options->ours->name, 1e6 * metg_s[BY_MOOT].median,
              1e6 * metg_s[BY_MOOT].least, 1e6 * metg_s[BY_MOOT].most,
              search_efficiency(&search[BY_MOOT]).median, options->other->name,
              1e6 * metg_s[BY_OTHER].median, 1e6 * metg_s[BY_OTHER].least,
              1e6 * metg_s[BY_OTHER].most, search_efficiency(&search[BY_OTHER]).median);
    write_csv(bench, options, pattern, metg_s);
    graph_release(&graph);
    return isnan(ratio) ? NAN : metg_s[BY_MOOT].median;
}

/* --- Starting --------------------------------------------------------------------- */

static bool is_wanted(const struct options *options, enum pattern pattern)
{
    if (options->ours == &way_by_arrays && !by_arrays_can(pattern)) {
        return false;
    }
    return strcmp(options->pattern, "all") == 0 ||
           (strcmp(options->pattern, "others") == 0 && pattern != PATTERN_stencil_1d) ||
           strcmp(options->pattern, pattern_name(pattern)) == 0;
}

static void measure_wanted(const struct bench *bench, const struct options *options)
{
    double most_s = NAN;
    int found = 0, wanted = 0;
    for (int pattern = 0; pattern < PATTERN_END; pattern++) {
        if (is_wanted(options, (enum pattern)pattern)) {
            double metg_s = measure(bench, options, (enum pattern)pattern);
            most_s = fmax(most_s, metg_s); /* of a number and NAN, the number */
            found += !isnan(metg_s);
            wanted++;
        }
    }
    if (wanted == 0) {
        bench_die("%s: no such pattern: %s", bench->name, options->pattern);
    }
    char name[96];
    (void)snprintf(name, sizeof(name), "%s-most-us-%dranks-width%ld", options->prefix,
                   bench->ranks, options->width);
    if (options->most_us > 0) {
        bench_row(bench, name, 1e6 * most_s, options->most_us,
                  "of %d patterns; %d without a grain are left out", wanted,
                  wanted - found);
    }
}

static FILE *open_csv(const struct bench *bench, const char *path)
{
    if (bench->rank != 0 || path == NULL) {
        return NULL;
    }
    FILE *file = fopen(path, "ae");
    if (file == NULL) {
        bench_die("%s: cannot write to %s", bench->name, path);
    }
    (void)fseek(file, 0, SEEK_END);
    if (ftell(file) == 0) {
        fprintf(file, "pattern,ranks,cores,width,steps,other_us,other_min,other_max,"
                      "moot_us,moot_min,moot_max,ratio\n");
    }
    return file;
}

void beside(char **argv, const char *name, const char *prefix, const struct way *ours,
            const struct way *other)
{
    struct bench bench;
    bench_open(&bench, name);
    struct options options = {
        .ours = ours,
        .other = other,
        .prefix = prefix,
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
    if (options.csv != NULL) {
        (void)fclose(options.csv);
    }
    bench_close(&bench);
}
