/* spread_test.c - a few ranks that tell, count and close as thousands do: whom a chunk
 * reaches, what goes along the tree, and strict mode in it.  The simulator runs the
 * same with random programs (swarm_test --direct-max 1); here single rules are looked
 * at.
 */
#include "tests/unit/bench.h"

enum { TASKS = 6 };

static moot_hash task_of(int number)
{
    return chaired_by((uint32_t)number % bench.size, number / (int)bench.size, 0);
}

static void open_many(uint32_t size, enum core_mode mode)
{
    bench.direct_max = 1;
    bench_open(size, mode);
}

static void spawn_all(uint32_t rank)
{
    for (int number = 0; number < TASKS; number++) {
        spawn(rank, number + 1, task_of(number));
    }
}

static uint32_t known_holders(uint32_t rank, moot_hash hash)
{
    struct core_task_view view = {0};
    assert_true(core_task_look(bench.core[rank], &hash, &view));
    uint32_t count = rankset_count(&view.holders);
    rankset_release(&view.asked_by);
    rankset_release(&view.holders);
    return count;
}

static void everybody_hears_of_all_who_hold_a_chunk(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= RANKS_MAX; size++) {
        open_many(size, CORE_REPAIR);
        for (uint32_t rank = 0; rank < size; rank++) {
            spawn_all(rank);
            begin_wait(rank, task_of(0));
        }
        settle();
        for (uint32_t rank = 0; rank < size; rank++) {
            assert_int_equal(known_holders(rank, task_of(1)), size);
        }
        assert_int_equal(sum_yields(), 0);
        bench_close();
    }
}

static void agreeing_ranks_count_once_and_send_no_motion(void **state)
{
    (void)state;
    open_many(5, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 5; rank++) {
        spawn_all(rank);
    }
    close_all();
    settle();
    assert_int_equal(sum_sent(MESSAGE_CENSUS), 4);
    assert_int_equal(sum_sent(MESSAGE_MOTION), 0);
    assert_int_equal(core_stats(bench.core[0])->common, TASKS);
    for (uint32_t rank = 0; rank < 5; rank++) {
        assert_true(bench.adjourned[rank]);
    }
    bench_close();
}

/* Everybody but its chair holds it, and nobody waits: one holder tells. */
static void what_the_chair_lacks_costs_three_messages(void **state)
{
    (void)state;
    open_many(5, CORE_REPAIR);
    moot_hash lacked = chaired_by(3, 7, 0);
    for (uint32_t rank = 0; rank < 5; rank++) {
        spawn_all(rank);
        if (rank != 3) {
            spawn(rank, TASKS + 1, lacked);
        }
    }
    close_all();
    settle();
    assert_int_equal(bench.runs[TASKS + 1], 1);
    assert_int_equal(sum_yields(), 1);
    assert_in_range(sum_sent(MESSAGE_RESOLVE), 0, 1); /* the root may hold it itself */
    assert_int_equal(sum_sent(MESSAGE_MOTION), 1);
    assert_int_equal(sum_sent(MESSAGE_DECISION), 1);
    assert_int_equal(core_stats(bench.core[0])->partial, 1);
    bench_close();
}

static void strict_mode_tells_everyone_along_the_tree(void **state)
{
    (void)state;
    open_many(5, CORE_STRICT);
    for (uint32_t rank = 0; rank < 5; rank++) {
        spawn_all(rank);
        if (rank == 2) {
            spawn(rank, TASKS + 1, chaired_by(0, 9, 0));
        }
        spawn(rank, TASKS + 2, chaired_by(1, 9, 0));
        begin_wait(rank, chaired_by(1, 9, 0));
    }
    settle();
    for (uint32_t rank = 0; rank < 5; rank++) {
        assert_true(bench.diverged[rank]);
    }
    assert_int_equal(sum_yields(), 0);
    bench_close();
}

static void strict_mode_sees_a_roll_that_ends_early(void **state)
{
    (void)state;
    open_many(5, CORE_STRICT);
    for (uint32_t rank = 0; rank < 5; rank++) {
        spawn_all(rank);
        if (rank != 4) {
            spawn(rank, TASKS + 1, chaired_by(4, 9, 0));
        }
    }
    close_all();
    settle();
    for (uint32_t rank = 0; rank < 5; rank++) {
        assert_true(bench.diverged[rank]);
    }
    bench_close();
}

static void strict_mode_lets_agreeing_ranks_go(void **state)
{
    (void)state;
    open_many(5, CORE_STRICT);
    for (uint32_t rank = 0; rank < 5; rank++) {
        spawn_all(rank);
    }
    close_all();
    settle();
    for (uint32_t rank = 0; rank < 5; rank++) {
        assert_false(bench.diverged[rank]);
        assert_true(bench.adjourned[rank]);
    }
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_hears_of_all_who_hold_a_chunk),
        cmocka_unit_test(agreeing_ranks_count_once_and_send_no_motion),
        cmocka_unit_test(what_the_chair_lacks_costs_three_messages),
        cmocka_unit_test(strict_mode_tells_everyone_along_the_tree),
        cmocka_unit_test(strict_mode_sees_a_roll_that_ends_early),
        cmocka_unit_test(strict_mode_lets_agreeing_ranks_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
