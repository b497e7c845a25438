/* unstarted_test.c - what stands in the queue of a rank that leaves (PROTOCOL.md,
 * "Leaving"), on the bench: the core has given it out, and no kernel has begun.
 */
#include "tests/unit/rare_bench.h"

static void what_its_host_has_not_begun_another_runs(void **state)
{
    (void)state;
    const unsigned facts[] = {0, MOOT_HASH_ONCE};
    for (int i = 0; i < 2; i++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash a = chaired_by(1, 0, facts[i]);
        bench.hold_runs = true;
        for (uint32_t rank = 0; rank < 3; rank++) {
            const struct core_register reg = {.flags = facts[i] ? CORE_TASK_ONCE : 0};
            assert_int_equal(spawn_with(rank, 1, a, reg), MOOT_OK);
        }
        begin_wait(0, a);
        pass(50 * MS);
        assert_int_equal(bench.ran_on[1], 1);
        struct core_event early = {.type = CORE_EV_UNSTARTED, .hash = a};
        assert_int_equal(step(1, &early), MOOT_ERR_STATE);
        leave(1);
        give_back_unstarted(1, a);
        pass(100 * MS);
        assert_int_equal(bench.runs[1], 2);
        assert_int_not_equal(bench.ran_on[1], 1);
        assert_true(bench.left[1]);
        finish_run((uint32_t)bench.ran_on[1], a);
        pass(50 * MS);
        assert_int_equal(bench.ended[0][1], 1);
        bench_close();
    }
}

static void what_its_host_has_not_begun_it_runs_if_nobody_else_can(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(1, 0, 0);
    bench.hold_runs = true;
    spawn(1, 1, a);
    begin_wait(0, a);
    pass(50 * MS);
    assert_int_equal(bench.ran_on[1], 1);
    leave(1);
    give_back_unstarted(1, a);
    assert_int_equal(bench.runs[1], 2);
    assert_int_equal(bench.ran_on[1], 1);
    pass(50 * MS);
    assert_false(bench.left[1]);
    finish_run(1, a);
    pass(50 * MS);
    assert_true(bench.left[1]);
    bench_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_its_host_has_not_begun_another_runs),
        cmocka_unit_test(what_its_host_has_not_begun_it_runs_if_nobody_else_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
