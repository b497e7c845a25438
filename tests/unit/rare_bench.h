/* rare_bench.h - what the tests of rare stories do on the bench (rare_test.c). */
#ifndef TESTS_UNIT_RARE_BENCH_H
#define TESTS_UNIT_RARE_BENCH_H

#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

enum { A = 1, B, LONG, GHOST };

static inline void leave(uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_LEAVE};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static inline void give_back_unstarted(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_UNSTARTED, .hash = hash};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static inline void decline(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_DECLINE, .hash = hash};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static inline void finish_run(uint32_t rank, moot_hash hash)
{
    struct core_event event = {.type = CORE_EV_DONE, .hash = hash};
    event.u.done.size = 8;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static inline void kill_rank(uint32_t dead)
{
    bench.crashed[dead] = true;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            certify_at(rank, dead);
        }
    }
}

static inline uint64_t voters_among(const moot_hash *hash, uint64_t members)
{
    static const uint32_t hosts[RANKS_MAX] = {0};
    const struct rankset set = {.low = members};
    uint32_t list[8];
    uint64_t voters = 0;
    uint32_t count =
        placement_voters(hash, placement_chair(hash, &set, NULL), &set, hosts, 3, list);
    for (uint32_t i = 0; i < count; i++) {
        voters |= UINT64_C(1) << list[i];
    }
    return voters;
}

static inline void set_second_lane(uint32_t rank, enum core_lane_state state)
{
    struct core_event event = {.type = CORE_EV_LANE};
    event.u.lane.lane = 1;
    event.u.lane.state = state;
    assert_int_equal(step(rank, &event), MOOT_OK);
}

/* Message by message. */
static inline void step_until_said(enum message_type type, uint64_t count)
{
    while (sum_sent(type) < count) {
        if (bench.head < bench.tail) {
            deliver_one();
            continue;
        }
        bench.now += MS / 4;
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            struct core_event tick = {.type = CORE_EV_TICK};
            assert_int_equal(step(rank, &tick), MOOT_OK);
        }
    }
}

static inline void step_until_view(uint32_t rank, uint64_t epoch)
{
    for (int i = 0; i < 10000 && bench.epoch[rank] < epoch; i++) {
        if (bench.head < bench.tail) {
            deliver_one();
            continue;
        }
        bench.now += MS / 4;
        for (uint32_t each = 0; each < bench.size; each++) {
            struct core_event tick = {.type = CORE_EV_TICK};
            if (deadline_of(each) <= bench.now) {
                assert_int_equal(step(each, &tick), MOOT_OK);
            }
        }
    }
    assert_int_equal(bench.epoch[rank], epoch);
}

static inline uint64_t refused(uint32_t rank)
{
    return core_stats(bench.core[rank])->refused;
}

/* Arrives as if the one had sent it to the other in its view. */
static inline void inject(uint32_t from, uint32_t to, struct message message,
                          uint64_t epoch)
{
    uint64_t present;
    core_view(bench.core[from], &present, &message.view_id);
    message.epoch = epoch;
    struct core_event event = {.type = CORE_EV_RECV, .hash = message.hash};
    event.u.recv.from = from;
    event.u.recv.uid = bench.uids[from];
    event.u.recv.message = &message;
    assert_int_equal(step(to, &event), MOOT_OK);
    deliver_all();
}

#endif
