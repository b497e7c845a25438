/* some_elements.h - some elements of a task array, as people are told of them: how many
 * there are, and the first ranges of their indices.
 *
 * Elsewhere sets are of places, which nobody knows who has not read array_spread.h.
 */
#ifndef HASHING_SOME_ELEMENTS_H
#define HASHING_SOME_ELEMENTS_H

#include "hashing/array_spread.h"
#include "hashing/base/range.h"

enum { SOME_RANGES = 6 };

struct some_elements {
    uint64_t count;
    struct range ranges[SOME_RANGES]; /* of indices, as their places come */
    uint32_t range_count;
};

/* Adds those at the places.  Takes bounded time, however many they are. */
void some_elements_add(struct some_elements *some, const struct array_spread *spread,
                       struct range places);

#endif
