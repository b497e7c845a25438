/* map_misfit.c - see map_misfit.h. */
#include "node/tasks/map_misfit.h"

#include "hashing/base/byte_order.h"
#include "proto/limits.h"

#include <inttypes.h>

enum { WORD = 8 };

/* Arguments of another size than the map has, whose type is this; "": it has none. */
static bool tell_size(struct text *text, size_t size, size_t wanted, const char *type)
{
    if (size == wanted) {
        return false;
    }
    if (wanted == 0) {
        text_add(text, "it has no arguments, and .map_args_size is %zu: give 0", size);
    } else {
        text_add(text, "its arguments are a %s of %zu bytes, and .map_args_size is %zu",
                 type, wanted, size);
    }
    return true;
}

static void tell_counts(struct text *text, const struct array_counts *counts)
{
    text_add(text, "the array has %" PRIu64 " elements, and the input %" PRIu64,
             counts->takes, counts->from);
}

static void tell_same(struct text *text, size_t size, const struct array_counts *counts)
{
    if (tell_size(text, size, 0, "")) {
        return;
    }
    tell_counts(text, counts);
    text_add(text,
             ", so there is none for element %" PRIu64 ": spawn %" PRIu64
             " at most, or take by another map",
             counts->from, counts->from);
}

static const char *name_edges(uint64_t edges)
{
    return edges == ARRAY_EDGE_CUT    ? "MOOT_EDGE_CUT"
           : edges == ARRAY_EDGE_WRAP ? "MOOT_EDGE_WRAP"
                                      : NULL;
}

/* A shift is told as such: its low and high are one number. */
static void tell_window(struct text *text, int64_t low, int64_t high, uint64_t edges,
                        bool shift, const struct array_counts *counts)
{
    static const int64_t far = INT64_C(1) << 33;
    if (name_edges(edges) == NULL) {
        text_add(text,
                 ".edges is %" PRIu64 ": give MOOT_EDGE_CUT (0) or MOOT_EDGE_WRAP (1)",
                 edges);
    } else if (low > high) {
        text_add(text,
                 ".low, %" PRId64 ", is above .high, %" PRId64
                 ": element i takes i + low to i + high",
                 low, high);
    } else if (low < -far || high > far) {
        text_add(text, "%s, %" PRId64 ", is farther than 2^33 from 0",
                 shift        ? ".by"
                 : low < -far ? ".low"
                              : ".high",
                 low < -far ? low : high);
    } else {
        tell_counts(text, counts);
        text_add(text,
                 ", and MOOT_EDGE_WRAP is of arrays of equal counts: give "
                 "MOOT_EDGE_CUT, or spawn %" PRIu64,
                 counts->from);
    }
}

static void tell_transpose(struct text *text, uint64_t rows, uint64_t columns,
                           const struct array_counts *counts)
{
    const bool fits =
        rows != 0 && counts->takes % rows == 0 && counts->takes / rows == columns;
    if (fits) {
        tell_counts(text, counts);
        text_add(text,
                 ": both have .rows * .columns, %" PRIu64 " * %" PRIu64
                 ", so element %" PRIu64 " of the longer one has no partner",
                 rows, columns,
                 counts->takes < counts->from ? counts->takes : counts->from);
    } else {
        text_add(text,
                 ".rows * .columns, %" PRIu64 " * %" PRIu64 ", is not %" PRIu64
                 ", the count of the array",
                 rows, columns, counts->takes);
    }
}

static void tell_blocks(struct text *text, uint64_t size,
                        const struct array_counts *counts)
{
    if (size == 0) {
        text_add(text, ".size is 0: give 1 or more");
        return;
    }
    const uint64_t blocks = (counts->from - 1) / size + 1;
    tell_counts(text, counts);
    text_add(text,
             ", which are %" PRIu64 " blocks of %" PRIu64
             ", so there is none for element %" PRIu64 ": spawn %" PRIu64
             ", or take smaller blocks",
             blocks, size, blocks, blocks);
}

void map_tell_misfit(struct text *text, const struct array_mapping *mapping,
                     const struct array_counts *counts)
{
    const struct array_map *map = mapping->map;
    const unsigned char *words = mapping->args;
    const size_t size = mapping->args_size;
    if (map == &array_map_same) {
        tell_same(text, size, counts);
    } else if (map == &array_map_all) {
        (void)tell_size(text, size, 0, "");
    } else if (map == &array_map_window) {
        if (!tell_size(text, size, ARRAY_WINDOW_BYTES, "moot_map_window")) {
            tell_window(text, (int64_t)get_word(words), (int64_t)get_word(words + WORD),
                        get_word(words + 2 * WORD), false, counts);
        }
    } else if (map == &array_map_shift) {
        if (!tell_size(text, size, ARRAY_SHIFT_BYTES, "moot_map_shift")) {
            const int64_t by = (int64_t)get_word(words);
            tell_window(text, by, by, get_word(words + WORD), true, counts);
        }
    } else if (map == &array_map_transpose) {
        if (!tell_size(text, size, ARRAY_TRANSPOSE_BYTES, "moot_map_transpose")) {
            tell_transpose(text, get_word(words), get_word(words + WORD), counts);
        }
    } else if (!tell_size(text, size, ARRAY_BLOCKS_BYTES, "moot_map_blocks")) {
        tell_blocks(text, get_word(words), counts);
    }
}

void map_tell_excess(struct text *text, const struct array_mapping *mapping,
                     const struct array_spread *takes, const struct array_spread *from)
{
    const struct array_map *map = mapping->map;
    const struct array_counts counts = {takes->count, from->count};
    const char *const advice = map == &array_map_all
                                   ? "reduce the array first (moot_array_reduce)"
                                   : "take fewer";
    uint64_t most = 1;
    if (map->most != NULL) {
        (void)map->most(map->user, mapping->args, mapping->args_size, &counts, &most);
    }
    if (map->targets == NULL && takes->count > ARRAY_EDGES_MAX) {
        text_add(text,
                 "without .targets a map is asked for all elements, of which there "
                 "may be %d, and the array has %" PRIu64 ": give it .targets",
                 ARRAY_EDGES_MAX, takes->count);
    } else if (most > LIMIT_INPUTS) {
        text_add(text,
                 "an element takes %" PRIu64 " of the input's %" PRIu64
                 ", and may take %u: %s",
                 most, counts.from, LIMIT_INPUTS, advice);
    } else {
        text_add(text,
                 "elements take up to %" PRIu64 " each, those of one of %" PRIu32
                 " ranks together more than %d, of %" PRIu64 " elements and an input "
                 "of %" PRIu64 ": %s, or share the arrays among more ranks",
                 most, takes->homes, ARRAY_EDGES_MAX, counts.takes, counts.from,
                 advice);
    }
}
