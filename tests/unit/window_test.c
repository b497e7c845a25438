/* window_test.c - what a window of so many tasks means to the core
 * (node/spawn/window.h). */
#include "node/spawn/window.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void who_may_outlive_a_death_remembers_an_eighth_of_it(void **state)
{
    (void)state;
    assert_int_equal(window_drop_above(65536, true), 8193);
    assert_int_equal(window_drop_above(512, true), 65);
    assert_int_equal(window_drop_above(7, true), 1);
}

static void others_remember_what_stays_in_a_cache(void **state)
{
    (void)state;
    assert_int_equal(window_drop_above(65536, false), 1025);
    assert_int_equal(window_drop_above(8200, false), 1025);
    assert_int_equal(window_drop_above(8184, false), 1024);
    assert_int_equal(window_drop_above(512, false), 65);
}

static void without_a_window_nothing_is_dropped(void **state)
{
    (void)state;
    assert_int_equal(window_drop_above(0, true), 0);
    assert_int_equal(window_drop_above(0, false), 0);
    assert_int_equal(window_chunk_mask(0), 255);
}

static void a_window_has_room_for_64_chunks_of_two_tasks_or_more(void **state)
{
    (void)state;
    assert_int_equal(window_chunk_mask(65536), 255);
    assert_int_equal(window_chunk_mask(64 * 256), 255);
    assert_int_equal(window_chunk_mask(64 * 256 - 1), 127);
    assert_int_equal(window_chunk_mask(512), 7);
    assert_int_equal(window_chunk_mask(1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_may_outlive_a_death_remembers_an_eighth_of_it),
        cmocka_unit_test(others_remember_what_stays_in_a_cache),
        cmocka_unit_test(without_a_window_nothing_is_dropped),
        cmocka_unit_test(a_window_has_room_for_64_chunks_of_two_tasks_or_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
