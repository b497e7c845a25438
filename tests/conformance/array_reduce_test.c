/* array_reduce_test.c - one result of all elements of an array: the same bytes at every
 * number of ranks, in the order of the elements. */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { FIRST = RELAY + 1, COMBINE, FAULTY, FLAGGED };
enum { MOST = 1000, FAULTY_AT = 5, ARG = 7 };

/* Neither commutative nor associative: the shape of the tree shows. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    return (a ^ b >> 7) * 0x9e3779b97f4a7c15u + b;
}

static int make_first(moot_call *call, void *user)
{
    uint64_t *out = moot_call_output(call, sizeof(*out));
    (void)user;
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = mix(11, moot_call_index(call));
    return MOOT_OK;
}

static int fail_at_one(moot_call *call, void *user)
{
    if (moot_call_index(call) == FAULTY_AT) {
        return moot_call_fail(call, 3, "the scale is off");
    }
    return make_first(call, user);
}

static int combine_some(moot_call *call, void *user)
{
    const size_t count = moot_call_input_count(call);
    size_t size = 0;
    const uint64_t *arg = moot_call_args(call, &size);
    uint64_t *out = moot_call_output(call, sizeof(*out));
    (void)user;
    if (out == NULL || size != sizeof(*arg) || count == 0 || count > MOOT_REDUCE_WAYS) {
        return MOOT_ERR_INVALID;
    }
    *out = *arg;
    for (size_t i = 0; i < count; i++) {
        *out = mix(*out, *(const uint64_t *)moot_call_input(call, i, NULL));
    }
    return MOOT_OK;
}

/* The same tree, by hand. */
static uint64_t reduce_by_hand(uint64_t count)
{
    uint64_t row[MOST];
    for (uint64_t i = 0; i < count; i++) {
        row[i] = mix(11, i);
    }
    do {
        const uint64_t above = (count + MOOT_REDUCE_WAYS - 1) / MOOT_REDUCE_WAYS;
        for (uint64_t i = 0; i < above; i++) {
            uint64_t sum = ARG;
            for (uint64_t at = i * MOOT_REDUCE_WAYS;
                 at < count && at < (i + 1) * MOOT_REDUCE_WAYS; at++) {
                sum = mix(sum, row[at]);
            }
            row[i] = sum;
        }
        count = above;
    } while (count > 1);
    return row[0];
}

static void add(struct seat *seat, int at, const char *name, moot_kernel_fn fn,
                uint32_t flags)
{
    const moot_kernel kernel = {.name = name, .fn = fn, .user = seat, .flags = flags};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void reduce_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, FIRST, "first", make_first, 0);
    add(seat, COMBINE, "combine", combine_some, 0);
    add(seat, FAULTY, "faulty", fail_at_one, 0);
    add(seat, FLAGGED, "flagged", combine_some, MOOT_KERNEL_NONDETERMINISTIC);
}

static moot_array spawn_first(struct seat *seat, int kernel, uint64_t count,
                              enum moot_spread_kind kind)
{
    moot_array array = {0};
    const moot_array_spec spec = {
        .kernel = seat->kernels[kernel], .count = count, .spread = {.kind = kind}};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    return array;
}

static const uint64_t arg = ARG;

static int reduce(struct seat *seat, moot_array array, moot_task *out)
{
    return moot_array_reduce(seat->m, array,
                             &(moot_task_spec){.kernel = seat->kernels[COMBINE],
                                               .args = &arg,
                                               .args_size = sizeof(arg)},
                             out);
}

static void check_reduced(struct seat *seat, uint64_t count, enum moot_spread_kind kind)
{
    moot_task sum;
    const void *data = NULL;
    moot_array array = spawn_first(seat, FIRST, count, kind);
    EXPECT(seat, reduce(seat, array, &sum), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, sum, MOOT_FOREVER, &data, NULL), MOOT_OK);
    CHECK(seat, data != NULL && *(const uint64_t *)data == reduce_by_hand(count));
    EXPECT(seat, moot_task_release(seat->m, sum), MOOT_OK);
}

static void the_tree_follows_from_the_count(struct seat *seat)
{
    static const uint64_t counts[] = {1, 2, 7, 8, 9, 63, 64, 65, 513, MOST};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        check_reduced(seat, counts[i], MOOT_SPREAD_BLOCK);
        check_reduced(seat, counts[i], MOOT_SPREAD_CYCLIC);
        check_reduced(seat, counts[i], MOOT_SPREAD_HASHED);
    }
}

/* The last rank spawns neither the array nor the tree. */
static void who_skips_it_leaves_it_to_the_others(struct seat *seat)
{
    if (seat->rank + 1 < seat->size || seat->size == 1) {
        check_reduced(seat, 100, MOOT_SPREAD_BLOCK);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

static void it_fails_with_an_element(struct seat *seat)
{
    moot_task sum;
    moot_array array = spawn_first(seat, FAULTY, 100, MOOT_SPREAD_BLOCK);
    EXPECT(seat, reduce(seat, array, &sum), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, sum, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, sum), MOOT_OK);
}

static void refuse(struct seat *seat, moot_array array, moot_task_spec combine,
                   int code, const char *why)
{
    moot_task sum;
    EXPECT(seat, moot_array_reduce(seat->m, array, &combine, &sum), code);
    CHECK(seat, strstr(moot_last_error(seat->m), why) != NULL);
}

static void what_cannot_be_combined_is_refused(struct seat *seat)
{
    moot_task task;
    moot_array array = spawn_first(seat, FIRST, 100, MOOT_SPREAD_BLOCK);
    const moot_task_spec single = {.kernel = seat->kernels[RELAY]};
    EXPECT(seat, moot_task_spawn(seat->m, &single, &task), MOOT_OK);
    const moot_task_spec good = {.kernel = seat->kernels[COMBINE]};
    moot_task_spec with_input = good, owned = good, flagged = good;
    with_input.inputs = &task;
    with_input.input_count = 1;
    owned.owner = MOOT_ON(0);
    flagged.kernel = seat->kernels[FLAGGED];
    refuse(seat, array, with_input, MOOT_ERR_INVALID, ".inputs");
    refuse(seat, array, owned, MOOT_ERR_INVALID, ".owner");
    refuse(seat, array, flagged, MOOT_ERR_INVALID, "non-deterministic");
    refuse(seat, (moot_array){task.id}, good, MOOT_ERR_INVALID, "a task's");
    refuse(seat, (moot_array){0}, good, MOOT_ERR_STALE, "moot_array_reduce");
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

#define REDUCE_SCENE(fn, ...)                                                          \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = reduce_kernels, __VA_ARGS__    \
    }

static const char *const workers[] = {"MOOT_THREADS=3", NULL};

static const struct scene scenes[] = {
    REDUCE_SCENE(the_tree_follows_from_the_count, .after = closes_well),
    REDUCE_SCENE(the_tree_follows_from_the_count, .after = closes_well,
                 .knobs = workers),
    REDUCE_SCENE(who_skips_it_leaves_it_to_the_others, .after = closes_well),
    REDUCE_SCENE(it_fails_with_an_element, .after = closes_well),
    REDUCE_SCENE(what_cannot_be_combined_is_refused, .after = closes_well),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
