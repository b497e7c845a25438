/* array_cancel_inputs_test.c - an array that is cancelled while others take its
 * elements: those that had ended are had, whoever made them and however large they are;
 * what takes another one fails, and nobody makes it after all.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { MAKE = RELAY + 1, TAKE };
enum { MS = 1000000, SHARE = 6, RANKS = 4, LARGE_BYTES = 20000, ROUNDS = 6 };

typedef bool (*is_one_fn)(uint64_t index);

/* Set by rank 0 before all go on. */
static struct {
    is_one_fn waits;   /* these elements run until they are told */
    is_one_fn cancels; /* and these cancel the array, when `waiting` is so many */
    int when;
    size_t bytes; /* of each result */
} plan;
static atomic_int began, waiting, took;
static atomic_ullong
    made_by[RANKS]; /* each rank's handle, for its kernel; 0: none yet */

static bool is_none(uint64_t index)
{
    (void)index;
    return false;
}

static bool is_last_of_share(uint64_t index) { return index % SHARE == SHARE - 1; }
static bool is_last_of_first(uint64_t index) { return index == SHARE - 1; }
static bool is_of_first(uint64_t index) { return index < SHARE; }

static void set_plan(struct seat *seat, is_one_fn waits, is_one_fn cancels, int when,
                     size_t bytes)
{
    pthread_barrier_wait(seat->barrier);
    made_by[seat->rank] = 0;
    if (seat->rank == 0) {
        plan.waits = waits;
        plan.cancels = cancels;
        plan.when = when;
        plan.bytes = bytes;
        began = waiting = took = 0;
    }
    pthread_barrier_wait(seat->barrier);
}

/* --- Kernels ---------------------------------------------------------------------- */

static int wait_for_cancel(moot_call *call, struct seat *seat)
{
    bool cancels = plan.cancels(moot_call_index(call));
    waiting++;
    while (!moot_call_cancelled(call)) {
        const moot_array array = {made_by[seat->rank]};
        if (cancels && waiting >= plan.when && array.id != 0) {
            EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
            cancels = false;
        }
        nap_ms(1);
    }
    return MOOT_ERR_CANCELLED;
}

static int make(moot_call *call, void *user)
{
    const uint64_t index = moot_call_index(call);
    began++;
    if (plan.waits(index)) {
        return wait_for_cancel(call, user);
    }
    uint64_t *out = moot_call_output(call, plan.bytes);
    if (out != NULL) {
        memset(out, 0, plan.bytes);
        *out = index;
    }
    return out != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* That of a share further on, whole. */
static int take(moot_call *call, void *user)
{
    struct seat *seat = user;
    const uint64_t from = (moot_call_index(call) + SHARE) % moot_call_count(call);
    size_t size = 0;
    const uint64_t *input = moot_call_input(call, 0, &size);
    took++;
    CHECK(seat, input != NULL && size == plan.bytes && *input == from);
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void add(struct seat *seat, int at, const char *name, moot_kernel_fn fn)
{
    const moot_kernel kernel = {.name = name, .fn = fn, .user = seat};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void taking_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, MAKE, "make", make);
    add(seat, TAKE, "take", take);
}

/* --- Arrays ----------------------------------------------------------------------- */

static uint64_t count_of(const struct seat *seat)
{
    return (uint64_t)SHARE * (uint64_t)seat->size;
}

static moot_array spawn(struct seat *seat, int kernel, const moot_array_input *input,
                        int key)
{
    moot_array array = {0};
    EXPECT(seat,
           moot_array_spawn(seat->m,
                            &(moot_array_spec){.kernel = seat->kernels[kernel],
                                               .count = count_of(seat),
                                               .key = &key,
                                               .key_size = sizeof(key),
                                               .inputs = input,
                                               .input_count = input != NULL},
                            &array),
           MOOT_OK);
    return array;
}

static moot_array spawn_maker(struct seat *seat, int key)
{
    const moot_array array = spawn(seat, MAKE, NULL, key);
    made_by[seat->rank] = array.id;
    return array;
}

static moot_array spawn_taker(struct seat *seat, moot_array from, int key)
{
    const moot_map_shift shift = {.by = SHARE, .edges = MOOT_EDGE_WRAP};
    const moot_array_input input = {.array = from,
                                    .map = MOOT_MAP_SHIFT,
                                    .map_args = &shift,
                                    .map_args_size = sizeof(shift)};
    return spawn(seat, TAKE, &input, key);
}

/* The story of who was told, or of another rank's. */
static void check_story(struct seat *seat)
{
    const char *story = moot_last_error(seat->m);
    CHECK(seat, strstr(story, "cancelled by rank") != NULL ||
                    strstr(story, "failed on another rank") != NULL);
}

static void expect_end(struct seat *seat, moot_array array, int code)
{
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), code);
    check_story(seat);
}

static void release(struct seat *seat, moot_array array)
{
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* --- Alike ------------------------------------------------------------------------ */

/* The last element of each rank waits; when all do, the first rank's cancels. */
static void take_all_that_ended(struct seat *seat, size_t bytes)
{
    set_plan(seat, is_last_of_share, is_last_of_first, seat->size, bytes);
    const moot_array array = spawn_maker(seat, 1);
    const moot_array next = spawn_taker(seat, array, 2);
    expect_end(seat, array, MOOT_ERR_CANCELLED);
    expect_end(seat, next, MOOT_ERR_TASK_FAILED);
    pthread_barrier_wait(seat->barrier);
    CHECK(seat, took == (SHARE - 1) * seat->size);
    release(seat, array);
    release(seat, next);
}

static void what_had_ended_is_taken(struct seat *seat)
{
    take_all_that_ended(seat, sizeof(uint64_t));
}

static void what_had_ended_is_taken_large(struct seat *seat)
{
    take_all_that_ended(seat, LARGE_BYTES);
}

/* By an array of each element of another one, and a single task of that. */
static void who_takes_from_afar_fails(struct seat *seat)
{
    moot_task task;
    set_plan(seat, is_last_of_share, is_last_of_first, seat->size, sizeof(uint64_t));
    const moot_array array = spawn_maker(seat, 1);
    const moot_array next = spawn_taker(seat, array, 2);
    const moot_array_input all = {.array = next, .map = MOOT_MAP_ALL};
    const moot_array last = spawn(seat, TAKE, &all, 3);
    EXPECT(seat, moot_array_at(seat->m, last, 0, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    check_story(seat);
    expect_end(seat, last, MOOT_ERR_TASK_FAILED);
    expect_end(seat, next, MOOT_ERR_TASK_FAILED);
    expect_end(seat, array, MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    release(seat, array);
    release(seat, next);
    release(seat, last);
}

/* Results are under way, or asked for, when nobody takes them any more. */
static void what_asks_is_cancelled(struct seat *seat)
{
    for (int round = 0; round < ROUNDS; round++) {
        set_plan(seat, is_none, is_none, 0, LARGE_BYTES);
        const moot_array array = spawn_maker(seat, 2 * round);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
        const moot_array next = spawn_taker(seat, array, 2 * round + 1);
        if (round % 2 == 0) {
            release(seat, array);
        }
        (void)moot_array_wait(seat->m, next, MS / 4 * round);
        EXPECT(seat, moot_array_cancel(seat->m, next), MOOT_OK);
        const int code = moot_array_wait(seat->m, next, MOOT_FOREVER);
        CHECK(seat, code == MOOT_ERR_CANCELLED || code == MOOT_OK);
        if (round % 2 == 1) {
            release(seat, array);
        }
        release(seat, next);
    }
}

/* --- Unlike ----------------------------------------------------------------------- */

/* The first rank takes nothing, so the last asks it for elements, which have not begun
 * when they are cancelled. */
static void who_asks_for_an_element_has_nothing_begun(struct seat *seat)
{
    set_plan(seat, is_of_first, is_none, 0, sizeof(uint64_t));
    moot_array next = {0};
    const moot_array array = spawn_maker(seat, 1);
    if (seat->rank != 0) {
        next = spawn_taker(seat, array, 2);
    }
    if (seat->rank == seat->size - 1) {
        EXPECT(seat, moot_array_wait(seat->m, next, 100 * MS), MOOT_ERR_TIMEOUT);
        EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
    }
    expect_end(seat, array, MOOT_ERR_CANCELLED);
    if (seat->rank != 0) {
        expect_end(seat, next, MOOT_ERR_TASK_FAILED);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    CHECK(seat, waiting == 1 && took <= SHARE * (seat->size - 1));
    if (seat->rank == 0) {
        next = spawn_taker(seat, array, 2);
        expect_end(seat, next, MOOT_ERR_TASK_FAILED);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    CHECK(seat, waiting == 1);
    release(seat, array);
    release(seat, next);
}

/* The first rank comes when all is over; its elements were others', and one of them has
 * cancelled the array. */
static void what_was_dealt_elsewhere_is_cancelled(struct seat *seat)
{
    set_plan(seat, is_of_first, is_of_first, 1, sizeof(uint64_t));
    if (seat->rank == 0) {
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    }
    const int before = began;
    const moot_array array = spawn_maker(seat, 1);
    const moot_array next = spawn_taker(seat, array, 2);
    expect_end(seat, array, MOOT_ERR_CANCELLED);
    expect_end(seat, next, MOOT_ERR_TASK_FAILED);
    CHECK(seat, took <= SHARE * (seat->size - 1) && waiting <= seat->size - 1);
    if (seat->rank == 0) {
        CHECK(seat, began == before);
    } else {
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    }
    pthread_barrier_wait(seat->barrier);
    release(seat, array);
    release(seat, next);
}

static const char *const workers[] = {"MOOT_THREADS=3", NULL};

#define TAKING_SCENE(fn, ...)                                                          \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = taking_kernels, __VA_ARGS__    \
    }

static const struct scene scenes[] = {
    TAKING_SCENE(what_had_ended_is_taken, .after = closes_well),
    TAKING_SCENE(what_had_ended_is_taken, .after = closes_well, .knobs = workers),
    TAKING_SCENE(what_had_ended_is_taken_large, .after = closes_well),
    TAKING_SCENE(what_had_ended_is_taken_large, .after = closes_well, .knobs = workers),
    TAKING_SCENE(who_takes_from_afar_fails, .after = closes_well),
    TAKING_SCENE(what_asks_is_cancelled, .after = closes_well),
    TAKING_SCENE(what_asks_is_cancelled, .after = closes_well, .knobs = workers),
    TAKING_SCENE(who_asks_for_an_element_has_nothing_begun, .after = closes_well,
                 .sizes = {2, 3, 4}),
    TAKING_SCENE(what_was_dealt_elsewhere_is_cancelled, .after = closes_well,
                 .sizes = {2, 3, 4}),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
