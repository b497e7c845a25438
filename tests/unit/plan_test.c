/* plan_test.c - fault plans: each has one canonical word, and reads as English.
 *
 * Tables of texts: what each is canonically, and which sentence it is.  Then random
 * plans there and back, the longest one, and buffers that are too small.
 */
#include "tests/unit/plan_parsed.h"

/* --- The word -------------------------------------------------------------------- */

static char *format(const struct plan *plan)
{
    size_t length = plan_format(plan, NULL, 0);
    char *text = malloc(length + 1);
    assert_non_null(text);
    assert_int_equal(plan_format(plan, text, length + 1), length);
    assert_int_equal(strlen(text), length);
    return text;
}

static const struct {
    const char *text, *canonical; /* NULL: the same */
} words[] = {
    /* The example of the design, as it stands. */
    {"seed:42,drop:0.1/vote,delay:5ms+-2ms/r0-r1,dup:0.01,pause:r1@2s+500ms,kill:r2@3s,"
     "kill:r2@vote.cast#3,part:0-1/2-3@2s+1s",
     NULL},
    {"none", NULL},
    {"", "none"},
    {" \n", "none"},
    {"\tdrop\n", "drop"},
    {"seed:18446744073709551615", NULL},
    {"drop,seed:7", "seed:7,drop"},
    /* chances */
    {"drop", NULL},
    {"drop:1", "drop"},
    {"drop:100%", "drop"},
    {"drop:0", NULL},
    {"drop:0.000000001", NULL},
    {"drop:2.5%", "drop:0.025"},
    {"drop:0.50", "drop:0.5"},
    {"drop:0.10%", "drop:0.001"},
    /* times and factors */
    {"dup:0.1:x3", NULL},
    {"dup:x1000", NULL},
    {"dup:x2", "dup"},
    {"reorder", NULL},
    {"reorder:x1", "reorder"},
    {"reorder:0.1:x4", NULL},
    {"clock:x1.000001", NULL},
    {"clock:x0.001", NULL},
    {"slow:x1000", NULL},
    {"slow:x2.50", "slow:x2.5"},
    {"slow:0.1:x10", NULL},
    {"disk.full", NULL},
    {"disk.full:10%/r1@3s+1s", "disk.full:0.1/r1@3s+1s"},
    {"disk.full@checkpoint.write#3", NULL},
    {"disk.slow:50ms", NULL},
    {"disk.slow:0.5:exp:5ms/r0-2", NULL},
    {"disk.flip", NULL},
    {"disk.flip:0.1/h0#2-5", NULL},
    /* spreads */
    {"delay:5ms", NULL},
    {"delay:0.1:5ms", NULL},
    {"delay:1:5ms", "delay:5ms"},
    {"delay:10%:5ms", "delay:0.1:5ms"},
    {"delay:5ms+-5ms", NULL},
    {"delay:0.01:5ms+-1us", NULL},
    {"delay:exp:5ms", NULL},
    {"delay:0.5:exp:5ms", NULL},
    {"delay:pareto:1ms:1.5", NULL},
    {"delay:pareto:1ms:0.1", NULL},
    {"delay:pareto:1ms:100", NULL},
    {"slow:exp:50ms", NULL},
    {"gap:0.01:50ms", NULL},
    {"gap:pareto:1ms:2", NULL},
    /* units of time */
    {"delay:1ns", NULL},
    {"delay:1000ns", "delay:1us"},
    {"delay:0.5us", "delay:500ns"},
    {"delay:1.5s", "delay:1500ms"},
    {"delay:1m", NULL},
    {"delay:90s", NULL},
    {"delay:60m", "delay:1h"},
    {"delay:0.000000001h", "delay:3600ns"},
    {"delay:0.5m", "delay:30s"},
    {"delay:1000h", NULL},
    {"delay:0ms", "delay:0s"},
    /* kinds */
    {"drop/vote", NULL},
    {"drop/notice+quiet+view+gossip+result+vote",
     "drop/vote+result+gossip+view+quiet+notice"},
    {"drop/RESULT", NULL},
    {"drop/POLL+MOTION", "drop/MOTION+POLL"},
    {"drop/MOTION+vote", "drop/vote"},
    {"drop/vote+ROLL", NULL},
    /* links */
    {"drop/r3", NULL},
    {"drop/r0-3", NULL},
    {"drop/r0-r3", NULL},
    {"drop/r0-to-r3", NULL},
    {"drop/r0>r3", "drop/r0-to-r3"},
    {"drop/r0+2-3-r1+4-9", NULL},
    {"drop/r0+r2", "drop/r0+2"},
    {"drop/r3+2+0-1", "drop/r0-3"},
    {"drop/r7+1-3+2-5+9", "drop/r1-5+7+9"},
    {"drop/r1-3+4", "drop/r1-4"},
    {"drop/r00-0016", "drop/r0-16"},
    {"drop/r16383", NULL},
    {"drop/all", "drop"},
    {"drop/all-to-r1", NULL},
    {"drop/r1-to-all", NULL},
    {"drop/r1-all", NULL},
    {"drop/r1/vote", "drop/vote/r1"},
    {"drop/result/r1", NULL},
    {"drop/r1/result", "drop/result/r1"},
    /* parts */
    {"part:0/1", NULL},
    {"part:0-1/2-3", NULL},
    {"part:r0-1/r2-3", "part:0-1/2-3"},
    {"part:r0-r1", "part:0/1"},
    {"part:0-1-to-2-3", NULL},
    {"part:0>1", "part:0-to-1"},
    {"part:0+2+4/1+3@2s", NULL},
    {"part:0-1", NULL},
    {"part:0@vote.cast#2-3+1s", NULL},
    /* strikes */
    {"part:h0/h1-2@1s+5s", NULL},
    {"part:h0-h1", "part:h0/h1"},
    {"part:h0+h2>h1", "part:h0+2-to-h1"},
    {"part:h1@2s", NULL},
    {"part:h1/0-1", NULL},
    {"kill:h2@3s", NULL},
    {"kill:h0+2@spawn", NULL},
    {"restart:h1@3s+1s", NULL},
    {"pause:h1@3s+1s", NULL},
    {"drop:0.1/h0-h1", NULL},
    {"delay:5ms/h0-1-to-r3", NULL},
    {"slow:x10/h1", NULL},
    {"kill:r2@3s", NULL},
    {"kill:all@close", NULL},
    {"kill:r0+2@spawn", NULL},
    {"kill:r2@vote.cast#1", "kill:r2@vote.cast"},
    {"restart:r2@3s+1s", NULL},
    {"leave:r0+2@3s", NULL},
    {"leave:r2@view.enter#2", NULL},
    {"flip:r0+2@sign#5", NULL},
    {"leave:h1@3s", NULL},
    {"join@3s", NULL},
    {"join:x2@3ms", NULL},
    {"join:x1@3ms", "join@3ms"},
    {"restart:r2@view.enter#2+1s", NULL},
    {"pause:r1@2s+500ms", NULL},
    {"pause:r1@task.start#2-+1ms", NULL},
    {"pause:r1@task.start#2-4+1ms", NULL},
    {"pause:r1@task.start#3-3+1ms", "pause:r1@task.start#3+1ms"},
    /* states */
    {"clock:x1.01/r1@1s+1s", NULL},
    {"clock:x1.01/all", "clock:x1.01"},
    {"slow:x10/r1-2@task.start#2+1s", NULL},
    {"slow:x10#3", NULL},
    {"gap:1s/r1#3-5", NULL},
    /* counts and windows of messages */
    {"drop#3", NULL},
    {"drop#1", NULL},
    {"drop#3-", NULL},
    {"drop/vote#3-5", NULL},
    {"drop@2s", NULL},
    {"drop@0s+1s", NULL},
    {"drop@2s#3+1s", NULL},
    {"drop@report.sent+1s", NULL},
    {"drop@view.propose#2-", NULL},
    {"drop#18446744073709551614", NULL},
};

static void a_plan_has_one_canonical_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        const char *expected = words[i].canonical ? words[i].canonical : words[i].text;
        struct plan *plan = parse(words[i].text);
        char *text = format(plan);
        assert_string_equal(text, expected);
        struct plan *again = parse(text);
        assert_true(plan_equal(plan, again));
        for (const char *c = text; *c != '\0'; c++) {
            assert_null(strchr(" \t\n'\"\\$`&|;<>()[]{}*?!~", *c)); /* to a shell */
        }
        plan_free(again);
        free(text);
        plan_free(plan);
    }
}

static void different_words_are_different_plans(void **state)
{
    (void)state;
    static const char *const texts[] = {"none",
                                        "seed:1",
                                        "seed:2",
                                        "drop",
                                        "drop:0.1",
                                        "dup",
                                        "dup:x3",
                                        "delay:1ms",
                                        "delay:2ms",
                                        "delay:2ms+-1ms",
                                        "delay:2ms+-2ms",
                                        "delay:exp:2ms",
                                        "drop/vote",
                                        "drop/MOTION",
                                        "drop/r1",
                                        "drop/r2",
                                        "drop/r1-2",
                                        "drop/r1-r2",
                                        "drop/r1-r3",
                                        "drop/r1-to-r2",
                                        "drop/r1-all",
                                        "drop@1s",
                                        "drop@2s",
                                        "drop@1s+1s",
                                        "drop@spawn",
                                        "drop@close",
                                        "drop#1",
                                        "drop#1-",
                                        "slow:x2",
                                        "slow:x3",
                                        "slow:x2/r1",
                                        "delay:pareto:2ms:1",
                                        "drop@spawn#2",
                                        "drop@spawn#2-3",
                                        "delay:pareto:2ms:2"};
    enum { COUNT = sizeof(texts) / sizeof(*texts) };
    struct plan *plans[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        plans[i] = parse(texts[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < COUNT; j++) {
            if (plan_equal(plans[i], plans[j]) != (i == j)) {
                fail_msg("%s and %s", texts[i], texts[j]);
            }
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        plan_free(plans[i]);
    }
}

/* --- English --------------------------------------------------------------------- */

static const struct {
    const char *text, *sentence;
} sentences[] = {
    {"drop", "Each message is lost."},
    {"drop:0.1/vote", "Each vote message is lost with a probability of 0.1."},
    {"drop:0", "Each message is lost with a probability of 0."},
    {"drop/vote+gossip+KERNEL/r1",
     "Each vote, gossip or KERNEL message from or to rank 1 is lost."},
    {"drop/r0-to-r1#3",
     "Of the messages of each sender, the 3rd message from rank 0 to "
     "rank 1 is lost."},
    {"drop#2-12", "Of the messages of each sender, the 2nd to 12th message is lost."},
    {"drop#21-@1s", NULL},
    {"drop@1s#21-+2s", "Of the messages of each sender, the 21st and every later "
                       "message is lost, from 1 s to 3 s."},
    {"drop@vote.cast+1s",
     "Each message is lost, for 1 s after the 1st time that its sender casts a vote."},
    {"dup:0.01", "Each message arrives twice with a probability of 0.01."},
    {"dup:x3/r0-r1", "Each message between rank 0 and rank 1 arrives 3 times."},
    {"reorder:50%",
     "Each message lets the next one of its pair of ranks pass with a probability of "
     "0.5."},
    {"reorder:x4", "Each message lets the next 4 of its pair of ranks pass."},
    {"delay:5ms/r0-2+5-all",
     "Each message between ranks 0 to 2 and 5 and all ranks arrives later by 5 ms."},
    {"delay:5ms+-2ms", "Each message arrives later by 3 ms to 7 ms, evenly spread."},
    {"delay:0.25:exp:5ms",
     "Each message arrives later by 5 ms on average, exponentially "
     "distributed, with a probability of 0.25."},
    {"delay:pareto:1us:1.5@2s", "Each message arrives later by 1 us or more, with a "
                                "Pareto tail of shape 1.5, from "
                                "2 s on."},
    {"part:0-1/2-3@2s+1s", "No message passes between ranks 0 to 1 and ranks 2 to 3, "
                           "from 2 s to 3 s."},
    {"part:0-to-2", "No message passes from rank 0 to rank 2."},
    {"part:0@close", "No message passes between rank 0 and all others, after the 1st "
                     "time that one of its two ranks closes."},
    {"part:h0/h1@2s+1s",
     "No message passes between host 0 and host 1, from 2 s to 3 s."},
    {"part:h0-1-to-h2", "No message passes from hosts 0 to 1 to host 2."},
    {"kill:h2@3s", "Host 2 is killed, with all its ranks, at 3 s."},
    {"kill:h0+2@close", "Each of hosts 0 and 2 is killed, with all its ranks, the 1st "
                        "time that one of these closes."},
    {"leave:r2@3s", "Rank 2 leaves at 3 s."},
    {"flip:r2@sign#5", "Rank 2 has a bit of its state flipped the 5th time that it is "
                       "about to sign its state."},
    {"leave:r0+2@task.start",
     "Each of ranks 0 and 2 leaves the 1st time that it starts a task."},
    {"join@3s", "A newcomer asks to be let in at 3 s."},
    {"join:x2@3ms", "At once 2 newcomers ask to be let in at 3 ms."},
    {"restart:h1@3s+1s", "Host 1 is killed, with all its ranks, at 3 s and comes back "
                         "with new members in their place 1 s later."},
    {"slow:x10/h1", "On host 1 each kernel takes 10 times as long."},
    {"kill:r2@3s", "Rank 2 is killed at 3 s."},
    {"kill:all@task.end#11", "Each rank is killed the 11th time that it ends a task."},
    {"restart:r1+3+5@1.5s+1ns", "Each of ranks 1, 3 and 5 is killed at 1500 ms and "
                                "comes back as a new member 1 ns later."},
    {"pause:r1@decision.recv#2-+1ms",
     "Rank 1 is paused for 1 ms the 2nd and every later time that it receives a "
     "decision."},
    {"clock:x1.01/r1@0s",
     "On rank 1 the clock runs 1.01 times as fast as true time, from 0 ms on."},
    {"slow:x10", "On each rank each kernel takes 10 times as long."},
    {"slow:0.1:5ms/r2#3", "On rank 2 the 3rd kernel takes longer by 5 ms with a "
                          "probability of 0.1."},
    {"disk.full:0.1/r1@3s+1s", "On rank 1 each batch of results for the checkpoint "
                               "finds the disk to be full with a "
                               "probability of 0.1, from 3 s to 4 s."},
    {"disk.slow:20ms", "On each rank each batch of results for the checkpoint takes "
                       "longer by 20 ms."},
    {"disk.flip/r0#3",
     "On rank 0 the 3rd record for the checkpoint has a bit flipped on its way."},
    {"gap:5ms/r2@view.enter",
     "On rank 2 each turn of progress is followed by a gap of 5 ms, after the 1st time "
     "that the rank enters a view."},
};

static void a_plan_reads_as_english(void **state)
{
    (void)state;
    char text[2048], expected[2048];
    for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++) {
        struct plan *plan = NULL;
        if (sentences[i].sentence == NULL) {
            assert_int_equal(plan_parse(sentences[i].text, &plan, NULL),
                             MOOT_ERR_CONFIG);
            continue;
        }
        plan = parse(sentences[i].text);
        size_t length = plan_explain(plan, text, sizeof(text));
        assert_int_equal(length, strlen(text));
        bool timed = strpbrk(sentences[i].text, "@#") != NULL;
        snprintf(expected, sizeof(expected), "This plan has 1 rule.%s\n1. %s\n",
                 timed ? "  Times and counts begin when moot_open ends." : "",
                 sentences[i].sentence);
        assert_string_equal(text, expected);
        plan_free(plan);
    }
}

static void the_opening_counts_the_rules(void **state)
{
    (void)state;
    static const struct {
        const char *text, *whole;
    } rows[] = {
        {"none", "This plan has no rules: nothing goes wrong.\n"},
        {"seed:7", "This plan has no rules: nothing goes wrong; it has seed 7.\n"},
        {"seed:7,drop,dup",
         "This plan has 2 rules and seed 7.\n"
         "1. Each message is lost.\n2. Each message arrives twice.\n"},
    };
    char text[512];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct plan *plan = parse(rows[i].text);
        plan_explain(plan, text, sizeof(text));
        assert_string_equal(text, rows[i].whole);
        plan_free(plan);
    }
}

/* --- There and back -------------------------------------------------------------- */

static uint64_t below(uint64_t *seed, uint64_t bound)
{
    return next_word(seed) % bound;
}

/* Writes a random rule; the grammar of plan.h is followed from the left. */
static size_t random_rule(uint64_t *seed, char *to, size_t size)
{
    static const char *const heads[] = {
        "drop",         "drop:0.25",        "dup:0.1:x7",     "reorder:3%",
        "delay:1500us", "delay:0.1:exp:3s", "delay:9ms+-1ns", "delay:pareto:1h:1.25"};
    static const char *const kinds[] = {
        "", "/vote", "/MOTION+ROLL", "/view", "/result", "/gossip+notice+POLL+POLLR"};
    static const char *const links[] = {
        "", "/all", "/r1+3-9", "/r1-r2", "/r1>r2", "/all-to-r7", "/r2+4+6-r1+3+5"};
    static const char *const whens[] = {
        "",   "@1s",  "@1.5s+2m", "@close",     "@spawn#7",   "@claim#7-+3us",
        "#4", "#4-9", "@2h#4-",   "@1ns#1+1ns", "@close#1-1", "#1-"};
    static const char *const others[] = {"kill:r1+9@1s",
                                         "kill:all@vote.cast#5",
                                         "restart:r4@2s+1s",
                                         "pause:r4-8@view.enter#2-+1s",
                                         "part:1+3/2@3s",
                                         "part:1-to-2",
                                         "part:1@spawn#2+1s",
                                         "clock:x0.999/r1@1s+1s",
                                         "slow:x3/r1#3",
                                         "slow:0.5:exp:1s@1s+1s",
                                         "gap:0.001:7ms/r2-3@close"};
#define PICK(list) list[below(seed, sizeof(list) / sizeof(*list))]
    if (below(seed, 3) == 0) {
        return (size_t)snprintf(to, size, "%s", PICK(others));
    }
    return (size_t)snprintf(to, size, "%s%s%s%s", PICK(heads), PICK(kinds), PICK(links),
                            PICK(whens));
#undef PICK
}

static void random_plans_survive_the_way_there_and_back(void **state)
{
    (void)state;
    static char text[16384], english[65536];
    for (uint64_t i = 1; i <= 2000; i++) {
        uint64_t seed = i;
        size_t length = 0, rules = below(&seed, PLAN_RULES_MAX) + 1;
        for (size_t rule = 0; rule < rules; rule++) {
            if (rule > 0) {
                text[length++] = ',';
            }
            length += random_rule(&seed, text + length, sizeof(text) - length);
        }
        struct plan *plan = parse(text);
        assert_int_equal(plan->rule_count, rules);
        char *canonical = format(plan);
        struct plan *again = parse(canonical);
        char *twice = format(again);
        assert_true(plan_equal(plan, again));
        assert_string_equal(canonical, twice);
        assert_true(plan_explain(plan, english, sizeof(english)) < sizeof(english));
        plan_free(plan);
        plan_free(again);
        free(canonical);
        free(twice);
    }
}

/* The longest canonical word still parses. */
static void the_longest_plan_fits(void **state)
{
    (void)state;
    static struct plan plan;
    struct plan_rule *rule = &plan.rules[0];
    *rule = (struct plan_rule){.fault = PLAN_DELAY,
                               .chance_ppb = 123456789,
                               .spread = {.type = PLAN_SPREAD_UNIFORM,
                                          .ns = PLAN_TIME_MAX_NS - 1,
                                          .spread_ns = PLAN_TIME_MAX_NS - 1},
                               .groups = 0,
                               .link = PLAN_LINK_TOWARDS,
                               .when = PLAN_AT_POINT,
                               .point = CORE_POINT_DECISION_RECV,
                               .nth_first = UINT64_MAX - 2,
                               .nth_last = UINT64_MAX - 1,
                               .lasts_ns = PLAN_TIME_MAX_NS - 1};
    for (unsigned type = 1; type < MESSAGE_TYPE_END; type++) {
        rule->types |= PLAN_TYPE(type);
    }
    for (uint32_t i = 0; i < PLAN_SPANS_MAX; i++) {
        rule->ranks.span[i] = (struct plan_span){10000 + 10 * i, 10005 + 10 * i};
    }
    rule->ranks.count = PLAN_SPANS_MAX;
    rule->others = rule->ranks;
    for (uint32_t i = 1; i < PLAN_RULES_MAX; i++) {
        plan.rules[i] = *rule;
    }
    plan.rule_count = PLAN_RULES_MAX;
    plan.seeded = true;
    plan.seed = UINT64_MAX;
    char *text = format(&plan);
    assert_true(strlen(text) < PLAN_TEXT_BYTES_MAX);
    struct plan *again = parse(text);
    assert_true(plan_equal(&plan, again));
    plan_free(again);
    free(text);
}

static void a_cut_text_stays_in_its_buffer(void **state)
{
    (void)state;
    struct plan_error error;
    struct plan *plan = parse("seed:42,drop:0.1/vote/r0-r1@2s#3+1s,kill:r2@close"),
                *none;
    struct plan_hits hits = {{0}};
    assert_int_equal(plan_parse("drop,dorp", &none, &error), MOOT_ERR_CONFIG);
    for (int what = 0; what < 4; what++) {
        char whole[1024], cut[1024];
        size_t length = 0;
        for (size_t size = sizeof(cut) + 1; size-- > 0;) {
            memset(cut, 'x', sizeof(cut));
            size_t got = what == 0   ? plan_format(plan, cut, size)
                         : what == 1 ? plan_explain(plan, cut, size)
                         : what == 2
                             ? plan_hits_format(plan, &hits, cut, size)
                             : plan_error_format("drop,dorp", &error, cut, size);
            if (size == sizeof(cut)) {
                length = got;
                memcpy(whole, cut, sizeof(whole));
                assert_int_equal(strlen(whole), length);
            }
            assert_true(length == 0 || got == length);
            size_t end = size == 0 ? 0 : (got < size ? got : size - 1);
            if (size > 0 && size < sizeof(cut)) {
                assert_memory_equal(cut, whole, end);
                assert_int_equal(cut[end], '\0');
            }
            if (size < sizeof(cut)) {
                assert_int_equal(cut[size], 'x');
            }
        }
    }
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_has_one_canonical_word),
        cmocka_unit_test(different_words_are_different_plans),
        cmocka_unit_test(a_plan_reads_as_english),
        cmocka_unit_test(the_opening_counts_the_rules),
        cmocka_unit_test(random_plans_survive_the_way_there_and_back),
        cmocka_unit_test(the_longest_plan_fits),
        cmocka_unit_test(a_cut_text_stays_in_its_buffer),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
