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

static const struct element_homes founders = {NULL, false};
static struct element_homes homes;
static struct rankset ranks;

static void is_read_as_it_was_written(void **state)
{
    struct payload *card = elements_card(&spread, &founders);
    struct array_spread read = {0};
    (void)state;
    assert_non_null(card);
    assert_true(elements_card_read(card, &read, &homes, &ranks));
    assert_int_equal(read.count, spread.count);
    assert_int_equal(read.block, spread.block);
    assert_int_equal(read.homes, spread.homes);
    assert_int_equal(read.kind, spread.kind);
    assert_null(homes.ranks);
    assert_false(homes.bound);
    payload_drop(card);
}

static struct payload *card_at(struct rankset *at, bool bound)
{
    static const uint32_t from[] = {0, 3, 63, 64, 65, 66, 67, 68, 69, 70, 71, 300};
    for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
        assert_true(rankset_add(at, from[i]));
    }
    const struct element_homes said = {at, bound};
    struct payload *card = elements_card(&spread, &said);
    assert_non_null(card);
    return card;
}

static void so_are_homes_that_are_not_the_founders(void **state)
{
    (void)state;
    for (int bound = 0; bound < 2; bound++) {
        struct rankset at = {0};
        struct array_spread read = {0};
        struct payload *card = card_at(&at, bound != 0);
        assert_true(elements_card_read(card, &read, &homes, &ranks));
        assert_int_equal(read.homes, 12);
        assert_ptr_equal(homes.ranks, &ranks);
        assert_int_equal(homes.bound, bound);
        assert_true(rankset_equal(&ranks, &at));
        rankset_release(&ranks);
        rankset_release(&at);
        payload_drop(card);
    }
}

/* The word behind the spread, and those of the set. */
static void other_homes_than_it_counts_are_none(void **state)
{
    static const struct {
        int at;
        uint64_t word;
    } wrong[] = {{32, 2}, {40, 0}, {40, 1}, {64, UINT64_MAX}};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct rankset at = {0};
        struct array_spread read = {.count = 1};
        struct payload *card = card_at(&at, false);
        put_word((unsigned char *)card->data + wrong[i].at, wrong[i].word);
        assert_false(elements_card_read(card, &read, &homes, &ranks));
        assert_int_equal(read.count, 1);
        rankset_release(&at);
        payload_drop(card);
    }
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
    assert_false(elements_card_read(NULL, &read, &homes, &ranks));
    assert_false(elements_card_read(empty, &read, &homes, &ranks));
    assert_false(elements_card_read(longer, &read, &homes, &ranks));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct payload *card = elements_card(&spread, &founders);
        assert_non_null(card);
        put_word((unsigned char *)card->data + wrong[i].at, wrong[i].word);
        assert_false(elements_card_read(card, &read, &homes, &ranks));
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
        cmocka_unit_test(so_are_homes_that_are_not_the_founders),
        cmocka_unit_test(other_homes_than_it_counts_are_none),
        cmocka_unit_test(another_result_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
