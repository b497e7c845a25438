/* nested_array_test.c - a running task spawns an array: no other rank's program spawns
 * that, so the homes give up their stretches at once, and the spawner runs all. */
#include "tests/unit/elements_bench.h"

static moot_hash child_array(uint32_t chair)
{
    return chaired_by(chair, 0, MOOT_HASH_ARRAY | MOOT_HASH_NESTED);
}

static void spawn_child_array(uint32_t rank, moot_hash hash)
{
    const struct array_spread spread = {.count = COUNT, .kind = ARRAY_SPREAD_BLOCK};
    const struct core_register reg = {
        .array = &spread, .flags = CORE_TASK_NESTED, .parent = hash};
    assert_int_equal(spawn_with(rank, ARRAY, hash, reg), MOOT_OK);
}

/* The programs of both ranks run on, and nobody waits. */
static void its_spawner_runs_all(uint32_t chair, uint32_t spawner, enum core_mode mode)
{
    bench_open(2, mode);
    const moot_hash hash = child_array(chair);
    set_lane(0, CORE_LANE_RUNNING);
    set_lane(1, CORE_LANE_RUNNING);
    spawn_child_array(spawner, hash);
    pass(MS);
    const uint32_t own = spawner == 0 ? 0 : 4, others = 4 - own;
    assert_int_equal(bench.given_count[spawner], 2);
    assert_given(spawner, 0, own, own + 4);
    assert_given(spawner, 1, others, others + 4);
    assert_int_equal(bench.given_count[1 - spawner], 0);
    end_elements(spawner, hash, 0, COUNT);
    bench_close();
}

static void the_homes_give_it_up_at_once(void **state)
{
    (void)state;
    its_spawner_runs_all(0, 0, CORE_REPAIR);
    its_spawner_runs_all(0, 1, CORE_REPAIR);
    its_spawner_runs_all(1, 0, CORE_REPAIR);
    its_spawner_runs_all(1, 1, CORE_STRICT);
    its_spawner_runs_all(1, 0, CORE_TRUST);
    its_spawner_runs_all(0, 1, CORE_STRICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_homes_give_it_up_at_once)};
    bench_break_a_rule();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
