/* timers_test.c - what is learnt, and which of a core's timers follow it. */
#include "tests/unit/bench.h"

#include "consensus/state/state.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)
#define SUSPECT_NS (6 * HEARTBEAT_NS)
#define ASK_NS ((uint64_t)MS)

/* --- Arithmetic ------------------------------------------------------------------- */

static void an_estimate_comes_near_what_it_is_given(void **state)
{
    (void)state;
    struct estimate e = {0};
    estimate_add(&e, 800);
    assert_int_equal(e.mean_ns, 800);
    assert_int_equal(e.deviation_ns, 400);
    estimate_add(&e, 1600); /* RFC 6298: 7/8 800 + 1/8 1600; 3/4 400 + 1/4 800 */
    assert_int_equal(e.mean_ns, 900);
    assert_int_equal(e.deviation_ns, 500);
    for (int i = 0; i < 200; i++) {
        estimate_add(&e, 5000);
    }
    assert_in_range(e.mean_ns, 4990, 5000);
    assert_in_range(e.deviation_ns, 0, 20);
    for (int i = 0; i < 200; i++) {
        estimate_add(&e, i % 2 ? UINT64_MAX : 0); /* nothing overflows */
    }
    assert_in_range(e.mean_ns, UINT64_MAX / 4, UINT64_MAX / 4 * 3);
    assert_int_equal(e.count, 402);
}

static void quantiles_are_no_less_and_little_more(void **state)
{
    (void)state;
    static struct quantiles q;
    assert_int_equal(quantiles_at_ns(&q, 999), 0);
    for (uint64_t i = 1; i <= 1000; i++) {
        quantiles_add(&q, i * 1000);
    }
    static const uint32_t rows[] = {1, 10, 500, 900, 999, 1000};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t exact_ns = rows[i] * UINT64_C(1000);
        assert_in_range(quantiles_at_ns(&q, rows[i]), exact_ns, exact_ns * 5 / 4);
    }
    struct quantiles edges = {0};
    quantiles_add(&edges, 0);
    assert_int_equal(quantiles_at_ns(&edges, 1000), 0);
    quantiles_add(&edges, UINT64_MAX);
    assert_true(quantiles_at_ns(&edges, 1000) == UINT64_MAX);
}

static void what_was_long_ago_fades(void **state)
{
    (void)state;
    static struct quantiles q;
    for (int i = 0; i < QUANTILES_WINDOW; i++) {
        quantiles_add(&q, 1000000);
    }
    for (int i = 0; i < 20 * QUANTILES_WINDOW; i++) {
        quantiles_add(&q, 1000);
    }
    assert_in_range(quantiles_at_ns(&q, 999), 1000, 1250);
    assert_in_range(q.count, 1, QUANTILES_WINDOW);
}

/* --- Cores ------------------------------------------------------------------------ */

static struct core_timers timers_of(uint32_t rank, uint32_t peer)
{
    struct core_timers timers;
    assert_true(core_timers_look(bench.core[rank], peer, &timers));
    return timers;
}

/* What 1 says takes so long to 0, for some heartbeats. */
static void slow_grants(uint64_t ns)
{
    for (int i = 0; i < 40; i++) {
        bench.holds[1][0] = true;
        pass(ns);
        let_go(1, 0);
        pass(HEARTBEAT_NS);
    }
}

static void the_ask_delay_follows_the_round_trip(void **state)
{
    (void)state;
    bench.adapt = CORE_ADAPT_ASK;
    bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
    assert_int_equal(timers_of(0, 1).ask_delay_ns, ASK_NS);
    pass(HEARTBEAT_NS / 10); /* a short job has learnt it */
    assert_int_equal(timers_of(0, 1).ask_delay_ns, ASK_NS / 10);
    pass(20 * HEARTBEAT_NS); /* a wire that takes no time */
    struct core_timers quick = timers_of(0, 1);
    assert_in_range(quick.round_trips, 25, 45); /* ten of them early */
    assert_int_equal(quick.ask_delay_ns, ASK_NS / 10);
    slow_grants(4 * (uint64_t)MS);
    struct core_timers slow = timers_of(0, 1);
    assert_in_range(slow.round_trip_ns, MS / 2, 5 * MS);
    assert_true(slow.ask_delay_ns >= ASK_NS && slow.ask_delay_ns <= 5 * ASK_NS);
    assert_int_equal(timers_of(0, 2).ask_delay_ns, ASK_NS / 10); /* each its own */
    assert_false(core_timers_look(bench.core[0], 3, &slow));
    bench_close();
}

static void what_is_set_stays(void **state)
{
    (void)state;
    bench.adapt = 0;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    slow_grants(25 * (uint64_t)MS);
    struct core_timers timers = timers_of(0, 1);
    assert_int_equal(timers.ask_delay_ns, ASK_NS);
    assert_int_equal(timers.suspect_ns, SUSPECT_NS);
    assert_true(timers.vote_timeout_ns == CORE_NEVER);
    assert_in_range(timers.longest_gap_ns, 25 * MS, 60 * MS); /* seen all the same */
    bench_close();
}

static void suspicion_grows_with_gaps_and_no_further_than_it_may(void **state)
{
    (void)state;
    bench.adapt = CORE_ADAPT_SUSPECT;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    pass(10 * HEARTBEAT_NS);
    assert_int_equal(timers_of(0, 1).suspect_ns, SUSPECT_NS);
    for (uint64_t gap = 5; gap <= 19; gap += 2) { /* each within what the last allows */
        bench.holds[1][0] = true;
        pass(gap * HEARTBEAT_NS);
        let_go(1, 0);
        pass(2 * HEARTBEAT_NS);
    }
    assert_int_equal(timers_of(0, 1).suspect_ns, CORE_SUSPECT_FACTOR_MAX * SUSPECT_NS);
    assert_int_equal(timers_of(1, 0).suspect_ns, SUSPECT_NS);
    assert_int_equal(bench.epoch[0], 0); /* nobody was removed */
    pass(200 * HEARTBEAT_NS);
    assert_int_equal(timers_of(0, 1).suspect_ns, SUSPECT_NS); /* it fades */
    bench_close();
}

static void who_is_late_itself_suspects_later(void **state)
{
    (void)state;
    bench.adapt = CORE_ADAPT_SUSPECT;
    bench_open_with(2, CORE_REPAIR, HEARTBEAT_NS);
    pass(2 * HEARTBEAT_NS);
    assert_int_equal(timers_of(0, 1).unwell, 0);
    bench.now += 4 * HEARTBEAT_NS; /* neither is stepped */
    pass(HEARTBEAT_NS / 2);
    assert_int_equal(timers_of(0, 1).unwell, 1);
    assert_true(timers_of(0, 1).suspect_ns >= 2 * SUSPECT_NS);
    pass(3 * HEARTBEAT_NS);
    assert_int_equal(timers_of(0, 1).unwell, 0);
    bench_close();
}

/* 1 asks 0 for a task; so much later 0 spawns it after all. */
static void ask_late_chair(int n, uint64_t late_ns)
{
    moot_hash task = chaired_by(0, n, 0);
    set_lane(0, CORE_LANE_RUNNING);
    set_lane(1, CORE_LANE_RUNNING);
    spawn(1, n, task);
    begin_wait(1, task);
    settle_until(bench.now + late_ns);
    spawn(0, n, task);
    settle_until(bench.now + 10 * (uint64_t)MS);
    assert_int_equal(bench.ended[1][n], 1);
    end_wait(1, task);
}

static void the_vote_timeout_is_twice_the_lateness(void **state)
{
    (void)state;
    bench.adapt = CORE_ADAPT_VOTE;
    bench_open(2, CORE_REPAIR);
    for (int n = 0; n < 15; n++) {
        ask_late_chair(n, 20 * (uint64_t)MS);
    }
    assert_true(timers_of(0, 1).vote_timeout_ns == CORE_NEVER); /* too few */
    ask_late_chair(15, 20 * (uint64_t)MS);
    uint64_t learnt_ns = timers_of(0, 1).vote_timeout_ns;
    assert_in_range(learnt_ns, 2 * 18 * MS, 2 * 25 * MS);
    assert_int_equal(timers_of(0, 1).late_claims, 16);
    assert_true(timers_of(1, 0).vote_timeout_ns == CORE_NEVER); /* never late */
    assert_int_equal(sum_yields(), 0);

    /* Later than ever: 0 yields what it was about to spawn, and has learnt. */
    ask_late_chair(16, 100 * (uint64_t)MS);
    assert_int_equal(core_stats(bench.core[0])->yields[EVIDENCE_TIMEOUT], 1);
    assert_int_equal(bench.ran_on[16], 1);
    assert_true(timers_of(0, 1).vote_timeout_ns > 2 * 90 * (uint64_t)MS);
    ask_late_chair(17, 100 * (uint64_t)MS);
    assert_int_equal(core_stats(bench.core[0])->yields[EVIDENCE_TIMEOUT], 1);
    assert_int_equal(bench.ran_on[17], 0);
    bench_close();
}

static void was_late(int times, uint64_t late_ns)
{
    for (int i = 0; i < times; i++) {
        timers_late_claim(bench.core[0], late_ns);
    }
}

static void ask_for_orphan(int n) /* 0 never spawns it */
{
    moot_hash orphan = chaired_by(0, n, 0);
    set_lane(1, CORE_LANE_RUNNING);
    spawn(1, n, orphan);
    begin_wait(1, orphan);
}

/* The younger ask was not due when the older one was; with what is learnt then it was.
 */
static void a_timeout_that_falls_counts_for_open_asks(void **state)
{
    (void)state;
    bench.adapt = CORE_ADAPT_VOTE;
    bench_open(2, CORE_REPAIR);
    set_lane(0, CORE_LANE_RUNNING);
    was_late(16, 100 * (uint64_t)MS); /* T_vote: about 200 ms */
    ask_for_orphan(1);
    settle_until(bench.now + 150 * (uint64_t)MS);
    ask_for_orphan(2);
    settle_until(bench.now + 100 * (uint64_t)MS);
    assert_int_equal(bench.ended[1][1], 1);
    assert_int_equal(bench.ended[1][2], 0);
    was_late(10 * QUANTILES_WINDOW, MS);
    struct core_event tick = {.type = CORE_EV_TICK};
    assert_int_equal(step(0, &tick), MOOT_OK);
    settle_until(bench.now + MS);
    assert_int_equal(bench.ended[1][2], 1);
    assert_int_equal(core_stats(bench.core[0])->yields[EVIDENCE_TIMEOUT], 2);
    bench_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_estimate_comes_near_what_it_is_given),
        cmocka_unit_test(quantiles_are_no_less_and_little_more),
        cmocka_unit_test(what_was_long_ago_fades),
        cmocka_unit_test(the_ask_delay_follows_the_round_trip),
        cmocka_unit_test(what_is_set_stays),
        cmocka_unit_test(suspicion_grows_with_gaps_and_no_further_than_it_may),
        cmocka_unit_test(who_is_late_itself_suspects_later),
        cmocka_unit_test(the_vote_timeout_is_twice_the_lateness),
        cmocka_unit_test(a_timeout_that_falls_counts_for_open_asks),
    };
    bench_break_a_rule();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
