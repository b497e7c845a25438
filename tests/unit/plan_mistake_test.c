/* plan_mistake_test.c - fault plans that are wrong: where, and what is said about it.
 */
#include "tests/unit/plan_parsed.h"

static const struct {
    const char *text;
    uint32_t column, length;
    const char *wrong;
} mistakes[] = {
    {"dorp:0.1", 1, 4, "unknown fault \"dorp\"; did you mean \"drop\"?"},
    {"Drop:0.1", 1, 4, "unknown fault \"Drop\"; did you mean \"drop\"?"},
    {"drop,kil:r2@3s", 6, 3, "unknown fault \"kil\"; did you mean \"kill\"?"},
    {"dpu", 1, 3, "unknown fault \"dpu\"; did you mean \"dup\"?"},
    {"explode", 1, 7, "unknown fault \"explode\""},
    {"0.1", 1, 3, "unknown fault \"0.1\""},
    {",", 1, 1, "a fault should stand here, not \",\""},
    {"drop,,dup", 6, 1, "a fault should stand here, not \",\""},
    {"drop,", 6, 1, "a fault is missing here"},
    {"drop ,dup", 5, 1, "a plan is one word, without white space"},
    {"none,drop", 1, 4, "unknown fault \"none\""},
    {"\x01\xff", 1, 1, "a fault should stand here, not \"?\""},
    {"kill:h@3s", 7, 1, "the number of a host should stand here, not \"@\""},
    {"kill:h0+r1@3s", 9, 2, "the number of a host should stand here, not \"r1\""},
    {"part:h0-1/h1", 6, 7, "host 1 stands on both sides"},
    {"seed", 5, 1, "\":\" and a number is missing here"},
    {"seed:", 6, 1, "a whole number is missing here"},
    {"seed:x", 6, 1, "a whole number should stand here, not \"x\""},
    {"seed:1,seed:2", 8, 4, "a plan has one seed"},
    {"seed:18446744073709551616", 6, 20, "this number is too large"},
    /* chances */
    {"drop:1.5", 6, 3, "a probability is between 0 and 1"},
    {"drop:-0.1", 6, 4, "a probability is between 0 and 1"},
    {"drop:101%/vote", 6, 4, "a probability is between 0 and 1"},
    {"drop:5ms", 6, 3, "a probability is between 0 and 1"},
    {"drop:", 6, 1, "an argument is missing here"},
    {"drop:x2", 6, 2, "an argument should stand here, not \"x2\""},
    {"drop:0.", 6, 2, "digits are missing behind the point"},
    {"drop:0.1234567891", 6, 12, "there are more than nine digits behind the point"},
    {"drop:0.12345678%", 6, 11, "there are more than seven digits behind the point"},
    {"drop:0.1:0.2", 9, 1, "drop takes no more arguments"},
    {"drop:0.1ms", 9, 2, "\",\" or the plan's end should stand here, not \"ms\""},
    /* times and factors */
    {"dup:x1", 6, 1, "dup takes x2 to x1000"},
    {"reorder:x0", 10, 1, "reorder takes x1 to x1000"},
    {"dup:x1001", 6, 4, "dup takes x2 to x1000"},
    {"dup:x2:0.1", 7, 1, "dup takes no more arguments"},
    {"clock", 6, 1, "an argument is missing here"},
    {"clock:1.01", 7, 4, "an argument should stand here, not \"1.01\""},
    {"clock:x0", 8, 1, "a factor is between 0.001 and 1000"},
    {"clock:x1000.1", 8, 6, "a factor is between 0.001 and 1000"},
    {"clock:x1.0000001", 8, 9, "there are more than six digits behind the point"},
    {"clock:x", 8, 1, "a factor is missing here"},
    /* spreads and times */
    {"delay", 6, 1, "an argument is missing here"},
    {"delay:0.1", 10, 1, "an argument is missing here"},
    {"delay:5", 7, 1, "a time needs a unit"},
    {"delay:50/vote", 7, 2, "a time needs a unit"},
    {"delay:5xs", 8, 2, "unknown unit of time \"xs\""},
    {"delay:5ms+-", 12, 1, "a time, such as 5ms, is missing here"},
    {"delay:5ms+-6ms", 7, 8, "this spread reaches below zero"},
    {"delay:5ms:0.1", 10, 1, "delay takes no more arguments"},
    {"delay:exp", 10, 1, "\":\" and a time is missing here"},
    {"delay:exq:5ms", 7, 3, "unknown distribution \"exq\"; did you mean \"exp\"?"},
    {"delay:gauss:5ms", 7, 5, "unknown distribution \"gauss\""},
    {"delay:pareto:1ms", 17, 1, "\":\" and a shape is missing here"},
    {"delay:pareto:1ms:0", 18, 1, "a shape is between 0.1 and 100"},
    {"delay:0.5ns", 7, 5, "a time is a whole number of nanoseconds"},
    {"delay:1001h", 7, 5, "a time is at most 1000h"},
    {"delay:1000.1h", 7, 7, "a time is at most 1000h"},
    {"delay:99999999999999999999s", 7, 21, "this number is too large"},
    /* kinds */
    {"drop/vtoe", 6, 4, "unknown kind of message \"vtoe\"; did you mean \"vote\"?"},
    {"drop/motion", 6, 6,
     "unknown kind of message \"motion\"; did you mean \"MOTION\"?"},
    {"drop/vote+", 11, 1, "a kind of message is missing here"},
    {"drop/", 6, 1, "a kind of message is missing here"},
    {"drop/vote+1s", 11, 2, "a kind of message has no number"},
    {"drop/vote/gossip", 11, 6,
     "this rule has its kinds of messages already; a list is written with +"},
    {"drop/vote/", 11, 1, "a selector is missing here"},
    /* ranks */
    {"drop/r1/r2", 9, 2, "this rule has its ranks already; a list is written with +"},
    {"drop/1", 6, 1, "a rank, such as r2, should stand here, not \"1\""},
    {"drop/r1-to-2", 12, 1, "a rank, such as r2, should stand here, not \"2\""},
    {"drop/r1-2-3", 10, 1, "\",\" or the plan's end should stand here, not \"-\""},
    {"drop/r16384", 7, 5, "a rank is less than 16384"},
    {"drop/r3-1", 7, 3, "a range goes upwards, as in 1-3"},
    {"drop/r1+", 9, 1, "the number of a rank is missing here"},
    {"drop/r1+x", 9, 1, "the number of a rank should stand here, not \"x\""},
    {"drop/r0+2+4+6+8+10+12+14+16+18+20+22+24+26+28+30+32", 50, 2,
     "a set has at most 16 ranges"},
    {"slow:x2/vote", 9, 4, "a rank, such as r2, should stand here, not \"vote\""},
    {"disk:full", 1, 4, "unknown fault \"disk\""},
    {"disk.slow", 10, 1, "an argument is missing here"},
    {"disk.full/vote", 11, 4, "a rank, such as r2, should stand here, not \"vote\""},
    {"slow:x2/r1/r2", 12, 2,
     "this rule has its ranks already; a list is written with +"},
    {"kill:2@3s", 6, 1, "a rank, such as r2, should stand here, not \"2\""},
    {"kill:rx@3s", 7, 1, "the number of a rank should stand here, not \"x\""},
    {"kill@3s", 5, 1, "an argument should stand here, not \"@\""},
    {"kill:r2/vote@2s", 8, 5, "kill takes no selector"},
    {"kill:r2:r3@2s", 8, 1, "kill takes no more arguments"},
    {"pause:r1+500ms", 10, 5, "\"500ms\" is no rank"},
    {"part", 5, 1, "an argument is missing here"},
    {"part:all", 6, 3, "a rank, such as r2, should stand here, not \"all\""},
    {"part:0-1/1-2", 6, 7, "rank 1 stands on both sides"},
    {"part:0-9-to-20+5", 6, 11, "rank 5 stands on both sides"},
    {"part:0/1/2", 9, 2, "part takes no selector"},
    /* moments */
    {"kill:r2", 8, 1, "the moment of the kill is missing here"},
    {"kill:r2,drop", 8, 1, "the moment of the kill should stand here, not \",\""},
    {"kill:r2@", 9, 1, "a point is missing here"},
    {"kill:r2@3", 9, 1, "a time needs a unit"},
    {"kill:r2@vote.cats", 9, 9,
     "unknown point \"vote.cats\"; did you mean \"vote.cast\"?"},
    {"kill:r2@3s+1s", 11, 3, "a killed rank stays dead; a restart brings it back"},
    {"kill:r2@2s#2", 11, 2, "kill counts at a point only, as in @vote.cast#3"},
    {"kill:r2@spawn#2-3", 16, 2, "a kill strikes a rank once"},
    {"restart:r2@spawn#2-+1s", 19, 1, "a restart strikes a rank once"},
    {"leave:r2@3s+1s", 12, 3, "a rank that leaves does not come back"},
    {"leave:r2", 9, 1, "the moment of the leave is missing here"},
    {"flip:r1@3s+1s", 11, 3, "a bit that is flipped stays so"},
    {"flip:r1", 8, 1, "the moment of the flip is missing here"},
    {"join", 5, 1, "the moment of the join is missing here"},
    {"join@", 6, 1, "a time is missing here"},
    {"join@spawm", 6, 5, "a join rule begins at a time, not at a point"},
    {"leave:r2@close", 10, 5,
     "at this point all programs have ended, and nobody leaves"},
    {"join@spawn", 6, 5, "a join rule begins at a time, not at a point"},
    {"join:x0@1s", 7, 1, "join takes x1 to x1000"},
    {"join:r4@1s", 6, 2, "an argument should stand here, not \"r4\""},
    {"join@1s+1s", 8, 3, "a newcomer stays until a leave of its number"},
    {"join/r4@1s", 5, 3, "join takes no selector"},
    {"restart:r2@2s", 14, 1, "how long the restart lasts is missing here"},
    {"pause:r2@2s", 12, 1, "how long the pause lasts is missing here"},
    {"pause:r2@2s+0s", 12, 3, "a duration is more than zero"},
    {"pause:r2@2s+500", 13, 3, "a time needs a unit"},
    {"drop+1s", 5, 3, "a duration stands behind a moment"},
    {"drop#0", 5, 2, "counting starts at #1"},
    {"drop#", 6, 1, "a whole number is missing here"},
    {"drop#5-3", 5, 4, "a range goes upwards"},
    {"part:0#2", 7, 2, "part counts at a point only, as in @vote.cast#3"},
    {"clock:x2#2", 9, 2, "clock counts at a point only, as in @vote.cast#3"},
    {"clock:x2@spawn", 10, 5, "a clock rule begins at a time, not at a point"},
    {"drop@2s@3s", 8, 1, "\",\" or the plan's end should stand here, not \"@\""},
    {"drop@2s/vote", 8, 1, "\",\" or the plan's end should stand here, not \"/\""},
    {" drop:2", 7, 1, "a probability is between 0 and 1"},
};

static void a_mistake_is_found_where_it_stands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
        struct plan *plan = (struct plan *)&state, *before = plan;
        struct plan_error error;
        memset(&error, 0x55, sizeof(error));
        if (plan_parse(mistakes[i].text, &plan, &error) != MOOT_ERR_CONFIG) {
            fail_msg("%s is accepted", mistakes[i].text);
        }
        assert_ptr_equal(plan, before);
        assert_int_equal(plan_parse(mistakes[i].text, &plan, NULL), MOOT_ERR_CONFIG);
        if (strcmp(error.wrong, mistakes[i].wrong) != 0 ||
            error.column != mistakes[i].column || error.length != mistakes[i].length) {
            fail_msg("%s: at %u+%u: %s", mistakes[i].text, error.column, error.length,
                     error.wrong);
        }
    }
}

static void limits_are_kept(void **state)
{
    (void)state;
    static char text[PLAN_TEXT_BYTES_MAX + 16];
    struct plan_error error;
    struct plan *plan;
    for (size_t i = 0; i < PLAN_RULES_MAX + 1; i++) {
        memcpy(text + 5 * i, "drop,", 5);
    }
    text[5 * PLAN_RULES_MAX + 4] = '\0';
    assert_int_equal(plan_parse(text, &plan, &error), MOOT_ERR_CONFIG);
    assert_int_equal(error.column, 5 * PLAN_RULES_MAX + 1);
    assert_string_equal(error.wrong, "a plan has at most 64 rules");
    text[5 * PLAN_RULES_MAX - 1] = '\0';
    plan = parse(text);
    assert_int_equal(plan->rule_count, PLAN_RULES_MAX);
    plan_free(plan);

    memset(text, '0', sizeof(text));
    memcpy(text, "drop:", 5);
    text[PLAN_TEXT_BYTES_MAX] = '\0';
    plan_free(parse(text));
    text[PLAN_TEXT_BYTES_MAX] = '0';
    text[PLAN_TEXT_BYTES_MAX + 1] = '\0';
    assert_int_equal(plan_parse(text, &plan, &error), MOOT_ERR_CONFIG);
}

static void the_caret_stands_under_the_mistake(void **state)
{
    (void)state;
    char text[1024];
    struct plan_error error;
    struct plan *plan;
    static const char first[] = "drop:0.1/vote,dleay:5ms";
    assert_int_equal(plan_parse(first, &plan, &error), MOOT_ERR_CONFIG);
    plan_error_format(first, &error, text, sizeof(text));
    assert_string_equal(
        text, "drop:0.1/vote,dleay:5ms\n"
              "              ^~~~~\n"
              "unknown fault \"dleay\"; did you mean \"delay\"?\n"
              "allowed: drop, dup, reorder, delay, part, kill, restart, pause, clock, "
              "slow, gap, leave, join, flip, disk.full, disk.slow, disk.flip, seed\n");
    static const char bytes[] = "drop\x1b[2J:1";
    assert_int_equal(plan_parse(bytes, &plan, &error), MOOT_ERR_CONFIG);
    plan_error_format(bytes, &error, text, sizeof(text));
    assert_string_equal(
        text, "drop?[2J:1\n"
              "    ^\n"
              "\",\" or the plan's end should stand here, not \"?\"\n"
              "allowed: what:argument/selector@when#nth+duration, in this order\n");
    static const char lengthy[] =
        "drop:0.1/vote,drop:0.1/vote,drop:0.1/vote,drop:0.1/vote,drop:2/vote,"
        "drop:0.1/vote,drop:0.1/vote,drop:0.1/vote";
    assert_int_equal(plan_parse(lengthy, &plan, &error), MOOT_ERR_CONFIG);
    plan_error_format(lengthy, &error, text, sizeof(text));
    assert_string_equal(text, "...1/vote,drop:0.1/vote,drop:0.1/vote,drop:2/vote,"
                              "drop:0.1/vote,drop:0.1/vo...\n"
                              "                                           ^\n"
                              "a probability is between 0 and 1\n"
                              "allowed: 0 to 1, as in 0.1, or 0% to 100%, as in 10%\n");
}

static void where_a_time_may_stand_it_is_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *end;
    } rows[] = {
        {"kill:r1@tsk.start",
         "checkpoint.cut, checkpoint.commit, checkpoint.reload, or a time, 20ms"},
        {"kill:r1@",
         "checkpoint.cut, checkpoint.commit, checkpoint.reload, or a time, 20ms"},
        {"delay:gauss:5ms", "exp, pareto, or a time, 5ms or 5ms+-2ms"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct plan *plan = NULL;
        struct plan_error error;
        assert_int_equal(plan_parse(rows[i].text, &plan, &error), MOOT_ERR_CONFIG);
        const char *end = strstr(error.allowed, rows[i].end);
        assert_true(end != NULL && strcmp(end, rows[i].end) == 0);
    }
}

static void ranks_are_checked_against_the_job(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t size, column, length; /* column 0: it is right */
        const char *wrong;
    } rows[] = {
        {"drop/r3,kill:all@1s,part:0-1/2-3,drop", 4, 0, 0, ""},
        {"drop,kill:r4@1s", 4, 12, 1, "there is no rank 4: the job has 4 ranks"},
        {"drop/r0-12+3-r1", 4, 9, 2, "there is no rank 12: the job has 4 ranks"},
        {"drop/r11+2+13", 4, 12, 2, "there is no rank 13: the job has 4 ranks"},
        {"drop/r0-to-r1-7", 4, 15, 1, "there is no rank 7: the job has 4 ranks"},
        {"part:0/1-4@1s", 1, 10, 1, "there is no rank 4: the job has 1 rank"},
        {"drop,part:0-3@1s", 4, 6, 11, "the whole job is on one side of this part"},
        {"part:0-2@1s", 4, 0, 0, ""},
        /* Two hosts of two ranks each. */
        {"kill:h1@1s,drop/h0-h1,part:h1", 4, 0, 0, ""},
        {"drop,kill:h2@1s", 4, 12, 1, "there is no host 2: the job has 2 hosts"},
        {"part:h0/r0+4", 4, 12, 1, "there is no rank 4: the job has 4 ranks"},
        {"drop,part:h0-1@1s", 4, 6, 12, "the whole job is on one side of this part"},
        {"kill:h1@1s", 0, 7, 1, "nothing is known of hosts here"},
    };
    static const uint32_t host_of[] = {0, 0, 1, 1};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct plan *plan = parse(rows[i].text);
        plan_place(plan, host_of, rows[i].size < 4 ? rows[i].size : 4);
        struct plan_error error = {0, 0, "", ""};
        int code = plan_check_ranks(plan, rows[i].size, &error);
        assert_int_equal(code, rows[i].column == 0 ? MOOT_OK : MOOT_ERR_CONFIG);
        assert_int_equal(error.column, rows[i].column);
        assert_int_equal(error.length, rows[i].length);
        assert_string_equal(error.wrong, rows[i].wrong);
        assert_int_equal(plan_check_ranks(plan, rows[i].size, NULL), code);
        plan_free(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mistake_is_found_where_it_stands),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(where_a_time_may_stand_it_is_allowed),
        cmocka_unit_test(the_caret_stands_under_the_mistake),
        cmocka_unit_test(ranks_are_checked_against_the_job),
    };
    return cmocka_run_group_tests_name("plan_mistake", tests, NULL, NULL);
}
