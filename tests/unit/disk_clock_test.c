/* disk_clock_test.c - the host's clock is set while records wait to be written.
 *
 * The linker puts this clock in the place of the system's (--wrap): the time since 1970
 * that it tells is an hour ahead of the one that the kernel waits by.  So a wait until
 * some such time lasts as if the clock had been set back meanwhile.
 */
#include "disk_bench.h"

#include <time.h>

enum { AHEAD_S = 3600, LOOK_NS = 10000000, LOOKS = 2000 };

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    const int end = __real_clock_gettime(clock, out);
    out->tv_sec += clock == CLOCK_REALTIME ? AHEAD_S : 0;
    return end;
}

static uint64_t stored_of(struct diskstore *store)
{
    struct diskstore_counts counts;
    diskstore_counts(store, &counts);
    return counts.stored;
}

static void a_clock_that_is_set_back_delays_no_record(void **state)
{
    struct folder_bench *bench = *state;
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    struct diskstore *store = bench_open(bench, NULL);
    const struct diskstore_record record = bench_record(bench, 1);
    assert_true(diskstore_put(store, &record, NULL, NULL));
    for (int look = 0; look < LOOKS && stored_of(store) == 0; look++) {
        nanosleep(&pause, NULL);
    }
    const uint64_t stored = stored_of(store);
    diskstore_close(store);
    assert_int_equal(stored, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(a_clock_that_is_set_back_delays_no_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
