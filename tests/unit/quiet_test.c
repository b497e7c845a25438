/* quiet_test.c - when nothing moves any more (PROTOCOL.md, QUIET): which wait ends, and
 * which go on. */
#include "proto/limits.h"
#include "tests/unit/bench.h"

enum { MISSING = 1, LATE = 2, OTHER = 3 };

static void wait_for(uint32_t rank, int number, moot_hash hash)
{
    enter(rank, number, hash);
    begin_wait(rank, hash);
}

static void pass_until_a_wait_has_ended(void)
{
    for (int i = 0; i < 10000; i++) {
        if (bench.ended[0][MISSING] != 0 || bench.ended[1][LATE] != 0) {
            return;
        }
        settle_until(bench.now + MS / 50);
    }
}

static void check_who_goes_on(moot_hash missing, moot_hash late)
{
    spawn(1, OTHER, chaired_by(1, 9, 0));
    wait_for(0, MISSING, missing);
    wait_for(1, LATE, late);
    set_lane(2, CORE_LANE_BLOCKED);
    pass_until_a_wait_has_ended();
    assert_int_equal(bench.ended[0][MISSING], MOOT_ERR_NOT_HELD);
    assert_int_equal(bench.ended[1][LATE], 0);
    end_wait(0, missing);
    spawn(0, LATE, late);
    set_lane(0, CORE_LANE_BLOCKED);
    settle();
    assert_int_equal(bench.ended[1][LATE], 1);
}

/* Rank 0 waits for what nobody holds, and would then spawn what rank 1 waits for, which
 * has come farther.  Whoever their chairs are, and whichever hash is the lower. */
static void the_wait_of_who_has_come_least_far_ends(void **state)
{
    (void)state;
    for (uint32_t direct_max = 0; direct_max < 2; direct_max++) {
        bench.direct_max = direct_max; /* 1: polls go along a tree */
        for (uint32_t row = 0; row < 18; row++) {
            bench_open(3, CORE_REPAIR);
            moot_hash one = chaired_by(row % 3, 0, 0);
            moot_hash two = chaired_by(row / 3 % 3, 1, 0);
            check_who_goes_on(row < 9 ? one : two, row < 9 ? two : one);
            bench_close();
        }
    }
    bench.direct_max = 0;
}

static void take_own(uint32_t from, uint32_t to, uint64_t epoch, uint64_t view_id)
{
    core_took_own(bench.core[to], from, epoch, view_id);
}

/* That message might let the one go on that spawns what is missing. */
static void nothing_fails_while_a_message_of_a_host_is_on_its_way(void **state)
{
    (void)state;
    for (uint32_t direct_max = 0; direct_max < 2; direct_max++) {
        bench.direct_max = direct_max;
        bench_open(3, CORE_REPAIR);
        uint64_t epoch, view_id;
        core_view(bench.core[2], &epoch, &view_id);
        core_sent_own(bench.core[2]);
        for (uint32_t rank = 1; rank < 3; rank++) {
            set_lane(rank, CORE_LANE_BLOCKED);
        }
        wait_for(0, MISSING, chaired_by(1, 0, 0));
        settle_until(bench.now + 1000 * MS);
        assert_int_equal(bench.ended[0][MISSING], 0);
        take_own(2, 1, epoch, view_id + 1); /* of no view of theirs */
        settle_until(bench.now + 1000 * MS);
        assert_int_equal(bench.ended[0][MISSING], 0);
        take_own(2, 1, epoch, view_id);
        settle_until(bench.now + 2000 * MS);
        assert_int_equal(bench.ended[0][MISSING], MOOT_ERR_NOT_HELD);
        bench_close();
    }
    bench.direct_max = 0;
}

static void lose(uint32_t dead)
{
    bench.crashed[dead] = true;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            certify_at(rank, dead);
        }
    }
    settle_until(bench.now + 100 * MS);
}

/* Rank 0's wait when two ranks have gone; the others are blocked, and rank 2 has taken
 * `early` messages of that view before it was in the one before.  The view is told. */
static int32_t end_of_wait(uint64_t early, uint64_t *epoch, uint64_t *view_id)
{
    bench_open_with(5, CORE_REPAIR, UINT64_C(10) * MS);
    settle_until(bench.now + 50 * MS);
    for (uint64_t i = 0; i < early; i++) {
        take_own(1, 2, *epoch, *view_id);
    }
    lose(4);
    lose(3);
    core_view(bench.core[2], epoch, view_id);
    for (uint64_t i = 0; i < early; i++) {
        core_sent_own(bench.core[1]);
    }
    set_lane(1, CORE_LANE_BLOCKED);
    set_lane(2, CORE_LANE_BLOCKED);
    wait_for(0, MISSING, chaired_by(1, 0, 0));
    settle_until(bench.now + 2000 * MS);
    const int32_t code = bench.ended[0][MISSING];
    bench_close();
    return code;
}

/* Rank 1 is ahead by two views. */
static void a_message_of_the_view_after_the_next_counts_there(void **state)
{
    (void)state;
    uint64_t epoch = 0, view_id = 0;
    assert_int_equal(end_of_wait(0, &epoch, &view_id), MOOT_ERR_NOT_HELD);
    assert_int_equal(epoch, 3);
    assert_int_equal(end_of_wait(2, &epoch, &view_id), MOOT_ERR_NOT_HELD);
}

static void need(uint32_t rank, int number, moot_hash hash, uint64_t wait)
{
    struct core_event event = {.type = CORE_EV_NEED, .hash = hash};
    event.u.need.want = WANT_DATA;
    event.u.need.wait = wait;
    enter(rank, number, hash);
    assert_int_equal(step(rank, &event), MOOT_OK);
}

enum { PARTS = 12 };

static void pass_until_a_part_has_ended(void)
{
    int ended = 0;
    while (ended == 0) {
        settle_until(bench.now + MS / 50);
        for (int i = 0; i < PARTS; i++) {
            ended += bench.ended[0][MISSING + i] != 0;
        }
    }
    deliver_all();
}

/* Each rank is the chair in turn; along a tree a part of the members is told twice. */
static void what_one_wait_needs_fails_in_one_round(void **state)
{
    (void)state;
    for (uint32_t direct_max = 0; direct_max < 2; direct_max++) {
        bench.direct_max = direct_max;
        bench_open(3, CORE_REPAIR);
        for (int i = 0; i < PARTS; i++) {
            need(0, MISSING + i, chaired_by((uint32_t)i % 3, i, 0), 7);
        }
        for (uint32_t rank = 0; rank < 3; rank++) {
            set_lane(rank, CORE_LANE_BLOCKED);
        }
        pass_until_a_part_has_ended();
        for (int i = 0; i < PARTS; i++) {
            assert_int_equal(bench.ended[0][MISSING + i], MOOT_ERR_NOT_HELD);
        }
        assert_in_range(sum_sent(MESSAGE_RESOLVE), 2, 3);
        bench_close();
    }
    bench.direct_max = 0;
}

/* Those of two ranks, as when both run the same line. */
static void what_the_same_waits_need_fails_in_one_round(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    for (int i = 0; i < PARTS; i++) {
        need(0, MISSING + i, chaired_by((uint32_t)i % 3, i, 0), 7);
        need(2, MISSING + i, chaired_by((uint32_t)i % 3, i, 0), 4);
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass_until_a_part_has_ended();
    for (int i = 0; i < PARTS; i++) {
        assert_int_equal(bench.ended[0][MISSING + i], MOOT_ERR_NOT_HELD);
        assert_int_equal(bench.ended[2][MISSING + i], MOOT_ERR_NOT_HELD);
    }
    assert_in_range(sum_sent(MESSAGE_RESOLVE), 2, 3);
    bench_close();
}

static void block_until_one_ends(int number, int other)
{
    for (uint32_t rank = 0; rank < 3; rank++) {
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    for (int i = 0; i < 10000 && bench.ended[0][number] + bench.ended[0][other] == 0;
         i++) {
        settle_until(bench.now + MS / 50);
    }
}

/* Rank 0 waits for both; rank 1 for `missing` alone, and then spawns `late`. */
static void check_apart(uint32_t chair_of_missing, uint32_t chair_of_late)
{
    moot_hash missing = chaired_by(chair_of_missing, 0, 0);
    moot_hash late = chaired_by(chair_of_late, 1, 0);
    bench_open(3, CORE_REPAIR);
    spawn(1, OTHER, chaired_by(1, 9, 0));
    need(0, MISSING, missing, 1);
    need(0, LATE, late, 1);
    need(1, MISSING, missing, 1);
    block_until_one_ends(MISSING, LATE);
    if (bench.ended[0][MISSING] != 0) {
        assert_int_equal(bench.ended[0][MISSING], MOOT_ERR_NOT_HELD);
        assert_int_equal(bench.ended[0][LATE], 0);
        set_lane(1, CORE_LANE_RUNNING);
        spawn(1, LATE, late);
        set_lane(1, CORE_LANE_BLOCKED);
        settle();
        assert_int_equal(bench.ended[0][LATE], 1);
    } else { /* the guess was another: nobody was set free by it */
        assert_int_equal(bench.ended[0][LATE], MOOT_ERR_NOT_HELD);
        assert_int_equal(bench.ended[1][MISSING], 0);
    }
    bench_close();
}

static void what_another_rank_waits_for_besides_fails_alone(void **state)
{
    (void)state;
    bench.size = 3; /* for chaired_by() */
    for (uint32_t i = 0; i < 9; i++) {
        check_apart(i / 3, i % 3);
    }
}

/* One lane waits for both parts, and is heard of; then another waits for one of them.
 */
static void what_another_lane_waits_for_besides_fails_alone(void **state)
{
    (void)state;
    bench.size = 3; /* for chaired_by() */
    for (uint32_t chair = 0; chair < 3; chair++) {
        moot_hash first = chaired_by(chair, 0, 0), second = chaired_by(2, 1, 0);
        bench_open(3, CORE_REPAIR);
        need(0, MISSING, first, 1);
        need(0, LATE, second, 1);
        settle_until(bench.now + 2 * MS);
        need(0, MISSING, first, 2);
        block_until_one_ends(MISSING, LATE);
        assert_true((bench.ended[0][MISSING] == 0) != (bench.ended[0][LATE] == 0));
        bench_close();
    }
}

/* One lane waits for one of them, and then another for both. */
static void what_a_lane_waited_for_before_fails_alone(void **state)
{
    (void)state;
    bench.size = 3; /* for chaired_by() */
    for (uint32_t chair = 0; chair < 3; chair++) {
        moot_hash first = chaired_by(chair, 0, 0), second = chaired_by(2, 1, 0);
        bench_open(3, CORE_REPAIR);
        need(0, MISSING, first, 2);
        need(0, MISSING, first, 1);
        need(0, LATE, second, 1);
        block_until_one_ends(MISSING, LATE);
        assert_true((bench.ended[0][MISSING] == 0) != (bench.ended[0][LATE] == 0));
        bench_close();
    }
}

/* Rank 0 waits for both, and two others for one each: the numbers of their waits are
 * all alike. */
static void what_different_ranks_wait_for_besides_fails_alone(void **state)
{
    (void)state;
    bench.size = 3; /* for chaired_by() */
    for (uint32_t i = 0; i < 9; i++) {
        moot_hash one = chaired_by(i / 3, 0, 0), other = chaired_by(i % 3, 1, 0);
        bench_open(3, CORE_REPAIR);
        spawn(1, OTHER, chaired_by(1, 9, 0));
        spawn(2, OTHER + 1, chaired_by(2, 9, 0));
        need(0, MISSING, one, 1);
        need(0, LATE, other, 1);
        need(1, MISSING, one, 1);
        need(2, LATE, other, 1);
        block_until_one_ends(MISSING, LATE);
        assert_true((bench.ended[0][MISSING] == 0) != (bench.ended[0][LATE] == 0));
        bench_close();
    }
}

/* Two waits of one rank end one after the other. */
static void what_two_waits_need_does_not(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash first = chaired_by(0, 0, 0), second = chaired_by(1, 0, 0);
    need(0, MISSING, first, 1);
    need(0, LATE, second, 2);
    set_lane(0, CORE_LANE_BLOCKED);
    set_lane(1, CORE_LANE_BLOCKED);
    for (int i = 0; i < 10000 && bench.ended[0][MISSING] == 0; i++) {
        settle_until(bench.now + MS / 50);
    }
    assert_int_equal(bench.ended[0][MISSING], MOOT_ERR_NOT_HELD);
    assert_int_equal(bench.ended[0][LATE], 0);
    set_lane(0, CORE_LANE_RUNNING);
    spawn(0, LATE, second);
    set_lane(0, CORE_LANE_BLOCKED);
    settle();
    assert_int_equal(bench.ended[0][LATE], 1);
    bench_close();
}

/* Rank 1 alone held `gone`, which the others chair, or chaired it.  Rank 0 waits for
 * `late`, which 2 spawns after its wait for `gone`; and 0 has come less far. */
static void check_gone_first(moot_hash gone, moot_hash late, bool says_so)
{
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    if (says_so) {
        struct core_register hinted = {.flags = CORE_TASK_HINT};
        set_lane(0, CORE_LANE_PARKED);
        set_lane(2, CORE_LANE_PARKED);
        bench.hold_runs = true;
        assert_int_equal(spawn_with(1, MISSING, gone, hinted), MOOT_OK);
        pass(5 * MS);
        bench.hold_runs = false;
    }
    bench.crashed[1] = true;
    certify_at(0, 1);
    certify_at(2, 1);
    pass(100 * MS);
    spawn(2, OTHER, chaired_by(2, 9, 0));
    wait_for(0, LATE, late);
    wait_for(2, MISSING, gone);
    for (int i = 0; i < 400 && bench.ended[2][MISSING] == 0; i++) {
        pass(MS / 4);
    }
    assert_int_equal(bench.ended[2][MISSING], MOOT_ERR_NOT_HELD);
    assert_int_equal(bench.ended[0][LATE], 0);
    end_wait(2, gone);
    spawn(2, LATE, late);
    set_lane(2, CORE_LANE_BLOCKED);
    pass(50 * MS);
    assert_int_equal(bench.ended[0][LATE], 1);
    bench_close();
}

static void what_only_the_dead_held_fails_first(void **state)
{
    (void)state;
    bench.size = 3; /* for chaired_by() */
    for (uint32_t row = 0; row < 4; row++) {
        check_gone_first(chaired_by(row % 2 * 2, 0, 0), chaired_by(row / 2 * 2, 1, 0),
                         true);
        check_gone_first(chaired_by(1, (int)row, 0), chaired_by(row / 2 * 2, 1, 0),
                         false);
    }
}

/* Outside of repair mode nothing is yielded, and no wait fails, however quiet it is. */
static void who_trusts_waits(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        bench_open(3, mode == 0 ? CORE_TRUST : CORE_REPAIR);
        moot_hash alone = chaired_by(2, 0, 0), missing = chaired_by(2, 1, 0);
        spawn(1, OTHER, alone);
        begin_wait(1, alone);
        wait_for(0, MISSING, missing);
        set_lane(2, CORE_LANE_BLOCKED);
        settle();
        assert_int_equal(bench.ended[1][OTHER], mode);
        assert_int_equal(sum_yields(), mode);
        assert_int_equal(bench.ended[0][MISSING], mode == 0 ? 0 : MOOT_ERR_NOT_HELD);
        bench_close();
    }
}

static bool a_cycle_was_found(void)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        for (int number = 0; number <= OTHER; number++) {
            if (bench.ended[rank][number] == MOOT_ERR_CYCLE) {
                return true;
            }
        }
    }
    return false;
}

/* Two tasks that take each other: one is its chair's, who has yielded the other. */
static void a_circle_is_followed_to_who_has_been_given_a_task(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) { /* whichever hash is the lower */
        bench_open(2, CORE_REPAIR);
        const moot_hash given = chaired_by(0, n % 2, 0);
        const moot_hash kept = chaired_by(0, 2 + n / 2, 0);
        const struct core_register takes_kept = {
            .inputs = &kept, .input_count = 1, .flags = CORE_TASK_HINT};
        const struct core_register takes_given = {.inputs = &given, .input_count = 1};
        assert_int_equal(spawn_with(1, MISSING, given, takes_kept), MOOT_OK);
        settle();
        assert_int_equal(sum_yields(), 1);
        assert_int_equal(spawn_with(0, OTHER, kept, takes_given), MOOT_OK);
        begin_wait(0, kept);
        begin_wait(1, given);
        settle();
        assert_true(a_cycle_was_found());
        bench_close();
    }
}

enum { TASKS_MAX = 3000 };

/* Hashes of tasks that these ranks chair, the least of them first. */
static void draw_hashes(uint32_t chairs, uint32_t count, moot_hash *hashes)
{
    struct rankset members = {.low = 3};
    uint32_t found = 0, least = 0;
    for (uint64_t i = 0; found < count; i++) {
        moot_hash hash = digest_bytes(&i, sizeof(i));
        hash.bytes[15] &= (uint8_t) ~(uint32_t)MOOT_HASH_FACTS;
        if (placement_chair(&hash, &members, NULL) < chairs) {
            hashes[found++] = hash;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        least = hash_compare(&hashes[i], &hashes[least]) < 0 ? i : least;
    }
    moot_hash first = hashes[least];
    hashes[least] = hashes[0];
    hashes[0] = first;
}

/* A circle, and so many tasks that only wait for it, one for the other, of which one is
 * where the chase begins. */
static void check_circle(uint32_t owners, uint32_t outside, uint32_t circle)
{
    static moot_hash hashes[TASKS_MAX];
    const uint32_t count = outside + circle;
    assert_true(count <= TASKS_MAX);
    bench_open(2, CORE_REPAIR);
    draw_hashes(owners, count, hashes);
    for (uint32_t rank = 0; rank < owners; rank++) {
        for (uint32_t i = count; i-- > 0;) {
            const struct core_register reg = {
                .inputs = &hashes[i + 1 < count ? i + 1 : outside], .input_count = 1};
            assert_int_equal(spawn_with(rank, OTHER, hashes[i], reg), MOOT_OK);
        }
    }
    set_lane(0, CORE_LANE_BLOCKED);
    set_lane(1, CORE_LANE_BLOCKED);
    settle();
    assert_int_equal(
        core_stats(bench.core[0])->verdicts + core_stats(bench.core[1])->verdicts, 1);
    assert_int_equal(bench.runs[OTHER], count);
    if (circle <= LIMIT_CHASE_HOPS / 2) {
        assert_int_equal(bench.chain_count, circle);
    } else {
        assert_in_range(bench.chain_count, LIMIT_CHASE_HOPS / 2, LIMIT_CHASE_HOPS);
    }
    bench_close();
}

/* An order that one rank reverses may have any number of tasks between its ends. */
static void a_circle_ends_however_long_it_is(void **state)
{
    static const struct {
        uint32_t owners, outside, circle;
    } rows[] = {
        {1, 0, 2},
        {1, 3, 2},
        {2, 0, 1000},
        {1, 0, LIMIT_CHASE_HOPS},
        {1, 0, LIMIT_CHASE_HOPS + 1},
        {1, 0, TASKS_MAX},
        {2, 0, 2 * LIMIT_CHASE_HOPS + 1},
        {1, LIMIT_CHASE_HOPS - 1, 2},
        {1, LIMIT_CHASE_HOPS, 2},
        {1, LIMIT_CHASE_HOPS + 1, 2},
        {2, 2 * LIMIT_CHASE_HOPS, 5},
        {2, 700, 2 * LIMIT_CHASE_HOPS},
    };
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        check_circle(rows[row].owners, rows[row].outside, rows[row].circle);
    }
}

static void check_adjourned(bool adjourned, int32_t exit_code)
{
    settle();
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        assert_int_equal(bench.adjourned[rank], adjourned);
        assert_int_equal(bench.exit_code[rank], exit_code);
    }
}

/* Its threads have ended, and its program has still to say that it wants no more, and
 * how it went: all hear of that. */
static void nobody_goes_before_all_have_closed(void **state)
{
    (void)state;
    struct core_event close = {.type = CORE_EV_CLOSE, .u.close.exit_code = 3};
    for (uint32_t row = 0; row < 10; row++) {
        uint32_t last = row % 5;
        bench.direct_max = row / 5; /* 1: along a tree */
        bench_open(5, CORE_REPAIR);
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            set_lane(rank, CORE_LANE_ENDED);
            if (rank != last) {
                close_rank(rank);
            }
        }
        check_adjourned(false, 0);
        assert_int_equal(step(last, &close), MOOT_OK);
        check_adjourned(true, 3);
        bench_close();
    }
    bench.direct_max = 0;
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wait_of_who_has_come_least_far_ends),
        cmocka_unit_test(nothing_fails_while_a_message_of_a_host_is_on_its_way),
        cmocka_unit_test(a_message_of_the_view_after_the_next_counts_there),
        cmocka_unit_test(what_one_wait_needs_fails_in_one_round),
        cmocka_unit_test(what_the_same_waits_need_fails_in_one_round),
        cmocka_unit_test(what_another_rank_waits_for_besides_fails_alone),
        cmocka_unit_test(what_another_lane_waits_for_besides_fails_alone),
        cmocka_unit_test(what_a_lane_waited_for_before_fails_alone),
        cmocka_unit_test(what_different_ranks_wait_for_besides_fails_alone),
        cmocka_unit_test(what_two_waits_need_does_not),
        cmocka_unit_test(what_only_the_dead_held_fails_first),
        cmocka_unit_test(who_trusts_waits),
        cmocka_unit_test(a_circle_is_followed_to_who_has_been_given_a_task),
        cmocka_unit_test(nobody_goes_before_all_have_closed),
        /* The longest is last: with a rule broken, another ends the program before. */
        cmocka_unit_test(a_circle_ends_however_long_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
