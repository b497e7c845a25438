/* cancel_test.c - a cancel reaches whoever decides, and what has been seen stays. */
#include "tests/unit/bench.h"

static void cancel(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_CANCEL, .hash = hash};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void kill_rank(uint32_t rank)
{
    bench.crashed[rank] = bench.deaf[rank] = true;
    for (uint32_t each = 0; each < bench.size; each++) {
        if (!bench.crashed[each]) {
            certify_at(each, rank);
        }
    }
    pass(200 * MS);
}

static uint32_t chair_without(moot_hash hash, uint32_t dead, uint32_t also_dead)
{
    struct rankset members = {0};
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (rank != dead && rank != also_dead) {
            rankset_add(&members, rank);
        }
    }
    return placement_chair(&hash, &members, NULL);
}

/* Chaired by 0, then by `second`, and then by neither of two. */
static moot_hash chaired_in_turn(uint32_t second, uint32_t not_third, uint32_t nor)
{
    for (int n = 0;; n++) {
        moot_hash hash = chaired_by(0, n, 0);
        uint32_t third = chair_without(hash, 0, second);
        if (chair_without(hash, 0, 0) == second && third != not_third && third != nor) {
            return hash;
        }
    }
}

static void where_nobody_has_spawned_it_it_waits_at_the_chair(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash hash = chaired_by(0, 0, 0);
    cancel(2, hash);
    deliver_all();
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(rank, 1, hash);
    }
    begin_wait(1, hash);
    settle();
    assert_int_equal(bench.ended[1][1], 1);
    assert_int_equal(bench.runs[1], 0);
    bench_close();
}

/* The winner must know it before it could start. */
static void a_decision_brings_it(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash hash = chaired_by(0, 0, 0);
    spawn(1, 1, hash);
    cancel(2, hash);
    begin_wait(1, hash);
    deliver_all();
    set_lane(2, CORE_LANE_PARKED);
    set_lane(0, CORE_LANE_BLOCKED);
    settle();
    assert_int_equal(bench.ended[1][1], 1);
    assert_int_equal(bench.runs[1], 0);
    assert_int_equal(core_stats(bench.core[1])->owned_by_decision, 1);
    bench_close();
}

/* Rank 2 lacks it and takes its finder, who lacks it as well, for its chair. */
static void a_finder_passes_it_on(void **state)
{
    (void)state;
    bench_open(4, CORE_REPAIR);
    const struct rankset only = {.low = 1};
    moot_hash hash = chaired_by(3, 0, MOOT_HASH_CANDIDATES);
    cancel(2, hash);
    deliver_all();
    bench.holds[0][1] = true; /* no gossip is needed */
    struct core_register reg = {.candidates = &only, .input_count = 1};
    moot_hash input = chaired_by(1, 0, 0);
    reg.inputs = &input;
    assert_int_equal(spawn_with(0, 1, hash, reg), MOOT_OK);
    deliver_all();
    let_go(0, 1);
    spawn(1, 2, input);
    begin_wait(0, hash);
    settle();
    assert_int_equal(bench.ended[0][1], 1);
    assert_int_equal(bench.runs[1], 0);
    bench_close();
}

/* The only chair that knew of it dies before anybody else has spawned the task. */
static void the_next_chair_is_told(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, 10 * MS);
    moot_hash hash = chaired_in_turn(1, 0, 0);
    cancel(2, hash);
    pass(5 * MS);
    kill_rank(0);
    for (uint32_t rank = 1; rank < 4; rank++) {
        spawn(rank, 1, hash);
    }
    begin_wait(3, hash);
    pass(100 * MS);
    assert_int_equal(bench.ended[3][1], 1);
    assert_int_equal(bench.runs[1], 0);
    bench_close();
}

/* Rank 1 knows that it ended well on rank 0, which is dead; nobody has the bytes. */
static moot_hash seen_and_lost(uint32_t second)
{
    bench_open_with(5, CORE_REPAIR, 10 * MS);
    moot_hash hash = chaired_in_turn(second, 1, 2);
    for (uint32_t rank = 0; rank < 5; rank++) {
        spawn(rank, 1, hash);
    }
    begin_wait(1, hash);
    pass(50 * MS);
    assert_int_equal(bench.ended[1][1], 1);
    end_wait(1, hash);
    assert_true(core_release(bench.core[1], &hash, NULL, 0));
    cancel(2, hash);
    pass(5 * MS);
    return hash;
}

static void what_somebody_has_seen_is_made_again(void **state)
{
    (void)state;
    moot_hash hash = seen_and_lost(3);
    kill_rank(0);
    begin_wait(4, hash);
    pass(100 * MS);
    assert_int_equal(bench.ended[4][1], 1);
    assert_int_equal(bench.runs[1], 2);
    bench_close();
}

/* Its second owner dies before it has made it; the third hears of it all the same. */
static void and_in_every_view_after(void **state)
{
    (void)state;
    moot_hash hash = seen_and_lost(3);
    bench.hold_runs = true;
    kill_rank(0);
    assert_int_equal(bench.runs[1], 2);
    assert_int_equal(bench.told_of_cancel[1], 0); /* who made it again */
    bench.hold_runs = false;
    kill_rank(3);
    begin_wait(4, hash);
    pass(100 * MS);
    assert_int_equal(bench.ended[4][1], 1);
    assert_int_equal(bench.runs[1], 3);
    bench_close();
}

/* What ends in an error keeps its bytes, so that nobody knows of an end that is gone.
 */
static void the_end_of_a_cancelled_task_is_kept(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash hash = chaired_by(0, 0, 0);
    cancel(0, hash);
    spawn(0, 1, hash);
    spawn(1, 1, hash);
    begin_wait(1, hash);
    settle();
    end_wait(1, hash);
    struct core_task_view view;
    assert_true(core_task_look(bench.core[1], &hash, &view));
    assert_int_equal(view.status, MOOT_ERR_CANCELLED);
    rankset_release(&view.asked_by);
    rankset_release(&view.holders);
    assert_false(core_release(bench.core[1], &hash, NULL, 0));
    bench_close();
}

/* A once task that waits for its voters ends cancelled when they have accepted. */
static void a_cancelled_once_task_takes_its_quorum(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash hash = chaired_by(0, 0, MOOT_HASH_ONCE);
    spawn(0, 1, hash);
    cancel(0, hash);
    spawn(1, 1, hash);
    begin_wait(1, hash);
    settle();
    assert_int_equal(bench.ended[1][1], 1);
    assert_int_equal(bench.runs[1], 0);
    assert_true(sum_sent(MESSAGE_ACK) >= 1);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_nobody_has_spawned_it_it_waits_at_the_chair),
        cmocka_unit_test(a_decision_brings_it),
        cmocka_unit_test(a_finder_passes_it_on),
        cmocka_unit_test(the_next_chair_is_told),
        cmocka_unit_test(what_somebody_has_seen_is_made_again),
        cmocka_unit_test(and_in_every_view_after),
        cmocka_unit_test(the_end_of_a_cancelled_task_is_kept),
        cmocka_unit_test(a_cancelled_once_task_takes_its_quorum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
