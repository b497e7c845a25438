/* array.c - arrays in memory, whatever their strides (fingerprint.h). */
#include "hashing/fingerprint/fingerprint.h"

#include <string.h>

/* The innermost dimensions that lie one behind the other make a run. */
static size_t run_elements(const struct strided *array, uint32_t *outer)
{
    size_t run = 1;
    uint32_t i = array->dimensions;
    while (i > 0 && (array->shape[i - 1] == 1 ||
                     array->strides[i - 1] == (int64_t)(run * array->item))) {
        run *= (size_t)array->shape[i - 1];
        i--;
    }
    *outer = i;
    return run;
}

/* Runs that are shorter are put together first: a copy costs less than a call of `run`.
 */
enum { SHORT_BYTES = 256, PACK_BYTES = 4096 };

struct array_walk {
    const struct strided *array;
    void (*run)(void *context, const void *elements, size_t count);
    void *context;
    size_t run_bytes, filled;
    unsigned char pack[PACK_BYTES];
};

static void pack_empty(struct array_walk *walk)
{
    if (walk->filled > 0) {
        walk->run(walk->context, walk->pack, walk->filled / walk->array->item);
        walk->filled = 0;
    }
}

/* Inlined for each usual size, so that a copy is one move. */
static inline void copy_runs(unsigned char *to, const unsigned char *from, size_t count,
                             int64_t stride, size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(to + i * bytes, from + (int64_t)i * stride, bytes);
    }
}

static void pack_runs(struct array_walk *walk, const unsigned char *from, size_t count,
                      int64_t stride)
{
    unsigned char *to = walk->pack + walk->filled;
    switch (walk->run_bytes) {
    case 1:
        copy_runs(to, from, count, stride, 1);
        break;
    case 2:
        copy_runs(to, from, count, stride, 2);
        break;
    case 4:
        copy_runs(to, from, count, stride, 4);
        break;
    case 8:
        copy_runs(to, from, count, stride, 8);
        break;
    case 16:
        copy_runs(to, from, count, stride, 16);
        break;
    default:
        copy_runs(to, from, count, stride, walk->run_bytes);
        break;
    }
    walk->filled += count * walk->run_bytes;
}

/* A row's runs lie `stride` bytes apart. */
static void walk_row(struct array_walk *walk, const unsigned char *from, uint64_t count,
                     int64_t stride)
{
    if (walk->run_bytes >= SHORT_BYTES) {
        for (uint64_t i = 0; i < count; i++) {
            walk->run(walk->context, from + (int64_t)i * stride,
                      walk->run_bytes / walk->array->item);
        }
        return;
    }
    for (uint64_t done = 0; done < count;) {
        const size_t room = (PACK_BYTES - walk->filled) / walk->run_bytes;
        const size_t part = count - done < room ? (size_t)(count - done) : room;
        if (part == 0) {
            pack_empty(walk);
        } else {
            pack_runs(walk, from + (int64_t)done * stride, part, stride);
        }
        done += part;
    }
}

/* `outer` dimensions are walked, of which the innermost is a row. */
static void walk_rows(struct array_walk *walk, uint32_t outer)
{
    const struct strided *array = walk->array;
    const unsigned char *row = array->data;
    uint64_t at[MOOT_NDARRAY_DIMENSIONS_MAX] = {0};
    for (;;) {
        uint32_t i = outer - 1;
        walk_row(walk, row, array->shape[i], array->strides[i]);
        while (i > 0 && ++at[i - 1] == array->shape[i - 1]) {
            at[i - 1] = 0;
            row -= (int64_t)(array->shape[i - 1] - 1) * array->strides[i - 1];
            i--;
        }
        if (i == 0) {
            return;
        }
        row += array->strides[i - 1];
    }
}

void strided_walk(const struct strided *array,
                  void (*run)(void *context, const void *elements, size_t count),
                  void *context)
{
    struct array_walk walk = {.array = array, .run = run, .context = context};
    uint32_t outer;
    for (uint32_t i = 0; i < array->dimensions; i++) {
        if (array->shape[i] == 0) {
            return;
        }
    }
    const size_t count = run_elements(array, &outer);
    if (outer == 0) {
        run(context, array->data, count);
        return;
    }
    walk.run_bytes = count * array->item;
    walk_rows(&walk, outer);
    pack_empty(&walk);
}

struct feeding {
    struct fingerprint print;
    bool good; /* all texts are UTF-8 */
};

static void feed_run(void *context, const void *elements, size_t count)
{
    struct feeding *feeding = context;
    const enum moot_type type = feeding->print.type;
    const unsigned char *at = elements;
    if (!type_strings(type)) {
        fingerprint_numbers(&feeding->print, elements, count, false);
        return;
    }
    for (size_t i = 0; i < count && feeding->good; i++, at += sizeof(moot_bytes)) {
        moot_bytes string;
        memcpy(&string, at, sizeof(string));
        feeding->good =
            (string.size == 0 || string.data != NULL) &&
            (type == MOOT_TYPE_BYTES || utf8_valid(string.data, string.size));
        if (feeding->good) {
            fingerprint_string(&feeding->print, string.data, string.size);
        }
    }
}

void ndarray_walk(const moot_ndarray *array,
                  void (*run)(void *context, const void *elements, size_t count),
                  void *context)
{
    int64_t strides[MOOT_NDARRAY_DIMENSIONS_MAX];
    const size_t item = type_size(array->type);
    struct strided walk = {item, array->dimensions, array->shape, array->strides,
                           array->data};
    if (array->strides == NULL) {
        size_t gap = item;
        for (uint32_t i = array->dimensions; i-- > 0;) {
            strides[i] = (int64_t)gap;
            gap *= array->shape[i] != 0 ? (size_t)array->shape[i] : 1;
        }
        walk.strides = strides;
    }
    strided_walk(&walk, run, context);
}

bool fingerprint_array(const moot_ndarray *array, moot_hash *out)
{
    const size_t item = type_size(array->type);
    struct feeding feeding = {.good = true};
    size_t elements;
    if (item == 0 || (array->dimensions > 0 && array->shape == NULL) ||
        !shape_elements(array->dimensions, array->shape, item, &elements) ||
        (elements > 0 && array->data == NULL)) {
        return false;
    }
    fingerprint_begin(&feeding.print, array->type, array->dimensions, array->shape);
    ndarray_walk(array, feed_run, &feeding);
    if (!feeding.good) {
        return false;
    }
    *out = fingerprint_end(&feeding.print);
    return true;
}
