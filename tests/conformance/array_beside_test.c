/* array_beside_test.c - an array beside another: its elements run where those of the
 * other do, and both have one chair.
 */
#include "hashing/identity.h"
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { PLACED = RELAY + 1, COUNT = 60 };

/* 1 + the rank that ran it; by the array's number, which is its argument. */
static int ran_at[4][COUNT];

static int note_place(moot_call *call, void *user)
{
    const struct seat *seat = user;
    const int *number = moot_call_args(call, NULL);
    ran_at[*number][moot_call_index(call)] = 1 + seat->rank;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void beside_kernels(struct seat *seat)
{
    const moot_kernel kernel = {.name = "note.place", .fn = note_place, .user = seat};
    kernels(seat);
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[PLACED]),
           MOOT_OK);
}

static moot_array_spec spec_of(const struct seat *seat, const int *number,
                               moot_spread spread, moot_array beside)
{
    return (moot_array_spec){.size = sizeof(moot_array_spec),
                             .kernel = seat->kernels[PLACED],
                             .count = COUNT,
                             .args = number,
                             .args_size = sizeof(*number),
                             .spread = spread,
                             .beside = beside};
}

static moot_array spawn(struct seat *seat, int number, moot_spread spread,
                        moot_array beside)
{
    moot_array array = {0};
    const moot_array_spec spec = spec_of(seat, &number, spread, beside);
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    return array;
}

static moot_hash hash_of(struct seat *seat, moot_array array)
{
    moot_task_info info;
    EXPECT(seat, moot_task_info(seat->m, (moot_task){array.id}, &info), MOOT_OK);
    return info.hash;
}

static const moot_spread block = {MOOT_SPREAD_BLOCK, 0};
static const moot_spread cyclic = {MOOT_SPREAD_CYCLIC, 7};
static const moot_spread hashed = {MOOT_SPREAD_HASHED, 0};

static void elements_run_where_the_others_do(struct seat *seat)
{
    static const moot_spread spreads[] = {block, cyclic, hashed};
    for (int i = 0; i < 3; i++) {
        EXPECT(seat, moot_group_open(seat->m), MOOT_OK); /* of `first`, too */
        moot_array first = spawn(seat, 0, spreads[i], (moot_array){0});
        moot_array second = spawn(seat, 1, block, first);
        moot_array third = spawn(seat, 2, spreads[i], second);
        EXPECT(seat, moot_array_release(seat->m, first), MOOT_OK);
        EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_array_wait(seat->m, second, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_array_wait(seat->m, third, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
        for (int k = 0; k < COUNT; k++) {
            CHECK(seat, ran_at[1][k] == ran_at[0][k] && ran_at[2][k] == ran_at[0][k]);
        }
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, second), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, third), MOOT_OK);
    }
}

static void both_have_one_chair(struct seat *seat)
{
    moot_array first = spawn(seat, 0, cyclic, (moot_array){0});
    moot_array beside = spawn(seat, 1, cyclic, first);
    moot_array alone = spawn(seat, 1, cyclic, (moot_array){0});
    const moot_hash other = hash_of(seat, first), hash = hash_of(seat, beside);
    const moot_hash free_hash = hash_of(seat, alone);
    CHECK(seat, hash_place(&hash) == hash_place(&other));
    CHECK(seat, !hash_equal(&hash, &other) && !hash_equal(&hash, &free_hash));
    EXPECT(seat, moot_array_release(seat->m, first), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, beside), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, alone), MOOT_OK);
}

static void refuse(struct seat *seat, const moot_array_spec *spec, int code,
                   const char *why)
{
    moot_array array;
    EXPECT(seat, moot_array_spawn(seat->m, spec, &array), code);
    CHECK(seat, strstr(moot_last_error(seat->m), why) != NULL);
}

static void what_cannot_be_beside_is_refused(struct seat *seat)
{
    int number = 3;
    moot_array array = spawn(seat, number, cyclic, (moot_array){0});
    moot_array_spec spec = spec_of(seat, &number, block, array);
    moot_task task;
    spec.count++;
    refuse(seat, &spec, MOOT_ERR_INVALID, ".beside has 60 elements");
    spec = spec_of(seat, &number, hashed, array);
    refuse(seat, &spec, MOOT_ERR_INVALID, ".spread");
    spec = spec_of(seat, &number, (moot_spread){MOOT_SPREAD_CYCLIC, 8}, array);
    refuse(seat, &spec, MOOT_ERR_INVALID, ".spread");
    spec = spec_of(seat, &number, block, (moot_array){array.id ^ UINT64_C(1) << 63});
    refuse(seat, &spec, MOOT_ERR_FOREIGN, "another context");
    EXPECT(seat,
           moot_task_spawn(seat->m, &(moot_task_spec){.kernel = seat->kernels[RELAY]},
                           &task),
           MOOT_OK);
    spec = spec_of(seat, &number, block, (moot_array){task.id});
    refuse(seat, &spec, MOOT_ERR_INVALID, "a task's");
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    spec = spec_of(seat, &number, block, array);
    refuse(seat, &spec, MOOT_ERR_STALE, "released");
}

#define BESIDE_SCENE(fn)                                                               \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = beside_kernels,                \
        .after = closes_well                                                           \
    }

static const struct scene scenes[] = {
    BESIDE_SCENE(elements_run_where_the_others_do),
    BESIDE_SCENE(both_have_one_chair),
    BESIDE_SCENE(what_cannot_be_beside_is_refused),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
