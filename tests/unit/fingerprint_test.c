/* fingerprint_test.c - fingerprints against the vectors of another implementation
 * (tests/golden/fingerprint.py), and the same arrays by other strides.
 */
#include "hashing/fingerprint/fingerprint.h"
#include "hashing/identity.h"
#include "node/api/moot_fingerprint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CONTENT_MAX = 4 << 20, STRINGS_MAX = 8 };

struct vector {
    moot_hash print;
    enum moot_type type;
    uint32_t dimensions;
    uint64_t shape[4];
    unsigned char *content; /* canonical */
    size_t size;
};

static void read_shape(struct vector *vector, const char *text)
{
    vector->dimensions = 0;
    for (char *end; text[0] != '\0' && text[0] != '-'; text = end + (end[0] == 'x')) {
        vector->shape[vector->dimensions++] = strtoull(text, &end, 10);
    }
}

static void read_content(struct vector *vector, const char *text)
{
    vector->size = 0;
    if (strcmp(text, "pattern") == 0) {
        for (; vector->size < vector->shape[0]; vector->size++) {
            vector->content[vector->size] = (unsigned char)(vector->size * 7 % 251);
        }
        return;
    }
    for (unsigned byte; text[0] != '-' && sscanf(text, "%2x", &byte) == 1; text += 2) {
        vector->content[vector->size++] = (unsigned char)byte;
    }
}

/* The next row; false: there is none. */
static bool next_vector(FILE *file, struct vector *vector)
{
    char print[40], type[16], shape[40], content[400];
    if (fscanf(file, "%39s %15s %39s %399s", print, type, shape, content) != 4) {
        return false;
    }
    assert_true(hash_parse(print, &vector->print));
    vector->type = type_of_name(type);
    assert_int_not_equal(vector->type, 0);
    read_shape(vector, shape);
    read_content(vector, content);
    return true;
}

/* Strings lie one behind the other, each after its length. */
static const void *strings_of(const struct vector *vector,
                              moot_bytes strings[STRINGS_MAX])
{
    const unsigned char *at = vector->content;
    for (size_t i = 0; at < vector->content + vector->size; i++) {
        uint64_t size;
        memcpy(&size, at, sizeof(size));
        assert_true(i < STRINGS_MAX);
        strings[i] = (moot_bytes){at + sizeof(size), size};
        at += sizeof(size) + size;
    }
    return strings;
}

static moot_ndarray array_of(const struct vector *vector,
                             moot_bytes strings[STRINGS_MAX])
{
    return (moot_ndarray){vector->type, vector->dimensions, vector->shape, NULL,
                          type_strings(vector->type) ? strings_of(vector, strings)
                                                     : vector->content};
}

static void expect_print(const moot_ndarray *array, const moot_hash *wanted)
{
    moot_hash print = {{0}};
    assert_int_equal(moot_fingerprint_array(array, &print), MOOT_OK);
    assert_memory_equal(&print, wanted, sizeof(print));
}

/* The same values in Fortran order, and backwards, each with its strides. */
static void expect_turned(const moot_ndarray *array, const moot_hash *wanted)
{
    const size_t item = type_size(array->type);
    int64_t fortran[4], straight[4], back[4];
    size_t count = 1, gap = item;
    for (uint32_t i = 0; i < array->dimensions; i++) {
        fortran[i] = (int64_t)(count * item);
        count *= (size_t)array->shape[i];
    }
    for (uint32_t i = array->dimensions; i-- > 0; gap *= (size_t)array->shape[i]) {
        straight[i] = (int64_t)gap;
        back[i] = -(int64_t)gap;
    }
    unsigned char *turned = calloc(count + 1, item),
                  *backwards = calloc(count + 1, item);
    assert_non_null(turned);
    assert_non_null(backwards);
    for (size_t n = 0; n < count; n++) {
        int64_t at = 0;
        for (uint32_t i = 0; i < array->dimensions; i++) {
            at += (int64_t)(n * item) / straight[i] % (int64_t)array->shape[i] *
                  fortran[i];
        }
        memcpy(turned + at, (const unsigned char *)array->data + n * item, item);
        memcpy(backwards + (count - 1 - n) * item,
               (const unsigned char *)array->data + n * item, item);
    }
    moot_ndarray other = *array;
    other.strides = fortran;
    other.data = turned;
    expect_print(&other, wanted);
    other.strides = back;
    other.data = backwards + (count > 0 ? count - 1 : 0) * item;
    expect_print(&other, wanted);
    free(turned);
    free(backwards);
}

static void vectors_come_out(void **state)
{
    (void)state;
    FILE *file = fopen("tests/golden/fingerprints.txt", "r");
    struct vector vector = {.content = malloc(CONTENT_MAX)};
    unsigned rows = 0;
    assert_non_null(file);
    assert_non_null(vector.content);
    while (next_vector(file, &vector)) {
        moot_bytes strings[STRINGS_MAX];
        const moot_ndarray array = array_of(&vector, strings);
        expect_print(&array, &vector.print);
        if (vector.size < FINGERPRINT_LEAF) {
            expect_turned(&array, &vector.print);
        }
        rows++;
    }
    assert_int_equal(rows, 29);
    free(vector.content);
    fclose(file);
}

static void nans_are_one_and_zeros_are_two(void **state)
{
    (void)state;
    const uint64_t nans[] = {0x7ff8000000000000, 0xfff8000000000001,
                             0x7ff0000000000001};
    const uint64_t others[] = {0x7ff0000000000000, 0xfff0000000000000, 0,
                               0x8000000000000000};
    moot_ndarray array = {MOOT_TYPE_FLOAT64, 0, NULL, NULL, &nans[0]};
    moot_hash nan, seen[4];
    assert_int_equal(moot_fingerprint_array(&array, &nan), MOOT_OK);
    for (size_t i = 1; i < 3; i++) {
        array.data = &nans[i];
        expect_print(&array, &nan);
    }
    for (size_t i = 0; i < 4; i++) {
        array.data = &others[i];
        assert_int_equal(moot_fingerprint_array(&array, &seen[i]), MOOT_OK);
        assert_memory_not_equal(&seen[i], &nan, sizeof(nan));
        for (size_t k = 0; k < i; k++) {
            assert_memory_not_equal(&seen[i], &seen[k], sizeof(nan));
        }
    }
}

static void a_stride_of_zero_repeats(void **state)
{
    (void)state;
    const int32_t one = 5, three[] = {5, 5, 5};
    const uint64_t shape = 3;
    const int64_t stride = 0;
    moot_hash print;
    moot_ndarray array = {MOOT_TYPE_INT32, 1, &shape, NULL, three};
    assert_int_equal(moot_fingerprint_array(&array, &print), MOOT_OK);
    array = (moot_ndarray){MOOT_TYPE_INT32, 1, &shape, &stride, &one};
    expect_print(&array, &print);
}

/* Rows of a picture of `outer` x `inner` elements of `item` bytes, of which each second
 * is left out: their print is that of the same elements one behind the other. */
static void expect_rows(enum moot_type type, uint64_t outer, uint64_t inner)
{
    const uint64_t shape[] = {outer, 3, inner};
    const size_t item = type_size(type), row = (size_t)inner * item;
    const int64_t strides[] = {(int64_t)(6 * row), 0, (int64_t)item};
    unsigned char *sparse = malloc((size_t)outer * 6 * row);
    unsigned char *dense = malloc((size_t)outer * 3 * row);
    moot_hash print;
    assert_non_null(sparse);
    assert_non_null(dense);
    for (size_t i = 0; i < (size_t)outer * 6 * row; i++) {
        sparse[i] = (unsigned char)(i * 31 % 127);
    }
    for (size_t i = 0; i < (size_t)outer * 3; i++) {
        memcpy(dense + i * row, sparse + i / 3 * 6 * row, row);
    }
    moot_ndarray array = {type, 3, shape, NULL, dense};
    assert_int_equal(moot_fingerprint_array(&array, &print), MOOT_OK);
    array.strides = strides;
    array.data = sparse;
    expect_print(&array, &print);
    free(sparse);
    free(dense);
}

static void rows_of_all_lengths_are_put_together(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 3, 4, 5, 31, 32, 33, 255, 256, 700};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        expect_rows(MOOT_TYPE_UINT8, 611, lengths[i]);
        expect_rows(MOOT_TYPE_INT16, 97, lengths[i]);
        expect_rows(MOOT_TYPE_INT64, 301, lengths[i]);
        expect_rows(MOOT_TYPE_COMPLEX128, 41, lengths[i]);
    }
}

static void what_is_no_array_is_refused(void **state)
{
    (void)state;
    static const char *const no_text[] = {"\x80",
                                          "\xc0\x80",
                                          "\xe0\x80\x80",
                                          "\xed\xa0\x80",
                                          "\xf4\x90\x80\x80",
                                          "\xe2\x82",
                                          "\xf8\x88\x80\x80\x80"};
    const uint64_t two = 2, many[] = {UINT64_C(1) << 40, UINT64_C(1) << 40};
    const int64_t number = 1;
    moot_hash print = {{7}};
    const struct {
        moot_ndarray array;
        int code;
    } rows[] = {
        {{(enum moot_type)0, 0, NULL, NULL, &number}, MOOT_ERR_INVALID},
        {{(enum moot_type)17, 0, NULL, NULL, &number}, MOOT_ERR_INVALID},
        {{MOOT_TYPE_INT64, 65, &two, NULL, &number}, MOOT_ERR_INVALID},
        {{MOOT_TYPE_INT64, 1, NULL, NULL, &number}, MOOT_ERR_INVALID},
        {{MOOT_TYPE_INT64, 1, &two, NULL, NULL}, MOOT_ERR_INVALID},
        {{MOOT_TYPE_INT64, 2, many, NULL, &number}, MOOT_ERR_LIMIT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(moot_fingerprint_array(&rows[i].array, &print), rows[i].code);
    }
    for (size_t i = 0; i < sizeof(no_text) / sizeof(no_text[0]); i++) {
        const moot_bytes text = {no_text[i], strlen(no_text[i])};
        const moot_ndarray array = {MOOT_TYPE_TEXT, 0, NULL, NULL, &text};
        assert_int_equal(moot_fingerprint_array(&array, &print), MOOT_ERR_INVALID);
    }
    assert_int_equal(moot_fingerprint_array(NULL, &print), MOOT_ERR_INVALID);
    assert_int_equal(moot_fingerprint_file("no/such.npy", &print, NULL, 0),
                     MOOT_ERR_FILE);
    assert_int_equal(moot_fingerprint_file(NULL, &print, NULL, 0), MOOT_ERR_INVALID);
    assert_int_equal(print.bytes[0], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_come_out),
        cmocka_unit_test(nans_are_one_and_zeros_are_two),
        cmocka_unit_test(a_stride_of_zero_repeats),
        cmocka_unit_test(rows_of_all_lengths_are_put_together),
        cmocka_unit_test(what_is_no_array_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
