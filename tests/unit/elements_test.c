/* elements_test.c - whose the elements of a task array are, and when it ends
 * (PROTOCOL.md, "Arrays"). */
#include "tests/unit/elements_bench.h"

/* --- Alike ------------------------------------------------------------------------ */

static void each_home_runs_its_stretch_and_one_word_of_each_ends_the_array(void **state)
{
    (void)state;
    bench_open(4, CORE_REPAIR);
    const moot_hash hash = array_of(1);
    for (uint32_t rank = 0; rank < 4; rank++) {
        spawn_array(rank, hash);
        assert_int_equal(bench.given_count[rank], 1);
        assert_given(rank, 0, 2 * rank, 2 * rank + 2);
        begin_wait(rank, hash);
    }
    settle();
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_int_equal(bench.ended[rank][ARRAY], 0);
        end_elements(rank, hash, 2 * rank + 1, 2 * rank + 2);
        settle();
        end_elements(rank, hash, 2 * rank, 2 * rank + 1);
    }
    settle();
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_int_equal(bench.ended[rank][ARRAY], 1);
    }
    assert_int_equal(bench.runs[ARRAY], 1);
    assert_int_equal(sum_sent(MESSAGE_ELEMENTS), 3);
    bench_close();
}

static void it_ends_with_its_last_element_and_not_before(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_array(0, hash);
    spawn_array(1, hash);
    end_elements(0, hash, 0, 4);
    end_elements(1, hash, 5, 8);
    settle();
    assert_int_equal(bench.runs[ARRAY], 0);
    end_elements(1, hash, 4, 5);
    settle();
    assert_int_equal(bench.runs[ARRAY], 1);
    bench_close();
}

static void it_fails_as_the_failed_element_of_the_least_index(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_array(0, hash);
    spawn_array(1, hash);
    assert_int_equal(say_ended(0, hash, (struct range){3, 4}, MOOT_ERR_TIMEOUT),
                     MOOT_OK);
    assert_int_equal(say_ended(0, hash, (struct range){1, 3}, MOOT_ERR_LIMIT), MOOT_OK);
    assert_int_equal(say_ended(0, hash, (struct range){0, 1}, MOOT_OK), MOOT_OK);
    settle();
    assert_int_equal(say_ended(1, hash, (struct range){5, 7}, MOOT_ERR_CYCLE), MOOT_OK);
    assert_int_equal(say_ended(1, hash, (struct range){7, 8}, MOOT_ERR_FILE), MOOT_OK);
    end_elements(1, hash, 4, 5); /* this word comes last */
    settle();
    assert_int_equal(bench.run_code[ARRAY], MOOT_ERR_LIMIT);
    bench_close();
}

static void what_is_no_array_or_was_not_given_is_refused(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0), single = chaired_by(0, 1, 0);
    const moot_hash input = chaired_by(0, 2, 0);
    const struct array_spread spread = {.count = COUNT, .kind = ARRAY_SPREAD_BLOCK};
    const struct core_register takes = {
        .array = &spread, .inputs = &input, .input_count = 1};
    assert_int_equal(spawn_with(0, OTHER, hash, takes), MOOT_ERR_INVALID);
    assert_int_equal(register_array(0, single, COUNT), MOOT_ERR_INVALID);
    assert_int_equal(register_array(0, hash, 0), MOOT_ERR_INVALID);
    spawn_array(0, hash);
    assert_int_equal(say_ended(0, hash, (struct range){3, 5}, MOOT_OK), MOOT_ERR_STATE);
    assert_int_equal(say_ended(0, hash, (struct range){2, 2}, MOOT_OK), MOOT_ERR_STATE);
    end_elements(0, hash, 0, 1);
    assert_int_equal(say_ended(0, hash, (struct range){0, 1}, MOOT_OK), MOOT_ERR_STATE);
    bench_close();
}

/* --- Homes that do not spawn it (home.c, keeper.c) -------------------------------- */

/* Rank 0 alone has spawned it, and waits; the ask delay has passed. */
static void wait_alone(moot_hash hash)
{
    spawn_array(0, hash);
    end_latest(0, hash);
    begin_wait(0, hash);
    settle_until(bench.now + 100 * MS);
}

static void see_given_up(moot_hash hash)
{
    assert_int_equal(bench.given_count[0], 2);
    assert_given(0, 1, 4, 8);
    end_latest(0, hash);
    settle();
    assert_int_equal(bench.ended[0][ARRAY], 1);
    assert_int_equal(bench.given_count[1], 0);
    bench_close();
}

static void a_home_whose_program_is_over_gives_its_stretch_up(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 2; chair++) {
        bench_open(2, CORE_REPAIR);
        const moot_hash hash = array_of(chair);
        close_rank(1);
        wait_alone(hash);
        see_given_up(hash);
    }
}

/* Rank 2 runs, so nothing is quiet, and rank 1 has not come as far as the array. */
static void being_over_is_evidence_enough(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    set_lane(2, CORE_LANE_RUNNING);
    spawn(0, OTHER, chaired_by(0, 1, 0));
    spawn_array(0, hash);
    spawn_array(2, hash);
    end_latest(0, hash);
    end_latest(2, hash);
    begin_wait(0, hash);
    settle_until(bench.now + 100 * MS);
    assert_int_equal(bench.given_count[0] + bench.given_count[2], 2);
    close_rank(1);
    settle_until(bench.now + 100 * MS);
    assert_true(bench.given_count[0] + bench.given_count[2] > 2);
    bench_close();
}

static void so_does_one_that_took_the_other_branch(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    struct core_event decline = {.type = CORE_EV_DECLINE, .hash = hash};
    enter(1, ARRAY, hash);
    assert_int_equal(step(1, &decline), MOOT_OK);
    wait_alone(hash);
    see_given_up(hash);
}

/* Rank 1 waits for what nobody runs, so it will give its stretch up. */
static void block_with_a_run(void)
{
    const moot_hash other = chaired_by(1, 1, 0);
    bench.hold_runs = true;
    spawn(1, OTHER, other);
    spawn(1, OTHER + 1, chaired_by(1, 2, 0));
    begin_wait(1, other);
    settle();
    bench.hold_runs = false;
    struct core_event done = {.type = CORE_EV_DONE, .hash = chaired_by(1, 2, 0)};
    assert_int_equal(step(1, &done), MOOT_OK);
}

static moot_hash give_up_blocked(uint32_t chair)
{
    bench_open(2, CORE_REPAIR);
    block_with_a_run();
    wait_alone(array_of(chair));
    return array_of(chair);
}

static void so_does_one_that_waits_beyond_the_place_where_it_is_wanted(void **state)
{
    (void)state;
    const moot_hash hash = give_up_blocked(0);
    assert_given(0, 1, 4, 8);
    see_given_up(hash);
}

static void one_that_may_still_spawn_it_gives_nothing_up(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 2; chair++) {
        bench_open(2, CORE_REPAIR);
        const moot_hash hash = array_of(chair);
        wait_alone(hash);
        assert_int_equal(bench.given_count[0], 1);
        spawn_array(1, hash);
        assert_given(1, 0, 4, 8);
        end_latest(1, hash);
        settle();
        assert_int_equal(bench.ended[0][ARRAY], 1);
        bench_close();
    }
}

/* Rank 1 has not come as far as the array, and waits for what rank 0 may spawn behind
 * its own wait: nothing moves, and the one that can be mended is. */
static void elements_are_given_up_before_a_wait_fails_for_want_of_a_holder(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 2; chair++) {
        bench_open(2, CORE_REPAIR);
        const moot_hash hash = array_of(chair), other = chaired_by(1, 1, 0);
        enter(1, OTHER, other);
        begin_wait(1, other);
        spawn(0, OTHER + 1, chaired_by(0, 2, 0));
        wait_alone(hash);
        settle();
        assert_int_equal(bench.given_count[0], 2);
        assert_given(0, 1, 4, 8);
        assert_int_equal(bench.ended[1][OTHER], 0);
        end_latest(0, hash);
        spawn(0, OTHER, other);
        settle();
        assert_int_equal(bench.ended[0][ARRAY], 1);
        assert_int_equal(bench.ended[1][OTHER], 1);
        bench_close();
    }
}

static void nothing_is_asked_while_nobody_waits(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    close_rank(1);
    spawn_array(0, hash);
    end_latest(0, hash);
    settle_until(bench.now + 100 * MS);
    assert_int_equal(sum_sent(MESSAGE_ELEMENTS), 0);
    bench_close();
}

static void a_trusting_home_gives_nothing_up(void **state)
{
    (void)state;
    bench_open(2, CORE_TRUST);
    const moot_hash hash = array_of(0);
    close_rank(1);
    wait_alone(hash);
    assert_int_equal(bench.given_count[0], 1);
    bench_close();
}

static void a_later_spawn_claims_nothing_of_what_was_given_up(void **state)
{
    (void)state;
    const moot_hash hash = give_up_blocked(0);
    assert_given(0, 1, 4, 8);
    end_wait(1, chaired_by(1, 1, 0));
    spawn_array(1, hash);
    settle_until(bench.now + 100 * MS);
    see_given_up(hash);
}

static void what_is_given_up_is_dealt_evenly_to_those_who_hold_it(void **state)
{
    (void)state;
    bench_open(4, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_array(0, hash);
    spawn_array(1, hash);
    close_rank(2);
    close_rank(3);
    begin_wait(0, hash);
    begin_wait(1, hash);
    end_latest(0, hash);
    end_latest(1, hash);
    settle_until(bench.now + 100 * MS);
    uint64_t sizes[2] = {0};
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (uint32_t i = 1; i < bench.given_count[rank]; i++) {
            const struct range given = bench.given[rank][i];
            sizes[rank] += given.end - given.first;
            end_elements(rank, hash, given.first, given.end);
        }
    }
    assert_int_equal(sizes[0] + sizes[1], 4);
    assert_true(sizes[0] >= 1 && sizes[1] >= 1);
    settle();
    assert_int_equal(bench.ended[1][ARRAY], 1);
    bench_close();
}

/* Rank 2 comes when what rank 1 gave up is rank 0's. */
static void what_somebody_owns_is_dealt_once(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    close_rank(1);
    wait_alone(hash);
    assert_int_equal(bench.given_count[0], 2);
    spawn_array(2, hash);
    end_latest(2, hash);
    settle_until(bench.now + 100 * MS);
    assert_int_equal(bench.given_count[2], 1);
    end_latest(0, hash);
    settle();
    assert_int_equal(bench.ended[0][ARRAY], 1);
    assert_int_equal(bench.given_count[0] + bench.given_count[2], 3);
    bench_close();
}

/* --- Deaths (A12) ----------------------------------------------------------------- */

static void die(uint32_t dead)
{
    bench.crashed[dead] = true;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            certify_at(rank, dead);
        }
    }
    pass(200 * MS);
}

static void the_dead_ones_elements_are_dealt_but_for_those_that_ended(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 3; chair++) { /* who dies may chair it, too */
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        pass(50 * MS);
        const moot_hash hash = array_of(chair);
        for (uint32_t rank = 0; rank < 3; rank++) {
            spawn_array(rank, hash);
        }
        const struct range lost = bench.given[2][0];
        end_latest(0, hash);
        pass(5 * MS);
        die(2);
        uint64_t size = 0;
        end_elements(1, hash, bench.given[1][0].first, bench.given[1][0].end);
        for (uint32_t rank = 0; rank < 2; rank++) {
            for (uint32_t i = 1; i < bench.given_count[rank]; i++) {
                const struct range given = bench.given[rank][i];
                assert_true(given.first >= lost.first && given.end <= lost.end);
                size += given.end - given.first;
                end_elements(rank, hash, given.first, given.end);
            }
        }
        assert_int_equal(size, lost.end - lost.first);
        pass(20 * MS);
        assert_int_equal(bench.runs[ARRAY], 1);
        bench_close();
    }
}

/* A17.  Each rank's own stretch, and then the dead ones', each of which is whole. */
static void a_stretch_of_an_array_of_stretches_goes_to_one(void **state)
{
    (void)state;
    const struct array_spread spread = {.count = 5 * COUNT, .kind = ARRAY_SPREAD_BLOCK};
    const struct core_register reg = {.array = &spread, .flags = CORE_TASK_STRETCHES};
    const struct range some = {0, 1};
    struct core_register part = reg;
    part.part = &some;
    part.part_count = 1;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    const moot_hash hash = chaired_by(0, 0, MOOT_HASH_ARRAY | MOOT_HASH_STRETCHES);
    assert_int_equal(spawn_with(0, ARRAY, hash, part), MOOT_ERR_INVALID);
    for (uint32_t rank = 0; rank < 5; rank++) {
        assert_int_equal(spawn_with(rank, ARRAY, hash, reg), MOOT_OK);
    }
    die(4);
    die(3);
    uint64_t size = 0;
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (uint32_t i = 0; i < bench.given_count[rank]; i++) {
            const struct range given = bench.given[rank][i];
            assert_true(given.first % COUNT == 0 && given.end % COUNT == 0);
            size += given.end - given.first;
            end_elements(rank, hash, given.first, given.end);
        }
    }
    assert_int_equal(size, 5 * COUNT);
    pass(20 * MS);
    assert_int_equal(bench.runs[ARRAY], 1);
    bench_close();
}

static void what_the_dead_one_said_has_ended_is_not_run_again(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    const moot_hash hash = array_of(0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_array(rank, hash);
    }
    end_latest(2, hash);
    pass(5 * MS);
    die(2);
    assert_int_equal(bench.given_count[0], 1);
    assert_int_equal(bench.given_count[1], 1);
    end_latest(0, hash);
    end_latest(1, hash);
    pass(5 * MS);
    assert_int_equal(bench.runs[ARRAY], 1);
    bench_close();
}

static void need_end(uint32_t rank, moot_hash hash, enum core_event_type type)
{
    struct core_event event = {.type = type, .hash = hash};
    event.u.need.want = WANT_DONE;
    assert_int_equal(step(rank, &event), MOOT_OK);
    set_lane(rank, type == CORE_EV_NEED ? CORE_LANE_BLOCKED : CORE_LANE_RUNNING);
}

/* Its bytes went with the rank that had ended it. */
static void an_end_that_was_seen_is_told_of_all_elements(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    const moot_hash hash = array_of(2);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_array(rank, hash);
    }
    need_end(0, hash, CORE_EV_NEED);
    for (uint32_t rank = 0; rank < 3; rank++) {
        end_latest(rank, hash);
    }
    pass(50 * MS);
    assert_int_equal(bench.ended[0][ARRAY], 1);
    need_end(0, hash, CORE_EV_UNNEED);
    die(2);
    assert_int_equal(bench.given_count[0], 1);
    assert_int_equal(bench.given_count[1], 1);
    bench_close();
}

/* Rank 0 owns the end, and so asks nobody for it any more: the chair of the new view is
 * to know that it is waited for. */
static void so_they_are_given_up_after_a_death_if_another_owns_the_end(void **state)
{
    (void)state;
    for (int nth = 0; nth < 6; nth++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        pass(50 * MS);
        const moot_hash hash = chaired_by(2, nth, MOOT_HASH_ARRAY);
        const moot_hash other = chaired_by(1, 1, 0);
        spawn(0, OTHER + 1, chaired_by(0, 2, 0));
        spawn_array(0, hash);
        end_latest(0, hash);
        begin_wait(0, hash);
        close_rank(2);
        pass(50 * MS);
        die(2);
        enter(1, OTHER, other);
        begin_wait(1, other);
        pass(200 * MS);
        end_latest(0, hash); /* those of rank 2 */
        pass(2000 * MS);
        assert_int_equal(bench.ended[1][OTHER], 0);
        assert_int_equal(bench.given_count[0], 3);
        bench_close();
    }
}

static void who_leaves_ends_its_elements_first(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    const moot_hash hash = array_of(0);
    struct core_event leaves = {.type = CORE_EV_LEAVE};
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_array(rank, hash);
    }
    assert_int_equal(step(2, &leaves), MOOT_OK);
    pass(200 * MS);
    assert_false(bench.left[2]);
    for (uint32_t rank = 0; rank < 3; rank++) {
        end_latest(rank, hash);
    }
    pass(200 * MS);
    assert_true(bench.left[2]);
    assert_int_equal(bench.given_count[0] + bench.given_count[1], 2);
    bench_close();
}

/* Once it knows by gossip that the chair holds the array.  If it is the chair itself,
 * what it knew of ends goes with it (A12). */
static void who_leaves_does_not_wait_for_the_elements_of_others(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 3; chair++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        pass(50 * MS);
        const moot_hash hash = array_of(chair);
        struct core_event leaves = {.type = CORE_EV_LEAVE};
        for (uint32_t rank = 0; rank < 3; rank++) {
            spawn_array(rank, hash);
        }
        begin_wait(0, hash);
        begin_wait(1, hash);
        pass(200 * MS);
        assert_int_equal(step(2, &leaves), MOOT_OK);
        pass(200 * MS);
        assert_false(bench.left[2]);
        end_latest(2, hash);
        pass(200 * MS);
        assert_true(bench.left[2]);
        assert_int_equal(bench.given_count[0] + bench.given_count[1],
                         chair == 2 ? 4 : 2);
        bench_close();
    }
}

/* --- Lies ------------------------------------------------------------------------- */

static void tell(uint32_t from, uint32_t to, moot_hash hash, enum elements_what what,
                 uint64_t count)
{
    const struct range range = {0, 1};
    struct message message = {.type = MESSAGE_ELEMENTS, .hash = hash};
    core_view(bench.core[from], &message.epoch, &message.view_id);
    message.u.elements = (struct message_elements){.what = what,
                                                   .count = count,
                                                   .homes = bench.size,
                                                   .range_count = 1,
                                                   .ranges = &range};
    post(from, to, &message);
    deliver_all();
}

/* The sender's roll has, or has had, a task of that hash. */
static void tell_hash(uint32_t from, uint32_t to, moot_hash hash)
{
    struct message message = {.type = MESSAGE_HASHES};
    struct core_event event = {.type = CORE_EV_RECV};
    core_view(bench.core[from], &message.epoch, &message.view_id);
    message.u.hashes = (struct message_hashes){.first = 1, .hashes = &hash, .count = 1};
    event.u.recv.from = from;
    event.u.recv.uid = bench.uids[from];
    event.u.recv.message = &message;
    assert_int_equal(step(to, &event), MOOT_OK);
}

/* Rank 1 has had an array of that hash, which has been dropped since. */
static void what_is_given_to_who_does_not_hold_it_comes_back(void **state)
{
    (void)state;
    for (int spawns_late = 0; spawns_late < 2; spawns_late++) {
        bench_open(2, CORE_REPAIR);
        const moot_hash hash = array_of(0);
        block_with_a_run();
        bench.holds[1][0] = true;
        wait_alone(hash);
        tell_hash(1, 0, hash);
        let_go(1, 0);
        settle();
        assert_int_equal(bench.given_count[1], 0);
        assert_given(0, 1, 4, 6);
        assert_given(0, 2, 6, 8);
        if (spawns_late != 0) {
            spawn_array(1, hash); /* it has none left to run */
            assert_int_equal(bench.given_count[1], 0);
        }
        end_elements(0, hash, 4, 8);
        settle();
        assert_int_equal(bench.ended[0][ARRAY], 1);
        bench_close();
    }
}

static void words_that_cannot_be_are_refused(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = array_of(0);
    spawn_array(0, hash);
    spawn_array(1, hash);
    const uint64_t before = core_stats(bench.core[0])->refused;
    tell(1, 0, hash, ELEMENTS_ENDED, COUNT + 1); /* another card */
    tell(1, 0, hash, ELEMENTS_YOURS, COUNT);     /* from who is no chair */
    tell(1, 0, hash, ELEMENTS_WANTED, COUNT);
    assert_int_equal(core_stats(bench.core[0])->refused, before + 3);
    tell(0, 1, hash, ELEMENTS_OWNED, COUNT); /* to who is none */
    tell(0, 1, hash, ELEMENTS_LEFT, COUNT);
    assert_int_equal(core_stats(bench.core[1])->refused, 2);
    bench_close();
}

/* The chair, which has spawned nothing, yields the end to a rank that leaves, gets it
 * back, and says that this one is meant. */
static void who_keeps_an_end_tells_the_chair_what_array_it_is(void **state)
{
    (void)state;
    const struct array_spread spread = {.count = 1, .kind = ARRAY_SPREAD_BLOCK};
    const struct core_register reg = {.array = &spread};
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    const moot_hash array = chaired_by(0, 0, MOOT_HASH_ARRAY);
    const moot_hash kept = chaired_by(1, 0, 0); /* until it ends nobody leaves */
    bench.hold_runs = true;
    spawn(1, 2, kept);
    assert_int_equal(spawn_with(1, ARRAY, array, reg), MOOT_OK);
    close_rank(0);
    pass(50 * MS);
    assert_int_equal(step(1, &(struct core_event){.type = CORE_EV_LEAVE}), MOOT_OK);
    begin_wait(2, array);
    pass(100 * MS);
    assert_int_equal(bench.given_count[1], 1);
    bench_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            each_home_runs_its_stretch_and_one_word_of_each_ends_the_array),
        cmocka_unit_test(it_ends_with_its_last_element_and_not_before),
        cmocka_unit_test(it_fails_as_the_failed_element_of_the_least_index),
        cmocka_unit_test(what_is_no_array_or_was_not_given_is_refused),
        cmocka_unit_test(a_home_whose_program_is_over_gives_its_stretch_up),
        cmocka_unit_test(being_over_is_evidence_enough),
        cmocka_unit_test(so_does_one_that_took_the_other_branch),
        cmocka_unit_test(so_does_one_that_waits_beyond_the_place_where_it_is_wanted),
        cmocka_unit_test(one_that_may_still_spawn_it_gives_nothing_up),
        cmocka_unit_test(
            elements_are_given_up_before_a_wait_fails_for_want_of_a_holder),
        cmocka_unit_test(nothing_is_asked_while_nobody_waits),
        cmocka_unit_test(a_trusting_home_gives_nothing_up),
        cmocka_unit_test(a_later_spawn_claims_nothing_of_what_was_given_up),
        cmocka_unit_test(what_is_given_up_is_dealt_evenly_to_those_who_hold_it),
        cmocka_unit_test(what_somebody_owns_is_dealt_once),
        cmocka_unit_test(the_dead_ones_elements_are_dealt_but_for_those_that_ended),
        cmocka_unit_test(a_stretch_of_an_array_of_stretches_goes_to_one),
        cmocka_unit_test(what_the_dead_one_said_has_ended_is_not_run_again),
        cmocka_unit_test(an_end_that_was_seen_is_told_of_all_elements),
        cmocka_unit_test(so_they_are_given_up_after_a_death_if_another_owns_the_end),
        cmocka_unit_test(who_leaves_ends_its_elements_first),
        cmocka_unit_test(who_leaves_does_not_wait_for_the_elements_of_others),
        cmocka_unit_test(who_keeps_an_end_tells_the_chair_what_array_it_is),
        cmocka_unit_test(what_is_given_to_who_does_not_hold_it_comes_back),
        cmocka_unit_test(words_that_cannot_be_are_refused),
    };
    bench_break_a_rule();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
