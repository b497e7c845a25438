/* clock_test.c - what is reckoned from a counter of ticks is the time
 * (node/engine/clock.h).
 *
 * A counter is a script: how many ticks it makes in a microsecond, from when on.
 */
#include "node/engine/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define BOOTED_NS (90000 * MS)
enum { READING_TICKS = 60, NEAR_NS = 10 };

struct world {
    struct clock clock;
    uint64_t ns, ticks;         /* now, */
    uint64_t set_ns, set_ticks; /* and when the counter was set */
    uint64_t ticks_per_us;
};

static void set_counter(struct world *world, uint64_t ticks, uint64_t ticks_per_us)
{
    world->set_ns = world->ns;
    world->set_ticks = world->ticks = ticks;
    world->ticks_per_us = ticks_per_us;
}

static struct world world_new(uint64_t ticks_per_us)
{
    struct world world = {.ns = BOOTED_NS};
    set_counter(&world, UINT64_C(1) << 40, ticks_per_us);
    return world;
}

static void pass(struct world *world, uint64_t ns)
{
    world->ns += ns;
    world->ticks =
        world->set_ticks + (world->ns - world->set_ns) * world->ticks_per_us / 1000;
}

static void read_clock(struct world *world, uint64_t took_ticks)
{
    uint64_t half = took_ticks / 2;
    clock_learn(&world->clock, world->ticks - half, world->ns, world->ticks + half);
}

static bool is_reckoned(const struct world *world, uint64_t *wrong_ns)
{
    uint64_t ns;
    bool reckoned = clock_reckon(&world->clock, world->ticks, &ns);
    *wrong_ns = ns > world->ns ? ns - world->ns : world->ns - ns;
    return reckoned;
}

/* Readings a little apart, until the length of a tick is known. */
static void learn(struct world *world)
{
    for (int i = 0; i < 30; i++) {
        read_clock(world, READING_TICKS);
        pass(world, MS / 10);
    }
    read_clock(world, READING_TICKS);
}

/* Looks every 100 ns for so long, and says how far off what was reckoned was at most;
 * `reckoned`: how often it was. */
static uint64_t look_for(struct world *world, uint64_t ns, unsigned *reckoned)
{
    uint64_t most_ns = 0, wrong_ns, end_ns = world->ns + ns;
    *reckoned = 0;
    while (world->ns < end_ns) {
        if (is_reckoned(world, &wrong_ns)) {
            (*reckoned)++;
            most_ns = wrong_ns > most_ns ? wrong_ns : most_ns;
        } else {
            read_clock(world, READING_TICKS);
        }
        pass(world, 100);
    }
    return most_ns;
}

static void test_what_is_reckoned_is_the_time(void **state)
{
    (void)state;
    static const uint64_t RATES[] = {200, 1000, 2596, 5000};
    for (size_t i = 0; i < sizeof(RATES) / sizeof(RATES[0]); i++) {
        struct world world = world_new(RATES[i]);
        unsigned reckoned;
        learn(&world);
        assert_true(look_for(&world, 20 * MS, &reckoned) < NEAR_NS);
        assert_true(reckoned > 190000); /* of 200,000 looks */
    }
}

static void test_nothing_is_reckoned_far_from_a_reading(void **state)
{
    (void)state;
    struct world world = world_new(2596);
    uint64_t wrong_ns;
    learn(&world);
    assert_true(is_reckoned(&world, &wrong_ns));
    pass(&world, MS / 10);
    assert_false(is_reckoned(&world, &wrong_ns));
    read_clock(&world, READING_TICKS);
    assert_true(is_reckoned(&world, &wrong_ns));
    world.ticks -= READING_TICKS; /* another processor's counter is behind */
    assert_false(is_reckoned(&world, &wrong_ns));
}

static void test_one_reading_teaches_nothing(void **state)
{
    (void)state;
    struct world world = world_new(2596);
    uint64_t wrong_ns;
    world.ns = MS; /* since the machine was booted */
    read_clock(&world, READING_TICKS);
    assert_false(is_reckoned(&world, &wrong_ns));
}

static void test_readings_far_apart_teach_nothing(void **state)
{
    (void)state;
    struct world world = world_new(2596);
    unsigned reckoned;
    learn(&world);
    pass(&world, 10000 * MS);
    assert_true(look_for(&world, 20 * MS, &reckoned) < NEAR_NS);
    assert_true(reckoned > 180000);
}

static void test_an_interrupted_reading_teaches_nothing(void **state)
{
    (void)state;
    struct world world = world_new(2596);
    uint64_t wrong_ns, tick;
    learn(&world);
    tick = world.clock.tick;
    pass(&world, 2 * MS);
    world.ticks += 500000; /* between the counter and the clock */
    clock_learn(&world.clock, world.ticks - 500000, world.ns, world.ticks);
    assert_false(is_reckoned(&world, &wrong_ns));
    assert_int_equal(world.clock.tick, tick);
}

static void test_a_counter_that_is_no_good_is_not_used(void **state)
{
    (void)state;
    static const uint64_t RATES[] = {0, 1, 50};
    for (size_t i = 0; i < sizeof(RATES) / sizeof(RATES[0]); i++) {
        struct world world = world_new(RATES[i]);
        unsigned reckoned;
        learn(&world);
        (void)look_for(&world, 5 * MS, &reckoned);
        assert_int_equal(reckoned, 0);
    }
}

static void test_a_counter_that_is_set_is_learnt_anew(void **state)
{
    (void)state;
    static const uint64_t SET[] = {0, UINT64_C(1) << 39, UINT64_C(1) << 62};
    for (size_t i = 0; i < sizeof(SET) / sizeof(SET[0]); i++) {
        struct world world = world_new(2596);
        unsigned reckoned;
        learn(&world);
        pass(&world, MS);
        set_counter(&world, SET[i], 1000);
        uint64_t most_ns = look_for(&world, 2 * MS, &reckoned);
        assert_true(most_ns < MS / 30); /* a counter is not trusted for longer */
        assert_true(look_for(&world, 20 * MS, &reckoned) < NEAR_NS);
        assert_true(reckoned > 190000);
    }
}

static void test_the_time_is_the_clocks_and_never_goes_back(void **state)
{
    (void)state;
    enum { LOOKS = 1000000, WRONG_NS = 2000 };
    struct clock clock;
    clock_begin(&clock);
    uint64_t last_ns = clock_ns();
    for (int i = 0; i < LOOKS; i++) {
        uint64_t before_ns = clock_ns();
        uint64_t ns = clock_look(&clock, last_ns);
        assert_true(ns >= last_ns);
        assert_true(ns + WRONG_NS >= before_ns);
        last_ns = ns;
        assert_true(ns <= clock_ns() + WRONG_NS);
    }
    assert_int_equal(clock_look(&clock, UINT64_MAX), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_reckoned_is_the_time),
        cmocka_unit_test(test_nothing_is_reckoned_far_from_a_reading),
        cmocka_unit_test(test_one_reading_teaches_nothing),
        cmocka_unit_test(test_readings_far_apart_teach_nothing),
        cmocka_unit_test(test_an_interrupted_reading_teaches_nothing),
        cmocka_unit_test(test_a_counter_that_is_no_good_is_not_used),
        cmocka_unit_test(test_a_counter_that_is_set_is_learnt_anew),
        cmocka_unit_test(test_the_time_is_the_clocks_and_never_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
