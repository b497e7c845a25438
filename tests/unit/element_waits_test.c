/* element_waits_test.c - arrays that come after others, and elements that lack
 * something (PROTOCOL.md, "Arrays"). */
#include "tests/unit/elements_bench.h"

/* --- Ends ------------------------------------------------------------------------- */

/* Spawns `hash` behind `before`, on every rank. */
static void spawn_behind(moot_hash before, moot_hash hash)
{
    const struct array_spread spread = {.count = COUNT, .kind = ARRAY_SPREAD_BLOCK};
    const struct core_register reg = {
        .array = &spread, .inputs = &before, .input_count = 1, .after_count = 1};
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        spawn_array(rank, before);
        assert_int_equal(spawn_with(rank, OTHER, hash, reg), MOOT_OK);
        assert_int_equal(bench.given_count[rank], 2); /* at once */
    }
}

static void end_all(moot_hash hash, uint32_t nth)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        const struct range given = bench.given[rank][nth];
        end_elements(rank, hash, given.first, given.end);
    }
    settle();
}

static void its_end_comes_after_the_end_that_it_is_to_follow(void **state)
{
    (void)state;
    for (uint32_t chairs = 0; chairs < 4; chairs++) {
        for (int last = 0; last < 2; last++) { /* which one's elements end last */
            bench_open(2, CORE_REPAIR);
            const moot_hash first = array_of(chairs % 2),
                            second = chaired_by(chairs / 2, 1, MOOT_HASH_ARRAY);
            spawn_behind(first, second);
            begin_wait(0, second);
            begin_wait(1, second);
            end_all(last == 0 ? second : first, last == 0 ? 1 : 0);
            assert_int_equal(bench.runs[ARRAY], last == 0 ? 0 : 1);
            assert_int_equal(bench.runs[OTHER], 0);
            end_all(last == 0 ? first : second, last == 0 ? 0 : 1);
            assert_int_equal(bench.runs[ARRAY], 1);
            assert_int_equal(bench.runs[OTHER], 1);
            assert_int_equal(bench.ended[0][OTHER], 1);
            assert_int_equal(bench.ended[1][OTHER], 1);
            bench_close();
        }
    }
}

/* Rank 1 has spawned neither, and so gives both of its stretches up. */
static void what_it_is_to_follow_is_asked_for(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash first = array_of(1), second = chaired_by(0, 1, MOOT_HASH_ARRAY);
    const struct array_spread spread = {.count = COUNT, .kind = ARRAY_SPREAD_BLOCK};
    const struct core_register reg = {
        .array = &spread, .inputs = &first, .input_count = 1, .after_count = 1};
    close_rank(1);
    spawn_array(0, first);
    end_latest(0, first);
    assert_int_equal(spawn_with(0, OTHER, second, reg), MOOT_OK);
    end_latest(0, second);
    begin_wait(0, second);
    settle_until(bench.now + 100 * MS);
    assert_int_equal(bench.given_count[0], 4);
    end_elements(0, second, COUNT / 2, COUNT);
    settle_until(bench.now + 100 * MS);
    assert_int_equal(bench.ended[0][OTHER], 0);
    end_elements(0, first, COUNT / 2, COUNT);
    settle_until(bench.now + 100 * MS);
    assert_int_equal(bench.ended[0][OTHER], 1);
    bench_close();
}

/* --- Elements that wait for tasks ------------------------------------------------- */

static int say_waiting(uint32_t rank, uint64_t count)
{
    struct core_event event = {.type = CORE_EV_ELEMENTS_WAIT};
    event.u.elements_wait.count = count;
    return step(rank, &event);
}

static void elements_that_wait_let_all_come_to_rest(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0), missing = chaired_by(1, 1, 0);
    spawn_array(0, hash);
    close_rank(1);
    begin_wait(0, missing);
    assert_int_equal(say_waiting(0, COUNT / 2 - 1), MOOT_OK); /* one still runs */
    settle_until(bench.now + 1000 * MS);
    assert_int_equal(bench.ended[0][0], 0);
    assert_int_equal(say_waiting(0, COUNT / 2), MOOT_OK);
    settle_until(bench.now + 1000 * MS);
    assert_int_equal(bench.ended[0][0], MOOT_ERR_NOT_HELD);
    bench_close();
}

/* Rank 1 has declined the other array, and goes on, so that all is never quiet. */
static void a_rank_whose_elements_wait_is_idle(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0), other = chaired_by(0, 1, MOOT_HASH_ARRAY);
    struct core_event decline = {.type = CORE_EV_DECLINE, .hash = other};
    enter(1, ARRAY, other);
    assert_int_equal(step(1, &decline), MOOT_OK);
    spawn_array(0, hash);
    spawn_array(0, other);
    end_latest(0, other);
    begin_wait(0, other);
    settle_until(bench.now + 100 * MS);
    assert_int_equal(bench.given_count[0], 2);
    assert_int_equal(say_waiting(0, COUNT / 2), MOOT_OK);
    settle_until(bench.now + 100 * MS);
    assert_int_equal(bench.given_count[0], 3);
    assert_given(0, 2, COUNT / 2, COUNT);
    bench_close();
}

static void no_more_wait_than_have_not_ended(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    assert_int_equal(say_waiting(0, 1), MOOT_ERR_STATE);
    spawn_array(0, hash);
    assert_int_equal(say_waiting(0, COUNT / 2 + 1), MOOT_ERR_STATE);
    assert_int_equal(say_waiting(0, COUNT / 2 - 1), MOOT_OK);
    const struct range one = {0, 1}, other = {1, 2};
    assert_int_equal(say_ended(0, hash, one, MOOT_OK), MOOT_OK);
    assert_int_equal(say_ended(0, hash, other, MOOT_OK), MOOT_ERR_STATE);
    assert_int_equal(say_waiting(0, 0), MOOT_OK);
    assert_int_equal(say_ended(0, hash, other, MOOT_OK), MOOT_OK);
    bench_close();
}

static void no_more_tasks_wait_for_elements_than_run(void **state)
{
    (void)state;
    struct core_event event = {.type = CORE_EV_ELEMENTS_WAIT};
    bench_open(2, CORE_REPAIR);
    event.u.elements_wait.reads = 1;
    assert_int_equal(step(0, &event), MOOT_ERR_STATE);
    bench_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_end_comes_after_the_end_that_it_is_to_follow),
        cmocka_unit_test(what_it_is_to_follow_is_asked_for),
        cmocka_unit_test(elements_that_wait_let_all_come_to_rest),
        cmocka_unit_test(a_rank_whose_elements_wait_is_idle),
        cmocka_unit_test(no_more_wait_than_have_not_ended),
        cmocka_unit_test(no_more_tasks_wait_for_elements_than_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
