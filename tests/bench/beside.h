/* beside.h - METG(50%) by moot, or its arrays, and by another way, side by side:
 * programs are this.
 *
 *   [--pattern NAME|all|others] [--width W] [--steps S] [--rounds R] [--seconds N]
 *   [--target RATIO] [--single-target RATIO] [--most-us LIMIT] [--csv FILE]
 *
 * search.h says what METG is and how it is found.  All ways take turns, round by round,
 * so that what disturbs the machine disturbs all; R rounds of each count, or as many as
 * begin within N seconds.  `others` are all patterns but stencil_1d.
 *
 * A row per pattern and way of ours: the ratio of the medians, ours to the other's.
 * Behind it stands the lower quartile of the rounds' ratios, which is what misses a
 * target (run.sh), since what others do makes a round's ratio larger; then both medians
 * with the least and the most, and the efficiencies there.  These are about 0.5, or the
 * search has found no grain, which is so when others use the cores, and the row says
 * nan.  --most-us LIMIT adds a row: the highest of the first way's medians, of the rows
 * that do not.
 */
#ifndef TESTS_BENCH_BESIDE_H
#define TESTS_BENCH_BESIDE_H

#include "tests/bench/search.h"

enum { BESIDE_OURS_MAX = 2 };

/* The program's name; ways of ours, the second one NULL or by single tasks, and how
 * their rows begin. */
struct beside {
    const char *name;
    const struct way *ours[BESIDE_OURS_MAX], *other;
    const char *prefixes[BESIDE_OURS_MAX];
};

/* All of such a program.  Collective. */
void beside(char **argv, const struct beside *what);

#endif
