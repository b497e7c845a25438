/* array_once_test.c - arrays of once kernels: each element starts at most once, whoever
 * spawns the array, reads it, takes from it, leaves it, or asks for it too late.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { DEED = RELAY + 1, LARGE_DEED, PURE, BOTH, AGAIN, VARYING, VARYING_ONCE };
enum { COUNT = 300, LARGE_BYTES = 20000 };

static atomic_int runs[COUNT];

static int do_deed(moot_call *call, void *user)
{
    (void)user;
    const uint64_t index = moot_call_index(call);
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = index;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        *out += *(const uint64_t *)moot_call_input(call, i, NULL);
    }
    runs[index % COUNT]++;
    nap_ms(index % 16 == 0);
    return MOOT_OK;
}

static int do_large(moot_call *call, void *user)
{
    (void)user;
    const uint64_t index = moot_call_index(call);
    uint64_t *out = moot_call_output(call, LARGE_BYTES);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(out, 0, LARGE_BYTES);
    *out = index;
    runs[index % COUNT]++;
    return MOOT_OK;
}

static int be_pure(moot_call *call, void *user)
{
    (void)user;
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = moot_call_index(call);
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        *out += *(const uint64_t *)moot_call_input(call, i, NULL);
    }
    return MOOT_OK;
}

static void add(struct seat *seat, int at, const char *name, moot_kernel_fn fn,
                uint32_t flags)
{
    const moot_kernel kernel = {.name = name, .fn = fn, .flags = flags};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void once_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, DEED, "deed", do_deed, MOOT_KERNEL_ONCE);
    add(seat, LARGE_DEED, "large.deed", do_large, MOOT_KERNEL_ONCE);
    add(seat, PURE, "pure", be_pure, 0);
    add(seat, BOTH, "both", do_deed, MOOT_KERNEL_ONCE | MOOT_KERNEL_PORTABLE);
    add(seat, AGAIN, "again", do_deed, MOOT_KERNEL_ONCE | MOOT_KERNEL_IDEMPOTENT);
    add(seat, VARYING, "varying", do_deed, MOOT_KERNEL_NONDETERMINISTIC);
    add(seat, VARYING_ONCE, "varying.once", do_deed,
        MOOT_KERNEL_ONCE | MOOT_KERNEL_NONDETERMINISTIC);
}

static void forget_runs(struct seat *seat)
{
    pthread_barrier_wait(seat->barrier);
    if (seat->rank == 0) {
        memset(runs, 0, sizeof(runs));
    }
    pthread_barrier_wait(seat->barrier);
}

static void check_runs(struct seat *seat, int count)
{
    pthread_barrier_wait(seat->barrier);
    for (int i = 0; seat->rank == 0 && i < count; i++) {
        CHECK(seat, runs[i] == 1);
    }
    pthread_barrier_wait(seat->barrier);
}

static moot_array spawn(struct seat *seat, int kernel, uint64_t count, int32_t key,
                        moot_spread spread, const moot_array_input *input)
{
    moot_array array = {0};
    EXPECT(seat,
           moot_array_spawn(seat->m,
                            &(moot_array_spec){.kernel = seat->kernels[kernel],
                                               .count = count,
                                               .inputs = input,
                                               .input_count = input != NULL,
                                               .key = &key,
                                               .key_size = sizeof(key),
                                               .spread = spread,
                                               .label = "deeds"},
                            &array),
           MOOT_OK);
    return array;
}

static void end_well(struct seat *seat, moot_array array)
{
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static int read_one(struct seat *seat, moot_array array, uint64_t index,
                    uint64_t expected)
{
    moot_task task;
    const void *data = NULL;
    EXPECT(seat, moot_array_at(seat->m, array, index, &task), MOOT_OK);
    const int code = moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL);
    CHECK(seat, code != MOOT_OK || *(const uint64_t *)data == expected);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    return code;
}

static const moot_spread block = {MOOT_SPREAD_BLOCK, 0};
static const moot_spread spreads[] = {
    {MOOT_SPREAD_BLOCK, 0}, {MOOT_SPREAD_CYCLIC, 7}, {MOOT_SPREAD_HASHED, 0}};

static void each_element_starts_once(struct seat *seat)
{
    static const int alike[] = {DEED, BOTH, VARYING_ONCE};
    for (int i = 0; i < 3; i++) {
        forget_runs(seat);
        const moot_array array = spawn(seat, alike[i], COUNT, i, spreads[i], NULL);
        end_well(seat, array);
        check_runs(seat, COUNT);
    }
}

static void and_is_read_by_all(struct seat *seat)
{
    for (int i = 0; i < 2; i++) {
        forget_runs(seat);
        const moot_array array =
            spawn(seat, i == 0 ? DEED : LARGE_DEED, 12, 10 + i, block, NULL);
        for (uint64_t at = 0; at < 12; at++) {
            EXPECT(seat, read_one(seat, array, at, at), MOOT_OK);
        }
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
        check_runs(seat, 12);
    }
}

/* One rank runs all of it, and nobody runs an element again to read it. */
static void who_skips_it_leaves_it_to_the_others(struct seat *seat)
{
    for (int i = 0; i < 4; i++) {
        forget_runs(seat);
        if (seat->rank == (i % 2 == 0 ? 0 : seat->size - 1)) {
            const moot_array array =
                spawn(seat, i < 2 ? DEED : LARGE_DEED, 40, 20 + i, block, NULL);
            for (uint64_t at = 0; at < 40; at += 3) {
                EXPECT(seat, read_one(seat, array, at, at), MOOT_OK);
            }
            end_well(seat, array);
        }
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
        check_runs(seat, 40);
    }
}

static void arrays_take_from_it_and_it_takes(struct seat *seat)
{
    for (int i = 0; i < 2; i++) {
        forget_runs(seat);
        const moot_array first = spawn(seat, PURE, 60, 30 + i, block, NULL);
        const moot_array_input of_first = {.array = first};
        const moot_array deed =
            spawn(seat, i == 0 ? DEED : VARYING_ONCE, 60, 30, block, &of_first);
        const moot_array_input of_deed = {.array = deed};
        const moot_array last = spawn(seat, PURE, 60, 40 + i, block, &of_deed);
        EXPECT(seat, read_one(seat, last, 59, 3 * 59), MOOT_OK);
        EXPECT(seat, read_one(seat, last, 0, 0), MOOT_OK);
        end_well(seat, last);
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, deed), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, first), MOOT_OK);
        check_runs(seat, 60);
    }
}

/* A result of the leaver is gone with it, and is not made again to be read. */
static void who_leaves_has_run_its_own(struct seat *seat)
{
    forget_runs(seat);
    const moot_array array = spawn(seat, DEED, 80, 50, block, NULL);
    if (seat->rank == 1) {
        (void)moot_array_wait(seat->m, array, MOOT_MILLISECONDS(2));
        EXPECT(seat, moot_leave(seat->m), MOOT_OK);
    } else {
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    }
    check_runs(seat, 80);
    if (seat->rank != 1) {
        const int code = read_one(seat, array, (uint64_t)(120 / seat->size),
                                  120 / (uint64_t)seat->size);
        CHECK(seat, code == MOOT_ERR_RESULT_LOST || code == MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
    check_runs(seat, 80);
}

static void it_can_be_cancelled(struct seat *seat)
{
    forget_runs(seat);
    const moot_array array = spawn(seat, DEED, 200000, 60, block, NULL);
    if (seat->rank == 0) {
        EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
    }
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    pthread_barrier_wait(seat->barrier);
}

static void refuse(struct seat *seat, int kernel, const void *key, bool some, int code,
                   const char *why)
{
    moot_array array;
    const moot_range range = {0, 1};
    const moot_array_spec spec = {.kernel = seat->kernels[kernel],
                                  .count = 2,
                                  .key = key,
                                  .key_size = key != NULL};
    EXPECT(seat,
           some ? moot_array_spawn_some(seat->m, &spec, &range, 1, &array)
                : moot_array_spawn(seat->m, &spec, &array),
           code);
    CHECK(seat, strstr(moot_last_error(seat->m), why) != NULL);
}

static void what_is_not_built_is_refused(struct seat *seat)
{
    refuse(seat, DEED, NULL, false, MOOT_ERR_NO_KEY, "each of its tasks needs a .key");
    refuse(seat, AGAIN, "k", false, MOOT_ERR_INVALID, "MOOT_KERNEL_IDEMPOTENT");
    refuse(seat, VARYING, "k", false, MOOT_ERR_INVALID, "MOOT_KERNEL_ONCE");
    refuse(seat, DEED, "k", true, MOOT_ERR_INVALID, "spawned as a whole");
}

static const char *const workers[] = {"MOOT_THREADS=3", NULL};
static const char *const checks[] = {"MOOT_VERIFY=1", NULL};

#define ONCE_SCENE(fn, ...)                                                            \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = once_kernels, __VA_ARGS__      \
    }

static const struct scene scenes[] = {
    ONCE_SCENE(each_element_starts_once, .after = closes_well),
    ONCE_SCENE(each_element_starts_once, .after = closes_well, .knobs = workers),
    ONCE_SCENE(and_is_read_by_all, .after = closes_well),
    ONCE_SCENE(and_is_read_by_all, .after = closes_well, .knobs = checks),
    ONCE_SCENE(who_skips_it_leaves_it_to_the_others, .after = closes_well),
    ONCE_SCENE(arrays_take_from_it_and_it_takes, .after = closes_well),
    ONCE_SCENE(who_leaves_has_run_its_own, .after = closes_well, .sizes = {2, 3, 4}),
    ONCE_SCENE(it_can_be_cancelled, .after = closes_well),
    ONCE_SCENE(what_is_not_built_is_refused, .after = closes_well),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
