/* strict_test.c - strict mode where ranks die and views change (PROTOCOL.md, Strict).
 */
#include "tests/unit/bench.h"

static void open_strict(uint32_t size)
{
    bench_open_with(size, CORE_STRICT, 10 * MS);
    pass(30 * MS);
}

static void kill_rank(uint32_t rank)
{
    bench.crashed[rank] = bench.deaf[rank] = true;
    for (uint32_t each = 0; each < bench.size; each++) {
        if (!bench.crashed[each]) {
            certify_at(each, rank);
        }
    }
}

/* Task 1 may be run by rank 2 alone.  Rank 1 comes to it when that is dead. */
static void what_nobody_may_own_any_more_keeps_its_place(void **state)
{
    (void)state;
    open_strict(3);
    struct rankset among = {.low = UINT64_C(1) << 2};
    const struct core_register reg = {.candidates = &among};
    const moot_hash a = chaired_by(2, 0, MOOT_HASH_CANDIDATES), b = chaired_by(0, 0, 0);
    assert_int_equal(spawn_with(0, 1, a, reg), MOOT_OK);
    spawn(0, 2, b);
    kill_rank(2);
    pass(200 * MS);
    assert_int_equal(spawn_with(1, 1, a, reg), MOOT_OK);
    spawn(1, 2, b);
    for (uint32_t rank = 0; rank < 2; rank++) {
        begin_wait(rank, a);
    }
    pass(200 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(bench.ended[rank][1], MOOT_ERR_NO_CANDIDATE);
        end_wait(rank, a);
        close_rank(rank);
    }
    pass(500 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_true(bench.adjourned[rank] && !bench.diverged[rank]);
    }
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_may_own_any_more_keeps_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
