/* lot_test.c - what all let go of leaves task by task where ranks differ (G6). */
#include "tests/unit/drop_bench.h"

enum { TASKS = 64, AFTER = 4, PASS = 16 };

static void let_go_one(uint32_t rank, int number)
{
    moot_hash hash = task(number);
    core_let_go(bench.core[rank], &hash, NULL);
}

static void spawn_and_let_go(uint32_t rank, int number)
{
    spawn(rank, number, task(number));
    let_go_one(rank, number);
}

/* Each pair the other way round on odd ranks. */
static int place_of_task(uint32_t rank, int i) { return rank % 2 == 1 ? i ^ 1 : i; }

static void block_all(void)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        set_lane(rank, CORE_LANE_BLOCKED);
    }
}

static int forgotten_on(uint32_t rank)
{
    int count = 0;
    for (int i = 0; i < TASKS; i++) {
        count += bench.forgotten[rank][i];
    }
    return count;
}

static void close_and_check(void)
{
    close_all();
    for (int i = 0; i < TASKS; i++) {
        assert_true(bench.runs[i] <= 1);
    }
    bench_close();
}

static void what_ranks_spawn_in_another_order_is_dropped(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 4; size++) {
        bench_open(size, CORE_REPAIR);
        for (uint32_t rank = 0; rank < size; rank++) {
            for (int i = 0; i < TASKS; i++) {
                spawn_and_let_go(rank, place_of_task(rank, i));
            }
        }
        block_all();
        settle();
        for (uint32_t rank = 0; rank < size; rank++) {
            assert_true(tasks_of(rank) < TASKS / 4);
        }
        assert_int_equal(sum_sent(MESSAGE_MOTION), 0);
        close_and_check();
    }
}

/* Rank 1 leaves one out, which rank `chair` chairs. */
static void leave_out(int number)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        for (int i = 0; i < TASKS; i++) {
            if (rank != 1 || i != number) {
                spawn_and_let_go(rank, i);
            }
        }
    }
    block_all();
    settle();
}

static void who_lacks_a_task_passes_it(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    leave_out(6); /* rank 0 chairs it */
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_true(tasks_of(rank) < TASKS / 2);
    }
    assert_true(bench.forgotten[0][6] && bench.forgotten[2][6]);
    assert_int_equal(bench.runs[6], 1);
    close_and_check();
}

/* Nobody waits for it, so nobody would ask the chair before it has closed. */
static void a_chair_that_has_passed_a_task_yields_it(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    leave_out(7); /* rank 1 chairs it */
    assert_int_equal(bench.runs[7], 1);
    assert_int_not_equal(bench.ran_on[7], 1);
    close_and_check();
}

static void what_a_slow_rank_lacks_stays(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    for (int i = 0; i < TASKS; i++) {
        spawn_and_let_go(0, i);
    }
    for (int i = 0; i < 16; i++) {
        spawn_and_let_go(1, place_of_task(1, i));
    }
    set_lane(0, CORE_LANE_BLOCKED);
    settle();
    for (int i = 16; i < TASKS; i++) {
        assert_false(bench.forgotten[0][i]);
    }
    for (int i = 16; i < TASKS; i++) {
        spawn_and_let_go(1, place_of_task(1, i));
    }
    block_all();
    settle();
    assert_true(forgotten_on(0) > TASKS / 2);
    close_and_check();
}

/* Rank 1 runs a few that stand far behind for others; its program has not come there.
 */
static void who_adopts_a_task_has_not_passed_those_before(void **state)
{
    (void)state;
    enum { COME_TO = 16 };
    const struct core_register adopts = {.flags = CORE_TASK_ADOPTED};
    bench_open(2, CORE_REPAIR);
    for (int i = 0; i < TASKS; i++) {
        spawn_and_let_go(0, i);
    }
    for (int i = 0; i < COME_TO; i++) {
        spawn_and_let_go(1, place_of_task(1, i));
    }
    for (int i = COME_TO + 2 * PASS; i < TASKS; i++) {
        assert_int_equal(spawn_with(1, i, task(i), adopts), MOOT_OK);
    }
    set_lane(0, CORE_LANE_BLOCKED);
    settle();
    for (int i = COME_TO; i < TASKS; i++) {
        assert_false(bench.forgotten[0][i]);
    }
    for (int i = COME_TO; i < TASKS; i++) {
        spawn_and_let_go(1, place_of_task(1, i));
    }
    close_and_check();
}

static void what_a_rank_uses_stays_and_the_rest_goes(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (int i = 0; i < TASKS; i++) {
            int number = place_of_task(rank, i);
            spawn(rank, number, task(number));
            if (rank == 0 || number != 2) {
                let_go_one(rank, number);
            }
        }
    }
    block_all();
    settle();
    assert_false(bench.forgotten[0][2] || bench.forgotten[1][2]);
    assert_true(bench.forgotten[0][3] && bench.forgotten[1][3]);
    begin_wait(1, task(2));
    settle();
    assert_int_equal(bench.ended[1][2], 1);
    end_wait(1, task(2));
    close_and_check();
}

static void what_is_spawned_again_is_new_or_refused(void **state)
{
    (void)state;
    const struct core_register reg = {.flags = CORE_TASK_ONCE};
    bench_open(2, CORE_REPAIR);
    const moot_hash once = hash_of(1, 0, MOOT_HASH_ONCE);
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (int i = 0; i < TASKS; i++) {
            int number = place_of_task(rank, i);
            if (number != 1) {
                spawn_and_let_go(rank, number);
            } else if (rank == 0) {
                spawn(0, 1, once);
                core_let_go(bench.core[0], &once, NULL);
            }
        }
    }
    block_all();
    settle();
    assert_true(bench.forgotten[0][1] && bench.forgotten[0][2]);
    assert_int_equal(bench.runs[1], 1);
    set_lane(1, CORE_LANE_RUNNING);
    assert_int_equal(spawn_with(1, 1, once, reg), MOOT_ERR_RESULT_LOST);
    spawn_and_let_go(1, 2);
    set_lane(1, CORE_LANE_BLOCKED);
    close_all();
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.runs[2], 2);
    bench_close();
}

static void spawn_differing(int count)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        for (int i = 0; i < count; i++) {
            spawn_and_let_go(rank, place_of_task(rank, i));
        }
    }
}

/* Rank 1 has not objected, and uses the task again before it is to bind itself.  Of
 * three the last answer is another's. */
static void who_uses_a_task_again_in_time_keeps_it(void **state)
{
    (void)state;
    enum { AGAIN = 6 }; /* rank 0 chairs it */
    for (uint32_t size = 2; size <= 3; size++) {
        bench_open(size, CORE_REPAIR);
        spawn_differing(TASKS);
        moot_hash hash = task(AGAIN);
        pass_until(core_is_leaving, 0, &hash);
        assert_false(core_is_leaving(bench.core[1], &hash));
        spawn(1, AGAIN, hash);
        block_all();
        settle();
        for (uint32_t rank = 0; rank < size; rank++) {
            assert_false(bench.forgotten[rank][AGAIN]);
        }
        close_and_check();
    }
}

/* Nobody says which tasks it lacks, so rank 0 would push its results to the end. */
static void what_lanes_waited_for_is_kept_for_few(void **state)
{
    (void)state;
    enum { MANY = 200 };
    bench_open(2, CORE_REPAIR);
    spawn_differing(TASKS);
    settle();
    for (int i = 0; i < MANY; i++) {
        moot_hash hash = hash_of(TASKS + i, 0, 0);
        spawn(0, 0, hash);
        begin_wait(0, hash);
        end_wait(0, hash);
    }
    close_all();
    bench_close();
}

static void go_on(int from, int to)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        for (int i = from; i < to; i++) {
            spawn_and_let_go(rank, i);
        }
    }
    settle();
}

/* Rank 2 tells the chair, rank 1, that it holds a once task; rank 0 runs that. */
static void what_is_on_its_way_keeps_a_lot(void **state)
{
    (void)state;
    enum { BEFORE = 32, ASKED = 48 };
    bench_open(3, CORE_REPAIR);
    const moot_hash once = hash_of(7, 1, MOOT_HASH_ONCE);
    bench.holds[2][1] = true;
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int i = 0; i < BEFORE; i++) {
            if (i != 7) {
                spawn_and_let_go(rank, i);
            } else if (rank != 1) {
                spawn(rank, 7, once);
                core_let_go(bench.core[rank], &once, NULL);
            }
        }
    }
    block_all();
    settle();
    assert_int_equal(bench.runs[7], 1);
    assert_int_equal(bench.ran_on[7], 0);
    go_on(BEFORE, ASKED);
    assert_false(bench.forgotten[0][7] || bench.forgotten[2][7]);
    let_go(2, 1);
    go_on(ASKED, TASKS);
    assert_true(bench.forgotten[0][7] && bench.forgotten[2][7]);
    close_and_check();
}

/* Rank 0 tells rank 1 that a lot is dropped, and dies before it tells rank 2. */
static void who_missed_the_outcome_asks_in_the_next_view(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    spawn_differing(TASKS);
    moot_hash hash = task(3); /* rank 0 chairs it */
    pass_until(core_is_leaving, 2, &hash);
    bench.holds[0][2] = true;
    for (int i = 0; i < 400 && !bench.forgotten[1][3]; i++) {
        pass(MS / 4);
    }
    assert_true(bench.forgotten[1][3]);
    assert_false(bench.forgotten[2][3]);
    bench.crashed[0] = bench.deaf[0] = true;
    certify_at(1, 0);
    certify_at(2, 0);
    pass(200 * MS);
    assert_int_equal(bench.epoch[2], 2);
    assert_true(bench.forgotten[2][3]);
    assert_int_equal(bench.runs[3], 1);
    close_rank(1);
    close_rank(2);
    pass(500 * MS);
    assert_true(bench.adjourned[1] && bench.adjourned[2]);
    bench_close();
}

/* Rank 0 tells rank 3 alone: rank 1, the lowest then, does not know either. */
static void nobody_who_missed_the_outcome_guesses_it(void **state)
{
    (void)state;
    enum { GONE = 4 }; /* rank 0 chairs it */
    bench_open_with(4, CORE_REPAIR, 10 * MS);
    spawn_differing(TASKS);
    moot_hash hash = task(GONE);
    pass_until(core_is_leaving, 1, &hash);
    pass_until(core_is_leaving, 2, &hash);
    bench.holds[0][1] = bench.holds[0][2] = true;
    for (int i = 0; i < 400 && !bench.forgotten[3][GONE]; i++) {
        pass(MS / 4);
    }
    assert_true(bench.forgotten[3][GONE]);
    assert_false(bench.forgotten[1][GONE] || bench.forgotten[2][GONE]);
    bench.crashed[0] = bench.deaf[0] = true;
    for (uint32_t rank = 1; rank < 4; rank++) {
        certify_at(rank, 0);
    }
    pass(200 * MS);
    assert_true(bench.forgotten[1][GONE] && bench.forgotten[2][GONE]);
    assert_int_equal(bench.runs[GONE], 1);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    bench.drops = true;
    bench.lot_after = AFTER;
    bench.pass_after = PASS;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ranks_spawn_in_another_order_is_dropped),
        cmocka_unit_test(who_lacks_a_task_passes_it),
        cmocka_unit_test(a_chair_that_has_passed_a_task_yields_it),
        cmocka_unit_test(what_a_slow_rank_lacks_stays),
        cmocka_unit_test(who_adopts_a_task_has_not_passed_those_before),
        cmocka_unit_test(what_a_rank_uses_stays_and_the_rest_goes),
        cmocka_unit_test(what_is_spawned_again_is_new_or_refused),
        cmocka_unit_test(who_uses_a_task_again_in_time_keeps_it),
        cmocka_unit_test(what_lanes_waited_for_is_kept_for_few),
        cmocka_unit_test(what_is_on_its_way_keeps_a_lot),
        cmocka_unit_test(who_missed_the_outcome_asks_in_the_next_view),
        cmocka_unit_test(nobody_who_missed_the_outcome_guesses_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
