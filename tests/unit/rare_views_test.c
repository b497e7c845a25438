/* rare_views_test.c - stories around a new view that seeds hardly ever draw.
 *
 * As in rare_test.c, each is the shortest in which one line of the core decides.
 */
#include "tests/unit/rare_bench.h"

#include "consensus/membership/membership_private.h"
#include "consensus/state/state.h"

/* 2 was not granted anything for long when the view is entered.  Others may have
 * granted it a lease until then, of which this rank knows nothing. */
static void who_votes_waits_from_its_own_entry(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    bench.deaf[2] = true;
    pass(45 * MS);
    bench.crashed[3] = true;
    certify_at(0, 3);
    certify_at(1, 3);
    step_until_view(1, 2);
    assert_int_equal(bench.members[1].low, 7);
    assert_true(detector_may_remove_ns(bench.core[1], 2, true) >=
                bench.now + 4 * HEARTBEAT_NS);
    bench_close();
}

/* 2 certifies the death of 0 among four, and goes on among three to a view in which 1
 * dies, too: there one certificate is none, as what the dead of the large view had told
 * was not told to those who vote in the small one. */
static void a_small_view_has_certificates_of_its_own(void **state)
{
    (void)state;
    bench.direct_max = 3;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    bench.direct_max = 0;
    pass(50 * MS);
    bench.crashed[0] = bench.crashed[3] = true;
    certify_at(2, 0);
    const struct rankset members = {.low = 7}, all = {.low = 15};
    const struct message_past past = {.epoch = 1, .members = &all};
    struct message message = {.type = MESSAGE_VIEW};
    message.u.view = (struct message_view){
        .epoch = 2, .members = &members, .history = 1, .past = &past};
    inject(1, 2, message, 1);
    assert_int_equal(bench.epoch[2], 2);
    bench.crashed[1] = true;
    certify_at(2, 1);
    pass(400 * MS);
    assert_int_equal(bench.epoch[2], 2);
    assert_true(bench.no_quorum[2]);
    bench_close();
}

/* Without heartbeats no lease runs out, so certificates tell: of a committee of three
 * one that has died is removed, and two that have leave no quorum, and no wait. */
static void without_heartbeats_a_dead_committee_is_no_quorum(void **state)
{
    (void)state;
    bench.direct_max = 3;
    bench_open(6, CORE_REPAIR);
    bench.direct_max = 0;
    pass(20 * MS);
    uint32_t electors[3] = {0}, count = 0, other = 0;
    for (uint32_t rank = 0; rank < 6; rank++) {
        if (rankset_has(&bench.core[0]->membership.committee, rank)) {
            electors[count++] = rank;
        } else {
            other = rank;
        }
    }
    assert_int_equal(count, 3);
    bench.crashed[electors[0]] = true;
    certify_at(other, electors[0]);
    assert_false(bench.no_quorum[other]);
    bench.crashed[electors[1]] = true;
    certify_at(other, electors[1]);
    pass(20 * MS);
    assert_true(bench.no_quorum[other]);
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

/* 1 hears of nobody, and so has no quorum and claims nothing, but is heard. */
static void a_scope_waits_for_who_may_not_claim(void **state)
{
    (void)state;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    const moot_hash top = {{0}};
    moot_hash scope = identity_scope(&top, "phase"), a = in_scope(&scope, 1);
    const struct core_register reg = {.scope = scope};
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 5; rank++) {
        bench.holds[rank][1] = rank != 1;
    }
    pass(400 * MS);
    assert_true(bench.no_quorum[1]);
    assert_int_equal(bench.epoch[0], 0);
    for (uint32_t rank = 0; rank < 5; rank++) {
        struct core_event release = {.type = CORE_EV_SCOPE_RELEASE, .hash = scope};
        assert_int_equal(spawn_with(rank, A, a, reg), MOOT_OK);
        assert_int_equal(step(rank, &release), MOOT_OK);
    }
    pass(20 * MS);
    let_go(0, 1);
    pass(20 * MS);
    for (uint32_t rank = 2; rank < 5; rank++) {
        let_go(rank, 1);
    }
    pass(100 * MS);
    assert_int_equal(bench.runs[A], 1);
    for (uint32_t rank = 0; rank < 5; rank++) {
        assert_true(bench.forgotten[rank][A]);
    }
    bench_close();
}

/* --- Leaving -----------------------------------------------------------------------
 */

static uint32_t chair_among(const moot_hash *hash, uint64_t members)
{
    const struct rankset set = {.low = members};
    return placement_chair(hash, &set, NULL);
}

/* Three of six ranks decide, and hear alone that the heir is ready: the leaver, which
 * does not, would leave it what it has made. */
static void who_is_ready_takes_no_result(void **state)
{
    (void)state;
    bench.direct_max = 1;
    bench_open_with(6, CORE_REPAIR, HEARTBEAT_NS);
    bench.direct_max = 0;
    const struct rankset *committee = &bench.core[0]->membership.committee;
    uint32_t leaver = 5, heir = 0;
    while (rankset_has(committee, leaver)) {
        leaver--;
    }
    while (rankset_has(committee, heir)) {
        heir++;
    }
    assert_true(heir < leaver);
    moot_hash a = chaired_by(leaver, 0, 0);
    for (int n = 0; chair_among(&a, 63 ^ UINT64_C(1) << leaver) != heir; n++) {
        a = chaired_by(leaver, n, 0);
    }
    pass(50 * MS);
    spawn(leaver, A, a);
    pass(5 * MS);
    for (uint32_t rank = 0; rank < 6; rank++) {
        bench.holds[heir][rank] = bench.holds[leaver][rank] =
            rank != heir && rank != leaver;
    }
    leave(heir);
    pass(1 * MS);
    assert_true(bench.core[heir]->membership.leave.ready);
    leave(leaver);
    pass(5 * MS);
    for (uint32_t rank = 0; rank < 6; rank++) {
        let_go(heir, rank);
        let_go(leaver, rank);
    }
    pass(100 * MS);
    assert_true(bench.left[heir] && bench.left[leaver]);
    uint32_t other = rankset_next(committee, 0);
    spawn(other, A, a);
    begin_wait(other, a);
    pass(50 * MS);
    assert_int_equal(bench.ended[other][A], 1);
    assert_int_equal(bench.runs[A], 1);
    bench_close();
}

enum { TWO_HOSTS_RANKS = 90 };

/* How many of the committee are on the second of two hosts, with that many ranks. */
static uint32_t seats_on_second(uint32_t ranks, uint32_t *all)
{
    uint64_t uids[TWO_HOSTS_RANKS];
    uint32_t hosts[TWO_HOSTS_RANKS], seats = 0;
    for (uint32_t rank = 0; rank < TWO_HOSTS_RANKS; rank++) {
        uids[rank] = 1000 + rank;
        hosts[rank] = rank >= TWO_HOSTS_RANKS - ranks;
    }
    const struct core_options options = {.size = TWO_HOSTS_RANKS,
                                         .uids = uids,
                                         .hosts = hosts,
                                         .epoch = 1,
                                         .voters = 3,
                                         .direct_max = 64,
                                         .vote_timeout_ns = CORE_NEVER,
                                         .entry_bytes = sizeof(struct bench_entry)};
    struct core *core = core_new(&options);
    assert_non_null(core);
    for (uint32_t rank = TWO_HOSTS_RANKS - ranks; rank < TWO_HOSTS_RANKS; rank++) {
        seats += rankset_has(&core->membership.committee, rank);
    }
    *all = core->membership.committee_count;
    core_free(core);
    return seats;
}

/* The seventh seat was that of the lightest rank that was left: of a host with 42 of 90
 * ranks, the end of which left 48 without a quorum. */
static void the_smaller_of_two_hosts_has_no_majority(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks < TWO_HOSTS_RANKS / 2; ranks++) {
        uint32_t all = 0, seats = seats_on_second(ranks, &all);
        assert_int_equal(all, 7);
        assert_int_equal(seats, ranks < 3 ? ranks : 3);
        seats = seats_on_second(TWO_HOSTS_RANKS - ranks, &all);
        assert_int_equal(seats, ranks < 3 ? 7 - ranks : 4);
    }
}

/* Its word that it is ready is under way. */
static void who_is_ready_refuses(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(1, 0, 0);
    bench.hold_runs = true;
    pass(50 * MS);
    spawn(1, 1, a);
    spawn(2, 1, a);
    begin_wait(1, a); /* so it says what it holds */
    pass(50 * MS);
    bench.holds[2][0] = bench.holds[2][1] = true;
    leave(2);
    pass(5 * MS);
    assert_true(bench.core[2]->membership.leave.ready);
    struct message message = {.type = MESSAGE_DECISION, .hash = a};
    inject(1, 2, message, 1);
    assert_int_equal(bench.ran_on[1], 1);
    assert_false(table_find(bench.core[2], &a)->returning);
    bench_close();
}

/* A chair that has yielded a task to it hears that it is ready. */
static void a_refusal_is_noted(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(1, 0, 0);
    pass(50 * MS);
    bench.holds[1][2] = true;
    assert_int_equal(
        spawn_with(2, 1, a, (struct core_register){.flags = CORE_TASK_HINT}), MOOT_OK);
    begin_wait(2, a);
    pass(5 * MS);
    struct task_record *task = table_find(bench.core[1], &a);
    assert_non_null(task);
    assert_int_equal(task->rec, 2);
    struct message message = {.type = MESSAGE_LEAVE, .hash = a};
    message.u.leave.what = LEAVE_REFUSE;
    inject(2, 1, message, 1);
    assert_false(chair_may_choose(bench.core[1], task, 2));
    bench_close();
}

/* Two leavers hand over what each has accepted. */
static void an_heir_keeps_the_latest_acceptance(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    moot_hash a = chaired_by(1, 0, MOOT_HASH_ONCE);
    pass(50 * MS);
    for (uint32_t older = 0; older <= 1; older++) {
        const struct message_entry entry = {
            .hash = a, .what = REPORT_ACCEPTED, .owner = 1 + older, .epoch = 1 - older};
        struct message message = {.type = MESSAGE_HANDOVER};
        message.u.report =
            (struct message_report){.last = true, .count = 1, .entry = &entry};
        inject(0, 2, message, 1);
    }
    const struct task_record *task = table_find(bench.core[2], &a);
    assert_non_null(task);
    assert_int_equal(task_ext(task)->accepted, 1);
    assert_int_equal(task_ext(task)->accepted_epoch, 1);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smaller_of_two_hosts_has_no_majority),
        cmocka_unit_test(who_votes_waits_from_its_own_entry),
        cmocka_unit_test(a_small_view_has_certificates_of_its_own),
        cmocka_unit_test(without_heartbeats_a_dead_committee_is_no_quorum),
        cmocka_unit_test(a_scope_waits_for_who_may_not_claim),
        cmocka_unit_test(who_is_ready_refuses),
        cmocka_unit_test(a_refusal_is_noted),
        cmocka_unit_test(an_heir_keeps_the_latest_acceptance),
        cmocka_unit_test(who_is_ready_takes_no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
