/* drop_test.c - what all members have released leaves before its scope ends (G5). */
#include "tests/unit/drop_bench.h"

#include "consensus/state/state.h"

enum { TASKS = 48 };

static moot_hash chunk_of_one(int number)
{
    moot_hash hash = task(number);
    hash.bytes[0] = 8; /* the chair may be another one now, which is no matter */
    return hash;
}

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

/* Chunks that have gone are taken out of the roll while others are looked at. */
static void what_many_chunks_hold_is_dropped(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 2; size++) {
        bench_open(size, CORE_REPAIR);
        for (uint32_t rank = 0; rank < size; rank++) {
            for (int i = 0; i < TASKS; i++) {
                spawn(rank, i, chunk_of_one(i));
            }
            for (int i = 0; i < TASKS; i++) {
                moot_hash hash = chunk_of_one(i);
                core_let_go(bench.core[rank], &hash, NULL);
            }
            set_lane(rank, CORE_LANE_BLOCKED);
        }
        settle();
        for (uint32_t rank = 0; rank < size; rank++) {
            assert_int_equal(dropped_by(rank), TASKS);
        }
        close_all();
        bench_close();
    }
}

/* One look is over 128 chunks: the last of more is let go before it, and the first
 * when it has gone past that. */
static void what_is_let_go_behind_a_look_is_dropped(void **state)
{
    (void)state;
    enum { MANY = 140 };
    bench_open(1, CORE_REPAIR);
    for (int i = 0; i < MANY; i++) {
        spawn(0, i % TASKS, chunk_of_one(i));
    }
    set_lane(0, CORE_LANE_BLOCKED);
    settle();
    const moot_hash first = chunk_of_one(0), last = chunk_of_one(MANY - 1);
    core_let_go(bench.core[0], &last, NULL);
    struct core_event tick = {.type = CORE_EV_TICK};
    assert_int_equal(step(0, &tick), MOOT_OK);
    assert_int_equal(dropped_by(0), 0);
    core_let_go(bench.core[0], &first, NULL);
    settle();
    assert_int_equal(dropped_by(0), 2);
    close_all();
    bench_close();
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
    pass_until_leaving(1);
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

/* Rank 2 has announced the chunk that the others cut, and rank 1 hears of that late: it
 * keeps the pieces for so long, since to who has dropped one the chunk would look like
 * a difference. */
static void what_is_cut_stays_until_all_have_said_so(void **state)
{
    (void)state;
    open_where_there_is_room(3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, 6);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    bench.holds[2][1] = true;
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(rank, 6, task(6));
        spawn(rank, 7, task(7));
        let_go_all(rank, 4);
    }
    settle();
    core_press(bench.core[0], 4);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 0);
    }
    let_go(2, 1);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 4);
    }
    close_where_there_was_room();
}

/* The others have not come so far, and may spawn something else there. */
static void a_roll_is_cut_only_where_all_agree(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, rank == 0 ? 7 : 3);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    core_press(bench.core[0], 1);
    settle();
    assert_int_equal(bench.core[0]->reclaim.drop.cuts, 3);
    bench_close();
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

/* More than there is room for at first. */
static void no_once_task_runs_again_however_many(void **state)
{
    (void)state;
    enum { MANY = 80 };
    bench_open(1, CORE_REPAIR);
    moot_hash once[MANY];
    for (int i = 0; i < MANY; i++) {
        once[i] = hash_of(i, 0, MOOT_HASH_ONCE);
        spawn(0, i % TASKS, once[i]);
    }
    settle();
    for (int i = 0; i < MANY; i++) {
        core_let_go(bench.core[0], &once[i], NULL);
    }
    set_lane(0, CORE_LANE_BLOCKED);
    settle();
    assert_int_equal(dropped_by(0), MANY);
    struct core_register reg = {.flags = CORE_TASK_ONCE};
    set_lane(0, CORE_LANE_RUNNING);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(spawn_with(0, i % TASKS, once[i], reg), MOOT_ERR_RESULT_LOST);
    }
    close_all();
    bench_close();
}

/* Newcomers run the program from its beginning; strict mode compares the rolls; among
 * many not everyone speaks with everyone. */
static void nothing_is_dropped_where_all_is_needed(void **state)
{
    (void)state;
    static const struct {
        enum core_mode mode;
        bool joinable;
        uint32_t direct_max;
        uint64_t dropped;
    } rows[] = {{CORE_REPAIR, false, 0, 16},
                {CORE_STRICT, false, 0, 0},
                {CORE_TRUST, false, 0, 0},
                {CORE_REPAIR, true, 0, 0},
                {CORE_REPAIR, false, 1, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bench.joinable = rows[i].joinable;
        bench.direct_max = rows[i].direct_max;
        bench_open(3, rows[i].mode);
        for (uint32_t rank = 0; rank < 3; rank++) {
            spawn_all(rank, 16);
            let_go_all(rank, 16);
            set_lane(rank, CORE_LANE_BLOCKED);
        }
        settle();
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(dropped_by(rank), rows[i].dropped);
        }
        close_all();
        bench_close();
    }
    bench.joinable = false;
    bench.direct_max = 0;
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

/* Rank 2 announces what it has spawned again to rank 1, which is yet to hear that what
 * was of that name is dropped. */
static void what_is_spawned_again_too_soon_is_dropped_again(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_all(rank, 8);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        let_go_all(rank, 8);
    }
    pass_until_leaving(1);
    bench.holds[0][1] = true;
    settle();
    assert_int_equal(dropped_by(1), 0);
    assert_int_equal(dropped_by(2), 8);
    set_lane(2, CORE_LANE_RUNNING);
    spawn_all(2, 8);
    settle();
    let_go(0, 1);
    assert_int_equal(dropped_by(1), 8);
    for (uint32_t rank = 0; rank < 3; rank++) {
        set_lane(rank, CORE_LANE_RUNNING);
        spawn_all(rank, 8);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        let_go_all(rank, 8);
    }
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(dropped_by(rank), 16);
        assert_int_equal(tasks_of(rank), 0);
    }
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

int main(void)
{
    bench_break_a_rule();
    bench.drops = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_all_have_released_is_dropped),
        cmocka_unit_test(what_many_chunks_hold_is_dropped),
        cmocka_unit_test(what_is_let_go_behind_a_look_is_dropped),
        cmocka_unit_test(who_holds_a_handle_keeps_it_for_all),
        cmocka_unit_test(a_slow_rank_is_waited_for),
        cmocka_unit_test(what_is_released_goes_where_memory_is_short),
        cmocka_unit_test(chunks_are_cut_where_memory_is_short),
        cmocka_unit_test(what_a_slow_rank_lacks_is_not_cut),
        cmocka_unit_test(what_is_about_to_be_dropped_is_not_cut),
        cmocka_unit_test(what_is_cut_stays_until_all_have_said_so),
        cmocka_unit_test(a_roll_is_cut_only_where_all_agree),
        cmocka_unit_test(a_pure_task_may_run_again_and_a_once_task_not),
        cmocka_unit_test(no_once_task_runs_again_however_many),
        cmocka_unit_test(nothing_is_dropped_where_all_is_needed),
        cmocka_unit_test(inputs_stay_until_their_consumers_have_run),
        cmocka_unit_test(what_was_yielded_is_dropped_too),
        cmocka_unit_test(what_is_spawned_again_in_time_stays),
        cmocka_unit_test(what_is_spawned_again_too_soon_is_dropped_again),
        cmocka_unit_test(what_is_waited_for_again_in_time_stays),
        cmocka_unit_test(inputs_stay_while_their_consumers_are_held),
        cmocka_unit_test(what_is_on_its_way_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
