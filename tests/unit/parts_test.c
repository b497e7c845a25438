/* parts_test.c - ranks spawn parts of an array: what a core refuses, to whom its chair
 * gives what a part lacks, and what nobody has spawned. */
#include "tests/unit/elements_bench.h"

#include "proto/limits.h"

static int spawn_ranges(uint32_t rank, moot_hash hash, uint64_t count,
                        const struct range *ranges, uint32_t range_count)
{
    const struct array_spread spread = {.count = count, .kind = ARRAY_SPREAD_BLOCK};
    const struct core_register reg = {
        .array = &spread, .part = ranges, .part_count = range_count};
    return spawn_with(rank, ARRAY, hash, reg);
}

static void spawn_part(uint32_t rank, moot_hash hash, uint64_t first, uint64_t end)
{
    const struct range range = {first, end};
    assert_int_equal(spawn_ranges(rank, hash, COUNT, &range, 1), MOOT_OK);
}

static void what_is_no_part_is_refused(void **state)
{
    (void)state;
    static struct range many[LIMIT_PART_RANGES + 1];
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    const struct range beyond = {7, 9}, none = {3, 3};
    const struct range touching[] = {{1, 2}, {2, 3}}, back[] = {{4, 5}, {1, 2}};
    assert_int_equal(spawn_ranges(0, hash, COUNT, &beyond, 1), MOOT_ERR_INVALID);
    assert_int_equal(spawn_ranges(0, hash, COUNT, &none, 1), MOOT_ERR_INVALID);
    assert_int_equal(spawn_ranges(0, hash, COUNT, &none, 0), MOOT_ERR_INVALID);
    assert_int_equal(spawn_ranges(0, hash, COUNT, touching, 2), MOOT_ERR_INVALID);
    assert_int_equal(spawn_ranges(0, hash, COUNT, back, 2), MOOT_ERR_INVALID);
    for (uint32_t i = 0; i <= LIMIT_PART_RANGES; i++) {
        const uint64_t at = 4 * LIMIT_PART_RANGES + 2 * i; /* of rank 1's stretch */
        many[i] = (struct range){at, at + 1};
    }
    const uint64_t count = 8 * LIMIT_PART_RANGES;
    assert_int_equal(spawn_ranges(0, hash, count, many, LIMIT_PART_RANGES + 1),
                     MOOT_ERR_LIMIT);
    assert_int_equal(bench.given_count[0], 0);
    assert_int_equal(spawn_ranges(0, hash, count, many, LIMIT_PART_RANGES), MOOT_OK);
    assert_int_equal(spawn_ranges(0, hash, count, many + LIMIT_PART_RANGES, 1),
                     MOOT_ERR_LIMIT);
    bench_close();
}

static void a_home_claims_its_part_and_more_as_it_grows(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_part(1, hash, 3, 6);
    assert_int_equal(bench.given_count[1], 1);
    assert_given(1, 0, 4, 6);
    spawn_part(1, hash, 5, 7);
    assert_int_equal(bench.given_count[1], 2);
    assert_given(1, 1, 6, 7);
    spawn_array(1, hash);
    assert_int_equal(bench.given_count[1], 3);
    assert_given(1, 2, 7, 8);
    spawn_part(1, hash, 0, 8);
    assert_int_equal(bench.given_count[1], 3);
    bench_close();
}

/* Rank 1 is blocked, and has spawned 4 and 5: the chair, which has spawned all, runs
 * what that lacks. */
static void what_a_part_lacks_is_given_to_who_has_spawned_it(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_array(0, hash);
    spawn_part(1, hash, 4, 6);
    end_latest(0, hash);
    end_latest(1, hash);
    begin_wait(0, hash);
    begin_wait(1, hash);
    settle_until(bench.now + 100 * MS);
    assert_int_equal(bench.given_count[0], 2);
    assert_given(0, 1, 6, 8);
    end_latest(0, hash);
    settle();
    assert_int_equal(bench.run_code[ARRAY], MOOT_OK);
    spawn_array(1, hash);
    assert_int_equal(bench.given_count[1], 1);
    bench_close();
}

/* A chair that knows of no part, as its words are still on their way. */
static void what_a_rank_has_not_spawned_it_gives_back(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    const struct range two = {5, 7};
    struct message message = {.type = MESSAGE_ELEMENTS, .hash = hash};
    spawn_array(0, hash);
    spawn_part(1, hash, 5, 6);
    settle();
    core_view(bench.core[0], &message.epoch, &message.view_id);
    message.u.elements = (struct message_elements){.what = ELEMENTS_YOURS,
                                                   .count = COUNT,
                                                   .homes = 2,
                                                   .range_count = 1,
                                                   .ranges = &two};
    post(0, 1, &message);
    deliver_all();
    settle();
    assert_int_equal(bench.given_count[1], 1);
    assert_given(0, 1, 6, 7);
    bench_close();
}

static void what_nobody_has_spawned_ends_when_nothing_moves(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_part(0, hash, 0, 4);
    spawn_part(1, hash, 4, 7);
    end_latest(0, hash);
    end_latest(1, hash);
    begin_wait(0, hash);
    settle_until(bench.now + 100 * MS);
    assert_int_equal(bench.ended[0][ARRAY], 0); /* rank 1 may yet spawn it */
    begin_wait(1, hash);
    settle_until(bench.now + 1000 * MS);
    assert_int_equal(bench.run_code[ARRAY], MOOT_ERR_NOT_HELD);
    spawn_part(1, hash, 7, 8);
    settle();
    assert_int_equal(bench.given_count[1], 1);
    bench_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_part_is_refused),
        cmocka_unit_test(a_home_claims_its_part_and_more_as_it_grows),
        cmocka_unit_test(what_a_part_lacks_is_given_to_who_has_spawned_it),
        cmocka_unit_test(what_a_rank_has_not_spawned_it_gives_back),
        cmocka_unit_test(what_nobody_has_spawned_ends_when_nothing_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
