/* array_part.h - the part of an array that a rank spawns, as its program names it.
 *
 * A program names indices; the core is told places (hashing/array_spread.h).  In a
 * block spread both are the same.  A range of indices of a cyclic one is a range of
 * places for each home at most, and of a shuffled one a range for nearly each index: so
 * a part has a limited number of pieces, LIMIT_PART_RANGES.
 */
#ifndef NODE_COMPOSE_ARRAY_PART_H
#define NODE_COMPOSE_ARRAY_PART_H

#include "consensus/shape/range_set.h"
#include "hashing/array_spread.h"
#include "node/api/moot_array.h"

struct lane;

/* The places of these indices: `out` is zeroed, and the caller's to release in any
 * case.  INVALID, LIMIT and NO_MEMORY, with a text. */
int array_part_find(struct lane *lane, const struct array_spread *spread,
                    const moot_range *ranges, size_t count, struct range_set *out);
/* The part has too many pieces: LIMIT, with a text. */
int array_part_refuse(struct lane *lane);

#endif
