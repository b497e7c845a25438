/* array_retry_test.c - elements of kernels with retries are tried again, on the rank
 * that ran them; and arrays of portable kernels run as others do.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { AT_ONCE = RELAY + 1, LATER, MUCH_LATER, IN_AN_HOUR, PORTABLE, FAILING };
enum { COUNT = 48, RETRIES = 2 };

static atomic_int runs[COUNT], ranks[COUNT];

static void note_run(const struct seat *seat, uint64_t index)
{
    runs[index]++;
    ranks[index] |= 1 << seat->rank;
}

/* Every third fails as often as it can be tried again; args: or more often, so it
 * ends. */
static int flaky(moot_call *call, void *user)
{
    const uint64_t index = moot_call_index(call);
    const int *more = moot_call_args(call, NULL);
    note_run(user, index);
    if (index % 3 == 0 && runs[index] <= RETRIES + *more) {
        (void)moot_call_output(call, 8); /* which does not count */
        return moot_call_fail(call, 7, "the pump is dry");
    }
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int steady(moot_call *call, void *user)
{
    note_run(user, moot_call_index(call));
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void add(struct seat *seat, int at, const char *name, moot_kernel_fn fn,
                uint32_t flags, moot_duration backoff)
{
    const moot_kernel kernel = {.name = name,
                                .fn = fn,
                                .user = seat,
                                .flags = flags,
                                .retries = backoff >= 0 ? RETRIES : 0,
                                .retry_backoff = backoff >= 0 ? backoff : 0};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void retry_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, AT_ONCE, "at.once", flaky, 0, 0);
    add(seat, LATER, "later", flaky, 0, MOOT_MILLISECONDS(1));
    add(seat, MUCH_LATER, "much.later", flaky, 0, MOOT_MILLISECONDS(60));
    add(seat, IN_AN_HOUR, "in.an.hour", flaky, 0, MOOT_SECONDS(3600));
    add(seat, PORTABLE, "portable", steady, MOOT_KERNEL_PORTABLE, -1);
    add(seat, FAILING, "failing", fail, 0, -1);
}

static moot_array spawn(struct seat *seat, int kernel, int more, const moot_array *from)
{
    moot_array array = {0};
    const moot_array_input input = {.array = from != NULL ? *from : array};
    const moot_array_spec spec = {.kernel = seat->kernels[kernel],
                                  .count = COUNT,
                                  .args = &more,
                                  .args_size = sizeof(more),
                                  .inputs = &input,
                                  .input_count = from != NULL,
                                  .spread = {MOOT_SPREAD_CYCLIC, 5}};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    return array;
}

static void forget_runs(struct seat *seat)
{
    pthread_barrier_wait(seat->barrier);
    if (seat->rank == 0) {
        memset(runs, 0, sizeof(runs));
        memset(ranks, 0, sizeof(ranks));
    }
    pthread_barrier_wait(seat->barrier);
}

/* Each ran on one rank, and every third so often. */
static void check_runs(struct seat *seat, int third, int others)
{
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    for (int i = 0; seat->rank == 0 && i < COUNT; i++) {
        CHECK(seat, runs[i] == (i % 3 == 0 ? third : others));
        CHECK(seat, (ranks[i] & (ranks[i] - 1)) == 0);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

static void run_again(struct seat *seat, int kernel, const moot_array *from)
{
    forget_runs(seat);
    moot_array array = spawn(seat, kernel, 0, from);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    check_runs(seat, RETRIES + 1, 1);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void elements_are_tried_again(struct seat *seat)
{
    run_again(seat, AT_ONCE, NULL);
    run_again(seat, LATER, NULL);
}

static void also_those_that_take_others(struct seat *seat)
{
    moot_array from = spawn(seat, PORTABLE, 0, NULL);
    EXPECT(seat, moot_array_wait(seat->m, from, MOOT_FOREVER), MOOT_OK);
    run_again(seat, AT_ONCE, &from);
    run_again(seat, LATER, &from);
    EXPECT(seat, moot_array_release(seat->m, from), MOOT_OK);
}

static void not_more_often_than_is_said(struct seat *seat)
{
    forget_runs(seat);
    moot_array array = spawn(seat, LATER, 1, NULL);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    check_runs(seat, RETRIES + 1, 1);
    if (seat->size == 1) {
        CHECK(seat, strstr(moot_last_error(seat->m), "failed 3 times") != NULL);
        CHECK(seat, strstr(moot_last_error(seat->m), "element 0") != NULL);
    }
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void what_rests_is_cancelled(struct seat *seat)
{
    forget_runs(seat);
    moot_array array = spawn(seat, IN_AN_HOUR, 0, NULL);
    moot_array other = spawn(seat, IN_AN_HOUR, 9, NULL);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_MILLISECONDS(30)),
           MOOT_ERR_TIMEOUT);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_array_cancel(seat->m, other), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, other, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, other), MOOT_OK);
}

/* Nor does it begin when it would have been due. */
static void what_was_cancelled_is_not_due(struct seat *seat)
{
    forget_runs(seat);
    moot_array array = spawn(seat, MUCH_LATER, 9, NULL);
    (void)moot_array_wait(seat->m, array, MOOT_MILLISECONDS(5));
    EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
    const int code = moot_array_wait(seat->m, array, MOOT_FOREVER);
    CHECK(seat, code == MOOT_ERR_CANCELLED || code == MOOT_ERR_TASK_FAILED);
    nap_ms(70);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    moot_array more = spawn(seat, PORTABLE, 2, NULL);
    EXPECT(seat, moot_array_wait(seat->m, more, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, more), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void what_lacks_an_input_is_not_tried(struct seat *seat)
{
    forget_runs(seat);
    moot_array from = spawn(seat, FAILING, 0, NULL);
    moot_array array = spawn(seat, IN_AN_HOUR, 0, &from);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    check_runs(seat, 0, 0);
    EXPECT(seat, moot_array_release(seat->m, from), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void an_array_may_be_of_a_portable_kernel(struct seat *seat)
{
    moot_task task;
    forget_runs(seat);
    moot_array array = spawn(seat, PORTABLE, 0, NULL);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    check_runs(seat, 1, 1);
    EXPECT(seat, moot_array_at(seat->m, array, COUNT - 1, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    forget_runs(seat);
    if (seat->rank == seat->size - 1) {
        array = spawn(seat, PORTABLE, 1, NULL);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
    check_runs(seat, 1, 1);
}

#define RETRY_SCENE(fn, ...)                                                           \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = retry_kernels,                 \
        .after = closes_well, __VA_ARGS__                                              \
    }

static const char *const workers[] = {"MOOT_THREADS=3", NULL};

static const struct scene scenes[] = {
    RETRY_SCENE(elements_are_tried_again, .knobs = NULL),
    RETRY_SCENE(elements_are_tried_again, .knobs = workers),
    RETRY_SCENE(also_those_that_take_others, .knobs = NULL),
    RETRY_SCENE(also_those_that_take_others, .knobs = workers),
    RETRY_SCENE(not_more_often_than_is_said, .knobs = NULL),
    RETRY_SCENE(what_rests_is_cancelled, .knobs = NULL),
    RETRY_SCENE(what_rests_is_cancelled, .knobs = workers),
    RETRY_SCENE(what_was_cancelled_is_not_due, .knobs = NULL),
    RETRY_SCENE(what_lacks_an_input_is_not_tried, .knobs = NULL),
    RETRY_SCENE(an_array_may_be_of_a_portable_kernel, .knobs = NULL),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
