/* verdict_test.c - how a task ends that nobody holds, for all and for good
 * (PROTOCOL.md, T9), on the bench. */
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

enum { GHOST = 1, OTHER = 2, TAKER = 3 };

static void block_all_but(uint32_t rank)
{
    for (uint32_t other = 0; other < bench.size; other++) {
        if (other != rank && !bench.crashed[other]) {
            set_lane(other, CORE_LANE_BLOCKED);
        }
    }
}

static void run_all(void)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            set_lane(rank, CORE_LANE_RUNNING);
        }
    }
}

/* Rank 0 waits for what nobody holds, until it is told so. */
static void ask_in_vain(moot_hash ghost)
{
    enter(0, GHOST, ghost);
    begin_wait(0, ghost);
    block_all_but(0);
    pass(100 * MS);
    assert_int_equal(bench.ended[0][GHOST], MOOT_ERR_NOT_HELD);
    end_wait(0, ghost);
    run_all();
}

static int spawn_among(uint32_t rank, moot_hash hash, uint64_t candidates)
{
    const struct rankset among = {.low = candidates};
    const struct core_register reg = {.candidates = candidates != 0 ? &among : NULL};
    return spawn_with(rank, GHOST, hash, reg);
}

/* The rank spawns it, and waits. */
static void check_told(uint32_t rank, moot_hash ghost, uint64_t candidates)
{
    bench.ended[rank][GHOST] = 0;
    assert_int_equal(spawn_among(rank, ghost, candidates), MOOT_OK);
    pass(5 * MS);
    begin_wait(rank, ghost);
    pass(20 * MS);
    assert_int_equal(bench.ended[rank][GHOST], MOOT_ERR_NOT_HELD);
    assert_int_equal(bench.runs[GHOST], 0);
    end_wait(rank, ghost);
}

/* Each rank is the chair once for each that spawns it. */
static void who_spawns_it_later_is_told_the_same(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < 9; row++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash ghost = chaired_by(row % 3, 0, 0);
        ask_in_vain(ghost);
        check_told(row / 3, ghost, 0);
        bench_close();
    }
}

/* Rank 0 gives its wait up; then no rank waits but for what nobody holds either. */
static void a_wait_that_was_given_up_decides_nothing(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < 9; row++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash ghost = chaired_by(row % 3, 0, 0), other = chaired_by(0, 1, 0);
        enter(0, GHOST, ghost);
        begin_wait(0, ghost);
        pass(5 * MS);
        end_wait(0, ghost);
        enter(1, OTHER, other);
        begin_wait(1, other);
        block_all_but(1);
        pass(100 * MS);
        assert_int_equal(bench.ended[1][OTHER], MOOT_ERR_NOT_HELD);
        end_wait(1, other);
        run_all();
        assert_int_equal(spawn_among(row / 3, ghost, 0), MOOT_OK);
        begin_wait(row / 3, ghost);
        block_all_but(row / 3);
        pass(100 * MS);
        assert_int_equal(bench.ended[row / 3][GHOST], 1);
        assert_int_equal(bench.runs[GHOST], 1);
        bench_close();
    }
}

/* A task that has it for an input ends with the reason. */
static void what_takes_it_fails(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 3; chair++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash ghost = chaired_by(chair, 0, 0), taker = chaired_by(1, 1, 0);
        const struct core_register reg = {.inputs = &ghost, .input_count = 1};
        ask_in_vain(ghost);
        enter(1, GHOST, ghost);
        assert_int_equal(spawn_with(1, TAKER, taker, reg), MOOT_OK);
        set_lane(1, CORE_LANE_BLOCKED);
        pass(20 * MS);
        assert_int_equal(bench.ended[1][GHOST], MOOT_ERR_NOT_HELD);
        assert_int_equal(bench.ran_on[TAKER], 1); /* to end with that */
        bench_close();
    }
}

/* Ranks 0 and 2 are left: who was told tells the next chair. */
static void a_new_chair_decides_the_same(void **state)
{
    (void)state;
    const struct rankset left = {.low = 5};
    for (int n = 0; n < 6; n++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash ghost = chaired_by(1, n, 0);
        for (int i = n; placement_chair(&ghost, &left, NULL) != 2; i++) {
            ghost = chaired_by(1, i, 0);
        }
        ask_in_vain(ghost);
        bench.crashed[1] = true;
        certify_at(0, 1);
        certify_at(2, 1);
        pass(100 * MS);
        assert_int_equal(bench.epoch[0], 2);
        check_told(n % 2 == 0 ? 2 : 0, ghost, 0);
        bench_close();
    }
}

static void leave(uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_LEAVE};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

/* The chair has asked itself, and nobody else knows. */
static void a_chair_that_leaves_hands_it_over(void **state)
{
    (void)state;
    for (int n = 0; n < 6; n++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash ghost = chaired_by(0, n, 0);
        ask_in_vain(ghost);
        leave(0);
        pass(100 * MS);
        assert_true(bench.left[0]);
        check_told(n % 2 == 0 ? 2 : 1, ghost, 0);
        bench_close();
    }
}

/* Rank 1 alone may run it, and would claim it without a word; its finder is any. */
static void who_may_run_it_is_told_as_well(void **state)
{
    (void)state;
    for (uint32_t finder = 0; finder < 3; finder++) {
        for (uint32_t spawner = 0; spawner < 3; spawner++) {
            bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
            moot_hash ghost = chaired_by(finder, 0, MOOT_HASH_CANDIDATES);
            ask_in_vain(ghost);
            check_told(spawner, ghost, 2);
            bench_close();
        }
    }
}

/* Message by message. */
static void step_until_said(enum message_type type, uint64_t count)
{
    while (sum_sent(type) < count) {
        if (bench.head < bench.tail) {
            deliver_one();
            continue;
        }
        bench.now += MS / 4;
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            struct core_event tick = {.type = CORE_EV_TICK};
            assert_int_equal(step(rank, &tick), MOOT_OK);
        }
    }
}

/* The finder's question is under way to rank 1, which alone may run it, when that
 * spawns it; or its answer is. */
static void a_finder_waits_for_all_to_answer(void **state)
{
    (void)state;
    for (int answered = 0; answered <= 1; answered++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash ghost = chaired_by(2, 0, MOOT_HASH_CANDIDATES);
        enter(0, GHOST, ghost);
        begin_wait(0, ghost);
        block_all_but(0);
        step_until_said(MESSAGE_POLLR, 4);
        bench.holds[answered ? 1 : 2][answered ? 2 : 1] = true;
        step_until_said(MESSAGE_VERDICT, 2);
        deliver_all();
        set_lane(1, CORE_LANE_RUNNING);
        assert_int_equal(spawn_among(1, ghost, 2), MOOT_OK);
        pass(MS);
        assert_int_equal(bench.runs[GHOST], !answered);
        assert_int_equal(bench.ended[0][GHOST], !answered);
        let_go(2, 1);
        let_go(1, 2);
        pass(50 * MS);
        assert_int_equal(bench.ended[0][GHOST], answered ? MOOT_ERR_NOT_HELD : 1);
        if (answered) {
            begin_wait(1, ghost);
            pass(MS);
            assert_int_equal(bench.ended[1][GHOST], MOOT_ERR_NOT_HELD);
        }
        assert_int_equal(bench.runs[GHOST], !answered);
        bench_close();
    }
}

/* All spawn it, let it go, and then it is a new task. */
static void it_is_forgotten_as_any_other(void **state)
{
    (void)state;
    bench.drops = true;
    bench_open(2, CORE_REPAIR);
    moot_hash ghost = chaired_by(0, 0, 0);
    ask_in_vain(ghost);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, GHOST, ghost);
    }
    for (int n = 1; n < 40; n++) { /* so that its chunk is a whole one */
        for (uint32_t rank = 0; rank < 2; rank++) {
            moot_hash other = chaired_by(1, n, 0);
            spawn(rank, OTHER, other);
            core_let_go(bench.core[rank], &other, NULL);
        }
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        core_let_go(bench.core[rank], &ghost, NULL);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    assert_true(bench.forgotten[0][GHOST] && bench.forgotten[1][GHOST]);
    for (uint32_t rank = 0; rank < 2; rank++) {
        set_lane(rank, CORE_LANE_RUNNING);
        spawn(rank, GHOST, ghost);
        begin_wait(rank, ghost);
    }
    settle();
    assert_int_equal(bench.runs[GHOST], 1);
    bench_close();
    bench.drops = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_spawns_it_later_is_told_the_same),
        cmocka_unit_test(a_wait_that_was_given_up_decides_nothing),
        cmocka_unit_test(what_takes_it_fails),
        cmocka_unit_test(a_new_chair_decides_the_same),
        cmocka_unit_test(a_chair_that_leaves_hands_it_over),
        cmocka_unit_test(who_may_run_it_is_told_as_well),
        cmocka_unit_test(a_finder_waits_for_all_to_answer),
        cmocka_unit_test(it_is_forgotten_as_any_other),
    };
    bench_break_a_rule();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
