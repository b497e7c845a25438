/* drop_test.c - what all members have released leaves before its scope ends (G5). */
#include "bench.h"

enum { TASKS = 48 };

/* A chunk ends with a hash whose first byte has none of the bits of bench.h's mask. */
static moot_hash hash_of(int number, uint32_t chair, unsigned facts)
{
    for (int n = number * 1000;; n++) {
        uint64_t salt = (uint64_t)n;
        moot_hash hash = digest_bytes(&salt, sizeof(salt));
        hash.bytes[15] =
            (uint8_t)((hash.bytes[15] & ~(uint32_t)MOOT_HASH_FACTS) | facts);
        hash.bytes[0] = number % 8 == 7 ? 8 : 1;
        struct rankset members = {0};
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            rankset_add(&members, rank);
        }
        bool fits = placement_chair(&hash, &members, NULL) == chair;
        rankset_release(&members);
        if (fits) {
            return hash;
        }
    }
}

static moot_hash task(int number)
{
    return hash_of(number, (uint32_t)number % bench.size, 0);
}

static uint64_t tasks_of(uint32_t rank) { return core_stats(bench.core[rank])->tasks; }

static uint64_t dropped_by(uint32_t rank)
{
    return core_stats(bench.core[rank])->dropped;
}

static void spawn_all(uint32_t rank, int count)
{
    for (int i = 0; i < count; i++) {
        spawn(rank, i, task(i));
    }
}

static void let_go_all(uint32_t rank, int count)
{
    for (int i = 0; i < count; i++) {
        moot_hash hash = task(i);
        core_let_go(bench.core[rank], &hash, NULL);
    }
}

/* --- Tests ---------------------------------------------------------------------------
 */

static void what_all_have_released_is_dropped(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 4; size++) {
        bench_open(size, CORE_REPAIR);
        for (uint32_t rank = 0; rank < size; rank++) {
            spawn_all(rank, TASKS);
            let_go_all(rank, TASKS);
            set_lane(rank, CORE_LANE_BLOCKED);
        }
        settle();
        for (uint32_t rank = 0; rank < size; rank++) {
            assert_int_equal(dropped_by(rank), TASKS);
            assert_int_equal(tasks_of(rank), 0);
        }
        for (int i = 0; i < TASKS; i++) {
            assert_int_equal(bench.runs[i], 1);
        }
        assert_int_equal(sum_sent(MESSAGE_MOTION), 0);
        assert_int_equal(sum_sent(MESSAGE_RELEASED), 4 * (size - 1) * TASKS / 8);
        close_all();
        bench_close();
    }
}

static void who_holds_a_handle_keeps_it_for_all(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, 16);
        let_go_all(rank, rank == 2 ? 12 : 16);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 8);
    }
    begin_wait(2, task(12));
    settle();
    assert_int_equal(bench.ended[2][12], 1);
    end_wait(2, task(12));
    let_go_all(2, 16);
    settle();
    assert_int_equal(dropped_by(0), 16);
    close_all();
    bench_close();
}

static void a_slow_rank_is_waited_for(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    spawn_all(0, 16);
    let_go_all(0, 16);
    settle();
    assert_int_equal(dropped_by(0), 0);
    spawn_all(1, 16);
    let_go_all(1, 16);
    settle();
    assert_int_equal(dropped_by(0), 16);
    assert_int_equal(dropped_by(1), 16);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(bench.runs[i], 1);
    }
    close_all();
    bench_close();
}

/* However few they are, if one member says that it has no room for them. */
static void what_is_released_goes_where_memory_is_short(void **state)
{
    (void)state;
    bench.drop_above = 1000;
    bench_open(3, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, 16);
        let_go_all(rank, 16);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    assert_int_equal(dropped_by(0), 0);
    core_press(bench.core[1], 8);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 16);
    }
    close_all();
    bench_close();
    bench.drop_above = 0;
}

static void open_where_there_is_room(uint32_t size)
{
    bench.drop_above = 1000;
    bench_open(size, CORE_REPAIR);
}

static void close_where_there_was_room(void)
{
    close_all();
    bench_close();
    bench.drop_above = 0;
}

/* Chunks are of 8 tasks here, and one of each is kept: no chunk may go, and of pieces
 * all but those with one that is kept. */
static void chunks_are_cut_where_memory_is_short(void **state)
{
    (void)state;
    for (uint32_t together = 1; together <= 8; together *= 2) {
        open_where_there_is_room(3);
        for (uint32_t rank = 0; rank < 3; rank++) {
            spawn_all(rank, 28); /* the last chunk is open */
            for (int i = 0; i < 28; i++) {
                moot_hash hash = task(i);
                if (i % 8 != 2 || rank != 2) {
                    core_let_go(bench.core[rank], &hash, NULL);
                }
            }
            set_lane(rank, CORE_LANE_BLOCKED);
        }
        settle();
        core_press(bench.core[1], (uint32_t)together + (together > 2));
        settle();
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(dropped_by(rank), 28 - (together < 8 ? together * 4 : 28));
        }
        for (int i = 0; i < 28; i++) {
            assert_int_equal(bench.runs[i], 1);
        }
        assert_int_equal(sum_sent(MESSAGE_MOTION), 0);
        let_go_all(2, 28);
        core_press(bench.core[1], 0); /* what is cut is offered all the same */
        settle();
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(dropped_by(rank), together < 8 ? 28 : 24);
        }
        close_where_there_was_room();
    }
}

/* Rank 2 spawns later than the others: nothing is cut that it has not told of. */
static void what_a_slow_rank_lacks_is_not_cut(void **state)
{
    (void)state;
    open_where_there_is_room(3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, rank == 2 ? 3 : 20);
        let_go_all(rank, rank == 2 ? 3 : 20);
        set_lane(rank, CORE_LANE_BLOCKED);
        core_press(bench.core[rank], 1);
    }
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 3);
    }
    set_lane(2, CORE_LANE_RUNNING);
    for (int i = 3; i < 20; i++) {
        spawn(2, i, task(i));
    }
    let_go_all(2, 20);
    set_lane(2, CORE_LANE_BLOCKED);
    settle();
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(dropped_by(rank), 20);
    }
    close_where_there_was_room();
}

/* Rank 2 has cut what the others have agreed to drop together: it did not agree. */
static void what_is_about_to_be_dropped_is_not_cut(void **state)
{
    (void)state;
    open_where_there_is_room(3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, 8);
        let_go_all(rank, 8);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    core_press(bench.core[0], 8); /* as it is */
    settle_until(bench.now + 1);
    const moot_hash kept = task(5);
    for (int i = 0; i < 4000 && !core_is_leaving(bench.core[1], &kept); i++) {
        if (bench.head < bench.tail) {
            deliver_one();
            continue;
        }
        bench.now += MS / 4;
        for (uint32_t each = 0; each < bench.size; each++) {
            struct core_event tick = {.type = CORE_EV_TICK};
            assert_int_equal(step(each, &tick), MOOT_OK);
        }
    }
    assert_true(core_is_leaving(bench.core[1], &kept));
    assert_false(core_is_leaving(bench.core[2], &kept));
    spawn(2, 5, kept); /* once more, before it is asked */
    bench.holds[2][0] = true;
    core_press(bench.core[2], 1);
    settle_until(bench.now +
                 20 * MS); /* it has cut, and rank 1 is yet to hear "keep" */
    assert_true(core_is_leaving(bench.core[1], &kept));
    let_go(2, 0);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 7);
    }
    let_go_all(2, 8);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 8);
    }
    close_where_there_was_room();
}

static void a_pure_task_may_run_again_and_a_once_task_not(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash once = hash_of(3, 1, MOOT_HASH_ONCE);
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int i = 0; i < 8; i++) {
            spawn(rank, i, i == 3 ? once : task(i));
        }
    }
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        let_go_all(rank, 8);
        core_let_go(bench.core[rank], &once, NULL);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    assert_int_equal(dropped_by(2), 8);
    assert_int_equal(bench.runs[3], 1);
    struct core_register reg = {.flags = CORE_TASK_ONCE};
    struct core_register taker = {.inputs = &once, .input_count = 1};
    for (uint32_t rank = 0; rank < 3; rank++) {
        set_lane(rank, CORE_LANE_RUNNING);
        assert_int_equal(spawn_with(rank, 3, once, reg), MOOT_ERR_RESULT_LOST);
        assert_int_equal(spawn_with(rank, 9, task(9), taker), MOOT_ERR_RESULT_LOST);
        spawn(rank, 4, task(4));
        begin_wait(rank, task(4));
    }
    settle();
    assert_int_equal(bench.runs[3], 1);
    assert_int_equal(bench.runs[4], 2);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(bench.ended[rank][4], 1);
        end_wait(rank, task(4));
    }
    close_all();
    bench_close();
}

/* The consumer has its result only when it has run, and nobody runs here yet. */
static void inputs_stay_until_their_consumers_have_run(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn_all(rank, 8);
        let_go_all(rank, 8);
    }
    settle_until(bench.now + MS / 2);
    bench.hold_runs = true;
    moot_hash input = task(2), consumer = task(8);
    struct core_register reg = {.inputs = &input, .input_count = 1};
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(spawn_with(rank, 8, consumer, reg), MOOT_OK);
        for (int i = 9; i < 16; i++) {
            spawn(rank, i, task(i));
        }
        let_go_all(rank, 16);
    }
    settle();
    assert_int_equal(dropped_by(0), 0);
    assert_int_equal(dropped_by(1), 0);
    for (int i = 8; i < 16; i++) {
        struct core_event event = {.type = CORE_EV_DONE, .hash = task(i)};
        assert_int_equal(step((uint32_t)bench.ran_on[i], &event), MOOT_OK);
    }
    settle();
    assert_int_equal(dropped_by(0), 16);
    assert_int_equal(dropped_by(1), 16);
    bench.hold_runs = false;
    close_all();
    bench_close();
}

/* Its chair, which had yielded it, spawns it late and never sees the result. */
static void what_was_yielded_is_dropped_too(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    struct core_register hint = {.flags = CORE_TASK_HINT};
    assert_int_equal(spawn_with(1, 0, task(0), hint), MOOT_OK);
    settle();
    assert_int_equal(core_stats(bench.core[0])->yields[EVIDENCE_HINT], 1);
    spawn_all(0, 8);
    for (int i = 1; i < 8; i++) {
        spawn(1, i, task(i));
    }
    let_go_all(0, 8);
    let_go_all(1, 8);
    settle();
    assert_int_equal(bench.runs[0], 1);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(dropped_by(rank), 8);
        assert_int_equal(tasks_of(rank), 0);
    }
    close_all();
    bench_close();
}

static void what_is_spawned_again_in_time_stays(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn_all(rank, 8);
    }
    let_go_all(0, 8);
    settle();
    spawn(0, 2, task(2)); /* it had offered the chunk */
    let_go_all(1, 8);
    settle();
    assert_int_equal(dropped_by(0), 0);
    assert_int_equal(dropped_by(1), 0);
    moot_hash again = task(2);
    core_let_go(bench.core[0], &again, NULL);
    settle();
    assert_int_equal(dropped_by(0), 8);
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(bench.runs[2], 1);
    close_all();
    bench_close();
}

static void what_is_waited_for_again_in_time_stays(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn_all(rank, 8);
    }
    begin_wait(0, task(3)); /* rank 1 has run it, and rank 0 has its result then */
    settle();
    end_wait(0, task(3));
    let_go_all(0, 8);
    settle();
    begin_wait(0, task(3)); /* it had offered the chunk */
    let_go_all(1, 8);
    settle();
    assert_int_equal(dropped_by(0), 0);
    assert_int_equal(dropped_by(1), 0);
    end_wait(0, task(3));
    settle();
    assert_int_equal(dropped_by(0), 8);
    assert_int_equal(dropped_by(1), 8);
    close_all();
    bench_close();
}

/* Should the consumer's result be lost, it can be made again while anyone may want it.
 */
static void inputs_stay_while_their_consumers_are_held(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash input = task(2), consumer = task(8);
    struct core_register reg = {.inputs = &input, .input_count = 1};
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn_all(rank, 8);
        assert_int_equal(spawn_with(rank, 8, consumer, reg), MOOT_OK);
        for (int i = 9; i < 16; i++) {
            spawn(rank, i, task(i));
        }
        let_go_all(rank, rank == 0 ? 16 : 8);
    }
    settle();
    assert_int_equal(bench.runs[8], 1);
    assert_int_equal(dropped_by(0) + dropped_by(1), 0);
    let_go_all(1, 16);
    settle();
    assert_int_equal(dropped_by(0), 16);
    assert_int_equal(dropped_by(1), 16);
    close_all();
    bench_close();
}

/* Rank 1 has pushed a result to rank 2, which does not want it any more. */
static void what_is_on_its_way_is_waited_for(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, 8);
    }
    settle();
    bench.holds[1][2] = true;
    begin_wait(1, task(1));
    end_wait(1, task(1));
    for (uint32_t rank = 0; rank < 3; rank++) {
        let_go_all(rank, 8);
    }
    settle();
    assert_int_equal(dropped_by(0) + dropped_by(1) + dropped_by(2), 0);
    let_go(1, 2);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 8);
        assert_int_equal(tasks_of(rank), 0);
    }
    close_all();
    bench_close();
}

/* --- Views ---------------------------------------------------------------------------
 */

static void open_with_views(void)
{
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, 8);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(20 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        let_go_all(rank, 8);
    }
}

/* Time goes on, message by message, until this rank has answered. */
static void pass_until_leaving(uint32_t rank)
{
    moot_hash hash = task(0);
    for (int i = 0; i < 4000 && !core_is_leaving(bench.core[rank], &hash); i++) {
        if (bench.head < bench.tail) {
            deliver_one();
            continue;
        }
        bench.now += MS / 4;
        for (uint32_t each = 0; each < bench.size; each++) {
            struct core_event tick = {.type = CORE_EV_TICK};
            assert_int_equal(step(each, &tick), MOOT_OK);
        }
    }
    assert_true(core_is_leaving(bench.core[rank], &hash));
}

static void kill_the_lowest(void)
{
    bench.crashed[0] = true;
    bench.deaf[0] = true;
    certify_at(1, 0);
    certify_at(2, 0);
    pass(200 * MS);
    assert_int_equal(bench.epoch[1], 2);
    assert_int_equal(bench.epoch[2], 2);
}

/* Rank 0 tells rank 1 that the chunk is dropped, and dies before it tells rank 2. */
static void who_missed_the_outcome_asks_in_the_next_view(void **state)
{
    (void)state;
    open_with_views();
    pass_until_leaving(2);
    bench.holds[0][2] = true;
    for (int i = 0; i < 40 && dropped_by(1) == 0; i++) {
        pass(MS / 4);
    }
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(dropped_by(2), 0);
    uint64_t before = sum_sent(MESSAGE_RELEASED);
    kill_the_lowest();
    assert_int_equal(dropped_by(2), 8);
    assert_int_equal(tasks_of(1), 0);
    assert_int_equal(tasks_of(2), 0);
    assert_int_equal(sum_sent(MESSAGE_RELEASED), before + 2); /* DOUBT, DROP */
    close_rank(1);
    close_rank(2);
    pass(500 * MS);
    assert_true(bench.adjourned[1] && bench.adjourned[2]);
    bench_close();
}

/* Rank 0 dies before it has all answers: nobody has dropped it, and then both do. */
static void what_was_not_decided_is_decided_anew(void **state)
{
    (void)state;
    open_with_views();
    pass_until_leaving(2);
    moot_hash hash = task(0);
    bench.deaf[0] = true;
    assert_int_equal(dropped_by(1) + dropped_by(2), 0);
    kill_the_lowest();
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(dropped_by(2), 8);
    assert_false(core_is_leaving(bench.core[2], &hash));
    for (int i = 0; i < 8; i++) { /* what only rank 0 had is made again */
        assert_int_equal(bench.runs[i], i % 3 == 0 ? 2 : 1);
    }
    close_rank(1);
    close_rank(2);
    pass(500 * MS);
    assert_true(bench.adjourned[1] && bench.adjourned[2]);
    bench_close();
}

/* A task that takes 2 and 9, ran on rank 0, and will be rank 2's. */
static moot_hash orphan_to_be(void)
{
    for (int i = 0;; i++) {
        moot_hash hash = hash_of(100 + 8 * i, 0, 0);
        struct rankset rest = {0};
        rankset_add(&rest, 1);
        rankset_add(&rest, 2);
        uint32_t chair = placement_chair(&hash, &rest, NULL);
        rankset_release(&rest);
        if (chair == 2) {
            return hash;
        }
    }
}

/* One input was dropped, and the other is made again: it cannot run, and says so. */
static void who_lacks_what_was_dropped_ends_with_its_loss(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    const moot_hash orphan = orphan_to_be(), inputs[2] = {task(2), task(9)};
    const moot_hash middle = task(11);
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int i = 0; i < 24; i++) {
            struct core_register reg = {0};
            if (i == 12) {
                reg.inputs = inputs;
                reg.input_count = 2;
            } else if (i == 16) {
                reg.inputs = &middle;
                reg.input_count = 1;
            }
            moot_hash hash = i == 12 ? orphan : task(i);
            assert_int_equal(spawn_with(rank, i, hash, reg), MOOT_OK);
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(20 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        let_go_all(rank, rank == 1 ? 16 : 24); /* 16 is kept, and so what it takes */
        core_let_go(bench.core[rank], &orphan, NULL);
    }
    pass(20 * MS);
    assert_int_equal(dropped_by(1), 8);
    assert_int_equal(dropped_by(2), 8);
    assert_int_equal(bench.ran_on[12], 0);
    int runs = bench.runs[12];
    bench.hold_runs = true;
    kill_the_lowest();
    begin_wait(2, orphan); /* it passes its demand on */
    struct core_event done = {.type = CORE_EV_DONE, .hash = task(9)};
    assert_int_equal(step((uint32_t)bench.ran_on[9], &done), MOOT_OK);
    bench.hold_runs = false;
    pass(50 * MS);
    done.hash = orphan;
    done.u.done.status = MOOT_ERR_RESULT_LOST;
    if (bench.ended[2][12] == 0) {
        assert_int_equal(step(2, &done), MOOT_OK);
    }
    assert_int_equal(bench.ended[2][12], 1);
    assert_int_equal(bench.runs[12], runs); /* it was given out with RESULT_LOST */
    end_wait(2, orphan);
    bench_close();
}

int main(void)
{
    numbers_init();
    bench.drops = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_all_have_released_is_dropped),
        cmocka_unit_test(who_holds_a_handle_keeps_it_for_all),
        cmocka_unit_test(a_slow_rank_is_waited_for),
        cmocka_unit_test(what_is_released_goes_where_memory_is_short),
        cmocka_unit_test(chunks_are_cut_where_memory_is_short),
        cmocka_unit_test(what_a_slow_rank_lacks_is_not_cut),
        cmocka_unit_test(what_is_about_to_be_dropped_is_not_cut),
        cmocka_unit_test(a_pure_task_may_run_again_and_a_once_task_not),
        cmocka_unit_test(inputs_stay_until_their_consumers_have_run),
        cmocka_unit_test(what_was_yielded_is_dropped_too),
        cmocka_unit_test(what_is_spawned_again_in_time_stays),
        cmocka_unit_test(what_is_waited_for_again_in_time_stays),
        cmocka_unit_test(inputs_stay_while_their_consumers_are_held),
        cmocka_unit_test(what_is_on_its_way_is_waited_for),
        cmocka_unit_test(who_missed_the_outcome_asks_in_the_next_view),
        cmocka_unit_test(what_was_not_decided_is_decided_anew),
        cmocka_unit_test(who_lacks_what_was_dropped_ends_with_its_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
