/* silence_bench.h - the bench of silence_test.c: ranks that are killed between two
 * steps, and who is the chair and who the voters of a task among some of them. */
#ifndef TESTS_UNIT_SILENCE_BENCH_H
#define TESTS_UNIT_SILENCE_BENCH_H

#include "tests/unit/bench.h"

#include "consensus/state/state.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

static void tick_all(void)
{
    bench.now += MS / 4;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (deadline_of(rank) <= bench.now) {
            struct core_event tick = {.type = CORE_EV_TICK};
            assert_int_equal(step(rank, &tick), MOOT_OK);
        }
    }
}

static void step_on(void)
{
    if (bench.head < bench.tail) {
        deliver_one();
    } else {
        tick_all();
    }
}

/* Messages that are under way then stay so. */
static void step_until_view(uint32_t rank, uint64_t epoch)
{
    for (int i = 0; i < 10000 && bench.epoch[rank] < epoch; i++) {
        step_on();
    }
    assert_int_equal(bench.epoch[rank], epoch);
}

/* The rank has heard what the other reports in its view. */
static void step_until_reported(uint32_t rank, uint32_t other)
{
    const struct rankset *reported = &bench.core[rank]->membership.reported;
    for (int i = 0; i < 10000 && !rankset_has(reported, other); i++) {
        step_on();
    }
    assert_true(rankset_has(reported, other));
}

static void kill_rank(uint32_t dead)
{
    bench.crashed[dead] = true;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            certify_at(rank, dead);
        }
    }
}

static uint32_t chair_among(const moot_hash *hash, uint64_t members)
{
    const struct rankset set = {.low = members};
    return placement_chair(hash, &set, NULL);
}

static uint64_t voters_of(const moot_hash *hash, uint32_t chair, uint64_t members)
{
    static const uint32_t hosts[RANKS_MAX] = {0};
    const struct rankset set = {.low = members};
    uint32_t list[8];
    uint64_t voters = 0;
    uint32_t count = placement_voters(hash, chair, &set, hosts, 3, list);
    for (uint32_t i = 0; i < count; i++) {
        voters |= UINT64_C(1) << list[i];
    }
    return voters;
}

static uint64_t voters_among(const moot_hash *hash, uint64_t members)
{
    return voters_of(hash, chair_among(hash, members), members);
}

#endif
