/* steady.h - a long program that remembers little, on virtual ranks.
 *
 * Thousands of tasks with a small MOOT_WINDOW: each takes results of tasks shortly
 * before it, some rank may not spawn it, and all ranks fetch and release it a little
 * later.  So nearly all of it is forgotten again, and the memory of a rank does not
 * grow once the program has gone half of its way.
 */
#ifndef TESTS_VIRTUAL_STEADY_H
#define TESTS_VIRTUAL_STEADY_H

#include "node/api/moot.h"

#include <stdbool.h>
#include <stdint.h>

struct steady {
    uint64_t seed;
    uint32_t ranks;
    bool hoards; /* a canary: rank 0 releases nothing */
};

/* A rank's program between open and close.  Returns how many things were wrong, which
 * has been said. */
uint32_t steady_play(const struct steady *steady, moot *m);

#endif
