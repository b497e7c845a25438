/* flow_test.c - what a program may rely on that waits for some, continues, and groups.
 */
#include "kernels.h"

/* --- Waiting for some ----------------------------------------------------------- */

/* Those that have ended are named, all of them and no others, in order. */
static void some_of_many(struct seat *seat)
{
    enum { COUNT = 40 };
    moot_task tasks[COUNT];
    bool seen[COUNT] = {false};
    size_t indices[COUNT], done = 0, left = COUNT;
    if (seat->rank == 0)
        gate_open = false;
    meet(seat);
    for (uint64_t i = 0; i < COUNT; i++)
        tasks[i] = spawn_u64(seat, SQUARE, i);
    while (left > 0) {
        EXPECT(seat,
               moot_task_wait_some(seat->m, tasks, COUNT, MOOT_FOREVER, indices, &done),
               MOOT_OK);
        CHECK(seat, done > 0 && done <= COUNT);
        left = COUNT;
        for (size_t i = 0; i < done; i++) {
            CHECK(seat, indices[i] < COUNT && (i == 0 || indices[i] > indices[i - 1]));
            seen[indices[i]] = true;
            moot_task_info info;
            EXPECT(seat, moot_task_info(seat->m, tasks[indices[i]], &info), MOOT_OK);
            CHECK(seat, info.state == MOOT_TASK_DONE);
        }
        for (size_t i = 0; i < COUNT; i++)
            left -= seen[i];
        if (left > 0) /* what is left ends when it is waited for */
            EXPECT(seat, moot_task_wait(seat->m, tasks[COUNT - 1], MOOT_FOREVER),
                   MOOT_OK);
        for (size_t i = 0; left > 0 && i < COUNT; i++)
            if (!seen[i])
                EXPECT(seat, moot_task_wait(seat->m, tasks[i], MOOT_FOREVER), MOOT_OK);
    }
}

/* The gate is shut, so only what does not need it can have ended; and of the ended the
 * first that failed gives the code. */
static void some_and_not_others(struct seat *seat)
{
    if (seat->rank == 0)
        gate_open = false;
    meet(seat);
    moot_task_spec spec = {.kernel = seat->kernels[GATE], .owner = MOOT_ON(0)};
    moot_task tasks[3];
    size_t indices[3] = {7, 7, 7}, done = 7;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[0]), MOOT_OK);
    if (seat->rank != 0) {
        EXPECT(seat,
               moot_task_wait_some(seat->m, tasks, 1, MOOT_MILLISECONDS(5), indices,
                                   &done),
               MOOT_ERR_TIMEOUT);
        CHECK(seat, indices[0] == 7 && done == 7);
    }
    spec = (moot_task_spec){.kernel = seat->kernels[FAIL],
                            .owner = MOOT_ON(seat->size - 1)};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[1]), MOOT_OK);
    spec.kernel = seat->kernels[EMPTY];
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[2]), MOOT_OK);
    meet(seat);
    gate_open = seat->size == 1;
    if (seat->rank != 0 || seat->size == 1) {
        EXPECT(seat, moot_task_wait(seat->m, tasks[1], MOOT_FOREVER),
               MOOT_ERR_TASK_FAILED);
        EXPECT(seat, moot_task_wait(seat->m, tasks[2], MOOT_FOREVER), MOOT_OK);
        EXPECT(seat,
               moot_task_wait_some(seat->m, tasks, 3, MOOT_FOREVER, indices, &done),
               MOOT_ERR_TASK_FAILED);
        CHECK(seat, told(seat, "the pump is dry"));
        if (seat->size > 1)
            CHECK(seat, done == 2 && indices[0] == 1 && indices[1] == 2);
    }
    meet(seat);
    gate_open = true;
    EXPECT(seat, moot_task_wait(seat->m, tasks[0], MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_wait_some(seat->m, tasks, 0, 0, indices, &done),
           MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_wait_some(seat->m, tasks, 1, 0, NULL, &done),
           MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_wait_some(seat->m, tasks, 1, -1, indices, &done),
           MOOT_ERR_INVALID);
}

/* --- Continuations -------------------------------------------------------------- */

static moot_task then_u64(struct seat *seat, moot_task before, uint64_t more,
                          const moot_task *inputs, size_t count)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_then(seat->m, before,
                          &(moot_task_spec){.kernel = seat->kernels[SUM],
                                            .args = &more,
                                            .args_size = sizeof(more),
                                            .inputs = inputs,
                                            .input_count = count},
                          &task),
           MOOT_OK);
    return task;
}

static void continuations(struct seat *seat)
{
    enum { LENGTH = 50, WIDTH = 20 };
    moot_task at = spawn_u64(seat, SQUARE, 3), many[WIDTH];
    for (uint64_t i = 1; i <= LENGTH; i++) {
        moot_task next = then_u64(seat, at, i, NULL, 0);
        EXPECT(seat, moot_task_release(seat->m, at), MOOT_OK); /* it may go at once */
        at = next;
    }
    CHECK(seat, fetch_u64(seat, at) == 9 + LENGTH * (LENGTH + 1) / 2);
    for (uint64_t i = 0; i < WIDTH; i++)
        many[i] = spawn_u64(seat, SQUARE, i);
    CHECK(seat, fetch_u64(seat, then_u64(seat, at, 0, many, WIDTH)) ==
                    9 + LENGTH * (LENGTH + 1) / 2 + 2470);
    moot_task by_hand[] = {many[2], many[3]}, same[2];
    same[0] = then_u64(seat, many[2], 1, &many[3], 1);
    same[1] = spawn_sum(seat, by_hand, 2, 1);
    moot_task_info one, other;
    EXPECT(seat, moot_task_info(seat->m, same[0], &one), MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, same[1], &other), MOOT_OK);
    CHECK(seat, memcmp(&one.hash, &other.hash, sizeof one.hash) == 0);
    CHECK(seat, strstr(one.site, "flow_test.c:") != NULL);
}

static void continuations_that_cannot(struct seat *seat)
{
    moot_task bad = {0}, after, gone = spawn_u64(seat, SQUARE, 1);
    moot_task_spec spec = {.kernel = seat->kernels[FAIL]};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &bad), MOOT_OK);
    after = then_u64(seat, then_u64(seat, bad, 1, NULL, 0), 2, NULL, 0);
    EXPECT(seat, moot_task_wait(seat->m, after, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the pump is dry"));
    EXPECT(seat, moot_task_release(seat->m, gone), MOOT_OK);
    EXPECT(seat, moot_task_then(seat->m, gone, &spec, &after), MOOT_ERR_STALE);
    spec.input_count = 1;
    EXPECT(seat, moot_task_then(seat->m, bad, &spec, &after), MOOT_ERR_INVALID);
    static const moot_task full[4096];
    spec.inputs = full;
    spec.input_count = 4096;
    EXPECT(seat, moot_task_then(seat->m, bad, &spec, &after), MOOT_ERR_LIMIT);
    EXPECT(seat, moot_task_then(seat->m, bad, NULL, &after), MOOT_ERR_INVALID);
}

/* --- All of them ---------------------------------------------------------------- */

static const struct scene scenes[] = {
    SCENE(some_of_many, .knobs = NULL),
    SCENE(some_and_not_others, .knobs = NULL),
    SCENE(continuations, .knobs = NULL),
    SCENE(continuations_that_cannot, .knobs = NULL),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
