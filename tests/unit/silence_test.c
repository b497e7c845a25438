/* silence_test.c - what a chair makes of a once task that nobody knows the owner of. */
#include "tests/unit/newcomer_bench.h"
#include "tests/unit/silence_bench.h"

/* 4 starts it with 3's voice, and both die; 1 was not asked in time, and is the chair
 * then. */
static moot_hash started_by_the_dead(unsigned facts)
{
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(4, 0, facts);
    for (int n = 1; voters_among(&a, 31) != 26 || chair_among(&a, 7) != 1; n++) {
        a = chaired_by(4, n, facts);
    }
    bench.hold_runs = true;
    pass(50 * MS);
    bench.holds[4][1] = true;
    spawn(4, 1, a);
    pass(5 * MS);
    assert_int_equal(bench.runs[1], 1);
    kill_rank(4);
    kill_rank(3);
    pass(60 * MS);
    assert_int_equal(bench.members[1].low, 7);
    return a;
}

/* It first meets the task when the second view of which it is the chair has begun and
 * has not settled. */
static void what_is_first_met_between_two_views_may_have_run(void **state)
{
    (void)state;
    moot_hash a = started_by_the_dead(MOOT_HASH_ONCE);
    kill_rank(2);
    step_until_view(1, bench.epoch[1] + 1);
    spawn(1, 1, a);
    begin_wait(1, a);
    pass(60 * MS);
    assert_int_equal(bench.members[1].low, 3);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[1][1], MOOT_ERR_MAYBE_RAN);
    bench_close();
}

/* Its chair does not hold it, and knows by the hash that it may be run again. */
static void what_may_be_run_again_is(void **state)
{
    (void)state;
    moot_hash a = started_by_the_dead(MOOT_HASH_ONCE | MOOT_HASH_IDEMPOTENT);
    const struct core_register reg = {.flags = CORE_TASK_ONCE | CORE_TASK_IDEMPOTENT |
                                               CORE_TASK_HINT};
    assert_int_equal(spawn_with(2, 1, a, reg), MOOT_OK);
    begin_wait(2, a);
    pass(60 * MS);
    assert_int_equal(bench.runs[1], 2);
    assert_int_equal(bench.ended[2][1], 0);
    struct core_event done = {.type = CORE_EV_DONE, .hash = a};
    done.u.done.size = 8;
    assert_int_equal(step(2, &done), MOOT_OK);
    pass(20 * MS);
    assert_int_equal(bench.ended[2][1], 1);
    bench_close();
}

/* 4 has started a with 3's voice, and both die; then 5 joins, and chairs a, and b,
 * which nobody can have started: its chair was always there. */
static void a_newcomer_is_told_who_is_lost(void **state)
{
    (void)state;
    bench.joinable = true;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(4, 0, MOOT_HASH_ONCE),
              b = chaired_by(0, 0, MOOT_HASH_ONCE);
    for (int n = 1; voters_among(&a, 31) != 26 || chair_among(&a, 39) != 5; n++) {
        a = chaired_by(4, n, MOOT_HASH_ONCE);
    }
    for (int n = 1; chair_among(&b, 7) != 0 || chair_among(&b, 39) != 5; n++) {
        b = chaired_by(0, n, MOOT_HASH_ONCE);
    }
    bench.hold_runs = true;
    pass(50 * MS);
    bench.holds[4][1] = true;
    spawn(4, 1, a);
    pass(5 * MS);
    assert_int_equal(bench.runs[1], 1);
    kill_rank(4);
    kill_rank(3);
    pass(400 * MS);
    assert_int_equal(bench.members[0].low, 7);
    join(5, 5, 5);
    pass(400 * MS);
    assert_int_equal(bench.members[5].low, 39);
    spawn(5, 1, a);
    spawn(5, 2, b);
    begin_wait(5, a);
    pass(60 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[5][1], MOOT_ERR_MAYBE_RAN);
    assert_int_equal(bench.runs[2], 1);
    bench_close();
    bench.joinable = false;
}

/* Nor does who has it from them: 3 was let in when there were more than can be told. */
static void who_does_not_know_all_losses_says_so(void **state)
{
    (void)state;
    bench.joinable = true;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        bench.core[rank]->membership.losses_unknown = true;
    }
    join(3, 3, 3);
    pass(100 * MS);
    assert_int_equal(bench.members[3].low, 15);
    assert_true(bench.core[3]->membership.losses_unknown);
    bench_close();
    bench.joinable = false;
}

/* 0 lets 2 in, without 1, and dies: nobody of those whom 1 knows can tell it. */
static void a_newcomer_reminds_who_missed_its_view(void **state)
{
    (void)state;
    bench.joinable = true;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    bench.deaf[1] = true;
    join(2, 2, 2);
    for (int i = 0; i < 400 && bench.members[2].low != 7; i++) {
        pass(MS);
    }
    assert_int_equal(bench.members[2].low, 7);
    assert_int_equal(bench.epoch[1], 0);
    bench.crashed[0] = true;
    bench.deaf[1] = false;
    pass(400 * MS);
    assert_int_equal(bench.members[1].low, 6);
    assert_int_equal(bench.members[2].low, 6);
    bench_close();
    bench.joinable = false;
}

/* A newcomer runs the program from its beginning, and would run again what has ended;
 * which is so old that the members do not tell each other any more. */
static void nor_is_what_has_ended_new_to_it(void **state)
{
    (void)state;
    bench.joinable = true;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    const moot_hash top = {{0}};
    moot_hash scope = identity_scope(&top, "phase");
    moot_hash a = identity_hash(&(struct identity){.kernel_name = "k", .scope = scope});
    const struct core_register reg = {.scope = scope};
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct core_event release = {.type = CORE_EV_SCOPE_RELEASE, .hash = scope};
        assert_int_equal(spawn_with(rank, 1, a, reg), MOOT_OK);
        begin_wait(rank, a);
        pass(10 * MS);
        end_wait(rank, a);
        assert_int_equal(step(rank, &release), MOOT_OK);
    }
    pass(100 * MS);
    assert_true(bench.forgotten[0][1] && bench.forgotten[1][1]);
    kill_rank(2);
    pass(400 * MS);
    assert_int_equal(bench.members[0].low, 3);
    join(3, 3, 3);
    pass(400 * MS);
    assert_int_equal(bench.members[3].low, 11);
    assert_true(core_forgotten(bench.core[3], &a));
    bench_close();
    bench.joinable = false;
}

static void cut_off_all(bool deaf)
{
    for (uint32_t rank = 0; rank < 3; rank++) {
        bench.deaf[rank] = deaf;
    }
}

/* Its wait ends because there is no quorum; others may have removed it, and know. */
static void who_has_no_quorum_says_nothing_of_it(void **state)
{
    (void)state;
    moot_hash a = started_by_the_dead(MOOT_HASH_ONCE);
    cut_off_all(true);
    pass(400 * MS);
    assert_true(bench.no_quorum[1]);
    spawn(1, 1, a);
    begin_wait(1, a);
    pass(20 * MS);
    assert_int_equal(bench.ended[1][1], 0);
    cut_off_all(false);
    pass(100 * MS);
    assert_false(bench.no_quorum[1]);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[1][1], MOOT_ERR_MAYBE_RAN);
    bench_close();
}

static void leave(uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_LEAVE};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

/* 1 is its chair, as long as it is there, and then 0.  3 was accepted for it and left
 * without it, which the view that followed settled; what 0 and 2 accepted they say
 * again in the next. */
static moot_hash accepted_for_one_who_left(void)
{
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(1, 0, MOOT_HASH_ONCE), b = chaired_by(2, 0, 0);
    for (int n = 1; voters_among(&a, 15) != 7 || chair_among(&a, 5) != 0; n++) {
        a = chaired_by(1, n, MOOT_HASH_ONCE);
    }
    pass(50 * MS);
    bench.holds[1][3] = true; /* it is never told that it owns it */
    spawn(1, 2, b);
    begin_wait(1, b);
    struct core_register brought = {.flags = CORE_TASK_ONCE | CORE_TASK_ADOPTED};
    assert_int_equal(spawn_with(3, 1, a, brought),
                     MOOT_OK); /* it sees no end of it out */
    begin_wait(3, a);
    pass(5 * MS);
    assert_int_equal(sum_yields(), 1);
    end_wait(1, b);
    end_wait(3, a);
    leave(3);
    pass(60 * MS);
    assert_int_equal(bench.epoch[1], 2);
    assert_int_equal(bench.members[1].low, 7);
    spawn(0, 1, a);
    pass(20 * MS);
    assert_int_equal(bench.runs[1], 0);
    return a;
}

/* Its chair has heard in view 2 that it had not started, and has decided it since. */
static void an_old_acceptance_says_nothing_of_a_key_that_stayed(void **state)
{
    (void)state;
    moot_hash a = accepted_for_one_who_left();
    kill_rank(2);
    step_until_view(1, 3);
    pass(60 * MS);
    begin_wait(1, a);
    pass(60 * MS);
    assert_int_equal(bench.ended[1][0], 1);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

/* Nobody dies: had 3 run it, somebody would have the result. */
static void nor_of_one_whose_chair_leaves_then(void **state)
{
    (void)state;
    moot_hash a = accepted_for_one_who_left();
    leave(1);
    pass(60 * MS);
    assert_int_equal(bench.epoch[0], 3);
    assert_int_equal(bench.members[0].low, 5);
    begin_wait(0, a);
    pass(60 * MS);
    assert_int_equal(bench.ended[0][1], 1);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

/* A chair that was told, as an heir, that it may have run, before it knew itself for
 * the chair. */
static void what_an_heir_was_told_stands(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(1, 0, MOOT_HASH_ONCE);
    pass(50 * MS);
    struct task_record *task = table_enter(bench.core[1], &a);
    assert_non_null(task);
    task->maybe = true;
    task->rec = NOBODY;
    presume_judge_once(bench.core[1], task);
    assert_int_equal(task->rec, REC_MAYBE);
    bench_close();
}

/* A rank that is known to hold it, and has said that it never will run it. */
static void who_has_refused_is_not_chosen(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(1, 0, 0);
    pass(50 * MS);
    spawn(2, 1, a);
    begin_wait(0, a);
    pass(20 * MS);
    struct task_record *task = table_find(bench.core[1], &a);
    assert_non_null(task);
    assert_true(chair_may_choose(bench.core[1], task, 2));
    assert_true(rankset_add(&task->requests->never, 2));
    assert_false(chair_may_choose(bench.core[1], task, 2));
    bench_close();
}

static int spawn_for(uint32_t rank, int number, moot_hash hash,
                     const struct rankset *candidates)
{
    const struct core_register reg = {.flags = CORE_TASK_ONCE,
                                      .candidates = candidates};
    return spawn_with(rank, number, hash, reg);
}

/* 1 runs it and leaves.  Its heir, rank 2, does not know that it is the chair, and dies
 * when that view has settled. */
static void but_an_heir_may_have_died(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    const struct rankset all = {.low = 7}, rest = {.low = 13};
    moot_hash a = {{0}};
    int n = 0;
    do {
        a = chaired_by(3, n++, MOOT_HASH_ONCE | MOOT_HASH_CANDIDATES);
    } while (placement_chair(&a, &(struct rankset){.low = 15}, &all) != 1 ||
             placement_chair(&a, &rest, &all) != 2);
    pass(50 * MS);
    assert_int_equal(spawn_for(1, 1, a, &all), MOOT_OK);
    pass(20 * MS);
    assert_int_equal(bench.runs[1], 1);
    leave(1);
    pass(60 * MS);
    assert_int_equal(bench.members[0].low, 13);
    kill_rank(2);
    pass(60 * MS);
    assert_int_equal(bench.members[0].low, 9);
    assert_int_equal(spawn_for(0, 1, a, &all), MOOT_OK);
    begin_wait(0, a);
    pass(60 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[0][1], MOOT_ERR_MAYBE_RAN);
    bench_close();
}

/* 1 and 4 may run it, and 4, which alone has spawned it, starts it with 3's voice; 2 is
 * not asked in time.  0 waits for it, by its hash.  When 4 has died 1 is the chair, and
 * has never heard of the task. */
static moot_hash started_unknown_to_its_next_chair(void)
{
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    const struct rankset among = {.low = 18}, all = {.low = 31};
    moot_hash a = {{0}};
    int n = 0;
    do {
        a = chaired_by(2, n++, MOOT_HASH_ONCE | MOOT_HASH_CANDIDATES);
    } while (placement_chair(&a, &all, &among) != 4 || voters_of(&a, 4, 31) != 28 ||
             voters_of(&a, 1, 15) != 14);
    bench.hold_runs = true;
    pass(50 * MS);
    bench.holds[4][2] = bench.holds[2][4] = true;
    begin_wait(0, a);
    pass(5 * MS);
    assert_int_equal(spawn_for(4, 1, a, &among), MOOT_OK);
    pass(5 * MS);
    assert_int_equal(bench.runs[1], 1);
    kill_rank(4);
    pass(60 * MS);
    assert_int_equal(bench.members[1].low, 15);
    return a;
}

/* Then 3 dies, too, which alone knew that it was accepted. */
static void a_chair_is_told_that_it_is_the_chair(void **state)
{
    (void)state;
    const struct rankset among = {.low = 18};
    moot_hash a = started_unknown_to_its_next_chair();
    kill_rank(3);
    pass(60 * MS);
    assert_int_equal(bench.members[1].low, 7);
    assert_int_equal(spawn_for(1, 1, a, &among), MOOT_OK);
    begin_wait(1, a);
    pass(60 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[1][1], MOOT_ERR_MAYBE_RAN);
    assert_int_equal(bench.ended[0][0], MOOT_ERR_MAYBE_RAN);
    bench_close();
}

/* 0 has asked 2, which knows the task by its hash, too, and is told the candidates as
 * if it were to vote. */
static void who_is_told_the_candidates_refers_its_askers(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    const struct rankset among = {.low = 2};
    moot_hash a = chaired_by(2, 0, MOOT_HASH_ONCE | MOOT_HASH_CANDIDATES);
    pass(50 * MS);
    begin_wait(0, a);
    pass(5 * MS);
    assert_int_equal(sum_sent(MESSAGE_REFER), 0);
    struct message refer = {.type = MESSAGE_REFER, .hash = a};
    core_view(bench.core[1], &refer.epoch, &refer.view_id);
    refer.u.refer.candidates = &among;
    struct core_event event = {.type = CORE_EV_RECV};
    event.u.recv.from = 1;
    event.u.recv.uid = bench.uids[1];
    event.u.recv.message = &refer;
    assert_int_equal(step(2, &event), MOOT_OK);
    assert_int_equal(sum_sent(MESSAGE_REFER), 1);
    deliver_all();
    assert_int_equal(spawn_for(1, 1, a, &among), MOOT_OK);
    pass(20 * MS);
    assert_int_equal(bench.ended[0][0], 1);
    bench_close();
}

/* 1 and 2 may run it; 1 does, and dies.  3 has the result, since it was to take it, and
 * cannot tell that 2 is the chair then. */
static void what_a_finder_has_all_are_told(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    const struct rankset among = {.low = 6}, all = {.low = 15};
    moot_hash a = {{0}};
    int n = 0;
    do {
        a = chaired_by(0, n++, MOOT_HASH_CANDIDATES);
    } while (placement_chair(&a, &all, &among) != 1 || chair_among(&a, 13) != 0);
    pass(50 * MS);
    for (uint32_t rank = 1; rank <= 2; rank++) {
        const struct core_register reg = {.candidates = &among};
        assert_int_equal(spawn_with(rank, 1, a, reg), MOOT_OK);
    }
    const struct core_register taker = {.inputs = &a, .input_count = 1};
    assert_int_equal(spawn_with(1, 2, chaired_by(3, 0, 0), taker), MOOT_OK);
    pass(20 * MS);
    kill_rank(1);
    pass(60 * MS);
    assert_int_equal(bench.members[2].low, 13);
    begin_wait(2, a);
    pass(20 * MS);
    assert_int_equal(bench.ended[2][1], 1);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

/* 0 and 5 may run it, and 5 is yet to join.  0 starts it and dies; 3, which accepted
 * that, keeps it then, and tells 4, but not 2.  3 and 4 die. */
static void a_keeper_may_have_died_with_what_it_kept(void **state)
{
    (void)state;
    bench.joinable = true;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    const struct rankset among = {.low = 33};
    moot_hash a = {{0}};
    int n = 0;
    do {
        a = chaired_by(3, n++, MOOT_HASH_ONCE | MOOT_HASH_CANDIDATES);
    } while (voters_of(&a, 0, 31) != 13 || chair_among(&a, 30) != 3 ||
             voters_of(&a, 3, 30) != 28);
    bench.hold_runs = true;
    pass(50 * MS);
    bench.holds[0][2] = true;
    assert_int_equal(spawn_for(0, 1, a, &among), MOOT_OK);
    pass(5 * MS);
    assert_int_equal(bench.runs[1], 1);
    kill_rank(0);
    step_until_view(2, 2);
    step_until_reported(2, 3);
    bench.holds[3][2] = true;
    pass(2 * MS);
    assert_int_equal(bench.members[1].low, 30);
    assert_int_equal(bench.core[1]->membership.settled_peers.low, 30);
    bench.crashed[3] = bench.crashed[4] = true; /* which is seen by their silence */
    pass(400 * MS);
    assert_int_equal(bench.members[1].low, 6);
    join(5, 5, 5);
    pass(400 * MS);
    assert_int_equal(bench.members[5].low, 38);
    assert_int_equal(spawn_for(5, 1, a, &among), MOOT_OK);
    begin_wait(5, a);
    pass(60 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[5][1], MOOT_ERR_MAYBE_RAN);
    bench_close();
    bench.joinable = false;
}

/* 0, its chair, has told its heirs what it accepted, and waits for one of them; then it
 * gives it to 4, with the voice of 1, which is ready.  2 is not asked in time.  Both
 * leave, and nobody has heard from them that they accepted it. */
static moot_hash accepted_by_those_who_leave(void)
{
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(0, 0, MOOT_HASH_ONCE), b = chaired_by(0, 0, 0);
    for (int n = 1; voters_among(&a, 31) != 7; n++) {
        a = chaired_by(0, n, MOOT_HASH_ONCE);
    }
    for (int n = 1; chair_among(&b, 28) != 3; n++) {
        b = chaired_by(0, n, 0);
    }
    spawn(0, 2, b);
    pass(50 * MS);
    bench.hold_runs = true;
    bench.holds[0][2] = bench.holds[3][0] = true;
    leave(1);
    pass(MS / 4);
    leave(0);
    spawn(4, 1, a);
    pass(MS / 4); /* before anybody proposes a view */
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ran_on[1], 4);
    let_go(3, 0);
    return a;
}

static void end_as_one_that_may_have_run(moot_hash a)
{
    kill_rank(4);
    pass(60 * MS);
    assert_int_equal(bench.members[3].low, 12);
    for (uint32_t rank = 2; rank < 4; rank++) {
        spawn(rank, 1, a);
        begin_wait(rank, a);
    }
    pass(60 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[2][1], MOOT_ERR_MAYBE_RAN);
    assert_int_equal(bench.ended[3][1], MOOT_ERR_MAYBE_RAN);
    bench_close();
}

/* Its owner dies before it has told the next view of it, and they count as lost with
 * it; or later, and the voters of that view know. */
static void what_leavers_accepted_last_may_have_run(void **state)
{
    (void)state;
    moot_hash a = accepted_by_those_who_leave();
    bench.holds[4][2] = bench.holds[4][3] = true;
    step_until_view(3, 2);
    assert_int_equal(bench.members[3].low, 28);
    assert_int_equal(sum_sent(MESSAGE_HANDOVER), 0);
    end_as_one_that_may_have_run(a);
    a = accepted_by_those_who_leave();
    pass(60 * MS);
    assert_int_equal(bench.members[2].low, 28);
    end_as_one_that_may_have_run(a);
}

/* What 0 accepted as the heir of a voter, before that voted anew, comes when its chair,
 * the same in all views, has begun to ask voters. */
static void and_nothing_of_one_that_is_being_voted_on(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(1, 0, MOOT_HASH_ONCE);
    pass(50 * MS);
    spawn(0, 1, a);
    pass(5 * MS);
    kill_rank(2);
    step_until_view(1, 2);
    bench.holds[0][1] = true;
    begin_wait(1, a);
    assert_int_equal(sum_sent(MESSAGE_ACCEPT), 1);
    struct message_entry entry = {
        .hash = a, .what = REPORT_ACCEPTED, .owner = 2, .epoch = 1};
    struct message report = {.type = MESSAGE_REPORT};
    core_view(bench.core[0], &report.epoch, &report.view_id);
    report.u.report = (struct message_report){.count = 1, .entry = &entry};
    struct core_event event = {.type = CORE_EV_RECV};
    event.u.recv.uid = bench.uids[0];
    event.u.recv.message = &report;
    assert_int_equal(step(1, &event), MOOT_OK);
    let_go(0, 1);
    pass(60 * MS);
    assert_int_equal(sum_sent(MESSAGE_ACCEPT), 1);
    assert_int_equal(bench.ended[1][0], 1);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_first_met_between_two_views_may_have_run),
        cmocka_unit_test(what_may_be_run_again_is),
        cmocka_unit_test(a_newcomer_is_told_who_is_lost),
        cmocka_unit_test(who_does_not_know_all_losses_says_so),
        cmocka_unit_test(a_newcomer_reminds_who_missed_its_view),
        cmocka_unit_test(nor_is_what_has_ended_new_to_it),
        cmocka_unit_test(who_has_no_quorum_says_nothing_of_it),
        cmocka_unit_test(an_old_acceptance_says_nothing_of_a_key_that_stayed),
        cmocka_unit_test(nor_of_one_whose_chair_leaves_then),
        cmocka_unit_test(what_an_heir_was_told_stands),
        cmocka_unit_test(who_has_refused_is_not_chosen),
        cmocka_unit_test(but_an_heir_may_have_died),
        cmocka_unit_test(a_chair_is_told_that_it_is_the_chair),
        cmocka_unit_test(who_is_told_the_candidates_refers_its_askers),
        cmocka_unit_test(what_a_finder_has_all_are_told),
        cmocka_unit_test(a_keeper_may_have_died_with_what_it_kept),
        cmocka_unit_test(what_leavers_accepted_last_may_have_run),
        cmocka_unit_test(and_nothing_of_one_that_is_being_voted_on),
    };
    return cmocka_run_group_tests_name("silence", tests, NULL, NULL);
}
