/* lost_test.c - a result that is lost is made again, unless that would give another. */
#include "tests/unit/bench.h"

static void spawn_flagged(uint32_t rank, moot_hash hash, uint32_t flags)
{
    assert_int_equal(spawn_with(rank, 1, hash, (struct core_register){.flags = flags}),
                     MOOT_OK);
}

/* The number is 0 where the rank does not hold it. */
static void wait_and_release_as(uint32_t rank, moot_hash hash, int number)
{
    begin_wait(rank, hash);
    pass(50 * MS);
    assert_int_equal(bench.ended[rank][number], 1);
    end_wait(rank, hash);
    assert_true(core_release(bench.core[rank], &hash, NULL, 0));
}

static void wait_and_release(uint32_t rank, moot_hash hash)
{
    wait_and_release_as(rank, hash, 1);
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

static void wait_for_its_loss(uint32_t rank, moot_hash hash)
{
    bench.ended[rank][1] = 0;
    begin_wait(rank, hash);
    pass(100 * MS);
    assert_int_equal(bench.ended[rank][1], MOOT_ERR_RESULT_LOST);
    end_wait(rank, hash);
}

/* Rank 0 runs it, rank 1 has read its result and released it; then rank 0 dies. */
static moot_hash lose(uint32_t flags)
{
    bench_open_with(4, CORE_REPAIR, 10 * MS);
    moot_hash hash = chaired_by(0, 0, 0);
    for (uint32_t rank = 0; rank < 4; rank++) {
        spawn_flagged(rank, hash, flags);
    }
    wait_and_release(1, hash);
    set_lane(0, CORE_LANE_BLOCKED);
    kill_rank(0);
    return hash;
}

static void a_pure_task_is_run_again(void **state)
{
    (void)state;
    moot_hash hash = lose(0);
    begin_wait(2, hash);
    pass(100 * MS);
    assert_int_equal(bench.ended[2][1], 1);
    assert_int_equal(bench.runs[1], 2);
    assert_true(bench.seen[1]);
    bench_close();
}

static void end_in_failure(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_DONE, .hash = hash};
    event.u.done.size = 8;
    event.u.done.status = MOOT_ERR_TASK_FAILED;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

/* Rank 1 has it, and tells so when 0 has died; then it dies, too. */
static void a_failure_that_was_reported_is_no_lost_result(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, 10 * MS);
    bench.hold_runs = true;
    moot_hash hash = chaired_by(0, 0, 0);
    for (uint32_t rank = 0; rank < 4; rank++) {
        spawn_flagged(rank, hash, 0);
    }
    begin_wait(1, hash);
    pass(10 * MS);
    end_in_failure(0, hash);
    pass(50 * MS);
    assert_int_equal(bench.ended[1][1], 1);
    end_wait(1, hash);
    kill_rank(0);
    kill_rank(1);
    begin_wait(2, hash);
    pass(100 * MS);
    assert_int_equal(bench.runs[1], 2);
    assert_false(bench.seen[1]);
    bench_close();
}

/* The hash is chaired by 0 first, and by 3 once 0 is gone. */
static moot_hash chaired_by_3_then(void)
{
    const struct rankset left = {.low = 14};
    moot_hash hash = chaired_by(0, 0, 0);
    for (int n = 1; placement_chair(&hash, &left, NULL) != 3; n++) {
        hash = chaired_by(0, n, 0);
    }
    return hash;
}

/* Should what it takes be lost, too, it must not end in that error: 2 has seen it end
 * well, without its bytes, and 3, which lacks it, is its chair and yields it to 1. */
static void who_runs_it_again_knows_that_it_ended_well(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, 10 * MS);
    moot_hash hash = chaired_by_3_then();
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn_flagged(rank, hash, 0);
    }
    assert_false(bench.seen[1]);
    struct core_event need = {.type = CORE_EV_NEED, .hash = hash};
    need.u.need.want = WANT_DONE;
    assert_int_equal(step(2, &need), MOOT_OK);
    pass(50 * MS);
    assert_int_equal(bench.ended[2][0], 1);
    kill_rank(0);
    begin_wait(3, hash);
    pass(100 * MS);
    assert_int_equal(bench.ended[3][0], 1);
    assert_int_equal(bench.runs[1], 2);
    assert_int_equal(bench.ran_on[1], 1);
    assert_true(bench.seen[1]);
    bench_close();
}

static void one_that_varies_is_lost_in_every_view_after(void **state)
{
    (void)state;
    moot_hash hash = lose(CORE_TASK_NONDETERMINISTIC);
    for (uint32_t rank = 1; rank < 4; rank++) {
        wait_for_its_loss(rank, hash);
    }
    kill_rank(1); /* the only one that had it */
    for (uint32_t rank = 2; rank < 4; rank++) {
        wait_for_its_loss(rank, hash);
    }
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

/* The chair lacks it, and so does not know that it varies. */
static void a_chair_that_spawns_it_later_has_heard_that_it_is_lost(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, 10 * MS);
    moot_hash hash = chaired_by_3_then();
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn_flagged(rank, hash, CORE_TASK_NONDETERMINISTIC);
    }
    wait_and_release(1, hash);
    kill_rank(0);
    spawn_flagged(3, hash, CORE_TASK_NONDETERMINISTIC);
    wait_for_its_loss(3, hash);
    wait_for_its_loss(1, hash);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

/* Its chair, 1, has read it and lacks it; 3 holds it and has not heard that it ended.
 * 2 ran it, and dies. */
static void who_holds_it_does_not_run_again_what_the_chair_has_read(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, 10 * MS);
    moot_hash hash = chaired_by(1, 0, 0);
    spawn_flagged(2, hash, CORE_TASK_NONDETERMINISTIC);
    wait_and_release_as(1, hash, 0);
    assert_int_equal(bench.ran_on[1], 2);
    spawn_flagged(3, hash, CORE_TASK_NONDETERMINISTIC);
    assert_int_equal(spawn_with(1, 2, chaired_by(1, 1, 0), (struct core_register){0}),
                     MOOT_OK); /* so far 3 has come, too */
    kill_rank(2);
    set_lane(1, CORE_LANE_BLOCKED);
    begin_wait(3, hash);
    pass(100 * MS);
    assert_int_equal(bench.ran_on[1], 3);
    assert_true(bench.seen[1]);
    assert_int_equal(bench.run_code[1], MOOT_ERR_RESULT_LOST);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

static void one_that_nobody_has_read_is_run_again(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    moot_hash hash = chaired_by(0, 0, 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_flagged(rank, hash, CORE_TASK_NONDETERMINISTIC);
    }
    pass(20 * MS);
    assert_int_equal(bench.runs[1], 1);
    kill_rank(0);
    begin_wait(2, hash);
    pass(100 * MS);
    assert_int_equal(bench.ended[2][1], 1);
    assert_int_equal(bench.runs[1], 2);
    bench_close();
}

static void a_copy_is_served_and_the_last_is_kept(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    moot_hash hash = chaired_by(0, 0, 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_flagged(rank, hash, CORE_TASK_NONDETERMINISTIC);
    }
    begin_wait(1, hash);
    pass(50 * MS);
    end_wait(1, hash);
    kill_rank(0);
    assert_false(core_release(bench.core[1], &hash, NULL, 0));
    begin_wait(2, hash);
    pass(100 * MS);
    assert_int_equal(bench.ended[2][1], 1);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pure_task_is_run_again),
        cmocka_unit_test(who_runs_it_again_knows_that_it_ended_well),
        cmocka_unit_test(a_failure_that_was_reported_is_no_lost_result),
        cmocka_unit_test(one_that_varies_is_lost_in_every_view_after),
        cmocka_unit_test(a_chair_that_spawns_it_later_has_heard_that_it_is_lost),
        cmocka_unit_test(who_holds_it_does_not_run_again_what_the_chair_has_read),
        cmocka_unit_test(one_that_nobody_has_read_is_run_again),
        cmocka_unit_test(a_copy_is_served_and_the_last_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
