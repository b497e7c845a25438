/* schedule_cache_test.c - equal shapes share a schedule
 * (consensus/shape/schedule_cache.h). */
#include "consensus/shape/schedule_cache.h"

#include "proto/moot_error.h"
#include "tests/unit/failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct rankset members, others;

static int open_members(void **state)
{
    (void)state;
    bool good = true;
    for (uint32_t rank = 0; rank < 4; rank++) {
        good = good && rankset_add(&members, rank);
    }
    good = good && rankset_copy(&others, &members) && rankset_add(&others, 9);
    rankset_remove(&others, 3); /* as many, and not the same */
    return good ? 0 : -1;
}

static struct array_shape make_shape(uint64_t count)
{
    const struct array_card card = {{count, 0, 4, ARRAY_SPREAD_BLOCK}, &members};
    return (struct array_shape){card, card, {&array_map_same, NULL, 0}, &members, 1};
}

static const struct array_schedule *take(struct schedule_cache *cache,
                                         const struct array_shape *shape)
{
    const struct array_schedule *schedule = NULL;
    assert_int_equal(schedule_cache_take(cache, shape, &schedule), MOOT_OK);
    return schedule;
}

static void expect_made(const struct schedule_cache *cache, uint32_t kept,
                        uint64_t made)
{
    uint64_t so_far;
    assert_int_equal(schedule_cache_count(cache, &so_far), kept);
    assert_int_equal(so_far, made);
}

static void a_shape_is_worked_out_once(void **state)
{
    (void)state;
    struct schedule_cache *cache = schedule_cache_new();
    struct array_shape shape = make_shape(8);
    const struct array_schedule *first = take(cache, &shape);
    for (int i = 0; i < 5; i++) {
        struct array_shape again = make_shape(8);
        const struct array_schedule *schedule = take(cache, &again);
        assert_ptr_equal(schedule, first);
        schedule_let_go(schedule);
    }
    expect_made(cache, 1, 1);
    schedule_let_go(first);
    schedule_cache_free(cache);
}

/* Whatever of a shape a schedule follows from makes it another one. */
static void what_differs_has_its_own(void **state)
{
    (void)state;
    static const unsigned char one[24] = {1, 0, 0, 0, 0, 0, 0, 0, 1};
    static const unsigned char two[24] = {2, 0, 0, 0, 0, 0, 0, 0, 2};
    struct array_shape shapes[10];
    const struct array_schedule *made[10];
    for (size_t i = 0; i < 10; i++) {
        shapes[i] = make_shape(8);
    }
    shapes[1].from.spread.count = 9;
    shapes[2].takes.spread.kind = ARRAY_SPREAD_HASHED;
    shapes[3].from.spread.kind = ARRAY_SPREAD_CYCLIC;
    shapes[3].from.spread.block = 1;
    shapes[4].from.spread.kind = ARRAY_SPREAD_CYCLIC;
    shapes[4].from.spread.block = 2;
    shapes[5].takes = (struct array_card){{8, 0, 4, ARRAY_SPREAD_BLOCK}, &others};
    shapes[6].from = (struct array_card){{8, 0, 4, ARRAY_SPREAD_BLOCK}, &others};
    shapes[7].mapping.map = &array_map_all;
    shapes[8].mapping = (struct array_mapping){&array_map_window, one, sizeof(one)};
    shapes[9].mapping = (struct array_mapping){&array_map_window, two, sizeof(two)};
    struct schedule_cache *cache = schedule_cache_new();
    for (size_t i = 0; i < 10; i++) {
        made[i] = take(cache, &shapes[i]);
        expect_made(cache, (uint32_t)i + 1, i + 1);
    }
    for (size_t i = 0; i < 10; i++) {
        const struct array_schedule *again = take(cache, &shapes[i]);
        assert_ptr_equal(again, made[i]);
        schedule_let_go(again);
        schedule_let_go(made[i]);
    }
    expect_made(cache, 10, 10);
    schedule_cache_free(cache);
}

static void the_least_used_goes(void **state)
{
    (void)state;
    struct schedule_cache *cache = schedule_cache_new();
    struct array_shape favourite = make_shape(1000);
    for (uint64_t i = 0; i < 2 * SCHEDULES_MAX; i++) {
        struct array_shape shape = make_shape(i + 1);
        schedule_let_go(take(cache, &favourite));
        schedule_let_go(take(cache, &shape));
    }
    expect_made(cache, SCHEDULES_MAX, 2 * SCHEDULES_MAX + 1);
    schedule_cache_free(cache);
}

static void a_schedule_in_use_outlives_its_view(void **state)
{
    (void)state;
    struct array_shape shape = make_shape(8);
    alloc_watch(0);
    struct schedule_cache *cache = schedule_cache_new();
    const struct array_schedule *used = take(cache, &shape);
    schedule_cache_clear(cache);
    expect_made(cache, 0, 1);
    assert_int_equal(used->own, 2);
    const struct array_schedule *later = take(cache, &shape);
    expect_made(cache, 1, 2);
    schedule_let_go(used);
    schedule_cache_free(cache);
    assert_int_equal(later->own, 2);
    schedule_let_go(later);
    schedule_let_go(NULL);
    assert_int_equal(alloc_count.held, 0);
}

static void what_cannot_be_is_tried_once(void **state)
{
    (void)state;
    const struct array_schedule *schedule = NULL;
    struct schedule_cache *cache = schedule_cache_new();
    struct array_shape wrong = make_shape(8);
    wrong.from.spread.count = 3;
    wrong.from.spread.homes = 4;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(schedule_cache_take(cache, &wrong, &schedule),
                         MOOT_ERR_INVALID);
        assert_null(schedule);
    }
    expect_made(cache, 1, 1);
    schedule_cache_free(cache);
}

static int take_same(const void *user, const void *args, size_t args_size,
                     uint64_t element, const struct array_counts *counts,
                     struct range *out, size_t room)
{
    (void)user, (void)args, (void)args_size, (void)counts, (void)room;
    out[0] = (struct range){element, element + 1};
    return 1;
}

static void long_arguments_are_not_kept(void **state)
{
    (void)state;
    static const unsigned char args[SCHEDULE_ARGS_BYTES_MAX + 1] = {0};
    static const struct array_map map = {"m", 1, take_same, take_same, NULL, NULL};
    struct array_shape shape = make_shape(8);
    struct schedule_cache *cache = schedule_cache_new();
    shape.mapping = (struct array_mapping){&map, args, sizeof(args)};
    schedule_let_go(take(cache, &shape));
    schedule_let_go(take(cache, &shape));
    expect_made(cache, 0, 2);
    shape.mapping.args_size--;
    schedule_let_go(take(cache, &shape));
    schedule_let_go(take(cache, &shape));
    expect_made(cache, 1, 3);
    schedule_cache_free(cache);
}

static void without_memory_nothing_is_kept(void **state)
{
    (void)state;
    struct array_shape shape = make_shape(8);
    struct schedule_cache *cache = schedule_cache_new();
    int error = MOOT_ERR_NO_MEMORY;
    const struct array_schedule *schedule = NULL;
    for (long fail_at = 1; error != MOOT_OK; fail_at++) {
        uint64_t made;
        alloc_watch(fail_at);
        error = schedule_cache_take(cache, &shape, &schedule);
        assert_true(error == MOOT_OK || error == MOOT_ERR_NO_MEMORY);
        if (error != MOOT_OK) {
            assert_int_equal(alloc_count.held, 0);
            assert_int_equal(schedule_cache_count(cache, &made), 0);
        }
    }
    alloc_watch(0);
    schedule_let_go(schedule);
    schedule_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_is_worked_out_once),
        cmocka_unit_test(what_differs_has_its_own),
        cmocka_unit_test(the_least_used_goes),
        cmocka_unit_test(a_schedule_in_use_outlives_its_view),
        cmocka_unit_test(what_cannot_be_is_tried_once),
        cmocka_unit_test(long_arguments_are_not_kept),
        cmocka_unit_test(without_memory_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, open_members, NULL);
}
