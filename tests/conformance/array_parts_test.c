/* array_parts_test.c - ranks spawn parts of an array: each element runs once, on a rank
 * that has spawned it, and an array ends without those that nobody has spawned.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { TRACKED = RELAY + 1, AFTER };
enum { COUNT = 240, ELSEWHERE = -1 };

static atomic_int runs[COUNT], ran_by[COUNT];

static int track(moot_call *call, void *user)
{
    const struct seat *seat = user;
    const uint64_t index = moot_call_index(call);
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = 3 * index;
    runs[index]++;
    ran_by[index] = seat->rank;
    return MOOT_OK;
}

/* Gives on what it takes. */
static int after(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *in = moot_call_input(call, 0, NULL);
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL || *in != 3 * moot_call_index(call)) {
        return moot_call_fail(call, 1, "takes something else");
    }
    *out = *in + 1;
    return MOOT_OK;
}

static void part_kernels(struct seat *seat)
{
    const moot_kernel tracked = {.name = "track", .fn = track, .user = seat};
    const moot_kernel taker = {.name = "after", .fn = after};
    kernels(seat);
    EXPECT(seat, moot_kernel_register(seat->m, &tracked, &seat->kernels[TRACKED]),
           MOOT_OK);
    EXPECT(seat, moot_kernel_register(seat->m, &taker, &seat->kernels[AFTER]), MOOT_OK);
}

static void forget_runs(struct seat *seat)
{
    pthread_barrier_wait(seat->barrier);
    for (int i = 0; i < COUNT && seat->rank == 0; i++) {
        runs[i] = 0;
        ran_by[i] = ELSEWHERE;
    }
    pthread_barrier_wait(seat->barrier);
}

static const enum moot_spread_kind kinds[] = {MOOT_SPREAD_BLOCK, MOOT_SPREAD_CYCLIC,
                                              MOOT_SPREAD_HASHED};

static moot_array_spec spec_of(const struct seat *seat, const int32_t *key, int kind)
{
    return (moot_array_spec){.kernel = seat->kernels[TRACKED],
                             .count = COUNT,
                             .key = key,
                             .key_size = sizeof(*key),
                             .spread = {.kind = kinds[kind]}};
}

static moot_array spawn_some(struct seat *seat, const moot_array_spec *spec,
                             uint64_t first, uint64_t count)
{
    moot_array array = {0};
    const moot_range range = {first, count};
    EXPECT(seat, moot_array_spawn_some(seat->m, spec, &range, 1, &array), MOOT_OK);
    return array;
}

/* Rank r spawns these of `size` equal shares, r + by. */
static moot_range share(const struct seat *seat, int by)
{
    const int at = (seat->rank + by) % seat->size;
    const uint64_t first = (uint64_t)at * COUNT / (uint64_t)seat->size;
    const uint64_t end = (uint64_t)(at + 1) * COUNT / (uint64_t)seat->size;
    return (moot_range){first, end - first};
}

static void check_runs(struct seat *seat, int by)
{
    const moot_range own = share(seat, by);
    pthread_barrier_wait(seat->barrier);
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK(seat, runs[i] == 1);
        const bool mine = i >= own.first && i < own.first + own.count;
        CHECK(seat, (ran_by[i] == seat->rank) == mine);
    }
    pthread_barrier_wait(seat->barrier);
}

/* Its own share of the indices, or that of the next rank: whoever its home is. */
static void who_spawns_an_element_runs_it(struct seat *seat)
{
    for (int32_t key = 0; key < 6; key++) {
        forget_runs(seat);
        const moot_array_spec spec = spec_of(seat, &key, key / 2);
        const moot_range own = share(seat, key % 2);
        moot_array array = spawn_some(seat, &spec, own.first, own.count);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
        check_runs(seat, key % 2);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

static void parts_grow(struct seat *seat)
{
    for (int32_t key = 10; key < 13; key++) {
        forget_runs(seat);
        const moot_array_spec spec = spec_of(seat, &key, key - 10);
        const moot_range own = share(seat, 1);
        moot_array array = spawn_some(seat, &spec, own.first, 1), more, whole = {0};
        nap_ms(2 * seat->rank);
        more = spawn_some(seat, &spec, own.first + 1, own.count - 1);
        EXPECT(seat, moot_array_wait(seat->m, more, MOOT_FOREVER), MOOT_OK);
        check_runs(seat, 1);
        EXPECT(seat, moot_array_spawn(seat->m, &spec, &whole), MOOT_OK);
        EXPECT(seat, moot_array_wait(seat->m, whole, 0), MOOT_OK);
        check_runs(seat, 1);
        EXPECT(seat, moot_array_release(seat->m, whole), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, more), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

/* Ranges in any order, across each other; another rank has it all. */
static void ranges_may_overlap(struct seat *seat)
{
    const moot_range ranges[] = {{100, 100}, {10, 20}, {150, 90}, {29, 2}};
    const int32_t key = 20;
    moot_array array;
    forget_runs(seat);
    const moot_array_spec spec = spec_of(seat, &key, MOOT_SPREAD_BLOCK);
    EXPECT(seat,
           seat->rank > 0 || seat->size == 1
               ? moot_array_spawn_some(seat->m, &spec, ranges, 4, &array)
               : moot_array_spawn(seat->m, &spec, &array),
           MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER),
           seat->size == 1 ? MOOT_ERR_NOT_HELD : MOOT_OK);
    pthread_barrier_wait(seat->barrier);
    for (int i = 0; i < COUNT; i++) {
        const bool named = (i >= 10 && i < 31) || i >= 100;
        CHECK(seat, runs[i] == (named || seat->size > 1));
        CHECK(seat, named || ran_by[i] <= 0);
    }
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void what_nobody_spawns_is_not_held(struct seat *seat)
{
    const int32_t key = 30;
    forget_runs(seat);
    const moot_array_spec spec = spec_of(seat, &key, MOOT_SPREAD_CYCLIC);
    moot_array array = spawn_some(seat, &spec, 0, COUNT - 1), rest;
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    CHECK(seat, strstr(moot_last_error(seat->m), "spawned") != NULL);
    pthread_barrier_wait(seat->barrier);
    rest = spawn_some(seat, &spec, COUNT - 1, 1); /* too late */
    EXPECT(seat, moot_array_wait(seat->m, rest, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    pthread_barrier_wait(seat->barrier);
    CHECK(seat, runs[COUNT - 1] == 0 && runs[0] == 1);
    EXPECT(seat, moot_array_release(seat->m, rest), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* Each rank spawns another part of both arrays. */
static void parts_take_parts(struct seat *seat)
{
    for (int32_t key = 40; key < 43; key++) {
        forget_runs(seat);
        moot_array_spec spec = spec_of(seat, &key, key - 40);
        const moot_range from = share(seat, 1), own = share(seat, seat->size - 1);
        moot_array array = spawn_some(seat, &spec, from.first, from.count), next;
        const moot_array_input input = {.array = array};
        moot_task task;
        const void *got = NULL;
        spec.kernel = seat->kernels[AFTER];
        spec.inputs = &input;
        spec.input_count = 1;
        next = spawn_some(seat, &spec, own.first, own.count);
        EXPECT(seat, moot_array_wait(seat->m, next, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_array_at(seat->m, next, 7, &task), MOOT_OK);
        EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &got, NULL), MOOT_OK);
        CHECK(seat, got != NULL && *(const uint64_t *)got == 22);
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, next), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

static void refuse(struct seat *seat, const moot_array_spec *spec,
                   const moot_range *ranges, size_t count, int error, const char *words)
{
    moot_array out = {77};
    EXPECT(seat, moot_array_spawn_some(seat->m, spec, ranges, count, &out), error);
    CHECK(seat, out.id == 77 && strstr(moot_last_error(seat->m), words) != NULL);
}

static void bad_parts_are_refused(struct seat *seat)
{
    const int32_t key = 50;
    moot_array_spec spec = spec_of(seat, &key, MOOT_SPREAD_HASHED);
    const moot_range empty[] = {{0, 1}, {5, 0}}, beyond = {COUNT - 1, 2};
    const moot_range behind = {COUNT, 1}, wraps = {1, UINT64_MAX}, half = {0, 50000};
    refuse(seat, &spec, NULL, 1, MOOT_ERR_INVALID, "no ranges");
    refuse(seat, &spec, empty, 0, MOOT_ERR_INVALID, "no ranges");
    refuse(seat, &spec, empty, 2, MOOT_ERR_INVALID, "ranges[1] is empty");
    refuse(seat, &spec, &beyond, 1, MOOT_ERR_INVALID, "the array has 240");
    refuse(seat, &spec, &behind, 1, MOOT_ERR_INVALID, "ranges[0] has 1 elements");
    refuse(seat, &spec, &wraps, 1, MOOT_ERR_INVALID, "the array has 240");
    spec.count = 100000;
    refuse(seat, &spec, &half, 1, MOOT_ERR_LIMIT, "4096 pieces");
    EXPECT(seat, moot_array_spawn_some(NULL, &spec, &half, 1, NULL), MOOT_ERR_INVALID);
}

#define PART_SCENE(fn, ...)                                                            \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = part_kernels, __VA_ARGS__      \
    }

static const char *const workers[] = {"MOOT_THREADS=3", NULL};

static const struct scene scenes[] = {
    PART_SCENE(who_spawns_an_element_runs_it, .after = closes_well),
    PART_SCENE(who_spawns_an_element_runs_it, .after = closes_well, .knobs = workers),
    PART_SCENE(parts_grow, .after = closes_well),
    PART_SCENE(ranges_may_overlap, .after = closes_well),
    PART_SCENE(what_nobody_spawns_is_not_held, .after = closes_well),
    PART_SCENE(parts_take_parts, .after = closes_well),
    PART_SCENE(bad_parts_are_refused, .after = closes_well),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
