/* last_holder_test.c - a task that nobody but a leaver holds (PROTOCOL.md, "Leaving"),
 * on the bench. */
#include "consensus/state/state.h"
#include "tests/unit/rare_bench.h"

static bool owns(uint32_t rank, moot_hash hash)
{
    struct core_task_view view;
    assert_true(core_task_look(bench.core[rank], &hash, &view));
    bool owner = view.own != CORE_OWN_NONE;
    core_task_view_release(&view);
    return owner;
}

/* The rank that asked for the task waits no more when it is returned, and its chair
 * does not hold it. */
static void what_nobody_asks_for_any_more_is_kept(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash b = chaired_by(2, 0, 0), a = chaired_by(0, 0, 0);
    const struct core_register reg = {.inputs = &b, .input_count = 1};
    bench.hold_runs = true;
    spawn(2, 1, b);
    spawn(1, 1, b);
    assert_int_equal(spawn_with(1, 2, a, reg), MOOT_OK);
    begin_wait(2, a);
    set_lane(0, CORE_LANE_BLOCKED);
    pass(50 * MS);
    assert_true(owns(1, a));
    end_wait(2, a);
    leave(1);
    pass(50 * MS);
    assert_int_equal(core_stats(bench.core[1])->returned, 1);
    assert_false(bench.left[1]);
    finish_run(2, b);
    pass(50 * MS);
    finish_run(1, a);
    pass(50 * MS);
    assert_true(bench.left[1]);
    begin_wait(2, a);
    pass(50 * MS);
    assert_int_equal(bench.ended[2][0], 1);
    assert_int_equal(bench.runs[2], 1);
    bench_close();
}

static bool is_ready(const struct core *core, const moot_hash *hash)
{
    (void)hash;
    return core->membership.leave.ready;
}

/* 1 leaves, has a kernel to end, and alone holds a, which it comes to chair when 2 is
 * gone: nobody has asked for it by then. */
static void what_it_comes_to_chair_alone_it_runs(void **state)
{
    (void)state;
    const struct rankset others = {.low = 3};
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash long_run = chaired_by(1, 0, 0), a = chaired_by(2, 0, 0);
    for (int n = 1; placement_chair(&a, &others, NULL) != 1; n++) {
        a = chaired_by(2, n, 0);
    }
    bench.hold_runs = true;
    pass(50 * MS);
    spawn(1, LONG, long_run);
    spawn(1, A, a);
    leave(1);
    kill_rank(2);
    pass(20 * MS);
    assert_int_equal(bench.members[1].low, 3);
    finish_run(1, long_run);
    pass(50 * MS);
    assert_int_equal(bench.ran_on[A], 1);
    assert_false(bench.left[1]);
    finish_run(1, a);
    pass(50 * MS);
    assert_true(bench.left[1]);
    enter(0, A, a);
    begin_wait(0, a);
    pass(50 * MS);
    assert_int_equal(bench.ended[0][A], 1);
    assert_int_equal(bench.runs[A], 1);
    bench_close();
}

/* 1 and 2 hold a.  1, its chair, goes and gives it to 2, which is ready to go before it
 * hears of that, and refuses when 1 is ready, too. */
static void who_is_ready_claims_nothing(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash long_run = chaired_by(1, 0, 0), a = chaired_by(1, 1, 0);
    bench.hold_runs = true;
    for (uint32_t rank = 1; rank < 3; rank++) {
        spawn(rank, LONG, long_run);
        spawn(rank, A, a);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(50 * MS);
    assert_true(owns(1, a));
    leave(1);
    bench.holds[1][2] = bench.holds[2][0] = true;
    give_back_unstarted(1, a);
    leave(2);
    pass_until(is_ready, 2, &a);
    finish_run(1, long_run);
    pass_until(is_ready, 1, &a);
    assert_false(owns(1, a));
    bench.holds[1][0] = true;
    let_go(1, 2);
    pass(5 * MS);
    assert_false(owns(2, a));
    assert_false(owns(1, a));
    assert_int_equal(bench.runs[A], 1);
    let_go(1, 0);
    let_go(2, 0);
    pass(100 * MS);
    assert_true(bench.left[1] && bench.left[2]);
    bench_close();
}

static const struct rankset only_leaver = {.low = 2}, sender_too = {.low = 3};

static struct core_register of_leaver(const struct message_spec *spec)
{
    return (struct core_register){
        .candidates = &only_leaver, .flags = CORE_TASK_PORTABLE, .spec = spec};
}

/* As a host does. */
static void adopt(const struct parcel *parcel)
{
    const struct message *message = parcel->message;
    const struct message_spec *spec =
        message->type == MESSAGE_MOTION ? message->u.motion.spec : NULL;
    if (spec != NULL && core_would_adopt(bench.core[parcel->to], parcel->from,
                                         bench.uids[parcel->from], message)) {
        struct core_register reg = of_leaver(spec);
        reg.flags |= CORE_TASK_ADOPTED;
        assert_int_equal(spawn_with(parcel->to, A, message->hash, reg), MOOT_OK);
    }
}

/* 1 leaves, and owns what takes a, of which it is the only candidate.  0 alone holds a,
 * and spawns it after that. */
static void what_no_other_may_run_it_adopts(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    bench.comes = adopt;
    moot_hash a = chaired_by(1, 0, MOOT_HASH_CANDIDATES), b = chaired_by(1, 1, 0);
    const struct message_spec spec = {.kernel_name = "kernel",
                                      .flags = CORE_TASK_PORTABLE,
                                      .candidates = &only_leaver};
    const struct core_register takes = {.inputs = &a, .input_count = 1};
    pass(50 * MS);
    enter(1, A, a);
    assert_int_equal(spawn_with(1, B, b, takes), MOOT_OK);
    leave(1);
    pass(50 * MS);
    assert_false(bench.left[1]);
    assert_int_equal(spawn_with(0, A, a, of_leaver(&spec)), MOOT_OK);
    begin_wait(0, a);
    pass(200 * MS);
    assert_int_equal(bench.ended[0][A], 1);
    assert_int_equal(bench.ran_on[A], 1);
    assert_int_equal(bench.ran_on[B], 1);
    assert_true(bench.left[1]);
    bench_close();
}

/* Neither a task that its sender may run, nor any when it is ready. */
static void it_adopts_nothing_else(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    struct message_spec spec = {.kernel_name = "kernel", .candidates = &only_leaver};
    struct message motion = {.type = MESSAGE_MOTION};
    moot_hash long_run = chaired_by(1, 0, 0);
    motion.hash = chaired_by(1, 1, MOOT_HASH_CANDIDATES);
    motion.u.motion.spec = &spec;
    bench.hold_runs = true;
    pass(50 * MS);
    spawn(1, LONG, long_run);
    leave(1);
    core_view(bench.core[1], &motion.epoch, &motion.view_id);
    assert_true(core_would_adopt(bench.core[1], 0, bench.uids[0], &motion));
    spec.candidates = &sender_too;
    assert_false(core_would_adopt(bench.core[1], 0, bench.uids[0], &motion));
    spec.candidates = &only_leaver;
    finish_run(1, long_run);
    pass_until(is_ready, 1, &long_run);
    assert_false(core_would_adopt(bench.core[1], 0, bench.uids[0], &motion));
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_asks_for_any_more_is_kept),
        cmocka_unit_test(what_it_comes_to_chair_alone_it_runs),
        cmocka_unit_test(who_is_ready_claims_nothing),
        cmocka_unit_test(what_no_other_may_run_it_adopts),
        cmocka_unit_test(it_adopts_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
