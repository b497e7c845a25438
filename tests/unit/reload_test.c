/* reload_test.c - all go back to what a snapshot holds (PROTOCOL.md, *Reload*). */
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

static int come_for(uint32_t rank, const char *snapshot, uint32_t generation)
{
    struct core_event event = {.type = CORE_EV_RELOAD,
                               .hash = digest_bytes(snapshot, strlen(snapshot))};
    event.u.reload.generation = generation;
    return step(rank, &event);
}

static void come(uint32_t rank, const char *snapshot)
{
    assert_int_equal(come_for(rank, snapshot, 0), MOOT_OK);
    set_lane(rank, CORE_LANE_BLOCKED);
}

static void come_to_meeting(uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_MEET, .hash = digest_bytes("other", 5)};
    assert_int_equal(step(rank, &event), MOOT_OK);
    set_lane(rank, CORE_LANE_BLOCKED);
}

static void go_on(uint32_t rank) { set_lane(rank, CORE_LANE_RUNNING); }

static void mark_as(uint32_t rank, uint32_t generation, int32_t status)
{
    struct core_event event = {.type = CORE_EV_MARKED};
    event.u.marked.generation = generation;
    event.u.marked.status = status;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void mark(uint32_t rank)
{
    mark_as(rank, bench.snapshot[rank].mark, MOOT_OK);
    pass(20 * MS);
}

static void assert_reloaded(uint32_t rank, int times, int32_t status,
                            uint32_t generation)
{
    assert_int_equal(bench.snapshot[rank].reloads, times);
    assert_int_equal(bench.snapshot[rank].reload_status, status);
    assert_int_equal(bench.snapshot[rank].generation, generation);
}

static uint64_t known_of(uint32_t rank) { return core_stats(bench.core[rank])->tasks; }

/* All spawn the task, and wait for it, on one of them in vain if it is held up. */
static void use(int number, moot_hash task)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            spawn(rank, number, task);
            begin_wait(rank, task);
        }
    }
    pass(60 * MS);
}

static void stop_using(moot_hash task)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            end_wait(rank, task);
        }
    }
}

static void crash(uint32_t dead)
{
    bench.crashed[dead] = true;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            certify_at(rank, dead);
        }
    }
    pass(100 * MS);
}

static void nothing_is_known_behind_it(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 4; size++) {
        for (int detects = 0; detects < 2; detects++) {
            bench_open_with(size, CORE_REPAIR, detects ? HEARTBEAT_NS : 0);
            const moot_hash task = chaired_by(size - 1, 1, 0);
            const moot_hash once = chaired_by(0, 2, MOOT_HASH_ONCE);
            use(1, task);
            stop_using(task);
            use(2, once);
            stop_using(once);
            assert_int_equal(bench.runs[1] + bench.runs[2], 2);
            for (uint32_t rank = 0; rank < size; rank++) {
                assert_int_equal(bench.snapshot[0].mark, 0);
                come(rank, "first");
                deliver_all();
            }
            assert_int_equal(bench.snapshot[0].mark, 1);
            pass(20 * MS);
            assert_int_equal(bench.snapshot[0].reloads, 0);
            mark(0);
            for (uint32_t rank = 0; rank < size; rank++) {
                assert_reloaded(rank, 1, MOOT_OK, 1);
                assert_int_equal(known_of(rank), 0);
                assert_true(bench.forgotten[rank][1] && bench.forgotten[rank][2]);
                go_on(rank);
            }
            use(1, task);
            stop_using(task);
            use(2, once);
            stop_using(once);
            assert_int_equal(bench.runs[1] + bench.runs[2], 4);
            close_all();
            bench_close();
        }
    }
}

/* No death is told of, with which others might come. */
static void the_first_in_line_proposes_at_once(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 4; size++) {
        bench_open_with(size, CORE_REPAIR, HEARTBEAT_NS);
        for (uint32_t rank = 0; rank < size; rank++) {
            come(rank, "first");
        }
        deliver_all();
        mark_as(0, bench.snapshot[0].mark, MOOT_OK);
        pass(MS / 4); /* less than causes gather */
        for (uint32_t rank = 0; rank < size; rank++) {
            assert_reloaded(rank, 1, MOOT_OK, 1);
            go_on(rank);
        }
        close_all();
        bench_close();
    }
}

static void what_still_ran_is_of_no_account(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    bench.hold_runs = true;
    const moot_hash task = chaired_by(2, 1, 0);
    use(1, task);
    stop_using(task);
    assert_int_equal(bench.runs[1], 1);
    for (uint32_t rank = 0; rank < 3; rank++) {
        come(rank, "first");
    }
    deliver_all();
    mark(0);
    bench.hold_runs = false;
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(known_of(rank), 0);
        go_on(rank);
    }
    use(1, task);
    assert_int_equal(bench.runs[1], 2);
    assert_int_equal(bench.ended[0][1], 1);
    stop_using(task);
    close_all();
    bench_close();
}

static void all_are_told_that_they_came_for_different_things(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        bench_open(3, CORE_REPAIR);
        const moot_hash task = chaired_by(1, 1, 0);
        use(1, task);
        stop_using(task);
        come(0, "first");
        come(1, "first");
        if (plain) {
            come_to_meeting(2);
        } else {
            come(2, "second");
        }
        pass(20 * MS);
        assert_int_equal(bench.snapshot[0].mark, 0);
        for (uint32_t rank = 0; rank < 2; rank++) {
            assert_reloaded(rank, 1, MOOT_ERR_STATE, bench.snapshot[rank].generation);
        }
        if (plain) {
            assert_int_equal(bench.met_code[2], MOOT_ERR_STATE);
        } else {
            assert_int_equal(bench.snapshot[2].reload_status, MOOT_ERR_STATE);
        }
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(known_of(rank), 1);
            go_on(rank);
        }
        close_all();
        bench_close();
    }
}

static void a_mark_that_cannot_be_written_changes_nothing(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    const moot_hash task = chaired_by(1, 1, 0);
    use(1, task);
    stop_using(task);
    for (int times = 1; times <= 2; times++) {
        for (uint32_t rank = 0; rank < 3; rank++) {
            come(rank, "first");
        }
        deliver_all();
        /* Nobody knows what has become of it, so no other mark may be like it. */
        assert_int_equal(bench.snapshot[0].mark, times);
        mark_as(0, (uint32_t)times, times == 1 ? MOOT_ERR_FILE : MOOT_OK);
        pass(20 * MS);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_reloaded(rank, times, times == 1 ? MOOT_ERR_FILE : MOOT_OK,
                            (uint32_t)times);
            assert_int_equal(known_of(rank), times == 1 ? 1 : 0);
            go_on(rank);
        }
    }
    close_all();
    bench_close();
}

static void it_begins_a_generation_beyond_all_that_disks_have(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(come_for(rank, "first", 7 - rank), MOOT_OK);
    }
    deliver_all();
    assert_int_equal(bench.snapshot[0].mark, 8);
    mark_as(0, 7, MOOT_OK); /* of none that there is */
    pass(20 * MS);
    assert_int_equal(bench.snapshot[0].reloads, 0);
    mark(0);
    assert_reloaded(2, 1, MOOT_OK, 8);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(come_for(rank, "second", 0), MOOT_OK);
    }
    deliver_all();
    mark(0);
    assert_reloaded(2, 2, MOOT_OK, 9);
    close_all();
    bench_close();
}

/* Deaths of any rank, at any moment: all who are left reload, once. */
static void a_death_in_it_leaves_it_to_the_others(void **state)
{
    (void)state;
    enum { BEFORE_MARK, UNTOLD, TOLD_ONE, TOLD_ALL, MOMENTS };
    for (uint32_t dead = 0; dead < 4; dead++) {
        for (int at = BEFORE_MARK; at < MOMENTS; at++) {
            bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
            const moot_hash task = chaired_by(1, 1, MOOT_HASH_ONCE);
            use(1, task);
            stop_using(task);
            for (uint32_t rank = 0; rank < 4; rank++) {
                come(rank, "first");
            }
            deliver_all();
            for (uint32_t to = 1; to < 4; to++) {
                bench.holds[0][to] = at == UNTOLD || (at == TOLD_ONE && to != 2);
            }
            if (at != BEFORE_MARK) {
                mark_as(0, 1, MOOT_OK);
                deliver_all();
            }
            crash(dead);
            if (dead != 0) {
                for (uint32_t to = 1; to < 4; to++) {
                    let_go(0, to);
                }
            } else {
                lose_held(); /* they went with it */
                memset(bench.holds, 0, sizeof(bench.holds));
            }
            pass(100 * MS);
            const uint32_t lowest = dead == 0 ? 1 : 0;
            if (bench.snapshot[lowest].reloads == 0) {
                assert_int_equal(bench.snapshot[lowest].mark, 1);
                mark(lowest);
                pass(100 * MS);
            }
            for (uint32_t rank = 0; rank < 4; rank++) {
                if (rank != dead) {
                    assert_reloaded(rank, 1, MOOT_OK, 1);
                    go_on(rank);
                }
            }
            use(1, task);
            pass(200 * MS);
            for (uint32_t rank = 0; rank < 4; rank++) {
                assert_true(rank == dead || bench.ended[rank][1] == 1);
            }
            assert_int_equal(bench.runs[1], 2);
            bench_close();
        }
    }
}

/* A rank has closed, and heard nothing of the outcome when the lowest member died. */
static void who_has_closed_reloads_too(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
        const moot_hash task = chaired_by(3, 1, 0);
        use(1, task);
        stop_using(task);
        close_rank(3);
        for (uint32_t rank = 0; rank < 3; rank++) {
            come(rank, "first");
        }
        deliver_all();
        bench.holds[0][3] = late;
        bench.holds[0][1] = late;
        mark_as(0, 1, MOOT_OK);
        deliver_all();
        if (late) {
            crash(0);
            lose_held();
        }
        pass(200 * MS);
        for (uint32_t rank = late ? 1 : 0; rank < 4; rank++) {
            assert_reloaded(rank, 1, MOOT_OK, 1);
            assert_int_equal(known_of(rank), 0);
        }
        bench_close();
    }
}

/* A result was sent before, and comes behind the view that begins the reload. */
static void a_result_of_before_is_not_taken(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash task = chaired_by(1, 1, 0);
    bench.hold_runs = true;
    spawn(1, 1, task);
    spawn(0, 1, task);
    begin_wait(0, task);
    pass(60 * MS);
    assert_int_equal(bench.runs[1], 1);
    bench.hold_runs = false;
    const uint64_t epoch = bench.epoch[0];
    struct message old = {.type = MESSAGE_RESULT, .hash = task, .epoch = 1};
    core_view(bench.core[1], &old.epoch, &old.view_id);
    old.u.result = (struct message_result){.owner_uid = bench.uids[1],
                                           .evidence = EVIDENCE_CLAIM,
                                           .data = RESULT_EAGER,
                                           .size = 8,
                                           .payload = "old.old."};
    end_wait(0, task);
    come(0, "first");
    come(1, "first");
    deliver_all();
    mark(0);
    assert_true(bench.epoch[0] > epoch);
    go_on(0);
    go_on(1);
    spawn(0, 1, task);
    begin_wait(0, task);
    post(1, 0, &old);
    deliver_all();
    assert_int_equal(bench.results[0], 0);
    spawn(1, 1, task);
    pass(60 * MS);
    assert_int_equal(bench.ended[0][1], 1);
    end_wait(0, task);
    close_all();
    bench_close();
}

/* Rank 2 may have started it before the reload, which forgets that. */
static void losses_of_before_hide_nothing(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    crash(2);
    crash(3);
    come(0, "first");
    come(1, "first");
    deliver_all();
    mark(0);
    pass(100 * MS);
    assert_reloaded(0, 1, MOOT_OK, 1);
    go_on(0);
    go_on(1);
    for (int n = 1; n <= 8; n++) { /* some of them were chaired by who has died */
        const moot_hash task = digest_bytes(&n, sizeof(n));
        moot_hash once = task;
        once.bytes[15] =
            (uint8_t)((once.bytes[15] & ~(uint32_t)MOOT_HASH_FACTS) | MOOT_HASH_ONCE);
        use(n, once);
        assert_int_equal(bench.ended[0][n], 1);
        assert_int_equal(bench.ended[1][n], 1);
        stop_using(once);
    }
    bench_close();
}

/* A once task that rank 0 chairs. */
static moot_hash once_of_0(void) { return chaired_by(0, 1, MOOT_HASH_ONCE); }

/* Rank 3 has closed, and runs a once task in the view before; `enters`: it has told of
 * it in the reload's view when the others spawn the task.  Its disk says nothing. */
static void what_a_closed_rank_has_started_may_have_run(void **state)
{
    (void)state;
    for (int enters = 0; enters < 2; enters++) {
        bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
        const moot_hash once = chaired_by(3, 1, MOOT_HASH_ONCE);
        bench.hold_runs = true;
        spawn(3, 1, once);
        begin_wait(3, once);
        pass(60 * MS);
        assert_int_equal(bench.runs[1], 1);
        end_wait(3, once);
        close_rank(3);
        bench.hold_runs = false;
        for (uint32_t rank = 0; rank < 3; rank++) {
            come(rank, "first");
        }
        deliver_all();
        for (uint32_t rank = 0; rank < 3 && !enters; rank++) {
            bench.holds[rank][3] = true;
        }
        mark(0);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_reloaded(rank, 1, MOOT_OK, 1);
            go_on(rank);
        }
        for (uint32_t rank = 0; rank < 3; rank++) {
            spawn(rank, 1, once);
            begin_wait(rank, once);
        }
        deliver_all();
        for (uint32_t rank = 0; rank < 3 && !enters; rank++) {
            assert_int_equal(bench.ended[rank][1], 0);
            let_go(rank, 3);
        }
        pass(200 * MS);
        assert_reloaded(3, 1, MOOT_OK, 1);
        assert_int_equal(bench.runs[1], 1);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(bench.ended[rank][1], MOOT_ERR_MAYBE_RAN);
            end_wait(rank, once);
        }
        bench_close();
    }
}

/* Rank 1 hears nothing of the view that begins the reload: it might have started the
 * task before.  When rank 0, which chairs it, has died, all are in one view. */
static void no_once_task_starts_before_all_have_gone_back(void **state)
{
    (void)state;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    const moot_hash once = once_of_0();
    for (uint32_t rank = 0; rank < 5; rank++) {
        come(rank, "first");
    }
    deliver_all();
    for (uint32_t rank = 0; rank < 5; rank++) {
        bench.holds[rank][1] = bench.holds[1][rank] = true;
    }
    mark(0);
    assert_reloaded(0, 1, MOOT_OK, 1);
    assert_reloaded(1, 0, 0, 0);
    for (uint32_t rank = 0; rank < 5; rank++) {
        if (rank != 1) {
            go_on(rank);
        }
    }
    spawn(0, 1, once);
    begin_wait(0, once);
    deliver_all();
    assert_int_equal(bench.runs[1], 0);
    const uint64_t epoch = bench.epoch[0];
    bench.crashed[0] = true;
    for (uint32_t rank = 1; rank < 5; rank++) {
        certify_at(rank, 0);
    }
    pass(20 * MS);
    assert_int_equal(bench.epoch[2], epoch + 1);
    for (uint32_t rank = 2; rank < 5; rank++) {
        let_go(rank, 1);
        let_go(1, rank);
    }
    pass(60 * MS);
    assert_reloaded(1, 1, MOOT_OK, 1);
    assert_true(bench.epoch[1] > epoch);
    go_on(1);
    use(1, once);
    pass(300 * MS);
    assert_int_equal(bench.runs[1], 1);
    for (uint32_t rank = 1; rank < 5; rank++) {
        assert_int_equal(bench.ended[rank][1], 1);
    }
    stop_using(once);
    bench_close();
}

static int sign(uint32_t rank, uint64_t at)
{
    struct core_event event = {.type = CORE_EV_SIGNATURE,
                               .hash = digest_bytes(&rank, sizeof(rank))};
    event.u.signature.step = at;
    return step(rank, &event);
}

static void steps_that_are_signed_begin_anew(void **state)
{
    (void)state;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    assert_int_equal(sign(0, 5), MOOT_OK);
    assert_int_equal(sign(1, 6), MOOT_OK);
    pass(50 * MS);
    assert_int_equal(sign(0, 1), MOOT_ERR_STATE);
    come(0, "first");
    come(1, "first");
    deliver_all();
    mark(0);
    assert_reloaded(1, 1, MOOT_OK, 1);
    go_on(0);
    go_on(1);
    assert_int_equal(sign(0, 1), MOOT_OK);
    assert_int_equal(sign(1, 2), MOOT_OK);
    pass(50 * MS);
    close_all();
    bench_close();
}

static int sign_as(uint32_t rank, uint64_t at, uint8_t signature)
{
    struct core_event event = {.type = CORE_EV_SIGNATURE};
    memset(event.hash.bytes, signature, sizeof(event.hash));
    event.u.signature.step = at;
    return step(rank, &event);
}

/* A grant tells a rank by which signature it is contradicted, or of no step and none.
 */
static uint32_t count_contradictions(uint32_t from, uint32_t to)
{
    uint32_t count = 0;
    bench.holds[from][to] = true;
    pass(30 * MS);
    for (size_t i = 0; i < bench.held_count; i++) {
        const struct parcel *parcel = bench.held[i];
        const struct message *message = parcel->message;
        if (parcel->from == from && parcel->to == to &&
            message->type == MESSAGE_GRANT) {
            const bool some = !hash_is_zero(&message->u.grant.others);
            assert_int_equal(some, message->u.grant.contradicted != 0);
            count += some;
        }
    }
    let_go(from, to);
    return count;
}

static void what_contradicted_a_peer_is_forgotten(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(sign_as(rank, 5, rank == 2 ? 9 : 1), MOOT_OK);
    }
    pass(50 * MS);
    assert_true(count_contradictions(0, 2) > 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        come(rank, "first");
    }
    deliver_all();
    mark(0);
    assert_reloaded(2, 1, MOOT_OK, 1);
    for (uint32_t rank = 0; rank < 3; rank++) {
        go_on(rank);
    }
    assert_int_equal(count_contradictions(0, 2), 0);
    close_all();
    bench_close();
}

static void what_may_not_come_is_refused(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    struct core_event event = {.type = CORE_EV_RELOAD};
    assert_int_equal(step(0, &event), MOOT_ERR_INVALID);
    come(0, "first");
    assert_int_equal(come_for(0, "first", 0), MOOT_ERR_STATE);
    close_rank(1);
    assert_int_equal(come_for(1, "first", 0), MOOT_ERR_STATE);
    bench_close();
    bench.joinable = true;
    bench_open(2, CORE_REPAIR);
    assert_int_equal(come_for(0, "first", 0), MOOT_ERR_UNSUPPORTED);
    bench_close();
    bench.joinable = false;
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_behind_it),
        cmocka_unit_test(the_first_in_line_proposes_at_once),
        cmocka_unit_test(what_still_ran_is_of_no_account),
        cmocka_unit_test(all_are_told_that_they_came_for_different_things),
        cmocka_unit_test(a_mark_that_cannot_be_written_changes_nothing),
        cmocka_unit_test(it_begins_a_generation_beyond_all_that_disks_have),
        cmocka_unit_test(a_death_in_it_leaves_it_to_the_others),
        cmocka_unit_test(who_has_closed_reloads_too),
        cmocka_unit_test(a_result_of_before_is_not_taken),
        cmocka_unit_test(losses_of_before_hide_nothing),
        cmocka_unit_test(what_a_closed_rank_has_started_may_have_run),
        cmocka_unit_test(no_once_task_starts_before_all_have_gone_back),
        cmocka_unit_test(steps_that_are_signed_begin_anew),
        cmocka_unit_test(what_contradicted_a_peer_is_forgotten),
        cmocka_unit_test(what_may_not_come_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
