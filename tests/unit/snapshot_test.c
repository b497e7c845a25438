/* snapshot_test.c - a set of results that all members agree on (PROTOCOL.md,
 * *Snapshots*).
 */
#include "proto/limits.h"
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

enum { ASKS_MAX = 16 }; /* of one rank, at a time */

static int ask_for(uint32_t rank, const char *name, size_t size)
{
    struct core_event event = {.type = CORE_EV_SNAPSHOT};
    event.u.snapshot.name = name;
    event.u.snapshot.name_size = size;
    return step(rank, &event);
}

static void ask(uint32_t rank, const char *name)
{
    assert_int_equal(ask_for(rank, name, strlen(name)), MOOT_OK);
}

/* The part of the rank's last cut is durable, or cannot be. */
static void prepare_as(uint32_t rank, uint32_t number, int32_t status)
{
    struct core_event event = {.type = CORE_EV_PREPARED};
    event.u.prepared.epoch = bench.epoch[rank] > 0 ? bench.epoch[rank] : 1;
    event.u.prepared.number = number;
    event.u.prepared.status = status;
    event.u.prepared.part.records = 1 + rank;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void prepare(uint32_t rank)
{
    prepare_as(rank, bench.snapshot[rank].cut, MOOT_OK);
    deliver_all();
}

static void commit_as(uint32_t rank, int32_t status)
{
    struct core_event event = {.type = CORE_EV_COMMITTED};
    event.u.committed.epoch = bench.epoch[rank] > 0 ? bench.epoch[rank] : 1;
    event.u.committed.number = bench.snapshot[rank].cut;
    event.u.committed.status = status;
    assert_int_equal(step(rank, &event), MOOT_OK);
    deliver_all();
}

static void assert_done(uint32_t rank, int times, int32_t status)
{
    assert_int_equal(bench.snapshot[rank].done, times);
    assert_int_equal(bench.snapshot[rank].status, status);
}

static void all_prepare(void)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            prepare(rank);
        }
    }
}

static void one_exists_when_the_last_part_and_the_commit_are_durable(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    ask(2, "first");
    deliver_all();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(bench.snapshot[rank].cut, 1);
        assert_true(hash_equal(&bench.snapshot[rank].id, &bench.snapshot[0].id));
    }
    prepare(1);
    prepare(0);
    assert_int_equal(bench.snapshot[0].parts, 0);
    prepare(2);
    assert_int_equal(bench.snapshot[0].parts, 3);
    assert_int_equal(bench.snapshot[0].records, 6);
    assert_int_equal(bench.snapshot[2].done, 0);
    commit_as(0, MOOT_OK);
    assert_done(2, 1, MOOT_OK);
    assert_true(hash_equal(&bench.snapshot[2].done_id, &bench.snapshot[0].id));
    assert_int_equal(bench.snapshot[0].done + bench.snapshot[1].done, 0);
    close_all();
    bench_close();
}

/* The message of 2 comes to 1 before the cut of 0 does. */
static void a_message_brings_the_cut_that_its_sender_has_made(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    const moot_hash task = chaired_by(2, 1, 0);
    bench.holds[0][1] = true;
    ask(2, "first");
    deliver_all();
    assert_int_equal(bench.snapshot[2].cut, 1);
    assert_int_equal(bench.snapshot[1].cut, 0);
    spawn(2, 1, task);
    spawn(1, 1, task);
    begin_wait(1, task);
    settle_until(bench.now + 40 * MS);
    assert_int_equal(bench.ended[1][1], 1);
    assert_int_equal(bench.results[1], 1);
    assert_int_equal(bench.snapshot[1].cut, 1);
    assert_int_equal(bench.snapshot[1].results, 0);
    let_go(0, 1);
    deliver_all();
    end_wait(1, task);
    all_prepare();
    commit_as(0, MOOT_OK);
    assert_done(2, 1, MOOT_OK);
    bench_close();
}

static uint32_t cut_in_next_message(uint32_t from)
{
    const struct parcel *parcel = NULL;
    spawn(from, 2, chaired_by((from + 1) % bench.size, 2, MOOT_HASH_ONCE));
    struct core_event tick = {.type = CORE_EV_TICK};
    bench.now += 100 * MS;
    assert_int_equal(step(from, &tick), MOOT_OK);
    assert_true(bench.head < bench.tail);
    parcel = bench.queue[bench.head % QUEUE_MAX];
    const uint32_t cut = parcel->message->cut;
    deliver_all();
    return cut;
}

static void messages_say_so_until_it_is_over(void **state)
{
    (void)state;
    for (int over = 0; over < 2; over++) {
        bench_open(3, CORE_REPAIR);
        ask(1, "first");
        deliver_all();
        all_prepare();
        if (over) {
            commit_as(0, MOOT_OK);
        }
        assert_int_equal(cut_in_next_message(2), over ? 0 : 1);
        bench_close();
    }
}

static void who_cannot_prepare_fails_it_for_all_who_asked(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    ask(0, "first");
    ask(1, "first");
    deliver_all();
    prepare(0);
    prepare_as(2, 1, MOOT_ERR_LIMIT);
    deliver_all();
    assert_done(0, 1, MOOT_ERR_LIMIT);
    assert_done(1, 1, MOOT_ERR_LIMIT);
    prepare(1); /* it is of nothing any more */
    assert_int_equal(bench.snapshot[0].parts, 0);
    ask(1, "first");
    deliver_all();
    assert_int_equal(bench.snapshot[1].cut, 2);
    all_prepare();
    commit_as(0, MOOT_ERR_LIMIT);
    assert_done(1, 2, MOOT_ERR_LIMIT);
    bench_close();
}

/* The part of the first is on its way when it fails and the second has begun. */
static void a_part_of_one_is_none_of_the_next(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    ask(0, "first");
    ask(0, "second");
    deliver_all();
    bench.holds[1][0] = true;
    prepare(1);
    prepare_as(2, 1, MOOT_ERR_LIMIT);
    deliver_all();
    assert_done(0, 1, MOOT_ERR_LIMIT);
    prepare(0);
    prepare(2);
    let_go(1, 0);
    deliver_all();
    assert_int_equal(bench.snapshot[0].parts, 0);
    prepare(1);
    assert_int_equal(bench.snapshot[0].parts, 3);
    commit_as(0, MOOT_OK);
    assert_done(0, 2, MOOT_OK);
    bench_close();
}

static void those_of_one_name_share_it_and_others_wait_in_line(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    bench.holds[2][0] = true;
    ask(0, "first");
    ask(1, "first");
    ask(1, "second");
    ask(2, "first"); /* asked before the end, and heard behind it */
    deliver_all();
    assert_int_equal(bench.snapshot[1].cut, 1);
    prepare(0);
    prepare(1);
    prepare(2);
    assert_int_equal(bench.snapshot[0].parts, 0);
    let_go(2, 0);
    deliver_all();
    commit_as(0, MOOT_OK);
    assert_done(2, 1, MOOT_OK);
    assert_true(hash_equal(&bench.snapshot[2].done_id, &bench.snapshot[1].done_id));
    assert_int_equal(bench.snapshot[2].cut, 2);
    all_prepare();
    commit_as(0, MOOT_OK);
    assert_done(1, 2, MOOT_OK);
    assert_int_equal(bench.snapshot[2].cut, 2);
    bench_close();
}

static void an_ask_that_comes_behind_its_answer_begins_no_other(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    ask(0, "first");
    deliver_all();
    all_prepare();
    bench.holds[2][0] = true;
    ask(2, "first");
    deliver_all();
    commit_as(0, MOOT_OK);
    assert_done(2, 1, MOOT_OK);
    let_go(2, 0);
    deliver_all();
    assert_int_equal(bench.snapshot[0].cut, 1);
    ask(2, "first");
    deliver_all();
    assert_int_equal(bench.snapshot[0].cut, 2);
    bench_close();
}

/* In each of the places at which the coordinator, or another, may die. */
static void a_view_begins_it_anew_for_who_waits(void **state)
{
    (void)state;
    for (uint32_t dead = 0; dead < 2; dead++) {
        for (int at = 0; at < 3; at++) {
            bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
            ask(3, "first");
            deliver_all();
            prepare_as(2, 1, MOOT_ERR_LIMIT);
            deliver_all();
            assert_done(3, 1, MOOT_ERR_LIMIT);
            ask(3, "first");
            deliver_all();
            assert_int_equal(bench.snapshot[3].cut, 2);
            const moot_hash before = bench.snapshot[3].id;
            if (at > 0) {
                all_prepare();
            }
            if (at > 1 && dead != 0) {
                commit_as(0, MOOT_OK);
                assert_done(3, 2, MOOT_OK);
                bench_close();
                continue;
            }
            bench.crashed[dead] = true;
            for (uint32_t rank = 0; rank < 4; rank++) {
                if (rank != dead) {
                    certify_at(rank, dead);
                }
            }
            pass(100 * MS);
            assert_int_equal(bench.snapshot[3].done, 1);
            assert_int_equal(bench.snapshot[3].cut, 1); /* and none that is over */
            assert_false(hash_equal(&bench.snapshot[3].id, &before));
            prepare_as(3, 2, MOOT_OK); /* of no cut that there is */
            deliver_all();
            all_prepare();
            const uint32_t lowest = dead == 0 ? 1 : 0;
            assert_int_equal(bench.snapshot[lowest].parts, 3);
            commit_as(lowest, MOOT_OK);
            assert_done(3, 2, MOOT_OK);
            bench_close();
        }
    }
}

static void what_may_not_be_asked_is_refused(void **state)
{
    (void)state;
    char name[LIMIT_SNAPSHOT_NAME_BYTES + 1];
    memset(name, 'n', sizeof(name));
    bench_open(2, CORE_REPAIR);
    assert_int_equal(ask_for(1, name, 0), MOOT_ERR_INVALID);
    assert_int_equal(ask_for(1, name, sizeof(name)), MOOT_ERR_LIMIT);
    for (char i = 0; i < ASKS_MAX; i++) {
        name[0] = (char)('a' + i);
        assert_int_equal(ask_for(1, name, sizeof(name) - 1), MOOT_OK);
        assert_int_equal(ask_for(1, name, sizeof(name) - 1), MOOT_OK);
    }
    assert_int_equal(ask_for(1, "other", 5), MOOT_ERR_LIMIT);
    close_rank(0);
    assert_int_equal(ask_for(0, "other", 5), MOOT_ERR_STATE);
    bench_close();
}

static void alone_one_makes_it_alone(void **state)
{
    (void)state;
    bench_open(1, CORE_REPAIR);
    ask(0, "first");
    assert_int_equal(bench.snapshot[0].cut, 1);
    assert_int_equal(bench.snapshot[0].parts, 0);
    prepare(0);
    assert_int_equal(bench.snapshot[0].parts, 1);
    commit_as(0, MOOT_OK);
    assert_done(0, 1, MOOT_OK);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_exists_when_the_last_part_and_the_commit_are_durable),
        cmocka_unit_test(a_message_brings_the_cut_that_its_sender_has_made),
        cmocka_unit_test(messages_say_so_until_it_is_over),
        cmocka_unit_test(who_cannot_prepare_fails_it_for_all_who_asked),
        cmocka_unit_test(a_part_of_one_is_none_of_the_next),
        cmocka_unit_test(those_of_one_name_share_it_and_others_wait_in_line),
        cmocka_unit_test(an_ask_that_comes_behind_its_answer_begins_no_other),
        cmocka_unit_test(a_view_begins_it_anew_for_who_waits),
        cmocka_unit_test(what_may_not_be_asked_is_refused),
        cmocka_unit_test(alone_one_makes_it_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
