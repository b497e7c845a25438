/* beside.c - see beside.h. */
#include "tests/bench/beside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BY_OTHER, BY_OURS, WAYS = BY_OURS + BESIDE_OURS_MAX };

struct options {
    const struct beside *what;
    int ways; /* the other, and ours */
    const char *pattern;
    long width, steps, rounds;
    double seconds, target, single_target, most_us;
    FILE *csv;
};

static double target_of(const struct options *options, int way)
{
    return way == BY_OURS ? options->target : options->single_target;
}

/* --- Reporting -------------------------------------------------------------------- */

static void write_csv(const struct bench *bench, const struct options *options,
                      enum pattern pattern, const struct figure *metg_s)
{
    if (options->csv == NULL) {
        return;
    }
    fprintf(options->csv, "%s,%d,%d,%ld,%ld", pattern_name(pattern), bench->ranks,
            bench->cores, options->width, options->steps);
    for (int way = BY_OTHER; way <= BY_OURS; way++) {
        fprintf(options->csv, ",%.4f,%.4f,%.4f", 1e6 * metg_s[way].median,
                1e6 * metg_s[way].least, 1e6 * metg_s[way].most);
    }
    fprintf(options->csv, ",%.3f\n", metg_s[BY_OURS].median / metg_s[BY_OTHER].median);
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
        for (int way = 0; way < options->ways; way++) {
            search_round(&search[way], bench, graph);
        }
    }
}

/* A third to two thirds of the peak will do: what a task costs beside its kernel hardly
 * depends on the kernel. */
static bool has_grain(const struct search *search)
{
    return fabs(search_efficiency(search).median - 0.5) <= 0.15;
}

/* The lower quartile of the rounds, each by itself. */
static double quartile_of(const struct search *ours, const struct search *other)
{
    double ratios[SEARCH_ROUNDS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < ours->count; i++) {
        if (i >= SEARCH_ROUNDS_TO_SETTLE || i + 1 == ours->count) {
            ratios[count++] = ours->metg_s[i] / other->metg_s[i];
        }
    }
    return figure_of(ratios, count).quartile;
}

/* Returns the METG of ours, in seconds; NAN, as the row says, where one of the two has
 * found no grain. */
static double tell_row(const struct bench *bench, const struct options *options,
                       enum pattern pattern, const struct search *search, int way)
{
    const struct search *ours = &search[way], *other = &search[BY_OTHER];
    const struct figure metg_s = search_metg_s(ours), other_s = search_metg_s(other);
    const bool found = has_grain(ours) && has_grain(other);
    char name[96];
    (void)snprintf(name, sizeof(name), "%s-%s-%dranks-width%ld",
                   options->what->prefixes[way - BY_OURS], pattern_name(pattern),
                   bench->ranks, options->width);
    bench_row(bench, name, found ? metg_s.median / other_s.median : NAN,
              target_of(options, way),
              "quartile %.3g, %s %.2f us (%.2f-%.2f) at %.2f, %s %.2f us (%.2f-%.2f) "
              "at %.2f",
              found ? quartile_of(ours, other) : NAN, ours->way->name,
              1e6 * metg_s.median, 1e6 * metg_s.least, 1e6 * metg_s.most,
              search_efficiency(ours).median, other->way->name, 1e6 * other_s.median,
              1e6 * other_s.least, 1e6 * other_s.most, search_efficiency(other).median);
    return found ? metg_s.median : NAN;
}

/* Returns the first way's METG. */
static double measure(const struct bench *bench, const struct options *options,
                      enum pattern pattern)
{
    struct graph graph = graph_new(bench, pattern, options->steps, options->width);
    struct search search[WAYS] = {{.way = options->what->other}};
    double first_s = NAN;
    for (int way = BY_OURS; way < options->ways; way++) {
        search[way].way = options->what->ours[way - BY_OURS];
    }
    search_both(bench, options, &graph, search);
    for (int way = BY_OURS; way < options->ways; way++) {
        const double metg_s = tell_row(bench, options, pattern, search, way);
        first_s = way == BY_OURS ? metg_s : first_s;
    }
    const struct figure metg_s[] = {search_metg_s(&search[BY_OTHER]),
                                    search_metg_s(&search[BY_OURS])};
    write_csv(bench, options, pattern, metg_s);
    graph_release(&graph);
    return first_s;
}

/* --- Starting --------------------------------------------------------------------- */

static bool is_wanted(const struct options *options, enum pattern pattern)
{
    if (options->what->ours[0] == &way_by_arrays && !by_arrays_can(pattern)) {
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
    (void)snprintf(name, sizeof(name), "%s-most-us-%dranks-width%ld",
                   options->what->prefixes[0], bench->ranks, options->width);
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

void beside(char **argv, const struct beside *what)
{
    struct bench bench;
    bench_open(&bench, what->name);
    struct options options = {
        .what = what,
        .ways = what->ours[1] != NULL ? BY_OURS + 2 : BY_OURS + 1,
        .pattern = bench_text(argv, "--pattern", "stencil_1d"),
        .width = bench_number(argv, "--width", 8, 1, PATTERN_WIDTH_MAX),
        .steps = bench_number(argv, "--steps", 1000, 2, 1000000),
        .rounds = bench_number(argv, "--rounds", 9, 1,
                               SEARCH_ROUNDS_MAX - SEARCH_ROUNDS_TO_SETTLE),
        .seconds = bench_real(argv, "--seconds", 60, 0, BENCH_SECONDS_MAX),
        .target = bench_real(argv, "--target", 0, 0, BENCH_TARGET_MAX),
        .single_target = bench_real(argv, "--single-target", 0, 0, BENCH_TARGET_MAX),
        .most_us = bench_real(argv, "--most-us", 0, 0, BENCH_TARGET_MAX),
        .csv = open_csv(&bench, bench_text(argv, "--csv", NULL)),
    };
    measure_wanted(&bench, &options);
    if (options.csv != NULL) {
        (void)fclose(options.csv);
    }
    bench_close(&bench);
}
