/* opening_set.h - the openings that a rank has closed.
 *
 * Ranks close most openings in the order in which they were.  The set has room for 64
 * from the first that is open still; what is closed behind these is not noted, and a
 * rank is then taken to be in it.
 */
#ifndef NODE_CHANNEL_OPENING_SET_H
#define NODE_CHANNEL_OPENING_SET_H

#include <stdbool.h>
#include <stdint.h>

struct opening_set {
    uint32_t below;  /* all openings before this number, */
    uint64_t beyond; /* and, as bits, those from it on */
};

static inline bool opening_set_has(const struct opening_set *set, uint32_t opening)
{
    return opening < set->below || (opening - set->below < 64 &&
                                    (set->beyond >> (opening - set->below) & 1) != 0);
}

static inline void opening_set_add(struct opening_set *set, uint32_t opening)
{
    if (opening >= set->below && opening - set->below < 64) {
        set->beyond |= UINT64_C(1) << (opening - set->below);
    }
    while ((set->beyond & 1) != 0) {
        set->beyond >>= 1;
        set->below++;
    }
}

#endif
