/* tally_test.c - a tally counts what its sights say, and adds up. */
#include "consensus/sim/runs/run_stats.h"
#include "proto/wire.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A run of two ranks and three tasks, told by hand. */
struct told {
    struct program *program;
    struct tally_watch *watch;
    struct tally tally;
};

static int begin(void **state)
{
    struct told *told = calloc(1, sizeof(*told));
    told->program = program_blank(1, 2, 1);
    for (int i = 0; i < 3; i++) {
        (void)program_add_task(told->program, "t", PROGRAM_NONE);
    }
    program_finish(told->program);
    told->watch = tally_watch_new(told->program);
    *state = told;
    return 0;
}

static int end(void **state)
{
    struct told *told = *state;
    program_free(told->program);
    free(told);
    return 0;
}

static void see(struct told *told, struct sight sight)
{
    struct sim_watcher watcher = tally_watcher(told->watch);
    watcher.see(watcher.context, NULL, &sight);
}

static void see_motion(struct told *told, uint64_t time_ns, uint32_t rank,
                       uint32_t task, enum want want)
{
    struct message message = {.type = MESSAGE_MOTION, .u.motion.want = want};
    see(told, (struct sight){.type = SIGHT_SEND,
                             .time_ns = time_ns,
                             .rank = rank,
                             .task = task,
                             .message = &message,
                             .size = WIRE_ENVELOPE_BYTES + 40});
}

static void see_gossip(struct told *told, uint32_t rank)
{
    struct message message = {.type = MESSAGE_ROLL};
    see(told, (struct sight){.type = SIGHT_SEND,
                             .rank = rank,
                             .task = 3,
                             .message = &message,
                             .size = WIRE_ENVELOPE_BYTES + 10});
}

static void see_vote(struct told *told, uint32_t chair, uint32_t task)
{
    see(told, (struct sight){.type = SIGHT_NOTE,
                             .rank = chair,
                             .task = task,
                             .point = CORE_POINT_VOTE_CAST,
                             .evidence = EVIDENCE_BLOCKED});
}

static void see_at(struct told *told, enum sight_type type, uint64_t time_ns,
                   uint32_t rank, uint32_t task, const void *data)
{
    see(told, (struct sight){.type = type,
                             .time_ns = time_ns,
                             .rank = rank,
                             .task = task,
                             .data = data});
}

static const struct tally *finish(struct told *told)
{
    struct sim_report report = {.end_ns = 5000, .counts = {.events = 7, .crashes = 1}};
    tally_watch_end(told->watch, &report, NULL, &told->tally);
    return &told->tally;
}

static void an_ask_lasts_from_motion_to_result(void **state)
{
    struct told *told = *state;
    see_motion(told, 100, 0, 0, WANT_NOTHING); /* tells, and asks nothing */
    see_motion(told, 200, 0, 0, WANT_DATA);
    see_motion(told, 300, 0, 0, WANT_DATA);       /* the same ask again */
    see_at(told, SIGHT_KEEP, 900, 0, 0, NULL);    /* an offer without bytes */
    see_at(told, SIGHT_KEEP, 1200, 0, 0, "data"); /* ... that come */
    see_at(told, SIGHT_KEEP, 1300, 1, 0, "data"); /* who did not ask */
    const struct tally *tally = finish(told);
    assert_int_equal(tally->asks.count, 1);
    assert_int_equal(tally->asks.most_ns, 1000);
    assert_int_equal(tally->vote_asks_ns.count, 0);
    assert_int_equal(tally->messages[MESSAGE_MOTION], 3);
    assert_int_equal(tally->bytes[MESSAGE_MOTION], 120);
    assert_int_equal(tally->rank_messages_most, 3);
    assert_int_equal(tally->runs, 1);
    assert_int_equal(tally->events, 7);
    assert_int_equal(tally->deaths, 1);
}

static void a_winner_has_the_result_when_its_kernel_ends(void **state)
{
    struct told *told = *state;
    see_motion(told, 100, 1, 2, WANT_DONE);
    see_vote(told, 0, 2);
    see_at(told, SIGHT_START, 200, 1, 2, NULL);
    see_at(told, SIGHT_END, 400, 1, 2, "data");
    const struct tally *tally = finish(told);
    assert_int_equal(tally->vote_asks_ns.count, 1);
    assert_int_equal(tally->vote_asks_ns.most_ns, 300);
    assert_int_equal(tally->votes[EVIDENCE_BLOCKED], 1);
    assert_int_equal(tally->voted, 1);
    assert_int_equal(tally->vote_messages, 1);
    assert_int_equal(tally->vote_bytes, 40);
    assert_int_equal(tally->vote_asks, 1);
    assert_int_equal(tally->tasks_run, 1);
}

static void a_vote_is_needless_if_its_chair_spawns_the_task_later(void **state)
{
    struct told *told = *state;
    see_at(told, SIGHT_SPAWN, 10, 0, 0, NULL); /* before: it had spawned it already */
    see_vote(told, 0, 0);
    see_vote(told, 0, 1);
    see_at(told, SIGHT_SPAWN, 20, 1, 1, NULL); /* another rank */
    see_vote(told, 0, 2);
    see_at(told, SIGHT_SPAWN, 30, 0, 2, NULL);
    const struct tally *tally = finish(told);
    assert_int_equal(tally->votes[EVIDENCE_BLOCKED], 3);
    assert_int_equal(tally->needless[EVIDENCE_BLOCKED], 1);
    assert_int_equal(tally->spawns, 3);
}

static void gossip_is_told_by_task_and_peer(void **state)
{
    struct told *told = *state;
    for (uint32_t task = 0; task < 3; task++) {
        see_at(told, SIGHT_SPAWN, 10, task % 2, task, NULL);
    }
    see_gossip(told, 0);
    see_gossip(told, 1);
    see_motion(told, 100, 0, 0, WANT_DATA);
    const struct tally *tally = finish(told);
    assert_int_equal(tally_gossip_bytes(tally), 20);
    assert_int_equal(tally->gossip_pairs, 3); /* each rank has one peer */
}

static void ranks_beyond_the_program_count_too(void **state)
{
    struct told *told = *state;
    see_motion(told, 1, 5, 0, WANT_DATA);
    see_motion(told, 1, 5, 1, WANT_DATA);
    see_motion(told, 1, 0, 1, WANT_DATA);
    assert_int_equal(finish(told)->rank_messages_most, 2);
}

static void sums_add_up(void **state)
{
    struct told *told = *state;
    see_motion(told, 0, 0, 0, WANT_DATA);
    see_at(told, SIGHT_KEEP, 70, 0, 0, "data");
    struct tally *sum = calloc(1, sizeof(*sum));
    const struct tally *tally = finish(told);
    for (int i = 0; i < 3; i++) {
        tally_add(sum, tally);
    }
    assert_int_equal(sum->runs, 3);
    assert_int_equal(sum->time_ns, 15000);
    assert_int_equal(sum->asks.count, 3);
    assert_int_equal(sum->asks.most_ns, 70);
    assert_int_equal(sum->messages[MESSAGE_MOTION], 3);
    assert_int_equal(sum->rank_messages_most, 1);
    free(sum);
}

/* Percentiles are never too low, and too high by a sixteenth at most. */
static void percentiles_are_exact_to_a_sixteenth(void **state)
{
    struct told *told = *state;
    struct tally *none = calloc(1, sizeof(*none));
    assert_int_equal(tally_percentile_ns(&none->asks, 500), 0);
    for (uint64_t ns = 1; ns <= 1000; ns++) {
        see_motion(told, 0, (uint32_t)ns, 1, WANT_DATA);
        see_at(told, SIGHT_KEEP, 1000 * ns, (uint32_t)ns, 1, "data");
    }
    const struct tally *tally = finish(told);
    for (uint32_t per_mille = 1; per_mille <= 1000; per_mille++) {
        uint64_t got = tally_percentile_ns(&tally->asks, per_mille);
        uint64_t exact = 1000 * (uint64_t)per_mille;
        assert_in_range(got, exact, exact + exact / 16 + 1);
    }
    free(none);
}

static void the_standstill_nearest_to_its_bound_stays(void **state)
{
    (void)state;
    static struct tally sum, more;
    sum.standstill = (struct sim_standstill){.lasted_ns = 10, .bound_ns = 100};
    tally_add(&sum, &more); /* a run without any */
    assert_int_equal(sum.standstill.lasted_ns, 10);
    more.standstill = (struct sim_standstill){.lasted_ns = 11, .bound_ns = 200};
    tally_add(&sum, &more);
    assert_int_equal(sum.standstill.lasted_ns, 10);
    more.standstill.bound_ns = 20;
    tally_add(&sum, &more);
    assert_int_equal(sum.standstill.lasted_ns, 11);
    assert_int_equal(sum.standstill.bound_ns, 20);
}

static void times_are_told_in_the_unit_that_fits(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } rows[] = {
        {0, "0 ns"},         {999, "999 ns"},        {1500, "1.5 us"},
        {20000000, "20 ms"}, {1250000000, "1.25 s"}, {UINT64_C(7200000000000), "2 h"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[32];
        tally_time_format(rows[i].ns, text, sizeof(text));
        assert_string_equal(text, rows[i].text);
    }
}

#define TOLD(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TOLD(an_ask_lasts_from_motion_to_result),
        TOLD(a_winner_has_the_result_when_its_kernel_ends),
        TOLD(a_vote_is_needless_if_its_chair_spawns_the_task_later),
        TOLD(gossip_is_told_by_task_and_peer),
        TOLD(ranks_beyond_the_program_count_too),
        TOLD(sums_add_up),
        TOLD(percentiles_are_exact_to_a_sixteenth),
        cmocka_unit_test(the_standstill_nearest_to_its_bound_stays),
        cmocka_unit_test(times_are_told_in_the_unit_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
