/* keeper_test.c - tasks of which no candidate is a member any more (PROTOCOL.md, "Facts
 * in the hash"), on the bench. */
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

static void leave(uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_LEAVE};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void crash(uint32_t rank) { bench.crashed[rank] = true; }

/* Task 1, that `candidate` alone may run. */
static int spawn_for(uint32_t candidate, uint32_t rank, moot_hash hash)
{
    struct rankset among = {.low = UINT64_C(1) << candidate};
    const struct core_register reg = {
        .candidates = &among,
        .flags = hash.bytes[15] & MOOT_HASH_ONCE ? CORE_TASK_ONCE : 0};
    return spawn_with(rank, 1, hash, reg);
}

/* Rank 3 knows it by its hash alone. */
static void what_ran_where_no_candidate_is_left_is_served(void **state)
{
    (void)state;
    const unsigned facts[] = {MOOT_HASH_CANDIDATES,
                              MOOT_HASH_CANDIDATES | MOOT_HASH_ONCE};
    for (int i = 0; i < 4; i++) {
        bench_open_with(4, CORE_REPAIR, i < 2 ? HEARTBEAT_NS : 0);
        moot_hash a = chaired_by(1, i, facts[i % 2]);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(spawn_for(1, rank, a), MOOT_OK);
        }
        pass(20 * MS);
        assert_int_equal(bench.runs[1], 1);
        leave(1);
        pass(30 * MS);
        assert_true(bench.left[1]);
        for (uint32_t rank = 0; rank < 4; rank++) {
            if (rank != 1) {
                begin_wait(rank, a);
                pass(30 * MS);
                assert_int_equal(bench.ended[rank][rank < 3], 1);
                end_wait(rank, a);
            }
        }
        assert_int_equal(bench.runs[1], 1);
        bench_close();
    }
}

static void what_did_not_run_there_has_no_candidate(void **state)
{
    (void)state;
    for (int early = 0; early <= 1; early++) {
        bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash a = chaired_by(1, 0, MOOT_HASH_CANDIDATES);
        for (uint32_t rank = 0; rank < 3; rank += 2) {
            assert_int_equal(spawn_for(1, rank, a), MOOT_OK);
        }
        for (uint32_t rank = 0; early && rank < 4; rank++) {
            if (rank != 1) {
                begin_wait(rank, a);
            }
        }
        leave(1);
        pass(50 * MS);
        assert_true(bench.left[1]);
        for (uint32_t rank = 0; rank < 4; rank++) {
            if (rank != 1) {
                if (!early) {
                    begin_wait(rank, a);
                    pass(50 * MS);
                }
                assert_int_equal(bench.ended[rank][rank < 3], MOOT_ERR_NO_CANDIDATE);
            }
        }
        assert_int_equal(spawn_for(1, 3, a), MOOT_ERR_NO_CANDIDATE);
        bench_close();
    }
}

/* Of a task that rank 0 alone may run, after its death: 1 has taken the result, or
 * nobody has. */
static void the_dead_was_the_only_candidate(unsigned facts, bool taken, int32_t code)
{
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(0, 0, MOOT_HASH_CANDIDATES | facts);
    bench.hold_runs = !taken;
    pass(30 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(spawn_for(0, rank, a), MOOT_OK);
    }
    begin_wait(1, a);
    pass(30 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[1][1], taken);
    crash(0);
    pass(500 * MS);
    begin_wait(2, a);
    begin_wait(3, a);
    pass(50 * MS);
    assert_int_equal(bench.ended[1][1], code);
    assert_int_equal(bench.ended[2][1], code);
    assert_int_equal(bench.ended[3][0], code);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

static void what_the_only_candidate_ran_is_served_or_has_a_named_end(void **state)
{
    (void)state;
    the_dead_was_the_only_candidate(0, true, 1);
    the_dead_was_the_only_candidate(0, false, MOOT_ERR_NO_CANDIDATE);
    the_dead_was_the_only_candidate(MOOT_HASH_ONCE, true, 1);
    the_dead_was_the_only_candidate(MOOT_HASH_ONCE, false, MOOT_ERR_MAYBE_RAN);
}

int main(void)
{
    bench_break_a_rule();
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ran_where_no_candidate_is_left_is_served),
        cmocka_unit_test(what_did_not_run_there_has_no_candidate),
        cmocka_unit_test(what_the_only_candidate_ran_is_served_or_has_a_named_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
