/* array_map.c - the maps that are built in, and the checks of all (array_map.h). */
#include "consensus/shape/array_map.h"

#include "hashing/base/byte_order.h"
#include "proto/limits.h"
#include "proto/moot_error.h"

#include <stdlib.h>
#include <string.h>

enum { TARGET_RANGES_MAX = 1 << 20 };

/* --- Same, all ---------------------------------------------------------------------
 */

static int take_same(const void *user, const void *args, size_t args_size,
                     uint64_t element, const struct array_counts *counts,
                     struct range *out, size_t room)
{
    (void)user, (void)args, (void)counts, (void)room;
    out[0] = (struct range){element, element + 1};
    return args_size == 0 ? 1 : MOOT_ERR_INVALID;
}

static int most_of_same(const void *user, const void *args, size_t args_size,
                        const struct array_counts *counts, uint64_t *most)
{
    (void)user, (void)args;
    *most = 1;
    return args_size == 0 && counts->takes <= counts->from ? MOOT_OK : MOOT_ERR_INVALID;
}

const struct array_map array_map_same = {"moot.same", 1,    take_same,
                                         take_same,   NULL, most_of_same};

static int take_all(const void *user, const void *args, size_t args_size,
                    uint64_t element, const struct array_counts *counts,
                    struct range *out, size_t room)
{
    (void)user, (void)args, (void)element, (void)room;
    out[0] = (struct range){0, counts->from};
    return args_size == 0 ? 1 : MOOT_ERR_INVALID;
}

static int feed_all(const void *user, const void *args, size_t args_size,
                    uint64_t element, const struct array_counts *counts,
                    struct range *out, size_t room)
{
    (void)user, (void)args, (void)element, (void)room;
    out[0] = (struct range){0, counts->takes};
    return args_size == 0 ? 1 : MOOT_ERR_INVALID;
}

static int most_of_all(const void *user, const void *args, size_t args_size,
                       const struct array_counts *counts, uint64_t *most)
{
    (void)user, (void)args;
    *most = counts->from;
    return args_size == 0 ? MOOT_OK : MOOT_ERR_INVALID;
}

const struct array_map array_map_all = {"moot.all", 1,    take_all,
                                        feed_all,   NULL, most_of_all};

/* --- Window, shift ------------------------------------------------------------------
 */

struct window {
    int64_t low, high;
    uint64_t edges;
};

static inline int64_t signed_word(const unsigned char *at)
{
    uint64_t word = get_word(at);
    int64_t value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

/* Offsets are as far as an array is long at most, so that sums do not overflow. */
static bool window_can_be(const struct window *window,
                          const struct array_counts *counts)
{
    static const int64_t far = INT64_C(1) << 33;
    return window->low <= window->high && window->low >= -far && window->high <= far &&
           (window->edges == ARRAY_EDGE_CUT ||
            (window->edges == ARRAY_EDGE_WRAP && counts->takes == counts->from));
}

/* first .. last of 0 .. count-1. */
static int cut_window(int64_t first, int64_t last, uint64_t count, struct range *out)
{
    if (last < 0 || first >= (int64_t)count) {
        return 0;
    }
    uint64_t end = (uint64_t)last + 1;
    *out = (struct range){first < 0 ? 0 : (uint64_t)first, end < count ? end : count};
    return 1;
}

/* Likewise round and round, each once. */
static int wrap_window(int64_t first, int64_t last, uint64_t count, struct range *out)
{
    uint64_t size = (uint64_t)(last - first) + 1;
    int64_t begin = first % (int64_t)count;
    uint64_t at = (uint64_t)(begin < 0 ? begin + (int64_t)count : begin);
    size = size < count ? size : count;
    if (at + size <= count) {
        out[0] = (struct range){at, at + size};
        return 1;
    }
    out[0] = (struct range){at, count};
    out[1] = (struct range){0, at + size - count};
    return 2;
}

static int open_window(const struct window *window, bool inverse, uint64_t element,
                       const struct array_counts *counts, struct range *out)
{
    if (!window_can_be(window, counts)) {
        return MOOT_ERR_INVALID;
    }
    int64_t first = (int64_t)element + (inverse ? -window->high : window->low);
    int64_t last = (int64_t)element + (inverse ? -window->low : window->high);
    uint64_t count = inverse ? counts->takes : counts->from;
    return window->edges == ARRAY_EDGE_WRAP ? wrap_window(first, last, count, out)
                                            : cut_window(first, last, count, out);
}

static bool read_window(const unsigned char *words, size_t size, struct window *window)
{
    if (size != ARRAY_WINDOW_BYTES) {
        return false;
    }
    *window = (struct window){signed_word(words), signed_word(words + 8),
                              get_word(words + 16)};
    return true;
}

/* A shift is a window of one. */
static bool read_shift(const unsigned char *words, size_t size, struct window *window)
{
    if (size != ARRAY_SHIFT_BYTES) {
        return false;
    }
    const int64_t by = signed_word(words);
    *window = (struct window){by, by, get_word(words + 8)};
    return true;
}

/* How the arguments of a map that is a window are read: its `user`. */
struct window_form {
    bool (*read)(const unsigned char *words, size_t size, struct window *window);
};

static int take_window(const void *user, const void *args, size_t args_size,
                       uint64_t element, const struct array_counts *counts,
                       struct range *out, size_t room)
{
    const struct window_form *form = user;
    struct window window;
    (void)room;
    return form->read(args, args_size, &window)
               ? open_window(&window, false, element, counts, out)
               : MOOT_ERR_INVALID;
}

static int feed_window(const void *user, const void *args, size_t args_size,
                       uint64_t element, const struct array_counts *counts,
                       struct range *out, size_t room)
{
    const struct window_form *form = user;
    struct window window;
    (void)room;
    return form->read(args, args_size, &window)
               ? open_window(&window, true, element, counts, out)
               : MOOT_ERR_INVALID;
}

static int most_of_window(const void *user, const void *args, size_t args_size,
                          const struct array_counts *counts, uint64_t *most)
{
    const struct window_form *form = user;
    struct window window;
    if (!form->read(args, args_size, &window) || !window_can_be(&window, counts)) {
        return MOOT_ERR_INVALID;
    }
    const uint64_t size = (uint64_t)(window.high - window.low) + 1;
    *most = size < counts->from ? size : counts->from;
    return MOOT_OK;
}

static const struct window_form window_form = {read_window}, shift_form = {read_shift};

const struct array_map array_map_window = {
    "moot.window", 1, take_window, feed_window, &window_form, most_of_window};
const struct array_map array_map_shift = {"moot.shift", 1,           take_window,
                                          feed_window,  &shift_form, most_of_window};

/* --- Transpose ----------------------------------------------------------------------
 */

/* Rows and columns, if their product is both counts. */
static bool read_table(const void *args, size_t args_size,
                       const struct array_counts *counts, uint64_t *rows,
                       uint64_t *columns)
{
    const unsigned char *words = args;
    if (args_size != ARRAY_TRANSPOSE_BYTES) {
        return false;
    }
    *rows = get_word(words);
    *columns = get_word(words + 8);
    return *rows != 0 && counts->takes % *rows == 0 &&
           counts->takes / *rows == *columns && counts->from == counts->takes;
}

static int take_transpose(const void *user, const void *args, size_t args_size,
                          uint64_t element, const struct array_counts *counts,
                          struct range *out, size_t room)
{
    uint64_t rows, columns;
    (void)user, (void)room;
    if (!read_table(args, args_size, counts, &rows, &columns)) {
        return MOOT_ERR_INVALID;
    }
    uint64_t source = element % columns * rows + element / columns;
    out[0] = (struct range){source, source + 1};
    return 1;
}

static int feed_transpose(const void *user, const void *args, size_t args_size,
                          uint64_t element, const struct array_counts *counts,
                          struct range *out, size_t room)
{
    uint64_t rows, columns;
    (void)user, (void)room;
    if (!read_table(args, args_size, counts, &rows, &columns)) {
        return MOOT_ERR_INVALID;
    }
    uint64_t target = element % rows * columns + element / rows;
    out[0] = (struct range){target, target + 1};
    return 1;
}

static int most_of_transpose(const void *user, const void *args, size_t args_size,
                             const struct array_counts *counts, uint64_t *most)
{
    uint64_t rows, columns;
    (void)user;
    *most = 1;
    return read_table(args, args_size, counts, &rows, &columns) ? MOOT_OK
                                                                : MOOT_ERR_INVALID;
}

const struct array_map array_map_transpose = {
    "moot.transpose", 1, take_transpose, feed_transpose, NULL, most_of_transpose};

/* --- Blocks -------------------------------------------------------------------------
 */

/* The size of a block, if there is one for each element. */
static bool read_blocks(const void *args, size_t args_size,
                        const struct array_counts *counts, uint64_t *size)
{
    if (args_size != ARRAY_BLOCKS_BYTES) {
        return false;
    }
    *size = get_word(args);
    return *size != 0 && counts->takes <= (counts->from - 1) / *size + 1;
}

static int take_blocks(const void *user, const void *args, size_t args_size,
                       uint64_t element, const struct array_counts *counts,
                       struct range *out, size_t room)
{
    uint64_t size;
    (void)user, (void)room;
    if (!read_blocks(args, args_size, counts, &size)) {
        return MOOT_ERR_INVALID;
    }
    const uint64_t first = element * size, left = counts->from - first;
    out[0] = (struct range){first, first + (size < left ? size : left)};
    return 1;
}

static int feed_blocks(const void *user, const void *args, size_t args_size,
                       uint64_t element, const struct array_counts *counts,
                       struct range *out, size_t room)
{
    uint64_t size;
    (void)user, (void)room;
    if (!read_blocks(args, args_size, counts, &size)) {
        return MOOT_ERR_INVALID;
    }
    out[0] = (struct range){element / size, element / size + 1};
    return 1;
}

static int most_of_blocks(const void *user, const void *args, size_t args_size,
                          const struct array_counts *counts, uint64_t *most)
{
    uint64_t size;
    (void)user;
    if (!read_blocks(args, args_size, counts, &size)) {
        return MOOT_ERR_INVALID;
    }
    *most = size < counts->from ? size : counts->from;
    return MOOT_OK;
}

const struct array_map array_map_blocks = {"moot.blocks", 1,    take_blocks,
                                           feed_blocks,   NULL, most_of_blocks};

/* --- Asking -------------------------------------------------------------------------
 */

void array_answer_init(struct array_answer *answer)
{
    answer->ranges = answer->few;
    answer->room = ARRAY_ANSWER_FEW;
    answer->wrong = UINT32_MAX;
}

void array_answer_release(struct array_answer *answer)
{
    if (answer->ranges != answer->few) {
        free(answer->ranges);
    }
    array_answer_init(answer);
}

static bool answer_grow(struct array_answer *answer, uint32_t room)
{
    struct range *more = malloc(room * sizeof(*more));
    if (more == NULL) {
        return false;
    }
    array_answer_release(answer);
    answer->ranges = more;
    answer->room = room;
    return true;
}

/* As many as there are: a map that has more to say is asked again. */
static int ask_map(const struct array_mapping *mapping, array_map_fn fn,
                   uint64_t element, const struct array_counts *counts, uint64_t most,
                   struct array_answer *out)
{
    const struct array_map *map = mapping->map;
    int count = fn(map->user, mapping->args, mapping->args_size, element, counts,
                   out->ranges, out->room);
    if (count >= 0 && (uint64_t)count > most) {
        return MOOT_ERR_LIMIT;
    }
    if (count <= 0 || (uint32_t)count <= out->room) {
        return count;
    }
    if (!answer_grow(out, (uint32_t)count)) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int again = fn(map->user, mapping->args, mapping->args_size, element, counts,
                         out->ranges, out->room);
    return again == count ? count : MOOT_ERR_INVALID; /* it is no function */
}

int array_sources(const struct array_mapping *mapping, uint64_t element,
                  const struct array_counts *counts, struct array_answer *out)
{
    const int count =
        ask_map(mapping, mapping->map->sources, element, counts, LIMIT_INPUTS, out);
    uint64_t taken = 0;
    out->wrong = UINT32_MAX;
    for (int i = 0; i < count; i++) {
        const struct range *range = &out->ranges[i];
        if (range->first >= range->end || range->end > counts->from) {
            out->wrong = (uint32_t)i;
            return MOOT_ERR_INVALID;
        }
        taken += range->end - range->first;
    }
    return taken <= LIMIT_INPUTS ? count : MOOT_ERR_LIMIT;
}

int array_targets(const struct array_mapping *mapping, uint64_t element,
                  const struct array_counts *counts, struct array_answer *out)
{
    const int count = ask_map(mapping, mapping->map->targets, element, counts,
                              TARGET_RANGES_MAX, out);
    int kept = 0;
    if (count < 0 && count != MOOT_ERR_NO_MEMORY && mapping->map->most == NULL) {
        return 0; /* a program's inverse that is wrong costs time alone */
    }
    for (int i = 0; i < count; i++) {
        struct range range = out->ranges[i];
        range.end = range.end < counts->takes ? range.end : counts->takes;
        if (range.first < range.end) {
            out->ranges[kept++] = range;
        }
    }
    return count < 0 ? count : kept;
}

bool array_map_is_sure(const struct array_map *map) { return map->most != NULL; }
