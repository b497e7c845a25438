/* homes_test.c - arrays with candidates, and with homes of their own: who claims what,
 * to whom it is dealt, and how it ends for want of candidates (PROTOCOL.md, A3). */
#include "tests/unit/elements_bench.h"

#include "proto/moot_error.h"

static int register_at(uint32_t rank, moot_hash hash, uint64_t homes, bool bound)
{
    const struct array_spread spread = {.count = COUNT, .kind = ARRAY_SPREAD_BLOCK};
    const struct rankset ranks = {.low = homes};
    const struct core_register reg = {
        .array = &spread, .homes = homes != 0 ? &ranks : NULL, .bound = bound};
    return spawn_with(rank, ARRAY, hash, reg);
}

static void spawn_bound(uint32_t rank, moot_hash hash, uint64_t homes)
{
    assert_int_equal(register_at(rank, hash, homes, true), MOOT_OK);
}

static void die(uint32_t dead)
{
    bench.crashed[dead] = true;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            certify_at(rank, dead);
        }
    }
    pass(200 * MS);
}

static void its_candidates_alone_run_it_and_all_hear_of_its_end(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 4; chair++) {
        bench_open(4, CORE_REPAIR);
        const moot_hash hash = array_of(chair);
        for (uint32_t rank = 0; rank < 4; rank++) {
            spawn_bound(rank, hash, 1 << 1 | 1 << 3);
            begin_wait(rank, hash);
        }
        assert_int_equal(bench.given_count[0] + bench.given_count[2], 0);
        assert_given(1, 0, 0, 4);
        assert_given(3, 0, 4, 8);
        end_latest(1, hash);
        end_latest(3, hash);
        settle();
        for (uint32_t rank = 0; rank < 4; rank++) {
            assert_int_equal(bench.ended[rank][ARRAY], 1);
        }
        assert_int_equal(bench.given_count[1] + bench.given_count[3], 2);
        bench_close();
    }
}

static void homes_that_are_none_are_refused(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    assert_int_equal(register_at(0, hash, 0, true), MOOT_ERR_INVALID);
    assert_int_equal(register_at(0, hash, 1 << 1, true), MOOT_OK);
    assert_int_equal(register_at(0, hash, 1 << 2, true), MOOT_ERR_INVALID);
    assert_int_equal(register_at(0, hash, 1 << 1, false), MOOT_ERR_INVALID);
    assert_int_equal(register_at(0, hash, 0, false), MOOT_ERR_INVALID);
    bench_close();
}

static void what_one_gives_up_goes_to_a_candidate_that_holds_it(void **state)
{
    (void)state;
    bench_open(4, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_bound(rank, hash, 1 << 2 | 1 << 3);
        begin_wait(rank, hash);
    }
    close_rank(3);
    settle_until(bench.now + 100 * MS);
    assert_int_equal(bench.given_count[0] + bench.given_count[1], 0);
    assert_int_equal(bench.given_count[2], 2);
    assert_given(2, 1, 4, 8);
    end_elements(2, hash, 0, 8);
    settle();
    assert_int_equal(bench.ended[1][ARRAY], 1);
    bench_close();
}

static void what_the_dead_one_leaves_goes_to_a_candidate(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 4; chair++) { /* who dies may chair it, too */
        bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
        pass(50 * MS);
        const moot_hash hash = array_of(chair);
        for (uint32_t rank = 0; rank < 4; rank++) {
            spawn_bound(rank, hash, 1 << 1 | 1 << 2);
            begin_wait(rank, hash);
        }
        die(2);
        assert_int_equal(bench.given_count[0] + bench.given_count[3], 0);
        assert_int_equal(bench.given_count[1], 2);
        assert_given(1, 1, 4, 8);
        end_elements(1, hash, 0, 8);
        pass(50 * MS);
        assert_int_equal(bench.ended[3][ARRAY], 1);
        assert_int_equal(bench.given_count[0] + bench.given_count[3], 0);
        bench_close();
    }
}

static void without_a_candidate_it_ends_so_and_is_not_spawned_any_more(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    const moot_hash hash = array_of(0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_bound(rank, hash, 1 << 2);
        begin_wait(rank, hash);
    }
    end_elements(2, hash, 0, 3);
    die(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(bench.given_count[rank], 0);
        assert_int_equal(bench.ended[rank][ARRAY], 1);
        assert_int_equal(bench.run_code[ARRAY], MOOT_ERR_NO_CANDIDATE);
    }
    assert_int_equal(register_at(3, hash, 1 << 2, true), MOOT_ERR_NO_CANDIDATE);
    bench_close();
}

static void held_by_no_candidate_it_ends_not_held(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_bound(0, hash, 1 << 2);
    spawn_bound(1, hash, 1 << 2);
    close_rank(2);
    begin_wait(0, hash);
    begin_wait(1, hash);
    settle();
    assert_int_equal(bench.given_count[0] + bench.given_count[1], 0);
    assert_int_equal(bench.ended[1][ARRAY], 1);
    assert_int_equal(bench.run_code[ARRAY], MOOT_ERR_NOT_HELD);
    bench_close();
}

/* As those of a session have them: others run what they leave. */
static void homes_that_are_no_candidates_leave_theirs_to_all_who_hold_it(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    assert_int_equal(register_at(0, hash, 1 << 1 | 1 << 2, false), MOOT_OK);
    assert_int_equal(register_at(1, hash, 1 << 1 | 1 << 2, false), MOOT_OK);
    assert_int_equal(bench.given_count[0], 0);
    assert_given(1, 0, 0, 4);
    close_rank(2);
    begin_wait(0, hash);
    begin_wait(1, hash);
    end_latest(1, hash);
    settle_until(bench.now + 100 * MS);
    assert_given(0, 0, 4, 6);
    assert_given(1, 1, 6, 8);
    end_latest(0, hash);
    end_latest(1, hash);
    settle();
    assert_int_equal(bench.ended[0][ARRAY], 1);
    bench_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_candidates_alone_run_it_and_all_hear_of_its_end),
        cmocka_unit_test(homes_that_are_none_are_refused),
        cmocka_unit_test(what_one_gives_up_goes_to_a_candidate_that_holds_it),
        cmocka_unit_test(what_the_dead_one_leaves_goes_to_a_candidate),
        cmocka_unit_test(without_a_candidate_it_ends_so_and_is_not_spawned_any_more),
        cmocka_unit_test(held_by_no_candidate_it_ends_not_held),
        cmocka_unit_test(homes_that_are_no_candidates_leave_theirs_to_all_who_hold_it),
    };
    bench_break_a_rule();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
