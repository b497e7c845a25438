/* micro.c - what the parts cost: time, and under callgrind instructions.
 *
 *   micro [--only NAME] [--count N] [--repeat R]
 *   micro --list
 *
 * One process and one thread that computes.  Each operation is done N times in one loop
 * by micro_loop(), which is what callgrind is told to count (run.sh BUILD micro); the
 * median of R loops, each with a state of its own, is the row.  A loop of nothing is
 * among them: subtract it.
 */
#include "tests/bench/micro.h"

#include "hashing/identity.h"
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MAX = 101 };

void micro_check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "micro: %s\n", what);
        exit(1);
    }
}

void *micro_alloc(long count, long size)
{
    void *memory = calloc((size_t)count, (size_t)size);
    micro_check(memory != NULL, "no memory");
    return memory;
}

/* The finaliser of splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

moot_hash micro_hash(long i)
{
    moot_hash hash;
    const uint64_t words[2] = {mix((uint64_t)i + 1), mix(~(uint64_t)i)};
    memcpy(&hash, words, sizeof(hash));
    hash.bytes[MOOT_HASH_BYTES - 1] &= (uint8_t)~MOOT_HASH_FACTS;
    return hash;
}

/* --- Nothing ---------------------------------------------------------------------- */

static void *begin_nothing(long count)
{
    (void)count;
    return NULL;
}

static void nothing(void *state, long i)
{
    (void)state;
    (void)i;
}

static void end_nothing(void *state) { (void)state; }

static const struct micro micro_nothing[] = {
    {"nothing", begin_nothing, nothing, end_nothing}, {0}};

/* --- All -------------------------------------------------------------------------- */

static const struct micro *const ALL[] = {micro_nothing, micro_codec, micro_core,
                                          micro_arrays, micro_spawn};
enum { ALL_COUNT = sizeof(ALL) / sizeof(*ALL) };

__attribute__((noinline)) static void micro_loop(const struct micro *micro, void *state,
                                                 long count)
{
    for (long i = 0; i < count; i++) {
        micro->one(state, i);
    }
}

static void measure(const struct bench *bench, const struct micro *micro, long count,
                    long repeats)
{
    double took_s[REPEATS_MAX];
    for (long i = 0; i < repeats; i++) {
        void *state = micro->begin(count);
        double begun_s = bench_now_s();
        micro_loop(micro, state, count);
        took_s[i] = (bench_now_s() - begun_s) / (double)count;
        micro->end(state);
    }
    char name[64];
    (void)snprintf(name, sizeof(name), "micro-%s-ns", micro->name);
    struct figure figure = figure_of(took_s, (size_t)repeats);
    bench_row(bench, name, 1e9 * figure.median, 0, "%.0f-%.0f", 1e9 * figure.least,
              1e9 * figure.most);
}

int main(int argc, char **argv)
{
    (void)argc;
    const struct bench bench = {.name = "micro", .ranks = 1, .cores = 1};
    const char *only = bench_text(argv, "--only", NULL);
    long count = bench_number(argv, "--count", 20000, 1, 10000000);
    long repeats = bench_number(argv, "--repeat", 5, 1, REPEATS_MAX);
    bool listing = bench_flag(argv, "--list"), any = false;
    micro_check(hashing_init(), "libsodium fails");
    for (int i = 0; i < ALL_COUNT; i++) {
        for (const struct micro *micro = ALL[i]; micro->name != NULL; micro++) {
            if (only != NULL && strcmp(only, micro->name) != 0) {
                continue;
            }
            any = true;
            if (listing) {
                puts(micro->name);
            } else {
                measure(&bench, micro, count, repeats);
            }
        }
    }
    micro_check(any, "there is no such operation: --list names them");
    return 0;
}
