/* large.c - what arrays of a million elements cost a rank that runs ten of them.
 *
 *   large [--arrays N] [--repeat R] [--only NAME]
 *
 * This process is one rank of a moot; the others are silent (alone.h).  Of each array
 * the rank spawns ten elements of its share, by moot_array_spawn_some(), or, in rows
 * `all`, the array, of which it then runs 62.  The arrays are a chain: each takes
 * nothing, or the one before by `same` or by a `window` of three.  What is timed is the
 * spawn and the release of the array before; a chain's first array, for which the
 * schedule is worked out, is told in the remark.  Elements run behind the clock.
 *
 * The moot has as many ranks as there can be, or two, where the rank's share is half of
 * the array.
 *
 * The memory is what the process grows by for an array that is live: none of these
 * ends, since the others' elements do not.  Before it is looked at so many arrays are
 * spawned that the rank has spoken to nearly all others, each of whom costs something
 * once.
 *
 * Each chain has a process of its own, since nobody answers its moot: it cannot be
 * closed, and its memory goes with the process.
 */
#include "tests/bench/alone.h"

#include "hashing/identity.h"
#include "node/api/moot_array.h"
#include "tests/bench/bench.h"
#include "tests/bench/kit.h"

#include "proto/limits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ELEMENTS = 1000000, FEW = 2, TEN = 10, REPEATS_MAX = 101, NAME_BYTES = 80 };
#define MANY LIMIT_RANKS

enum map { MAP_NONE, MAP_SAME, MAP_WINDOW };

struct large {
    const char *name;
    uint32_t ranks;
    enum moot_spread_kind spread;
    enum map map;
    bool all;
};

static const struct large LARGE[] = {
    {"block-none", MANY, MOOT_SPREAD_BLOCK, MAP_NONE, false},
    {"block-same", MANY, MOOT_SPREAD_BLOCK, MAP_SAME, false},
    {"block-window", MANY, MOOT_SPREAD_BLOCK, MAP_WINDOW, false},
    {"cyclic-none", MANY, MOOT_SPREAD_CYCLIC, MAP_NONE, false},
    {"cyclic-same", MANY, MOOT_SPREAD_CYCLIC, MAP_SAME, false},
    {"cyclic-window", MANY, MOOT_SPREAD_CYCLIC, MAP_WINDOW, false},
    {"block-all-window", MANY, MOOT_SPREAD_BLOCK, MAP_WINDOW, true},
    {"cyclic-all-window", MANY, MOOT_SPREAD_CYCLIC, MAP_WINDOW, true},
    {"block-none", FEW, MOOT_SPREAD_BLOCK, MAP_NONE, false},
    {"block-same", FEW, MOOT_SPREAD_BLOCK, MAP_SAME, false},
    {"cyclic-none", FEW, MOOT_SPREAD_CYCLIC, MAP_NONE, false},
    {"cyclic-same", FEW, MOOT_SPREAD_CYCLIC, MAP_SAME, false}};
enum { LARGE_COUNT = sizeof(LARGE) / sizeof(*LARGE) };

struct chain {
    const struct large *large;
    moot *m;
    moot_kernel_id kernel;
    int64_t number;
    moot_array before;
    moot_range ranges[TEN];
    size_t range_count;
};

struct cost {
    double spawn_s, first_s, bytes;
};

static int run_element(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, sizeof(int64_t)) != NULL ? MOOT_OK
                                                           : MOOT_ERR_NO_MEMORY;
}

static uint32_t rank_of(const struct large *large) { return large->ranks / 2; }

/* Ten of the middle of this rank's share: one range of a block, ten of a cyclic
 * spread. */
static void name_ten(struct chain *chain)
{
    const uint64_t ranks = chain->large->ranks, rank = rank_of(chain->large);
    const uint64_t skipped = ELEMENTS / ranks / 2;
    if (chain->large->spread == MOOT_SPREAD_BLOCK) {
        const uint64_t first = (rank * ELEMENTS + ranks - 1) / ranks + skipped;
        chain->ranges[0] = (moot_range){first, TEN};
        chain->range_count = 1;
        return;
    }
    for (uint64_t i = 0; i < TEN; i++) {
        chain->ranges[i] = (moot_range){rank + (skipped + i) * ranks, 1};
    }
    chain->range_count = TEN;
}

static void spawn_next(struct chain *chain)
{
    const struct large *large = chain->large;
    static const moot_map_window window = {
        .low = -1, .high = 1, .edges = MOOT_EDGE_CUT};
    const moot_array_input input = {
        .array = chain->before,
        .map = large->map == MAP_SAME ? MOOT_MAP_SAME : MOOT_MAP_WINDOW,
        .map_args = large->map == MAP_SAME ? NULL : &window,
        .map_args_size = large->map == MAP_SAME ? 0 : sizeof(window)};
    const moot_array_spec spec = {
        .kernel = chain->kernel,
        .count = ELEMENTS,
        .args = &chain->number,
        .args_size = sizeof(chain->number),
        .spread = {.kind = large->spread},
        .inputs = &input,
        .input_count = large->map == MAP_NONE || chain->number == 0 ? 0 : 1};
    moot_array now;
    bench_check(chain->m,
                large->all ? moot_array_spawn(chain->m, &spec, &now)
                           : moot_array_spawn_some(chain->m, &spec, chain->ranges,
                                                   chain->range_count, &now),
                "moot_array_spawn");
    if (chain->number > 0) {
        bench_check(chain->m, moot_array_release(chain->m, chain->before),
                    "moot_array_release");
    }
    chain->before = now;
    chain->number++;
}

/* All that is ready runs. */
static void run_ready(const struct chain *chain)
{
    if (moot_array_wait(chain->m, chain->before, 0) != MOOT_ERR_TIMEOUT) {
        bench_die("an array has ended whose other ranks are silent");
    }
}

/* Returns how long it took. */
static double take_step(struct chain *chain)
{
    const double begun_s = bench_now_s();
    spawn_next(chain);
    const double took_s = bench_now_s() - begun_s;
    run_ready(chain);
    return took_s;
}

static struct cost measure_chain(const struct large *large, long arrays)
{
    const moot_kernel kernel = {.name = "element", .fn = run_element};
    struct chain chain = {
        .large = large,
        .m = alone_open(alone_wire_new(large->ranks), rank_of(large), "MOOT_WINDOW=0")};
    struct cost cost = {0};
    bench_check(chain.m, moot_kernel_register(chain.m, &kernel, &chain.kernel),
                "element");
    name_ten(&chain);
    spawn_next(&chain);
    cost.first_s = take_step(&chain);
    for (long i = 0; i < 3 * arrays; i++) {
        (void)take_step(&chain);
    }
    const double bytes = kit_resident_bytes();
    for (long i = 0; i < arrays; i++) {
        cost.spawn_s += take_step(&chain) / (double)arrays;
    }
    cost.bytes = (kit_resident_bytes() - bytes) / (double)arrays;
    return cost;
}

/* By a child, which tells it through a pipe. */
static struct cost measure_apart(const struct large *large, long arrays)
{
    int ends[2];
    struct cost cost;
    pid_t child;
    if (pipe(ends) != 0 || (child = fork()) < 0) {
        bench_die("no process for a chain");
    }
    if (child == 0) {
        cost = measure_chain(large, arrays);
        _exit(write(ends[1], &cost, sizeof(cost)) == (ssize_t)sizeof(cost)
                  ? EXIT_SUCCESS
                  : EXIT_FAILURE);
    }
    (void)close(ends[1]);
    const ssize_t got = read(ends[0], &cost, sizeof(cost));
    (void)close(ends[0]);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0 ||
        got != (ssize_t)sizeof(cost)) {
        bench_die("a chain's process has failed");
    }
    return cost;
}

static void measure(const struct bench *bench, const struct large *large, long arrays,
                    long repeats)
{
    double spawn_s[REPEATS_MAX], bytes[REPEATS_MAX], first_s[REPEATS_MAX];
    char name[NAME_BYTES];
    for (long i = 0; i < repeats; i++) {
        const struct cost cost = measure_apart(large, arrays);
        spawn_s[i] = cost.spawn_s;
        first_s[i] = cost.first_s;
        bytes[i] = cost.bytes;
    }
    const struct figure spawn = figure_of(spawn_s, (size_t)repeats);
    const struct figure first = figure_of(first_s, (size_t)repeats);
    const struct figure grown = figure_of(bytes, (size_t)repeats);
    (void)snprintf(name, sizeof(name), "large-%s-%uranks-us", large->name,
                   (unsigned)large->ranks);
    bench_row(bench, name, 1e6 * spawn.median, 20,
              "%.2f-%.2f; the first of a chain %.0f", 1e6 * spawn.least,
              1e6 * spawn.most, 1e6 * first.median);
    (void)snprintf(name, sizeof(name), "large-%s-%uranks-bytes", large->name,
                   (unsigned)large->ranks);
    bench_row(bench, name, grown.median, 4096, "%.0f-%.0f; of %ld live arrays",
              grown.least, grown.most, arrays);
}

int main(int argc, char **argv)
{
    (void)argc;
    const struct bench bench = {.name = "large", .ranks = 1, .cores = 1};
    const long arrays = bench_number(argv, "--arrays", 10000, 10, 1000000);
    const long repeats = bench_number(argv, "--repeat", 3, 1, REPEATS_MAX);
    const char *only = bench_text(argv, "--only", NULL);
    for (int i = 0; i < LARGE_COUNT; i++) {
        if (only == NULL || strcmp(only, LARGE[i].name) == 0) {
            measure(&bench, &LARGE[i], arrays, repeats);
        }
    }
    return EXIT_SUCCESS;
}
