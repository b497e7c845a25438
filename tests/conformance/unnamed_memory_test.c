/* unnamed_memory_test.c - a task that was spawned and finds no memory when it gets its
 * hash ends every wait of its rank with NO_MEMORY, and the others go on without it.
 *
 * Rank 0 spawns while one allocation of its thread fails, the first or a later one, or
 * all from then on; the others wait for what it owns, which then nobody has.  A spawn
 * that was refused has mostly broken nothing: then a later one succeeds.
 */
#include "node/spawn/spawn_batch.h"
#include "node/tasks/handle.h"
#include "tests/conformance/failing_thread.h"
#include "tests/conformance/handles_in_use.h"
#include "tests/conformance/unnamed.h"

enum { SPAWNS_MAX = 250 };

static atomic_int before, nth, at_settling; /* how many were spawned before, and what */
static atomic_bool for_good, failed;

/* Until something fails; how many handles there are. */
static int spawn_until_one_fails(struct seat *seat, moot_task *tasks, int count)
{
    moot_stats stats;
    for (; count < SPAWNS_MAX && seat->m->engine.fatal == 0; count++) {
        uint64_t number = (uint64_t)count;
        moot_task_spec spec = {.kernel = seat->kernels[SUM],
                               .args = &number,
                               .args_size = sizeof(number),
                               .inputs = &tasks[count - 1],
                               .input_count = count % 3 == 1,
                               .owner = MOOT_ON(count % 7 % seat->size)};
        spec.label = count % 13 == 12 ? "labelled" : NULL;
        uint32_t handles = handles_in_use(seat);
        if (moot_task_spawn(seat->m, &spec, &tasks[count]) != MOOT_OK) {
            CHECK(seat, handles_in_use(seat) == handles);
            return count;
        }
        if (count % 5 == 0) { /* in the same way, but later */
            (void)moot_task_release(seat->m, tasks[count]);
            tasks[count] = tasks[count - 1];
        }
        if (count % 11 == 0) {
            (void)moot_stats_get(seat->m, &stats);
        }
    }
    return count;
}

#define LACKS_MEMORY_AT_MOST(seat, call)                                               \
    do {                                                                               \
        int given = (call);                                                            \
        EXPECT((seat), given == MOOT_OK ? MOOT_ERR_NO_MEMORY : given,                  \
               MOOT_ERR_NO_MEMORY);                                                    \
    } while (0)

/* Of no handle that a spawn has given, and that was not released, it is said that it
 * was. */
static void check_end(struct seat *seat, moot_task task)
{
    moot_task_info info = {.size = 0};
    const void *data;
    size_t size;
    LACKS_MEMORY_AT_MOST(seat, moot_task_wait(seat->m, task, MOOT_FOREVER));
    LACKS_MEMORY_AT_MOST(seat,
                         moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &size));
    LACKS_MEMORY_AT_MOST(seat, moot_task_info(seat->m, task, &info));
    const moot_task_spec spec = {
        .kernel = seat->kernels[EMPTY], .inputs = &task, .input_count = 1};
    struct handle *handle;
    bool found = handle_find(&seat->m->tasks.handles, task.id, &handle) == MOOT_OK;
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &info.hash),
           found && handle->task != UNNAMED_TASK ? MOOT_OK : MOOT_ERR_NO_MEMORY);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_ERR_NO_MEMORY);
}

/* Memory that was put aside is to be put aside anew first. */
static void spawn_at_last(struct seat *seat, moot_task before_it, moot_task *out)
{
    uint64_t number = 1u << 30;
    moot_task_spec spec = {.kernel = seat->kernels[SUM],
                           .args = &number,
                           .args_size = sizeof(number),
                           .owner = MOOT_ON(0)};
    int code = MOOT_ERR_NO_MEMORY;
    for (int i = 0; i < 1000 && code == MOOT_ERR_NO_MEMORY; i++) {
        code = moot_task_spawn(seat->m, &spec, out);
        if (code == MOOT_ERR_NO_MEMORY) {
            (void)moot_task_wait(seat->m, before_it, 1000000);
        }
    }
    failed = seat->m->engine.fatal != 0;
    CHECK(seat, code == (failed ? MOOT_ERR_NO_MEMORY : MOOT_OK));
}

static void without_memory(struct seat *seat)
{
    static const moot_task none;
    begin(seat);
    moot_task never = {0};
    if (seat->rank != 0) {
        never = spawn_on(seat, 0, NULL, 0, 1u << 30);
    }
    meet(seat);
    if (seat->rank != 0) {
        int code = moot_task_wait(seat->m, never, MOOT_FOREVER);
        CHECK(seat, code == (failed ? MOOT_ERR_NOT_HELD : MOOT_OK) ||
                        (failed && code == MOOT_ERR_NO_CANDIDATE));
        moot_task_spec spec = {.kernel = seat->kernels[EMPTY]};
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &never), MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, never, MOOT_FOREVER), MOOT_OK);
        return;
    }
    moot_task *tasks = calloc(SPAWNS_MAX, sizeof(*tasks));
    if (tasks == NULL) {
        abort();
    }
    int count = 1;
    tasks[0] = spawn_on(seat, 0, NULL, 0, 0);
    for (; count <= before; count++) {
        tasks[count] = spawn_on(seat, count, &tasks[count - 1], 1, 1);
    }
    hold_still(seat);
    made = 0;
    fail_all = for_good;
    fail_at = nth;
    count = spawn_until_one_fails(seat, tasks, count);
    failed = seat->m->engine.fatal != 0;
    fail_at = 0;
    CHECK(seat, !failed || seat->m->spawn.unnamed.count == 0);
    at_settling += failed;
    if (!failed) {
        spawn_at_last(seat, tasks[0], &never);
        free(tasks);
        return;
    }
    CHECK(seat, seat->m->engine.fatal == MOOT_ERR_NO_MEMORY);
    for (int i = 0; i < count; i++) {
        if (tasks[i].id != none.id) {
            check_end(seat, tasks[i]);
        }
    }
    for (int i = count > 5 ? count - 5 : 0; i < count; i++) {
        LACKS_MEMORY_AT_MOST(seat, moot_task_cancel(seat->m, tasks[i]));
    }
    for (int i = 0; i < count; i++) { /* some stand there twice */
        (void)moot_task_release(seat->m, tasks[i]);
    }
    for (int i = 0; i < count; i++) {
        EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_ERR_STALE);
    }
    EXPECT(seat,
           moot_task_spawn(seat->m, &(moot_task_spec){.kernel = seat->kernels[EMPTY]},
                           &never),
           MOOT_ERR_NO_MEMORY);
    free(tasks);
}

static void closes_without(struct seat *seat)
{
    CHECK(seat, seat->close_code ==
                    (failed && seat->rank == 0 ? MOOT_ERR_NO_MEMORY : MOOT_OK));
}

static const char *const by_caller[] = {"MOOT_PROGRESS=caller", NULL};

int main(void)
{
    static const struct scene scene = {"without_memory", without_memory, kernels,
                                       by_caller,        closes_without, {0}};
    alarm(300);
    scene_name = scene.name;
    for (int size = 1; size <= 3; size++) {
        at_settling = 0;
        for (int round = 0; round < 30; round++) {
            before = round * 7 % 160;
            nth = 1 + round / 2 % 3;
            for_good = round % 2 == 0;
            failed = false;
            play(&scene, size, by_caller);
        }
        printf("%d ranks: of 30, %d failed while they were registered\n", size,
               (int)at_settling);
        if (at_settling == 0) {
            failures++;
        }
    }
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
