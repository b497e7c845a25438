/* unnamed.h - for tests of tasks that have been spawned and have no hash yet
 * (node/spawn/spawn_batch.h): who holds the loop still, how many there are, what the
 * roll says.
 */
#ifndef TESTS_CONFORMANCE_UNNAMED_H
#define TESTS_CONFORMANCE_UNNAMED_H

#include "consensus/core_view.h"
#include "node/context/context.h"
#include "node/engine/clock.h"
#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "tests/conformance/kernels.h"

/* How many wait now. */
static inline unsigned unnamed(struct seat *seat)
{
    pthread_mutex_lock(&seat->m->bond->lock);
    unsigned count = seat->m->spawn.unnamed.count;
    pthread_mutex_unlock(&seat->m->bond->lock);
    return count;
}

/* Nothing waits, and for a second no spawn turns the loop. */
static inline void hold_still(struct seat *seat)
{
    stats_of(seat);
    atomic_store(&seat->m->engine.driven_ns, clock_ns() + 5000000000u);
}

/* Once this thread may spawn: its first task is registered at once. */
static inline void begin(struct seat *seat)
{
    EXPECT(seat, moot_task_release(seat->m, spawn_u64(seat, SQUARE, 0)), MOOT_OK);
    hold_still(seat);
}

/* As meet(), by ranks that have no helper, and serve others meanwhile. */
static inline void meet_serving(struct seat *seat)
{
    static atomic_int met[SEATS_MAX + 1]; /* of ranks so many, ever */
    int number = met[seat->size]++;
    while (met[seat->size] <= number - number % seat->size + seat->size - 1) {
        engine_lock(seat->m);
        progress_drive_free(seat->m);
        engine_unlock(seat->m);
        sched_yield();
    }
}

/* Of so many that were spawned one after the other. */
static inline unsigned still_unnamed(unsigned spawned)
{
    return identity_together() > 0 ? spawned % (unsigned)identity_together() : 0;
}

/* Where there are no vectors of four words no task waits. */
static inline void check_unnamed(struct seat *seat, unsigned count, int line)
{
    unsigned found = unnamed(seat);
    if (found == count || identity_together() == 0) {
        return;
    }
    failures++;
    fprintf(stderr, "%s: rank %d of %d: line %d: %u tasks wait, not %u\n", scene_name,
            seat->rank, seat->size, line, found, count);
}
#define WAIT_UNNAMED(seat, count) check_unnamed((seat), (count), __LINE__)

static inline moot_hash hash_of(struct seat *seat, moot_task task)
{
    moot_task_info info = {.size = 0};
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    return info.hash;
}

/* Its place on this rank's roll. */
static inline uint64_t place_of(struct seat *seat, moot_task task)
{
    const moot_hash hash = hash_of(seat, task);
    struct core_task_view view = {.position = 0};
    pthread_mutex_lock(&seat->m->bond->lock);
    CHECK(seat, core_task_look(seat->m->core, &hash, &view));
    core_task_view_release(&view);
    pthread_mutex_unlock(&seat->m->bond->lock);
    return view.position;
}

static inline moot_task spawn_on(struct seat *seat, int rank, const moot_task *inputs,
                                 size_t count, uint64_t more)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[SUM],
                                             .args = &more,
                                             .args_size = sizeof(more),
                                             .inputs = inputs,
                                             .input_count = count,
                                             .owner = MOOT_ON(rank % seat->size)},
                           &task),
           MOOT_OK);
    return task;
}

static inline void release(struct seat *seat, moot_task task)
{
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

#endif
