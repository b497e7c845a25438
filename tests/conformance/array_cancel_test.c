/* array_cancel_test.c - an array that is cancelled: whoever does it, and whoever has
 * spawned it, all ranks are told the same, and nothing of it begins any more.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { SLOWLY = RELAY + 1, TAKER, PATIENT };
enum { MANY = 1000000, SOME = 60 };

static atomic_int begun, running, took;

static int run_slowly(moot_call *call, void *user)
{
    (void)user;
    begun++;
    running++;
    nap_ms(1);
    running--;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int take(moot_call *call, void *user)
{
    (void)user;
    took++;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* Until it is told. */
static int wait_for_cancel(moot_call *call, void *user)
{
    (void)user;
    begun++;
    running++;
    while (!moot_call_cancelled(call)) {
        nap_ms(1);
    }
    nap_ms(2);
    running--;
    return MOOT_ERR_CANCELLED;
}

static void add(struct seat *seat, int at, const char *name, moot_kernel_fn fn)
{
    const moot_kernel kernel = {.name = name, .fn = fn};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void cancel_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, SLOWLY, "slowly", run_slowly);
    add(seat, TAKER, "taker", take);
    add(seat, PATIENT, "patient", wait_for_cancel);
}

static void forget_begun(struct seat *seat)
{
    pthread_barrier_wait(seat->barrier);
    if (seat->rank == 0) {
        begun = took = 0;
    }
    pthread_barrier_wait(seat->barrier);
}

/* All have seen its end: none of it runs, or will. */
static void check_rest(struct seat *seat)
{
    pthread_barrier_wait(seat->barrier);
    const int before = begun;
    nap_ms(5);
    CHECK(seat, begun == before && before < MANY);
    pthread_barrier_wait(seat->barrier);
}

static moot_array spawn(struct seat *seat, int kernel, uint64_t count, int32_t key)
{
    moot_array array = {0};
    EXPECT(seat,
           moot_array_spawn(seat->m,
                            &(moot_array_spec){.kernel = seat->kernels[kernel],
                                               .count = count,
                                               .key = &key,
                                               .key_size = sizeof(key),
                                               .label = "cells"},
                            &array),
           MOOT_OK);
    return array;
}

static void expect_cancelled(struct seat *seat, moot_array array, int by)
{
    char words[64];
    (void)snprintf(words, sizeof(words), "cancelled by rank %d ", by);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    CHECK(seat, strstr(moot_last_error(seat->m), words) != NULL);
}

/* Likewise, and none of its elements runs any more, wherever. */
static void expect_at_rest(struct seat *seat, moot_array array, int by)
{
    expect_cancelled(seat, array, by);
    CHECK(seat, running == 0);
}

/* --- Alike ------------------------------------------------------------------------ */

/* Each in turn, and so its chair, too. */
static void any_rank_cancels_a_million(struct seat *seat)
{
    for (int by = 0; by < seat->size; by++) {
        forget_begun(seat);
        moot_array array = spawn(seat, SLOWLY, MANY, by);
        if (seat->rank == by) {
            nap_ms(3);
            EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
            EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
        }
        expect_at_rest(seat, array, by);
        check_rest(seat);
        EXPECT(seat, moot_array_wait(seat->m, array, 0), MOOT_ERR_CANCELLED);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

static void all_may_cancel_at_once(struct seat *seat)
{
    forget_begun(seat);
    moot_array array = spawn(seat, SLOWLY, MANY, 40);
    EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    check_rest(seat);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void so_does_who_cancels_its_label(struct seat *seat)
{
    forget_begun(seat);
    moot_array array = spawn(seat, SLOWLY, MANY, 45);
    if (seat->rank == 0) {
        EXPECT(seat, moot_task_cancel_label(seat->m, "cel"), MOOT_OK);
    }
    expect_at_rest(seat, array, 0);
    check_rest(seat);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void what_runs_is_told(struct seat *seat)
{
    forget_begun(seat);
    moot_array array = spawn(seat, PATIENT, SOME, 50);
    if (seat->rank == 0) {
        while (begun == 0) {
            nap_ms(1);
        }
        EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
    }
    expect_at_rest(seat, array, 0);
    check_rest(seat);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* An element that takes one that never ran fails; one that takes one that did may
 * run. */
static void who_takes_a_cancelled_element_fails(struct seat *seat)
{
    moot_array next;
    moot_task task;
    forget_begun(seat);
    moot_array array = spawn(seat, SLOWLY, MANY, 60);
    const moot_array_input input = {.array = array};
    EXPECT(seat,
           moot_array_spawn(seat->m,
                            &(moot_array_spec){.kernel = seat->kernels[TAKER],
                                               .count = MANY / 1000,
                                               .inputs = &input,
                                               .input_count = 1},
                            &next),
           MOOT_OK);
    EXPECT(seat, moot_array_at(seat->m, array, MANY - 1, &task), MOOT_OK);
    if (seat->rank == seat->size - 1) {
        EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
    }
    expect_at_rest(seat, array, seat->size - 1);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, strstr(moot_last_error(seat->m), "cancelled by rank") != NULL);
    EXPECT(seat, moot_array_wait(seat->m, next, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, took < MANY / 1000);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, next), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* Its elements wait for what nobody has made, and end all the same. */
static void what_waits_for_others_is_cancelled(struct seat *seat)
{
    moot_array next;
    forget_begun(seat);
    moot_array array = spawn(seat, SLOWLY, MANY, 70);
    const moot_array_input input = {.array = array};
    EXPECT(seat,
           moot_array_spawn(seat->m,
                            &(moot_array_spec){.kernel = seat->kernels[TAKER],
                                               .count = MANY,
                                               .inputs = &input,
                                               .input_count = 1},
                            &next),
           MOOT_OK);
    if (seat->rank == 0) {
        EXPECT(seat, moot_array_cancel(seat->m, next), MOOT_OK);
    }
    expect_cancelled(seat, next, 0);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    CHECK(seat, took < MANY);
    EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_array_release(seat->m, next), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* --- Unlike ----------------------------------------------------------------------- */

static void who_spawns_it_alone_cancels_it(struct seat *seat)
{
    forget_begun(seat);
    if (seat->rank == seat->size - 1) {
        moot_array array = spawn(seat, SLOWLY, MANY, 80);
        EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
        expect_cancelled(seat, array, seat->rank);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    check_rest(seat);
}

static void who_spawns_it_later_runs_nothing(struct seat *seat)
{
    forget_begun(seat);
    moot_array array = {0};
    if (seat->rank != 0) {
        array = spawn(seat, SLOWLY, MANY, 90);
    }
    if (seat->rank == seat->size - 1 && seat->rank != 0) {
        EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
        expect_cancelled(seat, array, seat->rank);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    if (seat->rank == 0 && seat->size > 1) {
        const int before = begun;
        array = spawn(seat, SLOWLY, MANY, 90);
        expect_cancelled(seat, array, seat->size - 1);
        CHECK(seat, begun == before);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    if (seat->size > 1) {
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

static void who_leaves_leaves_nothing_of_it(struct seat *seat)
{
    forget_begun(seat);
    moot_array array = spawn(seat, SLOWLY, MANY, 100);
    if (seat->rank == 1) {
        EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
        EXPECT(seat, moot_leave(seat->m), MOOT_OK);
    } else {
        expect_cancelled(seat, array, 1);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

/* --- Too late, and not at all ----------------------------------------------------- */

static void what_has_ended_stays(struct seat *seat)
{
    forget_begun(seat);
    moot_array array = spawn(seat, SLOWLY, SOME, 110);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    CHECK(seat, begun == SOME);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void what_is_no_array_is_refused(struct seat *seat)
{
    moot_task task;
    moot_array array = spawn(seat, TAKER, 3, 120);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_ERR_STALE);
    CHECK(seat, strstr(moot_last_error(seat->m), "moot_array_cancel") != NULL);
    EXPECT(seat, moot_array_cancel(NULL, array), MOOT_ERR_INVALID);
    EXPECT(seat,
           moot_task_spawn(seat->m, &(moot_task_spec){.kernel = seat->kernels[RELAY]},
                           &task),
           MOOT_OK);
    EXPECT(seat, moot_array_cancel(seat->m, (moot_array){task.id}), MOOT_ERR_INVALID);
    CHECK(seat, strstr(moot_last_error(seat->m), "moot_task_cancel") != NULL);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

static const char *const workers[] = {"MOOT_THREADS=3", NULL};

#define CANCEL_SCENE(fn, ...)                                                          \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = cancel_kernels, __VA_ARGS__    \
    }

static const struct scene scenes[] = {
    CANCEL_SCENE(any_rank_cancels_a_million, .after = closes_well),
    CANCEL_SCENE(any_rank_cancels_a_million, .after = closes_well, .knobs = workers),
    CANCEL_SCENE(all_may_cancel_at_once, .after = closes_well),
    CANCEL_SCENE(so_does_who_cancels_its_label, .after = closes_well),
    CANCEL_SCENE(what_runs_is_told, .after = closes_well, .knobs = workers),
    CANCEL_SCENE(who_takes_a_cancelled_element_fails, .after = closes_well),
    CANCEL_SCENE(what_waits_for_others_is_cancelled, .after = closes_well),
    CANCEL_SCENE(who_spawns_it_alone_cancels_it, .after = closes_well),
    CANCEL_SCENE(who_spawns_it_later_runs_nothing, .after = closes_well),
    CANCEL_SCENE(who_leaves_leaves_nothing_of_it, .after = closes_well,
                 .sizes = {2, 3, 4}),
    CANCEL_SCENE(what_has_ended_stays, .after = closes_well),
    CANCEL_SCENE(what_is_no_array_is_refused, .after = closes_well),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
