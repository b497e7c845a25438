/* beside.h - METG(50%) by moot, or its arrays, and by another way, side by side:
 * programs are this.
 *
 *   [--pattern NAME|all|others] [--width W] [--steps S] [--rounds R] [--seconds N]
 *   [--target RATIO] [--most-us LIMIT] [--csv FILE]
 *
 * search.h says what METG is and how it is found.  Both ways take turns, round by
 * round, so that what disturbs the machine disturbs both; R rounds of each count, or as
 * many as begin within N seconds.  `others` are all patterns but stencil_1d.
 *
 * A row per pattern: the ratio of the medians, moot's to the other's, and behind it
 * both medians with the least and the most, and the efficiencies there.  These are
 * about 0.5, or the search has found no grain, which is so when others use the cores,
 * and the row says nan.  --most-us LIMIT adds a row: the highest of moot's medians, of
 * the rows that do not.
 */
#ifndef TESTS_BENCH_BESIDE_H
#define TESTS_BENCH_BESIDE_H

#include "tests/bench/search.h"

/* All of such a program.  Rows begin with `prefix`.  Collective. */
void beside(char **argv, const char *name, const char *prefix, const struct way *ours,
            const struct way *other);

#endif
