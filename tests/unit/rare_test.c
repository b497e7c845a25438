/* rare_test.c - stories that seeds hardly ever draw, on the bench.
 *
 * Each is the shortest in which one line of the core decides; with a fault in that line
 * it fails (tests/faults/faults.txt).
 */
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

enum { A = 1, B, LONG, GHOST };

static void leave(uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_LEAVE};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void decline(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_DECLINE, .hash = hash};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void finish_run(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_DONE, .hash = hash};
    event.u.done.size = 8;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void kill_rank(uint32_t dead)
{
    bench.crashed[dead] = true;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            certify_at(rank, dead);
        }
    }
}

static uint64_t voters_among(const moot_hash *hash, uint64_t members)
{
    static const uint32_t hosts[RANKS_MAX] = {0};
    const struct rankset set = {.low = members};
    uint32_t list[8];
    uint64_t voters = 0;
    uint32_t count =
        placement_voters(hash, placement_chair(hash, &set, NULL), &set, hosts, 3, list);
    for (uint32_t i = 0; i < count; i++) {
        voters |= UINT64_C(1) << list[i];
    }
    return voters;
}

static void set_second_lane(uint32_t rank, enum core_lane_state state)
{
    struct core_event event = {.type = CORE_EV_LANE};
    event.u.lane.lane = 1;
    event.u.lane.state = state;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

/* Message by message. */
static void step_until_said(enum message_type type, uint64_t count)
{
    while (sum_sent(type) < count) {
        if (bench.head < bench.tail) {
            deliver_one();
            continue;
        }
        bench.now += MS / 4;
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            struct core_event tick = {.type = CORE_EV_TICK};
            assert_int_equal(step(rank, &tick), MOOT_OK);
        }
    }
}

static void step_until_view(uint32_t rank, uint64_t epoch)
{
    for (int i = 0; i < 10000 && bench.epoch[rank] < epoch; i++) {
        if (bench.head < bench.tail) {
            deliver_one();
            continue;
        }
        bench.now += MS / 4;
        for (uint32_t each = 0; each < bench.size; each++) {
            struct core_event tick = {.type = CORE_EV_TICK};
            if (deadline_of(each) <= bench.now) {
                assert_int_equal(step(each, &tick), MOOT_OK);
            }
        }
    }
    assert_int_equal(bench.epoch[rank], epoch);
}

static uint64_t refused(uint32_t rank) { return core_stats(bench.core[rank])->refused; }

/* Arrives as if the one had sent it to the other in its view. */
static void inject(uint32_t from, uint32_t to, struct message message, uint64_t epoch)
{
    uint64_t present;
    core_view(bench.core[from], &present, &message.view_id);
    message.epoch = epoch;
    struct core_event event = {.type = CORE_EV_RECV, .hash = message.hash};
    event.u.recv.from = from;
    event.u.recv.uid = bench.uids[from];
    event.u.recv.message = &message;
    assert_int_equal(step(to, &event), MOOT_OK);
    deliver_all();
}

/* --- Deaths ------------------------------------------------------------------------
 */

/* It starts the task with its own voice alone, and dies. */
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
static void who_is_ready_claims_nothing(void **state)
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

/* --- Holders -----------------------------------------------------------------------
 */

/* A lane of rank 0 runs, so nobody polls. */
static void who_closes_says_that_it_holds_nothing(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash ghost = chaired_by(1, 0, 0);
    set_second_lane(0, CORE_LANE_RUNNING);
    decline(0, ghost);
    decline(1, ghost);
    enter(0, GHOST, ghost);
    begin_wait(0, ghost);
    pass(5 * MS);
    assert_int_equal(bench.ended[0][GHOST], 0);
    close_rank(2);
    pass(5 * MS);
    assert_int_equal(bench.ended[0][GHOST], MOOT_ERR_NOT_HELD);
    assert_int_equal(sum_sent(MESSAGE_POLL), 0);
    bench_close();
}

/* A lane of its own runs, so that it is not blocked. */
static void a_chair_that_declines_yields_at_once(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0);
    spawn(1, A, a);
    begin_wait(1, a);
    pass(5 * MS);
    assert_int_equal(bench.runs[A], 0);
    decline(0, a);
    pass(MS);
    assert_int_equal(bench.ended[1][A], 1);
    bench_close();
}

/* Of two in a wait that one of them ends. */
static void of_what_two_waits_need_one_fails_first(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        bench_open(2, CORE_REPAIR);
        moot_hash one = chaired_by(0, n, 0), other = chaired_by(1, n, 0);
        const int waits[] = {A, B};
        for (int i = 0; i < 2; i++) {
            struct core_event event = {.type = CORE_EV_NEED,
                                       .hash = i == 0 ? one : other};
            event.u.need.want = WANT_DATA;
            enter(0, waits[i], event.hash);
            assert_int_equal(step(0, &event), MOOT_OK);
        }
        set_lane(0, CORE_LANE_BLOCKED);
        set_lane(1, CORE_LANE_BLOCKED);
        while (bench.ended[0][A] == 0 && bench.ended[0][B] == 0) {
            settle_until(bench.now + MS / 50);
        }
        assert_true(bench.ended[0][A] == 0 || bench.ended[0][B] == 0);
        bench_close();
    }
}

static void check_that_two_is_no_holder(void)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        for (int n = 0; n < 8 && rank != 2 && !bench.crashed[rank]; n++) {
            struct core_task_view view;
            moot_hash hash = chaired_by((uint32_t)n % 6, n, 0);
            assert_true(core_task_look(bench.core[rank], &hash, &view));
            assert_false(rankset_has(&view.holders, 2));
            assert_true(rankset_count(&view.holders) > 2);
            core_task_view_release(&view);
        }
    }
}

/* All but 2 spawn them.  Each speaks for those before it as far as these are alike, in
 * this view and in the next, in which others stand there. */
static void among_many_nobody_speaks_for_who_differs(void **state)
{
    (void)state;
    bench.direct_max = 1;
    bench_open_with(6, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 6; rank++) {
        for (int n = 0; n < 8 && rank != 2; n++) {
            spawn(rank, A + n, chaired_by((uint32_t)n % 6, n, 0));
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(100 * MS);
    check_that_two_is_no_holder();
    kill_rank(4);
    pass(200 * MS);
    assert_int_equal(bench.members[0].low, 47);
    check_that_two_is_no_holder();
    bench_close();
    bench.direct_max = 0;
}

/* 0 is blocked behind two tasks.  1 needs a, which 0 chairs, by its own position, the
 * sixth; then 2 waits for what takes a, by its first.  A lane of 2 runs, so nothing is
 * quiet. */
static void a_need_that_falls_is_said_again(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 0, 0),
              ghost = chaired_by(0, 1, 0);
    const struct core_register reg = {.inputs = &a, .input_count = 1};
    set_second_lane(2, CORE_LANE_RUNNING);
    for (int n = 0; n < 5; n++) {
        spawn(n < 2 ? 0 : 1, LONG, chaired_by(n < 2 ? 0 : 1, 10 + n, 0));
        spawn(1, LONG, chaired_by(1, 20 + n, 0));
    }
    enter(0, GHOST, ghost);
    begin_wait(0, ghost);
    spawn(1, A, a);
    assert_int_equal(spawn_with(1, B, b, reg), MOOT_OK);
    begin_wait(1, b);
    pass(20 * MS);
    assert_int_equal(bench.runs[A], 0);
    enter(2, A, a);
    assert_int_equal(spawn_with(2, B, b, reg), MOOT_OK);
    begin_wait(2, b);
    pass(200 * MS);
    assert_int_equal(bench.runs[A], 1);
    assert_int_equal(bench.ended[2][B], 1);
    bench_close();
}

/* 0 is blocked behind two tasks, and chairs both.  2 waits for b, its first, which 0
 * gives to 1: so a is needed by that position, and not by where 1 has it. */
static void an_owner_hears_how_far_along_the_askers_are(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(0, 1, 0),
              ghost = chaired_by(0, 2, 0);
    const struct core_register reg = {.inputs = &a, .input_count = 1},
                               hint = {.inputs = &a,
                                       .input_count = 1,
                                       .flags = CORE_TASK_HINT};
    set_second_lane(2, CORE_LANE_RUNNING);
    for (int n = 0; n < 5; n++) {
        spawn(n < 2 ? 0 : 1, LONG, chaired_by(n < 2 ? 0 : 1, 10 + n, 0));
        spawn(1, LONG, chaired_by(1, 20 + n, 0));
    }
    enter(0, GHOST, ghost);
    begin_wait(0, ghost);
    enter(2, A, a);
    assert_int_equal(spawn_with(2, B, b, reg), MOOT_OK);
    begin_wait(2, b);
    pass(5 * MS);
    spawn(1, A, a);
    assert_int_equal(spawn_with(1, B, b, hint), MOOT_OK);
    set_lane(1, CORE_LANE_BLOCKED);
    pass(200 * MS);
    assert_int_equal(bench.ran_on[B], 1);
    assert_int_equal(bench.ended[2][B], 1);
    bench_close();
}

/* 1 runs what takes the bytes of a, and what comes after a. */
static void who_takes_the_bytes_need_not_pull_them(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 0, 0),
              after = chaired_by(1, 1, 0);
    const struct core_register takes = {.inputs = &a, .input_count = 1},
                               waits = {
                                   .inputs = &a, .input_count = 1, .after_count = 1};
    bench.hold_runs = true;
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, A, a);
        assert_int_equal(spawn_with(rank, B, b, takes), MOOT_OK);
        assert_int_equal(spawn_with(rank, LONG, after, waits), MOOT_OK);
    }
    finish_run(0, a);
    pass(5 * MS);
    assert_int_equal(bench.runs[B], 1);
    assert_int_equal(bench.runs[LONG], 1);
    assert_int_equal(sum_sent(MESSAGE_RESULT), 1);
    assert_int_equal(sum_sent(MESSAGE_PULL), 0);
    bench_close();
}

/* 0 has come less far than 1, which waits for the same, and would go on to spawn what 2
 * waits for, which has come farther than 0. */
static void the_wait_of_who_has_come_least_far_fails_first(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < 9; row++) {
        bench_open(3, CORE_REPAIR);
        moot_hash ghost = chaired_by(row % 3, 0, 0), late = chaired_by(row / 3, 1, 0);
        for (int n = 0; n < 6; n++) {
            spawn(1, LONG, chaired_by(1, 10 + n, 0));
            if (n < 3) {
                spawn(2, LONG, chaired_by(2, 10 + n, 0));
            }
        }
        for (uint32_t rank = 0; rank < 2; rank++) {
            enter(rank, GHOST, ghost);
            begin_wait(rank, ghost);
        }
        enter(2, A, late);
        begin_wait(2, late);
        while (bench.ended[0][GHOST] == 0 && bench.ended[2][A] == 0) {
            settle_until(bench.now + MS / 50);
        }
        assert_int_equal(bench.ended[0][GHOST], MOOT_ERR_NOT_HELD);
        assert_int_equal(bench.ended[2][A], 0);
        bench_close();
    }
}

/* What was set is for who sets it. */
static void a_timeout_that_is_learnt_begins_with_never(void **state)
{
    (void)state;
    const uint64_t uids[] = {1000, 1001};
    struct core_options options = {.size = 2,
                                   .uids = uids,
                                   .epoch = 1,
                                   .voters = 3,
                                   .vote_timeout_ns = MS,
                                   .entry_bytes = sizeof(struct bench_entry)};
    for (int learns = 0; learns <= 1; learns++) {
        struct core_timers timers;
        options.adapt = learns ? CORE_ADAPT_VOTE : 0;
        struct core *core = core_new(&options);
        assert_non_null(core);
        assert_true(core_timers_look(core, 1, &timers));
        assert_true(timers.vote_timeout_ns == (learns ? CORE_NEVER : (uint64_t)MS));
        core_free(core);
    }
}

static void in_strict_mode_another_order_is_a_difference(void **state)
{
    (void)state;
    bench_open(2, CORE_STRICT);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 0, 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, A, rank == 0 ? a : b);
        spawn(rank, B, rank == 0 ? b : a);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    assert_true(bench.diverged[0] && bench.diverged[1]);
    assert_int_equal(bench.differs_at[0], 1);
    bench_close();
}

/* --- Refusals ----------------------------------------------------------------------
 */

static void let_go_of(uint32_t rank, moot_hash hash)
{
    core_let_go(bench.core[rank], &hash, NULL);
}

static void what_is_gone_is_refused_as_any_input(void **state)
{
    (void)state;
    bench.drops = true;
    bench_open(2, CORE_REPAIR);
    moot_hash once = chaired_by(0, 0, MOOT_HASH_ONCE), taker = chaired_by(0, 90, 0);
    const moot_hash inputs[] = {chaired_by(0, 91, 0), chaired_by(0, 92, 0), once};
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, A, once);
        let_go_of(rank, once);
        for (int n = 1; n < 40; n++) { /* so that its chunk is a whole one */
            spawn(rank, B, chaired_by(1, n, 0));
            let_go_of(rank, chaired_by(1, n, 0));
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_true(core_lost(bench.core[rank], &once));
        for (size_t count = 0; count <= 3; count++) {
            assert_int_equal(core_refusal(bench.core[rank], &taker, inputs, count),
                             count == 3 ? MOOT_ERR_RESULT_LOST : MOOT_OK);
        }
    }
    bench_close();
    bench.drops = false;
}

static void what_is_gone_stays_so_however_many_there_are(void **state)
{
    (void)state;
    enum { MANY = 300 };
    bench.drops = true;
    bench_open(1, CORE_REPAIR);
    for (int n = 0; n < MANY; n++) {
        moot_hash once = chaired_by(0, n, MOOT_HASH_ONCE);
        spawn(0, A, once);
        let_go_of(0, once);
    }
    for (int n = 1; n < 40; n++) { /* so that their chunks are whole ones */
        spawn(0, B, chaired_by(0, n, 0));
        let_go_of(0, chaired_by(0, n, 0));
    }
    set_lane(0, CORE_LANE_BLOCKED);
    settle();
    for (int n = 0; n < MANY; n++) {
        moot_hash once = chaired_by(0, n, MOOT_HASH_ONCE);
        assert_true(core_lost(bench.core[0], &once));
    }
    bench_close();
    bench.drops = false;
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
        cmocka_unit_test(a_views_name_says_who_its_members_are),
        cmocka_unit_test(a_dead_finder_holds_nothing_back),
        cmocka_unit_test(what_is_held_back_is_not_given_away),
        cmocka_unit_test(what_is_void_is_held_back_no_more),
        cmocka_unit_test(what_crossed_a_view_holds_no_scope_up),
        cmocka_unit_test(who_asked_for_what_is_returned_is_answered),
        cmocka_unit_test(who_is_ready_claims_nothing),
        cmocka_unit_test(the_only_holder_gets_back_what_it_returns),
        cmocka_unit_test(who_leaves_takes_no_spec),
        cmocka_unit_test(who_closes_says_that_it_holds_nothing),
        cmocka_unit_test(a_chair_that_declines_yields_at_once),
        cmocka_unit_test(of_what_two_waits_need_one_fails_first),
        cmocka_unit_test(among_many_nobody_speaks_for_who_differs),
        cmocka_unit_test(a_need_that_falls_is_said_again),
        cmocka_unit_test(an_owner_hears_how_far_along_the_askers_are),
        cmocka_unit_test(who_takes_the_bytes_need_not_pull_them),
        cmocka_unit_test(the_wait_of_who_has_come_least_far_fails_first),
        cmocka_unit_test(a_timeout_that_is_learnt_begins_with_never),
        cmocka_unit_test(in_strict_mode_another_order_is_a_difference),
        cmocka_unit_test(what_is_gone_is_refused_as_any_input),
        cmocka_unit_test(what_is_gone_stays_so_however_many_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
