/* array_task_input_test.c - arrays that take the result of a single task: each element
 * gets it, at its place among the inputs, whoever runs the task and the element.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { FIRST = RELAY + 1, NEXT };
enum { COUNT = 37, LARGE_BYTES = 300000, ROUNDS = 8 };

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

/* The first word and the size of each input. */
static int next(moot_call *call, void *user)
{
    uint64_t *out = moot_call_output(call, sizeof(*out)), sum = 0;
    (void)user;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        size_t size = 0;
        uint64_t word = 0;
        memcpy(&word, moot_call_input(call, i, &size), sizeof(word));
        sum = mix(mix(sum, word), size);
    }
    if (out != NULL) {
        *out = mix(sum, moot_call_index(call));
    }
    return out != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
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
}

/* --- Arrays ----------------------------------------------------------------------- */

static const moot_spread spreads[] = {{MOOT_SPREAD_BLOCK, 0},
                                      {MOOT_SPREAD_CYCLIC, 0},
                                      {MOOT_SPREAD_CYCLIC, 7},
                                      {MOOT_SPREAD_HASHED, 0}};

static moot_array spawn_first(struct seat *seat, int key)
{
    moot_array array = {0};
    const moot_array_spec spec = {.kernel = seat->kernels[FIRST],
                                  .count = COUNT,
                                  .key = &key,
                                  .key_size = sizeof(key),
                                  .spread = spreads[key % 4]};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    return array;
}

static int try_next(struct seat *seat, const moot_array_input *inputs, size_t count,
                    int key, moot_array *out)
{
    const moot_array_spec spec = {.kernel = seat->kernels[NEXT],
                                  .count = COUNT,
                                  .key = &key,
                                  .key_size = sizeof(key),
                                  .spread = spreads[key % 4],
                                  .inputs = inputs,
                                  .input_count = count};
    return moot_array_spawn(seat->m, &spec, out);
}

static moot_array spawn_next(struct seat *seat, const moot_array_input *inputs,
                             size_t count, int key)
{
    moot_array array = {0};
    EXPECT(seat, try_next(seat, inputs, count, key, &array), MOOT_OK);
    return array;
}

static void check_one(struct seat *seat, moot_array array, uint64_t index,
                      uint64_t wanted)
{
    moot_task task;
    const void *data = NULL;
    EXPECT(seat, moot_array_at(seat->m, array, index, &task), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL), MOOT_OK);
    CHECK(seat, data != NULL && *(const uint64_t *)data == wanted);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

/* A task of `size` bytes, and the word that they begin with. */
static moot_task spawn_source(struct seat *seat, uint64_t size, int key, uint64_t *word)
{
    moot_task task = {0};
    const moot_task_spec spec = {.kernel = seat->kernels[BIG],
                                 .args = &size,
                                 .args_size = sizeof(size),
                                 .key = &key,
                                 .key_size = sizeof(key),
                                 .owner = key % 3 == 0 ? MOOT_ON(key % seat->size)
                                                       : (moot_place){0}};
    unsigned char bytes[sizeof(*word)];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)(i * 31);
    }
    memcpy(word, bytes, sizeof(bytes));
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    return task;
}

/* The task stands among arrays, and the program lets all go at once. */
static void take_one(struct seat *seat, uint64_t size, int key)
{
    uint64_t word, sum;
    const void *data;
    moot_array one = spawn_first(seat, key), two = spawn_first(seat, 100 + key);
    moot_task task = spawn_source(seat, size, key, &word);
    const moot_array_input inputs[] = {{.array = one}, {.task = task}, {.array = two}};
    if (key % 2 == 0) { /* so it is here before the array is */
        EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL),
               MOOT_OK);
    }
    moot_array array = spawn_next(seat, inputs, 3, key);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, two), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    for (uint64_t i = 0; i < COUNT; i += 5) {
        sum = mix(mix(0, first_of(i)), sizeof(uint64_t));
        sum = mix(mix(sum, word), size);
        sum = mix(mix(sum, first_of(i)), sizeof(uint64_t));
        check_one(seat, array, i, mix(sum, i));
    }
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void each_element_takes_the_task(struct seat *seat)
{
    for (int key = 0; key < ROUNDS; key++) {
        take_one(seat, 8 + (uint64_t)key, key);
    }
}

static void large_results_of_tasks_are_taken(struct seat *seat)
{
    for (int key = 0; key < 4; key++) {
        take_one(seat, LARGE_BYTES, 20 + key);
    }
}

/* Without an input that has a schedule; and twice the same task. */
static void an_array_takes_nothing_else(struct seat *seat)
{
    uint64_t word;
    moot_task task = spawn_source(seat, 9, 40, &word);
    const moot_array_input inputs[] = {{.task = task}, {.task = task}};
    moot_array array = spawn_next(seat, inputs, 2, 41);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    for (uint64_t i = 0; i < COUNT; i += 6) {
        check_one(seat, array, i, mix(mix(mix(mix(mix(0, word), 9), word), 9), i));
    }
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* Rank 0 skips the array, and the last one both. */
static void who_skips_leaves_it_to_the_others(struct seat *seat)
{
    static const int keys[] = {50, 52, 53, 55}; /* of tasks for any rank */
    for (int i = 0; i < 4; i++) {
        const int key = keys[i];
        uint64_t word;
        if (seat->size == 1 || seat->rank < seat->size - 1) {
            moot_task task = spawn_source(seat, 12, key, &word);
            const moot_array_input input = {.task = task};
            if (seat->rank > 0 || seat->size < 3) {
                moot_array array = spawn_next(seat, &input, 1, key);
                check_one(seat, array, COUNT - 1,
                          mix(mix(mix(0, word), 12), COUNT - 1));
                EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
            }
            EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
        }
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    }
}

/* The home of the only element skips it: those who run it had nothing to take at first.
 */
static void who_had_nothing_to_run_takes_it_too(struct seat *seat)
{
    uint64_t word;
    moot_array array;
    moot_task task = spawn_source(seat, 12, 56, &word);
    const moot_array_input input = {.task = task};
    const moot_array_spec spec = {
        .kernel = seat->kernels[NEXT], .count = 1, .inputs = &input, .input_count = 1};
    if (seat->rank > 0) {
        EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
        check_one(seat, array, 0, mix(mix(mix(0, word), 12), 0));
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

static void what_takes_a_failed_task_fails(struct seat *seat)
{
    moot_task task;
    const moot_task_spec spec = {.kernel = seat->kernels[FAIL]};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    const moot_array_input input = {.task = task};
    moot_array array = spawn_next(seat, &input, 1, 60);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the pump is dry"));
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* No rank that may run it holds it. */
static void what_takes_a_task_that_nobody_runs_fails(struct seat *seat)
{
    moot_task task;
    if (seat->rank == 0) {
        const moot_task_spec spec = {.kernel = seat->kernels[EMPTY],
                                     .owner = MOOT_ON(1)};
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
        const moot_array_input input = {.task = task};
        moot_array array = spawn_next(seat, &input, 1, 65);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER),
               MOOT_ERR_TASK_FAILED);
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

/* The task goes on. */
static void an_array_that_waits_for_a_task_is_cancelled(struct seat *seat)
{
    uint64_t ms = 50;
    moot_task task;
    const moot_task_spec spec = {
        .kernel = seat->kernels[SLOW], .args = &ms, .args_size = sizeof(ms)};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    const moot_array_input input = {.task = task};
    moot_array array = spawn_next(seat, &input, 1, 70);
    EXPECT(seat, moot_array_cancel(seat->m, array), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* --- Refusals --------------------------------------------------------------------- */

static void refuse(struct seat *seat, moot_array_input input, int code, const char *why)
{
    moot_array array;
    EXPECT(seat, try_next(seat, &input, 1, 80, &array), code);
    CHECK(seat, told(seat, why));
}

static void what_is_no_single_input_is_refused(struct seat *seat)
{
    uint64_t word;
    moot_array one = spawn_first(seat, 80);
    moot_task task = spawn_source(seat, 8, 81, &word);
    const moot_task foreign = {task.id ^ UINT64_C(1) << 60};
    refuse(seat, (moot_array_input){.task = task, .array = one}, MOOT_ERR_INVALID,
           ".inputs[0] has .task, and .array");
    refuse(seat, (moot_array_input){.task = task, .map = MOOT_MAP_ALL},
           MOOT_ERR_INVALID, "a map for the latter alone");
    refuse(seat, (moot_array_input){.task = {one.id}}, MOOT_ERR_INVALID,
           "is an array's handle: give it as .array");
    refuse(seat, (moot_array_input){.task = foreign}, MOOT_ERR_FOREIGN,
           "another context");
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    refuse(seat, (moot_array_input){.task = task}, MOOT_ERR_STALE, "was released");
    EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
}

#define TASK_SCENE(fn, ...)                                                            \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = array_kernels, __VA_ARGS__     \
    }

static const char *const workers[] = {"MOOT_THREADS=3", NULL};

static const struct scene scenes[] = {
    TASK_SCENE(each_element_takes_the_task, .after = closes_well),
    TASK_SCENE(each_element_takes_the_task, .after = closes_well, .knobs = workers),
    TASK_SCENE(large_results_of_tasks_are_taken, .after = closes_well),
    TASK_SCENE(an_array_takes_nothing_else, .after = closes_well),
    TASK_SCENE(who_skips_leaves_it_to_the_others, .after = closes_well),
    TASK_SCENE(who_had_nothing_to_run_takes_it_too, .after = closes_well),
    TASK_SCENE(what_takes_a_failed_task_fails, .after = closes_well),
    TASK_SCENE(what_takes_a_task_that_nobody_runs_fails, .after = closes_well,
               .sizes = {2, 3, 4}),
    TASK_SCENE(an_array_that_waits_for_a_task_is_cancelled, .after = closes_well),
    TASK_SCENE(what_is_no_single_input_is_refused, .after = closes_well),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
