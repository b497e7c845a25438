/* newcomer_bench.h - ranks that ask those on the bench to let them in.
 *
 * bench.joinable, and bench.boundary, say when that may be; whoever sets them before it
 * is opened takes them back (end_joinable).
 */
#ifndef TESTS_UNIT_NEWCOMER_BENCH_H
#define TESTS_UNIT_NEWCOMER_BENCH_H

#include "tests/unit/bench.h"

#define JOIN_HEARTBEAT_NS (10 * (uint64_t)MS)

/* The first view's ranks alone are there, and all numbers behind them are free. */
static inline void open_first_in(uint32_t first, enum core_mode mode)
{
    bench.joinable = true;
    bench_open_with(first, mode, JOIN_HEARTBEAT_NS);
    for (uint32_t rank = first; rank < RANKS_MAX; rank++) {
        bench.crashed[rank] = true; /* it has not begun */
    }
    pass(50 * MS);
}

static inline void open_first(uint32_t first) { open_first_in(first, CORE_REPAIR); }

static inline void end_joinable(void)
{
    bench_close();
    bench.joinable = bench.boundary = bench.drops = false;
    bench.direct_max = 0;
}

/* The newcomer knows the ranks of the first view, and those after it that have begun up
 * to `known`. */
static inline void join(uint32_t rank, uint32_t first, uint32_t known)
{
    uint64_t uids[RANKS_MAX] = {0};
    bench.uids[rank] = 1000 + rank;
    bench.size = rank < bench.size ? bench.size : rank + 1;
    for (uint32_t other = 0; other < known; other++) {
        uids[other] = other < first || !bench.crashed[other] ? bench.uids[other] : 0;
    }
    struct core_options options = options_of(rank);
    options.size = known;
    options.first_size = first;
    options.uids = uids;
    options.join_uid = bench.uids[rank];
    options.join_rank = rank;
    bench.core[rank] = core_new(&options);
    assert_non_null(bench.core[rank]);
    bench.crashed[rank] = false;
}

#endif
