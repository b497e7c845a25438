/* array_spread_test.c - each element of an array has one home (hashing/array_spread.h).
 *
 * The oracle deals the elements out as one deals cards.
 */
#include "hashing/array_spread.h"

#include "hashing/placement.h"
#include "hashing/some_elements.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT_MAX = 80, HOMES_MAX = 9, BLOCK_MAX = 5 };

static uint64_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 29;
}

/* Each home's elements, in order, one behind the other, and where each home's begin. */
struct dealt {
    uint64_t index[COUNT_MAX];
    uint64_t first[HOMES_MAX + 1];
};

static void deal_cyclic(const struct array_spread *spread, struct dealt *dealt)
{
    uint64_t place = 0;
    for (uint32_t home = 0; home < spread->homes; home++) {
        dealt->first[home] = place;
        for (uint64_t i = 0; i < spread->count; i++) {
            if (i / spread->block % spread->homes == home) {
                dealt->index[place++] = i;
            }
        }
    }
    dealt->first[spread->homes] = place;
}

/* floor(i R / n) is the home. */
static void deal_blocks(const struct array_spread *spread, struct dealt *dealt)
{
    uint32_t home = 0;
    for (uint64_t i = 0; i < spread->count; i++) {
        dealt->index[i] = i;
        for (; home <= i * spread->homes / spread->count; home++) {
            dealt->first[home] = i;
        }
    }
    for (; home <= spread->homes; home++) {
        dealt->first[home] = spread->count;
    }
}

static void check_slots(const struct array_spread *spread, uint32_t home,
                        uint64_t first, uint64_t end)
{
    uint64_t before = first;
    for (uint32_t i = 0; i < ARRAY_SLOTS; i++) {
        uint32_t slot = home * ARRAY_SLOTS + i;
        uint64_t from = array_slot_first(spread, slot);
        uint64_t to = array_slot_first(spread, slot + 1);
        assert_int_equal(from, before);
        assert_true(to - from == (end - first) / ARRAY_SLOTS ||
                    to - from == (end - first) / ARRAY_SLOTS + 1);
        for (uint64_t place = from; place < to; place++) {
            assert_int_equal(array_slot(spread, place), slot);
        }
        before = to;
    }
    assert_int_equal(before, end);
}

static void check_against(const struct array_spread *spread, const struct dealt *dealt)
{
    assert_true(array_spread_valid(spread));
    for (uint64_t place = 0; place < spread->count; place++) {
        assert_int_equal(array_index(spread, place), dealt->index[place]);
        assert_int_equal(array_place(spread, dealt->index[place]), place);
    }
    for (uint32_t home = 0; home < spread->homes; home++) {
        assert_int_equal(array_home_first(spread, home), dealt->first[home]);
        check_slots(spread, home, dealt->first[home], dealt->first[home + 1]);
    }
    assert_int_equal(array_home_first(spread, spread->homes), spread->count);
}

static void spreads_deal_elements_out(void **state)
{
    (void)state;
    struct dealt dealt;
    for (uint64_t count = 1; count <= COUNT_MAX; count++) {
        for (uint32_t homes = 1; homes <= HOMES_MAX; homes++) {
            struct array_spread spread = {count, 0, homes, ARRAY_SPREAD_BLOCK};
            deal_blocks(&spread, &dealt);
            check_against(&spread, &dealt);
            spread.kind = ARRAY_SPREAD_CYCLIC;
            for (spread.block = 1; spread.block <= BLOCK_MAX; spread.block++) {
                deal_cyclic(&spread, &dealt);
                check_against(&spread, &dealt);
            }
        }
    }
}

/* The numbers come from an implementation in Python. */
static void the_hashed_order_is_fixed(void **state)
{
    (void)state;
    static const struct {
        uint64_t count, index, place;
    } rows[] = {{1, 0, 0},
                {2, 1, 1},
                {10, 1, 9},
                {10, 9, 6},
                {1000, 0, 723},
                {1000, 9, 899},
                {1000000, 0, 652164},
                {1000000, 999999, 991210},
                {ARRAY_COUNT_MAX, 0, 329776252},
                {ARRAY_COUNT_MAX, ARRAY_COUNT_MAX - 1, 2539449294}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct array_spread spread = {rows[i].count, 0, 3, ARRAY_SPREAD_HASHED};
        assert_int_equal(array_place(&spread, rows[i].index), rows[i].place);
        assert_int_equal(array_index(&spread, rows[i].place), rows[i].index);
    }
}

static void a_hashed_spread_has_each_place_once(void **state)
{
    (void)state;
    for (uint64_t count = 1; count <= 300; count++) {
        struct array_spread spread = {count, 0, 4, ARRAY_SPREAD_HASHED};
        bool taken[300] = {false};
        uint64_t neighbours = 0;
        for (uint64_t i = 0; i < count; i++) {
            uint64_t place = array_place(&spread, i);
            assert_true(place < count);
            assert_false(taken[place]);
            taken[place] = true;
            assert_int_equal(array_index(&spread, place), i);
            neighbours += i > 0 && array_place(&spread, i - 1) + 1 == place;
        }
        assert_true(count < 100 || neighbours < count / 10);
    }
}

static void the_largest_arrays_go_there_and_back(void **state)
{
    (void)state;
    static const struct array_spread spreads[] = {
        {ARRAY_COUNT_MAX, 0, 16384, ARRAY_SPREAD_BLOCK},
        {ARRAY_COUNT_MAX, 1, 16384, ARRAY_SPREAD_CYCLIC},
        {ARRAY_COUNT_MAX - 3, 1000, 9999, ARRAY_SPREAD_CYCLIC},
        {ARRAY_COUNT_MAX, ARRAY_COUNT_MAX, 7, ARRAY_SPREAD_CYCLIC},
        {ARRAY_COUNT_MAX, 0, ARRAY_HOMES_MAX, ARRAY_SPREAD_HASHED}};
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof(spreads) / sizeof(*spreads); i++) {
        const struct array_spread *spread = &spreads[i];
        assert_true(array_spread_valid(spread));
        for (int turn = 0; turn < 1000; turn++) {
            uint64_t index = turn == 0   ? 0
                             : turn == 1 ? spread->count - 1
                                         : random_next(&seed) % spread->count;
            uint64_t place = array_place(spread, index);
            assert_true(place < spread->count);
            assert_int_equal(array_index(spread, place), index);
            uint32_t slot = array_slot(spread, place);
            assert_true(array_slot_first(spread, slot) <= place &&
                        place < array_slot_first(spread, slot + 1));
        }
    }
}

static void what_cannot_be_is_no_spread(void **state)
{
    (void)state;
    static const struct array_spread wrong[] = {
        {0, 0, 1, ARRAY_SPREAD_BLOCK},
        {ARRAY_COUNT_MAX + 1, 0, 1, ARRAY_SPREAD_BLOCK},
        {1, 0, 0, ARRAY_SPREAD_BLOCK},
        {1, 0, ARRAY_HOMES_MAX + 1, ARRAY_SPREAD_BLOCK},
        {1, 1, 1, ARRAY_SPREAD_BLOCK},
        {1, 0, 1, ARRAY_SPREAD_CYCLIC},
        {1, ARRAY_COUNT_MAX + 1, 1, ARRAY_SPREAD_CYCLIC},
        {1, 1, 1, ARRAY_SPREAD_HASHED},
        {1, 0, 1, (enum array_spread_kind)3}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_false(array_spread_valid(&wrong[i]));
    }
}

/* --- Chairs ------------------------------------------------------------------------
 */

static void add_ranks(struct rankset *set, uint32_t count, uint32_t apart)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_true(rankset_add(set, i * apart));
    }
}

static void a_slot_belongs_to_its_home_while_that_is_there(void **state)
{
    (void)state;
    struct rankset homes = {0}, members = {0};
    add_ranks(&homes, 5, 3);
    add_ranks(&members, 13, 1);
    for (uint32_t slot = 0; slot < 5 * ARRAY_SLOTS; slot++) {
        assert_int_equal(array_slot_chair(slot, &homes, &members),
                         slot / ARRAY_SLOTS * 3);
    }
}

static void a_death_moves_its_own_share_to_several(void **state)
{
    (void)state;
    struct rankset homes = {0}, members = {0};
    uint32_t got[12] = {0}, receivers = 0;
    add_ranks(&homes, 12, 1);
    add_ranks(&members, 12, 1);
    rankset_remove(&members, 4);
    for (uint32_t slot = 0; slot < 12 * ARRAY_SLOTS; slot++) {
        uint32_t chair = array_slot_chair(slot, &homes, &members);
        if (slot / ARRAY_SLOTS == 4) {
            assert_true(rankset_has(&members, chair));
            got[chair]++;
        } else {
            assert_int_equal(chair, slot / ARRAY_SLOTS);
        }
    }
    for (uint32_t rank = 0; rank < 12; rank++) {
        receivers += got[rank] > 0;
    }
    assert_true(receivers >= 6);

    /* A second death moves, of what the first left behind, the second's share alone. */
    struct rankset fewer = {0};
    assert_true(rankset_copy(&fewer, &members));
    rankset_remove(&fewer, 7);
    for (uint32_t slot = 4 * ARRAY_SLOTS; slot < 5 * ARRAY_SLOTS; slot++) {
        uint32_t before = array_slot_chair(slot, &homes, &members);
        uint32_t after = array_slot_chair(slot, &homes, &fewer);
        assert_true(before == 7 ? after != 7 : after == before);
    }
}

static void only_homes_are_chairs(void **state)
{
    (void)state;
    struct rankset homes = {0}, members = {0}, none = {0};
    assert_true(rankset_add(&homes, 2) && rankset_add(&homes, 6));
    add_ranks(&members, 6, 1);
    for (uint32_t slot = 0; slot < 2 * ARRAY_SLOTS; slot++) {
        assert_int_equal(array_slot_chair(slot, &homes, &members), 2);
        assert_int_equal(array_slot_chair(slot, &homes, &none), PLACEMENT_NOBODY);
    }
}

/* --- Some of them, for people -------------------------------------------------------
 */

static void some_elements_are_told_by_index(void **state)
{
    (void)state;
    static const struct {
        struct array_spread spread;
        struct range places[2];
        uint64_t count;
        struct range ranges[SOME_RANGES + 1];
    } rows[] = {
        {{100, 0, 2, ARRAY_SPREAD_BLOCK},
         {{3, 5}, {7, 8}},
         3,
         {{3, 5}, {7, 8}}}, /* as they stand */
        {{100, 0, 2, ARRAY_SPREAD_BLOCK}, {{3, 5}, {5, 8}}, 5, {{3, 8}}},
        {{100, 10, 2, ARRAY_SPREAD_CYCLIC},
         {{45, 55}},
         10,
         {{85, 90}, {10, 15}}}, /* home 0 has 80-89 last, home 1 has 10-19 first */
        {{100, 1, 1, ARRAY_SPREAD_CYCLIC}, {{0, 100}}, 100, {{0, 100}}},
        {{100, 1, 2, ARRAY_SPREAD_CYCLIC},
         {{0, 50}},
         50,
         {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}}}, /* and 44 more */
        {{100, 0, 2, ARRAY_SPREAD_BLOCK}, {{3, 3}}, 0, {{0}}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct some_elements some = {0};
        uint32_t count = 0;
        some_elements_add(&some, &rows[i].spread, rows[i].places[0]);
        some_elements_add(&some, &rows[i].spread, rows[i].places[1]);
        while (rows[i].ranges[count].end > 0) {
            assert_int_equal(some.ranges[count].first, rows[i].ranges[count].first);
            assert_int_equal(some.ranges[count].end, rows[i].ranges[count].end);
            count++;
        }
        assert_int_equal(some.range_count, count);
        assert_int_equal(some.count, rows[i].count);
    }
}

static void some_of_very_many_take_no_time(void **state)
{
    (void)state;
    const struct array_spread one = {ARRAY_COUNT_MAX, 1, 1, ARRAY_SPREAD_CYCLIC};
    const struct array_spread hashed = {ARRAY_COUNT_MAX, 0, 3, ARRAY_SPREAD_HASHED};
    struct some_elements some = {0};
    some_elements_add(&some, &one, (struct range){0, ARRAY_COUNT_MAX});
    assert_int_equal(some.count, ARRAY_COUNT_MAX);
    some = (struct some_elements){0};
    some_elements_add(&some, &hashed, (struct range){5, ARRAY_COUNT_MAX});
    assert_int_equal(some.range_count, SOME_RANGES);
    assert_int_equal(some.ranges[0].first, array_index(&hashed, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spreads_deal_elements_out),
        cmocka_unit_test(the_hashed_order_is_fixed),
        cmocka_unit_test(a_hashed_spread_has_each_place_once),
        cmocka_unit_test(the_largest_arrays_go_there_and_back),
        cmocka_unit_test(what_cannot_be_is_no_spread),
        cmocka_unit_test(a_slot_belongs_to_its_home_while_that_is_there),
        cmocka_unit_test(a_death_moves_its_own_share_to_several),
        cmocka_unit_test(only_homes_are_chairs),
        cmocka_unit_test(some_elements_are_told_by_index),
        cmocka_unit_test(some_of_very_many_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
