/* map_check.h - where a map that a program has registered is wrong.
 *
 * Maps that are built in are right by their tests.  One of a program may name elements
 * that there are not, and its inverse may be none.  Both are looked for among what a
 * rank touches: its own elements of the array that takes, and of the one that is taken
 * from.
 */
#ifndef CONSENSUS_SHAPE_MAP_CHECK_H
#define CONSENSUS_SHAPE_MAP_CHECK_H

#include "consensus/shape/array_schedule.h"

/* An element whose sources are none, and why: INVALID or LIMIT. */
struct map_fault {
    uint64_t element;
    int error;
    bool beyond;        /* INVALID: this range is empty, or not of the input */
    struct range range; /* else the map has refused the element */
};

/* Whether the element's sources are such; MOOT_OK, the fault's error, or NO_MEMORY. */
int map_fault_of(const struct array_mapping *mapping, uint64_t element,
                 const struct array_counts *counts, struct map_fault *out);
/* The first of this rank's own elements, by place, or without an inverse of all; false:
 * none, or no memory. */
bool map_fault_find(const struct array_shape *shape, struct map_fault *out);

/* A pair of elements of which one of the two functions says that `element` takes
 * `source`, and the other not; with how both begin. */
enum { INVERSE_FAULT_RANGES = 3 };
struct inverse_fault {
    uint64_t element, source;
    bool left_out; /* by `targets`, of what `sources` names; else the other way round */
    uint32_t source_ranges, target_ranges; /* so many there are */
    struct range sources[INVERSE_FAULT_RANGES], targets[INVERSE_FAULT_RANGES];
};

/* The first such pair among what this rank touches, as far as INVERSE_LOOKS_MAX pairs
 * go each way.  False: none, or there is no inverse, or no memory. */
enum { INVERSE_LOOKS_MAX = 1 << 20 };
bool inverse_fault_find(const struct array_shape *shape, struct inverse_fault *out);

#endif
