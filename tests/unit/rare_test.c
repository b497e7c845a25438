/* rare_test.c - stories that seeds hardly ever draw: deaths, views, leaving.
 *
 * Each is the shortest in which one line of the core decides; with a fault in that line
 * it fails (tests/faults/faults.txt).
 */
#include "tests/unit/rare_bench.h"

#include "consensus/state/state.h"

/* --- Deaths ------------------------------------------------------------------------
 */

/* The rank starts the task with its own voice alone, and dies. */
static void of_one_voter_the_death_hides_a_start(void **state)
{
    (void)state;
    bench.voters = 1;
    for (uint32_t chair = 0; chair < 3; chair++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        uint32_t other = (chair + 1) % 3;
        moot_hash a = chaired_by(chair, 0, MOOT_HASH_ONCE);
        bench.hold_runs = true;
        pass(50 * MS);
        spawn(chair, A, a);
        assert_int_equal(bench.runs[A], 1);
        kill_rank(chair);
        pass(60 * MS);
        spawn(other, A, a);
        begin_wait(other, a);
        pass(60 * MS);
        assert_int_equal(bench.runs[A], 1);
        assert_int_equal(bench.ended[other][A], MOOT_ERR_MAYBE_RAN);
        bench_close();
    }
    bench.voters = 0;
}

static void learn_crash(uint32_t rank, uint32_t dead, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_CRASH, .hash = hash};
    event.u.crash.rank = dead;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

/* Whether one has run says the recovery of a view, and no count of deaths. */
static void deaths_alone_end_no_once_task(void **state)
{
    (void)state;
    for (int once = 0; once <= 1; once++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        moot_hash a =
            chaired_by(0, 0, once ? MOOT_HASH_ONCE | MOOT_HASH_IDEMPOTENT : 0);
        pass(50 * MS);
        learn_crash(0, 1, a);
        learn_crash(0, 2, a);
        spawn(0, A, a);
        begin_wait(0, a);
        pass(5 * MS);
        assert_int_equal(bench.runs[A], once);
        assert_int_equal(bench.ended[0][A], once ? 1 : MOOT_ERR_CRASHED);
        bench_close();
    }
}

/* 2 is not heard for longer than a lease, and hears the others all the time: what it
 * has granted says nothing of how they have voted. */
static void a_death_certifies_by_what_the_dead_has_granted(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    bench.holds[2][0] = bench.holds[2][1] = true;
    pass(45 * MS);
    assert_int_equal(bench.epoch[0], 0);
    struct core_event event = {.type = CORE_EV_DEAD};
    event.u.dead.rank = 0;
    assert_int_equal(step(2, &event), MOOT_ERR_STATE);
    let_go(2, 0);
    let_go(2, 1);
    pass(20 * MS);
    assert_int_equal(step(2, &event), MOOT_OK);
    bench_close();
}

/* 0 starts it with 2's voice, which dies, and asks 1 and 3 in the next view.  What it
 * says does not arrive there: it must not tell 4 that it has settled, when nobody but
 * itself has accepted the task again. */
static void the_voices_of_one_view_do_not_count_in_the_next(void **state)
{
    (void)state;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = {{0}};
    for (int n = 0; voters_among(&a, 31) != 7 || voters_among(&a, 27) != 11; n++) {
        a = chaired_by(0, n, MOOT_HASH_ONCE);
    }
    bench.hold_runs = true;
    pass(50 * MS);
    bench.holds[0][1] = true;
    spawn(0, A, a);
    pass(2 * MS);
    assert_int_equal(bench.runs[A], 1);
    const uint64_t accepts = sum_sent(MESSAGE_ACCEPT);
    bench.crashed[2] = true;
    certify_at(0, 2);
    step_until_view(1, 2); /* by others, which 0 has told */
    let_go(0, 1);
    step_until_said(MESSAGE_ACCEPT, accepts + 2);
    bench.holds[0][1] = bench.holds[0][3] = true;
    pass(8 * MS);
    assert_int_equal(bench.epoch[4], 2);
    bench.crashed[0] = true;
    certify_at(4, 0);
    pass(60 * MS);
    assert_int_equal(bench.members[1].low, 26);
    spawn(1, A, a);
    begin_wait(1, a);
    pass(60 * MS);
    assert_int_equal(bench.runs[A], 1);
    assert_int_equal(bench.ended[1][A], MOOT_ERR_MAYBE_RAN);
    bench_close();
}

/* 1 has accepted 3, which has not heard of it when the chair and the other voter die:
 * it reports nothing, so it has not started. */
static void an_acceptance_counts_for_the_view_that_it_is_of(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = {{0}};
    for (int n = 0; voters_among(&a, 15) != 7; n++) {
        a = chaired_by(0, n, MOOT_HASH_ONCE);
    }
    pass(50 * MS);
    close_rank(0);
    close_rank(1);
    bench.holds[1][0] = bench.holds[2][0] = true;
    spawn(3, A, a);
    begin_wait(3, a);
    pass(5 * MS);
    assert_int_equal(sum_sent(MESSAGE_ACK), 2);
    kill_rank(0);
    kill_rank(2);
    pass(100 * MS);
    assert_int_equal(bench.ended[3][A], 1);
    assert_int_equal(bench.runs[A], 1);
    bench_close();
}

/* --- Views -------------------------------------------------------------------------
 */

static void a_view_counts_from_members_alone(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    kill_rank(3);
    pass(60 * MS);
    bench.deaf[2] = true;
    pass(300 * MS);
    assert_int_equal(bench.epoch[0], 3);
    const uint64_t before = refused(0);
    const struct rankset members = {.low = 4};
    const struct rankset all = {.low = 7};
    const struct message_past past = {.epoch = 2, .members = &all};
    struct message message = {.type = MESSAGE_VIEW};
    message.u.view = (struct message_view){
        .epoch = 4, .members = &members, .history = 1, .past = &past};
    bench.deaf[2] = false;
    inject(2, 0, message, 3);
    assert_int_equal(refused(0), before + 1);
    assert_false(bench.fenced[0]);
    bench_close();
}

/* 1 does not hear it, and knows of no death. */
static void who_proposes_in_vain_proposes_again(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    pass(5 * MS);
    bench.crashed[2] = bench.deaf[1] = true;
    certify_at(0, 2);
    step_until_said(MESSAGE_PREPARE, 1);
    deliver_all();
    bench.deaf[1] = false;
    pass(50 * MS);
    assert_int_equal(bench.epoch[0], 2);
    assert_int_equal(bench.epoch[1], 2);
    bench_close();
}

/* 1 says the first part of its report, and then its program for long nothing. */
static void a_part_of_a_report_is_not_all_of_it(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    kill_rank(2);
    step_until_view(1, 2);
    bench.holds[1][0] = true;
    pass(2 * MS);
    const struct message_entry entry = {.hash = chaired_by(2, 0, 0),
                                        .what = REPORT_SEEN};
    for (int last = 0; last <= 1; last++) {
        struct message report = {.type = MESSAGE_REPORT};
        report.u.report =
            (struct message_report){.last = last != 0, .count = 1, .entry = &entry};
        inject(1, 0, report, 2);
        assert_int_equal(core_stats(bench.core[0])->sent[MESSAGE_SETTLED], last);
    }
    bench_close();
}

/* Eight ranks, six on one host: three are the committee. */
static void a_committee_has_one_of_each_host(void **state)
{
    (void)state;
    const uint64_t uids[] = {1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007};
    const uint32_t hosts[] = {0, 0, 0, 0, 0, 0, 1, 2};
    const struct core_options options = {.size = 8,
                                         .uids = uids,
                                         .hosts = hosts,
                                         .epoch = 1,
                                         .voters = 3,
                                         .direct_max = 1,
                                         .vote_timeout_ns = CORE_NEVER,
                                         .entry_bytes = sizeof(struct bench_entry)};
    struct core *core = core_new(&options);
    assert_non_null(core);
    assert_int_equal(core->membership.committee_count, 3);
    assert_true(rankset_has(&core->membership.committee, 6));
    assert_true(rankset_has(&core->membership.committee, 7));
    core_free(core);
}

/* The highest ballot of those that are on their way. */
static uint64_t highest_ballot(void)
{
    uint64_t ballot = 0;
    for (size_t i = 0; i < bench.held_count; i++) {
        const struct message *message = bench.held[i]->message;
        if (message->type == MESSAGE_PREPARE && message->u.paxos.ballot > ballot) {
            ballot = message->u.paxos.ballot;
        }
    }
    return ballot;
}

static void answer_ballot(uint32_t from, enum message_type type, uint64_t ballot)
{
    struct message answer = {.type = type};
    answer.u.paxos.ballot = ballot;
    inject(from, 1, answer, 1);
}

/* 2 has promised 1's first ballot, which 0 rejects, and then perhaps another's. */
static void a_promise_counts_for_its_own_ballot_alone(void **state)
{
    (void)state;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 5; rank++) {
        bench.holds[1][rank] = true;
    }
    const uint64_t *sent = core_stats(bench.core[1])->sent;
    certify_at(1, 4);
    pass(5 * MS);
    const uint64_t first = highest_ballot();
    answer_ballot(2, MESSAGE_PROMISE, first);
    answer_ballot(0, MESSAGE_REJECT, 5 * first);
    pass(6 * MS);
    const uint64_t second = highest_ballot();
    assert_true(second > first);
    answer_ballot(3, MESSAGE_PROMISE, second);
    assert_int_equal(sent[MESSAGE_PROPOSE], 0);
    answer_ballot(2, MESSAGE_PROMISE, second);
    assert_int_equal(sent[MESSAGE_PROPOSE], 3);
    bench_close();
}

static uint64_t view_id_with(uint64_t last_uid)
{
    const uint64_t uids[] = {1000, 1001, last_uid};
    const struct core_options options = {.size = 3,
                                         .uids = uids,
                                         .epoch = 1,
                                         .voters = 3,
                                         .vote_timeout_ns = CORE_NEVER,
                                         .entry_bytes = sizeof(struct bench_entry)};
    struct core *core = core_new(&options);
    assert_non_null(core);
    uint64_t epoch, id;
    core_view(core, &epoch, &id);
    core_free(core);
    return id;
}

/* Two who were let in on two sides of a cut may have one rank. */
static void a_views_name_says_who_its_members_are(void **state)
{
    (void)state;
    assert_true(view_id_with(1002) == view_id_with(1002));
    assert_true(view_id_with(1002) != view_id_with(1003));
}

/* Rank 1, which alone may run it, has said that it does not hold it, and holds it back
 * until the finder says what comes of that; which dies. */
static void a_dead_finder_holds_nothing_back(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    const struct rankset among = {.low = 2};
    const struct core_register reg = {.candidates = &among};
    moot_hash ghost = chaired_by(2, 0, MOOT_HASH_CANDIDATES);
    pass(50 * MS);
    enter(0, GHOST, ghost);
    begin_wait(0, ghost);
    set_lane(1, CORE_LANE_BLOCKED);
    set_lane(2, CORE_LANE_BLOCKED);
    step_until_said(MESSAGE_VERDICT, 2);
    bench.holds[1][2] = true;
    deliver_all();
    set_lane(1, CORE_LANE_RUNNING);
    kill_rank(2);
    pass(60 * MS);
    assert_int_equal(bench.epoch[1], 2);
    assert_int_equal(spawn_with(1, GHOST, ghost, reg), MOOT_OK);
    pass(60 * MS);
    assert_int_equal(bench.runs[GHOST], 1);
    assert_int_equal(bench.ended[0][GHOST], 1);
    bench_close();
}

/* 1 and 2 may run it, and have said that they do not hold it.  Then 2 spawns it, of
 * which the finder hears too late: 1, its chair, gives it to nobody meanwhile. */
static void what_is_held_back_is_not_given_away(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    const struct rankset among = {.low = 6}, all = {.low = 15};
    const struct core_register reg = {.candidates = &among, .flags = CORE_TASK_HINT};
    moot_hash ghost = {{0}};
    for (int n = 0; n == 0 || placement_chair(&ghost, &all, &among) != 1; n++) {
        ghost = chaired_by(3, n, MOOT_HASH_CANDIDATES);
    }
    pass(50 * MS);
    enter(0, GHOST, ghost);
    begin_wait(0, ghost);
    for (uint32_t rank = 1; rank < 4; rank++) {
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    step_until_said(MESSAGE_VERDICT, 3);
    bench.holds[0][3] = true;
    deliver_all();
    bench.holds[2][3] = true;
    set_lane(2, CORE_LANE_RUNNING);
    assert_int_equal(spawn_with(2, GHOST, ghost, reg), MOOT_OK);
    begin_wait(2, ghost);
    pass(10 * MS);
    assert_int_equal(bench.runs[GHOST], 0);
    let_go(0, 3);
    let_go(2, 3);
    pass(20 * MS);
    assert_int_equal(bench.ended[0][GHOST], MOOT_ERR_NOT_HELD);
    assert_int_equal(bench.ended[2][GHOST], MOOT_ERR_NOT_HELD);
    assert_int_equal(bench.runs[GHOST], 0);
    bench_close();
}

/* The finder asks 2, which holds it, later than 1, its chair, which holds it back and
 * has heard from 2 meanwhile.  Then it is void.  A lane of 0 runs, so nothing is quiet.
 */
static void what_is_void_is_held_back_no_more(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    const struct rankset among = {.low = 6}, all = {.low = 15};
    const struct core_register reg = {.candidates = &among, .flags = CORE_TASK_HINT};
    moot_hash ghost = {{0}};
    for (int n = 0; n == 0 || placement_chair(&ghost, &all, &among) != 1; n++) {
        ghost = chaired_by(3, n, MOOT_HASH_CANDIDATES);
    }
    pass(50 * MS);
    enter(0, GHOST, ghost);
    begin_wait(0, ghost);
    for (uint32_t rank = 1; rank < 4; rank++) {
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    step_until_said(MESSAGE_VERDICT, 3);
    set_second_lane(0, CORE_LANE_RUNNING);
    bench.holds[3][2] = bench.holds[2][3] = true;
    deliver_all();
    set_lane(2, CORE_LANE_RUNNING);
    assert_int_equal(spawn_with(2, GHOST, ghost, reg), MOOT_OK);
    begin_wait(2, ghost);
    pass(5 * MS);
    assert_int_equal(bench.runs[GHOST], 0);
    let_go(3, 2);
    let_go(2, 3);
    pass(20 * MS);
    assert_int_equal(bench.runs[GHOST], 1);
    assert_int_equal(bench.ended[0][GHOST], 1);
    bench_close();
}

static moot_hash in_scope(const moot_hash *scope, uint32_t chair)
{
    const struct rankset members = {.low = (UINT64_C(1) << bench.size) - 1};
    for (uint64_t i = 0;; i++) {
        moot_hash hash = identity_hash(&(struct identity){
            .kernel_name = "k", .args = &i, .args_size = sizeof(i), .scope = *scope});
        if (placement_chair(&hash, &members, NULL) == chair) {
            return hash;
        }
    }
}

/* A motion of 2's crosses the view, and is dropped; a result of 1's does, and counts.
 */
static void what_crossed_a_view_holds_no_scope_up(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    const moot_hash top = {{0}};
    moot_hash scope = identity_scope(&top, "phase"), a = in_scope(&scope, 1);
    const struct core_register reg = {.scope = scope};
    pass(50 * MS);
    bench.holds[2][1] = true;
    assert_int_equal(spawn_with(2, A, a, reg), MOOT_OK);
    begin_wait(2, a);
    pass(10 * MS);
    end_wait(2, a);
    kill_rank(3);
    step_until_view(2, 2);
    let_go(2, 1);
    pass(20 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(spawn_with(rank, A, a, reg), MOOT_OK);
    }
    struct message result = {.type = MESSAGE_RESULT, .hash = a};
    result.u.result.data = RESULT_EAGER;
    result.u.result.owner_uid = bench.uids[1];
    inject(1, 0, result, 1);
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct core_event release = {.type = CORE_EV_SCOPE_RELEASE, .hash = scope};
        assert_int_equal(step(rank, &release), MOOT_OK);
    }
    pass(100 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_true(bench.forgotten[rank][A]);
    }
    bench_close();
}

static void need_of(uint32_t rank, moot_hash hash, enum want want)
{
    struct core_event event = {.type = CORE_EV_NEED, .hash = hash};
    event.u.need.want = want;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

/* b takes a, of the scope, and 1 has run both.  0 knows that b has ended and has no
 * bytes of it: should 1 die, b is made again, of a. */
static void a_scope_stays_while_its_takers_bytes_may_be_lost(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    const moot_hash top = {{0}};
    moot_hash scope = identity_scope(&top, "phase"), a = in_scope(&scope, 1),
              b = chaired_by(1, 0, 0);
    const struct core_register in = {.scope = scope},
                               takes = {.inputs = &a, .input_count = 1};
    bench.result_bytes = 1 << 20; /* which nobody is pushed unasked */
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct core_event release = {.type = CORE_EV_SCOPE_RELEASE, .hash = scope};
        assert_int_equal(spawn_with(rank, A, a, in), MOOT_OK);
        assert_int_equal(spawn_with(rank, B, b, takes), MOOT_OK);
        need_of(rank, b, rank == 0 ? WANT_DONE : WANT_DATA);
        set_lane(rank, CORE_LANE_BLOCKED);
        assert_int_equal(step(rank, &release), MOOT_OK);
    }
    pass(100 * MS);
    assert_int_equal(bench.ended[0][B], 1);
    assert_false(bench.forgotten[0][A]);
    need_of(0, b, WANT_DATA);
    pass(100 * MS);
    assert_true(bench.forgotten[0][A] && bench.forgotten[1][A]);
    bench_close();
}

/* --- Leaving -----------------------------------------------------------------------
 */

/* a was yielded to 1, which has not started it and is kept by another kernel.  4 waits
 * for a and does not hold it. */
static void who_asked_for_what_is_returned_is_answered(void **state)
{
    (void)state;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash b = chaired_by(3, 0, 0), a = chaired_by(0, 0, 0),
              long_run = chaired_by(1, 0, 0);
    const struct core_register reg = {.inputs = &b, .input_count = 1};
    bench.hold_runs = true;
    pass(50 * MS);
    close_rank(0);
    spawn(3, B, b);
    for (uint32_t rank = 1; rank < 3; rank++) {
        spawn(rank, B, b);
        assert_int_equal(spawn_with(rank, A, a, reg), MOOT_OK);
        begin_wait(rank, a);
        pass(20 * MS);
    }
    enter(4, A, a);
    begin_wait(4, a);
    spawn(1, LONG, long_run);
    pass(20 * MS);
    end_wait(1, a);
    leave(1);
    pass(20 * MS);
    assert_int_equal(core_stats(bench.core[1])->returned, 1);
    finish_run(3, b);
    pass(20 * MS);
    assert_int_equal(bench.ran_on[A], 2);
    finish_run(2, a);
    pass(20 * MS);
    assert_int_equal(bench.ended[4][A], 1);
    assert_false(bench.left[1]);
    bench_close();
}

/* 1 chairs a, for which 0 waits, and has given it to 2, which lacks b and returns it
 * when 1 is ready to go. */
static void what_comes_back_to_who_is_ready_stays_given(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash b = chaired_by(0, 0, 0), a = chaired_by(1, 0, 0);
    const struct core_register reg = {.inputs = &b, .input_count = 1},
                               hint = {.inputs = &b,
                                       .input_count = 1,
                                       .flags = CORE_TASK_HINT};
    pass(50 * MS);
    bench.holds[0][2] = true;
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(rank, B, b);
    }
    assert_int_equal(spawn_with(2, A, a, hint), MOOT_OK);
    begin_wait(2, a);
    begin_wait(1, b);
    enter(0, A, a);
    begin_wait(0, a);
    pass(5 * MS);
    assert_int_equal(bench.ended[1][B], 1);
    end_wait(1, b);
    assert_int_equal(spawn_with(1, A, a, reg), MOOT_OK);
    bench.holds[1][0] = bench.holds[1][2] = true;
    leave(1);
    pass(5 * MS);
    end_wait(2, a);
    leave(2);
    pass(5 * MS);
    assert_int_equal(bench.runs[A], 0);
    let_go(1, 2);
    let_go(1, 0);
    let_go(0, 2);
    pass(5 * MS);
    assert_int_equal(bench.runs[A], 1);
    assert_int_equal(bench.ran_on[A], 2);
    bench_close();
}

/* 1 alone holds a, which 0 has given to it and waits for, and lacks what a takes. */
static void the_only_holder_gets_back_what_it_returns(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash b = chaired_by(2, 0, 0), a = chaired_by(0, 0, 0);
    const struct core_register hint = {
        .inputs = &b, .input_count = 1, .flags = CORE_TASK_HINT};
    bench.hold_runs = true;
    pass(50 * MS);
    spawn(2, B, b);
    spawn(1, B, b);
    assert_int_equal(spawn_with(1, A, a, hint), MOOT_OK);
    enter(0, A, a);
    begin_wait(0, a);
    pass(5 * MS);
    leave(1);
    pass(5 * MS);
    assert_int_equal(core_stats(bench.core[1])->returned, 1);
    finish_run(2, b);
    pass(5 * MS);
    assert_int_equal(bench.ran_on[A], 1);
    finish_run(1, a);
    pass(5 * MS);
    assert_int_equal(bench.ended[0][A], 1);
    bench_close();
}

/* 2 has made a, and leaves when its kernel ends; 1, which leaves before it, has a copy,
 * which 0 has not taken yet. */
static void what_is_handed_over_is_not_let_go(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(2, 0, 0), long_run = chaired_by(2, 1, 0);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(rank, A, a);
    }
    begin_wait(1, a);
    pass(5 * MS);
    end_wait(1, a);
    bench.hold_runs = true;
    spawn(2, LONG, long_run);
    leave(2);
    pass(5 * MS);
    bench.holds[0][1] = true;
    leave(1);
    pass(5 * MS);
    assert_int_equal(core_stats(bench.core[1])->handed_over, 1);
    assert_false(core_release(bench.core[1], &a, NULL, 0));
    bench_close();
}

static void who_leaves_takes_no_spec(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    const struct message_spec spec = {.kernel_name = "kernel"};
    struct message motion = {.type = MESSAGE_MOTION, .hash = chaired_by(0, 0, 0)};
    moot_hash long_run = chaired_by(0, 1, 0);
    motion.u.motion.spec = &spec;
    bench.hold_runs = true;
    pass(50 * MS);
    spawn(0, LONG, long_run);
    core_view(bench.core[0], &motion.epoch, &motion.view_id);
    assert_true(core_would_adopt(bench.core[0], 1, bench.uids[1], &motion));
    leave(0);
    assert_false(core_would_adopt(bench.core[0], 1, bench.uids[1], &motion));
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_one_voter_the_death_hides_a_start),
        cmocka_unit_test(deaths_alone_end_no_once_task),
        cmocka_unit_test(a_death_certifies_by_what_the_dead_has_granted),
        cmocka_unit_test(the_voices_of_one_view_do_not_count_in_the_next),
        cmocka_unit_test(an_acceptance_counts_for_the_view_that_it_is_of),
        cmocka_unit_test(a_view_counts_from_members_alone),
        cmocka_unit_test(a_part_of_a_report_is_not_all_of_it),
        cmocka_unit_test(a_committee_has_one_of_each_host),
        cmocka_unit_test(a_promise_counts_for_its_own_ballot_alone),
        cmocka_unit_test(who_proposes_in_vain_proposes_again),
        cmocka_unit_test(a_views_name_says_who_its_members_are),
        cmocka_unit_test(a_dead_finder_holds_nothing_back),
        cmocka_unit_test(what_is_held_back_is_not_given_away),
        cmocka_unit_test(what_is_void_is_held_back_no_more),
        cmocka_unit_test(what_crossed_a_view_holds_no_scope_up),
        cmocka_unit_test(a_scope_stays_while_its_takers_bytes_may_be_lost),
        cmocka_unit_test(who_asked_for_what_is_returned_is_answered),
        cmocka_unit_test(what_comes_back_to_who_is_ready_stays_given),
        cmocka_unit_test(the_only_holder_gets_back_what_it_returns),
        cmocka_unit_test(what_is_handed_over_is_not_let_go),
        cmocka_unit_test(who_leaves_takes_no_spec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
