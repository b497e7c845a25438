/* drop_round_test.c - between a chunk's offer and its outcome (G5): what is named,
 * asked for or cut meanwhile. */
#include "tests/unit/drop_bench.h"

static void open_all_released(uint32_t size, int count)
{
    bench_open(size, CORE_REPAIR);
    for (uint32_t rank = 0; rank < size; rank++) {
        spawn_all(rank, count);
        let_go_all(rank, count);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
}

/* Two chunks, of which the first feeds the second. */
static void spawn_fed(uint32_t rank)
{
    const moot_hash input = task(0);
    const struct core_register taker = {.inputs = &input, .input_count = 1};
    for (int i = 0; i < 16; i++) {
        struct core_register reg = i == 8 ? taker : (struct core_register){0};
        assert_int_equal(spawn_with(rank, i, task(i), reg), MOOT_OK);
    }
}

/* All that a round asks for is kept from the program, not only what was asked first.
 * The first chunk feeds the second, and is asked for with it. */
static void every_chunk_that_is_leaving_is_known(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    const moot_hash input = task(0), last = task(15);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_fed(rank);
        let_go_all(rank, 16);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass_until(core_is_leaving, 1, &last);
    assert_true(core_is_leaving(bench.core[1], &input));
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 16);
    }
    close_all();
    bench_close();
}

/* Rank 2 wants a result again before it is asked; rank 1, whose it is, hears of that
 * after it was, and answers when it knows that the chunk stays. */
static void what_comes_while_it_is_leaving_is_answered(void **state)
{
    (void)state;
    open_all_released(3, 8);
    pass_until_leaving(1);
    bench.holds[0][1] = true;
    begin_wait(2, task(1));
    settle_until(bench.now + 20 * MS);
    assert_int_equal(bench.ended[2][1], 0);
    let_go(0, 1);
    deliver_all();
    assert_int_equal(bench.ended[2][1], 1);
    end_wait(2, task(1));
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 8);
    }
    assert_int_equal(bench.runs[1], 1);
    close_all();
    bench_close();
}

/* The rank that counts does not agree itself, and cuts the chunk while another has yet
 * to answer: they hear an outcome all the same, and the pieces are offered. */
static void what_is_asked_for_may_be_cut_by_who_asks(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, 8);
        let_go_all(rank, rank == 2 ? 7 : 8);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    spawn(0, 5, task(5)); /* it has offered the chunk */
    let_go_all(2, 8);
    pass_until_leaving(1);
    bench.holds[1][0] = true;
    core_press(bench.core[0], 1);
    settle_until(bench.now + 20 * MS);
    const moot_hash kept = task(5);
    assert_true(core_is_leaving(bench.core[1], &kept));
    assert_false(core_is_leaving(bench.core[0], &kept));
    let_go(1, 0);
    settle();
    assert_false(core_is_leaving(bench.core[1], &kept));
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 7);
    }
    let_go_all(0, 8);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 8);
    }
    close_all();
    bench_close();
}

/* The taker stands on the roll of another thread, whose chunk rank 1 has yet to let go.
 */
static void what_feeds_another_lane_waits_for_that(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash input = task(2);
    const struct core_register first = {.inputs = &input, .input_count = 1, .lane = 1};
    const struct core_register other = {.lane = 1};
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn_all(rank, 8);
        for (int i = 8; i < 16; i++) {
            assert_int_equal(spawn_with(rank, i, task(i), i == 8 ? first : other),
                             MOOT_OK);
        }
        let_go_all(rank, rank == 0 ? 16 : 15);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    assert_int_equal(bench.runs[8], 1);
    assert_int_equal(dropped_by(0) + dropped_by(1), 0);
    let_go_all(1, 16);
    settle();
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(dropped_by(rank), 16);
    }
    bench_close();
}

/* The first chunk feeds the second.  Rank 1 lets the first go while rank 2 has yet to
 * answer for the second: it is asked for once that is gone, without further news. */
static void what_fed_the_last_round_goes_in_the_next(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    const moot_hash input = task(0), last = task(15);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_fed(rank);
        for (int i = 15; i >= (rank == 1 ? 1 : 0); i--) {
            moot_hash hash = task(i);
            core_let_go(bench.core[rank], &hash, NULL);
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass_until(core_is_leaving, 2, &last);
    bench.holds[2][0] = true;
    core_let_go(bench.core[1], &input, NULL);
    settle_until(bench.now + 20 * MS);
    assert_int_equal(dropped_by(0), 0);
    let_go(2, 0);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 16);
    }
    close_all();
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    bench.drops = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_that_is_leaving_is_known),
        cmocka_unit_test(what_comes_while_it_is_leaving_is_answered),
        cmocka_unit_test(what_is_asked_for_may_be_cut_by_who_asks),
        cmocka_unit_test(what_feeds_another_lane_waits_for_that),
        cmocka_unit_test(what_fed_the_last_round_goes_in_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
