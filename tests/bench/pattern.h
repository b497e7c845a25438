/* pattern.h - the task graphs of Task Bench (Slaughter et al., SC'20).
 *
 * A graph is `steps` rows of at most `width` points.  A task stands at a step and a
 * point, and takes the results of some points of the row before.  Definitions are those
 * of Task Bench's core, its defaults included (radix 3, random connections 0.25), so
 * that figures compare.
 */
#ifndef TESTS_BENCH_PATTERN_H
#define TESTS_BENCH_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

/* X(name) */
#define PATTERNS(X)                                                                    \
    X(trivial)                                                                         \
    X(no_comm)                                                                         \
    X(stencil_1d)                                                                      \
    X(stencil_1d_periodic)                                                             \
    X(dom)                                                                             \
    X(tree)                                                                            \
    X(fft)                                                                             \
    X(all_to_all)                                                                      \
    X(nearest)                                                                         \
    X(spread)                                                                          \
    X(random_nearest)

enum pattern {
#define X(name) PATTERN_##name,
    PATTERNS(X)
#undef X
        PATTERN_END
};

enum { PATTERN_WIDTH_MAX = 256, PATTERN_RADIX = 3 };

const char *pattern_name(enum pattern pattern);

/* The points of a row are first .. first + count - 1. */
struct row {
    long first, count;
};
struct row pattern_row(enum pattern pattern, long steps, long width, long step);

/* A step connects its points to those of the row before by one of a few sets of
 * connections, taken in turn: how many there are, and which a step uses. */
long pattern_sets(enum pattern pattern, long width);
long pattern_set(enum pattern pattern, long sets, long step);

/* Whether by that set `point` takes the result of `input`, if the row before has it. */
bool pattern_connects(enum pattern pattern, long width, long set, long point,
                      long input);

#endif
