/* job_clock_test.c - times of ranks on other hosts by the job's clock
 * (node/config/ending.h).
 */
#include "node/config/ending.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void without_an_agent_a_time_is_the_hosts(void **unused)
{
    (void)unused;
    unsetenv(ENDING_CLOCK);
    assert_true(ending_by_job_clock(5) == 5);
    assert_true(ending_by_job_clock(0) == 0);
}

static void an_agent_says_how_far_the_host_is_off(void **unused)
{
    (void)unused;
    setenv(ENDING_CLOCK, "100000000000000", 1);
    assert_true(ending_by_job_clock(5) == UINT64_C(100000000000005));
    setenv(ENDING_CLOCK, "-100000000000000", 1);
    assert_true(ending_by_job_clock(UINT64_C(100000000000005)) == 5);
    assert_true(ending_by_job_clock(0) == 0); /* it did not happen */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_an_agent_a_time_is_the_hosts),
        cmocka_unit_test(an_agent_says_how_far_the_host_is_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
