/* array_maps.c - elements of a medley's arrays (arrays.c) as they are to be.
 *
 * An element's result is made of the array, the index, and the bytes of all that it
 * takes, in order.  Which elements it takes is worked out here, one by one, from the
 * words of moot_array.h about each map.  An element fails if it is drawn to, or if one
 * that it takes does.
 *
 * A rank reckons the arrays that it spawns: ranks that spawn another count, or take
 * from an array of another count, have other arrays, of which no other rank's concern
 * this one.
 */
#include "tests/medley/player.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 5, LARGE_WORDS = 1100, WHOLE_MAX = 300, EDGES_MAX = 20000 };

/* --- Bytes ------------------------------------------------------------------------ */

static uint64_t word_of(const struct medley *medley, uint32_t array, uint64_t index,
                        uint64_t use)
{
    return medley_mix(medley_mix(medley->base.seed + array) ^
                      medley_mix(index << 8 | use));
}

size_t player_element_words(const struct medley *medley, uint32_t array, uint64_t index)
{
    const uint64_t word = word_of(medley, array, index, 255);
    const bool large = medley->arrays[array].large && word >> 32 & 1;
    return (large ? LARGE_WORDS : 0) + word % (WORDS_MAX + 1);
}

uint64_t player_element_seed(const struct medley *medley, uint32_t array,
                             uint64_t index)
{
    return word_of(medley, array, index, 250);
}

uint64_t player_element_mix(uint64_t value, uint64_t digest)
{
    return medley_mix(value + 1) ^ digest;
}

uint64_t player_element_word(uint64_t value, uint64_t at)
{
    return medley_mix(value ^ medley_mix(at));
}

uint64_t player_element_digest(const uint64_t *words, size_t count)
{
    uint64_t digest = medley_mix(count);
    for (size_t i = 0; i < count; i++) {
        digest = medley_mix(digest + words[i]);
    }
    return digest | 1;
}

/* --- Maps ------------------------------------------------------------------------- */

uint64_t player_array_count(const struct medley_player *player, uint32_t array)
{
    const struct medley_array *of = &player->medley->arrays[array];
    const uint64_t count = of->input_count > 0 && of->alike
                               ? player_array_count(player, of->inputs[0].array)
                               : of->count;
    return count + (player_is_of(player, of->contrary) ? MEDLEY_CONTRARY_MORE : 0);
}

struct counts {
    uint64_t takes, from;
};

static struct counts counts_of(const struct medley_player *player, uint32_t array,
                               uint32_t input)
{
    const struct medley_array *of = &player->medley->arrays[array];
    return (struct counts){player_array_count(player, array),
                           player_array_count(player, of->inputs[input].array)};
}

static enum medley_map map_of(const struct medley_array_input *input,
                              struct counts counts)
{
    const bool equal = counts.takes == counts.from;
    bool can_be = true;
    if (input->map == MEDLEY_SAME && 2 * counts.takes <= counts.from &&
        counts.from / counts.takes <= WHOLE_MAX) {
        return MEDLEY_BLOCKS;
    }
    switch (input->map) {
    case MEDLEY_SAME:
        can_be = counts.takes <= counts.from;
        break;
    case MEDLEY_WHOLE:
        can_be = counts.from <= WHOLE_MAX && counts.takes * counts.from <= EDGES_MAX;
        break;
    case MEDLEY_WRAPPED:
    case MEDLEY_SHIFT_WRAPPED:
    case MEDLEY_TRANSPOSED:
        can_be = equal;
        break;
    case MEDLEY_CUT:
    case MEDLEY_SHIFT_CUT:
    case MEDLEY_MAPS:
    case MEDLEY_BLOCKS:
        break;
    }
    return can_be ? input->map : MEDLEY_CUT;
}

static uint64_t rows_of(const struct medley_array_input *input, uint64_t count)
{
    uint64_t rows = input->high > 0 ? (uint64_t)input->high : 1;
    while (count % rows != 0) {
        rows--;
    }
    return rows;
}

moot_array_input player_array_input(const struct medley_player *player, uint32_t array,
                                    uint32_t input, uint64_t words[3])
{
    const struct medley_array_input *of = &player->medley->arrays[array].inputs[input];
    const struct counts counts = counts_of(player, array, input);
    const enum medley_map map = map_of(of, counts);
    moot_array_input is = {.array = player->arrays[of->array], .map_args = words};
    if (of->own > 0) {
        struct medley_own_map args;
        is.map = player_own_map(player, of, &args);
        is.map_args_size = sizeof(args);
        memcpy(words, &args, sizeof(args));
        return is;
    }
    words[0] = (uint64_t)of->low;
    switch (map) {
    case MEDLEY_SAME:
        is.map = MOOT_MAP_SAME;
        break;
    case MEDLEY_WHOLE:
        is.map = MOOT_MAP_ALL;
        break;
    case MEDLEY_CUT:
    case MEDLEY_WRAPPED:
    case MEDLEY_MAPS:
        is.map = MOOT_MAP_WINDOW;
        is.map_args_size = sizeof(moot_map_window);
        words[1] = (uint64_t)of->high;
        words[2] = map == MEDLEY_WRAPPED ? MOOT_EDGE_WRAP : MOOT_EDGE_CUT;
        break;
    case MEDLEY_SHIFT_CUT:
    case MEDLEY_SHIFT_WRAPPED:
        is.map = MOOT_MAP_SHIFT;
        is.map_args_size = sizeof(moot_map_shift);
        words[1] = map == MEDLEY_SHIFT_WRAPPED ? MOOT_EDGE_WRAP : MOOT_EDGE_CUT;
        break;
    case MEDLEY_BLOCKS:
        is.map = MOOT_MAP_BLOCKS;
        is.map_args_size = sizeof(moot_map_blocks);
        words[0] = counts.from / counts.takes;
        break;
    case MEDLEY_TRANSPOSED:
        is.map = MOOT_MAP_TRANSPOSE;
        is.map_args_size = sizeof(moot_map_transpose);
        words[0] = rows_of(of, counts.takes);
        words[1] = counts.takes / words[0];
        break;
    }
    return is;
}

/* Those of index + low .. index + high that there are. */
static uint32_t window(uint64_t index, int64_t low, int64_t high, bool wraps,
                       uint64_t count, uint64_t *out)
{
    uint32_t found = 0;
    for (int64_t by = low; by <= high; by++) {
        const int64_t at = (int64_t)index + by, size = (int64_t)count;
        if (wraps && found < count) {
            out[found++] = (uint64_t)(((at % size) + size) % size);
        } else if (!wraps && at >= 0 && at < size) {
            out[found++] = (uint64_t)at;
        }
    }
    return found;
}

/* The elements that this one takes of that input, in order. */
static uint32_t sources_of(const struct medley_player *player, uint32_t array,
                           uint32_t input, uint64_t index, uint64_t out[WHOLE_MAX])
{
    const struct medley_array_input *of = &player->medley->arrays[array].inputs[input];
    const struct counts counts = counts_of(player, array, input);
    const uint64_t from = counts.from, rows = rows_of(of, counts.takes);
    const uint64_t columns = counts.takes / rows;
    if (of->own > 0) {
        return player_own_sources(of, index, from, out);
    }
    switch (map_of(of, counts)) {
    case MEDLEY_SAME:
        return window(index, 0, 0, false, from, out);
    case MEDLEY_WHOLE:
        return window(0, 0, (int64_t)from - 1, false, from, out);
    case MEDLEY_CUT:
        return window(index, of->low, of->high, false, from, out);
    case MEDLEY_WRAPPED:
        return window(index, of->low, of->high, true, from, out);
    case MEDLEY_SHIFT_CUT:
        return window(index, of->low, of->low, false, from, out);
    case MEDLEY_SHIFT_WRAPPED:
        return window(index, of->low, of->low, true, from, out);
    case MEDLEY_BLOCKS:
        return window(index * (from / counts.takes), 0,
                      (int64_t)(from / counts.takes) - 1, false, from, out);
    case MEDLEY_TRANSPOSED: /* (r, c) of rows x columns takes (c, r) */
        out[0] = index % columns * rows + index / columns;
        return 1;
    case MEDLEY_MAPS:
        break;
    }
    return 0;
}

/* --- Elements --------------------------------------------------------------------- */

uint64_t player_reckon_element(const struct medley_player *player, uint32_t array,
                               uint64_t index)
{
    const struct medley_array *of = &player->medley->arrays[array];
    uint64_t value = player_element_seed(player->medley, array, index);
    uint64_t sources[WHOLE_MAX], words[LARGE_WORDS + WORDS_MAX];
    bool fails = index == of->failing;
    for (uint32_t i = 0; i < of->input_count; i++) {
        const uint32_t count = sources_of(player, array, i, index, sources);
        for (uint32_t at = 0; at < count; at++) {
            const uint64_t digest = player->digests[of->inputs[i].array][sources[at]];
            fails |= digest == 0;
            value = player_element_mix(value, digest);
        }
    }
    if (of->single) {
        const uint64_t digest = player_single_digest(player, array);
        fails |= digest == 0;
        value = player_element_mix(value, digest);
    }
    const size_t count = player_element_words(player->medley, array, index);
    for (size_t at = 0; at < count; at++) {
        words[at] = player_element_word(value, at);
    }
    return fails ? 0 : player_element_digest(words, count);
}

bool player_reckon_array(struct medley_player *player, uint32_t array)
{
    const uint64_t count = player_array_count(player, array);
    uint64_t *digests = malloc(count * sizeof(*digests));
    for (uint64_t index = 0; digests != NULL && index < count; index++) {
        digests[index] = player_reckon_element(player, array, index);
    }
    player->digests[array] = digests;
    return digests != NULL;
}

bool player_array_fails(const struct medley_player *player, uint32_t array)
{
    const uint64_t count = player_array_count(player, array);
    uint64_t index = 0;
    assert(player->digests[array] != NULL);
    while (index < count && player->digests[array][index] != 0) {
        index++;
    }
    return index < count;
}
