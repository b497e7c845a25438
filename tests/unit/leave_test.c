/* leave_test.c - going in good order (PROTOCOL.md, "Leaving"), on the bench. */
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

/* Waits of lanes have ended by then. */
static void leave(uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_LEAVE};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void crash(uint32_t rank) { bench.crashed[rank] = true; }

static void finish_run(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_DONE, .hash = hash};
    event.u.done.size = 8;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void assert_in_view(uint32_t rank, uint64_t epoch, uint32_t members)
{
    assert_int_equal(bench.epoch[rank], epoch);
    assert_int_equal(rankset_count(&bench.members[rank]), members);
}

static void spawn_at_all(int number, moot_hash hash)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        spawn(rank, number, hash);
    }
}

static void an_idle_rank_leaves_in_no_time(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 5; size++) {
        for (uint32_t leaver = 0; leaver < size; leaver++) {
            bench_open_with(size, CORE_REPAIR, HEARTBEAT_NS);
            pass(50 * MS);
            leave(leaver);
            pass(20 * MS);
            assert_true(bench.left[leaver]);
            for (uint32_t rank = 0; rank < size; rank++) {
                if (rank != leaver) {
                    assert_in_view(rank, 2, size - 1);
                    assert_false(bench.fenced[rank]);
                }
            }
            bench_close();
        }
    }
}

static void it_takes_no_failure_detection(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    leave(0);
    pass(20 * MS);
    assert_true(bench.left[0]);
    assert_in_view(1, 2, 2);
    bench_close();
}

static void all_may_leave(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 4; rank++) {
        leave(rank);
    }
    pass(100 * MS);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_true(bench.left[rank] || bench.adjourned[rank]);
    }
    bench_close();
}

static void what_it_had_finished_is_not_run_again(void **state)
{
    (void)state;
    for (uint32_t leaver = 0; leaver < 3; leaver++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash a = chaired_by(leaver, 0, 0);
        spawn_at_all(1, a);
        pass(1 * MS);
        assert_int_equal(bench.runs[1], 1);
        leave(leaver);
        pass(30 * MS);
        assert_true(bench.left[leaver]);
        for (uint32_t rank = 0; rank < 3; rank++) {
            if (rank != leaver) {
                begin_wait(rank, a);
            }
        }
        pass(100 * MS);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(bench.ended[rank][1], rank != leaver);
        }
        assert_int_equal(bench.runs[1], 1);
        bench_close();
    }
}

static void results_pass_from_leaver_to_leaver(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(0, 0, 0);
    spawn_at_all(1, a);
    pass(1 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        leave(rank);
        pass(30 * MS);
        assert_true(bench.left[rank]);
    }
    begin_wait(3, a);
    pass(30 * MS);
    assert_int_equal(bench.ended[3][1], 1);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

static void those_who_leave_together_are_no_heirs(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash tasks[4];
    for (int i = 0; i < 4; i++) {
        tasks[i] = chaired_by((uint32_t)i, 0, 0);
        spawn_at_all(1 + i, tasks[i]);
    }
    pass(1 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        leave(rank);
    }
    pass(60 * MS);
    for (int i = 0; i < 4; i++) {
        begin_wait(3, tasks[i]);
        pass(30 * MS);
        assert_int_equal(bench.ended[3][1 + i], 1);
        assert_int_equal(bench.runs[1 + i], 1);
        end_wait(3, tasks[i]);
    }
    bench_close();
}

static void running_work_is_finished_first(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(1, 0, MOOT_HASH_ONCE);
    bench.hold_runs = true;
    spawn_at_all(1, a);
    begin_wait(0, a);
    pass(50 * MS);
    assert_int_equal(bench.ran_on[1], 1);
    leave(1);
    pass(100 * MS);
    assert_false(bench.left[1]);
    finish_run(1, a);
    pass(50 * MS);
    assert_true(bench.left[1]);
    assert_int_equal(bench.ended[0][1], 1);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

/* a at rank 1 waits for b, which runs and runs at rank 0. */
static void open_with_unstarted(moot_hash *a, moot_hash *b, unsigned facts)
{
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    *b = chaired_by(0, 0, 0);
    *a = chaired_by(1, 0, facts);
    bench.hold_runs = true;
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(rank, 1, *b);
        const struct core_register reg = {
            .inputs = b,
            .input_count = 1,
            .flags = facts & MOOT_HASH_ONCE ? CORE_TASK_ONCE : 0};
        assert_int_equal(spawn_with(rank, 2, *a, reg), MOOT_OK);
        begin_wait(rank, *a);
    }
    pass(60 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.runs[2], 0);
}

static void what_it_has_not_started_another_runs(void **state)
{
    (void)state;
    const unsigned facts[] = {0, MOOT_HASH_ONCE};
    for (int i = 0; i < 2; i++) {
        moot_hash a, b;
        open_with_unstarted(&a, &b, facts[i]);
        end_wait(1, a);
        leave(1);
        pass(50 * MS);
        assert_true(bench.left[1]);
        finish_run(0, b);
        pass(100 * MS);
        assert_int_equal(bench.runs[2], 1);
        assert_int_not_equal(bench.ran_on[2], 1);
        finish_run((uint32_t)bench.ran_on[2], a);
        pass(50 * MS);
        assert_int_equal(bench.ended[0][2], 1);
        assert_int_equal(bench.ended[2][2], 1);
        bench_close();
    }
}

static bool owns(uint32_t rank, moot_hash hash)
{
    struct core_task_view view;
    assert_true(core_task_look(bench.core[rank], &hash, &view));
    bool owner = view.own != CORE_OWN_NONE;
    core_task_view_release(&view);
    return owner;
}

/* Its chair holds it, so nobody asks; and what that runs keeps the view from changing.
 */
static void what_nobody_asks_for_goes_to_another_at_once(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash b = chaired_by(1, 0, 0), a = chaired_by(1, 1, 0);
    const struct core_register reg = {.inputs = &b, .input_count = 1};
    bench.hold_runs = true;
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(rank, 1, b);
        assert_int_equal(spawn_with(rank, 2, a, reg), MOOT_OK);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(50 * MS);
    assert_true(owns(1, a));
    leave(1);
    pass(5 * MS);
    assert_false(owns(1, a));
    assert_true(owns(0, a) || owns(2, a));
    assert_int_equal(bench.epoch[0], 0); /* no view has begun */
    bench_close();
}

/* The chair yields it to rank 1, which leaves before it has started. */
static void what_was_yielded_to_it_is_returned(void **state)
{
    (void)state;
    const unsigned facts[] = {0, MOOT_HASH_ONCE};
    for (int i = 0; i < 2; i++) {
        bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash b = chaired_by(3, 0, 0), a = chaired_by(0, 0, facts[i]);
        const struct core_register reg = {
            .inputs = &b, .input_count = 1, .flags = facts[i] ? CORE_TASK_ONCE : 0};
        bench.hold_runs = true;
        close_rank(0);
        spawn(3, 1, b);
        spawn(1, 1, b);
        assert_int_equal(spawn_with(1, 2, a, reg), MOOT_OK);
        begin_wait(1, a);
        pass(50 * MS);
        spawn(2, 1, b);
        assert_int_equal(spawn_with(2, 2, a, reg), MOOT_OK);
        begin_wait(2, a);
        pass(50 * MS);
        end_wait(1, a);
        leave(1);
        pass(50 * MS);
        assert_int_equal(core_stats(bench.core[1])->returned, 1);
        finish_run(3, b);
        pass(100 * MS);
        assert_int_equal(bench.runs[2], 1);
        assert_int_equal(bench.ran_on[2], 2);
        bench_close();
    }
}

/* A hash that the one chairs among four, and the other once rank 3 is gone. */
static moot_hash chaired_by_then(uint32_t chair, uint32_t then, unsigned facts)
{
    struct rankset rest = {.low = 7};
    for (int n = 0;; n++) {
        moot_hash hash = chaired_by(chair, n, facts);
        if (placement_chair(&hash, &rest, NULL) == then) {
            return hash;
        }
    }
}

static void lose_rank_three(void)
{
    crash(3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        certify_at(rank, 3);
    }
    pass(20 * MS);
    assert_in_view(0, 2, 3);
    assert_in_view(1, 2, 3);
}

/* Rank 1 has reported a, which it owns, to the chair of a new view, and is to leave
 * before that has heard from rank 2. */
static void leave_in_a_new_view(uint32_t chair, unsigned facts)
{
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash b = chaired_by(0, 0, 0), a = chaired_by_then(3, chair, facts);
    moot_hash long_run = chaired_by(1, 0, 0);
    const struct core_register reg = {
        .inputs = &b, .input_count = 1, .flags = facts != 0 ? CORE_TASK_ONCE : 0};
    bench.hold_runs = true;
    spawn(0, 1, b);
    close_rank(0);
    close_rank(3);
    for (uint32_t rank = 1; rank < 3; rank++) {
        spawn(rank, 1, b);
        assert_int_equal(spawn_with(rank, 2, a, reg), MOOT_OK);
        begin_wait(rank, a);
        pass(50 * MS); /* yielded to rank 1 */
    }
    spawn(1, 3, long_run);
    end_wait(1, a);
    bench.holds[2][chair] = true;
    lose_rank_three();
    leave(1);
    pass(5 * MS);
    assert_int_equal(core_stats(bench.core[1])->returned, 0);
    let_go(2, chair);
    pass(50 * MS);
    assert_int_equal(core_stats(bench.core[1])->returned, 1);
    finish_run(0, b);
    pass(50 * MS);
    assert_in_view(2, 2, 3);
    assert_int_equal(bench.runs[2], facts == 0); /* once: in the next view */
    finish_run(1, long_run);
    pass(50 * MS);
    assert_true(bench.left[1]);
    assert_int_equal(bench.runs[2], 1);
    assert_int_equal(bench.ran_on[2], 2);
    bench_close();
}

static void nothing_is_returned_before_the_view_has_settled(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 2; chair++) {
        leave_in_a_new_view(chair, 0);
        leave_in_a_new_view(chair, MOOT_HASH_ONCE);
    }
}

/* Rank 1 leaves when it has made e, of f, which rank 2 makes of a: a once task, which
 * in this view rank 1 alone may be given, and is, when all is quiet.  The chair, rank
 * 0, has heard from rank 1 that it owns a, and then that it does not; the one before
 * was this. */
static void give_back_to_rank_one(uint32_t chair, uint32_t flags)
{
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by_then(chair, 0, MOOT_HASH_ONCE);
    moot_hash b = chaired_by(0, 0, 0), f = chaired_by(2, 0, 0), e = chaired_by(1, 0, 0);
    const struct core_register of_a = {.inputs = &a, .input_count = 1};
    const struct core_register of_f = {.inputs = &f, .input_count = 1};
    struct core_register of_b = {
        .inputs = &b, .input_count = 1, .flags = CORE_TASK_ONCE | flags};
    close_rank(3);
    bench.hold_runs = true;
    spawn(0, 1, b);
    assert_int_equal(spawn_with(1, 2, a, of_b), MOOT_OK);
    pass(20 * MS);
    assert_int_equal(sum_yields(), 1);
    lose_rank_three();
    of_b.flags = CORE_TASK_ONCE;
    assert_int_equal(spawn_with(1, 5, e, of_f), MOOT_OK);
    assert_int_equal(spawn_with(2, 2, a, of_b), MOOT_OK);
    assert_int_equal(spawn_with(2, 4, f, of_a), MOOT_OK);
    begin_wait(2, f);
    begin_wait(0, a);
    pass(20 * MS);
    leave(1);
    pass(50 * MS);
    assert_int_equal(core_stats(bench.core[1])->returned, 1);
    bench.hold_runs = false;
    finish_run(0, b);
    pass(500 * MS);
    assert_int_equal(core_stats(bench.core[0])->yields[EVIDENCE_QUIET], 1);
    assert_int_equal(bench.ran_on[2], 1);
    assert_int_equal(bench.ended[0][0], 1);
    assert_true(bench.left[1]);
    bench_close();
}

/* The chair knows by nothing else that it does. */
static void who_returns_it_is_known_to_hold_it(void **state)
{
    (void)state;
    give_back_to_rank_one(3, 0);
}

static void what_an_older_view_went_by_is_no_evidence(void **state)
{
    (void)state;
    give_back_to_rank_one(0, CORE_TASK_HINT);
}

static void what_nobody_else_holds_it_runs_itself(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash b = chaired_by(2, 0, 0), a = chaired_by(0, 0, 0);
    const struct core_register reg = {.inputs = &b, .input_count = 1};
    bench.hold_runs = true;
    spawn(2, 1, b);
    spawn(1, 1, b);
    assert_int_equal(spawn_with(1, 2, a, reg), MOOT_OK);
    begin_wait(2, a);
    close_rank(0);
    pass(50 * MS);
    leave(1);
    pass(50 * MS);
    assert_false(bench.left[1]);
    finish_run(2, b);
    pass(50 * MS);
    assert_int_equal(bench.ran_on[2], 1);
    finish_run(1, a);
    pass(50 * MS);
    assert_int_equal(bench.ended[2][0], 1);
    assert_true(bench.left[1]);
    bench_close();
}

/* Three voters of four; the chair and another leave, and nobody else has met it. */
/* Nor does its chair wait for its own program, which may come to the task later. */
static void what_nobody_has_asked_for_is_seen_out(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(1, 0, 0);
    pass(50 * MS);
    spawn(2, 1, a);
    leave(2);
    pass(40 * MS);
    assert_true(bench.left[2]);
    assert_int_equal(bench.runs[1], 1);
    begin_wait(0, a);
    pass(20 * MS);
    assert_int_equal(bench.ended[0][0], 1);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

static void a_once_task_is_not_lost_with_its_voters(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        leave(rank);
    }
    pass(60 * MS);
    assert_in_view(3, bench.epoch[3], 1);
    for (uint32_t chair = 0; chair < 4; chair++) {
        moot_hash a = chaired_by(chair, 0, MOOT_HASH_ONCE);
        spawn(3, 1 + (int)chair, a);
        begin_wait(3, a);
        pass(50 * MS);
        assert_int_equal(bench.ended[3][1 + chair], 1);
        end_wait(3, a);
    }
    bench_close();
}

/* Its owner has died, so it may have run; those who know that leave at once. */
static void what_voters_accepted_stays_known(void **state)
{
    (void)state;
    for (uint32_t last = 1; last < 5; last++) {
        bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash a = chaired_by(0, 0, MOOT_HASH_ONCE);
        bench.hold_runs = true;
        spawn(0, 1, a);
        pass(50 * MS);
        assert_int_equal(bench.runs[1], 1);
        crash(0);
        pass(500 * MS);
        assert_in_view(last, 2, 4);
        for (uint32_t rank = 1; rank < 5; rank++) {
            if (rank != last) {
                leave(rank);
            }
        }
        pass(50 * MS);
        assert_int_equal(rankset_count(&bench.members[last]), 1);
        spawn(last, 1, a);
        begin_wait(last, a);
        pass(50 * MS);
        assert_int_equal(bench.ended[last][1], MOOT_ERR_MAYBE_RAN);
        assert_int_equal(bench.runs[1], 1);
        bench_close();
    }
}

static void a_death_in_the_drain_is_a_death(void **state)
{
    (void)state;
    moot_hash a = {{0}};
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    a = chaired_by(1, 0, 0);
    bench.hold_runs = true;
    spawn_at_all(1, a);
    pass(50 * MS);
    leave(1);
    pass(10 * MS);
    crash(1);
    bench.hold_runs = false;
    begin_wait(0, a);
    pass(400 * MS);
    assert_in_view(0, 2, 2);
    assert_int_equal(bench.ended[0][1], 1);
    assert_int_equal(bench.runs[1], 2);
    bench_close();
}

/* Its heir dies first: it hands the result to another, in a view of its own. */
static void the_death_of_an_heir_loses_nothing(void **state)
{
    (void)state;
    for (uint32_t heir = 0; heir < 4; heir++) {
        bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash a = chaired_by(1, 0, 0);
        spawn_at_all(1, a);
        pass(50 * MS);
        if (heir == 1) {
            bench_close();
            continue;
        }
        crash(heir);
        leave(1);
        pass(600 * MS);
        assert_true(bench.left[1]);
        uint32_t last = heir == 3 ? 2 : 3;
        assert_in_view(last, 3, 2);
        begin_wait(last, a);
        pass(50 * MS);
        assert_int_equal(bench.ended[last][1], 1);
        assert_int_equal(bench.runs[1], 1);
        bench_close();
    }
}

static uint32_t heir_among(const moot_hash *hash, uint64_t members)
{
    const struct rankset set = {.low = members};
    return placement_chair(hash, &set, NULL);
}

/* An heir passes on what it was given, and a view begins, without it and its own heir,
 * before that arrives: it comes from an older view, and of another's result. */
static void what_arrives_in_another_view_is_handed_over_again(void **state)
{
    (void)state;
    bench_open_with(6, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(0, 0, 0);
    spawn_at_all(1, a);
    pass(50 * MS);
    leave(0);
    pass(30 * MS);
    assert_true(bench.left[0]);
    const uint32_t first = heir_among(&a, 62);
    const uint32_t second = heir_among(&a, 62 & ~(UINT64_C(1) << first));
    const uint32_t dies = first != 5 && second != 5   ? 5
                          : first != 4 && second != 4 ? 4
                                                      : 3;
    bench.holds[first][second] = true;
    leave(first);
    pass(5 * MS);
    crash(dies);
    for (uint32_t rank = 1; rank < 6; rank++) {
        if (rank != dies) {
            certify_at(rank, dies);
        }
    }
    for (int i = 0; i < 400 && bench.epoch[second] < 3; i++) {
        pass(MS / 4);
    }
    assert_in_view(second, 3, 4);
    let_go(first, second);
    pass(400 * MS);
    assert_true(bench.left[first]);
    begin_wait(second, a);
    pass(50 * MS);
    assert_int_equal(bench.ended[second][1], 1);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

static void it_claims_nothing_more(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash long_run = chaired_by(1, 0, 0), a = chaired_by(1, 1, 0);
    bench.hold_runs = true;
    spawn_at_all(1, long_run);
    pass(50 * MS);
    leave(1);
    pass(5 * MS);
    struct core_register reg = {0};
    assert_int_equal(spawn_with(1, 2, a, reg), MOOT_ERR_CLOSED);
    spawn(0, 2, a);
    spawn(2, 2, a);
    begin_wait(0, a);
    begin_wait(2, a);
    pass(50 * MS);
    assert_int_equal(bench.runs[2], 1);
    assert_int_not_equal(bench.ran_on[2], 1);
    bench_close();
}

/* Where all have closed but for the leaver, who counts as closed, its census is taken
 * twice: with it and without it. */
static void tasks_of_many_are_counted_once_whoever_leaves(void **state)
{
    (void)state;
    for (uint32_t leaver = 0; leaver < 5; leaver++) {
        uint64_t common = 0;
        bench.direct_max = 1;
        bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
        for (uint32_t chair = 0; chair < 5; chair++) {
            spawn_at_all((int)chair + 1, chaired_by(chair, 0, 0));
        }
        pass(1 * MS);
        for (uint32_t rank = 0; rank < 5; rank++) {
            if (rank != leaver) {
                close_rank(rank);
            }
        }
        leave(leaver);
        pass(500 * MS);
        for (uint32_t rank = 0; rank < 5; rank++) {
            assert_true(rank == leaver || bench.adjourned[rank]);
            common += core_stats(bench.core[rank])->common;
            assert_int_equal(core_stats(bench.core[rank])->partial, 0);
        }
        assert_int_equal(common, 5);
        bench_close();
    }
    bench.direct_max = 0;
}

static void strict_mode_refuses_it(void **state)
{
    (void)state;
    bench_open_with(2, CORE_STRICT, HEARTBEAT_NS);
    struct core_event event = {.type = CORE_EV_LEAVE};
    assert_int_equal(step(0, &event), MOOT_ERR_UNSUPPORTED);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_rank_leaves_in_no_time),
        cmocka_unit_test(it_takes_no_failure_detection),
        cmocka_unit_test(all_may_leave),
        cmocka_unit_test(what_it_had_finished_is_not_run_again),
        cmocka_unit_test(results_pass_from_leaver_to_leaver),
        cmocka_unit_test(those_who_leave_together_are_no_heirs),
        cmocka_unit_test(running_work_is_finished_first),
        cmocka_unit_test(what_it_has_not_started_another_runs),
        cmocka_unit_test(what_nobody_asks_for_goes_to_another_at_once),
        cmocka_unit_test(what_was_yielded_to_it_is_returned),
        cmocka_unit_test(nothing_is_returned_before_the_view_has_settled),
        cmocka_unit_test(who_returns_it_is_known_to_hold_it),
        cmocka_unit_test(what_an_older_view_went_by_is_no_evidence),
        cmocka_unit_test(what_nobody_else_holds_it_runs_itself),
        cmocka_unit_test(what_nobody_has_asked_for_is_seen_out),
        cmocka_unit_test(a_once_task_is_not_lost_with_its_voters),
        cmocka_unit_test(what_voters_accepted_stays_known),
        cmocka_unit_test(a_death_in_the_drain_is_a_death),
        cmocka_unit_test(the_death_of_an_heir_loses_nothing),
        cmocka_unit_test(what_arrives_in_another_view_is_handed_over_again),
        cmocka_unit_test(it_claims_nothing_more),
        cmocka_unit_test(tasks_of_many_are_counted_once_whoever_leaves),
        cmocka_unit_test(strict_mode_refuses_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
