/* boundary_test.c - newcomers are let in where all members meet, and certificates of
 * death count (PROTOCOL.md, *Boundaries*).
 */
#include "consensus/state/state.h"
#include "tests/unit/newcomer_bench.h"

static enum core_mode mode = CORE_REPAIR;

static void open_at_boundaries(uint32_t first)
{
    bench.boundary = true;
    open_first_in(first, mode);
}

static void assert_members(uint64_t members)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (members >> rank & 1) {
            assert_int_equal(bench.members[rank].low, members);
            core_hold(bench.core[rank]);
        }
    }
}

static bool is_in(uint32_t rank) { return bench.epoch[rank] > 0; }

static void arrive_for(uint32_t rank, unsigned char purpose)
{
    struct core_event event = {.type = CORE_EV_MEET, .hash = {{purpose}}};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void arrive(uint32_t rank) { arrive_for(rank, 0); }

static void assert_met(uint64_t ranks, uint64_t number)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (ranks >> rank & 1) {
            assert_int_equal(bench.met[rank], number);
            assert_int_equal(bench.met_code[rank], MOOT_OK);
            assert_int_equal(bench.came[rank].low, ranks);
        }
    }
}

static void certify_everywhere(uint32_t dead)
{
    bench.crashed[dead] = true;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank] && bench.core[rank]->epoch > 0) {
            certify_at(rank, dead);
        }
    }
}

/* --- When ---------------------------------------------------------------------------
 */

static void it_waits_until_all_stand(void **state)
{
    (void)state;
    for (uint32_t direct_max = 0; direct_max < 2; direct_max++) {
        bench.direct_max = direct_max;
        open_at_boundaries(3);
        join(3, 3, 3);
        pass(300 * MS);
        assert_false(is_in(3));
        for (uint32_t rank = 0; rank < 3; rank++) {
            arrive_for(rank, 7); /* that is no boundary */
        }
        pass(100 * MS);
        assert_false(is_in(3));
        assert_met(0x7, 1);
        arrive(0);
        arrive(2);
        pass(100 * MS);
        assert_true(direct_max == 1 || !is_in(3));
        arrive(1);
        pass(200 * MS);
        assert_members(0xf);
        assert_int_equal(bench.met[1], 1); /* it is a member, and has to come */
        core_meet_from(bench.core[3], 1);
        arrive(3);
        pass(50 * MS);
        assert_met(0xf, 2);
        end_joinable();
    }
}

static void who_has_closed_stands(void **state)
{
    (void)state;
    open_at_boundaries(2);
    struct core_event close = {.type = CORE_EV_CLOSE};
    set_lane(0, CORE_LANE_ENDED);
    assert_int_equal(step(0, &close), MOOT_OK);
    join(2, 2, 2);
    pass(200 * MS);
    assert_false(is_in(2));
    arrive(1);
    pass(200 * MS);
    assert_members(0x7);
    end_joinable();
}

/* A part of the members are the committee of many, and these alone let newcomers in. */
static void nobody_waits_for_whom_a_closed_committee_lets_in(void **state)
{
    (void)state;
    bench.direct_max = 1;
    open_at_boundaries(5);
    const uint64_t committee = bench.core[0]->membership.committee.low;
    const uint64_t others = UINT64_C(0x1f) & ~committee;
    assert_true(committee != 0 && others != 0);
    join(5, 5, 5);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 5; rank++) {
        if (committee >> rank & 1) {
            close_rank(rank);
        }
    }
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 5; rank++) {
        if (others >> rank & 1) {
            arrive(rank);
        }
    }
    pass(300 * MS);
    assert_met(others, 1);
    assert_false(is_in(5));
    end_joinable();
}

/* The word reaches one that is not the lowest. */
static void the_lowest_is_told_who_waits(void **state)
{
    (void)state;
    open_at_boundaries(2);
    join(2, 2, 2);
    bench.holds[2][0] = true;
    pass(50 * MS);
    assert_true(core_is_asked_by(bench.core[0], 2));
    assert_false(core_is_asked_by(bench.core[0], 3));
    arrive(1);
    arrive(0);
    pass(20 * MS);
    let_go(2, 0);
    pass(200 * MS);
    assert_members(0x7);
    assert_false(core_is_asked_by(bench.core[0], 2));
    end_joinable();
}

/* --- Certificates
 * ---------------------------------------------------------------------
 */

static void of_two_the_last_goes_on_by_certificate(void **state)
{
    (void)state;
    for (int row = 0; row < 2; row++) {
        open_at_boundaries(2);
        join(2, 2, 2);
        pass(50 * MS);
        if (row == 1) {
            arrive(1);
            pass(20 * MS);
        }
        certify_everywhere(0);
        pass(400 * MS);
        assert_members(row == 1 ? 0x6 : 0x2);
        assert_int_equal(is_in(2), row);
        end_joinable();
    }
}

/* 0 and 1 are a majority.  If they let 3 in and die, 2 goes on by their certificates.
 */
static void a_majority_lets_nobody_in(void **state)
{
    (void)state;
    open_at_boundaries(3);
    join(3, 3, 3);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        arrive(rank);
    }
    bench.holds[0][2] = bench.holds[1][2] = true;
    pass(20 * MS);
    assert_false(is_in(3));
    assert_int_equal(bench.epoch[0], 0);
    let_go(0, 2);
    let_go(1, 2);
    pass(300 * MS);
    assert_members(0xf);
    end_joinable();
}

/* All have voted for 3; 0 alone has decided so, and dies before it tells 1 and 2: they
 * find the value. */
static void who_survives_finds_what_was_decided(void **state)
{
    (void)state;
    open_at_boundaries(3);
    join(3, 3, 3);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        arrive(rank);
    }
    for (int i = 0; i < 4000 && bench.core[0]->epoch == 1; i++) {
        bench.now += MS / 4;
        for (uint32_t rank = 0; rank < 4; rank++) {
            struct core_event tick = {.type = CORE_EV_TICK};
            assert_int_equal(step(rank, &tick), MOOT_OK);
        }
        while (bench.head < bench.tail && bench.core[0]->epoch == 1) {
            deliver_one();
        }
    }
    assert_int_equal(bench.core[0]->epoch, 2);
    assert_int_equal(bench.core[1]->epoch, 1);
    bench.holds[0][1] = bench.holds[0][2] = true;
    deliver_all();
    assert_true(is_in(3));
    bench.crashed[0] = true;
    certify_at(1, 0);
    certify_at(2, 0);
    pass(600 * MS);
    assert_members(0xe);
    end_joinable();
}

/* --- Values that cannot be decided
 * ----------------------------------------------------
 */

/* 2 falls silent before it can vote, and nobody vouches for its death. */
static void its_own_value_binds_no_proposer(void **state)
{
    (void)state;
    open_at_boundaries(3);
    join(3, 3, 3);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        arrive(rank);
    }
    bench.crashed[2] = true;
    pass(900 * MS);
    assert_members(0xb);
    end_joinable();
}

/* 0 proposes, and falls silent when 1 has voted, and before 2 has heard of it. */
static void a_value_that_not_all_have_goes(void **state)
{
    (void)state;
    open_at_boundaries(3);
    join(3, 3, 3);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        arrive(rank);
    }
    bench.holds[0][2] = true;
    pass(5 * MS);
    bench.crashed[0] = true;
    pass(900 * MS);
    assert_members(0xe);
    end_joinable();
}

static bool has_voted(uint32_t rank)
{
    return bench.core[rank]->membership.paxos.accepted != 0;
}

/* All others have voted, and 0 may have decided: they wait until it is heard, or
 * certified dead, and then find the value. */
static void who_may_have_decided_is_waited_for(void **state)
{
    (void)state;
    for (int row = 0; row < 2; row++) {
        open_at_boundaries(3);
        join(3, 3, 3);
        pass(50 * MS);
        for (uint32_t rank = 0; rank < 3; rank++) {
            arrive(rank);
        }
        for (int i = 0; i < 4000 && !(has_voted(1) && has_voted(2)); i++) {
            bench.now += MS / 4;
            for (uint32_t rank = 0; rank < 4; rank++) {
                struct core_event tick = {.type = CORE_EV_TICK};
                assert_int_equal(step(rank, &tick), MOOT_OK);
            }
            while (bench.head < bench.tail && !(has_voted(1) && has_voted(2))) {
                deliver_one();
            }
        }
        bench.holds[1][0] = bench.holds[2][0] = true;
        bench.holds[0][1] = bench.holds[0][2] = bench.holds[0][3] = true;
        pass(row == 0 ? 150 * MS : 10 * MS); /* a certificate counts in time */
        assert_int_equal(bench.epoch[1], 0);
        assert_int_equal(bench.epoch[2], 0);
        assert_false(is_in(3));
        if (row == 0) {
            for (uint32_t rank = 1; rank < 4; rank++) {
                let_go(0, rank);
                let_go(rank, 0);
            }
            pass(400 * MS);
            assert_members(0xf);
        } else {
            certify_everywhere(0);
            pass(400 * MS);
            assert_members(0xe);
        }
        end_joinable();
    }
}

/* --- What was forgotten
 * ---------------------------------------------------------------
 */

/* A once task that is a chunk of its own, and that 2 chairs when it is in. */
static moot_hash once_task(void)
{
    const struct rankset members = {.low = 7};
    for (uint64_t i = 0;; i++) {
        moot_hash hash = digest_bytes(&i, sizeof(i));
        hash.bytes[0] &= 0xf8;
        hash.bytes[15] =
            (uint8_t)((hash.bytes[15] & ~(uint32_t)MOOT_HASH_FACTS) | MOOT_HASH_ONCE);
        if (placement_chair(&hash, &members, NULL) == 2) {
            return hash;
        }
    }
}

/* The two who are there come to a boundary, which takes in a third rank. */
static void let_in_third(void)
{
    join(2, 2, 2);
    pass(50 * MS);
    arrive(0);
    arrive(1);
    pass(200 * MS);
    assert_members(0x7);
}

static void a_once_task_that_was_dropped_does_not_start_again(void **state)
{
    (void)state;
    bench.drops = true;
    open_at_boundaries(2);
    const moot_hash once = once_task(), another = {{8}};
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, 1, once);
        spawn(rank, 2, another);
    }
    pass(100 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        core_let_go(bench.core[rank], &once, NULL);
        core_let_go(bench.core[rank], &another, NULL);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(300 * MS);
    assert_int_equal(bench.runs[1], 1);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_true(core_lost(bench.core[rank], &once));
    }
    let_in_third();
    arrive(2);
    pass(50 * MS);
    assert_met(0x7, 1);
    assert_int_equal(
        spawn_with(2, 1, once, (struct core_register){.flags = CORE_TASK_ONCE}),
        MOOT_ERR_RESULT_LOST);
    pass(100 * MS);
    assert_int_equal(bench.runs[1], 1);
    end_joinable();
}

static uint64_t released_by(uint32_t rank)
{
    return core_stats(bench.core[rank])->sent[MESSAGE_RELEASED];
}

/* The lowest has joined: of rounds before its time it knows nothing, and asks. */
static void a_newcomer_does_not_answer_for_rounds_before_its_time(void **state)
{
    (void)state;
    bench.drops = true;
    open_at_boundaries(2);
    join(2, 2, 2);
    join(3, 2, 3);
    pass(50 * MS);
    arrive(0);
    arrive(1);
    pass(300 * MS);
    assert_members(0xf);
    certify_everywhere(0);
    certify_everywhere(1);
    pass(300 * MS);
    assert_members(0xc);
    const struct message doubt = {
        .type = MESSAGE_RELEASED,
        .epoch = bench.core[3]->epoch,
        .view_id = bench.core[3]->view_id,
        .u.released = {.what = RELEASED_CHUNK_DOUBT, .count = 1, .sum = {7, 7}}};
    const uint64_t before = released_by(3);
    post(3, 2, &doubt);
    pass(50 * MS);
    assert_int_equal(released_by(3), before + 1); /* it is asked, and answers */
    end_joinable();
}

/* --- Strict mode (V5)
 * -----------------------------------------------------------------
 */

/* Two ranks have spawned three tasks when 2 comes, and then all spawn these. */
static void spawn_with_a_newcomer(moot_hash ours, moot_hash theirs)
{
    open_at_boundaries(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (int n = 1; n <= 3; n++) {
            spawn(rank, n, chaired_by(0, n, 0));
        }
    }
    let_in_third();
    arrive(2);
    pass(50 * MS);
    assert_met(0x7, 1);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(peer_begins(bench.core[rank], 2, 0), 3);
        assert_int_equal(peer_begins(bench.core[rank], 1, 0), 0);
        spawn(rank, 4, rank < 2 ? ours : theirs);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(100 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        close_rank(rank);
    }
    pass(500 * MS);
}

static void a_newcomers_roll_begins_where_the_others_stand(void **state)
{
    (void)state;
    mode = CORE_STRICT;
    for (uint32_t direct_max = 0; direct_max < 2; direct_max++) {
        bench.direct_max = direct_max;
        const moot_hash same = {{0, 4}};
        spawn_with_a_newcomer(same, same);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_false(bench.diverged[rank]);
            assert_true(bench.adjourned[rank]);
        }
        end_joinable();
    }
    mode = CORE_REPAIR;
}

static void a_newcomer_that_differs_is_told_where(void **state)
{
    (void)state;
    mode = CORE_STRICT;
    for (uint32_t direct_max = 0; direct_max < 2; direct_max++) {
        bench.direct_max = direct_max;
        spawn_with_a_newcomer((moot_hash){{0, 4}}, (moot_hash){{0, 5}});
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_true(bench.diverged[rank]);
            assert_int_equal(bench.differs_at[rank], 4);
        }
        end_joinable();
    }
    mode = CORE_REPAIR;
}

/* 2 has run the task and dies with the result; 3, whose roll begins behind it, chairs
 * it then. */
static moot_hash lose_what_stands_before(void)
{
    open_at_boundaries(3);
    const struct rankset left = {.low = 0xb};
    moot_hash lost = chaired_by(2, 0, 0);
    for (int n = 1; placement_chair(&lost, &left, NULL) != 3; n++) {
        lost = chaired_by(2, n, 0);
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(rank, 1, lost);
    }
    pass(50 * MS);
    assert_int_equal(bench.runs[1], 1);
    join(3, 3, 3);
    pass(50 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        arrive(rank);
    }
    pass(200 * MS);
    assert_members(0xf);
    arrive(3);
    pass(50 * MS);
    assert_met(0xf, 1);
    for (uint32_t rank = 0; rank < 4; rank++) {
        spawn(rank, 2, (moot_hash){{0, 4}});
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(100 * MS);
    certify_everywhere(2);
    pass(200 * MS);
    assert_members(0xb);
    return lost;
}

static void what_stands_before_its_roll_is_made_again(void **state)
{
    (void)state;
    mode = CORE_STRICT;
    const moot_hash lost = lose_what_stands_before();
    begin_wait(0, lost);
    pass(300 * MS);
    assert_int_equal(bench.ended[0][1], 1);
    assert_int_equal(bench.runs[1], 2);
    end_joinable();
    mode = CORE_REPAIR;
}

static void so_it_is_where_nobody_waits(void **state)
{
    (void)state;
    mode = CORE_STRICT;
    (void)lose_what_stands_before();
    for (uint32_t rank = 0; rank < 4; rank++) {
        if (rank != 2) {
            close_rank(rank);
        }
    }
    pass(500 * MS);
    assert_int_equal(bench.runs[1], 2);
    assert_true(bench.adjourned[0] && !bench.diverged[0]);
    end_joinable();
    mode = CORE_REPAIR;
}

/* A spawn that has no room waits for it only where dropping makes some. */
static void what_may_be_joined_at_any_moment_drops_nothing(void **state)
{
    (void)state;
    for (int boundary = 0; boundary < 2; boundary++) {
        bench.boundary = boundary != 0;
        bench.drops = true;
        open_first(3);
        assert_int_equal(core_reclaims(bench.core[0]), boundary);
        end_joinable();
    }
}

/* --- Reloads ---------------------------------------------------------------------- */

static void assert_generation(uint32_t rank, uint32_t generation)
{
    moot_hash snapshot;
    assert_int_equal(core_generation(bench.core[rank], &snapshot), generation);
    assert_true(hash_equal(&snapshot, &(moot_hash){{9}}));
}

/* Rank 2 is let in when all have gone back.  When the others have died it lets rank 3
 * in, by a view of its own. */
static void a_newcomer_hands_on_what_has_been_reloaded(void **state)
{
    (void)state;
    open_at_boundaries(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct core_event event = {.type = CORE_EV_RELOAD, .hash = {{9}}};
        assert_int_equal(step(rank, &event), MOOT_OK);
    }
    deliver_all();
    struct core_event marked = {.type = CORE_EV_MARKED};
    marked.u.marked.generation = 1;
    assert_int_equal(step(0, &marked), MOOT_OK);
    pass(200 * MS);
    assert_generation(0, 1);
    arrive_for(0, 7); /* the last outcome says nothing of it */
    arrive_for(1, 7);
    pass(50 * MS);
    let_in_third();
    assert_generation(2, 1);
    core_meet_from(bench.core[2], 2);
    arrive(2);
    pass(50 * MS);
    assert_met(0x7, 3);
    certify_everywhere(0);
    certify_everywhere(1);
    pass(300 * MS);
    join(3, 2, 3);
    pass(50 * MS);
    arrive(2);
    pass(300 * MS);
    assert_members(0xc);
    assert_generation(2, 1);
    assert_generation(3, 1);
    end_joinable();
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_waits_until_all_stand),
        cmocka_unit_test(who_has_closed_stands),
        cmocka_unit_test(nobody_waits_for_whom_a_closed_committee_lets_in),
        cmocka_unit_test(the_lowest_is_told_who_waits),
        cmocka_unit_test(of_two_the_last_goes_on_by_certificate),
        cmocka_unit_test(a_majority_lets_nobody_in),
        cmocka_unit_test(who_survives_finds_what_was_decided),
        cmocka_unit_test(its_own_value_binds_no_proposer),
        cmocka_unit_test(a_value_that_not_all_have_goes),
        cmocka_unit_test(who_may_have_decided_is_waited_for),
        cmocka_unit_test(a_once_task_that_was_dropped_does_not_start_again),
        cmocka_unit_test(a_newcomer_does_not_answer_for_rounds_before_its_time),
        cmocka_unit_test(a_newcomers_roll_begins_where_the_others_stand),
        cmocka_unit_test(a_newcomer_that_differs_is_told_where),
        cmocka_unit_test(what_stands_before_its_roll_is_made_again),
        cmocka_unit_test(so_it_is_where_nobody_waits),
        cmocka_unit_test(what_may_be_joined_at_any_moment_drops_nothing),
        cmocka_unit_test(a_newcomer_hands_on_what_has_been_reloaded),
    };
    return cmocka_run_group_tests_name("boundary", tests, NULL, NULL);
}
