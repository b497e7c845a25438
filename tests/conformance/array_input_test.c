/* array_input_test.c - arrays that take elements of others: each element gets what its
 * map says, in order, whoever made it and whoever skips which array.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { FIRST = RELAY + 1, NEXT, LARGE, FAULTY };
enum { COUNT = 37, STEPS = 12, MOST = 64, LARGE_BYTES = 20000, FAULTY_AT = 5 };

static uint64_t first_of(uint64_t index) { return index * index + 3; }

static int first(moot_call *call, void *user)
{
    uint64_t *out = moot_call_output(call, sizeof(*out));
    (void)user;
    if (out != NULL) {
        *out = first_of(moot_call_index(call));
    }
    return out != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static uint64_t mix(uint64_t sum, uint64_t next) { return sum * 31 + next; }

/* An order of its inputs that is not theirs gives another sum. */
static int next(moot_call *call, void *user)
{
    uint64_t *out = moot_call_output(call, sizeof(*out)), sum = 0;
    (void)user;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        size_t size = 0;
        const uint64_t *input = moot_call_input(call, i, &size);
        if (input == NULL || size < sizeof(*input)) {
            return MOOT_ERR_INVALID;
        }
        sum = mix(sum, *input);
    }
    if (out != NULL) {
        *out = mix(sum, moot_call_index(call));
    }
    return out != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int large(moot_call *call, void *user)
{
    uint64_t *out = moot_call_output(call, LARGE_BYTES);
    (void)user;
    if (out != NULL) {
        memset(out, 0, LARGE_BYTES);
        *out = first_of(moot_call_index(call));
    }
    return out != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int faulty(moot_call *call, void *user)
{
    if (moot_call_index(call) == FAULTY_AT) {
        return moot_call_fail(call, 7, "the pump is dry");
    }
    return first(call, user);
}

static void add(struct seat *seat, int at, const char *name, moot_kernel_fn fn)
{
    const moot_kernel kernel = {.name = name, .fn = fn};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void array_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, FIRST, "first", first);
    add(seat, NEXT, "next", next);
    add(seat, LARGE, "large", large);
    add(seat, FAULTY, "faulty", faulty);
}

/* --- What an element is to be ----------------------------------------------------- */

/* A map, by hand: the sources of an element, in order; how many. */
typedef uint64_t (*sources_fn)(uint64_t index, uint64_t count, uint64_t *out);

static uint64_t same(uint64_t index, uint64_t count, uint64_t *out)
{
    (void)count;
    *out = index;
    return 1;
}

static uint64_t all(uint64_t index, uint64_t count, uint64_t *out)
{
    (void)index;
    for (uint64_t i = 0; i < count; i++) {
        out[i] = i;
    }
    return count;
}

static uint64_t cut(uint64_t index, uint64_t count, uint64_t *out)
{
    uint64_t found = 0;
    for (uint64_t i = index + count - 2; i <= index + count + 1; i++) {
        if (i >= count && i < 2 * count) {
            out[found++] = i - count;
        }
    }
    return found;
}

static uint64_t wrapped(uint64_t index, uint64_t count, uint64_t *out)
{
    for (uint64_t i = 0; i < 3; i++) {
        out[i] = (index + count - 1 + i) % count;
    }
    return 3;
}

static uint64_t shifted(uint64_t index, uint64_t count, uint64_t *out)
{
    *out = (index + 5) % count;
    return 1;
}

static uint64_t transposed(uint64_t index, uint64_t count, uint64_t *out)
{
    const uint64_t columns = 6, rows = count / columns;
    *out = index % columns * rows + index / columns;
    return 1;
}

static const moot_map_window cut_args = {-2, 1, MOOT_EDGE_CUT},
                             wrapped_args = {-1, 1, MOOT_EDGE_WRAP};
static const moot_map_shift shifted_args = {5, MOOT_EDGE_WRAP};
static const moot_map_transpose transposed_args = {6, 6};

static const struct {
    moot_map_id map;
    const void *args;
    size_t args_size;
    sources_fn sources;
} maps[] = {
    {{0}, NULL, 0, same},
    {{1}, NULL, 0, all},
    {{2}, &cut_args, sizeof(cut_args), cut},
    {{2}, &wrapped_args, sizeof(wrapped_args), wrapped},
    {{3}, &shifted_args, sizeof(shifted_args), shifted},
    {{4}, &transposed_args, sizeof(transposed_args), transposed},
};
enum { MAPS = sizeof(maps) / sizeof(maps[0]) };

/* One step by hand. */
static void take(sources_fn sources, uint64_t count, const uint64_t *from, uint64_t *to)
{
    for (uint64_t index = 0; index < count; index++) {
        uint64_t of[MOST], sum = 0;
        const uint64_t found = sources(index, count, of);
        for (uint64_t i = 0; i < found; i++) {
            sum = mix(sum, from[of[i]]);
        }
        to[index] = mix(sum, index);
    }
}

/* --- Arrays ----------------------------------------------------------------------- */

static const moot_spread spreads[] = {{MOOT_SPREAD_BLOCK, 0},
                                      {MOOT_SPREAD_CYCLIC, 0},
                                      {MOOT_SPREAD_CYCLIC, 7},
                                      {MOOT_SPREAD_HASHED, 0}};
enum { SPREADS = sizeof(spreads) / sizeof(spreads[0]) };

static moot_array spawn_one(struct seat *seat, int kernel, uint64_t count, int key,
                            moot_spread spread)
{
    moot_array array = {0};
    const moot_array_spec spec = {.kernel = seat->kernels[kernel],
                                  .count = count,
                                  .key = &key,
                                  .key_size = sizeof(key),
                                  .spread = spread};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    return array;
}

static moot_array spawn_next(struct seat *seat, moot_array from, uint64_t count,
                             int map, moot_spread spread)
{
    moot_array array = {0};
    const moot_array_input input = {.array = from,
                                    .map = maps[map].map,
                                    .map_args = maps[map].args,
                                    .map_args_size = maps[map].args_size};
    const moot_array_spec spec = {.kernel = seat->kernels[NEXT],
                                  .count = count,
                                  .spread = spread,
                                  .inputs = &input,
                                  .input_count = 1};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    return array;
}

static void check_all(struct seat *seat, moot_array array, uint64_t count,
                      const uint64_t *wanted)
{
    for (uint64_t i = 0; i < count; i++) {
        moot_task task;
        const void *data = NULL;
        EXPECT(seat, moot_array_at(seat->m, array, i, &task), MOOT_OK);
        EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL),
               MOOT_OK);
        CHECK(seat, data != NULL && *(const uint64_t *)data == wanted[i]);
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    }
}

static void fill_first(uint64_t *row, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        row[i] = first_of(i);
    }
}

static void what_a_map_says_is_taken(struct seat *seat)
{
    uint64_t from[MOST], to[MOST];
    for (int map = 0; map < MAPS; map++) {
        const uint64_t count = maps[map].sources == transposed ? 36 : COUNT;
        for (int spread = 0; spread < SPREADS; spread++) {
            moot_array one = spawn_one(seat, FIRST, count, spread + 8 * map,
                                       spreads[(spread + map) % SPREADS]);
            moot_array two = spawn_next(seat, one, count, map, spreads[spread]);
            EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
            fill_first(from, count);
            take(maps[map].sources, count, from, to);
            check_all(seat, two, count, to);
            EXPECT(seat, moot_array_release(seat->m, two), MOOT_OK);
        }
    }
}

/* `steps` of them, of which the rank `skipper` spawns but half; reads the last. */
static void run_steps(struct seat *seat, int kernel, int key, int skipper)
{
    uint64_t rows[2][MOST];
    fill_first(rows[0], COUNT);
    moot_array array = spawn_one(seat, kernel, COUNT, key, spreads[key % SPREADS]);
    for (int step = 0; step < STEPS; step++) {
        const int map = 2 + (step + key) % 3;
        if (seat->rank == skipper && step >= STEPS / 2) {
            EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
            return;
        }
        take(maps[map].sources, COUNT, rows[step % 2], rows[(step + 1) % 2]);
        moot_array next_one =
            spawn_next(seat, array, COUNT, map, spreads[(step + key) % SPREADS]);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
        array = next_one;
    }
    check_all(seat, array, COUNT, rows[STEPS % 2]);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void steps_take_the_ones_before(struct seat *seat)
{
    for (int key = 0; key < SPREADS; key++) {
        run_steps(seat, FIRST, key, -1);
    }
}

static void large_results_are_taken(struct seat *seat)
{
    run_steps(seat, LARGE, 20, -1);
}

static void who_skips_steps_leaves_them_to_the_others(struct seat *seat)
{
    run_steps(seat, FIRST, 30, 0);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    run_steps(seat, LARGE, 31, seat->size - 1);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

/* Nobody can ask a rank that leaves for large results: those who take them make them
 * again, and it waits for what they make of that.  The last results that it made go
 * with it. */
static void large_results_of_who_leaves_are_made_again(struct seat *seat)
{
    uint64_t rows[2][MOST];
    fill_first(rows[0], COUNT);
    moot_array array = spawn_one(seat, LARGE, COUNT, 50, spreads[0]);
    for (int step = 0; step < STEPS; step++) {
        take(maps[2].sources, COUNT, rows[step % 2], rows[(step + 1) % 2]);
        moot_array next_one = spawn_next(seat, array, COUNT, 2, spreads[0]);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
        array = next_one;
    }
    if (seat->rank == 1) {
        EXPECT(seat, moot_leave(seat->m), MOOT_OK);
        return;
    }
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    moot_task own;
    const void *data = NULL;
    const uint64_t first_own =
        ((uint64_t)seat->rank * COUNT + (uint64_t)seat->size - 1) /
        (uint64_t)seat->size;
    EXPECT(seat, moot_array_at(seat->m, array, first_own, &own), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, own, MOOT_FOREVER, &data, NULL), MOOT_OK);
    CHECK(seat, data != NULL && *(const uint64_t *)data == rows[STEPS % 2][first_own]);
    EXPECT(seat, moot_task_release(seat->m, own), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* Rank 0 has the first array alone, and all have the second. */
static void who_lacks_the_input_gets_it(struct seat *seat)
{
    uint64_t from[MOST], to[MOST];
    fill_first(from, COUNT);
    take(cut, COUNT, from, to);
    if (seat->rank == 0) {
        moot_array one = spawn_one(seat, FIRST, COUNT, 40, spreads[0]);
        moot_array two = spawn_next(seat, one, COUNT, 2, spreads[0]);
        check_all(seat, two, COUNT, to);
        EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, two), MOOT_OK);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

/* Two inputs: first all of one's, then all of the other's. */
static void inputs_come_in_their_order(struct seat *seat)
{
    uint64_t to[MOST];
    moot_array one = spawn_one(seat, FIRST, COUNT, 50, spreads[0]);
    moot_array few = spawn_one(seat, FIRST, 3, 51, spreads[1]);
    const moot_array_input inputs[] = {{.array = few, .map = MOOT_MAP_ALL},
                                       {.array = one}};
    const moot_array_spec spec = {.kernel = seat->kernels[NEXT],
                                  .count = COUNT,
                                  .inputs = inputs,
                                  .input_count = 2};
    moot_array array = {0};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t sum = mix(mix(first_of(0), first_of(1)), first_of(2));
        to[i] = mix(mix(sum, first_of(i)), i);
    }
    check_all(seat, array, COUNT, to);
    EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, few), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void what_takes_a_failed_element_fails(struct seat *seat)
{
    moot_array one = spawn_one(seat, FAULTY, COUNT, 60, spreads[0]);
    moot_array two = spawn_next(seat, one, COUNT, 2, spreads[0]);
    EXPECT(seat, moot_array_wait(seat->m, two, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, two), MOOT_OK);
}

/* The first failure stands first, and the rest is short.  A rank whose own elements
 * have not failed says who has. */
static void a_chain_that_fails_says_why_first(struct seat *seat)
{
    moot_array array = spawn_one(seat, FAULTY, COUNT, 61, spreads[0]);
    for (int step = 0; step < STEPS; step++) {
        moot_array next_one = spawn_next(seat, array, COUNT, 2, spreads[0]);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
        array = next_one;
    }
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    const char *why = moot_last_error(seat->m);
    const bool here = strstr(why, "failed on another rank") == NULL;
    const char *pump = strstr(why, "the pump is dry\n  so element ");
    CHECK(seat, !here || (pump != NULL && strncmp(why, "element 5: ", 11) == 0));
    CHECK(seat, !here || strstr(why, " more failed, each by the one before\n") != NULL);
    CHECK(seat, (here || seat->size > 1) && strlen(why) < 800);
    if (here) {
        moot_task_info info;
        EXPECT(seat, moot_task_info(seat->m, (moot_task){array.id}, &info), MOOT_OK);
        CHECK(seat, info.code == 7);
    }
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void refuse(struct seat *seat, moot_array_input input, int code, const char *why)
{
    moot_array array;
    const moot_array_spec spec = {.kernel = seat->kernels[NEXT],
                                  .count = 100,
                                  .inputs = &input,
                                  .input_count = 1};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), code);
    CHECK(seat, strstr(moot_last_error(seat->m), why) != NULL);
}

static void what_is_no_input_is_refused(struct seat *seat)
{
    moot_array array;
    moot_task task;
    moot_array one = spawn_one(seat, FIRST, COUNT, 70, spreads[0]);
    refuse(seat, (moot_array_input){.array = one}, MOOT_ERR_INVALID, "'moot.same'");
    refuse(seat, (moot_array_input){.array = one, .map = {99}}, MOOT_ERR_INVALID,
           ".inputs[0].map");
    refuse(seat, (moot_array_input){.array = one, .map = MOOT_MAP_WINDOW},
           MOOT_ERR_INVALID, "'moot.window'");
    refuse(seat, (moot_array_input){.array = {0}}, MOOT_ERR_STALE,
           ".inputs[0] has neither");
    const moot_task_spec single = {.kernel = seat->kernels[RELAY]};
    EXPECT(seat, moot_task_spawn(seat->m, &single, &task), MOOT_OK);
    refuse(seat, (moot_array_input){.array = {task.id}}, MOOT_ERR_INVALID, "a task's");
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    const moot_array_spec none = {
        .kernel = seat->kernels[NEXT], .count = 1, .input_count = 1};
    EXPECT(seat, moot_array_spawn(seat->m, &none, &array), MOOT_ERR_INVALID);
    EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
}

/* The refusal for an array of 100 elements: both counts, and the element that has none.
 */
static void a_map_that_does_not_fit_says_why(struct seat *seat)
{
    static const moot_map_window upside = {2, -1, MOOT_EDGE_CUT},
                                 far = {0, INT64_C(1) << 34, MOOT_EDGE_CUT},
                                 round = {-1, 1, MOOT_EDGE_WRAP}, odd = {0, 0, 9};
    static const moot_map_shift far_off = {-(INT64_C(1) << 34), MOOT_EDGE_CUT};
    static const moot_map_transpose table = {10, 11}, small = {10, 10};
    static const moot_map_blocks none = {0}, large = {4};
    const struct {
        moot_map_id map;
        const void *args;
        size_t size;
        const char *why;
    } rows[] = {
        {MOOT_MAP_SAME, NULL, 0,
         "the array has 100 elements, and the input 37, so there is none for element "
         "37: spawn 37 at most"},
        {MOOT_MAP_SAME, &none, 8, "it has no arguments, and .map_args_size is 8"},
        {MOOT_MAP_ALL, &none, 8, "it has no arguments, and .map_args_size is 8"},
        {MOOT_MAP_WINDOW, &none, 8, "a moot_map_window of 24 bytes, and .map_args_"},
        {MOOT_MAP_WINDOW, &upside, 24, ".low, 2, is above .high, -1: element i takes"},
        {MOOT_MAP_WINDOW, &far, 24, ".high, 17179869184, is farther than 2^33 from 0"},
        {MOOT_MAP_WINDOW, &round, 24,
         "the array has 100 elements, and the input 37, and MOOT_EDGE_WRAP is of "
         "arrays "
         "of equal counts: give MOOT_EDGE_CUT, or spawn 37"},
        {MOOT_MAP_WINDOW, &odd, 24, ".edges is 9: give MOOT_EDGE_CUT (0) or "},
        {MOOT_MAP_SHIFT, &far_off, 16, ".by, -17179869184, is farther than 2^33"},
        {MOOT_MAP_TRANSPOSE, &table, 16,
         ".rows * .columns, 10 * 11, is not 100, the count of the array"},
        {MOOT_MAP_TRANSPOSE, &small, 16, "so element 37 of the longer one has no"},
        {MOOT_MAP_BLOCKS, &none, 8, ".size is 0"},
        {MOOT_MAP_BLOCKS, &large, 8,
         "which are 10 blocks of 4, so there is none for element 10: spawn 10"},
    };
    moot_array one = spawn_one(seat, FIRST, COUNT, 71, spreads[0]);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        refuse(seat,
               (moot_array_input){.array = one,
                                  .map = rows[i].map,
                                  .map_args = rows[i].args,
                                  .map_args_size = rows[i].size},
               MOOT_ERR_INVALID, rows[i].why);
    }
    EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
    moot_array many = spawn_one(seat, FIRST, 5000, 72, spreads[0]);
    refuse(seat, (moot_array_input){.array = many, .map = MOOT_MAP_ALL}, MOOT_ERR_LIMIT,
           "an element takes 5000 of the input's 5000, and may take 4096: reduce");
    EXPECT(seat, moot_array_release(seat->m, many), MOOT_OK);
}

#define INPUT_SCENE(fn, ...)                                                           \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = array_kernels, __VA_ARGS__     \
    }

static const char *const workers[] = {"MOOT_THREADS=3", NULL};

static const struct scene scenes[] = {
    INPUT_SCENE(what_a_map_says_is_taken, .after = closes_well),
    INPUT_SCENE(what_a_map_says_is_taken, .after = closes_well, .knobs = workers),
    INPUT_SCENE(steps_take_the_ones_before, .after = closes_well),
    INPUT_SCENE(steps_take_the_ones_before, .after = closes_well, .knobs = workers),
    INPUT_SCENE(large_results_are_taken, .after = closes_well),
    INPUT_SCENE(who_skips_steps_leaves_them_to_the_others, .after = closes_well),
    INPUT_SCENE(large_results_of_who_leaves_are_made_again, .after = closes_well,
                .sizes = {2, 3, 4}),
    INPUT_SCENE(who_lacks_the_input_gets_it, .after = closes_well),
    INPUT_SCENE(inputs_come_in_their_order, .after = closes_well),
    INPUT_SCENE(what_takes_a_failed_element_fails, .after = closes_well),
    INPUT_SCENE(a_chain_that_fails_says_why_first, .after = closes_well),
    INPUT_SCENE(what_is_no_input_is_refused, .after = closes_well),
    INPUT_SCENE(a_map_that_does_not_fit_says_why, .after = closes_well),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
