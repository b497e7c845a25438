/* rare_asks_test.c - stories that seeds hardly ever draw: who holds a task, who needs
 * it, and what has gone (rare_test.c has the others).
 */
#include "tests/unit/rare_bench.h"

#include "consensus/state/state.h"

/* --- Holders -----------------------------------------------------------------------
 */

/* A lane of rank 0 runs, so nobody polls. */
static void who_closes_says_that_it_holds_nothing(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash ghost = chaired_by(1, 0, 0);
    set_second_lane(0, CORE_LANE_RUNNING);
    decline(0, ghost);
    decline(1, ghost);
    enter(0, GHOST, ghost);
    begin_wait(0, ghost);
    pass(5 * MS);
    assert_int_equal(bench.ended[0][GHOST], 0);
    close_rank(2);
    pass(5 * MS);
    assert_int_equal(bench.ended[0][GHOST], MOOT_ERR_NOT_HELD);
    assert_int_equal(sum_sent(MESSAGE_POLL), 0);
    bench_close();
}

/* A lane of its own runs, so that it is not blocked. */
static void a_chair_that_declines_yields_at_once(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0);
    spawn(1, A, a);
    begin_wait(1, a);
    pass(5 * MS);
    assert_int_equal(bench.runs[A], 0);
    decline(0, a);
    pass(MS);
    assert_int_equal(bench.ended[1][A], 1);
    bench_close();
}

/* Two tasks of a wait that one of them ends. */
static void of_what_two_waits_need_one_fails_first(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        bench_open(2, CORE_REPAIR);
        moot_hash one = chaired_by(0, n, 0), other = chaired_by(1, n, 0);
        const int waits[] = {A, B};
        for (int i = 0; i < 2; i++) {
            struct core_event event = {.type = CORE_EV_NEED,
                                       .hash = i == 0 ? one : other};
            event.u.need.want = WANT_DATA;
            enter(0, waits[i], event.hash);
            assert_int_equal(step(0, &event), MOOT_OK);
        }
        set_lane(0, CORE_LANE_BLOCKED);
        set_lane(1, CORE_LANE_BLOCKED);
        while (bench.ended[0][A] == 0 && bench.ended[0][B] == 0) {
            settle_until(bench.now + MS / 50);
        }
        assert_true(bench.ended[0][A] == 0 || bench.ended[0][B] == 0);
        bench_close();
    }
}

static void check_that_two_is_no_holder(void)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        for (int n = 0; n < 8 && rank != 2 && !bench.crashed[rank]; n++) {
            struct core_task_view view;
            moot_hash hash = chaired_by((uint32_t)n % 6, n, 0);
            assert_true(core_task_look(bench.core[rank], &hash, &view));
            assert_false(rankset_has(&view.holders, 2));
            assert_true(rankset_count(&view.holders) > 2);
            core_task_view_release(&view);
        }
    }
}

/* All but 2 spawn them.  Each speaks for those before it as far as these are alike, in
 * this view and in the next, in which others stand there. */
static void among_many_nobody_speaks_for_who_differs(void **state)
{
    (void)state;
    bench.direct_max = 1;
    bench_open_with(6, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 6; rank++) {
        for (int n = 0; n < 8 && rank != 2; n++) {
            spawn(rank, A + n, chaired_by((uint32_t)n % 6, n, 0));
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(100 * MS);
    check_that_two_is_no_holder();
    kill_rank(4);
    pass(200 * MS);
    assert_int_equal(bench.members[0].low, 47);
    check_that_two_is_no_holder();
    bench_close();
    bench.direct_max = 0;
}

/* 2 stops behind the third; all that stand there begin alike. */
static void among_many_who_stops_early_holds_no_more(void **state)
{
    (void)state;
    bench.direct_max = 1;
    bench_open_with(6, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 6; rank++) {
        for (int n = 0; n < (rank == 2 ? 3 : 8); n++) {
            spawn(rank, A + n, chaired_by((uint32_t)n % 6, n, 0));
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(100 * MS);
    for (uint32_t rank = 0; rank < 6; rank++) {
        for (int n = 3; n < 8 && rank != 2; n++) {
            struct core_task_view view;
            moot_hash hash = chaired_by((uint32_t)n % 6, n, 0);
            assert_true(core_task_look(bench.core[rank], &hash, &view));
            assert_false(rankset_has(&view.holders, 2));
            core_task_view_release(&view);
        }
    }
    bench_close();
    bench.direct_max = 0;
}

/* A lane of 0 parks while the last who was asked is yet to answer; it may spawn what
 * the other lane waits for. */
static void who_parks_during_a_poll_may_go_on(void **state)
{
    (void)state;
    for (uint64_t polls = 1; polls <= 2; polls++) {
        bench_open(2, CORE_REPAIR);
        moot_hash ghost = chaired_by(1, 0, 0);
        set_lane(1, CORE_LANE_BLOCKED);
        enter(0, GHOST, ghost);
        begin_wait(0, ghost);
        step_until_said(MESSAGE_POLL, polls);
        set_second_lane(0, CORE_LANE_PARKED);
        pass(50 * MS);
        assert_int_equal(bench.ended[0][GHOST], 0);
        set_second_lane(0, CORE_LANE_BLOCKED);
        pass(200 * MS);
        assert_int_equal(bench.ended[0][GHOST], MOOT_ERR_NOT_HELD);
        bench_close();
    }
}

/* 0 is blocked behind two tasks.  1 needs a, which 0 chairs, by its own position, the
 * sixth; then 2 waits for what takes a, by its first.  A lane of 2 runs, so nothing is
 * quiet. */
static void a_need_that_falls_is_said_again(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 0, 0),
              ghost = chaired_by(0, 1, 0);
    const struct core_register reg = {.inputs = &a, .input_count = 1};
    set_second_lane(2, CORE_LANE_RUNNING);
    for (int n = 0; n < 5; n++) {
        spawn(n < 2 ? 0 : 1, LONG, chaired_by(n < 2 ? 0 : 1, 10 + n, 0));
        spawn(1, LONG, chaired_by(1, 20 + n, 0));
    }
    enter(0, GHOST, ghost);
    begin_wait(0, ghost);
    spawn(1, A, a);
    assert_int_equal(spawn_with(1, B, b, reg), MOOT_OK);
    begin_wait(1, b);
    pass(20 * MS);
    assert_int_equal(bench.runs[A], 0);
    enter(2, A, a);
    assert_int_equal(spawn_with(2, B, b, reg), MOOT_OK);
    begin_wait(2, b);
    pass(200 * MS);
    assert_int_equal(bench.runs[A], 1);
    assert_int_equal(bench.ended[2][B], 1);
    bench_close();
}

/* 0 is blocked behind two tasks, and chairs both.  2 waits for b, its first, which 0
 * gives to 1: so a is needed by that position, and not by where 1 has it. */
static void an_owner_hears_how_far_along_the_askers_are(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(0, 1, 0),
              ghost = chaired_by(0, 2, 0);
    const struct core_register reg = {.inputs = &a, .input_count = 1},
                               hint = {.inputs = &a,
                                       .input_count = 1,
                                       .flags = CORE_TASK_HINT};
    set_second_lane(2, CORE_LANE_RUNNING);
    for (int n = 0; n < 5; n++) {
        spawn(n < 2 ? 0 : 1, LONG, chaired_by(n < 2 ? 0 : 1, 10 + n, 0));
        spawn(1, LONG, chaired_by(1, 20 + n, 0));
    }
    enter(0, GHOST, ghost);
    begin_wait(0, ghost);
    enter(2, A, a);
    assert_int_equal(spawn_with(2, B, b, reg), MOOT_OK);
    begin_wait(2, b);
    pass(5 * MS);
    spawn(1, A, a);
    assert_int_equal(spawn_with(1, B, b, hint), MOOT_OK);
    set_lane(1, CORE_LANE_BLOCKED);
    pass(200 * MS);
    assert_int_equal(bench.ran_on[B], 1);
    assert_int_equal(bench.ended[2][B], 1);
    bench_close();
}

/* 1 runs what takes the bytes of a, and what comes after a. */
static void who_takes_the_bytes_need_not_pull_them(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 0, 0),
              after = chaired_by(1, 1, 0);
    const struct core_register takes = {.inputs = &a, .input_count = 1},
                               waits = {
                                   .inputs = &a, .input_count = 1, .after_count = 1};
    bench.hold_runs = true;
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, A, a);
        assert_int_equal(spawn_with(rank, B, b, takes), MOOT_OK);
        assert_int_equal(spawn_with(rank, LONG, after, waits), MOOT_OK);
    }
    finish_run(0, a);
    pass(5 * MS);
    assert_int_equal(bench.runs[B], 1);
    assert_int_equal(bench.runs[LONG], 1);
    assert_int_equal(sum_sent(MESSAGE_RESULT), 1);
    assert_int_equal(sum_sent(MESSAGE_PULL), 0);
    bench_close();
}

/* 0 has come less far than 1, which waits for the same, and would go on to spawn what 2
 * waits for, which has come farther than 0. */
static void the_wait_of_who_has_come_least_far_fails_first(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < 9; row++) {
        bench_open(3, CORE_REPAIR);
        moot_hash ghost = chaired_by(row % 3, 0, 0), late = chaired_by(row / 3, 1, 0);
        for (int n = 0; n < 6; n++) {
            spawn(1, LONG, chaired_by(1, 10 + n, 0));
            if (n < 3) {
                spawn(2, LONG, chaired_by(2, 10 + n, 0));
            }
        }
        for (uint32_t rank = 0; rank < 2; rank++) {
            enter(rank, GHOST, ghost);
            begin_wait(rank, ghost);
        }
        enter(2, A, late);
        begin_wait(2, late);
        while (bench.ended[0][GHOST] == 0 && bench.ended[2][A] == 0) {
            settle_until(bench.now + MS / 50);
        }
        assert_int_equal(bench.ended[0][GHOST], MOOT_ERR_NOT_HELD);
        assert_int_equal(bench.ended[2][A], 0);
        bench_close();
    }
}

/* A timeout that was set is for who sets it. */
static void a_timeout_that_is_learnt_begins_with_never(void **state)
{
    (void)state;
    const uint64_t uids[] = {1000, 1001};
    struct core_options options = {.size = 2,
                                   .uids = uids,
                                   .epoch = 1,
                                   .voters = 3,
                                   .vote_timeout_ns = MS,
                                   .entry_bytes = sizeof(struct bench_entry)};
    for (int learns = 0; learns <= 1; learns++) {
        struct core_timers timers;
        options.adapt = learns ? CORE_ADAPT_VOTE : 0;
        struct core *core = core_new(&options);
        assert_non_null(core);
        assert_true(core_timers_look(core, 1, &timers));
        assert_true(timers.vote_timeout_ns == (learns ? CORE_NEVER : (uint64_t)MS));
        core_free(core);
    }
}

/* The next hash that this rank is the chair of, of two. */
static moot_hash next_chaired(uint32_t chair, uint64_t *at)
{
    const struct rankset members = {.low = 3};
    for (;;) {
        moot_hash hash = digest_bytes(at, sizeof(*at));
        hash.bytes[15] = (uint8_t)(hash.bytes[15] & ~(unsigned)MOOT_HASH_FACTS);
        ++*at;
        if (placement_chair(&hash, &members, NULL) == chair) {
            return hash;
        }
    }
}

/* Without a look at all that must be true of the core, which would take too long. */
static void step_unheld(uint32_t rank, struct core_event *event)
{
    struct core_outputs out;
    assert_int_equal(core_step(bench.core[rank], event, bench.now, &out), MOOT_OK);
    carry_out(rank, &out);
}

/* Each of two ranks has every other task of it, so a chase that does not end is a
 * message without end. */
static void a_circle_is_found_that_is_longer_than_a_chase_remembers(void **state)
{
    (void)state;
    enum { LENGTH = 1100, STEPS = 40000 };
    bench_open(2, CORE_REPAIR);
    moot_hash *tasks = calloc(LENGTH, sizeof(*tasks));
    assert_non_null(tasks);
    uint64_t at = 0;
    for (uint32_t i = 0; i < LENGTH; i++) {
        tasks[i] = next_chaired(i % 2, &at);
    }
    for (uint32_t i = 0; i < LENGTH; i++) {
        const struct core_register reg = {.inputs = &tasks[(i + 1) % LENGTH],
                                          .input_count = 1};
        struct core_event event = {.type = CORE_EV_REGISTER, .hash = tasks[i]};
        event.entry = enter_for(i % 2, A, &tasks[i], &reg);
        event.u.reg = &reg;
        step_unheld(i % 2, &event);
    }
    begin_wait(0, tasks[0]);
    set_lane(1, CORE_LANE_BLOCKED);
    for (int i = 0; i < STEPS && bench.chain_count == 0; i++) {
        struct core_event event = {.type = CORE_EV_TICK};
        if (bench.head < bench.tail) {
            struct parcel *parcel = bench.queue[bench.head++ % QUEUE_MAX];
            event.type = CORE_EV_RECV;
            event.u.recv.from = parcel->from;
            event.u.recv.uid = bench.uids[parcel->from];
            event.u.recv.message = parcel->message;
            step_unheld(parcel->to, &event);
            parcel_free(parcel);
            continue;
        }
        bench.now += MS / 4;
        step_unheld(0, &event);
        step_unheld(1, &event);
    }
    assert_true(bench.chain_count > 0);
    free(tasks);
    bench_close();
}

static void in_strict_mode_another_order_is_a_difference(void **state)
{
    (void)state;
    bench_open(2, CORE_STRICT);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 0, 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, A, rank == 0 ? a : b);
        spawn(rank, B, rank == 0 ? b : a);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    assert_true(bench.diverged[0] && bench.diverged[1]);
    assert_int_equal(bench.differs_at[0], 1);
    bench_close();
}

/* --- Refusals ----------------------------------------------------------------------
 */

static void let_go_of(uint32_t rank, moot_hash hash)
{
    core_let_go(bench.core[rank], &hash, NULL);
}

static void what_is_gone_is_refused_as_any_input(void **state)
{
    (void)state;
    bench.drops = true;
    bench_open(2, CORE_REPAIR);
    moot_hash once = chaired_by(0, 0, MOOT_HASH_ONCE), taker = chaired_by(0, 90, 0);
    const moot_hash inputs[] = {chaired_by(0, 91, 0), chaired_by(0, 92, 0), once};
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, A, once);
        let_go_of(rank, once);
        for (int n = 1; n < 40; n++) { /* so that its chunk is a whole one */
            spawn(rank, B, chaired_by(1, n, 0));
            let_go_of(rank, chaired_by(1, n, 0));
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_true(core_lost(bench.core[rank], &once));
        for (size_t count = 0; count <= 3; count++) {
            assert_int_equal(core_refusal(bench.core[rank], &taker, inputs, count),
                             count == 3 ? MOOT_ERR_RESULT_LOST : MOOT_OK);
        }
    }
    bench_close();
    bench.drops = false;
}

static void what_is_gone_stays_so_however_many_there_are(void **state)
{
    (void)state;
    enum { MANY = 300 };
    bench.drops = true;
    bench_open(1, CORE_REPAIR);
    for (int n = 0; n < MANY; n++) {
        moot_hash once = chaired_by(0, n, MOOT_HASH_ONCE);
        spawn(0, A, once);
        let_go_of(0, once);
    }
    for (int n = 1; n < 40; n++) { /* so that their chunks are whole ones */
        spawn(0, B, chaired_by(0, n, 0));
        let_go_of(0, chaired_by(0, n, 0));
    }
    set_lane(0, CORE_LANE_BLOCKED);
    settle();
    for (int n = 0; n < MANY; n++) {
        moot_hash once = chaired_by(0, n, MOOT_HASH_ONCE);
        assert_true(core_lost(bench.core[0], &once));
    }
    bench_close();
    bench.drops = false;
}

/* Sets of ranks over 63 have words of their own. */
static void a_set_is_said_as_a_whole(void **state)
{
    (void)state;
    bench_open(1, CORE_REPAIR);
    struct rankset set = {0};
    assert_true(rankset_add(&set, 3) && rankset_add(&set, 64) &&
                rankset_add(&set, 200));
    const struct rankset *said = out_copy_set(bench.core[0], &set);
    assert_int_equal(rankset_count(said), 3);
    assert_true(rankset_has(said, 64) && rankset_has(said, 200));
    rankset_release(&set);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_closes_says_that_it_holds_nothing),
        cmocka_unit_test(a_chair_that_declines_yields_at_once),
        cmocka_unit_test(of_what_two_waits_need_one_fails_first),
        cmocka_unit_test(among_many_nobody_speaks_for_who_differs),
        cmocka_unit_test(among_many_who_stops_early_holds_no_more),
        cmocka_unit_test(who_parks_during_a_poll_may_go_on),
        cmocka_unit_test(a_need_that_falls_is_said_again),
        cmocka_unit_test(an_owner_hears_how_far_along_the_askers_are),
        cmocka_unit_test(who_takes_the_bytes_need_not_pull_them),
        cmocka_unit_test(the_wait_of_who_has_come_least_far_fails_first),
        cmocka_unit_test(a_timeout_that_is_learnt_begins_with_never),
        cmocka_unit_test(a_circle_is_found_that_is_longer_than_a_chase_remembers),
        cmocka_unit_test(in_strict_mode_another_order_is_a_difference),
        cmocka_unit_test(what_is_gone_is_refused_as_any_input),
        cmocka_unit_test(what_is_gone_stays_so_however_many_there_are),
        cmocka_unit_test(a_set_is_said_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
