/* crew_test.c - the ranks of a host: when the death of one is certain.
 *
 * Carries its own copy of the crew, whose signals the test answers.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static int refusal; /* of a look at a group; 0: there is none */

static int kill_or_refuse(pid_t group, int number)
{
    if (number == 0 && refusal != 0) {
        errno = refusal;
        return -1;
    }
    return kill(group, number);
}
#define kill kill_or_refuse
#include "node/launch/crew.c"
#undef kill

static uint32_t reaped_count;

static void count_reaped(void *context, uint32_t rank, int status)
{
    (void)context, (void)rank, (void)status;
    reaped_count++;
}

/* A process of its group has become another user's, by a program that changes users. */
static void who_may_not_be_signalled_may_live(void **unused)
{
    sigset_t mask;
    char program[] = "/bin/true";
    char *argv[] = {program, NULL};
    struct channel_hub *hub = channel_hub_new(1, 1);
    const struct crew_setup setup = {
        .count = 1, .hub = hub, .host = "", .name = "", .input = -1, .mask = &mask};
    const struct crew_watch watch = {NULL, count_reaped};
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)unused;
    sigemptyset(&mask);
    struct crew *crew = crew_new(&setup);
    assert_non_null(crew);
    assert_true(crew_start(crew, argv));
    refusal = EPERM;
    for (int turn = 0; turn < 10000 && crew_left(crew) > 0; turn++) {
        crew_reap(crew, &watch);
        nanosleep(&pause, NULL);
    }
    crew_reap(crew, &watch);
    assert_int_equal(reaped_count, 1);
    assert_false(crew_is_certain(crew));
    refusal = ESRCH;
    crew_reap(crew, &watch);
    assert_true(crew_is_certain(crew));
    crew_free(crew);
    channel_hub_free(hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_may_not_be_signalled_may_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
