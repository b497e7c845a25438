/* range_set.h - a set of numbers, as the ranges that it has.
 *
 * Sets of elements of a task array are said so (PROTOCOL.md, rule A4): ranges of
 * places, ascending, none of them empty, none touching the next.  One range is kept in
 * the set itself and costs no memory; more are an array of their own.
 *
 * Every function takes the zero-initialised set, which is empty.  Functions that return
 * false have no memory, and leave the set as it was.
 */
#ifndef CONSENSUS_SHAPE_RANGE_SET_H
#define CONSENSUS_SHAPE_RANGE_SET_H

#include "hashing/base/range.h"

#include <stdbool.h>
#include <stddef.h>

struct range_set {
    struct range *many; /* owned; NULL: up to one range, which is `one` */
    struct range one;
    uint32_t count, room;
};

static inline const struct range *range_set_items(const struct range_set *set)
{
    return set->many != NULL ? set->many : &set->one;
}

void range_set_release(struct range_set *set);
bool range_set_copy(struct range_set *to, const struct range_set *from);
bool range_set_equal(const struct range_set *a, const struct range_set *b);

/* Empty ranges (end <= first) are allowed, and change nothing. */
bool range_set_add(struct range_set *set, struct range range);
bool range_set_remove(struct range_set *set, struct range range);
bool range_set_merge(struct range_set *to, const struct range_set *from);
bool range_set_subtract(struct range_set *from, const struct range_set *what);
bool range_set_intersect(struct range_set *set, const struct range_set *with);

bool range_set_has(const struct range_set *set, uint64_t number);
/* The whole of the range is in it. */
bool range_set_covers(const struct range_set *set, struct range range);
/* Any of the range is in it. */
bool range_set_meets(const struct range_set *set, struct range range);
/* How many numbers there are, and how many of them are less than one. */
uint64_t range_set_size(const struct range_set *set);
uint64_t range_set_below(const struct range_set *set, uint64_t number);
/* The number that has so many in the set below it; UINT64_MAX if there is none. */
uint64_t range_set_at(const struct range_set *set, uint64_t below);

/* Whether ranges that came from elsewhere are a set of numbers below `limit`. */
bool range_set_valid(const struct range *items, uint32_t count, uint64_t limit);

#endif
