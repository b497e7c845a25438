/* plan_draw_test.c - how hard the rules of a fault plan strike.
 *
 * Draws against the distributions that they are named after, and exactly; clocks.
 */
#include "tests/unit/plan_parsed.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

static void a_chance_is_as_likely_as_it_says(void **state)
{
    (void)state;
    static const char *const texts[] = {"drop:0", "drop:0.1", "drop:0.75", "drop"};
    static const double chances[] = {0, 0.1, 0.75, 1};
    enum { DRAWS = 100000 };
    for (size_t i = 0; i < 4; i++) {
        struct plan *plan = parse(texts[i]);
        uint64_t seed = 1, hits = 0;
        for (int draw = 0; draw < DRAWS; draw++) {
            hits += plan_chance(&plan->rules[0], next_word(&seed));
        }
        uint64_t edge = plan->rules[0].chance_ppb;
        assert_false(edge < PLAN_CERTAIN_PPB && plan_chance(&plan->rules[0], edge));
        assert_true(edge == 0 || plan_chance(&plan->rules[0], edge - 1));
        double off = (double)hits / DRAWS - chances[i];
        assert_true(off < 0.005 && off > -0.005);
        assert_true(chances[i] > 0 || hits == 0);
        assert_true(chances[i] < 1 || hits == DRAWS);
        plan_free(plan);
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void a_spread_has_its_distribution(void **state)
{
    (void)state;
    /* Least, quartiles and largest, in units of us; 0: not looked at. */
    static const struct {
        const char *text;
        double least, quarter, half, three, most;
    } rows[] = {
        {"delay:5ms", 5000, 5000, 5000, 5000, 5000},
        {"delay:5ms+-2ms", 3000, 4000, 5000, 6000, 7000},
        {"delay:5ms+-0ms", 5000, 5000, 5000, 5000, 5000},
        {"delay:exp:10ms", 0, 2876.8, 6931.5, 13862.9, 0},
        {"delay:pareto:1ms:1", 1000, 1333.3, 2000, 4000, 1000000},
        {"delay:pareto:1ms:2", 1000, 1154.7, 1414.2, 2000, 0},
        {"delay:pareto:1ms:0.1", 1000, 17757.7, 1000000, 1000000, 1000000},
        {"delay:0s", 0, 0, 0, 0, 0},
    };
    enum { DRAWS = 100000 };
    static uint64_t draws[DRAWS];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct plan *plan = parse(rows[i].text);
        uint64_t seed = 7;
        for (int draw = 0; draw < DRAWS; draw++) {
            draws[draw] = plan_spread_ns(&plan->rules[0].spread, next_word(&seed));
        }
        qsort(draws, DRAWS, sizeof(*draws), by_size);
        const double expected[] = {rows[i].least, rows[i].quarter, rows[i].half,
                                   rows[i].three, rows[i].most};
        for (size_t q = 0; q < 5; q++) {
            double got = (double)draws[q == 4 ? DRAWS - 1 : DRAWS / 4 * q] / 1000;
            double slack = q == 0 || q == 4 ? 0.001 : 0.02;
            if (expected[q] > 0 &&
                (got < expected[q] * (1 - slack) || got > expected[q] * (1 + slack))) {
                fail_msg("%s: quartile %zu is %g, not %g", rows[i].text, q, got,
                         expected[q]);
            }
        }
        plan_free(plan);
    }
}

/* The same on every machine and compiler: a seed's run depends on it. */
static void draws_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t word, ns;
    } rows[] = {
        {"delay:exp:1s", UINT64_MAX, 0},
        {"delay:exp:1s", UINT64_MAX / 2, 693147180},
        {"delay:exp:1s", UINT64_MAX / 4, 1386294361},
        {"delay:exp:1s", 0, 44361419558},
        {"delay:exp:1000h", 0, 159701110410690307},
        {"delay:pareto:1s:1", UINT64_MAX, 1000000000},
        {"delay:pareto:1s:1", UINT64_MAX / 4, 4000000000},
        {"delay:pareto:1s:1.5", UINT64_MAX / 2, 1587389858},
        {"delay:pareto:1000h:0.1", 0, UINT64_C(3600000000000000) * 1000},
        {"delay:5ms+-2ms", 0, 3000000},
        {"delay:5ms+-2ms", 4000000, 7000000},
        {"delay:5ms+-2ms", 4000001, 3000000},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct plan *plan = parse(rows[i].text);
        uint64_t ns = plan_spread_ns(&plan->rules[0].spread, rows[i].word);
        if (ns != rows[i].ns) {
            fail_msg("%s of %llx is %llu", rows[i].text,
                     (unsigned long long)rows[i].word, (unsigned long long)ns);
        }
        plan_free(plan);
    }
}

static void a_slow_kernel_takes_longer(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t took_ns, longer_ns;
    } rows[] = {
        {"slow:x10", 5 * MS, 45 * MS},
        {"slow:x1.5", 10 * MS, 5 * MS},
        {"slow:x0.5", 10 * MS, 0},
        {"slow:7ms", 10 * MS, 7 * MS},
        {"slow:x1000", 1000000 * SECOND, 999000000 * SECOND},
        {"slow:x1000", UINT64_MAX - 5, 4},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct plan *plan = parse(rows[i].text);
        assert_int_equal(plan_slow_ns(&plan->rules[0], rows[i].took_ns, 1),
                         rows[i].longer_ns);
        plan_free(plan);
    }
}

static void a_clock_runs_at_its_rate(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t rank;
        uint64_t true_ms, clock_ms;
    } rows[] = {
        {"none", 0, 1234, 1234},
        {"clock:x2/r1", 0, 1000, 1000},
        {"clock:x2/r1", 1, 1000, 2000},
        {"clock:x2/r1@1s", 1, 1000, 1000},
        {"clock:x2/r1@1s", 1, 3000, 5000},
        {"clock:x2/r1@1s+1s", 1, 1500, 2000},
        {"clock:x2/r1@1s+1s", 1, 5000, 6000},
        {"clock:x0.5@1s+2s,clock:x10@2s+2s", 0, 1000, 1000},
        {"clock:x0.5@1s+2s,clock:x10@2s+2s", 0, 2000, 1500},
        {"clock:x0.5@1s+2s,clock:x10@2s+2s", 0, 3000, 6500},
        {"clock:x0.5@1s+2s,clock:x10@2s+2s", 0, 4000, 16500},
        {"clock:x0.5@1s+2s,clock:x10@2s+2s", 0, 5000, 17500},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct plan *plan = parse(rows[i].text);
        assert_int_equal(plan_clock_ns(plan, rows[i].rank, rows[i].true_ms * MS),
                         rows[i].clock_ms * MS);
        assert_int_equal(
            plan_clock_reaches_ns(plan, rows[i].rank, rows[i].clock_ms * MS),
            rows[i].true_ms * MS);
        plan_free(plan);
    }
}

static void a_clock_reaches_a_time_when_it_first_shows_it(void **state)
{
    (void)state;
    struct plan *plan =
        parse("clock:x1.37@1ms+3ms,clock:x0.003@2ms+1ms,clock:x999@7ms");
    uint64_t seed = 3, last_ns = 0, last_clock_ns = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t clock_ns = next_word(&seed) % (20 * MS);
        uint64_t at_ns = plan_clock_reaches_ns(plan, 0, clock_ns);
        assert_true(plan_clock_ns(plan, 0, at_ns) >= clock_ns);
        assert_true(at_ns == 0 || plan_clock_ns(plan, 0, at_ns - 1) < clock_ns);
    }
    for (int i = 0; i < 20000; i++) {
        last_ns += next_word(&seed) % 1000;
        uint64_t clock_ns = plan_clock_ns(plan, 0, last_ns);
        assert_true(clock_ns >= last_clock_ns);
        last_clock_ns = clock_ns;
    }
    assert_int_equal(plan_clock_ns(plan, 0, UINT64_MAX), PLAN_FOREVER - 1);
    assert_int_equal(plan_clock_reaches_ns(plan, 0, 0), 0);
    assert_int_equal(plan_clock_reaches_ns(plan, 0, PLAN_FOREVER), PLAN_FOREVER);
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chance_is_as_likely_as_it_says),
        cmocka_unit_test(a_spread_has_its_distribution),
        cmocka_unit_test(draws_are_exact),
        cmocka_unit_test(a_slow_kernel_takes_longer),
        cmocka_unit_test(a_clock_runs_at_its_rate),
        cmocka_unit_test(a_clock_reaches_a_time_when_it_first_shows_it),
    };
    return cmocka_run_group_tests_name("plan_draw", tests, NULL, NULL);
}
