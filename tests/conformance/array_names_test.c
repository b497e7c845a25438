/* array_names_test.c - an element is told the hashes of the elements that it takes, as
 * these have them themselves, whoever made them and whoever runs it.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { NAMED = RELAY + 1, LARGE_NAMED, COUNT = 23, LARGE_BYTES = 20000 };

/* Its own hash, in so many bytes; fails if one of its inputs has another name. */
static int name(moot_call *call, size_t bytes)
{
    const size_t count = moot_call_input_count(call);
    for (size_t i = 0; i < count; i++) {
        const moot_hash *hash = moot_call_input_hash(call, i);
        const void *said = moot_call_input(call, i, NULL);
        if (hash == NULL || said == NULL || memcmp(hash, said, sizeof(*hash)) != 0 ||
            moot_call_input_hash(call, i) != hash) {
            return moot_call_fail(call, 7, "an input has another name");
        }
    }
    if (moot_call_input_hash(call, count) != NULL) {
        return moot_call_fail(call, 8, "there is no such input");
    }
    void *out = moot_call_output(call, bytes);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(out, 0, bytes);
    memcpy(out, moot_call_hash(call), sizeof(moot_hash));
    return MOOT_OK;
}

static int name_small(moot_call *call, void *user)
{
    (void)user;
    return name(call, sizeof(moot_hash));
}

static int name_large(moot_call *call, void *user)
{
    (void)user;
    return name(call, LARGE_BYTES);
}

static void add(struct seat *seat, int at, const char *kernel_name, moot_kernel_fn fn)
{
    const moot_kernel kernel = {.name = kernel_name, .fn = fn};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void name_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, NAMED, "name.small", name_small);
    add(seat, LARGE_NAMED, "name.large", name_large);
}

static moot_array spawn(struct seat *seat, int kernel, enum moot_spread_kind kind,
                        const moot_array_input *inputs, size_t input_count)
{
    moot_array array = {0};
    const moot_array_spec spec = {.kernel = seat->kernels[kernel],
                                  .count = COUNT,
                                  .spread = {kind, 0},
                                  .inputs = inputs,
                                  .input_count = input_count};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    return array;
}

static void take(struct seat *seat, int kernel)
{
    static const moot_map_window near = {-1, 2, MOOT_EDGE_CUT};
    moot_array one = spawn(seat, kernel, MOOT_SPREAD_HASHED, NULL, 0);
    moot_array two = spawn(seat, kernel, MOOT_SPREAD_CYCLIC, NULL, 0);
    const moot_array_input inputs[] = {{.array = one,
                                        .map = MOOT_MAP_WINDOW,
                                        .map_args = &near,
                                        .map_args_size = sizeof(near)},
                                       {.array = two, .map = MOOT_MAP_ALL},
                                       {.array = one}};
    moot_array three = spawn(seat, kernel, MOOT_SPREAD_BLOCK, inputs, 3);
    EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, two), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, three, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, three), MOOT_OK);
}

static void an_element_is_told_whose_results_it_takes(struct seat *seat)
{
    take(seat, NAMED);
}

static void also_of_large_ones(struct seat *seat) { take(seat, LARGE_NAMED); }

static void also_of_what_others_left_to_it(struct seat *seat)
{
    if (seat->rank == seat->size - 1) {
        take(seat, NAMED);
    }
}

#define NAME_SCENE(fn, ...)                                                            \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = name_kernels,                  \
        .after = closes_well, __VA_ARGS__                                              \
    }

static const char *const workers[] = {"MOOT_THREADS=3", NULL};

static const struct scene scenes[] = {
    NAME_SCENE(an_element_is_told_whose_results_it_takes, .knobs = workers),
    NAME_SCENE(an_element_is_told_whose_results_it_takes, .knobs = NULL),
    NAME_SCENE(also_of_large_ones, .knobs = NULL),
    NAME_SCENE(also_of_what_others_left_to_it, .knobs = NULL),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
