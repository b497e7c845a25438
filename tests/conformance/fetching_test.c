/* fetching_test.c - handles without a spawn.
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

static const struct scene scenes[] = {
    SCENE(a_name_is_a_handle_without_a_spawn, .sizes = {1, 2, 3}),
    SCENE(a_name_counts_the_open_scope, .sizes = {1, 2, 3}),
    SCENE(what_cannot_be_spawned_has_no_name, .sizes = {1, 2, 3}),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
