/* array_short_test.c - elements of a kernel that is known to be short are run one
 * behind the other: each once, whatever one of them does, and none of them once its
 * array is cancelled.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { SHORT = RELAY + 1, NEAR };
enum { COUNT = 640, WARM = 64 };

/* An element that does something else than others, at places apart. */
enum way { LIKE_OTHERS, FAILS, NAPS, IS_LARGE, WRITES_TWICE, ASKS, WAITS_FOR_CANCEL };

static atomic_int runs[COUNT], waiting;

static bool is_other(uint64_t index) { return index % 16 == 9; }

static int do_other(moot_call *call, enum way way)
{
    switch (way) {
    case FAILS:
        return moot_call_fail(call, 7, "dry");
    case NAPS:
        nap_ms(1);
        break;
    case IS_LARGE:
        return moot_call_output(call, 4096) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
    case WRITES_TWICE:
        (void)moot_call_output(call, 4096);
        break;
    case ASKS:
        return moot_call_hash(call) != NULL ? MOOT_OK : MOOT_ERR_STATE;
    case WAITS_FOR_CANCEL:
        waiting++;
        while (!moot_call_cancelled(call)) {
            nap_ms(1);
        }
        return MOOT_ERR_CANCELLED;
    case LIKE_OTHERS:
        break;
    }
    return MOOT_OK;
}

/* args: the way. */
static int run_short(moot_call *call, void *user)
{
    const uint64_t index = moot_call_index(call);
    const enum way *way = moot_call_args(call, NULL);
    int code = MOOT_OK;
    (void)user;
    runs[index]++;
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (is_other(index)) {
        code = do_other(call, *way);
        out = *way == IS_LARGE ? moot_call_output(call, 4096)
                               : moot_call_output(call, sizeof(*out));
    }
    if (code == MOOT_OK && out != NULL) {
        *out = index * index + 3;
    }
    return out == NULL ? MOOT_ERR_NO_MEMORY : code;
}

/* Takes the element of its index, and those beside it. */
static int add_near(moot_call *call, void *user)
{
    uint64_t *out = moot_call_output(call, sizeof(*out));
    (void)user;
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = 0;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        *out += *(const uint64_t *)moot_call_input(call, i, NULL);
    }
    return MOOT_OK;
}

static void short_kernels(struct seat *seat)
{
    const moot_kernel one = {.name = "short", .fn = run_short};
    const moot_kernel other = {.name = "near", .fn = add_near};
    kernels(seat);
    EXPECT(seat, moot_kernel_register(seat->m, &one, &seat->kernels[SHORT]), MOOT_OK);
    EXPECT(seat, moot_kernel_register(seat->m, &other, &seat->kernels[NEAR]), MOOT_OK);
}

static moot_array spawn(struct seat *seat, enum way way, uint64_t count, int32_t key)
{
    moot_array array = {0};
    EXPECT(seat,
           moot_array_spawn(seat->m,
                            &(moot_array_spec){.kernel = seat->kernels[SHORT],
                                               .count = count,
                                               .args = &way,
                                               .args_size = sizeof(way),
                                               .key = &key,
                                               .key_size = sizeof(key)},
                            &array),
           MOOT_OK);
    return array;
}

static void end_array(struct seat *seat, moot_array array, int code)
{
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), code);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* The kernel is known to be short; and no element has run. */
static void begin_warm(struct seat *seat, int32_t key)
{
    for (int i = 0; i < 4; i++) {
        end_array(seat, spawn(seat, LIKE_OTHERS, WARM, key + i), MOOT_OK);
    }
    pthread_barrier_wait(seat->barrier);
    for (int i = 0; i < COUNT && seat->rank == 0; i++) {
        runs[i] = 0;
    }
    waiting = 0;
    pthread_barrier_wait(seat->barrier);
}

static void expect_sums(struct seat *seat, moot_array sums)
{
    for (uint64_t i = 0; i < COUNT; i += 7) {
        uint64_t expected = 0;
        const void *data = NULL;
        moot_task task;
        for (uint64_t at = i > 0 ? i - 1 : 0; at <= i + 1 && at < COUNT; at++) {
            expected += at * at + 3;
        }
        EXPECT(seat, moot_array_at(seat->m, sums, i, &task), MOOT_OK);
        EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL),
               MOOT_OK);
        CHECK(seat, data != NULL && *(const uint64_t *)data == expected);
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    }
}

static void each_runs_once_whatever_others_do(struct seat *seat)
{
    static const moot_map_window near = {-1, 1, MOOT_EDGE_CUT};
    static const enum way ways[] = {LIKE_OTHERS, NAPS, IS_LARGE, WRITES_TWICE, ASKS};
    for (int i = 0; i < (int)(sizeof(ways) / sizeof(*ways)); i++) {
        moot_array sums;
        begin_warm(seat, 100 * i);
        moot_array array = spawn(seat, ways[i], COUNT, 100 * i + 50);
        const moot_array_input input = {.array = array,
                                        .map = MOOT_MAP_WINDOW,
                                        .map_args = &near,
                                        .map_args_size = sizeof(near)};
        EXPECT(seat,
               moot_array_spawn(seat->m,
                                &(moot_array_spec){.kernel = seat->kernels[NEAR],
                                                   .count = COUNT,
                                                   .inputs = &input,
                                                   .input_count = 1},
                                &sums),
               MOOT_OK);
        expect_sums(seat, sums);
        end_array(seat, sums, MOOT_OK);
        end_array(seat, array, MOOT_OK);
        pthread_barrier_wait(seat->barrier);
        for (int at = 0; at < COUNT; at++) {
            CHECK(seat, runs[at] == 1);
        }
        pthread_barrier_wait(seat->barrier);
    }
}

static void one_that_fails_fails_alone(struct seat *seat)
{
    begin_warm(seat, 1000);
    moot_array array = spawn(seat, FAILS, COUNT, 1050);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, strstr(moot_last_error(seat->m), "dry") != NULL);
    pthread_barrier_wait(seat->barrier);
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK(seat, runs[i] == 1);
    }
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void none_begins_behind_one_that_is_cancelled(struct seat *seat)
{
    begin_warm(seat, 1100);
    moot_array array = spawn(seat, WAITS_FOR_CANCEL, COUNT, 1150);
    if (seat->rank == 0) {
        while (waiting == 0) {
            nap_ms(1);
        }
        EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
    }
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    pthread_barrier_wait(seat->barrier);
    int ran = 0, twice = 0;
    for (int i = 0; i < COUNT; i++) {
        ran += runs[i];
        twice += runs[i] > 1;
    }
    CHECK(seat, ran < COUNT && twice == 0);
    pthread_barrier_wait(seat->barrier);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    end_array(seat, spawn(seat, LIKE_OTHERS, COUNT, 1160), MOOT_OK);
}

static const char *const workers[] = {"MOOT_THREADS=3", NULL};

#define SHORT_SCENE(fn, ...)                                                           \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = short_kernels, __VA_ARGS__     \
    }

static const struct scene scenes[] = {
    SHORT_SCENE(each_runs_once_whatever_others_do, .after = closes_well),
    SHORT_SCENE(each_runs_once_whatever_others_do, .after = closes_well,
                .knobs = workers),
    SHORT_SCENE(one_that_fails_fails_alone, .after = closes_well),
    SHORT_SCENE(none_begins_behind_one_that_is_cancelled, .after = closes_well,
                .knobs = workers),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
