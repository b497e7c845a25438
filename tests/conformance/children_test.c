/* children_test.c - a kernel waits for several children at once, and knows its inputs
 * by their hashes.
 */
#include "tests/conformance/kernels.h"

enum { PARENT = 16, READER, CHILDREN = 20 };

#define SOON MOOT_SECONDS(60)

/* The parent's way with its children. */
enum way { ALL_WELL, ONE_FAILS, NONE_OF_ITS_OWN, A_RELEASED_ONE, PASSES_IT_ON };

static moot_task not_its_child; /* of the program */

static int spawn_child(moot_call *call, moot_kernel_id kernel, uint64_t x,
                       moot_task *out)
{
    return moot_call_spawn(
        call, &(moot_task_spec){.kernel = kernel, .args = &x, .args_size = sizeof(x)},
        out);
}

/* The children's results, added up, which have to be here by now. */
static int add_up(moot_call *call, const moot_task *children, uint64_t *sum)
{
    for (int i = 0; i < CHILDREN; i++) {
        const void *data;
        size_t size;
        uint64_t value;
        int error = moot_call_wait(call, children[i], &data, &size);
        if (error != MOOT_OK) {
            return error;
        }
        memcpy(&value, data, sizeof(value));
        *sum += value;
    }
    return MOOT_OK;
}

/* args: the way.  Gives the sum of the squares, or the code that it met. */
static int parent(moot_call *call, void *user)
{
    const struct seat *seat = user;
    uint64_t way = *(const uint64_t *)moot_call_args(call, NULL), sum = 0;
    moot_task children[CHILDREN];
    for (uint64_t i = 0; i < CHILDREN; i++) {
        bool fails = i == CHILDREN / 2 && (way == ONE_FAILS || way == PASSES_IT_ON);
        int error =
            spawn_child(call, seat->kernels[fails ? FAIL : SQUARE], i, &children[i]);
        if (error != MOOT_OK) {
            return error;
        }
    }
    if (way == NONE_OF_ITS_OWN) {
        children[3] = not_its_child;
    } else if (way == A_RELEASED_ONE) {
        (void)moot_task_release(moot_call_context(call), children[3]);
    }
    int error = moot_call_wait_all(call, children, CHILDREN);
    if (error != MOOT_OK && way == PASSES_IT_ON) {
        return error;
    }
    if (error == MOOT_OK) {
        error = add_up(call, children, &sum);
    }
    int64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = error != MOOT_OK ? error : (int64_t)sum;
    return moot_call_wait_all(call, NULL, 0);
}

/* Its inputs' hashes, and whether it knew that there are no more. */
static int reader(moot_call *call, void *user)
{
    (void)user;
    size_t count = moot_call_input_count(call);
    moot_hash *hashes = moot_call_output(call, count * sizeof(*hashes));
    if (hashes == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        const moot_hash *hash = moot_call_input_hash(call, i);
        if (hash == NULL) {
            return moot_call_fail(call, 1, "an input without a hash");
        }
        hashes[i] = *hash;
    }
    return moot_call_input_hash(call, count) == NULL
               ? MOOT_OK
               : moot_call_fail(call, 2, "a hash without an input");
}

static void add_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, READER, "reader", reader, 0);
    moot_kernel kernel = {.name = "parent", .version = 1, .fn = parent, .user = seat};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[PARENT]),
           MOOT_OK);
}

static int64_t parent_gives(struct seat *seat, enum way way)
{
    return (int64_t)fetch_u64(seat, spawn_u64(seat, PARENT, way));
}

static void all_children_are_there_at_once(struct seat *seat)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < CHILDREN; i++) {
        sum += i * i;
    }
    CHECK(seat, parent_gives(seat, ALL_WELL) == sum);
}

static void the_first_that_failed_is_told(struct seat *seat)
{
    CHECK(seat, parent_gives(seat, ONE_FAILS) == MOOT_ERR_TASK_FAILED);
    moot_task task = spawn_u64(seat, PARENT, PASSES_IT_ON);
    EXPECT(seat, moot_task_wait(seat->m, task, SOON), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the pump is dry"));
}

static void only_children_may_be_waited_for(struct seat *seat)
{
    moot_task task = spawn_u64(seat, SQUARE, 99);
    if (seat->rank == 0) {
        not_its_child = task;
    }
    meet(seat);
    int64_t code = parent_gives(seat, NONE_OF_ITS_OWN);
    CHECK(seat, code == MOOT_ERR_NOT_CHILD || code == MOOT_ERR_FOREIGN);
    CHECK(seat, seat->size > 1 || code == MOOT_ERR_NOT_CHILD);
    CHECK(seat, parent_gives(seat, A_RELEASED_ONE) == MOOT_ERR_STALE);
    EXPECT(seat, moot_call_wait_all(NULL, &task, 1), MOOT_ERR_INVALID);
    CHECK(seat, moot_call_input_hash(NULL, 0) == NULL);
    meet(seat);
}

/* By handle, by hash, and order only, which is no input. */
static void inputs_are_known_by_their_hashes(struct seat *seat)
{
    moot_task first = spawn_u64(seat, SQUARE, 1), after = spawn_u64(seat, SQUARE, 2);
    moot_hash hashes[2] = {hash_u64(seat, SQUARE, 1), hash_u64(seat, SQUARE, 3)};
    moot_task third = spawn_u64(seat, SQUARE, 3), task = {0};
    const moot_task_spec spec = {.kernel = seat->kernels[READER],
                                 .inputs = &first,
                                 .input_count = 1,
                                 .input_hashes = &hashes[1],
                                 .input_hash_count = 1,
                                 .after = &after,
                                 .after_count = 1};
    const void *data = NULL;
    size_t size = 0;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, third), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, task, SOON, &data, &size), MOOT_OK);
    CHECK(seat, data != NULL && size == sizeof(hashes) &&
                    memcmp(data, hashes, sizeof(hashes)) == 0);
}

#define CHILD_SCENE(fn)                                                                \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = add_kernels,                   \
        .after = closes_well                                                           \
    }

static const struct scene scenes[] = {
    CHILD_SCENE(all_children_are_there_at_once),
    CHILD_SCENE(the_first_that_failed_is_told),
    CHILD_SCENE(only_children_may_be_waited_for),
    CHILD_SCENE(inputs_are_known_by_their_hashes),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
