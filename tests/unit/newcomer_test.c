/* newcomer_test.c - newcomers ask for a number, and come to the meetings after their
 * beginning (PROTOCOL.md, *Numbers* and M6); and what they are told of what came
 * before.
 *
 * Numbers are given when processes start.  So one may be let in before a lower one, and
 * a lower one may never come.
 */
#include "consensus/state/state.h"
#include "tests/unit/newcomer_bench.h"

static void assert_members(uint64_t members)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (members >> rank & 1) {
            assert_int_equal(bench.members[rank].low, members);
            assert_int_equal(bench.core[rank]->rank, rank);
            core_hold(bench.core[rank]);
        }
    }
}

static void a_number_may_come_before_a_lower_one(void **state)
{
    (void)state;
    open_first(2);
    join(4, 2, 2);
    pass(200 * MS);
    assert_members(0x13);
    assert_int_equal(core_incarnation(bench.core[0], 3), 0);
    assert_int_equal(core_incarnation(bench.core[0], 4), 1004);
    join(3, 2, 5); /* it knows that 4 has begun */
    pass(200 * MS);
    assert_members(0x1b);
    assert_false(peer_seen(bench.core[0], 3)->state.closed);
    join(5, 2, 5); /* and 2 never comes */
    pass(200 * MS);
    assert_members(0x3b);
    end_joinable();
}

static void two_at_once_have_their_own(void **state)
{
    (void)state;
    for (uint32_t first = 2; first <= 4; first += 2) {
        open_first(2);
        join(first, 2, 2);
        join(6 - first, 2, 2);
        pass(200 * MS);
        assert_members(0x17);
        end_joinable();
    }
}

static bool is_refused(uint32_t rank, uint64_t uid)
{
    const struct message message = {.type = MESSAGE_JOIN,
                                    .u.join = {.uid = uid, .rank = rank}};
    struct core_event event = {.type = CORE_EV_RECV};
    event.u.recv.from = UINT32_MAX;
    event.u.recv.uid = uid;
    event.u.recv.message = &message;
    struct core_outputs out;
    const uint64_t before = core_stats(bench.core[0])->refused;
    assert_int_equal(core_step(bench.core[0], &event, bench.now, &out), MOOT_OK);
    bool told = false;
    for (size_t i = 0; i < out.count; i++) {
        told |=
            out.items[i].type == CORE_OUT_REFUSE && out.items[i].u.refuse.uid == uid;
    }
    assert_int_equal(core_stats(bench.core[0])->refused, before + told);
    return told;
}

static void nobody_has_anothers_number(void **state)
{
    (void)state;
    open_first(2);
    join(3, 2, 2);
    pass(200 * MS);
    assert_members(0xb);
    assert_true(is_refused(1, 77));
    assert_true(is_refused(3, 77));
    assert_true(is_refused(2, 1003)); /* who has one asks for no other */
    assert_false(is_refused(3, 1003));
    bench.crashed[3] = true;
    pass(600 * MS);
    assert_members(0x3);
    assert_true(is_refused(3, 77)); /* not even that of the dead */
    assert_false(is_refused(2, 77));
    end_joinable();
}

/* --- Meetings -----------------------------------------------------------------------
 */

static void arrive(uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_MEET};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void assert_met(uint32_t rank, uint64_t number, uint32_t came)
{
    assert_int_equal(bench.met[rank], number);
    assert_int_equal(bench.met_code[rank], MOOT_OK);
    assert_int_equal(rankset_count(&bench.came[rank]), came);
}

static void meet(uint32_t ranks, uint64_t number)
{
    for (uint32_t rank = 0; rank < ranks; rank++) {
        arrive(rank);
    }
    pass(50 * MS);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        assert_met(rank, number, ranks);
    }
}

/* Whether it learns from where it counts before it is let in, or after. */
static void a_newcomer_comes_to_the_next(void **state)
{
    (void)state;
    for (int row = 0; row < 4; row++) {
        bench.direct_max = row < 2 ? 0 : 1;
        open_first(2);
        meet(2, 1);
        meet(2, 2);
        join(2, 2, 2);
        if (row % 2 == 0) {
            core_meet_from(bench.core[2], 2);
        }
        pass(300 * MS);
        assert_members(0x7);
        if (row % 2 != 0) {
            core_meet_from(bench.core[2], 2);
        }
        assert_int_equal(core_meetings(bench.core[2]), 2);
        arrive(0);
        arrive(1);
        pass(50 * MS);
        assert_met(0, 2, 2); /* who is a member is waited for */
        arrive(2);
        pass(50 * MS);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_met(rank, 3, 3);
        }
        end_joinable();
    }
}

/* Rank 0 alone has heard that the first has met, and dies: the others meet again, and
 * the newcomer comes to the second. */
static void nobody_waits_for_whom_has_passed(void **state)
{
    (void)state;
    for (uint32_t direct_max = 0; direct_max < 2; direct_max++) {
        bench.direct_max = direct_max;
        open_first(4);
        for (uint32_t other = 1; other < 4; other++) {
            arrive(other);
            pass(5 * MS);
            bench.holds[0][other] = true;
        }
        arrive(0);
        assert_int_equal(bench.met[0], 1);
        bench.crashed[0] = true;
        pass(5 * MS);
        join(4, 4, 4);
        core_meet_from(bench.core[4], 1);
        arrive(4);
        pass(900 * MS);
        assert_members(0x1e);
        for (uint32_t rank = 1; rank < 4; rank++) {
            assert_met(rank, 1, 3);
            arrive(rank);
        }
        pass(50 * MS);
        for (uint32_t rank = 1; rank < 5; rank++) {
            assert_met(rank, 2, 4);
        }
        end_joinable();
    }
}

/* --- What was spawned before --------------------------------------------------------
 */

/* The n-th hash whose chair is that among the first two ranks, and that among three.
 * With `ends` a chunk of a roll ends with it.
 */
static moot_hash chaired_then(uint32_t before, uint32_t after, int n, bool ends)
{
    const struct rankset two = {.low = 0x3}, three = {.low = 0x7};
    for (uint64_t i = 0;; i++) {
        moot_hash hash = digest_bytes(&i, sizeof(i));
        hash.bytes[0] = !ends;
        hash.bytes[15] &= (uint8_t) ~(uint32_t)MOOT_HASH_FACTS;
        if (placement_chair(&hash, &two, NULL) == before &&
            placement_chair(&hash, &three, NULL) == after && n-- == 0) {
            return hash;
        }
    }
}

/* The third has whole chunks of a roll, and what there is of the last. */
static void it_hears_of_the_rolls_before_its_time(void **state)
{
    (void)state;
    enum { TASKS = 20, ENDS = 8 };
    open_first(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (int i = 0; i < TASKS; i++) {
            spawn(rank, i,
                  chaired_then((uint32_t)i % 2, (uint32_t)i % 2, i, i == ENDS));
        }
    }
    pass(20 * MS);
    join(2, 2, 2);
    pass(200 * MS);
    assert_members(0x7);
    for (int i = 0; i < TASKS; i++) {
        spawn(2, i, chaired_then((uint32_t)i % 2, (uint32_t)i % 2, i, i == ENDS));
    }
    set_lane(2, CORE_LANE_BLOCKED);
    pass(20 * MS);
    for (int i = 0; i < TASKS; i++) {
        const moot_hash hash =
            chaired_then((uint32_t)i % 2, (uint32_t)i % 2, i, i == ENDS);
        const struct task_record *task = table_find(bench.core[2], &hash);
        assert_true(roll_knows_holder(bench.core[2], task, 0));
        assert_true(roll_knows_holder(bench.core[2], task, 1));
    }
    close_all();
    assert_int_equal(core_stats(bench.core[2])->motions_sent, 0);
    end_joinable();
}

/* Rank 1 has claimed the second task, and keeps it.  Its new chair is the third, which
 * never takes what is pushed for it.
 */
static void what_takes_a_result_stays_with_its_owner(void **state)
{
    (void)state;
    const moot_hash first = chaired_then(0, 0, 0, false);
    const moot_hash second = chaired_then(1, 2, 0, true);
    const struct core_register reg = {.inputs = &first, .input_count = 1};
    open_first(2);
    bench.hold_runs = true;
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, 0, first);
        assert_int_equal(spawn_with(rank, 1, second, reg), MOOT_OK);
    }
    pass(20 * MS);
    join(2, 2, 2);
    pass(200 * MS);
    assert_members(0x7);
    struct core_event done = {.type = CORE_EV_DONE, .hash = first};
    done.u.done.size = 8;
    assert_int_equal(step(0, &done), MOOT_OK);
    deliver_all();
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ran_on[1], 1);
    assert_int_equal(core_stats(bench.core[0])->results_pushed, 1);
    assert_int_equal(sum_sent(MESSAGE_MOTION), 0);
    end_joinable();
}

/* The others wait for what the third chairs by now and will spawn last; and it waits
 * for the first, which has run long ago.
 */
static void nobody_waits_for_who_is_behind(void **state)
{
    (void)state;
    enum { TASKS = 12 };
    moot_hash tasks[TASKS];
    open_first(2);
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = chaired_then((uint32_t)i % 2, (uint32_t)i % 2, i, i == TASKS - 1);
    }
    const moot_hash later = chaired_then(0, 2, 0, true);
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (int i = 0; i < TASKS; i++) {
            spawn(rank, i, tasks[i]);
        }
    }
    pass(20 * MS);
    join(2, 2, 2);
    pass(200 * MS);
    assert_members(0x7);
    bench.holds[0][2] = true; /* so that it goes on waiting */
    spawn(2, 0, tasks[0]);
    begin_wait(2, tasks[0]);
    pass(MS / 4);
    assert_int_equal(core_stats(bench.core[2])->motions_sent, 1); /* at once */
    spawn(1, TASKS, later);
    begin_wait(1, later);
    pass(100 * MS);
    assert_int_equal(bench.runs[TASKS], 1);
    assert_int_equal(bench.ran_on[TASKS], 1);
    let_go(0, 2);
    pass(20 * MS);
    assert_int_equal(bench.ended[2][0], 1);
    end_joinable();
}

/* The newcomer was told the first by one that knew no other, and comes to the second,
 * which is over; then it is told the third, too. */
static void a_newcomer_may_be_told_again(void **state)
{
    (void)state;
    for (uint32_t direct_max = 0; direct_max < 2; direct_max++) {
        bench.direct_max = direct_max;
        open_first(2);
        meet(2, 1);
        meet(2, 2);
        meet(2, 3);
        join(2, 2, 2);
        core_meet_from(bench.core[2], 1);
        pass(300 * MS);
        assert_members(0x7);
        arrive(2);
        pass(50 * MS);
        assert_int_equal(bench.met[2], 2);
        core_meet_from(bench.core[2], 3);
        assert_int_equal(core_meetings(bench.core[2]), 3);
        for (uint32_t rank = 0; rank < 3; rank++) {
            arrive(rank);
        }
        pass(50 * MS);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_met(rank, 4, 3);
        }
        end_joinable();
    }
}

/* A rank that has left, or died, is sent nothing: its host knows no way to it. */
static void who_has_gone_hears_no_more(void **state)
{
    (void)state;
    bench.direct_max = 1;
    open_first(3);
    join(3, 3, 3);
    pass(300 * MS);
    assert_members(0xf);
    struct core_event leave = {.type = CORE_EV_LEAVE};
    assert_int_equal(step(3, &leave), MOOT_OK);
    pass(300 * MS);
    assert_members(0x7);
    bench.crashed[3] = true;
    for (uint32_t rank = 0; rank < 3; rank++) {
        bench.holds[rank][3] = true;
    }
    join(4, 3, 3);
    pass(300 * MS);
    assert_members(0x17);
    assert_int_equal(bench.held_count, 0);
    end_joinable();
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_may_come_before_a_lower_one),
        cmocka_unit_test(two_at_once_have_their_own),
        cmocka_unit_test(nobody_has_anothers_number),
        cmocka_unit_test(a_newcomer_comes_to_the_next),
        cmocka_unit_test(nobody_waits_for_whom_has_passed),
        cmocka_unit_test(it_hears_of_the_rolls_before_its_time),
        cmocka_unit_test(what_takes_a_result_stays_with_its_owner),
        cmocka_unit_test(nobody_waits_for_who_is_behind),
        cmocka_unit_test(a_newcomer_may_be_told_again),
        cmocka_unit_test(who_has_gone_hears_no_more),
    };
    return cmocka_run_group_tests_name("newcomer", tests, NULL, NULL);
}
