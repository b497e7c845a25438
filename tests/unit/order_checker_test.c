/* order_checker_test.c - the order checker sees every history that breaks one of its
 * rules, and passes the one beside it that does not.
 *
 * Histories are told by hand: three ranks, of which one is removed in view 2, and the
 * sights that the simulator would show.  A test tells a history that keeps to the rule,
 * then the same with one thing wrong, and wants the check of that name.
 */
#include "consensus/sim/checks/order_checker.h"
#include "consensus/sim/engine/sim_internal.h"
#include "consensus/sim/programs/ranks.h"
#include "hashing/placement.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4, TASKS = 16 };

struct told {
    struct program *program;
    struct sim sim;
    struct sim_report report;
    struct storm storm;
    uint64_t uids[RANKS];
    struct order_checker *checker;
    struct rankset two, all; /* {0, 1} and {0, 1, 2} */
    uint64_t now_ns;
};

static int begin(void **state)
{
    struct told *told = calloc(1, sizeof(*told));
    told->program = program_blank(1, RANKS, 1);
    for (int i = 0; i < TASKS; i++) {
        (void)program_add_task(told->program, "t", PROGRAM_NONE);
    }
    program_finish(told->program);
    told->storm = (struct storm){.first = 3};
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        told->uids[rank] = 100 + rank;
    }
    told->sim = (struct sim){
        .program = told->program, .report = &told->report, .uids = told->uids};
    sim_identify(&told->sim);
    told->checker = order_checker_new(told->program, &told->storm);
    ranks_fill(&told->two, 2);
    ranks_fill(&told->all, 3);
    *state = told;
    return 0;
}

static int end(void **state)
{
    struct told *told = *state;
    rankset_release(&told->two);
    rankset_release(&told->all);
    order_checker_free(told->checker);
    sim_forget(&told->sim);
    program_free(told->program);
    free(told);
    return 0;
}

/* --- Telling --------------------------------------------------------------------- */

static void see(struct told *told, struct sight sight)
{
    struct sim_watcher watcher = order_checker_watcher(told->checker);
    sight.time_ns = told->now_ns;
    watcher.see(watcher.context, &told->sim, &sight);
}

static void enter(struct told *told, uint32_t rank, uint64_t epoch,
                  const struct rankset *members)
{
    told->now_ns++;
    see(told, (struct sight){.type = SIGHT_VIEW,
                             .rank = rank,
                             .epoch = epoch,
                             .task = TASKS,
                             .members = members});
}

static void pass(struct told *told, enum sight_type type, uint32_t from, uint32_t to,
                 uint32_t task, struct message message)
{
    bool sends = type == SIGHT_SEND;
    if (task < TASKS) {
        message.hash = *sim_hash(&told->sim, task);
    }
    if (message.view_id == 0) {
        message.view_id = 1000 + message.epoch;
    }
    if (type != SIGHT_KEEP) {
        told->now_ns++;
    }
    see(told, (struct sight){.type = type,
                             .rank = sends ? from : to,
                             .peer = sends ? to : from,
                             .task = task,
                             .message = &message});
}

static void send(struct told *told, uint32_t from, uint32_t to, uint32_t task,
                 struct message message)
{
    pass(told, SIGHT_SEND, from, to, task, message);
}

static void settle(struct told *told, uint32_t rank, uint32_t peer, uint64_t epoch)
{
    send(told, rank, peer, TASKS,
         (struct message){.type = MESSAGE_SETTLED, .epoch = epoch});
}

static void report(struct told *told, uint32_t from, uint32_t to, uint32_t task,
                   enum report_what what, uint32_t owner)
{
    const struct message_entry entry = {
        .hash = *sim_hash(&told->sim, task), .what = what, .owner = owner};
    const struct message_report body = {.count = 1, .entry = &entry};
    send(told, from, to, TASKS,
         (struct message){.type = MESSAGE_REPORT, .epoch = 2, .u.report = body});
}

static void expect_good(struct told *told) { assert_false(told->report.failed); }

static void expect(struct told *told, const char *check)
{
    assert_true(told->report.failed);
    assert_string_equal(told->report.check, check);
}

/* Both of view 2 are in it. */
static void change_view(struct told *told)
{
    enter(told, 0, 2, &told->two);
    enter(told, 1, 2, &told->two);
}

/* A task that rank chairs in view 2, and did, or did not, in view 1. */
static uint32_t task_of(struct told *told, uint32_t rank, bool before)
{
    for (uint32_t task = 0; task < TASKS; task++) {
        const moot_hash *hash = sim_hash(&told->sim, task);
        bool was = placement_chair(hash, &told->all, NULL) == rank;
        if (placement_chair(hash, &told->two, NULL) == rank && was == before) {
            return task;
        }
    }
    fail_msg("no such task among so many");
    return TASKS;
}

/* --- Rules ----------------------------------------------------------------------- */

static struct message old_result(uint64_t owner_uid)
{
    return (struct message){
        .type = MESSAGE_RESULT, .epoch = 1, .u.result = {.owner_uid = owner_uid}};
}

static void an_old_result_comes_from_its_owner(void **state)
{
    struct told *told = *state;
    change_view(told);
    pass(told, SIGHT_RECEIVE, 1, 0, 3, old_result(told->uids[1]));
    pass(told, SIGHT_KEEP, 1, 0, 3, old_result(told->uids[1]));
    expect_good(told);
    pass(told, SIGHT_RECEIVE, 1, 0, 4, old_result(told->uids[2]));
    pass(told, SIGHT_KEEP, 1, 0, 4, old_result(told->uids[2]));
    expect(told, "rule e");
}

static void nothing_runs_because_of_an_old_message(void **state)
{
    struct told *told = *state;
    const struct message decision = {.type = MESSAGE_DECISION, .epoch = 1};
    pass(told, SIGHT_RECEIVE, 1, 0, 3, decision);
    see(told, (struct sight){.type = SIGHT_RUN, .rank = 0, .task = 3});
    expect_good(told);
    change_view(told);
    pass(told, SIGHT_RECEIVE, 1, 0, 4, decision);
    see(told, (struct sight){.type = SIGHT_RUN, .rank = 0, .task = 4});
    expect(told, "rule e");
}

static void messages_of_an_epoch_name_one_view(void **state)
{
    struct told *told = *state;
    struct message state_of = {.type = MESSAGE_STATE, .epoch = 1};
    send(told, 0, 1, TASKS, state_of);
    send(told, 2, 1, TASKS, state_of);
    expect_good(told);
    state_of.view_id = 77;
    send(told, 1, 0, TASKS, state_of);
    expect(told, "one view");
}

static void reports_name_one_owner(void **state)
{
    struct told *told = *state;
    change_view(told);
    report(told, 0, 1, 5, REPORT_OWN, 0);
    report(told, 1, 0, 5, REPORT_RESULT, 0);
    report(told, 1, 0, 6, REPORT_ACCEPTED, 1); /* of a ballot: it names no owner */
    report(told, 0, 1, 6, REPORT_ACCEPTED, 0);
    expect_good(told);
    report(told, 1, 0, 5, REPORT_RESULT, 2);
    expect(told, "one report");
}

static void two_do_not_report_that_they_run_it(void **state)
{
    struct told *told = *state;
    change_view(told);
    report(told, 0, 1, 5, REPORT_OWN, 0);
    report(told, 1, 0, 5, REPORT_OWN, 1);
    expect(told, "one report");
}

static void claim(struct told *told, uint32_t rank, uint32_t task,
                  enum core_point point)
{
    told->now_ns++;
    see(told,
        (struct sight){.type = SIGHT_NOTE, .rank = rank, .task = task, .point = point});
}

static void a_key_that_moved_waits_for_settled(void **state)
{
    static const enum core_point points[] = {CORE_POINT_CLAIM, CORE_POINT_VOTE_CAST};
    for (int i = 0; i < 2; i++) {
        void *again;
        (void)begin(&again);
        struct told *told = again;
        change_view(told);
        claim(told, 0, task_of(told, 0, true), points[i]);
        settle(told, 0, 1, 2);
        claim(told, 0, task_of(told, 0, false), points[i]);
        expect_good(told);
        claim(told, 1, task_of(told, 1, false), points[i]); /* it has not */
        expect(told, "settled first");
        (void)end(&again);
    }
    (void)state;
}

static void in_a_large_view_reports_have_arrived_first(void **state)
{
    struct told *told = *state;
    const struct message last = {
        .type = MESSAGE_REPORT, .epoch = 2, .u.report = {.last = true}};
    told->sim.weather.direct_max = 1;
    uint32_t moved = task_of(told, 0, false);
    change_view(told);
    claim(told, 0, moved, CORE_POINT_CLAIM);
    expect_good(told);
    send(told, 1, 0, TASKS, last);
    claim(told, 0, moved, CORE_POINT_CLAIM);
    expect(told, "settled first");
}

/* View 3, with a past that begins at view 2. */
static void propose(struct told *told)
{
    const struct message_past past = {.epoch = 2, .members = &told->two};
    const struct message_view view = {
        .epoch = 3, .members = &told->two, .history = 1, .past = &past};
    send(told, 0, 1, TASKS,
         (struct message){.type = MESSAGE_VIEW, .epoch = 2, .u.view = view});
}

static void a_past_starts_where_all_had_settled(void **state)
{
    struct told *told = *state;
    change_view(told);
    settle(told, 0, 1, 2);
    settle(told, 1, 0, 2);
    propose(told);
    expect_good(told);
}

static void a_past_starts_nowhere_else(void **state)
{
    struct told *told = *state;
    change_view(told);
    settle(told, 0, 1, 2);
    propose(told);
    expect(told, "past");
}

static void whom_a_holder_told_the_candidates_seeks_nobody_else(void **state)
{
    struct told *told = *state;
    struct rankset candidates = {.low = 3};
    struct message message = {.type = MESSAGE_SEEK, .epoch = 1};
    told->program->tasks[5].candidates = 3;
    send(told, 0, 2, 5, message); /* a finder */
    message.type = MESSAGE_MOTION;
    message.u.motion.candidates = &candidates;
    pass(told, SIGHT_RECEIVE, 2, 1, 5, message);
    message = (struct message){.type = MESSAGE_SEEK, .epoch = 1};
    send(told, 1, 0, 5, message);
    send(told, 1, 3, 5, message); /* an asker that holds nothing */
    message = (struct message){.type = MESSAGE_MOTION, .epoch = 1};
    message.u.motion.candidates = &candidates;
    message.u.motion.holds = true;
    pass(told, SIGHT_RECEIVE, 2, 1, 5, message);
    message = (struct message){.type = MESSAGE_SEEK, .epoch = 1};
    expect_good(told);
    send(told, 1, 2, 5, message);
    expect(told, "candidates");
}

/* A word about the owner of task 5, from 0 to 1. */
static void tell_owner(struct told *told, enum message_type type)
{
    struct message message = {.type = type, .epoch = 1};
    const struct message_entry entry = {.hash = *sim_hash(&told->sim, 5),
                                        .what = REPORT_ACCEPTED};
    if (type == MESSAGE_ACCEPT) {
        send(told, 0, 1, 5, message);
    } else {
        message.u.report = (struct message_report){.count = 1, .entry = &entry};
        send(told, 0, 1, TASKS, message);
    }
}

/* 0 knows the candidates, or does not; then it tells them to 1, or to another. */
static void tell_ahead(enum message_type type, bool holds, bool heard, uint32_t to,
                       bool good)
{
    const struct rankset candidates = {.low = 5};
    const struct message refer = {
        .type = MESSAGE_REFER, .epoch = 1, .u.refer.candidates = &candidates};
    void *state;
    (void)begin(&state);
    struct told *told = state;
    told->program->tasks[5].candidates = candidates.low;
    told->program->tasks[5].once = true;
    if (holds) {
        see(told, (struct sight){.type = SIGHT_SPAWN, .rank = 0, .task = 5});
    }
    if (heard) {
        pass(told, SIGHT_RECEIVE, 2, 0, 5, refer);
    }
    send(told, 0, to, 5, refer);
    tell_owner(told, type);
    if (good) {
        expect_good(told);
    } else {
        expect(told, "told ahead");
    }
    (void)end(&state);
}

static void who_hears_of_an_owner_has_heard_the_candidates(void **state)
{
    static const enum message_type types[] = {MESSAGE_ACCEPT, MESSAGE_REPORT,
                                              MESSAGE_HANDOVER};
    (void)state;
    for (int i = 0; i < 3; i++) {
        tell_ahead(types[i], false, false, 2, true);
        tell_ahead(types[i], true, false, 2, false);
        tell_ahead(types[i], false, true, 2, false);
        tell_ahead(types[i], true, false, 1, true);
        tell_ahead(types[i], false, true, 1, true);
    }
}

/* To one rank, per view, and the latter two per task. */
static void nothing_is_said_twice(void **state)
{
    static const struct {
        enum message_type type;
        bool last;
        uint32_t task;
    } rows[] = {{MESSAGE_SETTLED, false, TASKS},
                {MESSAGE_REPORT, true, TASKS},
                {MESSAGE_SEEK, false, 5},
                {MESSAGE_ACCEPT, false, 5}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *again;
        (void)begin(&again);
        struct told *told = again;
        struct message message = {.type = rows[i].type, .epoch = 1};
        message.u.report.last = rows[i].last;
        send(told, 0, 1, rows[i].task, message);
        send(told, 0, 2, rows[i].task, message);
        send(told, 1, 2, rows[i].task, message);
        change_view(told);
        message.epoch = 2;
        send(told, 0, 1, rows[i].task, message);
        expect_good(told);
        send(told, 0, 1, rows[i].task, message);
        expect(told, "how often");
        (void)end(&again);
    }
    (void)state;
}

#define TOLD(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TOLD(an_old_result_comes_from_its_owner),
        TOLD(nothing_runs_because_of_an_old_message),
        TOLD(messages_of_an_epoch_name_one_view),
        TOLD(reports_name_one_owner),
        TOLD(two_do_not_report_that_they_run_it),
        cmocka_unit_test(a_key_that_moved_waits_for_settled),
        TOLD(in_a_large_view_reports_have_arrived_first),
        TOLD(a_past_starts_where_all_had_settled),
        TOLD(a_past_starts_nowhere_else),
        TOLD(whom_a_holder_told_the_candidates_seeks_nobody_else),
        cmocka_unit_test(who_hears_of_an_owner_has_heard_the_candidates),
        cmocka_unit_test(nothing_is_said_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
