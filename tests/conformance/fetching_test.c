/* fetching_test.c - handles without a spawn, and calls on many results at a time: what
 * they give, what they ask of other ranks, and what they refuse.
 */
#include "tests/conformance/kernels.h"

#define SOON MOOT_SECONDS(60)

static moot_task_spec spec_of(struct seat *seat, int kernel, const uint64_t *x)
{
    return (moot_task_spec){
        .kernel = seat->kernels[kernel], .args = x, .args_size = sizeof(*x)};
}

static moot_task name_u64(struct seat *seat, int kernel, uint64_t x)
{
    moot_task_spec spec = spec_of(seat, kernel, &x);
    moot_task task = {0};
    EXPECT(seat, moot_task_name(seat->m, &spec, &task), MOOT_OK);
    return task;
}

static bool is_u64(const void *data, size_t size, uint64_t wanted)
{
    uint64_t value;
    if (data == NULL || size != sizeof(value)) {
        return false;
    }
    memcpy(&value, data, sizeof(value));
    return value == wanted;
}

/* --- Names ----------------------------------------------------------------------- */

/* One rank spawns it, all have its result, and the name is that of the spawn. */
static void a_name_is_a_handle_without_a_spawn(struct seat *seat)
{
    const uint64_t x = 12;
    moot_task named = {0}, again = {0}, spawned = {0};
    moot_task_info info;
    moot_hash hash = hash_u64(seat, SQUARE, x);
    EXPECT(seat,
           moot_task_name(seat->m,
                          &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                            .args = &x,
                                            .args_size = sizeof(x)},
                          &named),
           MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, named, &info), MOOT_OK);
    CHECK(seat, memcmp(&info.hash, &hash, sizeof(hash)) == 0);
    CHECK(seat, stats_of(seat).tasks_spawned == 0);
    meet(seat);
    if (seat->rank == seat->size - 1) {
        spawned = spawn_u64(seat, SQUARE, x);
        EXPECT(seat, moot_task_release(seat->m, spawned), MOOT_OK);
    }
    CHECK(seat, fetch_u64(seat, named) == x * x);
    again = name_u64(seat, SQUARE, x);
    EXPECT(seat, moot_task_release(seat->m, named), MOOT_OK);
    CHECK(seat, fetch_u64(seat, again) == x * x);
    EXPECT(seat, moot_task_release(seat->m, again), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, again), MOOT_ERR_STALE);
    meet(seat);
}

static void a_name_counts_the_open_scope(struct seat *seat)
{
    moot_task_info outside, inside;
    moot_task first = name_u64(seat, SQUARE, 3);
    EXPECT(seat, moot_scope_open(seat->m, "phase"), MOOT_OK);
    moot_task second = name_u64(seat, SQUARE, 3);
    EXPECT(seat, moot_task_info(seat->m, first, &outside), MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, second, &inside), MOOT_OK);
    CHECK(seat, memcmp(&outside.hash, &inside.hash, sizeof(moot_hash)) != 0);
    EXPECT(seat, moot_task_release(seat->m, first), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, second), MOOT_OK);
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
}

static void what_cannot_be_spawned_has_no_name(struct seat *seat)
{
    const uint64_t x = 3;
    const moot_task_spec good = spec_of(seat, SQUARE, &x);
    moot_task_spec spec = good;
    moot_task out = {77}, released = name_u64(seat, SQUARE, 4);
    EXPECT(seat, moot_task_name(NULL, &good, &out), MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_name(seat->m, NULL, &out), MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_name(seat->m, &good, NULL), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "moot_task_name"));
    spec.size = 3;
    EXPECT(seat, moot_task_name(seat->m, &spec, &out), MOOT_ERR_INVALID);
    spec = good;
    spec.kernel.id = 0;
    EXPECT(seat, moot_task_name(seat->m, &spec, &out), MOOT_ERR_UNKNOWN_KERNEL);
    spec = spec_of(seat, ONCE, &x);
    EXPECT(seat, moot_task_name(seat->m, &spec, &out), MOOT_ERR_NO_KEY);
    spec = good;
    spec.args_size = (1 << 20) + 1;
    EXPECT(seat, moot_task_name(seat->m, &spec, &out), MOOT_ERR_LIMIT);
    EXPECT(seat, moot_task_release(seat->m, released), MOOT_OK);
    spec = good;
    spec.inputs = &released;
    spec.input_count = 1;
    EXPECT(seat, moot_task_name(seat->m, &spec, &out), MOOT_ERR_STALE);
    CHECK(seat, out.id == 77);
}

/* --- Many results ---------------------------------------------------------------- */

enum { MANY = 40 };

static void all_results_at_once(struct seat *seat)
{
    moot_task tasks[MANY];
    const void *data[MANY];
    size_t sizes[MANY];
    for (uint64_t i = 0; i < MANY; i++) {
        tasks[i] = spawn_u64(seat, SQUARE, i);
    }
    EXPECT(seat, moot_task_fetch_all(seat->m, tasks, MANY, SOON, data, sizes), MOOT_OK);
    for (uint64_t i = 0; i < MANY; i++) {
        CHECK(seat, is_u64(data[i], sizes[i], i * i));
        CHECK(seat, fetch_u64(seat, tasks[i]) == i * i); /* the same borrow */
    }
    EXPECT(seat, moot_task_fetch_all(seat->m, tasks, MANY, 0, NULL, NULL), MOOT_OK);
    data[0] = NULL;
    EXPECT(seat, moot_task_fetch_all(seat->m, tasks, 3, 0, data, NULL), MOOT_OK);
    CHECK(seat, is_u64(data[2], sizeof(uint64_t), 4));
    sizes[0] = 0;
    EXPECT(seat, moot_task_fetch_all(seat->m, tasks, 1, 0, NULL, sizes), MOOT_OK);
    CHECK(seat, sizes[0] == sizeof(uint64_t));
    EXPECT(seat, moot_task_fetch_all(seat->m, tasks, 0, SOON, data, sizes), MOOT_OK);
    EXPECT(seat, moot_task_fetch_all(seat->m, NULL, 0, SOON, NULL, NULL), MOOT_OK);
    EXPECT(seat, moot_task_release_all(seat->m, tasks, MANY), MOOT_OK);
}

/* A task that failed gives nothing, the others give all. */
static void the_good_ones_are_there_where_one_failed(struct seat *seat)
{
    moot_task tasks[4];
    const void *data[4] = {&data, &data, &data, &data};
    size_t sizes[4] = {77, 77, 77, 77};
    tasks[0] = spawn_u64(seat, SQUARE, 5);
    tasks[1] = spawn_u64(seat, FAIL, 1);
    tasks[2] = spawn_u64(seat, SILENT, 1);
    tasks[3] = spawn_u64(seat, EMPTY, 1);
    EXPECT(seat, moot_task_fetch_all(seat->m, tasks, 4, SOON, data, sizes),
           MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the pump is dry"));
    CHECK(seat, is_u64(data[0], sizes[0], 25));
    CHECK(seat, data[1] == NULL && sizes[1] == 0);
    CHECK(seat, data[2] == NULL && sizes[2] == 0);
    CHECK(seat, data[3] != NULL && sizes[3] == 0);
    EXPECT(seat, moot_task_release_all(seat->m, tasks, 4), MOOT_OK);
}

static void what_is_refused_leaves_all_as_it_was(struct seat *seat)
{
    moot_task tasks[3], foreign = {0x123456789abcdefu};
    const void *data[3] = {&data, &data, &data};
    size_t sizes[3] = {77, 77, 77};
    tasks[0] = spawn_u64(seat, SQUARE, 5);
    tasks[1] = name_u64(seat, SQUARE, 6); /* that nobody spawns */
    tasks[2] = tasks[1];
    EXPECT(seat, moot_task_fetch_all(NULL, tasks, 2, 0, data, sizes), MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_fetch_all(seat->m, NULL, 2, 0, data, sizes),
           MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_fetch_all(seat->m, tasks, 2, -1, data, sizes),
           MOOT_ERR_INVALID);
    EXPECT(seat,
           moot_task_fetch_all(seat->m, tasks, 2, MOOT_MILLISECONDS(5), data, sizes),
           MOOT_ERR_TIMEOUT);
    tasks[1] = foreign;
    EXPECT(seat, moot_task_fetch_all(seat->m, tasks, 3, 0, data, sizes),
           MOOT_ERR_FOREIGN);
    EXPECT(seat, moot_task_release_all(seat->m, tasks, 3), MOOT_ERR_FOREIGN);
    CHECK(seat, told(seat, "moot_task_release_all: handle 1"));
    tasks[1] = tasks[2];
    EXPECT(seat, moot_task_release(seat->m, tasks[1]), MOOT_OK);
    EXPECT(seat, moot_task_fetch_all(seat->m, tasks, 2, 0, data, sizes),
           MOOT_ERR_STALE);
    EXPECT(seat, moot_task_release_all(seat->m, tasks, 2), MOOT_ERR_STALE);
    CHECK(seat, sizes[0] == 77 && data[0] == &data && data[1] == &data);
    CHECK(seat, fetch_u64(seat, tasks[0]) == 25); /* it was not released */
    tasks[1] = tasks[0];
    EXPECT(seat, moot_park(seat->m), MOOT_OK);
    EXPECT(seat, moot_task_fetch_all(seat->m, tasks, 1, 0, data, sizes),
           MOOT_ERR_STATE);
    EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    EXPECT(seat, moot_task_release_all(seat->m, tasks, 2), MOOT_OK); /* once */
    EXPECT(seat, moot_task_release(seat->m, tasks[0]), MOOT_ERR_STALE);
    EXPECT(seat, moot_task_release_all(NULL, tasks, 1), MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_release_all(seat->m, NULL, 1), MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_release_all(seat->m, NULL, 0), MOOT_OK);
}

enum way { FETCH_ALL, FETCHES, WAIT_THEN_FETCHES };
enum { TASKS = 8 };

/* Without a wait, for then the results would be pushed. */
static void see_them_done(struct seat *seat, const moot_task *tasks)
{
    for (int i = 0; i < TASKS; i++) {
        moot_task_info info = {.state = MOOT_TASK_WAITING};
        while (info.state != MOOT_TASK_DONE &&
               moot_task_info(seat->m, tasks[i], &info) == MOOT_OK) {
            nap_ms(1);
        }
    }
}

static void take_results(struct seat *seat, const moot_task *tasks, enum way how)
{
    const void *data[TASKS];
    size_t sizes[TASKS];
    if (how == WAIT_THEN_FETCHES) {
        EXPECT(seat, moot_task_wait_all(seat->m, tasks, TASKS, SOON), MOOT_OK);
    }
    if (how == FETCH_ALL) {
        EXPECT(seat, moot_task_fetch_all(seat->m, tasks, TASKS, SOON, data, sizes),
               MOOT_OK);
    }
    for (int i = 0; i < TASKS; i++) {
        EXPECT(seat, moot_task_fetch(seat->m, tasks[i], SOON, &data[i], &sizes[i]),
               MOOT_OK);
    }
}

/* Rank 1 takes the results of tasks that only rank 0 has spawned: how many times rank 0
 * is asked. */
static uint64_t answers(struct seat *seat, uint64_t first, enum way how)
{
    moot_task tasks[TASKS];
    uint64_t before = stats_of(seat).results_answered;
    for (uint64_t i = 0; i < TASKS; i++) {
        uint64_t x = first + i;
        moot_task_spec spec = spec_of(seat, SQUARE, &x);
        spec.owner = MOOT_ON(0);
        EXPECT(seat,
               seat->rank == 0 ? moot_task_spawn(seat->m, &spec, &tasks[i])
                               : moot_task_name(seat->m, &spec, &tasks[i]),
               MOOT_OK);
    }
    if (seat->rank == 0) {
        see_them_done(seat, tasks);
    }
    meet(seat);
    if (seat->rank == 1) {
        take_results(seat, tasks, how);
    }
    meet(seat);
    EXPECT(seat, moot_task_release_all(seat->m, tasks, TASKS), MOOT_OK);
    return stats_of(seat).results_answered - before;
}

static void a_fetch_of_all_asks_once(struct seat *seat)
{
    uint64_t all = answers(seat, 1000, FETCH_ALL), each = answers(seat, 2000, FETCHES),
             twice = answers(seat, 3000, WAIT_THEN_FETCHES);
    if (seat->rank == 0) {
        CHECK(seat, all == TASKS && each == TASKS && twice == 2 * TASKS);
    }
}

/* --- Copies ---------------------------------------------------------------------- */

static void a_copy_outlives_its_handle(struct seat *seat)
{
    uint64_t value = 0;
    size_t size = 0;
    moot_task task = spawn_u64(seat, SQUARE, 9);
    EXPECT(seat,
           moot_task_fetch_into(seat->m, task, SOON, &value, sizeof(value), &size),
           MOOT_OK);
    CHECK(seat, size == sizeof(value) && value == 81);
    value = 0;
    EXPECT(seat, moot_task_fetch_into(seat->m, task, SOON, &value, sizeof(value), NULL),
           MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    CHECK(seat, value == 81);
    task = spawn_u64(seat, EMPTY, 1);
    size = 77;
    EXPECT(seat, moot_task_fetch_into(seat->m, task, SOON, NULL, 0, &size), MOOT_OK);
    CHECK(seat, size == 0);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

static void a_large_copy_is_whole(struct seat *seat)
{
    const uint64_t bytes = 300000;
    unsigned char *buffer = calloc(1, bytes);
    size_t size = 0;
    moot_task task = spawn_u64(seat, BIG, bytes);
    EXPECT(seat, moot_task_fetch_into(seat->m, task, SOON, buffer, bytes, &size),
           MOOT_OK);
    CHECK(seat, size == bytes);
    bool same = buffer != NULL;
    for (uint64_t i = 0; i < bytes && same; i++) {
        same = buffer[i] == (unsigned char)(i * 31 + i / 251);
    }
    CHECK(seat, same);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    free(buffer);
}

static void too_small_a_buffer_is_told_what_it_needs(struct seat *seat)
{
    uint64_t value = 5;
    size_t size = 77;
    moot_task task = spawn_u64(seat, SQUARE, 9), never = name_u64(seat, SQUARE, 10);
    EXPECT(seat, moot_task_fetch_into(seat->m, task, SOON, &value, 7, &size),
           MOOT_ERR_LIMIT);
    CHECK(seat, value == 5 && size == sizeof(value));
    CHECK(seat, told(seat, "the result has 8 bytes, the buffer has 7"));
    EXPECT(seat, moot_task_fetch_into(seat->m, task, SOON, NULL, 0, NULL),
           MOOT_ERR_LIMIT);
    size = 77;
    EXPECT(seat, moot_task_fetch_into(seat->m, task, SOON, NULL, 8, &size),
           MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_fetch_into(NULL, task, SOON, &value, 8, &size),
           MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_fetch_into(seat->m, never, 0, &value, 8, &size),
           MOOT_ERR_TIMEOUT);
    moot_task failing = spawn_u64(seat, FAIL, 3);
    EXPECT(seat, moot_task_fetch_into(seat->m, failing, SOON, &value, 8, &size),
           MOOT_ERR_TASK_FAILED);
    EXPECT(seat, moot_task_release(seat->m, failing), MOOT_OK);
    EXPECT(seat, moot_task_fetch_into(seat->m, failing, SOON, &value, 8, &size),
           MOOT_ERR_STALE);
    CHECK(seat, value == 5 && size == 77);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, never), MOOT_OK);
}

static const char *const at_once[] = {"MOOT_ASK_DELAY=0", "MOOT_THREADS=1", NULL};

static const struct scene scenes[] = {
    SCENE(a_name_is_a_handle_without_a_spawn, .sizes = {1, 2, 3}),
    SCENE(a_name_counts_the_open_scope, .sizes = {1, 2, 3}),
    SCENE(what_cannot_be_spawned_has_no_name, .sizes = {1, 2, 3}),
    SCENE(all_results_at_once, .sizes = {1, 2, 3}),
    SCENE(the_good_ones_are_there_where_one_failed, .sizes = {1, 2, 3}),
    SCENE(what_is_refused_leaves_all_as_it_was, .sizes = {1, 2, 3}),
    SCENE(a_fetch_of_all_asks_once, .sizes = {2}, .knobs = at_once),
    SCENE(a_copy_outlives_its_handle, .sizes = {1, 2, 3}),
    SCENE(a_large_copy_is_whole, .sizes = {1, 2, 3}),
    SCENE(too_small_a_buffer_is_told_what_it_needs, .sizes = {1, 2, 3}),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
