/* quiet_test.c - when nothing moves any more (PROTOCOL.md, QUIET): which wait ends, and
 * which go on. */
#include "bench.h"

enum { MISSING = 1, LATE = 2, OTHER = 3 };

/* The host has an entry of what it waits for. */
static void wait_for(uint32_t rank, int number, moot_hash hash)
{
    void *entry = core_enter(bench.core[rank], &hash);
    assert_non_null(entry);
    core_entry_set_user(bench.core[rank], entry, &numbers[number]);
    begin_wait(rank, hash);
}

static void pass_until_a_wait_has_ended(void)
{
    for (int i = 0; i < 10000; i++) {
        if (bench.ended[0][MISSING] != 0 || bench.ended[1][LATE] != 0) {
            return;
        }
        settle_until(bench.now + MS / 50);
    }
}

static void check_who_goes_on(moot_hash missing, moot_hash late)
{
    spawn(1, OTHER, chaired_by(1, 9, 0));
    wait_for(0, MISSING, missing);
    wait_for(1, LATE, late);
    set_lane(2, CORE_LANE_BLOCKED);
    pass_until_a_wait_has_ended();
    assert_int_equal(bench.ended[0][MISSING], MOOT_ERR_NOT_HELD);
    assert_int_equal(bench.ended[1][LATE], 0);
    end_wait(0, missing);
    spawn(0, LATE, late);
    set_lane(0, CORE_LANE_BLOCKED);
    settle();
    assert_int_equal(bench.ended[1][LATE], 1);
}

/* Rank 0 waits for what nobody holds, and would then spawn what rank 1 waits for, which
 * has come farther.  Whoever their chairs are, and whichever hash is the lower. */
static void the_wait_of_who_has_come_least_far_ends(void **state)
{
    (void)state;
    for (uint32_t direct_max = 0; direct_max < 2; direct_max++) {
        bench.direct_max = direct_max; /* 1: polls go along a tree */
        for (uint32_t row = 0; row < 18; row++) {
            bench_open(3, CORE_REPAIR);
            moot_hash one = chaired_by(row % 3, 0, 0);
            moot_hash two = chaired_by(row / 3 % 3, 1, 0);
            check_who_goes_on(row < 9 ? one : two, row < 9 ? two : one);
            bench_close();
        }
    }
    bench.direct_max = 0;
}

int main(void)
{
    numbers_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wait_of_who_has_come_least_far_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
