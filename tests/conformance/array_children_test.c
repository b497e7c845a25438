/* array_children_test.c - a running task spawns arrays, waits for them and reads their
 * elements; nobody else has spawned them.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

#include <stdatomic.h>
#include <time.h>

enum {
    VALUES = RELAY + 1,
    SLOW_VALUES,
    SUMS,
    FAULTY,
    PARENT,
    BREEDS,
    COUNT = 24,
    FAULTY_AT = 5
};

#define SOON MOOT_SECONDS(60)

enum way { READS, FAILS, NONE_OF_ITS_OWN, AN_INDEX_TOO_HIGH, OUTSIDE, LEAVES };

static moot_array not_its_child; /* of the program */

static uint64_t value_of(uint64_t index) { return index * index + 3; }

static int give(moot_call *call, uint64_t value)
{
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = value;
    return MOOT_OK;
}

static int values(moot_call *call, void *user)
{
    (void)user;
    return give(call, value_of(moot_call_index(call)));
}

static atomic_uint slow_ran; /* by all ranks */

static int slow_values(moot_call *call, void *user)
{
    const struct timespec work = {.tv_nsec = 500000};
    nanosleep(&work, NULL);
    slow_ran++;
    return values(call, user);
}

static int sums(moot_call *call, void *user)
{
    uint64_t sum = 0;
    (void)user;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        sum += *(const uint64_t *)moot_call_input(call, i, NULL);
    }
    return give(call, sum);
}

static int faulty(moot_call *call, void *user)
{
    return moot_call_index(call) == FAULTY_AT ? moot_call_fail(call, 7, "dry")
                                              : values(call, user);
}

/* An element that would have children; gives what it was told. */
static int breeds(moot_call *call, void *user)
{
    const struct seat *seat = user;
    moot_array none;
    const moot_array_spec spec = {.kernel = seat->kernels[VALUES], .count = 1};
    return give(call, (uint64_t)(int64_t)moot_call_array_spawn(call, &spec, &none));
}

/* Each element of the second array takes two of the first; what the last three give,
 * read one by one. */
static int read_all(const struct seat *seat, moot_call *call, moot_array first,
                    uint64_t *sum)
{
    const moot_map_window near = {-1, 0, MOOT_EDGE_CUT};
    const moot_array_input input = {.array = first,
                                    .map = MOOT_MAP_WINDOW,
                                    .map_args = &near,
                                    .map_args_size = sizeof(near)};
    const moot_array_spec spec = {.kernel = seat->kernels[SUMS],
                                  .count = COUNT,
                                  .inputs = &input,
                                  .input_count = 1};
    moot_array second;
    int error = moot_call_array_spawn(call, &spec, &second);
    for (uint64_t i = COUNT - 3; i < COUNT && error == MOOT_OK; i++) {
        const void *data = NULL;
        moot_task element;
        error = moot_call_array_at(call, second, i, &element);
        if (error == MOOT_OK) {
            error = moot_call_wait(call, element, &data, NULL);
        }
        if (error == MOOT_OK) {
            *sum += *(const uint64_t *)data;
        }
    }
    return error == MOOT_OK ? moot_call_array_wait(call, second) : error;
}

/* The code that the call gave. */
static int misuse(const struct seat *seat, moot_call *call, enum way way,
                  moot_array child)
{
    moot *m = moot_call_context(call);
    const moot_array_spec spec = {.kernel = seat->kernels[VALUES], .count = 1};
    moot_array array;
    moot_task task;
    if (way == NONE_OF_ITS_OWN) {
        return moot_call_array_wait(call, not_its_child);
    }
    if (way == OUTSIDE) {
        return moot_array_spawn(m, &spec, &array);
    }
    const int error = moot_call_array_at(call, child, COUNT, &task);
    const bool named = strstr(moot_last_error(m), "moot_call_array_at: ") != NULL;
    return named ? error : MOOT_OK; /* the call that was made is named */
}

/* args: the way. */
static int parent(moot_call *call, void *user)
{
    const struct seat *seat = user;
    const uint64_t way = *(const uint64_t *)moot_call_args(call, NULL);
    const moot_array_spec spec = {.kernel = seat->kernels[way == FAILS    ? FAULTY
                                                          : way == LEAVES ? SLOW_VALUES
                                                                          : VALUES],
                                  .count = COUNT};
    moot_array first;
    uint64_t sum = 0;
    int error = moot_call_array_spawn(call, &spec, &first);
    if (error != MOOT_OK || way == LEAVES) {
        return error != MOOT_OK ? error : give(call, 0);
    }
    if (way != READS && way != FAILS) {
        return give(call, (uint64_t)(int64_t)misuse(seat, call, (enum way)way, first));
    }
    error = moot_call_array_wait(call, first);
    if (error == MOOT_OK) {
        error = read_all(seat, call, first, &sum);
    }
    return error == MOOT_OK ? give(call, sum) : error;
}

static void add(struct seat *seat, int at, const char *name, moot_kernel_fn fn)
{
    const moot_kernel kernel = {.name = name, .fn = fn, .user = seat};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void add_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, VALUES, "values", values);
    add(seat, SLOW_VALUES, "slow values", slow_values);
    add(seat, SUMS, "sums", sums);
    add(seat, FAULTY, "faulty", faulty);
    add(seat, PARENT, "parent", parent);
    add(seat, BREEDS, "breeds", breeds);
}

static int parent_gives(struct seat *seat, enum way way)
{
    return (int)(int64_t)fetch_u64(seat, spawn_u64(seat, PARENT, way));
}

static void a_task_reads_the_arrays_that_it_spawned(struct seat *seat)
{
    uint64_t sum = 0;
    for (uint64_t i = COUNT - 3; i < COUNT; i++) {
        sum += value_of(i) + value_of(i - 1);
    }
    CHECK(seat, fetch_u64(seat, spawn_u64(seat, PARENT, READS)) == sum);
}

/* One rank's program spawns the parent: the others run nothing of it. */
static void one_rank_alone_has_such_a_task(struct seat *seat)
{
    if (seat->rank == 0) {
        a_task_reads_the_arrays_that_it_spawned(seat);
    }
}

static void an_element_that_fails_tells_its_parent(struct seat *seat)
{
    moot_task task = spawn_u64(seat, PARENT, FAILS);
    EXPECT(seat, moot_task_wait(seat->m, task, SOON), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "dry"));
}

static void what_is_no_child_or_no_element_is_refused(struct seat *seat)
{
    const moot_array_spec spec = {.kernel = seat->kernels[VALUES], .count = 2};
    moot_array array = {0};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    if (seat->rank == 0) {
        not_its_child = array;
    }
    meet(seat);
    const int code = parent_gives(seat, NONE_OF_ITS_OWN);
    CHECK(seat, code == MOOT_ERR_NOT_CHILD || code == MOOT_ERR_FOREIGN);
    CHECK(seat, parent_gives(seat, AN_INDEX_TOO_HIGH) == MOOT_ERR_INVALID);
    CHECK(seat, parent_gives(seat, OUTSIDE) == MOOT_ERR_STATE);
    EXPECT(seat, moot_call_array_wait(NULL, array), MOOT_ERR_INVALID);
    EXPECT(seat, moot_call_array_spawn(NULL, &spec, &array), MOOT_ERR_INVALID);
    meet(seat);
}

static void an_element_has_no_children(struct seat *seat)
{
    const moot_array_spec spec = {.kernel = seat->kernels[BREEDS], .count = 2};
    moot_array array = {0};
    moot_task task = {0};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    EXPECT(seat, moot_array_at(seat->m, array, 1, &task), MOOT_OK);
    CHECK(seat, (int)(int64_t)fetch_u64(seat, task) == MOOT_ERR_STATE);
}

/* A group lasts until all is over that its tasks have left running. */
static void a_group_waits_for_arrays_that_a_task_left(struct seat *seat)
{
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    (void)spawn_u64(seat, PARENT, LEAVES);
    EXPECT(seat, moot_group_close(seat->m, SOON), MOOT_OK);
    CHECK(seat, slow_ran > 0 && slow_ran % COUNT == 0); /* each once, in each world */
}

#define PARENT_SCENE(fn)                                                               \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = add_kernels,                   \
        .after = closes_well                                                           \
    }

static const struct scene scenes[] = {
    PARENT_SCENE(a_task_reads_the_arrays_that_it_spawned),
    PARENT_SCENE(one_rank_alone_has_such_a_task),
    PARENT_SCENE(an_element_that_fails_tells_its_parent),
    PARENT_SCENE(what_is_no_child_or_no_element_is_refused),
    PARENT_SCENE(an_element_has_no_children),
    PARENT_SCENE(a_group_waits_for_arrays_that_a_task_left),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
