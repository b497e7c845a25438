/* meeting_checker_test.c - the meeting checker sees every history that breaks one of
 * its rules, and passes the one beside it that does not.
 *
 * Histories are told by hand, as in order_checker_test.c: three ranks, of which one is
 * removed in view 2, and a fourth that joins in view 3.
 */
#include "consensus/sim/checks/meeting_checker.h"
#include "consensus/sim/engine/sim_internal.h"
#include "consensus/sim/programs/ranks.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RANKS = 8 };

struct told {
    struct program *program;
    struct sim sim;
    struct sim_report report;
    struct storm storm;
    struct meeting_checker *checker;
};

static int begin(void **state)
{
    struct told *told = calloc(1, sizeof(*told));
    told->program = program_blank(1, RANKS, 1);
    told->storm = (struct storm){.first = 3};
    told->sim = (struct sim){.program = told->program, .report = &told->report};
    told->checker = meeting_checker_new(told->program, &told->storm);
    *state = told;
    return 0;
}

static int end(void **state)
{
    struct told *told = *state;
    meeting_checker_free(told->checker);
    program_free(told->program);
    free(told);
    return 0;
}

static void see(struct told *told, struct sight sight)
{
    struct sim_watcher watcher = meeting_checker_watcher(told->checker);
    watcher.see(watcher.context, &told->sim, &sight);
}

static void come_for(struct told *told, uint32_t rank, uint64_t meeting,
                     int32_t purpose)
{
    see(told,
        (struct sight){
            .type = SIGHT_MEET, .rank = rank, .meeting = meeting, .code = purpose});
}

static void come(struct told *told, uint32_t rank, uint64_t meeting)
{
    come_for(told, rank, meeting, 0);
}

static void close_rank(struct told *told, uint32_t rank)
{
    see(told, (struct sight){.type = SIGHT_CLOSE, .rank = rank});
}

/* `members` is a word of bits, as sets of few ranks are; 0: nobody is named. */
static void leave_with(struct told *told, uint32_t rank, uint64_t meeting,
                       uint64_t members, int32_t code)
{
    struct rankset set = {.low = members};
    see(told, (struct sight){.type = SIGHT_MET,
                             .rank = rank,
                             .meeting = meeting,
                             .code = code,
                             .members = members != 0 ? &set : NULL});
}

static void leave(struct told *told, uint32_t rank, uint64_t meeting, uint64_t members)
{
    leave_with(told, rank, meeting, members, MOOT_OK);
}

static void enter(struct told *told, uint32_t rank, uint64_t epoch, uint64_t members)
{
    struct rankset set = {.low = members};
    see(told, (struct sight){
                  .type = SIGHT_VIEW, .rank = rank, .epoch = epoch, .members = &set});
}

static void expect_good(struct told *told) { assert_false(told->report.failed); }

static void expect(struct told *told, const char *check)
{
    assert_true(told->report.failed);
    assert_string_equal(told->report.check, check);
}

/* --- All came --------------------------------------------------------------------- */

static void all_have_come(void **state)
{
    struct told *told = *state;
    for (uint32_t rank = 0; rank < 3; rank++) {
        come(told, rank, 1);
    }
    leave(told, 1, 1, 7);
    come(told, 1, 2);
    leave(told, 0, 1, 7);
    expect_good(told);
    leave(told, 1, 2, 2);
    expect(told, "all came");
}

static void who_has_closed_need_not(void **state)
{
    struct told *told = *state;
    come(told, 0, 1);
    close_rank(told, 1);
    close_rank(told, 2);
    leave(told, 0, 1, 1);
    expect_good(told);
}

static void nobody_leaves_before_the_last(void **state)
{
    struct told *told = *state;
    come(told, 0, 1);
    close_rank(told, 1);
    leave(told, 0, 1, 1);
    expect(told, "all came");
}

static void nobody_is_named_who_has_not_come(void **state)
{
    struct told *told = *state;
    come(told, 0, 1);
    come(told, 1, 1);
    close_rank(told, 2);
    leave(told, 0, 1, 7);
    expect(told, "all came");
}

static void who_is_removed_need_not(void **state)
{
    struct told *told = *state;
    come(told, 0, 1);
    come(told, 1, 1);
    enter(told, 0, 2, 3);
    leave(told, 0, 1, 3);
    expect_good(told);
    leave(told, 1, 1, 3); /* it is still in view 1, to which rank 2 belongs */
    expect(told, "all came");
}

static void a_newcomer_hears_of_what_is_over(void **state)
{
    struct told *told = *state;
    for (uint32_t rank = 0; rank < 3; rank++) {
        come(told, rank, 1);
    }
    enter(told, 3, 3, 11);
    come(told, 3, 1);
    leave(told, 3, 1, 0);
    expect_good(told);
    come(told, 3, 2);
    leave(told, 3, 2, 0);
    expect(told, "all came");
}

/* --- One outcome ------------------------------------------------------------------ */

static void all_know_the_same(void **state)
{
    struct told *told = *state;
    for (uint32_t rank = 0; rank < 3; rank++) {
        come(told, rank, 1);
    }
    leave(told, 0, 1, 7);
    leave(told, 1, 1, 7);
    expect_good(told);
    leave(told, 2, 1, 3);
    expect(told, "one outcome");
}

static void who_is_removed_may_know_another(void **state)
{
    struct told *told = *state;
    for (uint32_t rank = 0; rank < 3; rank++) {
        come(told, rank, 1);
    }
    leave(told, 2, 1, 7);
    enter(told, 0, 2, 3);
    enter(told, 1, 2, 3);
    leave(told, 0, 1, 3);
    expect_good(told);
    leave(told, 1, 1, 7);
    expect(told, "one outcome");
}

static void an_error_has_a_reason(void **state)
{
    struct told *told = *state;
    come_for(told, 0, 1, 0);
    come_for(told, 1, 1, 5);
    come_for(told, 2, 1, 0);
    leave_with(told, 0, 1, 7, MOOT_ERR_STATE);
    expect_good(told);
    leave(told, 1, 1, 7);
    expect(told, "one outcome");
}

static void without_a_reason_there_is_no_error(void **state)
{
    struct told *told = *state;
    for (uint32_t rank = 0; rank < 3; rank++) {
        come_for(told, rank, 1, 5);
    }
    leave_with(told, 0, 1, 7, MOOT_ERR_STATE);
    expect(told, "one outcome");
}

static void only_newcomers_are_not_told_who_came(void **state)
{
    struct told *told = *state;
    for (uint32_t rank = 0; rank < 3; rank++) {
        come(told, rank, 1);
    }
    leave(told, 0, 1, 0);
    expect(told, "one outcome");
}

/* --- Crowds ------------------------------------------------------------------------
 */

static void tell(struct told *told, uint32_t from, uint32_t to, uint64_t epoch)
{
    const struct message word = {.type = MESSAGE_MEET, .epoch = epoch};
    see(told,
        (struct sight){.type = SIGHT_SEND, .rank = from, .peer = to, .message = &word});
}

static void a_rank_of_many_has_five_neighbours(void **state)
{
    struct told *told = *state;
    told->sim.weather.direct_max = 2;
    for (uint32_t rank = 1; rank < 6; rank++) {
        tell(told, rank, 0, 1);
        tell(told, 0, rank, 1);
    }
    tell(told, 0, 6, 2); /* of another tree */
    expect_good(told);
    tell(told, 6, 0, 2);
    tell(told, 7, 0, 2);
    for (uint32_t rank = 2; rank < 6; rank++) {
        tell(told, 0, rank, 2);
    }
    expect(told, "crowd");
}

static void a_rank_of_few_may_speak_with_all(void **state)
{
    struct told *told = *state;
    told->sim.weather.direct_max = 3;
    for (uint32_t rank = 1; rank < 8; rank++) {
        tell(told, 0, rank, 1);
    }
    expect_good(told);
}

int main(void)
{
#define SCENE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        SCENE(all_have_come),
        SCENE(who_has_closed_need_not),
        SCENE(nobody_leaves_before_the_last),
        SCENE(nobody_is_named_who_has_not_come),
        SCENE(who_is_removed_need_not),
        SCENE(a_newcomer_hears_of_what_is_over),
        SCENE(all_know_the_same),
        SCENE(who_is_removed_may_know_another),
        SCENE(an_error_has_a_reason),
        SCENE(without_a_reason_there_is_no_error),
        SCENE(only_newcomers_are_not_told_who_came),
        SCENE(a_rank_of_many_has_five_neighbours),
        SCENE(a_rank_of_few_may_speak_with_all),
    };
#undef SCENE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
