/* place_table_test.c - places by their numbers, and numbers by their places
 * (node/tasks/place_table.h). */
#include "node/tasks/place_table.h"

#include "tests/unit/failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Found one by one, so many would take minutes. */
enum { MANY = 1 << 18, FEW = 1000 };

static void add_progression(struct place_table *table, uint64_t stride, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(place_table_find(table, i * stride), UINT32_MAX);
        assert_int_equal(place_table_add(table, i * stride), i);
        assert_int_equal(place_table_find(table, i * stride), i);
    }
}

static void check_progression(const struct place_table *table, uint64_t stride,
                              uint32_t count)
{
    assert_int_equal(table->count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(table->places[i], i * stride);
        assert_int_equal(place_table_find(table, i * stride), i);
        assert_int_equal(place_table_find(table, i * stride + 1),
                         stride == 1 && i + 1 < count ? i + 1 : UINT32_MAX);
    }
}

static void places_are_found_fast_whatever_lies_between_them(void **state)
{
    (void)state;
    const uint64_t strides[] = {1, 3, 1 << 10, 10946, UINT64_C(1) << 43};
    for (uint32_t i = 0; i < sizeof(strides) / sizeof(*strides); i++) {
        struct place_table table = {0};
        add_progression(&table, strides[i], MANY);
        check_progression(&table, strides[i], MANY);
        place_table_release(&table);
    }
}

static void nowhere_is_numbered_and_not_found(void **state)
{
    (void)state;
    struct place_table table = {0};
    for (uint32_t i = 0; i < MANY; i += 2) {
        assert_int_equal(place_table_add(&table, PLACE_NOWHERE), i);
        assert_int_equal(place_table_add(&table, i), i + 1);
    }
    assert_int_equal(place_table_find(&table, PLACE_NOWHERE), UINT32_MAX);
    for (uint32_t i = 0; i < MANY; i += 2) {
        assert_int_equal(table.places[i], PLACE_NOWHERE);
        assert_int_equal(place_table_find(&table, i), i + 1);
    }
    place_table_release(&table);
}

static void without_memory_it_has_those_that_it_had(void **state)
{
    (void)state;
    struct place_table table = {0};
    for (uint32_t i = 0; i < FEW; i++) {
        const bool full = table.count == table.room;
        for (long piece = 1; full && piece <= 2; piece++) {
            alloc_watch(piece);
            assert_int_equal(place_table_add(&table, i), UINT32_MAX);
            alloc_watch(0);
            check_progression(&table, 1, i);
        }
        assert_int_equal(place_table_add(&table, i), i);
    }
    check_progression(&table, 1, FEW);
    place_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_found_fast_whatever_lies_between_them),
        cmocka_unit_test(nowhere_is_numbered_and_not_found),
        cmocka_unit_test(without_memory_it_has_those_that_it_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
