/* json_array.c - arrays in JSON (arrays.h).
 *
 * Two forms.  Lists in lists are an array whose shape is theirs, in which
 *
 *     true, false       make bool
 *     integers          make int64; one that does not fit is refused
 *     other numbers     make float64, and so do integers beside them that a float64
 *                       holds exactly; another integer is refused
 *     strings           make text
 *     []                is float64, as it is for NumPy
 *
 * and an object says the type, and the shape if it likes:
 *
 *     {"type": "int32", "shape": [2, 0], "data": [[], []]}
 *
 * There a number must be one of that type: an integer in its range, or for floats any
 * number, rounded to it; "nan", "inf" and "-inf" stand for what JSON has no numbers
 * for; a complex number is a list of two.  Lists that are ragged, null, and kinds that
 * are mixed are refused with the index of the place.
 */
#include "node/arrays/arrays.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { INDEX_TEXT = 256 };

struct json_array {
    enum moot_type type; /* 0: as the elements say */
    uint32_t dimensions;
    uint64_t shape[MOOT_NDARRAY_DIMENSIONS_MAX];
    uint64_t at[MOOT_NDARRAY_DIMENSIONS_MAX]; /* the place under way */
    bool bools, integers, reals, strings;     /* kinds that were met */
    bool none;                                /* no element was */
    const struct array_sink *sink;
    const struct array_story *story;
};

/* "[2][0]", or "the value" of an array without dimensions. */
static const char *place(const struct json_array *array, uint32_t depth, char *text)
{
    size_t used = 0;
    snprintf(text, INDEX_TEXT, "the value");
    for (uint32_t i = 0; i < depth && used < INDEX_TEXT - 24; i++) {
        used += (size_t)snprintf(text + used, INDEX_TEXT - used, "[%llu]",
                                 (unsigned long long)array->at[i]);
    }
    return text;
}

static bool refuse_at(const struct json_array *array, uint32_t depth, const char *why)
{
    char text[INDEX_TEXT];
    return array_refuse(array->story, "%s: %s", place(array, depth, text), why);
}

/* --- Shape and kinds -------------------------------------------------------------- */

/* The lists that the first elements are in. */
static bool measure(struct json_array *array, const json_t *value, bool pairs)
{
    array->dimensions = 0;
    while (json_is_array(value)) {
        if (array->dimensions == MOOT_NDARRAY_DIMENSIONS_MAX) {
            return refuse_at(array, 0, "more than 64 lists in lists");
        }
        array->shape[array->dimensions++] = json_array_size(value);
        value = json_array_get(value, 0);
    }
    array->none = value == NULL && array->dimensions > 0;
    if (pairs && !array->none && array->dimensions > 0) {
        array->dimensions--; /* the parts of a complex number */
    }
    return true;
}

static bool note_kind(struct json_array *array, const json_t *value, uint32_t depth)
{
    array->bools = array->bools || json_is_boolean(value);
    array->integers = array->integers || json_is_integer(value);
    array->reals = array->reals || json_is_real(value);
    array->strings = array->strings || json_is_string(value);
    if (json_is_null(value)) {
        return refuse_at(array, depth, "null is no element");
    }
    if (json_is_object(value)) {
        return refuse_at(array, depth, "an object is no element");
    }
    if (array->bools + (array->integers || array->reals) + array->strings > 1) {
        return refuse_at(array, depth, "another kind than the elements before it");
    }
    return true;
}

/* Goes over all elements; `each` gets them in C order. */
static bool go_over(struct json_array *array, const json_t *value, uint32_t depth,
                    bool (*each)(struct json_array *, const json_t *, uint32_t))
{
    if (depth == array->dimensions) {
        return each(array, value, depth);
    }
    if (!json_is_array(value)) {
        return refuse_at(array, depth, "a list is expected, as its neighbours are");
    }
    if (json_array_size(value) != array->shape[depth]) {
        char text[INDEX_TEXT];
        return array_refuse(array->story, "%s: a list of %zu, where the first has %llu",
                            place(array, depth, text), json_array_size(value),
                            (unsigned long long)array->shape[depth]);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        array->at[depth] = i;
        if (!go_over(array, json_array_get(value, i), depth + 1, each)) {
            return false;
        }
    }
    return true;
}

static bool check_kind(struct json_array *array, const json_t *value, uint32_t depth)
{
    if (json_is_array(value)) {
        return refuse_at(array, depth, "a list, where its neighbours are none");
    }
    return note_kind(array, value, depth);
}

/* --- Elements --------------------------------------------------------------------- */

static bool give(const struct json_array *array, const void *element)
{
    return array->sink->numbers(array->sink->context, element, 1, false);
}

/* `bits` wide, signed or not. */
static bool give_integer(const struct json_array *array, const json_t *value,
                         uint32_t depth, unsigned bits, bool is_signed)
{
    if (!json_is_integer(value)) {
        return refuse_at(array, depth, "an integer is expected");
    }
    const int64_t number = json_integer_value(value);
    const int64_t most = is_signed    ? INT64_MAX >> (64 - bits)
                         : bits == 64 ? INT64_MAX
                                      : (INT64_C(1) << bits) - 1;
    if (number > most || number < (is_signed ? -most - 1 : 0)) {
        return refuse_at(array, depth, "the integer does not fit its type");
    }
    const int8_t byte = (int8_t)number;
    const int16_t half = (int16_t)number;
    const int32_t word = (int32_t)number;
    return give(array, bits == 8    ? (const void *)&byte
                       : bits == 16 ? (const void *)&half
                       : bits == 32 ? (const void *)&word
                                    : (const void *)&number);
}

static bool get_real(const struct json_array *array, const json_t *value,
                     uint32_t depth, double *out)
{
    static const struct {
        const char *name;
        double value;
    } names[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    if (json_is_string(value)) {
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            if (strcmp(json_string_value(value), names[i].name) == 0) {
                *out = names[i].value;
                return true;
            }
        }
    }
    if (json_is_real(value)) {
        *out = json_real_value(value);
        return true;
    }
    if (!json_is_integer(value)) {
        return refuse_at(array, depth,
                         "a number is expected, or \"nan\", \"inf\" or \"-inf\"");
    }
    const int64_t number = json_integer_value(value);
    *out = (double)number;
    if (*out >= 0x1p63 || (int64_t)*out != number) {
        return refuse_at(array, depth, "no float64 holds this integer exactly");
    }
    return true;
}

/* A float16's bits: the nearest, ties to even. */
static uint16_t half_of(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs(value);
    if (isnan(value)) {
        return 0x7e00;
    }
    if (size == 0) {
        return sign;
    }
    if (size >= 65520) {
        return sign | 0x7c00;
    }
    int exponent;
    frexp(size, &exponent); /* size is 0.1xxx in binary, times 2^exponent */
    const int least = exponent < -13 ? -24 : exponent - 11; /* of the last bit */
    const long digits = lrint(ldexp(size, -least));
    return (uint16_t)(sign | (exponent < -13 ? digits
                                             : ((long)(exponent + 13) << 10) + digits));
}

/* Rounded to the type's floats; a number that would round to infinity is refused. */
static bool give_floats(const struct json_array *array, const double *values,
                        size_t count, uint32_t depth)
{
    const bool half = array->type == MOOT_TYPE_FLOAT16;
    const bool single =
        array->type == MOOT_TYPE_FLOAT32 || array->type == MOOT_TYPE_COMPLEX64;
    uint16_t halves[2];
    float singles[2];
    for (size_t i = 0; i < count; i++) {
        halves[i] = half_of(values[i]);
        singles[i] = (float)values[i];
        if (isfinite(values[i]) && ((half && (halves[i] & 0x7c00) == 0x7c00) ||
                                    (single && !isfinite(singles[i])))) {
            return refuse_at(array, depth, "the number does not fit its type");
        }
    }
    return give(array, half     ? (const void *)halves
                       : single ? (const void *)singles
                                : (const void *)values);
}

static bool give_complex(struct json_array *array, const json_t *value, uint32_t depth)
{
    double parts[2] = {0, 0};
    if (!json_is_array(value) || json_array_size(value) != 2) {
        return refuse_at(array, depth,
                         "a list of two is expected: real and imaginary part");
    }
    return get_real(array, json_array_get(value, 0), depth, &parts[0]) &&
           get_real(array, json_array_get(value, 1), depth, &parts[1]) &&
           give_floats(array, parts, 2, depth);
}

static bool give_element(struct json_array *array, const json_t *value, uint32_t depth)
{
    const unsigned bits = (unsigned)type_size(array->type) * 8;
    const unsigned char truth = json_is_true(value);
    double real = 0;
    switch (array->type) {
    case MOOT_TYPE_BOOL:
        return json_is_boolean(value)
                   ? give(array, &truth)
                   : refuse_at(array, depth, "true or false is expected");
    case MOOT_TYPE_INT8:
    case MOOT_TYPE_INT16:
    case MOOT_TYPE_INT32:
    case MOOT_TYPE_INT64:
        return give_integer(array, value, depth, bits, true);
    case MOOT_TYPE_UINT8:
    case MOOT_TYPE_UINT16:
    case MOOT_TYPE_UINT32:
    case MOOT_TYPE_UINT64:
        return give_integer(array, value, depth, bits, false);
    case MOOT_TYPE_FLOAT16:
    case MOOT_TYPE_FLOAT32:
    case MOOT_TYPE_FLOAT64:
        return get_real(array, value, depth, &real) &&
               give_floats(array, &real, 1, depth);
    case MOOT_TYPE_COMPLEX64:
    case MOOT_TYPE_COMPLEX128:
        return give_complex(array, value, depth);
    case MOOT_TYPE_TEXT:
        return json_is_string(value)
                   ? array->sink->string(array->sink->context, json_string_value(value),
                                         json_string_length(value))
                   : refuse_at(array, depth, "a string is expected");
    case MOOT_TYPE_BYTES:
        break;
    }
    return refuse_at(array, 0, "JSON has no bytes; store them as text or as .npy");
}

/* --- The two forms ---------------------------------------------------------------- */

static bool give_all(struct json_array *array, const json_t *data)
{
    size_t elements;
    return (shape_elements(array->dimensions, array->shape, type_size(array->type),
                           &elements) ||
            array_refuse(array->story,
                         "its shape has more bytes than there is memory for")) &&
           array->sink->begin(array->sink->context, array->type, array->dimensions,
                              array->shape) &&
           go_over(array, data, 0, give_element);
}

static bool read_lists(struct json_array *array, const json_t *data)
{
    if (!measure(array, data, false) || !go_over(array, data, 0, check_kind)) {
        return false;
    }
    array->type = array->bools                       ? MOOT_TYPE_BOOL
                  : array->strings                   ? MOOT_TYPE_TEXT
                  : array->integers && !array->reals ? MOOT_TYPE_INT64
                                                     : MOOT_TYPE_FLOAT64;
    return give_all(array, data);
}

/* The shape that the object says, against that of its data.  Lists without elements may
 * end early: [] is the data of every shape that begins with 0. */
static bool take_shape(struct json_array *array, const json_t *shape)
{
    const uint32_t met = array->dimensions;
    if (!json_is_array(shape) || json_array_size(shape) > MOOT_NDARRAY_DIMENSIONS_MAX) {
        return array_refuse(array->story,
                            "\"shape\" is not a list of at most 64 lengths");
    }
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *length = json_array_get(shape, i);
        if (!json_is_integer(length) || json_integer_value(length) < 0) {
            return array_refuse(array->story, "\"shape\"[%zu] is no length", i);
        }
        const uint64_t said = (uint64_t)json_integer_value(length);
        if (i < met && said != array->shape[i]) {
            return array_refuse(
                array->story, "\"shape\"[%zu] is %llu, and \"data\" has %llu", i,
                (unsigned long long)said, (unsigned long long)array->shape[i]);
        }
        array->shape[i] = said;
    }
    if (json_array_size(shape) < met ||
        (json_array_size(shape) > met && !array->none)) {
        return array_refuse(array->story,
                            "\"shape\" has %zu dimensions, and \"data\" has %u",
                            json_array_size(shape), (unsigned)met);
    }
    /* Lengths behind the first 0 are not in the data. */
    array->dimensions = (uint32_t)json_array_size(shape);
    return true;
}

static bool read_object(struct json_array *array, json_t *object)
{
    json_t *type = json_object_get(object, "type"),
           *data = json_object_get(object, "data");
    json_t *shape = json_object_get(object, "shape");
    const size_t known = 1U + (data != NULL) + (shape != NULL);
    if (!json_is_string(type) || data == NULL || json_object_size(object) != known) {
        return array_refuse(array->story,
                            "an object has \"type\", \"data\" and, if it likes, "
                            "\"shape\"; nothing else");
    }
    array->type = type_of_name(json_string_value(type));
    if (array->type == 0) {
        return array_refuse(array->story,
                            "\"type\": \"%s\" is none; such as \"int32\" or "
                            "\"float64\" are",
                            json_string_value(type));
    }
    const bool pairs =
        array->type == MOOT_TYPE_COMPLEX64 || array->type == MOOT_TYPE_COMPLEX128;
    return measure(array, data, pairs) && (shape == NULL || take_shape(array, shape)) &&
           give_all(array, data);
}

bool json_array_read(FILE *file, const struct array_sink *sink,
                     const struct array_story *story)
{
    json_error_t error;
    struct json_array array = {.sink = sink, .story = story};
    json_t *value = json_loadf(
        file, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (value == NULL) {
        return array_refuse(story, "line %d, column %d: %s", error.line, error.column,
                            error.text);
    }
    const bool good =
        json_is_object(value) ? read_object(&array, value) : read_lists(&array, value);
    json_decref(value);
    return good;
}
