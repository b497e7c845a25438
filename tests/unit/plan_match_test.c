/* plan_match_test.c - which rules of a fault plan strike what, and what never struck.
 */
#include "tests/unit/plan_parsed.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

struct stage {
    struct plan *plan;
    struct plan_rank rank;
};

static struct stage set(const char *text)
{
    return (struct stage){.plan = parse(text)};
}

static plan_rules send(struct stage *stage, enum message_type type, uint32_t from,
                       uint32_t to, uint64_t now_ns)
{
    struct plan_message message = {.types = PLAN_TYPE(type), .from = from, .to = to};
    return plan_message(stage->plan, &stage->rank, &message, now_ns);
}

static plan_rules arrive(struct stage *stage, enum message_type type, uint32_t from,
                         uint32_t to, uint64_t now_ns)
{
    struct plan_message message = {
        .types = PLAN_TYPE(type), .from = from, .to = to, .arriving = true};
    return plan_message(stage->plan, &stage->rank, &message, now_ns);
}

static void a_rule_matches_types_and_links(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        enum message_type type;
        uint32_t from, to;
        bool matches;
    } rows[] = {
        {"drop", MESSAGE_KERNEL, 0, 1, true},
        {"drop/vote", MESSAGE_MOTION, 0, 1, true},
        {"drop/vote", MESSAGE_ACK, 0, 1, true},
        {"drop/vote", MESSAGE_RESULT, 0, 1, false},
        {"drop/RESULT", MESSAGE_RESULT, 0, 1, true},
        {"drop/RESULT", MESSAGE_PULL, 0, 1, false},
        {"drop/result", MESSAGE_PULL, 0, 1, true},
        {"drop/gossip+POLL", MESSAGE_STATE, 0, 1, true},
        {"drop/gossip+POLL", MESSAGE_POLL, 0, 1, true},
        {"drop/gossip+POLL", MESSAGE_POLLR, 0, 1, false},
        {"drop/view", MESSAGE_POLL, 0, 1, false},
        {"drop/r1", MESSAGE_POLL, 0, 1, true},
        {"drop/r1", MESSAGE_POLL, 1, 0, true},
        {"drop/r1", MESSAGE_POLL, 0, 2, false},
        {"drop/r1-3", MESSAGE_POLL, 0, 2, true},
        {"drop/r1-r3", MESSAGE_POLL, 1, 2, false},
        {"drop/r1-r3", MESSAGE_POLL, 3, 1, true},
        {"drop/r1-to-r3", MESSAGE_POLL, 3, 1, false},
        {"drop/r1-to-r3", MESSAGE_POLL, 1, 3, true},
        {"drop/all-to-r3", MESSAGE_POLL, 9, 3, true},
        {"drop/all-to-r3", MESSAGE_POLL, 3, 9, false},
        {"drop/r3-all", MESSAGE_POLL, 3, 9, true},
        {"part:0-1/2-3", MESSAGE_POLL, 0, 2, true},
        {"part:0-1/2-3", MESSAGE_POLL, 3, 1, true},
        {"part:0-1/2-3", MESSAGE_POLL, 0, 1, false},
        {"part:0-1/2-3", MESSAGE_POLL, 0, 4, false},
        {"part:0-1-to-2-3", MESSAGE_POLL, 0, 2, true},
        {"part:0-1-to-2-3", MESSAGE_POLL, 2, 0, false},
        {"part:0-1", MESSAGE_POLL, 0, 7, true},
        {"part:0-1", MESSAGE_POLL, 7, 1, true},
        {"part:0-1", MESSAGE_POLL, 0, 1, false},
        {"part:0-1", MESSAGE_POLL, 7, 8, false},
        {"slow:x2", MESSAGE_POLL, 0, 1, false},
        {"kill:r0@1s", MESSAGE_POLL, 0, 1, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct stage stage = set(rows[i].rule);
        plan_rules got = send(&stage, rows[i].type, rows[i].from, rows[i].to, 0);
        if ((got != 0) != rows[i].matches) {
            fail_msg("%s on %s %u to %u", rows[i].rule, message_type_name(rows[i].type),
                     rows[i].from, rows[i].to);
        }
        assert_int_equal(arrive(&stage, rows[i].type, rows[i].from, rows[i].to, 0), 0);
        plan_free(stage.plan);
    }
}

static void every_type_has_a_group(void **state)
{
    (void)state;
    for (unsigned type = 1; type < MESSAGE_TYPE_END; type++) {
        assert_true(plan_group((enum message_type)type) < PLAN_GROUP_END);
    }
    assert_int_equal(plan_group(MESSAGE_NONE), PLAN_GROUP_END);
    assert_int_equal(plan_group((enum message_type)1000), PLAN_GROUP_END);
    assert_string_equal(plan_fault_name(PLAN_GAP), "gap");
    assert_string_equal(plan_fault_name(PLAN_FAULT_END), "?");
}

static void a_frame_matches_by_anything_in_it(void **state)
{
    (void)state;
    struct stage stage = set("drop/vote#2,dup/ROLL,drop/quiet");
    struct plan_message frame = {.types = PLAN_TYPE(MESSAGE_ROLL) |
                                          PLAN_TYPE(MESSAGE_MOTION) |
                                          PLAN_TYPE(MESSAGE_ACK),
                                 .from = 0,
                                 .to = 1};
    assert_int_equal(plan_message(stage.plan, &stage.rank, &frame, 0), PLAN_RULE(1));
    /* It was one occasion, whatever is in it. */
    assert_int_equal(plan_message(stage.plan, &stage.rank, &frame, 0),
                     PLAN_RULE(0) | PLAN_RULE(1));
    plan_free(stage.plan);
}

static void a_window_opens_and_closes(void **state)
{
    (void)state;
    struct stage stage = set("drop@2s+1s,drop@2s,part:0/1@2s+1s");
    assert_int_equal(send(&stage, MESSAGE_ROLL, 0, 1, 2 * SECOND - 1), 0);
    assert_int_equal(send(&stage, MESSAGE_ROLL, 0, 1, 2 * SECOND), 7);
    assert_int_equal(send(&stage, MESSAGE_ROLL, 0, 1, 3 * SECOND - 1), 7);
    assert_int_equal(send(&stage, MESSAGE_ROLL, 0, 1, 3 * SECOND), PLAN_RULE(1));
    plan_free(stage.plan);
}

static void rules_about_hosts_are_about_their_ranks(void **state)
{
    (void)state;
    static const uint32_t host_of[] = {0, 0, 1, 1, 2};
    static const struct {
        const char *plan;
        uint32_t from, to;
        bool matches, cuts; /* a frame; the link that it takes */
    } rows[] = {
        {"drop/h0-h1", 1, 2, true, false},
        {"drop/h0-h1", 0, 1, false, false},
        {"drop/h0-to-h1", 2, 0, false, false},
        {"drop/h2", 4, 0, true, false},
        {"part:h0/h1@1s+1s", 3, 0, true, true},
        {"part:h0/h1@1s+1s", 3, 4, false, false},
        {"part:h0-to-h1", 0, 3, true, true},
        {"part:h0-to-h1", 3, 0, false, false},
        {"part:h2", 4, 0, true, true},
        {"part:h2", 1, 3, false, false},
        {"part:h2/0-1", 1, 4, true, false},
        {"part:0-1/4", 1, 4, true, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct stage stage = set(rows[i].plan);
        const struct plan_rank fresh = {.passed = {0}};
        assert_true(plan_names_hosts(stage.plan) ==
                    (strchr(rows[i].plan, 'h') != NULL));
        plan_place(stage.plan, host_of, 5);
        assert_int_equal(
            send(&stage, MESSAGE_ROLL, rows[i].from, rows[i].to, 3 * SECOND / 2),
            rows[i].matches);
        assert_int_equal(plan_link_cuts(stage.plan, &fresh, &fresh, rows[i].from,
                                        rows[i].to, 3 * SECOND / 2),
                         rows[i].cuts);
        plan_place(stage.plan, NULL, 0);
        const bool by_rank = strchr(rows[i].plan, 'h') == NULL;
        assert_int_equal(
            send(&stage, MESSAGE_ROLL, rows[i].from, rows[i].to, 3 * SECOND / 2),
            by_rank);
        plan_free(stage.plan);
    }
}

static void it_is_known_how_long_hosts_are_apart(void **state)
{
    (void)state;
    struct stage stage = set("part:h0-to-h1@2s+3s,part:h1@4s+2s,part:h3/h4,part:5/6");
    static const struct {
        uint32_t from, to;
        uint64_t since_s, now_s;
        bool parted;
        uint64_t until_s;
    } rows[] = {
        {0, 1, 0, 1, false, 1}, {0, 1, 0, 2, true, 5},  {0, 1, 1, 2, false, 2},
        {0, 1, 1, 3, true, 5},  {0, 1, 0, 4, true, 6},  {0, 1, 0, 5, true, 6},
        {1, 0, 0, 3, false, 3}, {2, 1, 0, 5, true, 6},  {0, 1, 0, 6, false, 6},
        {4, 3, 9, 9, true, 0},  {5, 6, 0, 1, false, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t until_ns;
        assert_true(plan_parts_hosts(stage.plan, rows[i].from, rows[i].to,
                                     rows[i].since_s * SECOND, rows[i].now_s * SECOND,
                                     &until_ns) == rows[i].parted);
        assert_true(until_ns ==
                    (rows[i].until_s > 0 ? rows[i].until_s * SECOND : PLAN_FOREVER));
    }
    plan_free(stage.plan);
}

static void a_host_is_struck_with_its_ranks(void **state)
{
    (void)state;
    static const uint32_t host_of[] = {0, 1, 1};
    struct stage stage = set("kill:h1@2s,pause:h1@close+1s");
    plan_place(stage.plan, host_of, 3);
    assert_int_equal(plan_strikes(stage.plan, 0, 0, 3 * SECOND), 0);
    assert_int_equal(plan_strikes(stage.plan, 1, 0, 3 * SECOND), PLAN_RULE(0));
    assert_int_equal(plan_strikes(stage.plan, 2, 0, 3 * SECOND), PLAN_RULE(0));
    assert_int_equal(plan_strikes(stage.plan, 9, 0, 3 * SECOND), 0);
    assert_int_equal(plan_pass(stage.plan, &stage.rank, 2, CORE_POINT_CLOSE, 0),
                     PLAN_RULE(1));
    plan_free(stage.plan);
}

static void a_count_picks_messages(void **state)
{
    (void)state;
    struct stage stage = set("drop/vote#2,drop/r0-to-r1#2-3,drop#3-,drop@1s#1");
    static const struct {
        enum message_type type;
        uint32_t to;
        uint64_t now_ns;
        plan_rules expected;
    } rows[] = {
        {MESSAGE_ROLL, 1, 0, 0},
        {MESSAGE_MOTION, 2, 0, 0},
        {MESSAGE_MOTION, 1, 0, PLAN_RULE(0) | PLAN_RULE(1) | PLAN_RULE(2)},
        {MESSAGE_MOTION, 1, 0, PLAN_RULE(1) | PLAN_RULE(2)},
        {MESSAGE_MOTION, 1, 2 * SECOND, PLAN_RULE(2) | PLAN_RULE(3)},
        {MESSAGE_MOTION, 1, 2 * SECOND, PLAN_RULE(2)},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(send(&stage, rows[i].type, 0, rows[i].to, rows[i].now_ns),
                         rows[i].expected);
    }
    plan_free(stage.plan);
}

static void a_point_strikes_the_rank_that_passes_it(void **state)
{
    (void)state;
    struct stage two = set("kill:r2@vote.cast#3,pause:r2@spawn#2-3+1ms,"
                           "restart:all@close+1s");
    struct stage one = set("kill:r2@vote.cast#3,pause:r2@spawn#2-3+1ms,"
                           "restart:all@close+1s");
    static const struct {
        enum core_point point;
        plan_rules expected;
    } rows[] = {
        {CORE_POINT_VOTE_CAST, 0},
        {CORE_POINT_VOTE_CAST, 0},
        {CORE_POINT_SPAWN, 0},
        {CORE_POINT_VOTE_CAST, PLAN_RULE(0)},
        {CORE_POINT_VOTE_CAST, 0},
        {CORE_POINT_SPAWN, PLAN_RULE(1)},
        {CORE_POINT_SPAWN, PLAN_RULE(1)},
        {CORE_POINT_SPAWN, 0},
        {CORE_POINT_CLOSE, PLAN_RULE(2)},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(plan_pass(two.plan, &two.rank, 2, rows[i].point, i),
                         rows[i].expected);
        assert_int_equal(plan_pass(one.plan, &one.rank, 1, rows[i].point, i),
                         rows[i].point == CORE_POINT_CLOSE ? PLAN_RULE(2) : 0);
    }
    assert_int_equal(two.rank.passed[CORE_POINT_SPAWN], 4);
    plan_free(two.plan);
    plan_free(one.plan);
}

static void a_point_opens_a_window_on_its_rank(void **state)
{
    (void)state;
    struct stage stage = set("drop@vote.cast#2+1ms,part:0/1@vote.cast,"
                             "slow:x2/r0@task.start#2-3+1ms");
    struct plan *plan = stage.plan;
    assert_int_equal(send(&stage, MESSAGE_ROLL, 0, 1, 0), 0);
    assert_int_equal(plan_pass(plan, &stage.rank, 0, CORE_POINT_VOTE_CAST, 5), 0);
    assert_int_equal(send(&stage, MESSAGE_ROLL, 0, 1, 5), PLAN_RULE(1));
    assert_int_equal(arrive(&stage, MESSAGE_ROLL, 1, 0, 5), PLAN_RULE(1));
    assert_int_equal(plan_pass(plan, &stage.rank, 0, CORE_POINT_VOTE_CAST, 9), 0);
    assert_int_equal(send(&stage, MESSAGE_ROLL, 0, 1, 9), PLAN_RULE(0) | PLAN_RULE(1));
    assert_int_equal(arrive(&stage, MESSAGE_ROLL, 1, 0, 9), PLAN_RULE(1));
    assert_int_equal(send(&stage, MESSAGE_ROLL, 0, 2, 8 + MS), PLAN_RULE(0));
    assert_int_equal(send(&stage, MESSAGE_ROLL, 0, 2, 9 + MS), 0);
    assert_int_equal(send(&stage, MESSAGE_ROLL, 0, 1, UINT64_MAX - 1), PLAN_RULE(1));

    for (uint64_t i = 1; i <= 4; i++) {
        uint64_t now_ns = i * SECOND;
        plan_pass(plan, &stage.rank, 0, CORE_POINT_TASK_START, now_ns);
        plan_rules expected = i == 2 || i == 3 ? PLAN_RULE(2) : 0;
        assert_int_equal(plan_state(plan, &stage.rank, 0, PLAN_SLOW, now_ns), expected);
        assert_int_equal(plan_state(plan, &stage.rank, 1, PLAN_SLOW, now_ns), 0);
        assert_int_equal(plan_state(plan, &stage.rank, 0, PLAN_GAP, now_ns), 0);
        assert_int_equal(plan_state(plan, &stage.rank, 0, PLAN_SLOW, now_ns + MS), 0);
    }
    plan_free(plan);
}

static void strikes_come_at_their_times(void **state)
{
    (void)state;
    struct plan *plan =
        parse("kill:r2@3s,pause:r1-2@1s+1s,drop@2s,kill:r2@spawn,restart:all@5s+1s");
    assert_int_equal(plan_next_strike_ns(plan, 2, 0), SECOND);
    assert_int_equal(plan_next_strike_ns(plan, 2, SECOND), SECOND);
    assert_int_equal(plan_next_strike_ns(plan, 2, SECOND + 1), 3 * SECOND);
    assert_int_equal(plan_next_strike_ns(plan, 1, SECOND + 1), 5 * SECOND);
    assert_int_equal(plan_next_strike_ns(plan, 0, 5 * SECOND + 1), PLAN_FOREVER);
    assert_int_equal(plan_strikes(plan, 2, 0, SECOND), 0);
    assert_int_equal(plan_strikes(plan, 2, 0, SECOND + 1), PLAN_RULE(1));
    assert_int_equal(plan_strikes(plan, 2, SECOND, 4 * SECOND),
                     PLAN_RULE(0) | PLAN_RULE(1));
    assert_int_equal(plan_strikes(plan, 0, 0, PLAN_FOREVER), PLAN_RULE(4));
    plan_free(plan);
}

static void what_must_fire_and_did_not_is_known(void **state)
{
    (void)state;
    char text[512];
    struct plan *plan = parse("drop:0.1,drop,kill:r1@1s,dup:0.5,pause:r1@1s+1s");
    struct plan_hits hits = {{0}}, more = {{0}};
    assert_int_equal(plan_unfired(plan, &hits),
                     PLAN_RULE(1) | PLAN_RULE(2) | PLAN_RULE(4));
    hits.fired[2] = 1;
    more.fired[2] = 0;
    more.fired[3] = 1;
    more.fired[4] = 12;
    plan_hits_add(&hits, &more);
    assert_int_equal(plan_unfired(plan, &hits), PLAN_RULE(1));
    plan_hits_format(plan, &hits, text, sizeof(text));
    assert_string_equal(text, "drop:0.1: never fired\n"
                              "drop: never fired, and it should have\n"
                              "kill:r1@1s: fired once\n"
                              "dup:0.5: fired once\n"
                              "pause:r1@1s+1s: fired 12 times\n");
    plan_free(plan);
    plan = parse("none");
    assert_int_equal(plan_hits_format(plan, &hits, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    plan_free(plan);
}

static void the_wire_is_harmed_by_messages_and_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool harms;
    } rows[] = {
        {"disk.full", false},      {"disk.slow:1ms,disk.flip", false},
        {"none", false},           {"kill:r1@1s,slow:x2,gap:1ms,clock:x2", false},
        {"kill:r1@1s,drop", true}, {"dup:0.1", true},
        {"reorder", true},         {"delay:1ms", true},
        {"part:0", true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct plan *plan = parse(rows[i].text);
        assert_int_equal(plan_harms_wire(plan), rows[i].harms);
        plan_free(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_matches_types_and_links),
        cmocka_unit_test(every_type_has_a_group),
        cmocka_unit_test(a_frame_matches_by_anything_in_it),
        cmocka_unit_test(a_window_opens_and_closes),
        cmocka_unit_test(rules_about_hosts_are_about_their_ranks),
        cmocka_unit_test(it_is_known_how_long_hosts_are_apart),
        cmocka_unit_test(a_host_is_struck_with_its_ranks),
        cmocka_unit_test(a_count_picks_messages),
        cmocka_unit_test(a_point_strikes_the_rank_that_passes_it),
        cmocka_unit_test(a_point_opens_a_window_on_its_rank),
        cmocka_unit_test(strikes_come_at_their_times),
        cmocka_unit_test(what_must_fire_and_did_not_is_known),
        cmocka_unit_test(the_wire_is_harmed_by_messages_and_parts),
    };
    return cmocka_run_group_tests_name("plan_match", tests, NULL, NULL);
}
