/* region_marks.h - marks in bulk queues that collect without tickets
 * (node/compose/bulk_region.h).
 */
#ifndef TESTS_CONFORMANCE_REGION_MARKS_H
#define TESTS_CONFORMANCE_REGION_MARKS_H

#include "tests/conformance/queue_marks.h"

#include "hashing/identity.h"
#include "node/context/context.h"

/* So many wait like that: what is tested here is not to pass without one. */
static inline bool collects(const struct seat *seat, uint32_t count)
{
    pthread_mutex_lock(&seat->m->bond->lock); /* no call: that would end it */
    bool all = seat->m->compose.in_regions == count;
    pthread_mutex_unlock(&seat->m->bond->lock);
    return all || identity_together() == 0;
}

/* A thread that has not spawned yet has other things to do as well. */
static inline void start(struct seat *seat)
{
    begin(seat);
    moot_task first = spawn_mark(seat, MARKS_MAX - 1);
    wait_for(seat, &first, 1);
    begin(seat);
}

static inline void open_with(struct seat *seat, moot_task *tasks, uint64_t first,
                             uint64_t count)
{
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 0; i < count; i++) {
        tasks[i] = spawn_mark(seat, first + i);
    }
    CHECK(seat, collects(seat, (uint32_t)count));
}

#define REGIONS(fn, ...)                                                               \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = region_kernels,                \
        .after = closes_well, __VA_ARGS__                                              \
    }

#endif
