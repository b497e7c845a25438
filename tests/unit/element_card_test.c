/* element_card_test.c - the result of an array's end says what its spread is, and what
 * is no such result is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hashing/base/byte_order.h"
#include "node/context/context.h"
#include "node/tasks/own_elements.h"

enum { WORDS = 4, COUNT_AT = 0, BLOCK_AT = 8, HOMES_AT = 16, KIND_AT = 24 };

static const struct array_spread spread = {
    .count = ARRAY_COUNT_MAX, .block = 7, .homes = 12, .kind = ARRAY_SPREAD_CYCLIC};

static void is_read_as_it_was_written(void **state)
{
    struct payload *card = elements_card(&spread);
    struct array_spread read = {0};
    (void)state;
    assert_non_null(card);
    assert_true(elements_card_read(card, &read));
    assert_int_equal(read.count, spread.count);
    assert_int_equal(read.block, spread.block);
    assert_int_equal(read.homes, spread.homes);
    assert_int_equal(read.kind, spread.kind);
    payload_drop(card);
}

static void another_result_is_none(void **state)
{
    static const struct {
        int at;
        uint64_t word;
    } wrong[] = {{COUNT_AT, 0},
                 {COUNT_AT, ARRAY_COUNT_MAX + 1},
                 {BLOCK_AT, 0},
                 {HOMES_AT, 0},
                 {HOMES_AT, ARRAY_HOMES_MAX + UINT64_C(1)},
                 {HOMES_AT, UINT64_C(12) << 32 | 12},
                 {KIND_AT, ARRAY_SPREAD_HASHED + 1},
                 {KIND_AT, UINT64_C(1) << 32}};
    struct array_spread read = {.count = 1};
    struct payload *empty = payload_new(0), *longer = payload_new(WORDS * 8 + 1);
    (void)state;
    assert_false(elements_card_read(NULL, &read));
    assert_false(elements_card_read(empty, &read));
    assert_false(elements_card_read(longer, &read));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct payload *card = elements_card(&spread);
        assert_non_null(card);
        put_word((unsigned char *)card->data + wrong[i].at, wrong[i].word);
        assert_false(elements_card_read(card, &read));
        payload_drop(card);
    }
    assert_int_equal(read.count, 1);
    payload_drop(empty);
    payload_drop(longer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_read_as_it_was_written),
        cmocka_unit_test(another_result_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
