/* await_test.c - the ends of many tasks, told in one word for each pair of ranks. */
#include "tests/unit/bench.h"

enum { TASKS = 6 };

static moot_hash hashes[TASKS];

/* Tasks 1.. of the bench, dealt to the first two ranks in turn. */
static void open_with_tasks(uint32_t ranks, uint64_t heartbeat_ns)
{
    bench_open_with(ranks, CORE_REPAIR, heartbeat_ns);
    bench.hold_runs = true;
    for (int i = 0; i < TASKS; i++) {
        hashes[i] = chaired_by((uint32_t)i % 2, i / 2, 0);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (int i = 0; i < TASKS; i++) {
            spawn(rank, i + 1, hashes[i]);
        }
    }
}

static int await_some(uint32_t rank, int first, int count)
{
    void *tasks[TASKS];
    struct core_event event = {.type = CORE_EV_AWAIT};
    for (int i = 0; i < count; i++) {
        tasks[i] = core_user(bench.core[rank], &hashes[first + i]);
        assert_true(core_may_await(bench.core[rank], 0, tasks[i]));
    }
    event.u.await.tasks = tasks;
    event.u.await.count = (size_t)count;
    event.u.await.behind = CORE_NEVER;
    int error = step(rank, &event);
    set_lane(rank, CORE_LANE_BLOCKED);
    return error;
}

static void await_all(uint32_t rank)
{
    assert_int_equal(await_some(rank, 0, TASKS), MOOT_OK);
}

static void finish(int task, int32_t status)
{
    struct core_event event = {.type = CORE_EV_DONE, .hash = hashes[task]};
    event.u.done.status = status;
    event.u.done.size = 8;
    assert_int_equal(step((uint32_t)task % 2, &event), MOOT_OK);
}

static void finish_all(void)
{
    for (int i = 0; i < TASKS; i++) {
        finish(i, MOOT_OK);
    }
}

static bool is_known_at(uint32_t rank, int task)
{
    struct core_task_view view;
    assert_true(core_task_look(bench.core[rank], &hashes[task], &view));
    bool known = view.have != CORE_HAVE_NOTHING || view.own == CORE_OWN_DONE;
    core_task_view_release(&view);
    return known;
}

static uint64_t sent(uint32_t rank, enum message_type type)
{
    return core_stats(bench.core[rank])->sent[type];
}

static void a_word_for_each_pair_tells_all(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    await_all(0);
    await_all(1);
    finish_all();
    pass(1 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(bench.awaited[rank], 1);
        assert_int_equal(sent(rank, MESSAGE_ENDED), 1);
        assert_int_equal(sent(rank, MESSAGE_RESULT), 0);
        assert_int_equal(sent(rank, MESSAGE_MOTION), 0);
        for (int i = 0; i < TASKS; i++) {
            assert_true(is_known_at(rank, i));
        }
    }
    bench_close();
}

static void nothing_is_said_before_the_last_has_ended(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    await_all(0);
    await_all(1);
    for (int i = 0; i < TASKS - 1; i++) {
        finish(i, MOOT_OK);
    }
    pass(1 * MS);
    assert_int_equal(sent(1, MESSAGE_ENDED), 0);
    assert_int_equal(bench.awaited[0], 0);
    assert_int_equal(bench.awaited[1], 0);
    finish(TASKS - 1, MOOT_OK);
    pass(1 * MS);
    assert_int_equal(bench.awaited[0], 1);
    bench_close();
}

static void what_failed_is_told_before_the_word(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    await_all(0);
    await_all(1);
    for (int i = 0; i < TASKS; i++) {
        finish(i, i == 3 ? MOOT_ERR_TASK_FAILED : MOOT_OK);
    }
    pass(1 * MS);
    struct core_task_view view;
    assert_int_equal(bench.awaited[0], 1);
    assert_int_equal(sent(1, MESSAGE_RESULT), 1);
    assert_true(core_task_look(bench.core[0], &hashes[3], &view));
    assert_int_equal(view.status, MOOT_ERR_TASK_FAILED);
    core_task_view_release(&view);
    bench_close();
}

static void who_waits_for_less_is_told_by_who_waits_for_more(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    await_all(0);
    assert_int_equal(await_some(1, 2, 2), MOOT_OK);
    finish_all();
    pass(1 * MS);
    assert_int_equal(bench.awaited[1], 1);
    assert_int_equal(bench.awaited[0], 0); /* 1 says nothing of the rest */
    pass(10 * MS);
    assert_int_equal(bench.awaited[0], 1);
    assert_false(is_known_at(0, 1));
    bench_close();
}

static void a_word_about_other_tasks_counts_for_nothing(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    bench.hold_runs = true;
    for (int i = 0; i < TASKS; i++) {
        hashes[i] = chaired_by((uint32_t)i % 2, i / 2, 0);
        spawn(0, i + 1, hashes[i]);
    }
    for (int i = 0; i < TASKS; i++) { /* in another place, and one is none of 0's */
        spawn(1, i + 1, i == 5 ? chaired_by(1, 20, 0) : hashes[i]);
    }
    hashes[5] = chaired_by(1, 20, 0);
    await_all(1);
    hashes[5] = chaired_by(1, 2, 0);
    await_all(0);
    hashes[5] = chaired_by(1, 20, 0);
    finish_all();
    pass(1 * MS);
    assert_int_equal(sent(1, MESSAGE_ENDED), 1);
    assert_int_equal(bench.awaited[0], 0);
    assert_false(is_known_at(0, 1));
    bench_close();
}

static void who_does_not_wait_keeps_nobody_waiting(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    await_all(0);
    finish_all();
    pass(1 * MS);
    assert_int_equal(bench.awaited[0], 0);
    pass(10 * MS);
    assert_int_equal(bench.awaited[0], 1);
    assert_int_equal(sent(0, MESSAGE_ENDED), 1);
    assert_int_equal(sent(0, MESSAGE_MOTION), 0); /* the host says what is needed */
    bench_close();
}

static void a_word_of_who_has_died_is_void(void **state)
{
    (void)state;
    open_with_tasks(3, 10 * MS);
    await_all(1);
    finish_all();
    pass(1 * MS); /* 0 and 2 have heard 1 */
    assert_int_equal(sent(1, MESSAGE_ENDED), 2);
    bench.crashed[1] = bench.deaf[1] = true;
    certify_at(0, 1);
    certify_at(2, 1);
    pass(500 * MS);
    await_all(0);
    await_all(2);
    pass(2 * MS);
    assert_false(is_known_at(2, 1));
    bench_close();
}

static void a_lane_waits_for_many_once_at_a_time(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    await_all(0);
    assert_int_equal(await_some(0, 0, 2), MOOT_ERR_STATE);
    struct core_event end = {.type = CORE_EV_UNAWAIT};
    assert_int_equal(step(0, &end), MOOT_OK);
    assert_int_equal(step(0, &end), MOOT_ERR_STATE);
    struct core_event asked = {.type = CORE_EV_AWAIT};
    assert_int_equal(step(0, &asked), MOOT_ERR_STATE);
    bench_close();
}

/* Those that the first rank chairs. */
static void finish_of_first(void)
{
    for (int i = 0; i < TASKS; i += 2) {
        finish(i, MOOT_OK);
    }
}

static void a_word_tells_who_waits_for_one_task(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    await_all(0);
    begin_wait(1, hashes[0]);
    finish_of_first();
    pass(1 * MS);
    assert_int_equal(sent(1, MESSAGE_PULL), 1);
    assert_int_equal(bench.ended[1][1], 1);
    begin_wait(1, hashes[2]); /* after it */
    assert_int_equal(sent(1, MESSAGE_PULL), 2);
    assert_int_equal(sent(1, MESSAGE_MOTION), 0);
    bench_close();
}

static void a_word_is_kept_when_the_wait_for_it_has_ended(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    await_all(0);
    assert_int_equal(await_some(1, 1, 1), MOOT_OK);
    finish_of_first();
    finish(1, MOOT_OK);
    pass(1 * MS);
    struct core_event end = {.type = CORE_EV_UNAWAIT};
    assert_int_equal(step(1, &end), MOOT_OK);
    assert_int_equal(await_some(1, 3, 3), MOOT_OK);
    assert_int_equal(step(1, &end), MOOT_OK);
    begin_wait(1, hashes[0]);
    assert_int_equal(sent(1, MESSAGE_PULL), 1);
    bench_close();
}

static void two_words_cover_a_wait_together(void **state)
{
    (void)state;
    struct core_event end = {.type = CORE_EV_UNAWAIT};
    open_with_tasks(2, 0);
    finish_all();
    assert_int_equal(await_some(1, 0, 2), MOOT_OK);
    assert_int_equal(step(1, &end), MOOT_OK);
    await_all(0);
    assert_int_equal(await_some(1, 2, TASKS - 2), MOOT_OK);
    pass(1 * MS);
    assert_int_equal(sent(1, MESSAGE_ENDED), 2);
    assert_int_equal(bench.awaited[0], 1);
    bench_close();
}

/* Rank 1 has ended its wait and is in the next, which it tells rank 0 about. */
static void a_word_of_the_next_wait_counts_when_that_begins(void **state)
{
    (void)state;
    struct core_event end = {.type = CORE_EV_UNAWAIT};
    open_with_tasks(2, 0);
    await_all(0);
    await_all(1);
    finish_all();
    pass(1 * MS);
    assert_int_equal(step(1, &end), MOOT_OK);
    assert_int_equal(await_some(1, 2, 2), MOOT_OK);
    pass(MS / 2);
    assert_int_equal(bench.awaited[0], 1);
    assert_int_equal(sent(1, MESSAGE_ENDED), 2);
    assert_int_equal(step(0, &end), MOOT_OK);
    assert_int_equal(await_some(0, 2, 2), MOOT_OK);
    pass(1 * MS);
    assert_int_equal(bench.awaited[0], 2);
    assert_int_equal(bench.awaited[1], 2);
    bench_close();
}

static void what_a_word_has_told_is_not_pushed(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    await_all(0);
    finish_of_first();
    pass(1 * MS);
    assert_int_equal(sent(0, MESSAGE_ENDED), 1);
    begin_wait(0, hashes[0]);
    pass(1 * MS);
    assert_int_equal(sent(0, MESSAGE_RESULT), 0);
    bench_close();
}

static void what_was_asked_for_is_not_taken_from_a_word(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    pass(1 * MS);
    bench.holds[0][1] = bench.holds[1][0] = true;
    await_all(0);
    finish_of_first();
    begin_wait(1, hashes[0]);
    pass(200 * MS);
    assert_int_equal(sent(0, MESSAGE_ENDED), 1);
    assert_int_equal(sent(1, MESSAGE_MOTION), 1);
    await_all(1);
    for (int i = 1; i < TASKS; i += 2) {
        finish(i, MOOT_OK);
    }
    let_go(0, 1);
    pass(1 * MS);
    assert_int_equal(bench.awaited[1], 1);
    assert_true(is_known_at(1, 2)); /* by the word */
    let_go(1, 0);
    pass(1 * MS);
    assert_int_equal(sent(1, MESSAGE_PULL), 0);
    assert_int_equal(bench.ended[1][1], 1);
    bench_close();
}

static void a_wait_that_ends_before_its_word_tells_what_has_ended(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    pass(1 * MS);
    await_all(0);
    finish(0, MOOT_OK);
    struct core_event end = {.type = CORE_EV_UNAWAIT};
    assert_int_equal(step(0, &end), MOOT_OK);
    assert_int_equal(sent(0, MESSAGE_ENDED), 0);
    assert_int_equal(sent(0, MESSAGE_RESULT), 1);
    finish(2, MOOT_OK);
    assert_int_equal(sent(0, MESSAGE_RESULT), 2);
    bench_close();
}

static void a_word_leaves_no_task_out(void **state)
{
    (void)state;
    open_with_tasks(2, 0);
    void *tasks[] = {core_user(bench.core[0], &hashes[0]),
                     core_user(bench.core[0], &hashes[2])};
    struct core_event event = {.type = CORE_EV_AWAIT};
    event.u.await.tasks = tasks;
    event.u.await.count = 2;
    event.u.await.behind = CORE_NEVER;
    assert_int_equal(step(0, &event), MOOT_ERR_STATE);
    event.u.await.behind = 0; /* a group's: all are waited for */
    assert_int_equal(step(0, &event), MOOT_OK);
    bench_close();
}

static moot_hash task_in(const moot_hash *scope)
{
    const struct rankset members = {.low = 3};
    for (uint64_t i = 0;; i++) {
        const moot_hash hash = identity_hash(&(struct identity){
            .kernel_name = "k", .args = &i, .args_size = sizeof(i), .scope = *scope});
        if (placement_chair(&hash, &members, NULL) == 0) {
            return hash;
        }
    }
}

/* Two ranks have spawned three tasks, of which that one was in a scope: it has ended
 * everywhere, and is forgotten. */
static void open_with_forgotten(int place)
{
    enum { FORGOTTEN = 9 };
    bench_open(2, CORE_REPAIR);
    const moot_hash scope = identity_scope(&(moot_hash){{0}}, "phase");
    const moot_hash scoped = task_in(&scope);
    struct core_event end = {.type = CORE_EV_SCOPE_RELEASE, .hash = scope};
    for (int i = 0; i < 2; i++) {
        hashes[i] = chaired_by((uint32_t)i, 0, 0);
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (int i = 0, plain = 0; i < 3; i++) {
            if (i == place) {
                const struct core_register reg = {.scope = scope};
                assert_int_equal(spawn_with(rank, FORGOTTEN, scoped, reg), MOOT_OK);
            } else {
                spawn(rank, plain + 1, hashes[plain]);
                plain++;
            }
        }
        begin_wait(rank, scoped);
    }
    settle();
    for (uint32_t rank = 0; rank < 2; rank++) {
        end_wait(rank, scoped);
        assert_int_equal(step(rank, &end), MOOT_OK);
    }
    settle();
    assert_true(bench.forgotten[0][FORGOTTEN] && bench.forgotten[1][FORGOTTEN]);
}

/* Both plain tasks, as a group's that begins with the roll. */
static void await_from_the_beginning(uint32_t rank)
{
    void *tasks[] = {core_user(bench.core[rank], &hashes[0]),
                     core_user(bench.core[rank], &hashes[1])};
    struct core_event event = {.type = CORE_EV_AWAIT};
    event.u.await.tasks = tasks;
    event.u.await.count = 2;
    assert_int_equal(step(rank, &event), MOOT_OK);
    set_lane(rank, CORE_LANE_BLOCKED);
}

static void a_word_is_said_behind_what_is_forgotten(void **state)
{
    (void)state;
    open_with_forgotten(0);
    await_from_the_beginning(0);
    await_from_the_beginning(1);
    pass(1 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(sent(rank, MESSAGE_ENDED), 1);
        assert_int_equal(bench.awaited[rank], 1);
        assert_true(is_known_at(rank, 1 - (int)rank));
    }
    bench_close();
}

/* And with what is forgotten between them there is no word. */
static void what_no_word_can_tell_is_pushed_when_the_wait_ends(void **state)
{
    (void)state;
    open_with_forgotten(1);
    await_from_the_beginning(0);
    await_from_the_beginning(1);
    pass(1 * MS);
    assert_int_equal(sent(0, MESSAGE_ENDED) + sent(1, MESSAGE_ENDED), 0);
    const uint64_t before = sent(0, MESSAGE_RESULT);
    struct core_event end = {.type = CORE_EV_UNAWAIT};
    assert_int_equal(step(0, &end), MOOT_OK);
    assert_int_equal(sent(0, MESSAGE_RESULT), before + 1);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_for_each_pair_tells_all),
        cmocka_unit_test(nothing_is_said_before_the_last_has_ended),
        cmocka_unit_test(what_failed_is_told_before_the_word),
        cmocka_unit_test(who_waits_for_less_is_told_by_who_waits_for_more),
        cmocka_unit_test(a_word_about_other_tasks_counts_for_nothing),
        cmocka_unit_test(who_does_not_wait_keeps_nobody_waiting),
        cmocka_unit_test(a_word_of_who_has_died_is_void),
        cmocka_unit_test(a_lane_waits_for_many_once_at_a_time),
        cmocka_unit_test(a_word_tells_who_waits_for_one_task),
        cmocka_unit_test(a_word_is_kept_when_the_wait_for_it_has_ended),
        cmocka_unit_test(two_words_cover_a_wait_together),
        cmocka_unit_test(a_word_of_the_next_wait_counts_when_that_begins),
        cmocka_unit_test(what_a_word_has_told_is_not_pushed),
        cmocka_unit_test(what_was_asked_for_is_not_taken_from_a_word),
        cmocka_unit_test(a_wait_that_ends_before_its_word_tells_what_has_ended),
        cmocka_unit_test(a_word_leaves_no_task_out),
        cmocka_unit_test(a_word_is_said_behind_what_is_forgotten),
        cmocka_unit_test(what_no_word_can_tell_is_pushed_when_the_wait_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
