/* asking_test.c - when a motion that was held back goes out (T3a). */
#include "tests/unit/bench.h"

enum { DELAY_US = 1000, BUSY_DELAYS = 100 }; /* bench.h's ask delay; PROTOCOL.md */

static void pass_us(uint64_t us) { settle_until(bench.now + us * 1000); }

static uint64_t motions_of(uint32_t rank)
{
    return core_stats(bench.core[rank])->motions_sent;
}

/* Rank 0 alone holds it, and rank 1 chairs it. */
static moot_hash spawn_alone(int number)
{
    moot_hash hash = chaired_by(1, number, 0);
    spawn(0, number, hash);
    return hash;
}

static void only_an_idle_time_as_long_as_the_delay_asks(void **state)
{
    (void)state;
    bench.adapt = CORE_ADAPT_ASK; /* it looks sooner, since a delay may be shorter */
    bench_open(2, CORE_REPAIR);
    begin_wait(0, spawn_alone(1));
    for (int i = 0; i < 8; i++) { /* with each kernel it is busy, and idle again */
        pass_us(DELAY_US - 100);
        set_lane(0, CORE_LANE_RUNNING);
        pass_us(10);
        set_lane(0, CORE_LANE_BLOCKED);
    }
    pass_us(DELAY_US - 10);
    assert_int_equal(motions_of(0), 0);
    pass_us(20);
    assert_int_equal(motions_of(0), 1);
    bench.adapt = 0;
    bench_close();
}

static void a_busy_rank_asks_for_what_a_lane_waits_for(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    struct core_event busy = {.type = CORE_EV_LANE};
    busy.u.lane.lane = 1;
    busy.u.lane.state = CORE_LANE_RUNNING;
    assert_int_equal(step(0, &busy), MOOT_OK);
    begin_wait(0, spawn_alone(1));
    pass_us(BUSY_DELAYS * DELAY_US);
    assert_int_equal(motions_of(0), 0);
    pass_us(2 * DELAY_US); /* a millisecond on top */
    assert_int_equal(motions_of(0), 1);
    bench_close();
}

static void what_a_remote_rank_waits_for_is_asked_for_by_a_busy_one(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash input = spawn_alone(1), consumer = chaired_by(0, 2, 0);
    struct core_register reg = {.inputs = &input, .input_count = 1};
    assert_int_equal(spawn_with(0, 2, consumer, reg), MOOT_OK);
    pass_us(10 * DELAY_US);
    assert_int_equal(motions_of(0), 0); /* its program runs, and nobody waits */
    begin_wait(2, consumer);
    pass_us(10);
    assert_int_equal(motions_of(0), 1); /* it has been held back for long enough */
    bench_close();
}

/* Of a chain rank 0 owns one half, and rank 1 chairs the other and lacks it. */
static moot_hash spawn_chain(int first, int pairs)
{
    moot_hash link = spawn_alone(first);
    for (int i = 0; i < pairs; i++) {
        struct core_register reg = {.inputs = &link, .input_count = 1};
        int number = first + 2 * i + 1;
        moot_hash own = chaired_by(0, number, 0);
        assert_int_equal(spawn_with(0, number, own, reg), MOOT_OK);
        link = chaired_by(1, number + 1, 0);
        reg.inputs = &own;
        assert_int_equal(spawn_with(0, number + 1, link, reg), MOOT_OK);
    }
    return chaired_by(0, first + 2 * pairs - 1, 0); /* the last that rank 0 owns */
}

enum { FIRST_EARLY = 8, PAIRS = 28 };

/* Only the first link can have run anywhere: the others take what rank 0 lacks. */
static void what_cannot_have_run_is_asked_for_bit_by_bit(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    begin_wait(0, spawn_chain(1, PAIRS));
    pass_us(DELAY_US - 10);
    assert_int_equal(motions_of(0), 0);
    pass_us(20);
    assert_int_equal(motions_of(0), 1 + FIRST_EARLY);
    pass_us(DELAY_US - 30);
    assert_int_equal(motions_of(0), 1 + FIRST_EARLY);
    pass_us(40);
    assert_int_equal(motions_of(0), 1 + 3 * FIRST_EARLY);
    pass_us(DELAY_US);
    assert_int_equal(motions_of(0), PAIRS); /* all that rank 0 takes */
    bench_close();
}

/* Each link takes the one before, which this rank needs, too, and has not got. */
static void what_takes_what_is_to_come_cannot_have_run(void **state)
{
    enum { LINKS = 20 };
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash link = spawn_alone(1), last = link;
    for (int number = 1; number < 2 * LINKS; number += 2) {
        struct core_register reg = {.inputs = &link, .input_count = 1};
        last = chaired_by(0, number + 1, 0);
        assert_int_equal(spawn_with(0, number + 1, last, reg), MOOT_OK);
        moot_hash next = chaired_by(1, number + 2, 0);
        assert_int_equal(spawn_with(0, number + 2, next, reg), MOOT_OK);
        link = next;
    }
    begin_wait(0, last);
    pass_us(DELAY_US + 10);
    assert_int_equal(motions_of(0), 1 + FIRST_EARLY);
    bench_close();
}

/* What nobody holds is not to come, though its wait goes on for something else. */
static void what_takes_what_nobody_holds_may_have_run(void **state)
{
    enum { LINKS = 20 };
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash missing = chaired_by(1, 0, 0);
    struct core_event decline = {.type = CORE_EV_DECLINE, .hash = missing};
    assert_int_equal(step(0, &decline), MOOT_OK);
    assert_int_equal(step(1, &decline), MOOT_OK);
    begin_wait(0, missing);
    settle();
    assert_int_equal(bench.ended[0][0], MOOT_ERR_NOT_HELD);
    set_lane(0, CORE_LANE_RUNNING);
    uint64_t before = motions_of(0);
    for (int number = 1; number < 2 * LINKS; number += 2) {
        struct core_register reg = {.inputs = &missing, .input_count = 1};
        moot_hash link = chaired_by(1, number, 0);
        assert_int_equal(spawn_with(0, number, link, reg), MOOT_OK);
        reg.inputs = &link;
        moot_hash own = chaired_by(0, number, 0);
        assert_int_equal(spawn_with(0, number + 1, own, reg), MOOT_OK);
    }
    set_lane(0, CORE_LANE_BLOCKED);
    pass_us(DELAY_US + 10);
    assert_int_equal(motions_of(0) - before, LINKS);
    bench_close();
}

/* A task which this rank may run, too; that a program has spawned; or neither of these.
 */
static void what_was_taken_in_for_another_is_asked_for_at_once(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        bench_open(2, CORE_REPAIR);
        struct rankset candidates = {0};
        assert_true(rankset_add(&candidates, 1));
        assert_true(kind != 0 || rankset_add(&candidates, 0));
        moot_hash hash = chaired_by(1, 0, MOOT_HASH_CANDIDATES);
        struct core_register reg = {.candidates = &candidates,
                                    .flags = kind != 1 ? CORE_TASK_ADOPTED : 0};
        assert_int_equal(spawn_with(0, 1, hash, reg), MOOT_OK);
        begin_wait(0, hash);
        pass_us(DELAY_US - 10);
        assert_int_equal(motions_of(0), kind == 2 ? 1 : 0);
        pass_us(20);
        assert_int_equal(motions_of(0), 1);
        rankset_release(&candidates);
        bench_close();
    }
}

/* Of one task that rank 0 owns; more than it looks at in a turn. */
static void all_that_may_have_run_is_asked_for_at_once(void **state)
{
    enum { TASKS = 400, NUMBER = 1, LAST = 2 };
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash inputs[TASKS];
    for (int i = 0; i < TASKS; i++) {
        inputs[i] = chaired_by(1, i, 0);
        spawn(0, NUMBER, inputs[i]);
    }
    moot_hash last = chaired_by(0, LAST, 0);
    struct core_register reg = {.inputs = inputs, .input_count = TASKS};
    assert_int_equal(spawn_with(0, LAST, last, reg), MOOT_OK);
    begin_wait(0, last);
    pass_us(DELAY_US - 10);
    assert_int_equal(motions_of(0), 0);
    pass_us(40);
    assert_int_equal(motions_of(0), TASKS);
    bench_close();
}

/* Rank 1 rests, and has said so; or has sent a result since, or begun to spawn. */
static void a_chair_that_rests_is_asked_sooner(void **state)
{
    (void)state;
    for (int stirs = 0; stirs < 2; stirs++) {
        bench.adapt = CORE_ADAPT_ASK;
        bench_open(2, CORE_REPAIR);
        begin_wait(1, chaired_by(0, 1, 0));
        pass_us(20 * DELAY_US);
        if (stirs) {
            spawn(0, 1, chaired_by(0, 1, 0)); /* what it waits for */
        }
        uint64_t before = motions_of(0);
        begin_wait(0, spawn_alone(2));
        pass_us(DELAY_US / 10 - 10);
        assert_int_equal(motions_of(0), before);
        pass_us(20);
        assert_int_equal(motions_of(0) - before, stirs ? 0 : 1);
        pass_us(DELAY_US);
        assert_int_equal(motions_of(0) - before, 1);
        bench.adapt = 0;
        bench_close();
    }
}

static void what_a_lane_waits_for_is_not_behind_what_cannot_have_run(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    (void)spawn_chain(1, PAIRS);
    moot_hash last = chaired_by(1, 2 * PAIRS + 1, 0); /* takes the chain's other half */
    begin_wait(0, last);
    pass_us(DELAY_US + 10);
    assert_int_equal(motions_of(0), 2 + FIRST_EARLY);
    struct core_task_view view;
    assert_true(core_task_look(bench.core[1], &last, &view));
    assert_true(rankset_has(&view.asked_by, 0));
    rankset_release(&view.asked_by);
    rankset_release(&view.holders);
    bench_close();
}

static void nor_is_what_a_remote_rank_waits_for(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    begin_wait(0, spawn_chain(1, PAIRS));
    moot_hash input = spawn_alone(2 * PAIRS + 2);
    struct core_register reg = {.inputs = &input, .input_count = 1};
    moot_hash consumer = chaired_by(0, 2 * PAIRS + 3, 0);
    assert_int_equal(spawn_with(0, 2 * PAIRS + 3, consumer, reg), MOOT_OK);
    begin_wait(2, consumer);
    pass_us(DELAY_US + 10);
    assert_int_equal(motions_of(0), 2 + FIRST_EARLY);
    bench_close();
}

/* A host that asks for the deadline after these steps alone is not late. */
static void what_a_rank_is_to_do_soon_hurries_its_host(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    bench.hold_runs = true;
    set_lane(0, CORE_LANE_RUNNING);
    moot_hash own = chaired_by(0, 1, 0), last = chaired_by(0, 2, 0);
    spawn(0, 1, own);
    spawn(0, 2, last);
    spawn(0, 3, chaired_by(1, 3, 0));
    assert_false(bench.hurried);
    struct core_event done = {.type = CORE_EV_DONE, .hash = own};
    assert_int_equal(step(0, &done), MOOT_OK);
    assert_false(bench.hurried);
    set_lane(0, CORE_LANE_BLOCKED);
    assert_true(bench.hurried);
    done.hash = last;
    assert_int_equal(step(0, &done), MOOT_OK);
    assert_true(bench.hurried); /* the rank has come to rest */
    set_lane(0, CORE_LANE_RUNNING);
    struct core_register hinted = {.flags = CORE_TASK_HINT};
    assert_int_equal(spawn_with(0, 4, chaired_by(1, 4, 0), hinted), MOOT_OK);
    assert_true(bench.hurried); /* a motion goes out with the turn */
    bench_close();
}

static void spawn_private(uint32_t rank, int n)
{
    struct core_register reg = {.flags = CORE_TASK_HINT, .lane = 1};
    for (int i = 0; i < n; i++) {
        moot_hash hash = chaired_by(0, i, 0);
        assert_int_equal(spawn_with(rank, 1, hash, reg), MOOT_OK);
        if (rank == 0) {
            begin_wait(rank, hash);
            end_wait(rank, hash);
        }
    }
    struct core_event rest = {.type = CORE_EV_LANE};
    rest.u.lane.lane = 1;
    rest.u.lane.state = CORE_LANE_BLOCKED;
    assert_int_equal(step(rank, &rest), MOOT_OK);
}

/* What rank 0 has waited for, and nobody else has spawned, is watched for holders; of
 * very much of that the latest. */
static void of_what_others_lack_the_latest_is_pushed(void **state)
{
    (void)state;
    enum { WATCHED = 64, MORE = 300 };
    bench_open(2, CORE_REPAIR);
    spawn_private(0, MORE);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, 2, chaired_by(1, 0, 0));
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    uint64_t before = core_stats(bench.core[0])->results_pushed;
    spawn_private(1, MORE);
    settle();
    assert_int_equal(core_stats(bench.core[0])->results_pushed - before, WATCHED);
    bench_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_an_idle_time_as_long_as_the_delay_asks),
        cmocka_unit_test(a_busy_rank_asks_for_what_a_lane_waits_for),
        cmocka_unit_test(what_a_remote_rank_waits_for_is_asked_for_by_a_busy_one),
        cmocka_unit_test(what_was_taken_in_for_another_is_asked_for_at_once),
        cmocka_unit_test(what_cannot_have_run_is_asked_for_bit_by_bit),
        cmocka_unit_test(what_takes_what_is_to_come_cannot_have_run),
        cmocka_unit_test(what_takes_what_nobody_holds_may_have_run),
        cmocka_unit_test(all_that_may_have_run_is_asked_for_at_once),
        cmocka_unit_test(a_chair_that_rests_is_asked_sooner),
        cmocka_unit_test(what_a_lane_waits_for_is_not_behind_what_cannot_have_run),
        cmocka_unit_test(nor_is_what_a_remote_rank_waits_for),
        cmocka_unit_test(what_a_rank_is_to_do_soon_hurries_its_host),
        cmocka_unit_test(of_what_others_lack_the_latest_is_pushed),
    };
    bench_break_a_rule();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
