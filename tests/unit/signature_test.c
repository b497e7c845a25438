/* signature_test.c - signatures of state (PROTOCOL.md, D1 to D5), on the bench. */
#include "proto/limits.h"
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

enum {
    NOTHING = 0,
    DIFFERS = 1 << CORE_SIGNATURE_DIFFERS,
    NAMED = 1 << CORE_SIGNATURE_CONTRADICTED,
    ROLLS = 1 << CORE_SIGNATURE_ROLLS
};

static int sign_as(uint32_t rank, uint64_t at, uint8_t state)
{
    struct core_event event = {.type = CORE_EV_SIGNATURE};
    memset(event.hash.bytes, state, sizeof(event.hash));
    event.u.signature.step = at;
    return step(rank, &event);
}

static void sign(uint32_t rank, uint64_t at, uint8_t state)
{
    assert_int_equal(sign_as(rank, at, state), MOOT_OK);
}

/* Each rank was told `what` of `of`, and nothing of others. */
static void expect_told(uint32_t of, unsigned what)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        for (uint32_t other = 0; other < bench.size; other++) {
            assert_int_equal(bench.told_of[rank][other],
                             other == of ? what : (unsigned)NOTHING);
        }
    }
}

static void who_agrees_is_told_nothing(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    for (uint64_t at = 0; at < 200; at++) {
        for (uint32_t rank = 0; rank < 3; rank++) {
            sign(rank, at, (uint8_t)at);
        }
        pass(MS);
    }
    expect_told(0, NOTHING);
    close_all();
    expect_told(0, NOTHING);
    bench_close();
}

static void two_that_differ_are_both_told(void **state)
{
    (void)state;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    sign(0, 7, 1);
    sign(1, 7, 2);
    pass(3 * HEARTBEAT_NS);
    assert_int_equal(bench.told_of[0][1], DIFFERS);
    assert_int_equal(bench.told_of[1][0], DIFFERS);
    assert_int_equal(bench.told_of[0][0] | bench.told_of[1][1], NOTHING);
    assert_int_equal(bench.told_step[0][1], 7);
    bench_close();
}

/* Any of them is named; and however often it differs it is said once. */
static void the_majority_names_who_differs(void **state)
{
    (void)state;
    for (uint32_t odd = 0; odd < 3; odd++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        for (uint64_t at = 1; at <= 20; at++) {
            for (uint32_t rank = 0; rank < 3; rank++) {
                sign(rank, at, rank == odd && at >= 5 ? 9 : 1);
            }
            pass(2 * HEARTBEAT_NS);
        }
        expect_told(odd, NAMED);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(bench.told_step[rank][odd], 5);
        }
        assert_int_equal(core_stats(bench.core[0])->signatures_differing, 1);
        bench_close();
    }
}

/* The later comparison counts; what a rank never comes to is no difference. */
static void ranks_come_to_a_step_at_different_times(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    sign(0, 3, 1);
    pass(3 * HEARTBEAT_NS);
    sign(1, 2, 8);
    pass(3 * HEARTBEAT_NS);
    expect_told(0, NOTHING);
    sign(1, 3, 1);
    sign(2, 3, 2);
    pass(3 * HEARTBEAT_NS);
    expect_told(2, NAMED);
    bench_close();
}

/* A heartbeat tells some of a thousand steps, and ranks are apart by hundreds. */
static void fast_steps_have_some_in_common(void **state)
{
    (void)state;
    enum { STEPS = 20000, APART = 300, FLIPPED = 9000 };
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    for (uint64_t at = 0; at < STEPS; at++) {
        for (uint32_t rank = 0; rank < 3; rank++) {
            if (at >= rank * (uint64_t)APART) {
                const uint64_t own = at - rank * (uint64_t)APART;
                sign(rank, own, rank == 1 && own >= FLIPPED ? 9 : 1);
            }
        }
        if (at % 100 == 0) {
            pass(MS);
        }
    }
    expect_told(1, NAMED);
    assert_true(bench.told_step[0][1] >= FLIPPED);
    assert_true(bench.told_step[0][1] < FLIPPED + 3000);
    bench_close();
}

static void without_heartbeats_it_is_told_at_the_close(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    for (uint64_t at = 0; at < 100; at++) {
        for (uint32_t rank = 0; rank < 3; rank++) {
            sign(rank, at, rank == 2 && at >= 50 ? 9 : 1);
        }
    }
    pass(100 * MS);
    expect_told(2, NOTHING);
    close_all();
    expect_told(2, NAMED);
    bench_close();
}

/* Two of five sign at all: neither is named, and they wait for the others in vain. */
static void where_others_are_silent_nobody_is_named(void **state)
{
    (void)state;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    sign(0, 1, 1);
    sign(4, 1, 2);
    pass(2 * HEARTBEAT_NS);
    assert_int_equal(bench.told_of[0][4], NOTHING);
    pass(6 * HEARTBEAT_NS);
    assert_int_equal(bench.told_of[0][4], DIFFERS);
    assert_int_equal(bench.told_of[4][0], DIFFERS);
    assert_int_equal(bench.told_of[1][0] | bench.told_of[1][4], NOTHING);
    bench_close();
}

/* Half and half: nobody is wrong. */
static void a_tie_names_nobody(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    for (uint32_t rank = 0; rank < 4; rank++) {
        sign(rank, 1, rank < 2 ? 1 : 2);
    }
    pass(10 * HEARTBEAT_NS);
    for (uint32_t rank = 0; rank < 4; rank++) {
        for (uint32_t of = 0; of < 4; of++) {
            assert_int_equal(bench.told_of[rank][of],
                             (rank < 2) == (of < 2) ? NOTHING : DIFFERS);
        }
    }
    bench_close();
}

/* A rank that is no member any more is not waited for. */
static void the_dead_are_not_waited_for(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    sign(0, 1, 1);
    sign(1, 1, 2);
    bench.crashed[2] = true;
    certify_at(0, 2);
    certify_at(1, 2);
    pass(3 * HEARTBEAT_NS);
    assert_int_equal(bench.told_of[0][1], DIFFERS);
    assert_int_equal(bench.told_of[1][0], DIFFERS);
    bench_close();
}

/* Among many only the committee hears signatures; who is named hears of it. */
static void among_many_who_is_named_is_told(void **state)
{
    (void)state;
    bench.direct_max = 1;
    for (uint32_t odd = 0; odd < 6; odd++) {
        bench_open_with(6, CORE_REPAIR, HEARTBEAT_NS);
        for (uint32_t rank = 0; rank < 6; rank++) {
            sign(rank, 4, rank == odd ? 2 : 1);
        }
        pass(8 * HEARTBEAT_NS);
        assert_int_equal(bench.told_of[odd][odd], NAMED);
        bench_close();
    }
    bench.direct_max = 0;
}

/* The step plus 1 at which the rank has seen all agree; 0: none. */
static uint64_t agreed_by(uint32_t rank)
{
    uint64_t step = 0;
    return core_signature_agreed(bench.core[rank], &step) ? step + 1 : 0;
}

static void expect_agreed(uint64_t plus_1)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            assert_int_equal(agreed_by(rank), plus_1);
        }
    }
}

static void all_agree_at_the_latest_step_that_all_have_told(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    expect_agreed(0);
    sign(0, 0, 1);
    sign(1, 0, 1);
    pass(3 * HEARTBEAT_NS);
    expect_agreed(0);
    sign(2, 0, 1);
    pass(3 * HEARTBEAT_NS);
    expect_agreed(0 + 1);
    for (uint32_t rank = 0; rank < 3; rank++) {
        sign(rank, 4, rank == 1 ? 2 : 1);
    }
    pass(3 * HEARTBEAT_NS);
    expect_agreed(0 + 1);
    for (uint32_t rank = 0; rank < 3; rank++) {
        sign(rank, 7, 3);
    }
    pass(3 * HEARTBEAT_NS);
    expect_agreed(7 + 1);
    bench_close();
}

static void the_dead_are_no_part_of_all(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    sign(0, 1, 1);
    sign(1, 1, 1);
    pass(3 * HEARTBEAT_NS);
    expect_agreed(0);
    bench.crashed[2] = true;
    certify_at(0, 2);
    certify_at(1, 2);
    pass(3 * HEARTBEAT_NS);
    expect_agreed(1 + 1);
    bench_close();
}

static void steps_ascend(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    sign(0, 5, 1);
    assert_int_equal(sign_as(0, 5, 1), MOOT_ERR_STATE);
    assert_int_equal(sign_as(0, 4, 1), MOOT_ERR_STATE);
    assert_int_equal(sign_as(0, UINT64_MAX, 1), MOOT_ERR_INVALID);
    sign(0, CORE_SIGNATURE_STEP_MAX, 1);
    bench_close();
}

/* --- What was announced ----------------------------------------------------------- */

static void spawn_some(void)
{
    for (int number = 0; number < 12; number++) {
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            spawn(rank, number, chaired_by(0, number, 0));
        }
    }
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        set_lane(rank, CORE_LANE_BLOCKED);
    }
}

static void what_was_announced_is_as_it_came(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    spawn_some();
    pass(10 * HEARTBEAT_NS);
    assert_true(sum_sent(MESSAGE_ROLL) > 0);
    expect_told(0, NOTHING);
    bench_close();
}

/* One bit of a ROLL is another where it arrives. */
static void a_roll_that_changed_on_its_way_is_found(void **state)
{
    (void)state;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    spawn_some();
    bool changed = false;
    for (int turn = 0; turn < 400; turn++) {
        bench.now += MS / 4;
        for (uint32_t rank = 0; rank < 2; rank++) {
            struct core_event tick = {.type = CORE_EV_TICK};
            assert_int_equal(step(rank, &tick), MOOT_OK);
        }
        for (size_t i = bench.head; i < bench.tail && !changed; i++) {
            struct parcel *parcel = bench.queue[i % QUEUE_MAX];
            if (parcel->from == 0 && parcel->message->type == MESSAGE_ROLL) {
                parcel->message->u.roll.sum.high ^= UINT64_C(1) << 17;
                changed = true;
            }
        }
        deliver_all();
    }
    assert_true(changed);
    assert_int_equal(bench.told_of[1][0], ROLLS);
    assert_int_equal(bench.told_of[0][1], NOTHING);
    bench_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_agrees_is_told_nothing),
        cmocka_unit_test(two_that_differ_are_both_told),
        cmocka_unit_test(the_majority_names_who_differs),
        cmocka_unit_test(ranks_come_to_a_step_at_different_times),
        cmocka_unit_test(fast_steps_have_some_in_common),
        cmocka_unit_test(without_heartbeats_it_is_told_at_the_close),
        cmocka_unit_test(where_others_are_silent_nobody_is_named),
        cmocka_unit_test(a_tie_names_nobody),
        cmocka_unit_test(the_dead_are_not_waited_for),
        cmocka_unit_test(among_many_who_is_named_is_told),
        cmocka_unit_test(all_agree_at_the_latest_step_that_all_have_told),
        cmocka_unit_test(the_dead_are_no_part_of_all),
        cmocka_unit_test(steps_ascend),
        cmocka_unit_test(what_was_announced_is_as_it_came),
        cmocka_unit_test(a_roll_that_changed_on_its_way_is_found),
    };
    bench_break_a_rule();
    return cmocka_run_group_tests_name("signature", tests, NULL, NULL);
}
