/* session_checker_test.c - the session checker sees every history that breaks one of
 * its rules, and passes the one beside it that does not.
 *
 * Histories are told by hand: three ranks, of which one may leave at the end of the
 * first session, and a fourth that may be let in.
 */
#include "consensus/sim/checks/session_checker.h"
#include "consensus/sim/engine/sim_internal.h"
#include "consensus/sim/programs/ranks.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RANKS = 4 };

struct told {
    struct program *program;
    struct sim sim;
    struct sim_report report;
    struct storm storm;
    struct session_checker *checker;
};

static int begin(void **state)
{
    struct told *told = calloc(1, sizeof(*told));
    told->program = program_blank(1, RANKS, 1);
    told->storm = (struct storm){.first = 3};
    told->sim = (struct sim){.program = told->program, .report = &told->report};
    told->checker = session_checker_new(told->program, &told->storm);
    *state = told;
    return 0;
}

static int end(void **state)
{
    struct told *told = *state;
    session_checker_free(told->checker);
    program_free(told->program);
    free(told);
    return 0;
}

/* `members` is a word of bits; 0: nobody is named. */
static void see(struct told *told, enum sight_type type, uint32_t rank, uint64_t number,
                uint64_t members)
{
    struct sim_watcher watcher = session_checker_watcher(told->checker);
    struct rankset set = {.low = members};
    const struct sight sight = {.type = type,
                                .rank = rank,
                                .meeting = number,
                                .epoch = number,
                                .members = members != 0 ? &set : NULL};
    watcher.see(watcher.context, &told->sim, &sight);
}

static void meet(struct told *told, uint64_t meeting, uint64_t members)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (members >> rank & 1) {
            see(told, SIGHT_MEET, rank, meeting, 0);
        }
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (members >> rank & 1) {
            see(told, SIGHT_MET, rank, meeting, members);
        }
    }
}

static void enter(struct told *told, uint64_t epoch, uint64_t members)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (members >> rank & 1) {
            see(told, SIGHT_VIEW, rank, epoch, members);
        }
    }
}

static void begin_session(struct told *told, uint32_t rank, uint64_t number,
                          uint64_t members)
{
    see(told, SIGHT_SESSION, rank, number, members);
}

static void expect_good(struct told *told) { assert_false(told->report.failed); }

static void expect(struct told *told, const char *check)
{
    assert_true(told->report.failed);
    assert_string_equal(told->report.check, check);
}

/* Rank 2 goes; 0 and 1 stay. */
static void end_the_first(struct told *told)
{
    meet(told, 1, 7);
    meet(told, 2, 3);
    enter(told, 2, 3);
}

static void sessions_follow_each_other(void **state)
{
    struct told *told = *state;
    end_the_first(told);
    begin_session(told, 0, 2, 3);
    begin_session(told, 1, 2, 3);
    enter(told, 3, 11);
    begin_session(told, 3, 2, 0);
    meet(told, 3, 11);
    meet(told, 4, 11);
    begin_session(told, 0, 3, 11);
    begin_session(told, 3, 3, 11);
    begin_session(told, 1, 3, 11);
    expect_good(told);
}

static void a_list_is_as_the_meeting_had_it(void **state)
{
    struct told *told = *state;
    end_the_first(told);
    begin_session(told, 0, 2, 1);
    expect(told, "one session");
}

static void two_that_live_have_one_list(void **state)
{
    struct told *told = *state;
    meet(told, 1, 7);
    meet(told, 2, 7);
    begin_session(told, 0, 2, 7);
    see(told, SIGHT_MET, 1, 2, 3);
    begin_session(told, 1, 2, 3);
    expect(told, "one session");
}

static void who_was_removed_may_have_another(void **state)
{
    struct told *told = *state;
    meet(told, 1, 7);
    meet(told, 2, 7);
    begin_session(told, 0, 2, 7);
    see(told, SIGHT_VIEW, 1, 2, 6);
    see(told, SIGHT_VIEW, 2, 2, 6);
    see(told, SIGHT_MET, 1, 1, 6);
    see(told, SIGHT_MET, 1, 2, 6);
    begin_session(told, 1, 2, 6);
    expect_good(told);
}

static void none_is_left_out(void **state)
{
    struct told *told = *state;
    meet(told, 1, 7);
    meet(told, 2, 7);
    begin_session(told, 0, 3, 7);
    expect(told, "one session");
}

static void who_goes_is_gone_first(void **state)
{
    struct told *told = *state;
    meet(told, 1, 7);
    meet(told, 2, 3);
    begin_session(told, 0, 2, 3);
    expect(told, "gone first");
}

static void come_to_go(struct told *told, uint32_t rank, uint64_t meeting)
{
    struct sim_watcher watcher = session_checker_watcher(told->checker);
    const struct sight sight = {
        .type = SIGHT_MEET, .rank = rank, .meeting = meeting, .goes = true};
    watcher.see(watcher.context, &told->sim, &sight);
}

static void nobody_waits_for_who_has_closed(void **state)
{
    struct told *told = *state;
    meet(told, 1, 7);
    see(told, SIGHT_CLOSE, 2, 0, 0);
    meet(told, 2, 3);
    begin_session(told, 0, 2, 3);
    begin_session(told, 1, 2, 3);
    expect_good(told);
}

static void who_said_that_it_goes_is_gone_first_though_it_closed(void **state)
{
    struct told *told = *state;
    come_to_go(told, 2, 1);
    meet(told, 1, 7);
    see(told, SIGHT_CLOSE, 2, 0, 0);
    meet(told, 2, 3);
    begin_session(told, 0, 2, 3);
    expect(told, "gone first");
}

static void who_has_gone_is_in_no_list_again(void **state)
{
    struct told *told = *state;
    meet(told, 1, 7);
    meet(told, 2, 7);
    begin_session(told, 0, 2, 7);
    meet(told, 3, 7);
    meet(told, 4, 3);
    enter(told, 2, 3);
    begin_session(told, 0, 3, 3);
    expect_good(told);
    meet(told, 5, 7);
    meet(told, 6, 7);
    begin_session(told, 0, 4, 7);
    expect(told, "not again");
}

static void nobody_is_told_of_what_has_not_begun(void **state)
{
    struct told *told = *state;
    end_the_first(told);
    enter(told, 3, 11);
    begin_session(told, 3, 2, 0);
    expect(told, "told");
}

static void nobody_is_told_of_what_is_over(void **state)
{
    struct told *told = *state;
    end_the_first(told);
    begin_session(told, 0, 2, 3);
    begin_session(told, 1, 2, 3);
    begin_session(told, 1, 1, 0);
    expect(told, "told");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(sessions_follow_each_other),
        TEST(a_list_is_as_the_meeting_had_it),
        TEST(two_that_live_have_one_list),
        TEST(who_was_removed_may_have_another),
        TEST(none_is_left_out),
        TEST(who_goes_is_gone_first),
        TEST(nobody_waits_for_who_has_closed),
        TEST(who_said_that_it_goes_is_gone_first_though_it_closed),
        TEST(who_has_gone_is_in_no_list_again),
        TEST(nobody_is_told_of_what_has_not_begun),
        TEST(nobody_is_told_of_what_is_over),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
