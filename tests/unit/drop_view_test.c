/* drop_view_test.c - what is dropped before its scope ends, and new views (G5). */
#include "tests/unit/drop_bench.h"

static void open_with_views(void)
{
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, 8);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(20 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        let_go_all(rank, 8);
    }
}

static void kill_the_lowest(void)
{
    bench.crashed[0] = true;
    bench.deaf[0] = true;
    certify_at(1, 0);
    certify_at(2, 0);
    pass(200 * MS);
    assert_int_equal(bench.epoch[1], 2);
    assert_int_equal(bench.epoch[2], 2);
}

/* Rank 0 tells rank 1 that the chunk is dropped, and dies before it tells rank 2. */
static void who_missed_the_outcome_asks_in_the_next_view(void **state)
{
    (void)state;
    open_with_views();
    pass_until_leaving(2);
    bench.holds[0][2] = true;
    for (int i = 0; i < 40 && dropped_by(1) == 0; i++) {
        pass(MS / 4);
    }
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(dropped_by(2), 0);
    uint64_t before = sum_sent(MESSAGE_RELEASED);
    kill_the_lowest();
    assert_int_equal(dropped_by(2), 8);
    assert_int_equal(tasks_of(1), 0);
    assert_int_equal(tasks_of(2), 0);
    assert_int_equal(sum_sent(MESSAGE_RELEASED), before + 2); /* DOUBT, DROP */
    close_rank(1);
    close_rank(2);
    pass(500 * MS);
    assert_true(bench.adjourned[1] && bench.adjourned[2]);
    bench_close();
}

/* Rank 2 alone has heard it, and rank 1, which counts now, asks it. */
static void who_counts_now_asks_who_has_dropped_it(void **state)
{
    (void)state;
    open_with_views();
    pass_until_leaving(1);
    bench.holds[0][1] = true;
    for (int i = 0; i < 40 && dropped_by(2) == 0; i++) {
        pass(MS / 4);
    }
    assert_int_equal(dropped_by(1), 0);
    assert_int_equal(dropped_by(2), 8);
    kill_the_lowest();
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(tasks_of(1) + tasks_of(2), 0);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(bench.runs[i], 1);
    }
    close_rank(1);
    close_rank(2);
    pass(500 * MS);
    assert_true(bench.adjourned[1] && bench.adjourned[2]);
    bench_close();
}

/* So it does among three, of which another answers last. */
static void one_who_has_dropped_it_is_enough(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, 10 * MS);
    for (uint32_t rank = 0; rank < 4; rank++) {
        spawn_all(rank, 8);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(20 * MS);
    for (uint32_t rank = 0; rank < 4; rank++) {
        let_go_all(rank, 8);
    }
    pass_until_leaving(1);
    pass_until_leaving(3);
    bench.holds[0][1] = bench.holds[0][3] = true;
    for (int i = 0; i < 40 && dropped_by(2) == 0; i++) {
        pass(MS / 4);
    }
    assert_int_equal(dropped_by(1) + dropped_by(3), 0);
    assert_int_equal(dropped_by(2), 8);
    certify_at(3, 0);
    kill_the_lowest();
    for (uint32_t rank = 1; rank < 4; rank++) {
        assert_int_equal(dropped_by(rank), 8);
        assert_int_equal(tasks_of(rank), 0);
    }
    bench_close();
}

/* 2 has run what comes after a task that failed, and dies.  The failed one is gone, and
 * 1 has taken the other back: who has to run it again does not do so as if all were
 * well. */
static void what_failed_and_is_gone_is_missed(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    moot_hash failed = task(3);
    struct core_event done = {.type = CORE_EV_DONE, .hash = failed};
    done.u.done.status = MOOT_ERR_CANCELLED;
    const struct core_register after = {
        .inputs = &failed, .input_count = 1, .after_count = 1};
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int i = 0; i < 8; i++) {
            bench.hold_runs = i == 3;
            spawn(rank, i, task(i));
        }
        bench.hold_runs = false;
        assert_int_equal(spawn_with(rank, 8, task(8), after), MOOT_OK);
        for (int i = 9; i < 16; i++) {
            spawn(rank, i, task(i));
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    assert_int_equal(step(0, &done), MOOT_OK);
    pass(20 * MS);
    assert_int_equal(bench.runs[8], 1);
    bench.holds[0][1] = true; /* it is asked later */
    for (uint32_t rank = 0; rank < 3; rank++) {
        let_go_all(rank, 16);
    }
    pass_until_leaving(2);
    set_lane(1, CORE_LANE_RUNNING);
    assert_int_equal(spawn_with(1, 8, task(8), after), MOOT_OK);
    set_lane(1, CORE_LANE_BLOCKED);
    let_go(0, 1);
    pass(5 * MS);
    assert_int_equal(dropped_by(0) + dropped_by(1), 16);
    bench.crashed[2] = bench.deaf[2] = true;
    certify_at(0, 2);
    certify_at(1, 2);
    pass(100 * MS);
    assert_int_equal(bench.epoch[0], 2);
    assert_true(bench.ran_on[8] != 2);
    assert_int_equal(bench.runs[8], 1);
    bench_close();
}

/* All have dropped a chunk, spawn it again, and release it; rank 1 takes that back. */
static void drop_and_spawn_again(void)
{
    open_with_views();
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 8);
        set_lane(rank, CORE_LANE_RUNNING);
        spawn_all(rank, 8);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(20 * MS);
}

/* What was kept is of the name of what was dropped before: rank 2, which has not heard
 * that, is told by rank 1. */
static void what_was_kept_is_not_what_was_dropped_before(void **state)
{
    (void)state;
    drop_and_spawn_again();
    bench.holds[0][1] = true; /* it is asked later */
    for (uint32_t rank = 0; rank < 3; rank++) {
        let_go_all(rank, 8);
    }
    pass_until_leaving(2);
    spawn(1, 0, task(0));
    bench.holds[0][2] = true;
    let_go(0, 1);
    pass(5 * MS);
    moot_hash hash = task(0);
    assert_false(core_is_leaving(bench.core[1], &hash));
    assert_true(core_is_leaving(bench.core[2], &hash));
    kill_the_lowest();
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(dropped_by(2), 8);
    assert_int_equal(tasks_of(1), 8);
    assert_int_equal(tasks_of(2), 8);
    bench_close();
}

/* Rank 2 has dropped it and spawned it again, when rank 1 asks for the outcome. */
static void what_was_dropped_is_not_what_was_spawned_since(void **state)
{
    (void)state;
    open_with_views();
    pass_until_leaving(1);
    bench.holds[0][1] = true;
    for (int i = 0; i < 40 && dropped_by(2) == 0; i++) {
        pass(MS / 4);
    }
    assert_int_equal(dropped_by(1), 0);
    spawn_all(2, 8);
    kill_the_lowest();
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(dropped_by(2), 8);
    assert_int_equal(tasks_of(2), 8);
    spawn_all(1, 8);
    pass(50 * MS);
    for (uint32_t rank = 1; rank < 3; rank++) {
        struct core_self_view self;
        core_self_look(bench.core[rank], &self);
        assert_int_equal(self.len, 16);
    }
    bench_close();
}

/* Rank 0 dies before it has all answers: nobody has dropped it, and then both do. */
static void what_was_not_decided_is_decided_anew(void **state)
{
    (void)state;
    open_with_views();
    pass_until_leaving(2);
    moot_hash hash = task(0);
    bench.deaf[0] = true;
    assert_int_equal(dropped_by(1) + dropped_by(2), 0);
    kill_the_lowest();
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(dropped_by(2), 8);
    assert_false(core_is_leaving(bench.core[2], &hash));
    for (int i = 0; i < 8; i++) { /* what only rank 0 had is made again */
        assert_int_equal(bench.runs[i], i % 3 == 0 ? 2 : 1);
    }
    close_rank(1);
    close_rank(2);
    pass(500 * MS);
    assert_true(bench.adjourned[1] && bench.adjourned[2]);
    bench_close();
}

/* A task that rank 0 has yielded, and that is rank 1's to decide after it. */
static moot_hash yielded_and_left(void)
{
    for (int n = 8;; n += 8) {
        moot_hash hash = hash_of(100 * n, 0, 0);
        struct rankset rest = {0};
        rankset_add(&rest, 1);
        rankset_add(&rest, 2);
        uint32_t chair = placement_chair(&hash, &rest, NULL);
        rankset_release(&rest);
        if (chair == 1) {
            return hash;
        }
    }
}

/* Rank 2 has run what rank 0 yielded to it, and has agreed to drop it.  It stays, and
 * is reported then: rank 1 does not have it made again. */
static void what_was_leaving_and_stays_is_reported(void **state)
{
    (void)state;
    const struct core_register hint = {.flags = CORE_TASK_HINT};
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    const moot_hash given = yielded_and_left();
    assert_int_equal(spawn_with(2, 0, given, hint), MOOT_OK);
    pass(5 * MS);
    assert_int_equal(bench.runs[0], 1);
    assert_int_equal(bench.ran_on[0], 2);
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int i = 0; i < 8; i++) {
            if (i > 0 || rank != 2) {
                spawn(rank, i, i > 0 ? task(i) : given);
            }
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(20 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        let_go_all(rank, 8);
        core_let_go(bench.core[rank], &given, NULL);
    }
    pass_until(core_is_leaving, 2, &given);
    kill_the_lowest();
    assert_int_equal(bench.runs[0], 1);
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(dropped_by(2), 8);
    bench_close();
}

/* Rank 2 has offered the chunk to rank 0, and offers it to rank 1. */
static void what_was_offered_is_offered_anew(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, 8);
        set_lane(rank, CORE_LANE_BLOCKED);
        let_go_all(rank, rank == 1 ? 7 : 8);
    }
    pass(50 * MS);
    kill_the_lowest();
    assert_int_equal(dropped_by(1) + dropped_by(2), 0);
    let_go_all(1, 8);
    pass(50 * MS);
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(dropped_by(2), 8);
    bench_close();
}

/* A task that takes 2 and 9, ran on rank 0, and will be rank 2's. */
static moot_hash orphan_to_be(void)
{
    for (int i = 0;; i++) {
        moot_hash hash = hash_of(100 + 8 * i, 0, 0);
        struct rankset rest = {0};
        rankset_add(&rest, 1);
        rankset_add(&rest, 2);
        uint32_t chair = placement_chair(&hash, &rest, NULL);
        rankset_release(&rest);
        if (chair == 2) {
            return hash;
        }
    }
}

/* One input was dropped, and the other is made again: it cannot run, and says so. */
static void who_lacks_what_was_dropped_ends_with_its_loss(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    const moot_hash orphan = orphan_to_be(), inputs[2] = {task(2), task(9)};
    const moot_hash middle = task(11);
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int i = 0; i < 24; i++) {
            struct core_register reg = {0};
            if (i == 12) {
                reg.inputs = inputs;
                reg.input_count = 2;
            } else if (i == 16) {
                reg.inputs = &middle;
                reg.input_count = 1;
            }
            moot_hash hash = i == 12 ? orphan : task(i);
            assert_int_equal(spawn_with(rank, i, hash, reg), MOOT_OK);
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(20 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        let_go_all(rank, rank == 1 ? 16 : 24); /* 16 is kept, and so what it takes */
        core_let_go(bench.core[rank], &orphan, NULL);
    }
    pass(20 * MS);
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(dropped_by(2), 8);
    assert_int_equal(bench.ran_on[12], 0);
    int runs = bench.runs[12];
    bench.hold_runs = true;
    kill_the_lowest();
    begin_wait(2, orphan); /* it passes its demand on */
    struct core_event done = {.type = CORE_EV_DONE, .hash = task(9)};
    assert_int_equal(step((uint32_t)bench.ran_on[9], &done), MOOT_OK);
    bench.hold_runs = false;
    pass(50 * MS);
    done.hash = orphan;
    done.u.done.status = MOOT_ERR_RESULT_LOST;
    if (bench.ended[2][12] == 0) {
        assert_int_equal(step(2, &done), MOOT_OK);
    }
    assert_int_equal(bench.ended[2][12], 1);
    assert_int_equal(bench.runs[12], runs); /* it was given out with RESULT_LOST */
    end_wait(2, orphan);
    bench_close();
}

/* While a view was decided rank 4 has announced a chunk, and that reaches rank 1 too
 * late to count.  Nobody says so, and it is told again. */
static void what_was_announced_too_late_is_told_again(void **state)
{
    (void)state;
    bench_open_with(5, CORE_REPAIR, 10 * MS);
    for (uint32_t rank = 0; rank < 5; rank++) {
        spawn_all(rank, 8);
        bench.holds[4][1] = true;
    }
    pass(MS / 4);
    bench.crashed[0] = true;
    for (uint32_t rank = 1; rank < 5; rank++) {
        certify_at(rank, 0);
    }
    for (int i = 0; i < 100 && bench.epoch[1] < 2; i++) {
        pass(MS / 4);
    }
    assert_int_equal(bench.epoch[1], 2);
    uint64_t refused = core_stats(bench.core[1])->refused;
    let_go(4, 1);
    assert_true(core_stats(bench.core[1])->refused > refused);
    pass(50 * MS);
    for (uint32_t rank = 1; rank < 5; rank++) {
        for (int i = 8; i < 16; i++) {
            spawn(rank, i, task(i));
        }
        let_go_all(rank, 16);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(200 * MS);
    for (uint32_t rank = 1; rank < 5; rank++) {
        assert_int_equal(dropped_by(rank), 16);
        close_rank(rank);
    }
    pass(500 * MS);
    for (uint32_t rank = 1; rank < 5; rank++) {
        assert_true(bench.adjourned[rank]);
    }
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    bench.drops = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_missed_the_outcome_asks_in_the_next_view),
        cmocka_unit_test(who_counts_now_asks_who_has_dropped_it),
        cmocka_unit_test(one_who_has_dropped_it_is_enough),
        cmocka_unit_test(what_failed_and_is_gone_is_missed),
        cmocka_unit_test(what_was_kept_is_not_what_was_dropped_before),
        cmocka_unit_test(what_was_dropped_is_not_what_was_spawned_since),
        cmocka_unit_test(what_was_not_decided_is_decided_anew),
        cmocka_unit_test(what_was_leaving_and_stays_is_reported),
        cmocka_unit_test(what_was_offered_is_offered_anew),
        cmocka_unit_test(who_lacks_what_was_dropped_ends_with_its_loss),
        cmocka_unit_test(what_was_announced_too_late_is_told_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
