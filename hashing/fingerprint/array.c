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

void strided_walk(const struct strided *array,
                  void (*run)(void *context, const void *elements, size_t count),
                  void *context)
{
    uint64_t at[MOOT_NDARRAY_DIMENSIONS_MAX] = {0};
    const unsigned char *element = array->data;
    uint32_t outer;
    for (uint32_t i = 0; i < array->dimensions; i++) {
        if (array->shape[i] == 0) {
            return;
        }
    }
    const size_t count = run_elements(array, &outer);
    for (;;) {
        uint32_t i = outer;
        run(context, element, count);
        while (i > 0 && ++at[i - 1] == array->shape[i - 1]) {
            at[i - 1] = 0;
            element -= (int64_t)(array->shape[i - 1] - 1) * array->strides[i - 1];
            i--;
        }
        if (i == 0) {
            return;
        }
        element += array->strides[i - 1];
    }
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
