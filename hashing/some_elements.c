/* some_elements.c - see some_elements.h. */
#include "hashing/some_elements.h"

/* Neighbours in a cyclic spread over one home are many pieces of one range. */
enum { PIECES_MAX = 4096 };

/* How many of the places from this one on have indices that follow each other. */
static uint64_t count_neighbours(const struct array_spread *spread, struct range places,
                                 uint64_t index)
{
    const uint64_t rest = places.end - places.first;
    if (spread->kind == ARRAY_SPREAD_BLOCK) {
        return rest;
    }
    if (spread->kind == ARRAY_SPREAD_HASHED) {
        return 1;
    }
    const uint64_t in_block = spread->block - index % spread->block;
    return in_block < rest ? in_block : rest;
}

/* False: there is no room. */
static bool add_range(struct some_elements *some, uint64_t first, uint64_t count)
{
    struct range *last =
        some->range_count > 0 ? &some->ranges[some->range_count - 1] : NULL;
    if (last != NULL && last->end == first) {
        last->end += count;
        return true;
    }
    if (some->range_count == SOME_RANGES) {
        return false;
    }
    some->ranges[some->range_count++] = (struct range){first, first + count};
    return true;
}

void some_elements_add(struct some_elements *some, const struct array_spread *spread,
                       struct range places)
{
    bool fits = true;
    if (places.first >= places.end) {
        return;
    }
    some->count += places.end - places.first;
    for (int i = 0; i < PIECES_MAX && fits && places.first < places.end; i++) {
        const uint64_t index = array_index(spread, places.first);
        const uint64_t count = count_neighbours(spread, places, index);
        fits = add_range(some, index, count);
        places.first += count;
    }
}
