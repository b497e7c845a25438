/* elements_bench.h - arrays of eight elements on the bench (bench.h). */
#ifndef TESTS_UNIT_ELEMENTS_BENCH_H
#define TESTS_UNIT_ELEMENTS_BENCH_H

#include "tests/unit/bench.h"

#define HEARTBEAT_NS (UINT64_C(10) * MS)

enum { ARRAY = 1, COUNT = 8, OTHER = 2 };

/* The array that `chair` chairs. */
static inline moot_hash array_of(uint32_t chair)
{
    return chaired_by(chair, 0, MOOT_HASH_ARRAY);
}

static inline int register_array(uint32_t rank, moot_hash hash, uint64_t count)
{
    const struct array_spread spread = {.count = count, .kind = ARRAY_SPREAD_BLOCK};
    const struct core_register reg = {.array = &spread};
    return spawn_with(rank, ARRAY, hash, reg);
}

static inline void spawn_array(uint32_t rank, moot_hash hash)
{
    assert_int_equal(register_array(rank, hash, COUNT), MOOT_OK);
}

static inline int say_ended(uint32_t rank, moot_hash hash, struct range places,
                            int32_t status)
{
    struct core_event event = {.type = CORE_EV_ELEMENTS, .hash = hash};
    event.u.elements.places = places;
    event.u.elements.status = status;
    return step(rank, &event);
}

static inline void end_elements(uint32_t rank, moot_hash hash, uint64_t first,
                                uint64_t end)
{
    const struct range places = {first, end};
    assert_int_equal(say_ended(rank, hash, places, MOOT_OK), MOOT_OK);
}

/* All that it was given and has not ended, which is the latest alone. */
static inline void end_latest(uint32_t rank, moot_hash hash)
{
    const uint32_t count = bench.given_count[rank];
    assert_true(count > 0);
    const struct range latest = bench.given[rank][count - 1];
    end_elements(rank, hash, latest.first, latest.end);
}

static inline void assert_given(uint32_t rank, uint32_t nth, uint64_t first,
                                uint64_t end)
{
    assert_true(bench.given_count[rank] > nth);
    assert_int_equal(bench.given[rank][nth].first, first);
    assert_int_equal(bench.given[rank][nth].end, end);
}

#endif
