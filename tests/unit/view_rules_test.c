/* view_rules_test.c - what each rule about views is there for, on the bench.
 *
 * Each test plays the shortest story in which a rule decides: without the rule two
 * halves go on, a task runs twice, or never.  The mutants (tests/sim/mutants.c) break
 * the rules and run these tests.
 */
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)
#define SUSPECTED_NS                                                                   \
    (300 * (uint64_t)MS) /* by then there is a view, if there can be                   \
                          */

/* Nothing passes between the two sets until they are joined. */
static void cut(uint32_t some, uint32_t others, bool apart)
{
    for (uint32_t a = 0; a < bench.size; a++) {
        for (uint32_t b = 0; b < bench.size; b++) {
            if (!(some >> a & 1) || !(others >> b & 1)) {
                continue;
            }
            if (apart) {
                bench.holds[a][b] = bench.holds[b][a] = true;
            } else {
                let_go(a, b);
                let_go(b, a);
            }
        }
    }
}

static void tick_all(void)
{
    bench.now += MS / 4;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (deadline_of(rank) <= bench.now) {
            struct core_event tick = {.type = CORE_EV_TICK};
            assert_int_equal(step(rank, &tick), MOOT_OK);
        }
    }
}

/* Time passes until the rank enters a view; what is under way then stays so. */
static void step_until_view(uint32_t rank)
{
    uint64_t before = bench.epoch[rank], until = bench.now + SUSPECTED_NS;
    while (bench.epoch[rank] == before && bench.now < until) {
        tick_all();
        while (bench.head < bench.tail && bench.epoch[rank] == before) {
            deliver_one();
        }
    }
}

static void expect_view(uint32_t rank, uint64_t epoch, uint64_t members)
{
    assert_int_equal(bench.epoch[rank], epoch);
    assert_true(bench.members[rank].low == members);
}

/* --- Quorums ---------------------------------------------------------------------- */

static void of_two_halves_the_lowest_goes_on(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    cut(3, 12, true);
    pass(SUSPECTED_NS);
    expect_view(0, 2, 3);
    expect_view(1, 2, 3);
    assert_int_equal(bench.epoch[2], 0);
    assert_int_equal(bench.epoch[3], 0);
    bench_close();
}

/* 1 is cut off from 2, 3 and 4, which remove it; only 2 learns that.  3 and 4 die, and
 * 0, which has heard nothing yet, has 1's voice and two certificates. */
static void a_majority_of_the_living_is_no_quorum(void **state)
{
    (void)state;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    cut(2, 28, true);
    pass(45 * MS);
    cut(1, 28, true);
    step_until_view(2);
    expect_view(2, 2, 29);
    for (uint32_t dead = 3; dead < 5; dead++) {
        bench.crashed[dead] = true;
        certify_at(0, dead);
    }
    pass(SUSPECTED_NS);
    assert_int_equal(bench.epoch[0], 0);
    assert_int_equal(bench.epoch[1], 0);
    bench_close();
}

/* 3 is cut off from 0 and 1, which remove it; 2 does not learn that. */
static void open_and_remove_three(void)
{
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    cut(3, 8, true);
    pass(45 * MS);
    cut(3, 4, true);
    step_until_view(0);
    step_until_view(1);
    expect_view(0, 2, 7);
    assert_int_equal(bench.epoch[2], 0);
}

/* They die; 2 has their certificates and goes on with 3. */
static void first_two_die(void)
{
    for (uint32_t dead = 0; dead < 2; dead++) {
        bench.crashed[dead] = true;
        certify_at(2, dead);
    }
    step_until_view(2);
    expect_view(2, 2, 12);
}

static void who_votes_with_certificates_hears_the_dead_no_more(void **state)
{
    (void)state;
    open_and_remove_three();
    first_two_die();
    let_go(0, 3);
    let_go(1, 3);
    deliver_all();
    expect_view(3, 2, 12);
    assert_false(bench.fenced[3]);
    bench_close();
}

/* A once task that they started in their view: its voters there were they themselves,
 * those of the view that 2 knows were 2 and 3. */
static void what_a_dead_quorum_decided_is_not_known(void **state)
{
    (void)state;
    open_and_remove_three();
    moot_hash a = {{0}};
    struct rankset all = {.low = 15}, theirs = {.low = 7};
    uint32_t before[8], after[8];
    static const uint32_t hosts[4] = {0};
    for (int n = 0; before[1] + before[2] != 5 || after[1] + after[2] != 3 ||
                    placement_chair(&a, &theirs, NULL) != 0;
         n++) {
        a = chaired_by(0, n, MOOT_HASH_ONCE);
        placement_voters(&a, 0, &all, hosts, 3, before);
        placement_voters(&a, 0, &theirs, hosts, 3, after);
    }
    bench.hold_runs = true;
    spawn(0, 1, a);
    begin_wait(0, a);
    pass(12 * MS);
    assert_int_equal(bench.runs[1], 1);
    first_two_die();
    deliver_all();
    for (uint32_t rank = 2; rank < 4; rank++) {
        spawn(rank, 1, a);
        begin_wait(rank, a);
    }
    pass(SUSPECTED_NS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[2][1], MOOT_ERR_MAYBE_RAN);
    assert_int_equal(bench.ended[3][1], MOOT_ERR_MAYBE_RAN);
    bench_close();
}

/* --- Nothing crosses epochs ------------------------------------------------------- */

/* Three of four ranks in view 2. */
static void open_in_view_two(void)
{
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    bench.crashed[3] = true;
    pass(SUSPECTED_NS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        expect_view(rank, 2, 7);
    }
}

/* As if `from` had sent it in that epoch. */
static void inject(uint32_t from, uint32_t to, struct message message, uint64_t epoch)
{
    core_view(bench.core[to], &message.epoch, &message.view_id);
    message.epoch = epoch;
    struct core_event event = {.type = CORE_EV_RECV, .hash = message.hash};
    event.u.recv.from = from;
    event.u.recv.uid = bench.uids[from];
    event.u.recv.message = &message;
    assert_int_equal(step(to, &event), MOOT_OK);
}

static enum core_have have_of(uint32_t rank, moot_hash hash)
{
    struct core_task_view view;
    if (!core_task_look(bench.core[rank], &hash, &view)) {
        return CORE_HAVE_NOTHING;
    }
    rankset_release(&view.asked_by);
    rankset_release(&view.holders);
    return view.have;
}

static void an_old_result_counts_from_its_owner_alone(void **state)
{
    (void)state;
    open_in_view_two();
    moot_hash a = chaired_by(1, 0, 0), b = chaired_by(1, 1, 0);
    spawn(0, 1, a);
    spawn(0, 2, b);
    struct message result = {.type = MESSAGE_RESULT, .hash = a};
    result.u.result.data = RESULT_EAGER;
    result.u.result.owner_uid = bench.uids[3];
    inject(1, 0, result, 1);
    assert_int_equal(have_of(0, a), CORE_HAVE_NOTHING);
    result.hash = b;
    result.u.result.owner_uid = bench.uids[1];
    inject(1, 0, result, 1);
    assert_int_equal(have_of(0, b), CORE_HAVE_DATA);
    bench_close();
}

static void an_old_decision_makes_no_owner(void **state)
{
    (void)state;
    open_in_view_two();
    moot_hash a = chaired_by(1, 0, 0);
    spawn(0, 1, a);
    const struct message decision = {.type = MESSAGE_DECISION, .hash = a};
    inject(1, 0, decision, 1);
    assert_int_equal(bench.runs[1], 0);
    bench_close();
}

static void an_old_accept_is_not_acknowledged(void **state)
{
    (void)state;
    open_in_view_two();
    struct message accept = {.type = MESSAGE_ACCEPT,
                             .hash = chaired_by(1, 0, MOOT_HASH_ONCE)};
    accept.u.accept.winner = 1;
    accept.u.accept.winner_uid = bench.uids[1];
    inject(1, 0, accept, 1);
    assert_int_equal(sum_sent(MESSAGE_ACK), 0);
    inject(1, 0, accept, 2);
    assert_int_equal(sum_sent(MESSAGE_ACK), 1);
    bench_close();
}

/* A view is its number and its members: MOOT_SPLIT=solo may make two of one number. */
static void an_accept_of_another_view_of_that_number_is_not_acknowledged(void **state)
{
    (void)state;
    open_in_view_two();
    struct message accept = {.type = MESSAGE_ACCEPT,
                             .hash = chaired_by(1, 0, MOOT_HASH_ONCE)};
    accept.u.accept.winner = 1;
    accept.u.accept.winner_uid = bench.uids[1];
    core_view(bench.core[0], &accept.epoch, &accept.view_id);
    accept.view_id++;
    struct core_event event = {.type = CORE_EV_RECV, .hash = accept.hash};
    event.u.recv.from = 1;
    event.u.recv.uid = bench.uids[1];
    event.u.recv.message = &accept;
    assert_int_equal(step(0, &event), MOOT_OK);
    assert_int_equal(sum_sent(MESSAGE_ACK), 0);
    bench_close();
}

/* --- An accepted value --------------------------------------------------------------
 */

static void say_paxos(enum message_type type, uint64_t ballot, uint64_t accepted,
                      const struct message_view *value)
{
    struct message message = {.type = type};
    message.u.paxos =
        (struct message_paxos){.ballot = ballot, .accepted = accepted, .value = value};
    inject(0, 1, message, 1);
}

/* 3 is heard by all.  0 says to 1 that a view without 3 was accepted before, and may
 * have been decided: 1 grants 3 nothing more, votes when its last grant has run out,
 * and drives the view to its end. */
static void who_is_heard_is_removed_by_a_view_that_may_be_decided(void **state)
{
    (void)state;
    struct rankset members = {.low = 7}, before = {.low = 15};
    const struct message_past past = {.epoch = 1, .members = &before};
    const struct message_view value = {
        .epoch = 2, .members = &members, .history = 1, .past = &past};
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    say_paxos(MESSAGE_PREPARE, UINT64_C(1) << 40, 0, NULL);
    say_paxos(MESSAGE_PROPOSE, UINT64_C(1) << 40, 1, &value);
    pass(SUSPECTED_NS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        expect_view(rank, 2, 7);
    }
    assert_true(bench.fenced[3]);
    bench_close();
}

static void an_old_motions_spec_is_not_adopted(void **state)
{
    (void)state;
    open_in_view_two();
    const struct message_spec spec = {.kernel_name = "kernel"};
    struct message motion = {.type = MESSAGE_MOTION};
    struct rankset members = {.low = 7};
    for (int n = 0; motion.u.motion.spec == NULL; n++) {
        motion.hash = chaired_by(0, n, 0);
        if (placement_chair(&motion.hash, &members, NULL) == 0) {
            motion.u.motion.spec = &spec;
        }
    }
    core_view(bench.core[0], &motion.epoch, &motion.view_id);
    assert_true(core_would_adopt(bench.core[0], 1, bench.uids[1], &motion));
    motion.epoch = 1;
    assert_false(core_would_adopt(bench.core[0], 1, bench.uids[1], &motion));
    bench_close();
}

/* --- What a view must not lose ---------------------------------------------------- */

/* 0 is the chair, blocked behind `b`; it yields `a` to 2, which waits for it no longer
 * when the decision comes, in the next view, too late.  0 spawns `a`, too. */
static void a_decision_that_crosses_a_view_is_repeated(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 0, 0);
    pass(50 * MS);
    bench.hold_runs = true;
    spawn(1, 2, b);
    spawn(0, 2, b);
    begin_wait(0, b);
    pass(5 * MS);
    bench.crashed[3] = true;
    pass(40 * MS);
    bench.holds[0][2] = true;
    spawn(2, 1, a);
    begin_wait(2, a);
    pass(10 * MS);
    assert_int_equal(sum_yields(), 1);
    end_wait(2, a);
    for (int i = 0; i < 400 && bench.epoch[2] == 0; i++) {
        pass(MS / 4);
    }
    bench.hold_runs = false;
    let_go(0, 2);
    expect_view(2, 2, 7);
    expect_view(0, 2, 7);
    struct core_event done = {.type = CORE_EV_DONE, .hash = b};
    assert_int_equal(step(1, &done), MOOT_OK);
    pass(5 * MS);
    end_wait(0, b);
    spawn(0, 1, a);
    for (uint32_t rank = 0; rank < 3; rank++) {
        close_rank(rank);
    }
    pass(200 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ran_on[1], 2);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_true(bench.adjourned[rank]);
    }
    bench_close();
}

/* --- What reports must not be taken for ------------------------------------------- */

static void begin_wait_for_its_end(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_NEED, .hash = hash};
    event.u.need.want = WANT_DONE;
    assert_int_equal(step(rank, &event), MOOT_OK);
    set_lane(rank, CORE_LANE_BLOCKED);
}

/* 0 knows that it has ended well, and nobody has the bytes any more. */
static void a_once_task_whose_result_is_lost_is_not_run_again(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(2, 0, MOOT_HASH_ONCE);
    pass(50 * MS);
    spawn(2, 1, a);
    spawn(0, 1, a);
    begin_wait_for_its_end(0, a);
    pass(20 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(have_of(0, a), CORE_HAVE_BARE);
    bench.crashed[2] = true;
    spawn(1, 1, a);
    begin_wait(1, a);
    pass(SUSPECTED_NS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[1][1], MOOT_ERR_MAYBE_RAN);
    bench_close();
}

static bool has_voters(const moot_hash *hash, uint32_t members, uint32_t voters)
{
    static const uint32_t hosts[RANKS_MAX] = {0};
    struct rankset set = {.low = members};
    uint32_t list[8], found = 0;
    uint32_t chair = placement_chair(hash, &set, NULL);
    uint32_t count = placement_voters(hash, chair, &set, hosts, 3, list);
    for (uint32_t i = 0; i < count; i++) {
        found |= 1u << list[i];
    }
    return chair == 0 && found == voters;
}

/* 1 has accepted itself in view 1, in vain.  In view 2 the chair starts the task with
 * 3's voice, and both die.  That 1's acceptance is of a member says nothing of that. */
static void an_old_acceptance_says_nothing_of_later_ballots(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = {{0}}, b = chaired_by(3, 0, 0);
    for (int n = 0; !has_voters(&a, 15, 7) || !has_voters(&a, 11, 11); n++) {
        a = chaired_by(0, n, MOOT_HASH_ONCE);
    }
    bench.hold_runs = true;
    pass(50 * MS);
    spawn(3, 2, b);
    spawn(0, 2, b);
    begin_wait(0, b);
    pass(5 * MS);
    bench.crashed[2] = true;
    spawn(1, 1, a);
    begin_wait(1, a);
    while (sum_sent(MESSAGE_ACCEPT) == 0) { /* the motion goes out with the turn */
        if (bench.head < bench.tail) {
            deliver_one();
        } else {
            tick_all();
        }
    }
    bench.holds[1][0] = true;
    pass(2 * MS);
    end_wait(1, a);
    for (uint32_t rank = 0; rank < 4; rank += 3) {
        certify_at(rank, 2);
    }
    step_until_view(0);
    let_go(1, 0);
    pass(5 * MS);
    expect_view(0, 2, 11);
    expect_view(1, 2, 11);
    bench.holds[0][1] = true;
    end_wait(0, b);
    spawn(0, 1, a);
    pass(12 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ran_on[1], 0);
    for (uint32_t dead = 0; dead < 4; dead += 3) {
        bench.crashed[dead] = true;
        certify_at(1, dead);
    }
    begin_wait(1, a);
    pass(SUSPECTED_NS);
    expect_view(1, 3, 2);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[1][1], MOOT_ERR_MAYBE_RAN);
    bench_close();
}

/* 0 starts it with 2's voice, which dies; 1 has not been asked in time.  Then 0 dies: 1
 * and 3, the voters of view 2, know of the start because they were asked again. */
static void what_was_accepted_is_accepted_again_in_a_new_view(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = {{0}};
    for (int n = 0; !has_voters(&a, 15, 7) || !has_voters(&a, 11, 11); n++) {
        a = chaired_by(0, n, MOOT_HASH_ONCE);
    }
    bench.hold_runs = true;
    pass(50 * MS);
    bench.holds[0][1] = true;
    spawn(0, 1, a);
    begin_wait(0, a);
    pass(2 * MS);
    assert_int_equal(bench.runs[1], 1);
    bench.crashed[2] = true;
    for (uint32_t rank = 0; rank < 4; rank += 3) {
        certify_at(rank, 2);
    }
    step_until_view(1);
    let_go(0, 1);
    pass(12 * MS);
    expect_view(0, 2, 11);
    expect_view(1, 2, 11);
    bench.crashed[0] = true;
    for (uint32_t rank = 1; rank < 4; rank += 2) {
        certify_at(rank, 0);
        spawn(rank, 1, a);
        begin_wait(rank, a);
    }
    pass(SUSPECTED_NS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[1][1], MOOT_ERR_MAYBE_RAN);
    assert_int_equal(bench.ended[3][1], MOOT_ERR_MAYBE_RAN);
    bench_close();
}

/* 0 has yielded it to 1 and asks the voters of view 2 to accept that again; both die
 * before they answer.  1 runs it and reports nothing, because the key has not moved:
 * 0's record is all that is known of it. */
static void a_record_outlives_an_unfinished_acceptance(void **state)
{
    (void)state;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = {{0}}, b = chaired_by(1, 0, 0);
    for (int n = 0; !has_voters(&a, 15, 13); n++) {
        a = chaired_by(0, n, MOOT_HASH_ONCE);
    }
    bench.hold_runs = true;
    pass(50 * MS);
    spawn(1, 1, a);
    spawn(1, 2, b);
    spawn(0, 2, b);
    begin_wait(0, b);
    pass(5 * MS);
    begin_wait(1, a);
    pass(20 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ran_on[1], 1);
    end_wait(0, b);
    bench.crashed[4] = true;
    for (uint32_t rank = 0; rank < 4; rank++) {
        certify_at(rank, 4);
    }
    uint64_t accepts = sum_sent(MESSAGE_ACCEPT);
    for (int i = 0; sum_sent(MESSAGE_ACCEPT) == accepts && i < 10000; i++) {
        if (bench.head < bench.tail) {
            deliver_one();
        } else {
            tick_all();
        }
    }
    expect_view(0, 2, 15);
    for (uint32_t dead = 2; dead < 4; dead++) {
        bench.crashed[dead] = true;
        for (uint32_t rank = 0; rank < 2; rank++) {
            certify_at(rank, dead);
        }
    }
    spawn(0, 1, a);
    begin_wait(0, a);
    pass(SUSPECTED_NS);
    expect_view(0, 3, 3);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[0][1], 0);
    struct core_event done = {.type = CORE_EV_DONE, .hash = a};
    done.u.done.size = 8;
    assert_int_equal(step(1, &done), MOOT_OK);
    pass(20 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[0][1], 1);
    bench_close();
}

/* One that only rank 1 may run, and that takes the one before it, if there is any. */
static moot_hash spawn_link(uint64_t number, const moot_hash *before)
{
    struct rankset mine = {0};
    assert_true(rankset_add(&mine, 1));
    const struct core_register reg = {
        .candidates = &mine, .inputs = before, .input_count = before != NULL};
    struct core_event event = {.type = CORE_EV_REGISTER};
    event.hash = digest_bytes(&number, sizeof(number));
    event.hash.bytes[15] = MOOT_HASH_CANDIDATES;
    event.entry = enter_for(1, 1, &event.hash, &reg);
    event.u.reg = &reg;
    struct core_outputs out; /* a look at all that is counted would take too long */
    assert_int_equal(core_step(bench.core[1], &event, bench.now, &out), MOOT_OK);
    rankset_release(&mine);
    return event.hash;
}

/* While not all have reported rank 1 spawns a chain, however long, that it claims when
 * they have: in whatever order, and not one within the other. */
static void a_long_chain_is_claimed_when_all_have_reported(void **state)
{
    (void)state;
    enum { LINKS = 100000 };
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    bench.crashed[0] = true;
    certify_at(1, 0);
    certify_at(2, 0);
    step_until_view(1);
    expect_view(1, 2, 6);
    bench.holds[2][1] = true;
    deliver_all();
    moot_hash link = spawn_link(0, NULL);
    for (uint64_t i = 1; i < LINKS; i++) {
        link = spawn_link(i, &link);
    }
    assert_int_equal(core_unfinished(bench.core[1]), 0);
    bench.hold_runs = true;
    let_go(2, 1);
    assert_int_equal(core_unfinished(bench.core[1]), LINKS);
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
        cmocka_unit_test(of_two_halves_the_lowest_goes_on),
        cmocka_unit_test(a_majority_of_the_living_is_no_quorum),
        cmocka_unit_test(what_a_dead_quorum_decided_is_not_known),
        cmocka_unit_test(who_votes_with_certificates_hears_the_dead_no_more),
        cmocka_unit_test(an_old_result_counts_from_its_owner_alone),
        cmocka_unit_test(an_old_decision_makes_no_owner),
        cmocka_unit_test(an_old_accept_is_not_acknowledged),
        cmocka_unit_test(an_accept_of_another_view_of_that_number_is_not_acknowledged),
        cmocka_unit_test(who_is_heard_is_removed_by_a_view_that_may_be_decided),
        cmocka_unit_test(an_old_motions_spec_is_not_adopted),
        cmocka_unit_test(a_decision_that_crosses_a_view_is_repeated),
        cmocka_unit_test(a_once_task_whose_result_is_lost_is_not_run_again),
        cmocka_unit_test(what_was_accepted_is_accepted_again_in_a_new_view),
        cmocka_unit_test(an_old_acceptance_says_nothing_of_later_ballots),
        cmocka_unit_test(a_record_outlives_an_unfinished_acceptance),
        cmocka_unit_test(a_long_chain_is_claimed_when_all_have_reported),
    };
    return cmocka_run_group_tests_name("view rules", tests, NULL, NULL);
}
