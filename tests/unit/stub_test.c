/* stub_test.c - tasks that a rank neither runs nor feeds, which are kept as stubs. */
#include "tests/unit/bench.h"

enum { TASKS = 48, SOME = 24 };

/* The n-th that this rank chairs; each eighth of all ends a chunk. */
static moot_hash task(int number, uint32_t chair)
{
    struct rankset members = {0};
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        rankset_add(&members, rank);
    }
    for (uint64_t salt = (uint64_t)number * 1000;; salt++) {
        moot_hash hash = digest_bytes(&salt, sizeof(salt));
        hash.bytes[15] &= (uint8_t)~MOOT_HASH_FACTS;
        hash.bytes[0] = number % 8 == 7 ? 8 : 1;
        if (placement_chair(&hash, &members, NULL) == chair) {
            rankset_release(&members);
            return hash;
        }
    }
}

static struct core_register taking(const moot_hash *inputs, size_t count)
{
    return (struct core_register){.inputs = inputs, .input_count = count};
}

/* As a host does, who says so of its part; NULL: it is to be a record. */
static void *prune(uint32_t rank, int number, moot_hash hash, struct core_register reg,
                   size_t host_size)
{
    reg.site = "test.c:1";
    reg.host_size = host_size;
    void *stub = core_prune(bench.core[rank], &hash, &reg);
    if (stub != NULL) {
        memcpy(core_stub_host(stub), &number, sizeof(number));
        bench.stub[rank][number] = true;
    }
    return stub;
}

static void register_pruned(uint32_t rank, void *const *stubs, size_t count)
{
    struct core_event event = {.type = CORE_EV_PRUNED};
    event.u.pruned.stubs = stubs;
    event.u.pruned.count = count;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

/* True: it is a stub. */
static bool spawn_taking(uint32_t rank, int number, moot_hash hash,
                         struct core_register reg)
{
    void *stub = prune(rank, number, hash, reg, sizeof(int));
    if (stub == NULL) {
        assert_int_equal(spawn_with(rank, number, hash, reg), MOOT_OK);
        return false;
    }
    assert_true(core_is_stub(stub));
    register_pruned(rank, &stub, 1);
    return true;
}

/* Of one that may not be: nothing has happened. */
static bool may_be_stub(uint32_t rank, moot_hash hash, struct core_register reg)
{
    return prune(rank, 0, hash, reg, sizeof(int)) != NULL;
}

static bool spawn_alone(uint32_t rank, int number, moot_hash hash)
{
    return spawn_taking(rank, number, hash, taking(NULL, 0));
}

/* Its number is what this rank was given with it. */
static int user_of(uint32_t rank, moot_hash hash)
{
    void *entry = core_user(bench.core[rank], &hash);
    assert_non_null(entry);
    return number_of(entry);
}

/* --- Which tasks ----------------------------------------------------------------- */

static void only_what_others_run_and_feed_is_one(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash ours = task(0, 0), theirs = task(1, 1), unknown = task(2, 2);
    assert_false(spawn_alone(0, 0, ours));
    assert_true(spawn_alone(0, 1, theirs));
    assert_int_equal(core_stats(bench.core[0])->pruned, 1);
    assert_int_equal(core_stats(bench.core[0])->registered, 2);

    const moot_hash next = task(3, 2), once = chaired_by(1, 0, MOOT_HASH_ONCE),
                    scoped = chaired_by(1, 0, MOOT_HASH_SCOPED);
    assert_false(may_be_stub(0, next, taking(&ours, 1)));
    assert_false(may_be_stub(0, next, taking(&unknown, 1)));
    assert_false(may_be_stub(0, theirs, taking(NULL, 0))); /* it is there */
    struct core_register reg = taking(NULL, 0);
    reg.flags = CORE_TASK_ONCE;
    assert_false(may_be_stub(0, once, reg));
    reg.flags = CORE_TASK_HINT;
    assert_false(may_be_stub(0, next, reg));
    assert_false(may_be_stub(0, scoped, taking(NULL, 0)));
    reg = taking(NULL, 0);
    reg.lane = 1; /* there is none yet */
    assert_false(may_be_stub(0, next, reg));
    reg.lane = 0;
    assert_null(prune(0, 3, next, reg, 4096));
    assert_true(spawn_taking(0, 3, next, taking(&theirs, 1)));
    close_rank(0);
    assert_false(may_be_stub(0, task(4, 2), taking(NULL, 0)));
    bench_close();
    bench_open(2, CORE_STRICT);
    assert_false(may_be_stub(0, task(1, 1), taking(NULL, 0)));
    bench_close();
}

/* A chunk ends with the third. */
static void those_made_together_are_registered_in_their_order(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const int numbers_of[4] = {1, 3, 7, 2};
    void *stubs[4];
    for (int i = 0; i < 4; i++) {
        stubs[i] = prune(0, i, task(numbers_of[i], 1), taking(NULL, 0), sizeof(int));
        assert_non_null(stubs[i]);
        assert_true(bench.stub[0][i]);
    }
    assert_int_equal(core_stats(bench.core[0])->registered, 0);
    register_pruned(0, stubs, 4);
    assert_int_equal(core_stats(bench.core[0])->registered, 4);
    assert_int_equal(core_stats(bench.core[0])->pruned, 4);
    core_hold(bench.core[0]);
    for (int i = 0; i < 4; i++) {
        struct core_task_view view;
        moot_hash hash = task(numbers_of[i], 1);
        assert_true(core_task_look(bench.core[0], &hash, &view));
        assert_int_equal(view.position, i + 1);
        core_task_view_release(&view);
        assert_int_equal(user_of(0, hash), i);
    }
    bench_close();
}

/* --- Being looked for ------------------------------------------------------------ */

static void what_was_said_of_it_is_in_its_record(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash first = task(0, 1), second = task(1, 1);
    assert_true(spawn_alone(0, 0, first));
    struct core_register reg = taking(&first, 1);
    reg.after_count = 1;
    assert_true(spawn_taking(0, 1, second, reg));
    assert_int_equal(user_of(0, second), 1);
    assert_false(bench.stub[0][1]);
    assert_true(bench.stub[0][0]); /* it is not dragged along */
    struct core_task_view view;
    assert_true(core_task_look(bench.core[0], &second, &view));
    assert_true(view.held);
    assert_int_equal(view.position, 2);
    assert_int_equal(view.chair, 1);
    assert_string_equal(view.site, "test.c:1");
    core_task_view_release(&view);
    const void *entry = core_user(bench.core[0], &second);
    assert_int_equal(core_entry_input_count(entry), 1);
    assert_int_equal(core_entry_data_count(entry), 0);
    bench_close();
}

static void its_hash_is_told_without_its_record(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    for (int i = 0; i < 4; i++) {
        assert_true(spawn_alone(0, i, task(i, 1)));
    }
    struct message want = {.type = MESSAGE_WANT};
    want.u.want = (struct message_want){.lane = 0, .first = 2, .count = 3};
    core_view(bench.core[1], &want.epoch, &want.view_id);
    post(1, 0, &want);
    deliver_all();
    assert_int_equal(sum_sent(MESSAGE_HASHES), 1);
    for (int i = 0; i < 4; i++) {
        assert_true(bench.stub[0][i]);
    }
    bench_close();
}

static void who_waits_for_it_gets_it(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash hash = task(0, 1);
    assert_true(spawn_alone(0, 0, hash));
    begin_wait(0, hash);
    spawn(1, 0, hash);
    settle();
    assert_int_equal(bench.ended[0][0], 1);
    assert_int_equal(bench.ran_on[0], 1);
    end_wait(0, hash);
    close_all();
    bench_close();
}

/* Rank 1 would run what takes them, but spawns it never: rank 0 does, and takes the
 * result that was none of its business before. */
static void who_comes_to_run_a_task_takes_what_it_takes(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash ours = task(0, 0), theirs = task(1, 1), both = task(2, 1);
    const moot_hash inputs[] = {ours, theirs};
    spawn(0, 0, ours);
    assert_true(spawn_alone(0, 1, theirs));
    assert_false(spawn_taking(0, 2, both, taking(inputs, 2)));
    assert_true(bench.stub[0][1]);
    spawn(1, 1, theirs);
    begin_wait(0, both);
    set_lane(1, CORE_LANE_BLOCKED);
    settle();
    assert_int_equal(bench.ended[0][2], 1);
    assert_int_equal(bench.ran_on[2], 0);
    assert_int_equal(bench.ran_on[1], 1);
    assert_false(bench.stub[0][1]);
    end_wait(0, both);
    close_all();
    bench_close();
}

/* It has the result then, and must know who takes it. */
static void what_takes_a_task_that_was_yielded_is_none(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash yielded = task(0, 1), before = task(2, 1), taker = task(1, 1);
    assert_true(spawn_alone(0, 0, yielded));
    assert_true(spawn_taking(0, 2, before, taking(&yielded, 1)));
    begin_wait(0, yielded);
    set_lane(1, CORE_LANE_BLOCKED);
    settle();
    assert_int_equal(bench.ran_on[0], 0);
    end_wait(0, yielded);
    assert_false(spawn_taking(0, 1, taker, taking(&yielded, 1)));
    set_lane(1, CORE_LANE_RUNNING);
    spawn(1, 0, yielded);
    spawn_with(1, 2, before, taking(&yielded, 1));
    spawn_with(1, 1, taker, taking(&yielded, 1));
    deliver_all();
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(bench.runs[i], 1);
        assert_int_equal(bench.ran_on[i], 1);
    }
    assert_int_equal(sum_sent(MESSAGE_PULL), 0);
    close_all();
    bench_close();
}

/* A task that falls to this rank because nobody else holds it feeds what was a stub. */
static void who_comes_to_run_a_task_feeds_what_takes_it(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash given = task(0, 1), taker = task(1, 1);
    assert_true(spawn_alone(0, 0, given));
    assert_true(spawn_taking(0, 1, taker, taking(&given, 1)));
    spawn_with(1, 1, taker, taking(&given, 1));
    begin_wait(1, taker);
    set_lane(0, CORE_LANE_BLOCKED);
    settle();
    assert_int_equal(bench.ran_on[0], 0);
    assert_int_equal(bench.ran_on[1], 1);
    assert_int_equal(bench.ended[1][1], 1);
    end_wait(1, taker);
    close_all();
    bench_close();
}

static void a_new_view_finds_records(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash gone = task(0, 2), taker = task(1, 2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_true(spawn_alone(rank, 0, gone));
        assert_true(spawn_taking(rank, 1, taker, taking(&gone, 1)));
    }
    bench.crashed[2] = true;
    certify_at(0, 2);
    begin_wait(0, taker);
    begin_wait(1, taker);
    settle();
    assert_int_equal(bench.runs[0], 1);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ended[0][1], 1);
    assert_int_equal(bench.ended[1][1], 1);
    bench_close();
}

/* --- Leaving --------------------------------------------------------------------- */

static int spawn_all(uint32_t rank, int count)
{
    int stubs = 0;
    for (int i = 0; i < count; i++) {
        moot_hash input = i > 0 ? task(i - 1, 1) : task(0, 1);
        stubs += spawn_taking(rank, i, task(i, 1), taking(&input, i > 0));
    }
    return stubs;
}

static void let_go_all(uint32_t rank, int count)
{
    for (int i = 0; i < count; i++) {
        moot_hash hash = task(i, 1);
        core_let_go(bench.core[rank], &hash, NULL);
    }
}

static void what_all_have_released_is_dropped(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    assert_int_equal(spawn_all(0, TASKS), TASKS);
    assert_int_equal(spawn_all(1, TASKS), 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        let_go_all(rank, TASKS);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(core_stats(bench.core[rank])->dropped, TASKS);
        assert_int_equal(core_stats(bench.core[rank])->let_go, 0);
        assert_int_equal(core_stats(bench.core[rank])->tasks, 0);
    }
    assert_true(bench.forgotten[0][0]);
    close_all();
    bench_close();
}

/* As after a step that found no memory to put it on a roll. */
static void what_is_on_no_roll_can_be_let_go(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash hash = task(1, 1);
    void *stub = prune(0, 0, hash, taking(NULL, 0), sizeof(int));
    assert_non_null(stub);
    core_let_go(bench.core[0], &hash, stub);
    assert_int_equal(core_stats(bench.core[0])->let_go, 1);
    assert_int_equal(core_stats(bench.core[0])->registered, 0);
    bench_close();
}

/* The chunk before stays as long as a stub takes from it, though its own tasks have all
 * been let go; and so does what is not let go. */
static void what_is_used_stays(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    for (uint32_t rank = 0; rank < 2; rank++) {
        (void)spawn_all(rank, SOME);
        let_go_all(rank, rank == 0 ? SOME : 12);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    assert_int_equal(core_stats(bench.core[0])->dropped, 0);
    assert_true(bench.stub[0][SOME - 1]);
    let_go_all(1, SOME);
    settle();
    assert_int_equal(core_stats(bench.core[0])->dropped, SOME);
    assert_int_equal(core_stats(bench.core[1])->dropped, SOME);
    close_all();
    bench_close();
}

/* A stub of rank 1 alone takes a task of the first chunk, which all others would let go
 * of: rank 1 comes to run it. */
static void what_a_stub_takes_stays(void **state)
{
    (void)state;
    enum { ALL = 8 };
    bench_open(3, CORE_REPAIR);
    const moot_hash given = task(0, 2), taker = task(ALL, 2);
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int i = 0; i < ALL; i++) {
            spawn_taking(rank, i, task(i, 2), taking(NULL, 0));
        }
        for (int i = 0; i < ALL; i++) {
            moot_hash hash = task(i, 2);
            core_let_go(bench.core[rank], &hash, NULL);
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    assert_true(spawn_taking(1, ALL, taker, taking(&given, 1)));
    core_let_go(bench.core[1], &taker, NULL);
    set_lane(1, CORE_LANE_BLOCKED);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(core_stats(bench.core[rank])->dropped, 0);
    }
    begin_wait(1, taker);
    settle();
    assert_int_equal(bench.ended[1][ALL], 1);
    assert_int_equal(bench.ran_on[ALL], 1);
    assert_int_equal(bench.runs[0], 1);
    bench_close();
}

/* A task of the second chunk takes one of the first.  That goes, and the second stays,
 * for rank 1 has spawned one of it again.  Then the rank is lost that ran them: what
 * the task took cannot be made again, and so it is not run without it. */
static void what_took_of_a_chunk_that_was_dropped_does_not_run_again(void **state)
{
    (void)state;
    enum { TAKER = 8, AGAIN = 9, ALL = 16 };
    bench_open(3, CORE_REPAIR);
    moot_hash given = task(0, 2), taker = task(TAKER, 2);
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int i = 0; i < ALL; i++) {
            spawn_taking(rank, i, task(i, 2), taking(&given, i == TAKER));
        }
        for (int i = 0; i < ALL; i++) {
            moot_hash hash = task(i, 2);
            core_let_go(bench.core[rank], &hash, NULL);
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass_until(core_is_leaving, 0, &given);
    spawn(1, AGAIN, task(AGAIN, 2));
    settle();
    assert_int_equal(core_stats(bench.core[0])->dropped, TAKER);
    assert_int_equal(core_stats(bench.core[0])->tasks, ALL - TAKER);
    assert_true(bench.stub[0][TAKER]);
    bench.crashed[2] = true;
    certify_at(0, 2);
    certify_at(1, 2);
    begin_wait(0, taker);
    settle();
    assert_int_equal(bench.ended[0][TAKER], 1);
    assert_int_equal(bench.runs[TAKER], 1);
    bench_close();
}

/* --- Regrets --------------------------------------------------------------------- */

static void who_looks_for_most_gets_records_at_once(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    int stubs = 0;
    for (uint64_t i = 0; i < 200; i++) {
        moot_hash hash = chaired_by(1, (int)i, 0);
        stubs += spawn_alone(0, 0, hash);
        assert_non_null(core_user(bench.core[0], &hash));
    }
    assert_true(stubs >= 64 && stubs <= 66);
    bench_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_others_run_and_feed_is_one),
        cmocka_unit_test(those_made_together_are_registered_in_their_order),
        cmocka_unit_test(what_was_said_of_it_is_in_its_record),
        cmocka_unit_test(its_hash_is_told_without_its_record),
        cmocka_unit_test(who_waits_for_it_gets_it),
        cmocka_unit_test(who_comes_to_run_a_task_takes_what_it_takes),
        cmocka_unit_test(what_takes_a_task_that_was_yielded_is_none),
        cmocka_unit_test(who_comes_to_run_a_task_feeds_what_takes_it),
        cmocka_unit_test(a_new_view_finds_records),
        cmocka_unit_test(what_all_have_released_is_dropped),
        cmocka_unit_test(what_is_on_no_roll_can_be_let_go),
        cmocka_unit_test(what_is_used_stays),
        cmocka_unit_test(what_a_stub_takes_stays),
        cmocka_unit_test(what_took_of_a_chunk_that_was_dropped_does_not_run_again),
        cmocka_unit_test(who_looks_for_most_gets_records_at_once),
    };
    bench_break_a_rule();
    bench.drops = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
