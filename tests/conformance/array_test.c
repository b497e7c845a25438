/* array_test.c - task arrays: each element runs once in the whole job, whoever spawns
 * the array, and what it made can be read and taken by tasks.
 */
#include "hashing/identity.h"
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { SQUARES = RELAY + 1, FAULTY, SUMS, NESTING, VARYING, SLOWLY, NAMES };
enum { COUNT = 1000, FAULTY_AT = 17 };

/* So often each element ran, in all ranks' kernels. */
static atomic_int runs[COUNT];

struct squared {
    uint64_t square;
    int32_t offset;
};

static int square_of(moot_call *call, void *user)
{
    (void)user;
    const uint64_t index = moot_call_index(call);
    size_t size = 0;
    const int32_t *offset = moot_call_args(call, &size);
    struct squared *out = moot_call_output(call, sizeof(*out));
    if (out == NULL || size != sizeof(*offset) || index >= moot_call_count(call)) {
        return MOOT_ERR_INVALID;
    }
    *out = (struct squared){index * index, *offset};
    runs[index % COUNT]++;
    return MOOT_OK;
}

static int faulty(moot_call *call, void *user)
{
    if (moot_call_index(call) >= FAULTY_AT && moot_call_index(call) % 2 == 1) {
        return moot_call_fail(call, 7, "the pump is dry");
    }
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int sum_of(moot_call *call, void *user)
{
    (void)user;
    uint64_t *out = moot_call_output(call, sizeof(*out));
    for (size_t i = 0; out != NULL && i < moot_call_input_count(call); i++) {
        const struct squared *input = moot_call_input(call, i, NULL);
        *out = (i == 0 ? 0 : *out) + input->square;
    }
    return out != NULL && moot_call_count(call) == 1 && moot_call_index(call) == 0
               ? MOOT_OK
               : MOOT_ERR_NO_MEMORY;
}

static int run_slowly(moot_call *call, void *user)
{
    const struct timespec pause = {0, 1000000};
    (void)user;
    nanosleep(&pause, NULL);
    runs[moot_call_index(call)]++;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int nesting(moot_call *call, void *user)
{
    const struct seat *seat = user;
    moot_task child;
    const moot_task_spec spec = {.kernel = seat->kernels[SUMS]};
    moot_array array;
    const moot_array_spec many = {.kernel = seat->kernels[SQUARES], .count = 2};
    bool refused = moot_call_spawn(call, &spec, &child) == MOOT_ERR_STATE;
    refused &= moot_array_spawn(seat->m, &many, &array) == MOOT_ERR_STATE &&
               strstr(moot_last_error(seat->m), "moot_array_spawn") != NULL;
    return refused && moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_INVALID;
}

/* Asks twice: the first time it is worked out. */
static int name_of(moot_call *call, void *user)
{
    const moot_hash first = *moot_call_hash(call);
    moot_hash *out = moot_call_output(call, sizeof(*out));
    (void)user;
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = *moot_call_hash(call);
    return memcmp(out, &first, sizeof(first)) == 0 ? MOOT_OK : MOOT_ERR_INVALID;
}

static void add(struct seat *seat, int at, const char *name, moot_kernel_fn fn,
                uint32_t flags)
{
    const moot_kernel kernel = {.name = name, .fn = fn, .user = seat, .flags = flags};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void array_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, SQUARES, "square.of", square_of, 0);
    add(seat, FAULTY, "faulty", faulty, 0);
    add(seat, SUMS, "sum.of", sum_of, 0);
    add(seat, NESTING, "nesting", nesting, 0);
    add(seat, SLOWLY, "slowly", run_slowly, 0);
    add(seat, NAMES, "name.of", name_of, 0);
    add(seat, VARYING, "varying", square_of, MOOT_KERNEL_NONDETERMINISTIC);
}

static void forget_runs(struct seat *seat)
{
    pthread_barrier_wait(seat->barrier);
    if (seat->rank == 0) {
        memset(runs, 0, sizeof(runs));
    }
    pthread_barrier_wait(seat->barrier);
}

static void check_runs(struct seat *seat, int count, int each)
{
    pthread_barrier_wait(seat->barrier);
    for (int i = 0; seat->rank == 0 && i < count; i++) {
        CHECK(seat, runs[i] == each);
    }
    pthread_barrier_wait(seat->barrier);
}

static moot_array spawn_squares(struct seat *seat, uint64_t count, int32_t offset,
                                moot_spread spread)
{
    moot_array array = {0};
    EXPECT(seat,
           moot_array_spawn(seat->m,
                            &(moot_array_spec){.kernel = seat->kernels[SQUARES],
                                               .count = count,
                                               .args = &offset,
                                               .args_size = sizeof(offset),
                                               .spread = spread,
                                               .label = "squares"},
                            &array),
           MOOT_OK);
    return array;
}

static void read_square(struct seat *seat, moot_array array, uint64_t index,
                        int32_t offset)
{
    moot_task task;
    const void *data = NULL;
    size_t size = 0;
    EXPECT(seat, moot_array_at(seat->m, array, index, &task), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &size), MOOT_OK);
    const struct squared *squared = data;
    CHECK(seat, size == sizeof(*squared) && squared->square == index * index &&
                    squared->offset == offset);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

/* --- Alike on all ranks ----------------------------------------------------------- */

static const moot_spread spreads[] = {{MOOT_SPREAD_BLOCK, 0},
                                      {MOOT_SPREAD_CYCLIC, 0},
                                      {MOOT_SPREAD_CYCLIC, 7},
                                      {MOOT_SPREAD_HASHED, 0}};

static void each_element_runs_once(struct seat *seat)
{
    for (int i = 0; i < 4; i++) {
        forget_runs(seat);
        moot_array array = spawn_squares(seat, COUNT, i, spreads[i]);
        moot_array again = spawn_squares(seat, COUNT, i, spreads[i]);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
        check_runs(seat, COUNT, 1);
        EXPECT(seat, moot_array_wait(seat->m, again, 0), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, again), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, again), MOOT_ERR_STALE);
    }
}

static void what_elements_made_can_be_read_by_all(struct seat *seat)
{
    enum { FEW = 11 };
    for (int i = 0; i < 4; i++) {
        forget_runs(seat);
        moot_array array = spawn_squares(seat, FEW, -1 - i, spreads[i]);
        for (uint64_t index = 0; index < FEW; index++) {
            read_square(seat, array, index, -1 - i);
        }
        check_runs(seat, FEW, 1);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

static void a_rank_alone_may_read(struct seat *seat)
{
    forget_runs(seat);
    moot_array array = spawn_squares(seat, 40, 50, spreads[0]);
    if (seat->rank == seat->size - 1) {
        read_square(seat, array, 0, 50);
        read_square(seat, array, 39, 50);
    } else {
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    check_runs(seat, 40, 1);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void elements_are_inputs_of_tasks(struct seat *seat)
{
    enum { FEW = 9 };
    moot_task inputs[FEW], task;
    const void *data = NULL;
    moot_array array = spawn_squares(seat, FEW, 60, spreads[0]);
    for (uint64_t i = 0; i < FEW; i++) {
        EXPECT(seat, moot_array_at(seat->m, array, i, &inputs[i]), MOOT_OK);
    }
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[SUMS],
                                             .inputs = inputs,
                                             .input_count = FEW},
                           &task),
           MOOT_OK);
    for (int i = 0; i < FEW; i++) {
        EXPECT(seat, moot_task_release(seat->m, inputs[i]), MOOT_OK);
    }
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL), MOOT_OK);
    CHECK(seat, data != NULL && *(const uint64_t *)data == 204);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

static void a_group_waits_for_its_arrays(struct seat *seat)
{
    forget_runs(seat);
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    moot_array array = spawn_squares(seat, 100, 70, spreads[1]);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, 0), MOOT_OK);
    check_runs(seat, 100, 1);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* --- Unlike ----------------------------------------------------------------------- */

static void who_skips_an_array_leaves_it_to_the_others(struct seat *seat)
{
    forget_runs(seat);
    if (seat->rank == 0) {
        moot_array array = spawn_squares(seat, 100, 80, spreads[0]);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    check_runs(seat, 100, 1);
}

/* A reader of an element whose home skipped the array may run it again. */
static void and_they_can_read_it(struct seat *seat)
{
    if (seat->rank == seat->size - 1) {
        moot_array array = spawn_squares(seat, 12, 90, spreads[0]);
        for (uint64_t i = 0; i < 12; i++) {
            read_square(seat, array, i, 90);
        }
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

static void who_leaves_has_run_its_own(struct seat *seat)
{
    moot_array array;
    forget_runs(seat);
    const moot_array_spec spec = {.kernel = seat->kernels[SLOWLY], .count = 40};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    pthread_barrier_wait(seat->barrier); /* all hold it: it is nobody's alone */
    if (seat->rank == 1) {               /* in the middle of them */
        (void)moot_array_wait(seat->m, array, MOOT_MILLISECONDS(3));
        EXPECT(seat, moot_leave(seat->m), MOOT_OK);
    } else {
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    }
    check_runs(seat, 40, 1);
    if (seat->rank != 1) {
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

/* --- Failures --------------------------------------------------------------------- */

static void an_element_that_fails_fails_its_array(struct seat *seat)
{
    moot_array array;
    moot_task task;
    const moot_array_spec spec = {.kernel = seat->kernels[FAULTY], .count = 40};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, strstr(moot_last_error(seat->m), "element") != NULL);
    EXPECT(seat, moot_array_at(seat->m, array, 0, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* A shuffled array begins with others. */
static void of_failures_that_of_the_least_index_is_told(struct seat *seat)
{
    const moot_array_spec spec = {.kernel = seat->kernels[FAULTY],
                                  .count = COUNT,
                                  .spread = {MOOT_SPREAD_HASHED, 0}};
    moot_array array;
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "element 17: "));
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void an_element_spawns_nothing(struct seat *seat)
{
    moot_array array;
    const moot_array_spec spec = {.kernel = seat->kernels[NESTING], .count = 5};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void refuse(struct seat *seat, moot_array_spec spec, const char *why)
{
    moot_array array;
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_ERR_INVALID);
    CHECK(seat, strstr(moot_last_error(seat->m), why) != NULL);
}

static void what_is_no_array_is_refused(struct seat *seat)
{
    const moot_kernel_id kernel = seat->kernels[SQUARES];
    moot_task task;
    refuse(seat, (moot_array_spec){.kernel = kernel}, ".count");
    refuse(seat, (moot_array_spec){.kernel = kernel, .count = UINT64_C(1) << 33},
           ".count");
    refuse(seat, (moot_array_spec){.kernel = kernel, .count = 1, .flags = 4}, ".flags");
    refuse(seat,
           (moot_array_spec){
               .kernel = kernel, .count = 1, .spread = {MOOT_SPREAD_BLOCK, 2}},
           ".spread.block");
    refuse(seat,
           (moot_array_spec){
               .kernel = kernel, .count = 1, .spread = {(enum moot_spread_kind)9, 0}},
           ".spread.kind");
    refuse(seat, (moot_array_spec){.kernel = seat->kernels[VARYING], .count = 1},
           "non-deterministic");
    moot_array array = spawn_squares(seat, 3, 0, spreads[0]);
    EXPECT(seat, moot_array_at(seat->m, array, 3, &task), MOOT_ERR_INVALID);
    EXPECT(seat, moot_array_at(seat->m, (moot_array){0}, 0, &task), MOOT_ERR_STALE);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    EXPECT(seat, moot_array_at(seat->m, array, 0, &task), MOOT_ERR_STALE);
    EXPECT(seat, moot_array_wait(seat->m, array, 0), MOOT_ERR_STALE);
    CHECK(seat, strstr(moot_last_error(seat->m), "moot_array_wait") != NULL);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_ERR_STALE);
    CHECK(seat, strstr(moot_last_error(seat->m), "moot_array_release") != NULL);
    EXPECT(seat,
           moot_task_spawn(seat->m, &(moot_task_spec){.kernel = seat->kernels[RELAY]},
                           &task),
           MOOT_OK);
    EXPECT(seat, moot_array_at(seat->m, (moot_array){task.id}, 0, &task),
           MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

/* --- Nobody waits ----------------------------------------------------------------- */

static void it_runs_before_the_moot_closes(struct seat *seat)
{
    forget_runs(seat);
    moot_array array = spawn_squares(seat, COUNT, 99, spreads[3]);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void all_ran(struct seat *seat) { check_runs(seat, COUNT, 1); }

/* However many ranks there are, and wherever it runs. */
static void an_element_has_the_same_hash_everywhere(struct seat *seat)
{
    static const char *const expected[] = {"1959ec172cd9f382a119d2aece9b77e0",
                                           "25a1a1d44cf7b5640386be81c3bc5fe0",
                                           "045af4008a0a2b398f6d33cb558e52a0"};
    moot_array array;
    const moot_array_spec spec = {.kernel = seat->kernels[NAMES], .count = 3};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    for (uint64_t i = 0; i < 3; i++) {
        moot_task task;
        const void *data = NULL;
        char text[MOOT_HASH_TEXT_BYTES] = "";
        EXPECT(seat, moot_array_at(seat->m, array, i, &task), MOOT_OK);
        EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL),
               MOOT_OK);
        if (data != NULL) {
            hash_format(data, text);
        }
        CHECK(seat, strcmp(text, expected[i]) == 0);
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    }
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static const char *const workers[] = {"MOOT_THREADS=3", NULL};

#define ARRAY_SCENE(fn, ...)                                                           \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = array_kernels, __VA_ARGS__     \
    }

static const struct scene scenes[] = {
    ARRAY_SCENE(each_element_runs_once, .after = closes_well),
    ARRAY_SCENE(each_element_runs_once, .after = closes_well, .knobs = workers),
    ARRAY_SCENE(what_elements_made_can_be_read_by_all, .after = closes_well),
    ARRAY_SCENE(a_rank_alone_may_read, .after = closes_well),
    ARRAY_SCENE(elements_are_inputs_of_tasks, .after = closes_well),
    ARRAY_SCENE(a_group_waits_for_its_arrays, .after = closes_well),
    ARRAY_SCENE(who_skips_an_array_leaves_it_to_the_others, .after = closes_well),
    ARRAY_SCENE(and_they_can_read_it, .after = closes_well),
    ARRAY_SCENE(who_leaves_has_run_its_own, .after = closes_well, .sizes = {2, 3, 4}),
    ARRAY_SCENE(an_element_that_fails_fails_its_array, .after = closes_well),
    ARRAY_SCENE(of_failures_that_of_the_least_index_is_told, .after = closes_well,
                .sizes = {1}),
    ARRAY_SCENE(an_element_has_the_same_hash_everywhere, .after = closes_well),
    ARRAY_SCENE(an_element_spawns_nothing, .after = closes_well),
    ARRAY_SCENE(what_is_no_array_is_refused, .after = closes_well),
    ARRAY_SCENE(it_runs_before_the_moot_closes, .after = all_ran),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
