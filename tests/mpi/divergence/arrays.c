/* arrays.c - rows of the matrix: ranks that differ in the task arrays that they spawn,
 * or in the elements of them.
 *
 * An element's result is its index and the array's number.  Of every array each element
 * that somebody has spawned runs once in the job, and who has spawned some of the array
 * reads the same bytes: finish() claims that of each row.
 */
#include "tests/mpi/divergence/rows.h"

#include "node/api/moot_array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 96, ARRAYS_MAX = 20, RANGES_MAX = 4 };

/* An array of the job, and what this rank has to do with it. */
struct array {
    uint64_t count; /* of its elements: its number is part of its hash, so is this */
    moot_array handle;
    bool mine;     /* spawned here */
    bool unheld;   /* some of its elements nobody has spawned */
    uint64_t from; /* they are these, */
    uint64_t to;   /* up to here */
};

struct arrays {
    moot *m;
    moot_kernel_id kernel;
    int rank, size;
    uint32_t count;
    struct array all[ARRAYS_MAX];
    uint64_t ran[ARRAYS_MAX * COUNT]; /* here, by array and index */
};

struct value {
    uint64_t array, index;
};

static int do_element(moot_call *call, void *user)
{
    struct arrays *arrays = user;
    struct value value = {.index = moot_call_index(call)};
    memcpy(&value.array, moot_call_args(call, NULL), sizeof(value.array));
    void *output = moot_call_output(call, sizeof(value));
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, &value, sizeof(value));
    (void)__atomic_add_fetch(&arrays->ran[value.array * COUNT + value.index], 1,
                             __ATOMIC_RELAXED);
    return MOOT_OK;
}

static struct arrays *arrays_open(const char *const *knobs)
{
    struct arrays *arrays = harness_alloc(1, sizeof(*arrays));
    const moot_options options = {.knobs = knobs};
    CHECK_OK(harness_moot_open(&options, &arrays->m));
    harness_explain_with(arrays->m);
    arrays->rank = moot_rank(arrays->m);
    arrays->size = moot_size(arrays->m);
    const moot_kernel kernel = {.name = "element", .fn = do_element, .user = arrays};
    CHECK_OK(moot_kernel_register(arrays->m, &kernel, &arrays->kernel));
    return arrays;
}

/* One more, which this rank has yet to spawn. */
static struct array *array_add(struct arrays *arrays, uint64_t count)
{
    struct array *array = &arrays->all[arrays->count++];
    array->count = count;
    return array;
}

static moot_array_spec spec_of(const struct arrays *arrays, const struct array *array,
                               const uint64_t *number)
{
    return (moot_array_spec){.kernel = arrays->kernel,
                             .count = array->count,
                             .args = number,
                             .args_size = sizeof(*number)};
}

static void spawn(struct arrays *arrays, struct array *array)
{
    const uint64_t number = (uint64_t)(array - arrays->all);
    const moot_array_spec spec = spec_of(arrays, array, &number);
    CHECK_OK(moot_array_spawn(arrays->m, &spec, &array->handle));
    array->mine = true;
}

static void spawn_some(struct arrays *arrays, struct array *array,
                       const moot_range *ranges, size_t count)
{
    const uint64_t number = (uint64_t)(array - arrays->all);
    const moot_array_spec spec = spec_of(arrays, array, &number);
    CHECK_OK(moot_array_spawn_some(arrays->m, &spec, ranges, count, &array->handle));
    array->mine = true;
}

/* --- What is claimed -------------------------------------------------------------- */

static void expect_value(struct arrays *arrays, const struct array *array,
                         uint64_t index)
{
    const uint64_t number = (uint64_t)(array - arrays->all);
    struct value value = {UINT64_MAX, UINT64_MAX};
    const void *data = NULL;
    size_t size = 0;
    moot_task task;
    CHECK_OK(moot_array_at(arrays->m, array->handle, index, &task));
    if (CHECK_OK(moot_task_fetch(arrays->m, task, MOOT_FOREVER, &data, &size)) &&
        size == sizeof(value)) {
        memcpy(&value, data, size);
    }
    CHECK(value.array == number && value.index == index,
          "element %llu of array %llu is %llu of %llu", (unsigned long long)index,
          (unsigned long long)number, (unsigned long long)value.index,
          (unsigned long long)value.array);
    CHECK_OK(moot_task_release(arrays->m, task));
}

/* The error names the first one, and so does that of who asks for one of them. */
static void expect_unheld(struct arrays *arrays, const struct array *array)
{
    char words[40];
    moot_task task;
    (void)snprintf(words, sizeof(words), "element %llu",
                   (unsigned long long)array->from);
    CHECK_CODE(moot_array_wait(arrays->m, array->handle, MOOT_FOREVER),
               MOOT_ERR_NOT_HELD);
    CHECK(strstr(moot_last_error(arrays->m), words) != NULL, "no '%s' in: %s", words,
          moot_last_error(arrays->m));
    CHECK_OK(moot_array_at(arrays->m, array->handle, array->from, &task));
    CHECK_CODE(moot_task_wait(arrays->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK_OK(moot_task_release(arrays->m, task));
}

static void wait_for_all(struct arrays *arrays)
{
    for (uint32_t i = 0; i < arrays->count; i++) {
        const struct array *array = &arrays->all[i];
        if (array->mine && array->unheld) {
            expect_unheld(arrays, array);
        } else if (array->mine) {
            CHECK_OK(moot_array_wait(arrays->m, array->handle, MOOT_FOREVER));
        }
    }
}

static void read_all(struct arrays *arrays)
{
    for (uint32_t i = 0; i < arrays->count; i++) {
        const struct array *array = &arrays->all[i];
        for (uint64_t at = 0; array->mine && !array->unheld && at < array->count;
             at += 5) {
            expect_value(arrays, array, at);
        }
    }
}

static uint64_t times_wanted(const struct array *array, uint64_t index)
{
    const bool gap = array->unheld && index >= array->from && index < array->to;
    return index < array->count && !gap ? 1 : 0;
}

static void expect_once(struct arrays *arrays)
{
    harness_sum(arrays->ran, ARRAYS_MAX * COUNT);
    for (uint32_t i = 0; i < arrays->count; i++) {
        for (uint64_t at = 0; at < COUNT; at++) {
            const uint64_t wanted = times_wanted(&arrays->all[i], at);
            const uint64_t ran = arrays->ran[i * COUNT + at];
            CHECK(ran == wanted, "element %llu of array %u ran %llu times, not %llu",
                  (unsigned long long)at, i, (unsigned long long)ran,
                  (unsigned long long)wanted);
        }
    }
}

static uint64_t count_own(const struct arrays *arrays)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < ARRAYS_MAX * COUNT; i++) {
        count += arrays->ran[i];
    }
    return count;
}

/* A reader of an element that its home did not run may run it again: so they are
 * counted before that. */
static void finish(struct arrays *arrays)
{
    moot_stats stats;
    wait_for_all(arrays);
    CHECK_OK(moot_barrier(arrays->m));
    CHECK_OK(moot_stats_get(arrays->m, &stats));
    CHECK(stats.elements_run == count_own(arrays), "%llu elements are said to have run",
          (unsigned long long)stats.elements_run);
    expect_once(arrays);
    read_all(arrays);
    CHECK_OK(moot_stats_get(arrays->m, &stats));
    CHECK(stats.stalls == 0, "%llu stalls", (unsigned long long)stats.stalls);
    harness_explain_with(NULL);
    CHECK_OK(moot_close(arrays->m));
    free(arrays);
}

/* --- Who spawns which arrays ------------------------------------------------------ */

/* Each rank in turn alone leaves an array out, its chair among them. */
static void all_but_one(void)
{
    struct arrays *arrays = arrays_open(NULL);
    for (int rank = 0; rank < arrays->size; rank++) {
        struct array *array = array_add(arrays, COUNT);
        if (arrays->rank != rank) {
            spawn(arrays, array);
        }
    }
    finish(arrays);
}

/* Each in turn alone spawns one. */
static void one_spawns(void)
{
    struct arrays *arrays = arrays_open(NULL);
    for (int rank = 0; rank < arrays->size; rank++) {
        struct array *array = array_add(arrays, COUNT);
        if (arrays->rank == rank) {
            spawn(arrays, array);
        }
    }
    finish(arrays);
}

static void half(void)
{
    struct arrays *arrays = arrays_open(NULL);
    for (int i = 0; i < 8; i++) {
        struct array *array = array_add(arrays, COUNT);
        if (arrays->rank % 2 == i % 2) {
            spawn(arrays, array);
        }
    }
    finish(arrays);
}

/* Odd ranks spawn them in the other order, and wait in the same one. */
static void other_order(void)
{
    enum { ARRAYS = 10 };
    struct arrays *arrays = arrays_open(NULL);
    for (int i = 0; i < ARRAYS; i++) {
        (void)array_add(arrays, COUNT);
    }
    for (int i = 0; i < ARRAYS; i++) {
        spawn(arrays, &arrays->all[arrays->rank % 2 == 0 ? i : ARRAYS - 1 - i]);
    }
    finish(arrays);
}

/* An array that some take for one of 95 is one of 96 to the others: two arrays. */
static void contrary_counts(void)
{
    struct arrays *arrays = arrays_open(NULL);
    (void)array_add(arrays, COUNT);
    (void)array_add(arrays, COUNT - 1);
    spawn(arrays, &arrays->all[arrays->rank % 2]);
    finish(arrays);
}

/* --- Who spawns which elements ---------------------------------------------------- */

/* The share of the rank after it, of one whose ranks are dealt 96 elements. */
static moot_range next_share(const struct arrays *arrays, uint64_t more)
{
    const uint64_t size = (uint64_t)arrays->size;
    const uint64_t home = (uint64_t)(arrays->rank + 1) % size;
    const uint64_t first = home * COUNT / size, end = (home + 1) * COUNT / size;
    const uint64_t last = end + more < COUNT ? end + more : COUNT;
    return (moot_range){first, last - first};
}

static void disjoint_parts(void)
{
    struct arrays *arrays = arrays_open(NULL);
    const moot_range part = next_share(arrays, 0);
    spawn_some(arrays, array_add(arrays, COUNT), &part, 1);
    finish(arrays);
}

static void overlapping_parts(void)
{
    struct arrays *arrays = arrays_open(NULL);
    const moot_range part = next_share(arrays, 30);
    spawn_some(arrays, array_add(arrays, COUNT), &part, 1);
    struct array *whole =
        array_add(arrays, COUNT); /* and of one all have all but one */
    if (arrays->rank == 0) {
        spawn_some(arrays, whole, &part, 1);
    } else {
        spawn(arrays, whole);
    }
    if (arrays->size == 1) {
        spawn(arrays, whole);
    }
    finish(arrays);
}

/* Some of it in two calls, the first after the others may have waited. */
static void parts_that_grow(void)
{
    struct arrays *arrays = arrays_open(NULL);
    struct array *array = array_add(arrays, COUNT);
    const moot_range first[] = {{0, 10}, {20, 1}, {90, 6}, {5, 20}};
    const moot_range rest = {0, COUNT};
    spawn_some(arrays, array, first, RANGES_MAX);
    if (arrays->rank == arrays->size - 1) {
        harness_sleep_us(20000);
        spawn_some(arrays, array, &rest, 1);
    }
    finish(arrays);
}

static void spawn_around_a_gap(struct arrays *arrays)
{
    const moot_range sides[] = {{0, 40}, {60, COUNT - 60}};
    struct array *array = array_add(arrays, COUNT);
    array->unheld = true;
    array->from = 40;
    array->to = 60;
    spawn_some(arrays, array, &sides[arrays->rank % 2], 1);
    if (arrays->size == 1) {
        spawn_some(arrays, array, sides, 2);
    }
}

static void of_nobody(void)
{
    struct arrays *arrays = arrays_open(NULL);
    spawn_around_a_gap(arrays);
    spawn(arrays, array_add(arrays, COUNT)); /* what comes later is not harmed */
    finish(arrays);
}

/* --- Other modes ------------------------------------------------------------------ */

/* In each mode a part says that the rest is for others.  (What nobody has spawned keeps
 * its waits in trust mode, as a task does that nobody has.) */
static void parts_without_votes(void)
{
    struct arrays *arrays =
        arrays_open((const char *[]){"MOOT_DIVERGENCE=trust", NULL});
    const moot_range part = next_share(arrays, 0);
    spawn_some(arrays, array_add(arrays, COUNT), &part, 1);
    finish(arrays);
}

static void strict_parts(void)
{
    struct arrays *arrays =
        arrays_open((const char *[]){"MOOT_DIVERGENCE=strict", NULL});
    const moot_range part = next_share(arrays, 0);
    spawn(arrays, array_add(arrays, COUNT));
    spawn_some(arrays, array_add(arrays, COUNT), &part, 1);
    spawn_around_a_gap(arrays);
    finish(arrays);
}

static void ignore_report(void *user, const char *text)
{
    (void)user;
    (void)text;
}

/* The others are told, and so is who left it out. */
static void strict_skip(void)
{
    struct arrays *arrays = harness_alloc(1, sizeof(*arrays));
    const moot_options options = {.report = ignore_report,
                                  .knobs =
                                      (const char *[]){"MOOT_DIVERGENCE=strict", NULL}};
    const uint64_t number = 0;
    CHECK_OK(harness_moot_open(&options, &arrays->m));
    const moot_kernel kernel = {.name = "element", .fn = do_element, .user = arrays};
    CHECK_OK(moot_kernel_register(arrays->m, &kernel, &arrays->kernel));
    struct array *array = array_add(arrays, COUNT - (moot_rank(arrays->m) == 0));
    const moot_array_spec spec = spec_of(arrays, array, &number);
    CHECK_OK(moot_array_spawn(arrays->m, &spec, &array->handle));
    CHECK_CODE(moot_array_wait(arrays->m, array->handle, MOOT_FOREVER),
               MOOT_ERR_DIVERGED);
    CHECK_CODE(moot_close(arrays->m), MOOT_ERR_DIVERGED);
    free(arrays);
}

const struct row rows_arrays[] = {
    {"array-all-but-one", "each rank in turn alone leaves an array out", all_but_one,
     2},
    {"array-one-spawns", "each rank in turn alone spawns one", one_spawns, 1},
    {"array-half", "half of the ranks spawn each", half, 2},
    {"array-other-order", "every other rank spawns them in the other order",
     other_order, 1},
    {"array-counts", "ranks mean arrays of other counts", contrary_counts, 2},
    {"array-parts", "each rank spawns another's share alone", disjoint_parts, 1},
    {"array-overlap", "parts overlap, and one rank has a part", overlapping_parts, 1},
    {"array-grows", "a rank spawns more of it than the others, later", parts_that_grow,
     1},
    {"array-nobody", "elements that nobody has spawned end the wait", of_nobody, 1},
    {"array-trust", "parts in trust mode", parts_without_votes, 1},
    {"array-strict", "parts in strict mode are no difference", strict_parts, 1},
    {"array-strict-counts", "in strict mode other counts are", strict_skip, 2},
    {NULL, NULL, NULL, 0},
};
