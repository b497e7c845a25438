/* array_find_test.c - an element is found by its array's hash and its index, on ranks
 * that have spawned the array and on ranks that never heard of it.
 */
#include "hashing/identity.h"
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { VALUES = RELAY + 1, LARGE_VALUES, TAKING, FAULTY, COUNT = 20 };
enum { LARGE_BYTES = 20000, FAULTY_AT = 3 };

static uint64_t value_of(uint64_t index) { return index * index + 11; }

static int give(moot_call *call, uint64_t value, size_t bytes)
{
    uint64_t *out = moot_call_output(call, bytes);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(out, 0, bytes);
    *out = value;
    return MOOT_OK;
}

static int small(moot_call *call, void *user)
{
    (void)user;
    return give(call, value_of(moot_call_index(call)), sizeof(uint64_t));
}

static int large(moot_call *call, void *user)
{
    (void)user;
    return give(call, value_of(moot_call_index(call)), LARGE_BYTES);
}

static int take(moot_call *call, void *user)
{
    const uint64_t *taken = moot_call_input(call, 0, NULL);
    (void)user;
    return give(call, *taken, sizeof(*taken));
}

static int faulty(moot_call *call, void *user)
{
    return moot_call_index(call) == FAULTY_AT ? moot_call_fail(call, 7, "dry")
                                              : small(call, user);
}

static void add(struct seat *seat, int at, const char *name, moot_kernel_fn fn)
{
    const moot_kernel kernel = {.name = name, .fn = fn};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void find_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, VALUES, "small", small);
    add(seat, LARGE_VALUES, "large", large);
    add(seat, TAKING, "take", take);
    add(seat, FAULTY, "faulty", faulty);
}

static moot_array spawn_keyed(struct seat *seat, int kernel, int spread,
                              const moot_array_input *input, int key)
{
    moot_array array = {0};
    const moot_array_spec spec = {.kernel = seat->kernels[kernel],
                                  .count = COUNT,
                                  .key = &key,
                                  .key_size = sizeof(key),
                                  .spread = {(enum moot_spread_kind)spread, 0},
                                  .inputs = input,
                                  .input_count = input != NULL};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    return array;
}

static moot_array spawn(struct seat *seat, int kernel, int spread,
                        const moot_array_input *input)
{
    return spawn_keyed(seat, kernel, spread, input, 99);
}

/* The hash that the last rank gives its array, for all. */
static moot_hash shared;

static moot_hash share_hash(struct seat *seat, bool is_here, moot_array array)
{
    if (is_here && seat->rank == seat->size - 1) {
        EXPECT(seat, moot_array_hash(seat->m, array, &shared), MOOT_OK);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    return shared;
}

static void find(struct seat *seat, const moot_hash *hash, uint64_t index)
{
    moot_task task;
    const void *data = NULL;
    EXPECT(seat, moot_array_find(seat->m, hash, index, &task), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL), MOOT_OK);
    CHECK(seat, data != NULL && *(const uint64_t *)data == value_of(index));
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

static void find_all(struct seat *seat, const moot_hash *hash)
{
    for (uint64_t i = 0; i < COUNT; i++) {
        find(seat, hash, i);
    }
}

/* --- Here ------------------------------------------------------------------------- */

static void an_array_that_is_held_is_read(struct seat *seat)
{
    moot_array array = spawn(seat, VALUES, seat->size % 3, NULL);
    moot_hash hash;
    moot_task task, read, extra;
    moot_task_info one, two;
    EXPECT(seat, moot_array_hash(seat->m, array, &hash), MOOT_OK);
    EXPECT(seat, moot_array_at(seat->m, array, 4, &read), MOOT_OK);
    EXPECT(seat, moot_array_find(seat->m, &hash, 4, &task), MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, read, &one), MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, task, &two), MOOT_OK);
    CHECK(seat, hash_equal(&one.hash, &two.hash));
    find_all(seat, &hash);
    EXPECT(seat, moot_array_find(seat->m, &hash, COUNT, &extra), MOOT_ERR_INVALID);
    CHECK(seat, strstr(moot_last_error(seat->m), "from 0 on") != NULL);
    EXPECT(seat, moot_task_release(seat->m, read), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* --- Elsewhere -------------------------------------------------------------------- */

static void find_what_others_hold(struct seat *seat, int kernel, bool takes,
                                  bool all_look)
{
    const bool holds = seat->rank == seat->size - 1 || seat->rank == 1;
    moot_array array = {0}, from = {0};
    if (holds) {
        from = takes ? spawn(seat, VALUES, 1, NULL) : from;
        const moot_array_input input = {.array = from};
        array = spawn(seat, kernel, 0, takes ? &input : NULL);
    }
    const moot_hash hash = share_hash(seat, holds, array);
    if (all_look || seat->rank == 0) {
        find_all(seat, &hash);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    if (holds) {
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
    if (holds && takes) {
        EXPECT(seat, moot_array_release(seat->m, from), MOOT_OK);
    }
}

static void others_hold_it(struct seat *seat)
{
    find_what_others_hold(seat, VALUES, false, false);
}

static void others_hold_it_and_all_look(struct seat *seat)
{
    find_what_others_hold(seat, VALUES, false, true);
}

static void it_is_large(struct seat *seat)
{
    find_what_others_hold(seat, LARGE_VALUES, false, true);
}

static void it_takes_others(struct seat *seat)
{
    find_what_others_hold(seat, TAKING, true, true);
}

static void what_is_found_is_an_input(struct seat *seat)
{
    const bool holds = seat->rank == seat->size - 1;
    moot_array array = {0};
    moot_task found, task;
    const void *data = NULL;
    if (holds) {
        array = spawn(seat, VALUES, 0, NULL);
    }
    const moot_hash hash = share_hash(seat, holds, array);
    if (holds) {
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
    EXPECT(seat, moot_array_find(seat->m, &hash, 9, &found), MOOT_OK);
    const moot_task_spec spec = {
        .kernel = seat->kernels[SUM], .inputs = &found, .input_count = 1};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL), MOOT_OK);
    CHECK(seat, data != NULL && *(const uint64_t *)data == value_of(9));
    EXPECT(seat, moot_task_release(seat->m, found), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

/* The rank that had run them has left: one that has spawned the array makes them again,
 * whichever rank the array's chair is. */
static void who_had_it_is_gone(struct seat *seat)
{
    enum { KEYS = 6 };
    moot_array arrays[KEYS] = {{0}};
    moot_hash hashes[KEYS];
    for (int key = 0; key < KEYS; key++) {
        if (seat->rank != 0) {
            arrays[key] = spawn_keyed(seat, VALUES, 1, NULL, key);
            EXPECT(seat, moot_array_wait(seat->m, arrays[key], MOOT_FOREVER), MOOT_OK);
        }
        hashes[key] = share_hash(seat, true, arrays[key]);
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    }
    if (seat->rank == 1) {
        EXPECT(seat, moot_leave(seat->m), MOOT_OK);
        return;
    }
    while (moot_present(seat->m, 1) != 0) {
        nap_ms(1);
    }
    for (int key = 0; key < KEYS; key++) {
        if (seat->rank == 0) {
            find(seat, &hashes[key], 0);
            find(seat, &hashes[key], 1);
        }
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, arrays[key]),
               seat->rank == 0 ? MOOT_ERR_STALE : MOOT_OK);
    }
}

/* --- Failures --------------------------------------------------------------------- */

static void find_one(struct seat *seat, const moot_hash *hash, uint64_t index, int code,
                     const char *why)
{
    moot_task task;
    EXPECT(seat, moot_array_find(seat->m, hash, index, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), code);
    CHECK(seat, strstr(moot_last_error(seat->m), why) != NULL);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

static void what_is_not_there_is_not_found(struct seat *seat)
{
    const bool holds = seat->rank == seat->size - 1;
    moot_array array = {0}, bad = {0};
    moot_hash nobodys;
    if (holds) {
        array = spawn(seat, VALUES, 0, NULL);
    }
    moot_hash hash = share_hash(seat, holds, array);
    if (!holds) {
        find_one(seat, &hash, COUNT, MOOT_ERR_TASK_FAILED, "there is no element 20");
    }
    nobodys = hash;
    nobodys.bytes[1] ^= 1;
    find_one(seat, &nobodys, 0, MOOT_ERR_TASK_FAILED, "NOT_HELD");
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    if (holds) {
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
        bad = spawn(seat, FAULTY, 0, NULL);
    }
    hash = share_hash(seat, holds, bad);
    find_one(seat, &hash, 0, MOOT_ERR_TASK_FAILED, "dry");
    if (holds) {
        EXPECT(seat, moot_array_release(seat->m, bad), MOOT_OK);
    }
}

static void what_names_no_array_is_refused(struct seat *seat)
{
    moot_task task;
    moot_task_info info;
    moot_hash hash;
    const moot_task_spec spec = {.kernel = seat->kernels[EMPTY]};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    EXPECT(seat, moot_array_find(seat->m, &info.hash, 0, &task), MOOT_ERR_INVALID);
    CHECK(seat, strstr(moot_last_error(seat->m), "none of an array") != NULL);
    EXPECT(seat, moot_array_find(seat->m, NULL, 0, &task), MOOT_ERR_INVALID);
    EXPECT(seat, moot_array_hash(seat->m, (moot_array){task.id}, &hash),
           MOOT_ERR_INVALID);
    CHECK(seat, strstr(moot_last_error(seat->m), "a task's") != NULL);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_array_hash(seat->m, (moot_array){task.id}, &hash),
           MOOT_ERR_STALE);
    CHECK(seat, strstr(moot_last_error(seat->m), "moot_array_hash") != NULL);
    EXPECT(seat, moot_array_hash(seat->m, (moot_array){task.id}, NULL),
           MOOT_ERR_INVALID);
}

#define FIND_SCENE(fn, ...)                                                            \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = find_kernels, __VA_ARGS__      \
    }

static const struct scene scenes[] = {
    FIND_SCENE(an_array_that_is_held_is_read, .after = closes_well),
    FIND_SCENE(others_hold_it, .after = closes_well),
    FIND_SCENE(others_hold_it_and_all_look, .after = closes_well),
    FIND_SCENE(it_is_large, .after = closes_well),
    FIND_SCENE(it_takes_others, .after = closes_well),
    FIND_SCENE(what_is_found_is_an_input, .after = closes_well),
    FIND_SCENE(who_had_it_is_gone, .after = closes_well, .sizes = {3, 4}),
    FIND_SCENE(what_is_not_there_is_not_found, .after = closes_well),
    FIND_SCENE(what_names_no_array_is_refused, .after = closes_well),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
