/* waits.h - a set of waits in one word.
 *
 * Two keys that are needed by the same waits, and by no others, may fail together
 * (orphans.c), so sets of waits are compared, and nothing else is done with them.  A
 * set is the sum of its members, each scattered over 64 bits: equal sums are equal
 * sets, but for one chance in 2^64.  A wait that goes on as soon as one of its parts
 * has ended has the number 0, and a set with such a member is like no other.
 */
#ifndef CONSENSUS_STATE_WAITS_H
#define CONSENSUS_STATE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#define WAITS_NONE UINT64_C(0)  /* of nobody */
#define WAITS_ALONE UINT64_C(1) /* like no other */

/* The finaliser of MurmurHash3: every bit of the result depends on every bit. */
static inline uint64_t waits_scatter(uint64_t word)
{
    word = (word ^ word >> 33) * UINT64_C(0xff51afd7ed558ccd);
    word = (word ^ word >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return word ^ word >> 33;
}

static inline uint64_t waits_union(uint64_t a, uint64_t b)
{
    return a == WAITS_ALONE || b == WAITS_ALONE ? WAITS_ALONE : a + b;
}

/* With one more wait of this rank's. */
static inline uint64_t waits_with(uint64_t waits, uint64_t wait)
{
    return waits_union(waits, wait == 0 ? WAITS_ALONE : waits_scatter(wait));
}

/* As a part of the set of several ranks' waits; no wait has a number like ~rank. */
static inline uint64_t waits_of_rank(uint64_t waits, uint32_t rank)
{
    return waits <= WAITS_ALONE ? WAITS_ALONE
                                : waits_scatter(waits ^ waits_scatter(~(uint64_t)rank));
}

static inline bool waits_alike(uint64_t a, uint64_t b)
{
    return a == b && a > WAITS_ALONE;
}

#endif
