/* core_test.c - the rules of PROTOCOL.md sections 3 to 4, one core against another.
 *
 * A wire of FIFO queues between a few cores, no delays, and a host that runs a task the
 * moment it may.  Each test drives the ranks by hand and looks at who asked whom and
 * who ran what; the simulator does the same by the thousand.
 */
#include "consensus/core.h"
#include "hashing/identity.h"
#include "hashing/placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MAX = 5, QUEUE_MAX = 4096, MS = 1000000 };

struct parcel {
    uint32_t from, to;
    struct message message;
    struct message_asker askers[8];
    moot_hash hashes[64];
    struct rankset set;
};

static struct bench {
    uint32_t size;
    struct core *core[RANKS_MAX];
    uint64_t uids[RANKS_MAX];
    struct parcel *queue[QUEUE_MAX];
    size_t head, tail;
    uint64_t now;
    int runs[64];                 /* by task number */
    int ran_on[64];               /* rank */
    int32_t ended[RANKS_MAX][64]; /* 0: not; 1: done; negative: verdict */
    uint32_t chain_count;
    bool adjourned[RANKS_MAX], diverged[RANKS_MAX];
    bool hold_runs;
} bench;

static int numbers[64];

static void carry_out(uint32_t rank, const struct core_outputs *out);

static int step(uint32_t rank, struct core_event *event)
{
    struct core_outputs out;
    int error = core_step(bench.core[rank], event, bench.now, &out);
    if (error == MOOT_OK) {
        carry_out(rank, &out);
    }
    return error;
}

static void post(uint32_t from, uint32_t to, const struct message *message)
{
    struct parcel *parcel = calloc(1, sizeof(*parcel));
    *parcel = (struct parcel){.from = from, .to = to, .message = *message};
    struct message *copy = &parcel->message;
    if (copy->type == MESSAGE_DECISION) {
        memcpy(parcel->askers, copy->u.decision.askers,
               copy->u.decision.asker_count * sizeof(struct message_asker));
        copy->u.decision.askers = parcel->askers;
    } else if (copy->type == MESSAGE_CHASE && copy->u.chase.path_count > 0) {
        memcpy(parcel->hashes, copy->u.chase.path,
               copy->u.chase.path_count * sizeof(moot_hash));
        copy->u.chase.path = parcel->hashes;
    } else if (copy->type == MESSAGE_HASHES) {
        memcpy(parcel->hashes, copy->u.hashes.hashes,
               copy->u.hashes.count * sizeof(moot_hash));
        copy->u.hashes.hashes = parcel->hashes;
        copy->u.hashes.sites = NULL;
    }
    bench.queue[bench.tail++ % QUEUE_MAX] = parcel;
    assert_true(bench.tail - bench.head < QUEUE_MAX);
}

static void carry_out(uint32_t rank, const struct core_outputs *out)
{
    struct core_output *items = calloc(out->count + 1, sizeof(*items));
    if (out->count > 0) {
        memcpy(items, out->items, out->count * sizeof(*items));
    }
    size_t count = out->count;
    for (size_t i = 0; i < count; i++) { /* first what borrows from the core */
        if (items[i].type == CORE_OUT_SEND) {
            post(rank, items[i].u.send.to, &items[i].u.send.message);
        }
    }
    for (size_t i = 0; i < count; i++) {
        int number = items[i].user != NULL ? *(int *)items[i].user : 0;
        switch (items[i].type) {
        case CORE_OUT_RUN:
            bench.runs[number]++;
            bench.ran_on[number] = (int)rank;
            if (!bench.hold_runs) {
                struct core_event event = {.type = CORE_EV_DONE, .hash = items[i].hash};
                event.u.done.size = 8;
                if (items[i].u.run.cancelled) {
                    event.u.done.status = MOOT_ERR_CANCELLED;
                    bench.runs[number]--;
                }
                assert_int_equal(step(rank, &event), MOOT_OK);
            }
            break;
        case CORE_OUT_DONE:
            bench.ended[rank][number] = 1;
            break;
        case CORE_OUT_VERDICT:
            bench.ended[rank][number] = items[i].u.verdict.code;
            bench.chain_count = items[i].u.verdict.chain_count;
            break;
        case CORE_OUT_ADJOURN:
            bench.adjourned[rank] = true;
            break;
        case CORE_OUT_DIVERGED:
            bench.diverged[rank] = true;
            break;
        case CORE_OUT_SEND:
        case CORE_OUT_CANCEL:
        case CORE_OUT_RESULT:
        case CORE_OUT_NOTE:
            break;
        }
    }
    free(items);
}

static void deliver_all(void)
{
    while (bench.head < bench.tail) {
        struct parcel *parcel = bench.queue[bench.head++ % QUEUE_MAX];
        struct core_event event = {.type = CORE_EV_RECV};
        event.u.recv.from = parcel->from;
        event.u.recv.uid = bench.uids[parcel->from];
        event.u.recv.message = &parcel->message;
        assert_int_equal(step(parcel->to, &event), MOOT_OK);
        free(parcel);
    }
}

/* Lets time pass until nothing is due within a second of it. */
static void settle(void)
{
    uint64_t until = bench.now + 1000 * MS;
    deliver_all();
    for (;;) {
        uint64_t due = CORE_NEVER;
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            uint64_t mine = core_deadline(bench.core[rank]);
            due = mine < due ? mine : due;
        }
        if (due > until) {
            break;
        }
        bench.now = due > bench.now ? due : bench.now + 1000;
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            if (core_deadline(bench.core[rank]) <= bench.now) {
                struct core_event tick = {.type = CORE_EV_TICK};
                assert_int_equal(step(rank, &tick), MOOT_OK);
            }
        }
        deliver_all();
    }
    bench.now = until;
}

static void bench_open(uint32_t size, enum core_mode mode)
{
    memset(&bench, 0, sizeof(bench));
    bench.size = size;
    for (uint32_t rank = 0; rank < size; rank++) {
        bench.uids[rank] = 1000 + rank;
    }
    for (uint32_t rank = 0; rank < size; rank++) {
        const struct core_options options = {.rank = rank,
                                             .size = size,
                                             .uids = bench.uids,
                                             .epoch = 1,
                                             .mode = mode,
                                             .voters = 3,
                                             .vote_timeout_ns = CORE_NEVER,
                                             .ask_delay_ns = 1 * MS,
                                             .gossip_period_ns = 2 * MS};
        bench.core[rank] = core_new(&options);
        assert_non_null(bench.core[rank]);
    }
}

static void bench_close(void)
{
    while (bench.head < bench.tail) {
        free(bench.queue[bench.head++ % QUEUE_MAX]);
    }
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        assert_int_equal(core_stats(bench.core[rank])->violations, 0);
        core_free(bench.core[rank]);
    }
}

/* The n-th hash whose default chair is `chair`, with these facts. */
static moot_hash chaired_by(uint32_t chair, int n, unsigned facts)
{
    struct rankset members = {0};
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        rankset_add(&members, rank);
    }
    for (uint64_t i = 0;; i++) {
        moot_hash hash = digest_bytes(&i, sizeof(i));
        hash.bytes[15] = (uint8_t)((hash.bytes[15] & ~7u) | facts);
        if (placement_chair(&hash, &members, NULL) == chair && n-- == 0) {
            rankset_release(&members);
            return hash;
        }
    }
}

static int spawn_with(uint32_t rank, int number, moot_hash hash,
                      struct core_register reg)
{
    struct core_event event = {.type = CORE_EV_REGISTER, .hash = hash};
    reg.user = &numbers[number];
    reg.site = "test.c:1";
    event.u.reg = reg;
    return step(rank, &event);
}

static void spawn(uint32_t rank, int number, moot_hash hash)
{
    struct core_register reg = {0};
    if (hash.bytes[15] & MOOT_HASH_ONCE) {
        reg.flags |= CORE_TASK_ONCE;
    }
    assert_int_equal(spawn_with(rank, number, hash, reg), MOOT_OK);
}

static void set_lane(uint32_t rank, enum core_lane_state state)
{
    struct core_event event = {.type = CORE_EV_LANE};
    event.u.lane.state = state;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void begin_wait(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_NEED, .hash = hash};
    event.u.need.want = WANT_DATA;
    assert_int_equal(step(rank, &event), MOOT_OK);
    set_lane(rank, CORE_LANE_BLOCKED);
}

static void end_wait(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_UNNEED, .hash = hash};
    event.u.need.want = WANT_DATA;
    assert_int_equal(step(rank, &event), MOOT_OK);
    set_lane(rank, CORE_LANE_RUNNING);
}

static void close_rank(uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_CLOSE};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void close_all(void)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        close_rank(rank);
    }
    settle();
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        assert_true(bench.adjourned[rank]);
    }
}

static uint64_t sum_yields(void)
{
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        for (int i = 0; i < EVIDENCE_END; i++) {
            sum += core_stats(bench.core[rank])->yields[i];
        }
    }
    return sum;
}

static uint64_t sum_sent(enum message_type type)
{
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        sum += core_stats(bench.core[rank])->sent[type];
    }
    return sum;
}

/* --- Tests ---------------------------------------------------------------------------
 */

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
    numbers[1] = 1;
    assert_true(core_set_user(bench.core[0], &a, &numbers[1]));
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

static void agreeing_ranks_close_without_a_vote(void **state)
{
    (void)state;
    bench_open(4, CORE_REPAIR);
    for (int i = 0; i < 40; i++) {
        uint64_t word = 77 + (uint64_t)i;
        moot_hash hash = digest_bytes(&word, sizeof(word));
        hash.bytes[15] &= (uint8_t)~7u;
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

int main(void)
{
    for (int i = 0; i < 64; i++) {
        numbers[i] = i;
    }
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chair_claims_without_a_message),
        cmocka_unit_test(agreeing_ranks_push_and_never_ask),
        cmocka_unit_test(a_blocked_chair_yields_what_it_passed),
        cmocka_unit_test(late_registration_after_a_yield_does_not_run),
        cmocka_unit_test(a_once_task_starts_after_a_quorum),
        cmocka_unit_test(a_waiter_that_lacks_it_finds_a_holder),
        cmocka_unit_test(what_nobody_holds_fails_when_all_is_quiet),
        cmocka_unit_test(opposite_orders_end_in_a_cycle),
        cmocka_unit_test(a_task_nobody_waits_for_runs_before_the_end),
        cmocka_unit_test(agreeing_ranks_close_without_a_vote),
        cmocka_unit_test(candidates_are_found_by_who_lacks_the_task),
        cmocka_unit_test(strict_mode_names_the_first_difference),
        cmocka_unit_test(a_cancelled_task_does_not_run),
        cmocka_unit_test(a_second_owners_result_is_refused),
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
