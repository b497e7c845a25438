/* array_part.c - see array_part.h. */
#include "node/compose/array_part.h"

#include "node/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>

static int check_ranges(struct lane *lane, const struct array_spread *spread,
                        const moot_range *ranges, size_t count)
{
    if (ranges == NULL || count == 0) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "there are no ranges: name the elements that this rank "
                         "spawns, or do not spawn the array");
    }
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].count == 0) {
            return lane_fail(lane, MOOT_ERR_INVALID,
                             "ranges[%zu] is empty: its .count is 0", i);
        }
        if (ranges[i].first >= spread->count ||
            ranges[i].count > spread->count - ranges[i].first) {
            return lane_fail(lane, MOOT_ERR_INVALID,
                             "ranges[%zu] has %" PRIu64 " elements from %" PRIu64
                             " on: the array has %" PRIu64 ", from 0 on",
                             i, ranges[i].count, ranges[i].first, spread->count);
        }
    }
    return MOOT_OK;
}

int array_part_refuse(struct lane *lane)
{
    return lane_fail(lane, MOOT_ERR_LIMIT,
                     "this rank's part of the array is in more than %u pieces: "
                     "name longer ranges, or spread the array by MOOT_SPREAD_BLOCK",
                     LIMIT_PART_RANGES);
}

/* --- Places ----------------------------------------------------------------------- */

/* The first place of a home's stretch whose index is not less: there they ascend. */
static uint64_t find_place(const struct array_spread *spread, uint32_t home,
                           uint64_t index)
{
    uint64_t first = array_home_first(spread, home);
    uint64_t end = array_home_first(spread, home + 1);
    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;
        if (array_index(spread, middle) < index) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

/* Blocks go round the homes: few of them are of few homes. */
static bool add_cyclic(const struct array_spread *spread, struct range indices,
                       struct range_set *out)
{
    const uint64_t first = indices.first / spread->block;
    const uint64_t blocks = (indices.end - 1) / spread->block - first + 1;
    const uint64_t homes = blocks < spread->homes ? blocks : spread->homes;
    bool fits = true;
    for (uint64_t i = 0; i < homes && fits; i++) {
        const uint32_t home = (uint32_t)((first + i) % spread->homes);
        fits =
            range_set_add(out, (struct range){find_place(spread, home, indices.first),
                                              find_place(spread, home, indices.end)});
    }
    return fits;
}

static int compare_places(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* For few indices: each has a place of its own. */
static bool add_hashed(const struct array_spread *spread,
                       const struct range_set *indices, struct range_set *out)
{
    const uint64_t size = range_set_size(indices);
    uint64_t *places = malloc((size + 1) * sizeof(*places));
    bool fits = places != NULL;
    for (uint64_t i = 0; i < size && fits; i++) {
        places[i] = array_place(spread, range_set_at(indices, i));
    }
    if (fits) {
        qsort(places, size, sizeof(*places), compare_places);
    }
    for (uint64_t i = 0; i < size && fits; i++) {
        fits = range_set_add(out, (struct range){places[i], places[i] + 1});
    }
    free(places);
    return fits;
}

/* The indices, or, if they are fewer, those that they leave out. */
static int find_hashed(struct lane *lane, const struct array_spread *spread,
                       const struct range_set *indices, struct range_set *out)
{
    const struct range all = {0, spread->count};
    const bool most = range_set_size(indices) > spread->count / 2;
    struct range_set few = {0}, places = {0};
    bool fits = most ? range_set_add(&few, all) && range_set_subtract(&few, indices)
                     : range_set_copy(&few, indices);
    const bool many = range_set_size(&few) > LIMIT_PART_RANGES;
    fits = fits && !many && add_hashed(spread, &few, &places);
    if (fits && most) {
        fits = range_set_add(out, all) && range_set_subtract(out, &places);
    } else if (fits) {
        fits = range_set_copy(out, &places);
    }
    range_set_release(&few);
    range_set_release(&places);
    return fits   ? MOOT_OK
           : many ? array_part_refuse(lane)
                  : lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory");
}

static bool add_all(const struct array_spread *spread, const struct range_set *indices,
                    struct range_set *out)
{
    bool fits = true;
    for (uint32_t i = 0; i < indices->count && fits; i++) {
        const struct range range = range_set_items(indices)[i];
        fits = spread->kind == ARRAY_SPREAD_BLOCK ? range_set_add(out, range)
                                                  : add_cyclic(spread, range, out);
    }
    return fits;
}

int array_part_find(struct lane *lane, const struct array_spread *spread,
                    const moot_range *ranges, size_t count, struct range_set *out)
{
    struct range_set indices = {0};
    int error = check_ranges(lane, spread, ranges, count);
    if (error == MOOT_OK && count > LIMIT_PART_RANGES) {
        error = array_part_refuse(lane);
    }
    bool fits = true;
    for (size_t i = 0; i < count && error == MOOT_OK && fits; i++) {
        const struct range range = {ranges[i].first, ranges[i].first + ranges[i].count};
        fits = range_set_add(&indices, range);
    }
    if (error == MOOT_OK && fits && spread->kind == ARRAY_SPREAD_HASHED) {
        error = find_hashed(lane, spread, &indices, out);
    } else if (error == MOOT_OK && fits) {
        fits = add_all(spread, &indices, out);
    }
    range_set_release(&indices);
    if (!fits) {
        error = lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory");
    }
    return error;
}
