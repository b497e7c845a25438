/* view_test.c - the rules of PROTOCOL.md sections 5 and 6, on the bench. */
#include "proto/limits.h"
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

static void crash(uint32_t rank) { bench.crashed[rank] = true; }

static void certify(uint32_t dead)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            certify_at(rank, dead);
        }
    }
}

static void nothing_happens_without_a_fault(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    pass(1000 * MS);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_int_equal(bench.epoch[rank], 0);
        assert_false(bench.no_quorum[rank]);
    }
    assert_true(sum_sent(MESSAGE_HEARTBEAT) > 0);
    assert_int_equal(sum_sent(MESSAGE_PREPARE), 0);
    bench_close();
}

static void survivors_agree_on_a_view_without_the_dead(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 3; victim++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        pass(50 * MS);
        crash(victim);
        pass(300 * MS);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(bench.epoch[rank], rank == victim ? 0 : 2);
        }
        bench_close();
    }
}

static void a_certificate_needs_no_suspicion(void **state)
{
    (void)state;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    crash(0);
    certify(0);
    pass(10 * MS);
    assert_int_equal(bench.epoch[1], 2);
    bench_close();
}

/* Of many ranks there is no record of one that never spoke. */
static void who_never_spoke_is_certified_dead_too(void **state)
{
    (void)state;
    enum { MANY = 66 };
    uint64_t uids[MANY];
    for (uint32_t rank = 0; rank < MANY; rank++) {
        uids[rank] = 1000 + rank;
    }
    const struct core_options options = {.size = MANY,
                                         .uids = uids,
                                         .epoch = 1,
                                         .voters = 3,
                                         .vote_timeout_ns = CORE_NEVER,
                                         .heartbeat_ns = CORE_NEVER,
                                         .direct_max = MANY,
                                         .entry_bytes = CORE_ENTRY_BYTES};
    struct core *core = core_new(&options);
    assert_non_null(core);
    struct core_event event = {.type = CORE_EV_DEAD};
    struct core_outputs out;
    event.u.dead.rank = MANY - 1;
    assert_int_equal(core_step(core, &event, 1, &out), MOOT_OK);
    core_free(core);
}

/* 0 and 1 learn of a view with so long a past; 2, its third member, is dead. */
static void open_with_past(uint32_t views)
{
    struct message_past past[LIMIT_PAST_VIEWS];
    struct rankset all = {.low = 7};
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    crash(2);
    for (uint32_t i = 0; i < views; i++) {
        past[i] = (struct message_past){.epoch = i + 1, .members = &all};
    }
    const struct message_view view = {
        .epoch = views + 1, .members = &all, .history = views, .past = past};
    const struct message message = {
        .type = MESSAGE_VIEW, .epoch = views + 1, .u.view = view};
    post(0, 1, &message);
    post(1, 0, &message);
    deliver_all();
    assert_int_equal(bench.epoch[0], views + 1);
    assert_int_equal(bench.epoch[1], views + 1);
    pass(1000 * MS);
}

static void a_past_that_is_full_ends_without_a_quorum(void **state)
{
    (void)state;
    open_with_past(LIMIT_PAST_VIEWS - 1);
    assert_int_equal(bench.epoch[0], LIMIT_PAST_VIEWS + 1);
    assert_int_equal(bench.epoch[1], LIMIT_PAST_VIEWS + 1);
    assert_false(bench.no_quorum[0] || bench.no_quorum[1]);
    bench_close();
    open_with_past(LIMIT_PAST_VIEWS);
    assert_int_equal(bench.epoch[0], LIMIT_PAST_VIEWS + 1);
    assert_int_equal(bench.epoch[1], LIMIT_PAST_VIEWS + 1);
    assert_true(bench.no_quorum[0] && bench.no_quorum[1]);
    assert_int_equal(sum_sent(MESSAGE_PREPARE), 0);
    bench_close();
}

static void of_two_ranks_the_lowest_goes_on(void **state)
{
    (void)state;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    crash(1);
    pass(300 * MS);
    assert_int_equal(bench.epoch[0], 2);
    bench_close();
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    crash(0);
    pass(1000 * MS);
    assert_int_equal(bench.epoch[1], 0);
    assert_true(bench.no_quorum[1]);
    bench_close();
}

/* Nobody was cut off: they stood still together, for twice as long as that takes. */
static void a_job_that_was_stopped_goes_on(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    bench.now += 60 * HEARTBEAT_NS;
    for (int turn = 0; turn < 1000; turn++) {
        pass(MS / 4);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(bench.epoch[rank], 0);
            assert_false(bench.no_quorum[rank]);
        }
    }
    bench_close();
}

/* Cut off it claims nothing, so it has not come to its end: it may once it is alone. */
static void who_has_no_quorum_does_not_adjourn(void **state)
{
    (void)state;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    spawn(0, 1, chaired_by(1, 0, 0));
    close_rank(0);
    bench.holds[0][1] = true;
    pass(400 * MS);
    assert_true(bench.no_quorum[0]);
    crash(1);
    pass(200 * MS);
    assert_int_equal(bench.epoch[0], 2);
    assert_int_equal(bench.runs[1], 1);
    assert_true(bench.adjourned[0]);
    bench_close();
}

static void a_dead_chairs_task_is_run_by_a_survivor(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(0, 0, 0);
    bench.hold_runs = true;
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(rank, 1, a);
        begin_wait(rank, a);
    }
    pass(20 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ran_on[1], 0);
    bench.hold_runs = false;
    crash(0);
    pass(400 * MS);
    assert_int_equal(bench.runs[1], 2);
    assert_int_equal(bench.ended[1][1], 1);
    assert_int_equal(bench.ended[2][1], 1);
    bench_close();
}

/* 1 has it, and 2 is its chair then. */
static void a_delivered_result_is_not_run_again(void **state)
{
    (void)state;
    const struct rankset survivors = {.low = 6};
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(0, 0, 0);
    for (int n = 1; placement_chair(&a, &survivors, NULL) != 2; n++) {
        a = chaired_by(0, n, 0);
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(rank, 1, a);
    }
    begin_wait(1, a);
    pass(30 * MS);
    assert_int_equal(bench.ended[1][1], 1);
    assert_int_equal(bench.ended[2][1], 0);
    crash(0);
    begin_wait(2, a);
    pass(400 * MS);
    assert_int_equal(bench.ended[2][1], 1);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

static void a_removed_rank_that_lives_is_fenced(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    bench.deaf[2] = true;
    pass(300 * MS);
    assert_int_equal(bench.epoch[0], 2);
    assert_int_equal(bench.epoch[2], 0);
    bench.deaf[2] = false;
    pass(100 * MS);
    assert_true(bench.fenced[2]);
    assert_false(bench.fenced[0]);
    bench_close();
}

static void a_once_task_of_a_dead_owner_may_have_run(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(0, 0, MOOT_HASH_ONCE);
    bench.hold_runs = true;
    pass(30 * MS);
    for (uint32_t rank = 0; rank < 4; rank++) {
        spawn(rank, 1, a);
        begin_wait(rank, a);
    }
    pass(30 * MS);
    assert_int_equal(bench.runs[1], 1);
    crash(0);
    pass(500 * MS);
    for (uint32_t rank = 1; rank < 4; rank++) {
        assert_int_equal(bench.ended[rank][1], MOOT_ERR_MAYBE_RAN);
    }
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

static void two_deaths_one_after_the_other(void **state)
{
    (void)state;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(1, 0, 0), b = chaired_by(3, 0, 0);
    bench.hold_runs = true;
    for (uint32_t rank = 0; rank < 5; rank++) {
        spawn(rank, 1, a);
        spawn(rank, 2, b);
        begin_wait(rank, a);
    }
    pass(20 * MS);
    crash(1);
    bench.hold_runs = false;
    pass(62 * MS);
    crash(3);
    pass(500 * MS);
    for (uint32_t rank = 0; rank < 5; rank += 2) {
        assert_int_equal(bench.ended[rank][1], 1);
        assert_true(bench.epoch[rank] >= 2);
    }
    bench_close();
}

/* One JOIN of a newcomer with uid 77 that knows the bench's members, to rank 0; returns
 * it, and whether it was refused, and how. */
static struct core *newcomer(bool *refused, struct core_output *answer)
{
    const struct core_options options = {.size = bench.size,
                                         .uids = bench.uids,
                                         .voters = 3,
                                         .heartbeat_ns = HEARTBEAT_NS,
                                         .join_uid = 77,
                                         .join_rank = bench.size,
                                         .joinable = true,
                                         .entry_bytes = CORE_ENTRY_BYTES};
    struct core *core = core_new(&options);
    assert_non_null(core);
    struct core_outputs asks, answers;
    struct core_event tick = {.type = CORE_EV_TICK};
    assert_int_equal(core_step(core, &tick, bench.now, &asks), MOOT_OK);
    assert_true(asks.count > 0 && asks.items[0].u.send.message.type == MESSAGE_JOIN);
    struct core_event join = {.type = CORE_EV_RECV};
    join.u.recv.from = UINT32_MAX;
    join.u.recv.uid = 77;
    join.u.recv.message = &asks.items[0].u.send.message;
    assert_int_equal(core_step(bench.core[0], &join, bench.now, &answers), MOOT_OK);
    *refused = false;
    for (size_t i = 0; i < answers.count; i++) {
        if (answers.items[i].type == CORE_OUT_REFUSE) {
            *refused = true;
            *answer = answers.items[i];
        }
    }
    return core;
}

static void without_joinable_a_newcomer_is_refused(void **state)
{
    (void)state;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    bool refused;
    struct core_output answer = {0};
    struct core *core = newcomer(&refused, &answer);
    assert_true(refused);
    assert_true(answer.u.refuse.uid == 77);
    struct core_event event = {.type = CORE_EV_RECV};
    event.u.recv.uid = bench.uids[0];
    event.u.recv.message = &answer.u.refuse.message;
    struct core_outputs out;
    assert_int_equal(core_step(core, &event, bench.now, &out), MOOT_OK);
    assert_int_equal(out.count, 1);
    assert_int_equal(out.items[0].type, CORE_OUT_FENCED);
    assert_int_equal(out.items[0].u.fenced.code, MOOT_ERR_UNSUPPORTED);
    core_free(core);
    bench_close();
}

/* Who goes on by certificate alone could not know whom the dead had let in. */
static void with_joinable_a_certificate_is_no_quorum(void **state)
{
    (void)state;
    bench.joinable = true;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    bool refused;
    struct core_output answer;
    struct core *core = newcomer(&refused, &answer);
    assert_false(refused);
    core_free(core);
    bench_close();
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    crash(0);
    certify(0);
    pass(1000 * MS);
    assert_int_equal(bench.epoch[1], 0);
    assert_true(bench.no_quorum[1]);
    bench_close();
    bench.joinable = false;
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_happens_without_a_fault),
        cmocka_unit_test(survivors_agree_on_a_view_without_the_dead),
        cmocka_unit_test(a_certificate_needs_no_suspicion),
        cmocka_unit_test(who_never_spoke_is_certified_dead_too),
        cmocka_unit_test(a_past_that_is_full_ends_without_a_quorum),
        cmocka_unit_test(of_two_ranks_the_lowest_goes_on),
        cmocka_unit_test(a_job_that_was_stopped_goes_on),
        cmocka_unit_test(who_has_no_quorum_does_not_adjourn),
        cmocka_unit_test(a_dead_chairs_task_is_run_by_a_survivor),
        cmocka_unit_test(a_delivered_result_is_not_run_again),
        cmocka_unit_test(a_removed_rank_that_lives_is_fenced),
        cmocka_unit_test(a_once_task_of_a_dead_owner_may_have_run),
        cmocka_unit_test(two_deaths_one_after_the_other),
        cmocka_unit_test(without_joinable_a_newcomer_is_refused),
        cmocka_unit_test(with_joinable_a_certificate_is_no_quorum),
    };
    return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
