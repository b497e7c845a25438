// sums.cc - task arrays in C++: an array takes another one's elements by each of the
// maps that are built in, and adds them; a tree of tasks adds those sums.
#include <moot_array.h>

#include <cstdio>

enum { COUNT = 12 };

static int give_index(moot_call *call, void *)
{
    long *result = static_cast<long *>(moot_call_output(call, sizeof(long)));
    if (result == nullptr) {
        return MOOT_ERR_NO_MEMORY;
    }
    *result = static_cast<long>(moot_call_index(call));
    return MOOT_OK;
}

static int add(moot_call *call, void *)
{
    long sum = 0;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        sum += *static_cast<const long *>(moot_call_input(call, i, nullptr));
    }
    long *result = static_cast<long *>(moot_call_output(call, sizeof(long)));
    if (result == nullptr) {
        return MOOT_ERR_NO_MEMORY;
    }
    *result = sum;
    return MOOT_OK;
}

#define CHECK(call)                                                                    \
    do {                                                                               \
        if ((call) != MOOT_OK) {                                                       \
            std::fprintf(stderr, "%s: %s\n", #call, moot_last_error(m));               \
            return -1;                                                                 \
        }                                                                              \
    } while (0)

static int register_kernel(moot *m, const char *name, moot_kernel_fn fn,
                           moot_kernel_id *out)
{
    moot_kernel kernel = MOOT_INIT(moot_kernel);
    kernel.name = name;
    kernel.fn = fn;
    CHECK(moot_kernel_register(m, &kernel, out));
    return 0;
}

// The sum of what an array of `count` elements takes of `from` by this map.
static long sum_by(moot *m, moot_kernel_id kernel, moot_array from, uint64_t count,
                   moot_map_id map, const void *args, size_t args_size)
{
    moot_array_input input = {};
    input.array = from;
    input.map = map;
    input.map_args = args;
    input.map_args_size = args_size;
    moot_array_spec spec = MOOT_INIT(moot_array_spec);
    spec.kernel = kernel;
    spec.count = count;
    spec.inputs = &input;
    spec.input_count = 1;
    moot_array array;
    CHECK(moot_array_spawn(m, &spec, &array));
    moot_task_spec combine = MOOT_INIT(moot_task_spec);
    combine.kernel = kernel;
    moot_task sum;
    CHECK(moot_array_reduce(m, array, &combine, &sum));
    const void *data;
    CHECK(moot_task_fetch(m, sum, MOOT_SECONDS(60), &data, nullptr));
    const long result = *static_cast<const long *>(data);
    CHECK(moot_task_release(m, sum));
    CHECK(moot_array_release(m, array));
    return result;
}

static int run(moot *m)
{
    moot_kernel_id indices, adder;
    if (register_kernel(m, "give_index", give_index, &indices) != 0 ||
        register_kernel(m, "add", add, &adder) != 0) {
        return 1;
    }
    moot_array_spec spec = MOOT_INIT(moot_array_spec);
    spec.kernel = indices;
    spec.count = COUNT;
    moot_array all;
    CHECK(moot_array_spawn(m, &spec, &all));
    const moot_map_window near = {-1, 1, MOOT_EDGE_WRAP};
    const moot_map_shift next = {1, MOOT_EDGE_CUT};
    const moot_map_transpose turned = {3, 4};
    const moot_map_blocks pairs = {2};
    const struct {
        uint64_t count;
        moot_map_id map;
        const void *args;
        size_t args_size;
        long sum;
    } rows[] = {{COUNT, MOOT_MAP_SAME, nullptr, 0, 66},
                {2, MOOT_MAP_ALL, nullptr, 0, 132},
                {COUNT, MOOT_MAP_WINDOW, &near, sizeof(near), 198},
                {COUNT, MOOT_MAP_SHIFT, &next, sizeof(next), 66},
                {COUNT, MOOT_MAP_TRANSPOSE, &turned, sizeof(turned), 66},
                {6, MOOT_MAP_BLOCKS, &pairs, sizeof(pairs), 66}};
    long sum = 0;
    for (const auto &row : rows) {
        const long result =
            sum_by(m, adder, all, row.count, row.map, row.args, row.args_size);
        if (result != row.sum) {
            std::fprintf(stderr, "%ld, not %ld\n", result, row.sum);
            return 1;
        }
        sum += result;
    }
    CHECK(moot_array_release(m, all));
    std::printf("rank %d: the sum is %ld\n", moot_rank(m), sum);
    return 0;
}

int main()
{
    moot *m = nullptr;
    moot_options options = MOOT_INIT(moot_options);
    CHECK(moot_open(&options, &m));
    const int code = run(m);
    CHECK(moot_close(m));
    return code;
}
