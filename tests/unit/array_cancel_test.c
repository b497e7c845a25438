/* array_cancel_test.c - nothing of an array that is cancelled begins any more,
 * wherever, and its end comes when what runs has ended (PROTOCOL.md, A14). */
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (UINT64_C(10) * MS)

enum { ARRAY = 1, COUNT = 12 };

static moot_hash array_of(uint32_t chair)
{
    return chaired_by(chair, 0, MOOT_HASH_ARRAY);
}

static void spawn_array(uint32_t rank, moot_hash hash)
{
    const struct array_spread spread = {.count = COUNT, .kind = ARRAY_SPREAD_BLOCK};
    const struct core_register reg = {.array = &spread};
    assert_int_equal(spawn_with(rank, ARRAY, hash, reg), MOOT_OK);
}

static void cancel(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_CANCEL, .hash = hash};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void end_places(uint32_t rank, moot_hash hash, uint64_t first, uint64_t end,
                       int32_t status)
{
    struct core_event event = {.type = CORE_EV_ELEMENTS, .hash = hash};
    event.u.elements.places = (struct range){first, end};
    event.u.elements.status = status;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

/* All that it was given first. */
static void end_first(uint32_t rank, moot_hash hash, int32_t status)
{
    const struct range given = bench.given[rank][0];
    end_places(rank, hash, given.first, given.end, status);
}

/* A chair is told by whoever cancels, and tells all. */
static void all_are_told_once_whoever_cancels(void **state)
{
    (void)state;
    for (uint32_t by = 0; by < 4; by++) {
        bench_open(4, CORE_REPAIR);
        const moot_hash hash = array_of(1);
        for (uint32_t rank = 0; rank < 4; rank++) {
            spawn_array(rank, hash);
        }
        cancel(by, hash);
        cancel(by, hash);
        settle();
        assert_int_equal(bench.told_of_cancel[ARRAY], 4);
        assert_int_equal(sum_sent(MESSAGE_CANCEL), by == 1 ? 3 : 4);
        assert_int_equal(bench.runs[ARRAY], 0);
        for (uint32_t rank = 0; rank < 4; rank++) {
            end_first(rank, hash, MOOT_ERR_CANCELLED);
        }
        settle();
        assert_int_equal(bench.run_code[ARRAY], MOOT_ERR_CANCELLED);
        assert_int_equal(bench.ran_on[ARRAY], 1);
        bench_close();
    }
}

static void its_end_comes_when_what_runs_has_ended(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_array(0, hash);
    spawn_array(1, hash);
    cancel(1, hash);
    settle();
    end_places(0, hash, 0, 5, MOOT_ERR_CANCELLED);
    end_first(1, hash, MOOT_ERR_CANCELLED);
    settle();
    assert_int_equal(bench.run_code[ARRAY], MOOT_OK);
    end_places(0, hash, 5, 6, MOOT_OK);
    settle();
    assert_int_equal(bench.run_code[ARRAY], MOOT_ERR_CANCELLED);
    bench_close();
}

static void a_cancel_counts_for_more_than_a_failure(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_array(0, hash);
    spawn_array(1, hash);
    end_places(0, hash, 0, 1, MOOT_ERR_FILE);
    cancel(0, hash);
    settle();
    end_places(0, hash, 1, 6, MOOT_OK);
    end_first(1, hash, MOOT_ERR_CANCELLED);
    settle();
    assert_int_equal(bench.run_code[ARRAY], MOOT_ERR_CANCELLED);
    bench_close();
}

static void one_of_which_all_had_begun_ends_well(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_array(0, hash);
    spawn_array(1, hash);
    begin_wait(1, hash);
    end_first(0, hash, MOOT_OK);
    cancel(1, hash);
    settle();
    end_first(1, hash, MOOT_OK);
    settle();
    assert_int_equal(bench.runs[ARRAY], 1);
    assert_int_equal(bench.ended[1][ARRAY], 1);
    cancel(1, hash);
    settle();
    assert_int_equal(bench.told_of_cancel[ARRAY], 1);
    bench_close();
}

static void who_has_not_spawned_it_gives_its_stretch_up(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_array(1, hash); /* its chair has no card before it hears of it */
    cancel(1, hash);
    settle();
    assert_int_equal(bench.told_of_cancel[ARRAY], 1);
    end_first(1, hash, MOOT_ERR_CANCELLED);
    settle();
    spawn_array(0, hash);
    spawn_array(2, hash);
    begin_wait(2, hash);
    settle();
    assert_int_equal(bench.given_count[0] + bench.given_count[2], 0);
    assert_int_equal(bench.run_code[ARRAY], MOOT_ERR_CANCELLED);
    assert_int_equal(bench.ended[2][ARRAY], 1);
    bench_close();
}

/* Nobody gives anything up there. */
static void who_spawns_it_later_begins_nothing(void **state)
{
    (void)state;
    bench_open(3, CORE_STRICT);
    const moot_hash hash = array_of(0);
    spawn_array(0, hash);
    spawn_array(1, hash);
    cancel(1, hash);
    settle();
    assert_int_equal(bench.told_of_cancel[ARRAY], 2);
    end_first(0, hash, MOOT_ERR_CANCELLED);
    end_first(1, hash, MOOT_ERR_CANCELLED);
    settle();
    assert_int_equal(bench.run_code[ARRAY], MOOT_OK);
    spawn_array(2, hash);
    settle();
    assert_int_equal(bench.told_of_cancel[ARRAY], 3);
    end_first(2, hash, MOOT_ERR_CANCELLED);
    settle();
    assert_int_equal(bench.run_code[ARRAY], MOOT_ERR_CANCELLED);
    bench_close();
}

/* One who cancels what it has not spawned cannot say how many elements there are. */
static void a_cancel_waits_for_the_card(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    cancel(2, hash);
    settle();
    assert_int_equal(sum_sent(MESSAGE_CANCEL), 1);
    spawn_array(0, hash);
    settle();
    assert_int_equal(sum_sent(MESSAGE_CANCEL), 3);
    end_first(0, hash, MOOT_ERR_CANCELLED);
    settle();
    assert_int_equal(bench.run_code[ARRAY], MOOT_ERR_CANCELLED);
    bench_close();
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

/* Nobody has its elements then, and nobody runs them. */
static void it_is_cancelled_when_its_chair_has_died(void **state)
{
    (void)state;
    for (uint32_t dead = 0; dead < 3; dead++) { /* the chair, who cancels, another */
        bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
        pass(50 * MS);
        const moot_hash hash = array_of(0);
        for (uint32_t rank = 0; rank < 4; rank++) {
            spawn_array(rank, hash);
        }
        cancel(1, hash);
        pass(5 * MS);
        assert_int_equal(bench.told_of_cancel[ARRAY], 4);
        die(dead);
        for (uint32_t rank = 0; rank < 4; rank++) {
            if (rank != dead) {
                begin_wait(rank, hash);
                end_first(rank, hash, MOOT_ERR_CANCELLED);
            }
        }
        pass(200 * MS);
        assert_int_equal(bench.run_code[ARRAY], MOOT_ERR_CANCELLED);
        for (uint32_t rank = 0; rank < 4; rank++) {
            assert_int_equal(bench.given_count[rank], 1);
            assert_int_equal(bench.ended[rank][ARRAY], rank != dead);
        }
        bench_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_told_once_whoever_cancels),
        cmocka_unit_test(its_end_comes_when_what_runs_has_ended),
        cmocka_unit_test(a_cancel_counts_for_more_than_a_failure),
        cmocka_unit_test(one_of_which_all_had_begun_ends_well),
        cmocka_unit_test(who_has_not_spawned_it_gives_its_stretch_up),
        cmocka_unit_test(who_spawns_it_later_begins_nothing),
        cmocka_unit_test(a_cancel_waits_for_the_card),
        cmocka_unit_test(it_is_cancelled_when_its_chair_has_died),
    };
    bench_break_a_rule();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
