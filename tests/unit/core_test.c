/* core_test.c - the rules of PROTOCOL.md sections 3 to 4, one core against another. */
#include "proto/limits.h"
#include "tests/unit/bench.h"

#include <stdalign.h>

/* --- Tests ----------------------------------------------------------------------- */

static void a_chair_claims_without_a_message(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0);
    spawn(0, 1, a);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.tail, 0);
    bench_close();
}

static void agreeing_ranks_push_and_never_ask(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 1, 0);
    struct core_register reg = {.inputs = &a, .input_count = 1};
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, 1, a);
        assert_int_equal(spawn_with(rank, 2, b, reg), MOOT_OK);
        begin_wait(rank, b);
    }
    settle();
    assert_int_equal(bench.ended[0][2], 1);
    assert_int_equal(bench.ended[1][2], 1);
    assert_int_equal(bench.ran_on[2], 1);
    assert_int_equal(sum_sent(MESSAGE_MOTION), 0);
    assert_int_equal(sum_sent(MESSAGE_RESULT), 2);
    assert_int_equal(sum_yields(), 0);
    bench_close();
}

/* PULLs of a graph of two: rank 1 takes what rank 0 made, and both wait for the end. */
static uint64_t pulls_for(uint64_t bytes)
{
    bench_open(2, CORE_REPAIR);
    bench.result_bytes = bytes;
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 1, 0);
    struct core_register reg = {.inputs = &a, .input_count = 1};
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(rank, 1, a);
        assert_int_equal(spawn_with(rank, 2, b, reg), MOOT_OK);
        begin_wait(rank, b);
    }
    settle();
    assert_int_equal(bench.ended[0][2], 1);
    assert_int_equal(bench.ended[1][2], 1);
    uint64_t pulls = sum_sent(MESSAGE_PULL);
    bench_close();
    return pulls;
}

/* The bytes of a large result go at once to who runs what takes it; who may wait for it
 * is offered them, as is who takes a very large one. */
static void a_consumer_is_pushed_the_bytes(void **state)
{
    (void)state;
    uint64_t waits = pulls_for(LIMIT_EAGER_BYTES + 1);
    assert_in_range(waits, 0, 1);
    assert_int_equal(pulls_for(LIMIT_PUSH_BYTES), waits);
    assert_int_equal(pulls_for(LIMIT_PUSH_BYTES + 1), waits + 1);
    assert_int_equal(pulls_for(LIMIT_EAGER_BYTES), 0);
}

static void a_blocked_chair_yields_what_it_passed(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 0, 0);
    spawn(1, 1, a);
    begin_wait(1, a);
    settle();
    assert_int_equal(bench.runs[1], 0); /* rank 0 runs its program: no evidence */
    spawn(0, 2, b);
    begin_wait(0, b);
    settle();
    assert_int_equal(bench.ended[1][1], 1);
    assert_int_equal(bench.ran_on[1], 1);
    assert_int_equal(core_stats(bench.core[0])->yields[EVIDENCE_BLOCKED], 1);
    bench_close();
}

static void late_registration_after_a_yield_does_not_run(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0);
    struct core_register hinted = {.flags = CORE_TASK_HINT};
    assert_int_equal(spawn_with(1, 1, a, hinted), MOOT_OK);
    begin_wait(1, a);
    settle();
    assert_int_equal(bench.ended[1][1], 1);
    spawn(0, 1, a);
    begin_wait(0, a);
    settle();
    assert_int_equal(bench.ended[0][1], 1);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(core_stats(bench.core[0])->yields[EVIDENCE_HINT], 1);
    bench_close();
}

static void a_once_task_starts_after_a_quorum(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, MOOT_HASH_ONCE);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(rank, 1, a);
    }
    assert_int_equal(bench.runs[1], 0);
    deliver_all();
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(sum_sent(MESSAGE_ACCEPT), 2);
    assert_int_equal(sum_sent(MESSAGE_ACK), 2);
    bench_close();
}

static void a_waiter_that_lacks_it_finds_a_holder(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0);
    begin_wait(1, a); /* never spawned there */
    begin_wait(0, a);
    settle();
    spawn(2, 1, a);
    begin_wait(2, a);
    settle();
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ran_on[1], 2);
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct core_task_view view;
        assert_true(core_task_look(bench.core[rank], &a, &view));
        assert_int_equal(view.have, CORE_HAVE_DATA);
        rankset_release(&view.asked_by);
        rankset_release(&view.holders);
    }
    bench_close();
}

static void what_nobody_holds_fails_when_all_is_quiet(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash a = chaired_by(1, 0, 0), b = chaired_by(2, 0, 0);
    enter(0, 1, a);
    begin_wait(0, a);
    spawn(1, 2, b);
    begin_wait(1, b);
    spawn(2, 2, b);
    set_lane(2, CORE_LANE_RUNNING);
    settle();
    assert_int_equal(bench.ended[0][1], 0); /* rank 2 may still spawn it */
    assert_int_equal(bench.ended[1][2], 1);
    end_wait(1, b);
    close_rank(1);
    close_rank(2);
    settle();
    assert_int_equal(bench.ended[0][1], MOOT_ERR_NOT_HELD);
    bench_close();
}

/* No evidence but that all rest: whoever has asked for all it waits for says so soon,
 * and a chair that was asked for what it cannot decide does not wait for long. */
static void what_one_rank_alone_spawned_is_yielded_soon(void **state)
{
    (void)state;
    for (int at_once = 0; at_once < 2; at_once++) {
        bench_open(2, CORE_REPAIR);
        moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 0, 0);
        set_lane(0, CORE_LANE_RUNNING);
        set_lane(1, CORE_LANE_RUNNING);
        if (!at_once) {
            begin_wait(0, b); /* which rank 1 is to spawn later */
        }
        settle();
        if (at_once) {
            begin_wait(0, b);
        }
        spawn(1, 1, a);
        begin_wait(1, a);
        settle_until(bench.now + 3 * MS / 2); /* of which 1 ms is the ask delay */
        assert_int_equal(bench.ended[1][1], 1);
        assert_int_equal(core_stats(bench.core[0])->yields[EVIDENCE_QUIET], 1);
        assert_int_equal(bench.ran_on[1], 1);
        bench_close();
    }
}

/* A branch: its motions, and its decisions, are on their way before all are said; and
 * all motions go out, though the decisions about the first let their sender work. */
static void a_branch_of_one_rank_is_asked_for_and_yielded_bit_by_bit(void **state)
{
    (void)state;
    enum { TASKS = 300, SAYS_MOST = 140 };
    const enum evidence evidences[] = {EVIDENCE_QUIET, EVIDENCE_BLOCKED};
    for (int i = 0; i < 2; i++) {
        bench_open(2, CORE_REPAIR);
        bool quiet = evidences[i] == EVIDENCE_QUIET;
        bench.hold_runs = !quiet;
        if (quiet) {
            begin_wait(0, chaired_by(1, 0, 0)); /* rank 1 is to spawn it later */
        }
        for (int n = 0; n < TASKS; n++) {
            moot_hash task = chaired_by(0, n, 0);
            spawn(1, 1, task);
            if (!quiet) {
                spawn(0, 2, chaired_by(1, n, 0));
            }
        }
        if (!quiet) {
            begin_wait(0, chaired_by(1, 0, 0));
        }
        for (int n = 0; n < TASKS; n++) {
            begin_wait(1, chaired_by(0, n, 0));
        }
        settle_until(bench.now + 2 * MS); /* of which 1 ms is the ask delay */
        assert_int_equal(core_stats(bench.core[1])->motions_sent, TASKS);
        assert_int_equal(core_stats(bench.core[0])->yields[evidences[i]], TASKS);
        assert_int_equal(bench.runs[1], TASKS);
        assert_int_equal(bench.ran_on[1], 1);
        assert_true(bench.said_most < SAYS_MOST);
        assert_true(core_stats(bench.core[0])->polls_sent <= (quiet ? 4 : 0));
        bench_close();
    }
}

static void opposite_orders_end_in_a_cycle(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash a = chaired_by(1, 0, 0), b = chaired_by(0, 0, 0);
    struct core_register after_a = {.inputs = &a, .input_count = 1, .after_count = 1};
    struct core_register after_b = {.inputs = &b, .input_count = 1, .after_count = 1};
    spawn(0, 1, a);
    assert_int_equal(spawn_with(0, 2, b, after_a), MOOT_OK);
    spawn(1, 2, b);
    assert_int_equal(spawn_with(1, 1, a, after_b), MOOT_OK);
    begin_wait(0, a);
    begin_wait(1, b);
    settle();
    assert_int_equal(bench.chain_count, 2);
    assert_int_not_equal(bench.ended[0][1], 0);
    assert_int_not_equal(bench.ended[1][2], 0);
    bench_close();
}

static void a_task_nobody_waits_for_runs_before_the_end(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0);
    spawn(2, 1, a);
    close_all();
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ran_on[1], 2);
    bench_close();
}

/* An owned task's need of it was held back, and ended before its motion went out. */
static void a_task_nobody_waits_for_any_more_runs_too(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash a = chaired_by(1, 0, 0), b = chaired_by(0, 0, 0);
    struct core_register reg = {.inputs = &a, .input_count = 1};
    spawn(2, 1, a);
    assert_int_equal(spawn_with(2, 2, b, reg), MOOT_OK);
    close_rank(0);
    deliver_all();
    close_rank(2);
    settle_until(bench.now + MS / 2);
    assert_int_equal(core_stats(bench.core[2])->owned_by_decision, 1);
    close_rank(1);
    settle_until(bench.now + MS / 4);
    struct core_event event = {.type = CORE_EV_CANCEL, .hash = b};
    assert_int_equal(step(2, &event), MOOT_OK);
    settle();
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

static void agreeing_ranks_close_without_a_vote(void **state)
{
    (void)state;
    bench_open(4, CORE_REPAIR);
    for (int i = 0; i < 40; i++) {
        uint64_t word = 77 + (uint64_t)i;
        moot_hash hash = digest_bytes(&word, sizeof(word));
        hash.bytes[15] &= (uint8_t)~MOOT_HASH_FACTS;
        for (uint32_t rank = 0; rank < 4; rank++) {
            spawn(rank, i, hash);
        }
    }
    close_all();
    for (int i = 0; i < 40; i++) {
        assert_int_equal(bench.runs[i], 1);
    }
    assert_int_equal(sum_yields(), 0);
    assert_int_equal(sum_sent(MESSAGE_MOTION), 0);
    assert_int_equal(sum_sent(MESSAGE_RESULT), 0);
    bench_close();
}

static void candidates_are_found_by_who_lacks_the_task(void **state)
{
    (void)state;
    bench_open(4, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, MOOT_HASH_CANDIDATES);
    struct rankset only3 = {0};
    rankset_add(&only3, 3);
    struct core_register reg = {.candidates = &only3};
    begin_wait(1, a);
    settle();
    assert_int_equal(spawn_with(2, 1, a, reg), MOOT_OK);
    begin_wait(2, a);
    assert_int_equal(spawn_with(3, 1, a, reg), MOOT_OK);
    begin_wait(3, a);
    settle();
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ran_on[1], 3);
    assert_int_equal(bench.ended[2][1], 1);
    struct core_task_view view;
    assert_true(core_task_look(bench.core[1], &a, &view));
    assert_int_equal(view.have, CORE_HAVE_DATA);
    rankset_release(&view.asked_by);
    rankset_release(&view.holders);
    rankset_release(&only3);
    bench_close();
}

/* As of tasks that are MOOT_ON a rank that is behind the others: nobody else may run
 * them, whoever holds them (I31). */
static void a_chair_seeks_among_the_candidates_only(void **state)
{
    (void)state;
    bench_open(4, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, MOOT_HASH_CANDIDATES);
    struct rankset only0 = {0};
    rankset_add(&only0, 0);
    struct core_register reg = {.candidates = &only0};
    assert_int_equal(spawn_with(1, 1, a, reg), MOOT_OK);
    begin_wait(1, a);
    pass(20 * MS);
    assert_true(sum_sent(MESSAGE_MOTION) > 0);
    assert_int_equal(sum_sent(MESSAGE_SEEK), 0);
    assert_int_equal(spawn_with(0, 1, a, reg), MOOT_OK);
    settle();
    assert_int_equal(bench.ran_on[1], 0);
    assert_int_equal(bench.ended[1][1], 1);
    rankset_release(&only0);
    bench_close();
}

/* As who is no candidate may have the spec of a task that travels. */
static void a_chair_that_has_heard_of_no_holder_seeks_among_all(void **state)
{
    (void)state;
    bench_open(4, CORE_REPAIR);
    moot_hash a = chaired_by(3, 0, MOOT_HASH_CANDIDATES);
    struct rankset only0 = {0};
    rankset_add(&only0, 0);
    struct core_register reg = {.candidates = &only0};
    assert_int_equal(spawn_with(1, 1, a, reg), MOOT_OK);
    begin_wait(2, a);
    pass(20 * MS);
    assert_int_equal(core_stats(bench.core[3])->sent[MESSAGE_SEEK], 3); /* the finder */
    assert_int_equal(core_stats(bench.core[0])->sent[MESSAGE_SEEK], 3);
    rankset_release(&only0);
    bench_close();
}

static void strict_mode_names_the_first_difference(void **state)
{
    (void)state;
    bench_open(3, CORE_STRICT);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(0, 1, 0);
    spawn(0, 2, b);
    begin_wait(0, b);
    for (uint32_t rank = 1; rank < 3; rank++) {
        spawn(rank, 1, a);
        spawn(rank, 2, b);
        begin_wait(rank, a);
    }
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_true(bench.diverged[rank]);
    }
    assert_int_equal(sum_yields(), 0);
    bench_close();
}

/* Of what differs from other ranks' rolls at several positions the first is said,
 * whichever is heard of first. */
static void strict_mode_names_the_earliest(void **state)
{
    (void)state;
    enum { SPAWNED = 3 };
    bench_open(3, CORE_STRICT);
    moot_hash hashes[SPAWNED], others[SPAWNED];
    for (int i = 0; i < SPAWNED; i++) {
        hashes[i] = chaired_by(0, i, 0);
        others[i] = chaired_by(1, i, 0);
        spawn(0, i + 1, hashes[i]);
    }
    for (uint32_t from = 1; from < 3; from++) { /* 1 differs at 3, 2 at 2 */
        moot_hash theirs[SPAWNED] = {hashes[0], hashes[1], others[2]};
        theirs[1] = from == 1 ? hashes[1] : others[1];
        struct message message = {
            .type = MESSAGE_HASHES,
            .u.hashes = {.first = 1, .hashes = theirs, .count = SPAWNED}};
        struct core_event event = {.type = CORE_EV_RECV};
        core_view(bench.core[0], &message.epoch, &message.view_id);
        event.u.recv.message = &message;
        event.u.recv.from = from;
        event.u.recv.uid = bench.uids[from];
        assert_int_equal(step(0, &event), MOOT_OK);
    }
    begin_wait(0, hashes[0]);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(bench.differs_at[rank], 2);
    }
    bench_close();
}

static void a_cancelled_task_does_not_run(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash a = chaired_by(0, 0, 0), b = chaired_by(1, 0, 0);
    struct core_register reg = {.inputs = &a, .input_count = 1};
    assert_int_equal(spawn_with(0, 2, b, reg), MOOT_OK);
    assert_int_equal(spawn_with(1, 2, b, reg), MOOT_OK);
    struct core_event event = {.type = CORE_EV_CANCEL, .hash = b};
    assert_int_equal(step(0, &event), MOOT_OK);
    begin_wait(0, b);
    settle();
    assert_int_equal(bench.ended[0][2], 1);
    assert_int_equal(bench.runs[2], 0);
    bench_close();
}

/* Two owners of one task: the second result is counted and refused (I1). */
static void a_second_owners_result_is_refused(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash a = chaired_by(1, 0, 0);
    spawn(0, 1, a);
    struct message result = {.type = MESSAGE_RESULT, .hash = a};
    struct core_event event = {.type = CORE_EV_RECV, .hash = a};
    core_view(bench.core[0], &result.epoch, &result.view_id);
    event.u.recv.message = &result;
    for (uint32_t from = 1; from < 3; from++) {
        event.u.recv.from = from;
        event.u.recv.uid = result.u.result.owner_uid = bench.uids[from];
        result.u.result.data = RESULT_EAGER;
        assert_int_equal(step(0, &event), MOOT_OK);
        assert_int_equal(core_stats(bench.core[0])->violations, from - 1);
    }
    struct core_task_view view;
    assert_true(core_task_look(bench.core[0], &a, &view));
    assert_int_equal(view.owner, 1);
    rankset_release(&view.asked_by);
    rankset_release(&view.holders);
    for (uint32_t rank = 0; rank < 3; rank++) {
        core_free(bench.core[rank]);
    }
}

/* A host's record, which begins with the core's. */
struct host_record {
    struct core_entry entry;
    uint64_t mine[5];
};

static bool count_entry(void *context, void *entry)
{
    assert_non_null(entry);
    ++*(uint32_t *)context;
    return true;
}

static void a_host_keeps_its_part_in_the_cores_entry(void **state)
{
    (void)state;
    const uint64_t uid = 7;
    const struct rankset some = {.low = 3}; /* kept beside the record */
    struct core *core =
        core_new(&(struct core_options){.size = 1,
                                        .uids = &uid,
                                        .epoch = 1,
                                        .voters = 1,
                                        .entry_bytes = sizeof(struct host_record)});
    assert_non_null(core);
    static const size_t rooms[] = {0, 1, 40, 333, 5000};
    static const struct host_record nothing;
    for (uint32_t i = 0; i < 5; i++) {
        moot_hash hash = {.bytes = {(uint8_t)(i + 1), 5}};
        hash.bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_CANDIDATES;
        struct host_record *record = core_enter_for(core, &hash, &some, i, rooms[i]);
        assert_non_null(record);
        assert_ptr_equal(core_user(core, &hash), record);
        assert_int_equal((uintptr_t)record % 64, 0);
        assert_memory_equal(&record->entry.hash, &hash, sizeof(hash));
        assert_memory_equal(record->mine, nothing.mine, sizeof(nothing.mine));
        size_t bytes;
        unsigned char *room = core_entry_room(core, record, &bytes);
        assert_true(rooms[i] > 1024 ? bytes == 0 : bytes >= rooms[i]);
        assert_int_equal((uintptr_t)room % alignof(max_align_t), 0);
        memset(room, 0xff, bytes);
        memset(record->mine, 0xff, sizeof(record->mine));
        assert_ptr_equal(core_enter_for(core, &hash, &some, i, rooms[i]), record);
    }
    uint32_t count = 0;
    core_each_entry(core, count_entry, &count);
    assert_int_equal(count, 5);
    core_free(core);
}

/* Spawns them in this order, and waits for all. */
static void wait_for_these(uint32_t rank, const int *order, int count)
{
    for (int i = 0; i < count; i++) {
        spawn(rank, order[i], chaired_by(0, order[i], 0));
    }
    for (int i = 0; i < count; i++) {
        begin_wait(rank, chaired_by(0, order[i], 0));
    }
}

/* Two ranks ask it for the same tasks, which stand elsewhere on their rolls. */
static void each_time_that_a_chair_blocks_it_yields_what_it_has_passed(void **state)
{
    enum { COUNT = 60, STEP = 23 };
    (void)state;
    int order[2][COUNT];
    for (int i = 0; i < COUNT; i++) {
        order[0][i] = 1 + i * STEP % COUNT;
        order[1][COUNT - 1 - i] = order[0][i];
    }
    bench_open(3, CORE_REPAIR);
    wait_for_these(1, order[0], COUNT);
    wait_for_these(2, order[1], COUNT);
    settle();
    assert_int_equal(sum_sent(MESSAGE_MOTION), 2 * COUNT);
    for (int len = 1; 2 * len <= COUNT; len++) {
        spawn(0, 61, chaired_by(0, COUNT + len, 0));
        assert_int_equal(sum_yields(), 2 * (len - 1));
        set_lane(0, CORE_LANE_BLOCKED);
        set_lane(0, CORE_LANE_RUNNING);
        assert_int_equal(core_stats(bench.core[0])->yields[EVIDENCE_BLOCKED], 2 * len);
        deliver_all();
        assert_int_equal(bench.runs[order[0][len - 1]], 1);
        assert_int_equal(bench.runs[order[1][len - 1]], 1);
    }
    assert_int_equal(sum_yields(), COUNT);
    bench_close();
}

/* What it is asked for by who lacks it, like the rank that is about to spawn it. */
static void what_nobody_held_is_yielded_to_who_spawns_it(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash late = chaired_by(0, 1, 0);
    spawn(0, 2, chaired_by(0, 2, 0));
    begin_wait(1, late);
    deliver_all();
    set_lane(0, CORE_LANE_BLOCKED); /* nobody holds it, and it stays asked for */
    deliver_all();
    set_lane(0, CORE_LANE_RUNNING);
    pass(2 * MS);
    assert_int_equal(sum_sent(MESSAGE_SEEK), 2);
    spawn(2, 1, late);
    pass(2 * MS);
    assert_int_equal(sum_yields(), 0);
    set_lane(0, CORE_LANE_BLOCKED);
    assert_int_equal(core_stats(bench.core[0])->yields[EVIDENCE_BLOCKED], 1);
    deliver_all();
    assert_int_equal(bench.ran_on[1], 2);
    bench_close();
}

/* Whatever asks what it waits for: no input (found by the fuzzer of events). */
static void what_waits_for_a_lease_is_on_no_circle(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, 10 * (uint64_t)MS);
    moot_hash a = chaired_by(0, 0, MOOT_HASH_ONCE);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(
            spawn_with(rank, 1, a, (struct core_register){.flags = CORE_TASK_ONCE}),
            MOOT_OK);
    }
    deliver_all();
    struct core_task_view view;
    assert_true(core_task_look(bench.core[0], &a, &view));
    assert_int_equal(view.own, CORE_OWN_WAIT);
    assert_int_equal(view.missing, 0);
    core_task_view_release(&view);
    struct message chase = {.type = MESSAGE_CHASE, .hash = a};
    core_view(bench.core[0], &chase.epoch, &chase.view_id);
    post(1, 0, &chase);
    deliver_all();
    assert_int_equal(bench.ended[0][1], 0);
    pass(50 * MS);
    assert_int_equal(bench.runs[1], 1);
    bench_close();
}

/* A task is as its hash says, or nobody holds it. */
static void a_spec_has_the_facts_of_its_hash(void **state)
{
    (void)state;
    const struct {
        unsigned facts;
        uint32_t flags;
        int code;
    } rows[] = {
        {0, 0, MOOT_OK},
        {0, CORE_TASK_IDEMPOTENT, MOOT_OK},
        {MOOT_HASH_ONCE, CORE_TASK_ONCE, MOOT_OK},
        {MOOT_HASH_ONCE | MOOT_HASH_IDEMPOTENT, CORE_TASK_ONCE | CORE_TASK_IDEMPOTENT,
         MOOT_OK},
        {MOOT_HASH_ONCE, CORE_TASK_ONCE | CORE_TASK_IDEMPOTENT, MOOT_ERR_INVALID},
        {MOOT_HASH_ONCE | MOOT_HASH_IDEMPOTENT, CORE_TASK_ONCE, MOOT_ERR_INVALID},
        {MOOT_HASH_IDEMPOTENT, CORE_TASK_IDEMPOTENT, MOOT_ERR_INVALID},
        {MOOT_HASH_ARRAY, 0, MOOT_ERR_INVALID},
    };
    bench_open(2, CORE_REPAIR);
    for (int i = 0; i < (int)(sizeof(rows) / sizeof(rows[0])); i++) {
        const struct core_register reg = {.flags = rows[i].flags};
        moot_hash hash = chaired_by(1, i, rows[i].facts);
        assert_int_equal(spawn_with(0, i, hash, reg), rows[i].code);
    }
    bench_close();
}

/* The bit is kept for what may come: today it is another task's. */
static void nobody_holds_an_array(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash hash = chaired_by(1, 0, MOOT_HASH_ARRAY);
    enter(0, 1, hash);
    begin_wait(0, hash);
    close_rank(1);
    settle();
    assert_int_equal(bench.ended[0][1], MOOT_ERR_NOT_HELD);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chair_claims_without_a_message),
        cmocka_unit_test(agreeing_ranks_push_and_never_ask),
        cmocka_unit_test(a_consumer_is_pushed_the_bytes),
        cmocka_unit_test(a_blocked_chair_yields_what_it_passed),
        cmocka_unit_test(each_time_that_a_chair_blocks_it_yields_what_it_has_passed),
        cmocka_unit_test(what_nobody_held_is_yielded_to_who_spawns_it),
        cmocka_unit_test(late_registration_after_a_yield_does_not_run),
        cmocka_unit_test(a_once_task_starts_after_a_quorum),
        cmocka_unit_test(a_waiter_that_lacks_it_finds_a_holder),
        cmocka_unit_test(what_nobody_holds_fails_when_all_is_quiet),
        cmocka_unit_test(what_one_rank_alone_spawned_is_yielded_soon),
        cmocka_unit_test(a_branch_of_one_rank_is_asked_for_and_yielded_bit_by_bit),
        cmocka_unit_test(opposite_orders_end_in_a_cycle),
        cmocka_unit_test(what_waits_for_a_lease_is_on_no_circle),
        cmocka_unit_test(a_task_nobody_waits_for_runs_before_the_end),
        cmocka_unit_test(a_task_nobody_waits_for_any_more_runs_too),
        cmocka_unit_test(agreeing_ranks_close_without_a_vote),
        cmocka_unit_test(candidates_are_found_by_who_lacks_the_task),
        cmocka_unit_test(a_chair_seeks_among_the_candidates_only),
        cmocka_unit_test(a_chair_that_has_heard_of_no_holder_seeks_among_all),
        cmocka_unit_test(strict_mode_names_the_first_difference),
        cmocka_unit_test(strict_mode_names_the_earliest),
        cmocka_unit_test(a_cancelled_task_does_not_run),
        cmocka_unit_test(a_second_owners_result_is_refused),
        cmocka_unit_test(a_spec_has_the_facts_of_its_hash),
        cmocka_unit_test(nobody_holds_an_array),
        cmocka_unit_test(a_host_keeps_its_part_in_the_cores_entry),
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
