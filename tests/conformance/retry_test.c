/* retry_test.c - many tasks whose kernels have failed, and which rest before they are
 * tried again: in which order that is, and what so many cost.
 */
#include "node/context/context.h"
#include "node/engine/engine.h"
#include "node/schedule/retry.h"
#include "tests/conformance/kernels.h"
#include <time.h>

enum { SHORT = RELAY + 1, MIDDLE, LONG };

static int stumble(moot_call *call, void *user)
{
    (void)user;
    return moot_call_fail(call, 7, "the pump is dry");
}

static void add_stumble(struct seat *seat, int index, const char *name, int64_t thirds)
{
    const moot_kernel kernel = {.name = name,
                                .fn = stumble,
                                .retries = 1,
                                .retry_backoff = MOOT_SECONDS(1200 * thirds)};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[index]),
           MOOT_OK);
}

static void stumble_kernels(struct seat *seat)
{
    kernels(seat);
    add_stumble(seat, SHORT, "short", 1);
    add_stumble(seat, MIDDLE, "middle", 2);
    add_stumble(seat, LONG, "long", 3);
}

static size_t resting(struct seat *seat)
{
    engine_lock(seat->m);
    size_t count = seat->m->schedule.resting.count;
    engine_unlock(seat->m);
    return count;
}

/* Runs all there are, until so many rest. */
static void bring_to_rest(struct seat *seat, moot_task any, size_t count)
{
    while (resting(seat) < count) {
        (void)moot_task_wait(seat->m, any, MOOT_MILLISECONDS(1));
    }
}

static double processor_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* --- The order ------------------------------------------------------------------- */

enum { SOME = 300 };

/* As if hours had passed: what comes up in which order? */
static void check_order(struct seat *seat, size_t left)
{
    struct moot *m = seat->m;
    uint64_t last_ns = 0, now_ns = m->now_ns;
    CHECK(seat, m->schedule.resting.count == left && m->schedule.ready.live == 0);
    for (size_t woken = 0; m->schedule.resting.count > 0; woken++) {
        const uint64_t due_ns = m->schedule.resting.items[0].due_ns;
        const struct task *first = m->schedule.resting.items[0].task;
        const size_t count = m->schedule.resting.count;
        for (size_t i = 0; i < count; i++) {
            CHECK(seat, m->schedule.resting.items[i].due_ns >= due_ns &&
                            m->schedule.resting.items[i].task->seldom->rest_at == i);
        }
        CHECK(seat, due_ns >= last_ns && first->stage == TASK_RESTING);
        m->now_ns = last_ns = due_ns;
        retry_wake(m);
        CHECK(seat, m->schedule.resting.count < count && first->stage == TASK_READY);
    }
    CHECK(seat, m->schedule.ready.live == left);
    m->now_ns = now_ns;
}

/* Of three kinds, of which every third is cancelled, wherever it stands. */
static void those_due_first_come_first(struct seat *seat)
{
    static moot_task tasks[SOME];
    size_t left = SOME;
    for (size_t i = 0; i < SOME; i++) {
        tasks[i] = spawn_u64(seat, SHORT + (int)(i * 7 % 11 % 3), i);
    }
    bring_to_rest(seat, tasks[0], SOME);
    for (size_t i = 0; i < SOME; i += 3, left--) {
        EXPECT(seat, moot_task_cancel(seat->m, tasks[i * 7 % SOME]), MOOT_OK);
    }
    engine_lock(seat->m);
    check_order(seat, left);
    engine_unlock(seat->m);
    for (size_t i = 0; i < SOME; i++) {
        int code = moot_task_wait(seat->m, tasks[i], MOOT_FOREVER);
        CHECK(seat, code == MOOT_ERR_CANCELLED || code == MOOT_ERR_TASK_FAILED);
    }
}

/* --- The cost -------------------------------------------------------------------- */

enum { FEW = 10000, MANY = 16 * FEW };

/* All of a kind, so that each that fails is due after all others; then they are
 * cancelled, the last first. */
static double cost_of(struct seat *seat, size_t count, uint64_t salt)
{
    moot_task *tasks = calloc(count, sizeof(*tasks));
    const double begin = processor_s();
    for (size_t i = 0; i < count; i++) {
        tasks[i] = spawn_u64(seat, SHORT, salt + i);
    }
    bring_to_rest(seat, tasks[0], count);
    for (size_t i = count; i-- > 0;) {
        EXPECT(seat, moot_task_cancel(seat->m, tasks[i]), MOOT_OK);
    }
    const double cost = processor_s() - begin;
    for (size_t i = 0; i < count; i++) {
        EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_OK);
    }
    free(tasks);
    return cost;
}

/* Sixteen times as many: 16 times the cost, and something for caches, not 256. */
static void many_may_rest(struct seat *seat)
{
    const double few = cost_of(seat, FEW, 1000000);
    const double many = cost_of(seat, MANY, 2000000);
    if (many > 64 * few) {
        fprintf(stderr, "%d tasks took %.3f s, %d took %.3f s\n", FEW, few, MANY, many);
    }
    CHECK(seat, many <= 64 * few);
}

#define RETRY_SCENE(fn)                                                                \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = stumble_kernels,               \
        .after = closes_well, .sizes = {                                               \
            1                                                                          \
        }                                                                              \
    }

static const struct scene scenes[] = {
    RETRY_SCENE(those_due_first_come_first),
    RETRY_SCENE(many_may_rest),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
