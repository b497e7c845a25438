/* drop_bench.h - tasks for the tests of what leaves before its scope ends (G5). */
#ifndef TESTS_UNIT_DROP_BENCH_H
#define TESTS_UNIT_DROP_BENCH_H

#include "tests/unit/bench.h"

/* A chunk ends with a hash whose first byte has none of the bits of bench.h's mask. */
static inline moot_hash hash_of(int number, uint32_t chair, unsigned facts)
{
    for (int n = number * 1000;; n++) {
        uint64_t salt = (uint64_t)n;
        moot_hash hash = digest_bytes(&salt, sizeof(salt));
        hash.bytes[15] =
            (uint8_t)((hash.bytes[15] & ~(uint32_t)MOOT_HASH_FACTS) | facts);
        hash.bytes[0] = number % 8 == 7 ? 8 : 1;
        struct rankset members = {0};
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            rankset_add(&members, rank);
        }
        bool fits = placement_chair(&hash, &members, NULL) == chair;
        rankset_release(&members);
        if (fits) {
            return hash;
        }
    }
}

static inline moot_hash task(int number)
{
    return hash_of(number, (uint32_t)number % bench.size, 0);
}

static inline uint64_t tasks_of(uint32_t rank)
{
    return core_stats(bench.core[rank])->tasks;
}

static inline uint64_t dropped_by(uint32_t rank)
{
    return core_stats(bench.core[rank])->dropped;
}

static inline void spawn_all(uint32_t rank, int count)
{
    for (int i = 0; i < count; i++) {
        spawn(rank, i, task(i));
    }
}

static inline void let_go_all(uint32_t rank, int count)
{
    for (int i = 0; i < count; i++) {
        moot_hash hash = task(i);
        core_let_go(bench.core[rank], &hash, NULL);
    }
}

/* Until this rank has answered. */
static inline void pass_until_leaving(uint32_t rank)
{
    moot_hash hash = task(0);
    pass_until(core_is_leaving, rank, &hash);
}

#endif
