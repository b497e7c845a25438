/* referral_test.c - a large result is fetched from whom its owner refers to (T11). */
#include "tests/unit/bench.h"

#include "proto/limits.h"

enum { LARGE_BYTES = 100000 };

/* Rank 0 has run a task that the others hold nothing of. */
static moot_hash open_with_result(uint32_t ranks, uint32_t fanout,
                                  uint64_t heartbeat_ns)
{
    bench.tree_fanout = fanout;
    bench_open_with(ranks, CORE_REPAIR, heartbeat_ns);
    bench.result_bytes = LARGE_BYTES;
    moot_hash hash = chaired_by(0, 0, 0);
    spawn(0, 1, hash);
    assert_int_equal(bench.runs[1], 1);
    for (uint32_t rank = 1; rank < ranks; rank++) {
        enter(rank, 1, hash);
    }
    return hash;
}

static void wait_for_it(uint32_t rank, moot_hash hash)
{
    begin_wait(rank, hash);
    pass(5 * MS);
}

static bool has_it(uint32_t rank, moot_hash hash)
{
    struct core_task_view view;
    assert_true(core_task_look(bench.core[rank], &hash, &view));
    const bool has = view.have == CORE_HAVE_DATA;
    core_task_view_release(&view);
    return has;
}

static uint64_t relayed(uint32_t rank)
{
    return core_stats(bench.core[rank])->results_relayed;
}

static uint64_t referred(void) { return core_stats(bench.core[0])->referred; }

static void an_owner_sends_it_as_often_as_it_may(void **state)
{
    (void)state;
    moot_hash hash = open_with_result(6, 2, 0);
    for (uint32_t rank = 1; rank < 6; rank++) {
        wait_for_it(rank, hash);
        assert_true(has_it(rank, hash));
    }
    assert_int_equal(referred(), 3);
    assert_int_equal(relayed(1) + relayed(2), 3);
    assert_true(relayed(1) <= 2 && relayed(2) <= 2);
    bench_close();
}

static void without_a_fan_out_it_sends_it_to_all(void **state)
{
    (void)state;
    moot_hash hash = open_with_result(5, 0, 0);
    for (uint32_t rank = 1; rank < 5; rank++) {
        wait_for_it(rank, hash);
        assert_true(has_it(rank, hash));
    }
    assert_int_equal(referred(), 0);
    bench_close();
}

static void little_goes_first_hand(void **state)
{
    (void)state;
    bench.tree_fanout = 1;
    bench_open(5, CORE_REPAIR);
    moot_hash hash = chaired_by(0, 0, 0);
    spawn(0, 1, hash);
    for (uint32_t rank = 1; rank < 5; rank++) {
        enter(rank, 1, hash);
        wait_for_it(rank, hash);
        assert_true(has_it(rank, hash));
    }
    assert_int_equal(referred(), 0);
    bench_close();
}

/* Rank 1's bytes are under way, and rank 2 waits for them at rank 1. */
static moot_hash wait_in_line(void)
{
    moot_hash hash = open_with_result(3, 1, 0);
    bench.holds[0][1] = true;
    wait_for_it(1, hash);
    wait_for_it(2, hash);
    assert_int_equal(referred(), 1);
    assert_false(has_it(1, hash));
    assert_false(has_it(2, hash));
    return hash;
}

static void who_waits_itself_passes_it_on_when_it_comes(void **state)
{
    (void)state;
    moot_hash hash = wait_in_line();
    let_go(0, 1);
    deliver_all();
    assert_true(has_it(1, hash));
    assert_true(has_it(2, hash));
    assert_int_equal(relayed(1), 1);
    bench_close();
}

static void parts_are_passed_on_as_they_come(void **state)
{
    (void)state;
    (void)open_with_result(3, 1, 0);
    const moot_hash hash = chaired_by(0, 1, 0);
    bench.result_bytes = 4 * (uint64_t)LIMIT_PART_BYTES;
    spawn(0, 2, hash);
    enter(1, 2, hash);
    enter(2, 2, hash);
    bench.holds[0][1] = true;
    wait_for_it(1, hash);
    wait_for_it(2, hash);
    let_go(0, 1);
    deliver_all();
    assert_true(has_it(1, hash));
    assert_true(has_it(2, hash));
    assert_int_equal(core_stats(bench.core[1])->sent[MESSAGE_RESULT], 4);
    bench_close();
}

static void who_gives_its_wait_up_keeps_nobody_waiting(void **state)
{
    (void)state;
    moot_hash hash = wait_in_line();
    end_wait(1, hash);
    pass(5 * MS);
    assert_true(has_it(2, hash));
    assert_int_equal(relayed(1), 0);
    let_go(0, 1);
    pass(5 * MS);
    bench_close();
}

static void who_has_let_it_go_sends_back_to_the_owner(void **state)
{
    (void)state;
    moot_hash hash = open_with_result(3, 1, 0);
    wait_for_it(1, hash);
    end_wait(1, hash);
    assert_true(core_release(bench.core[1], &hash, NULL, 0));
    wait_for_it(2, hash);
    assert_true(has_it(2, hash));
    assert_int_equal(referred(), 1);
    assert_int_equal(relayed(1), 0);
    bench_close();
}

static void a_rank_that_dies_between_is_done_without(void **state)
{
    (void)state;
    moot_hash hash = open_with_result(4, 1, 10 * MS);
    set_lane(0, CORE_LANE_BLOCKED);
    bench.holds[0][1] = true;
    wait_for_it(1, hash);
    wait_for_it(2, hash);
    wait_for_it(3, hash); /* 3 waits for 2, and 2 for 1 */
    assert_int_equal(referred(), 2);
    bench.crashed[1] = bench.deaf[1] = true;
    bench.holds[0][1] = false;
    for (uint32_t rank = 0; rank < 4; rank++) {
        if (rank != 1) {
            certify_at(rank, 1);
        }
    }
    pass(200 * MS);
    assert_true(has_it(2, hash));
    assert_true(has_it(3, hash));
    bench_close();
}

/* A referral that was under way when its view ended is an offer: rank 2 asks the owner,
 * whose list begins anew. */
static void a_referral_of_another_view_is_not_followed(void **state)
{
    (void)state;
    moot_hash hash = open_with_result(4, 1, 10 * MS);
    set_lane(0, CORE_LANE_BLOCKED);
    set_lane(3, CORE_LANE_BLOCKED);
    wait_for_it(1, hash);
    bench.holds[0][2] = true;
    wait_for_it(2, hash);
    assert_int_equal(referred(), 1);
    bench.crashed[3] = bench.deaf[3] = true;
    certify_at(0, 3);
    certify_at(1, 3);
    certify_at(2, 3);
    pass(5 * MS);
    let_go(0, 2);
    const uint64_t before = relayed(1);
    pass(200 * MS);
    assert_true(has_it(2, hash));
    assert_int_equal(relayed(1), before);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_sends_it_as_often_as_it_may),
        cmocka_unit_test(without_a_fan_out_it_sends_it_to_all),
        cmocka_unit_test(little_goes_first_hand),
        cmocka_unit_test(who_waits_itself_passes_it_on_when_it_comes),
        cmocka_unit_test(parts_are_passed_on_as_they_come),
        cmocka_unit_test(who_gives_its_wait_up_keeps_nobody_waiting),
        cmocka_unit_test(who_has_let_it_go_sends_back_to_the_owner),
        cmocka_unit_test(a_rank_that_dies_between_is_done_without),
        cmocka_unit_test(a_referral_of_another_view_is_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
