/* array_adopt_test.c - an array of a portable kernel that one rank alone spawns is run
 * by all of them, and what it takes comes along; a rank that cannot run it leaves it to
 * the others.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { TRACKED = RELAY + 1, AFTER, START };
enum { COUNT = 240, ELSEWHERE = -1, ARRAYS = 3 };

/* Runs of each element, by its array's number, which is its only argument. */
static atomic_int runs[ARRAYS][COUNT], ran_by[ARRAYS][COUNT];

static void note_run(const struct seat *seat, moot_call *call)
{
    size_t size = 0;
    const int32_t *array = moot_call_args(call, &size);
    runs[*array][moot_call_index(call)]++;
    ran_by[*array][moot_call_index(call)] = seat->rank;
}

static int track(moot_call *call, void *user)
{
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = 3 * moot_call_index(call);
    note_run(user, call);
    return MOOT_OK;
}

/* The sum of all that it takes. */
static int after(moot_call *call, void *user)
{
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = 0;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        const uint64_t *in = moot_call_input(call, i, NULL);
        *out += *in;
    }
    note_run(user, call);
    return MOOT_OK;
}

static int start(moot_call *call, void *user)
{
    uint64_t *out = moot_call_output(call, sizeof(*out));
    (void)user;
    if (out != NULL) {
        *out = 1000;
    }
    return out != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void add(struct seat *seat, int at, moot_kernel kernel)
{
    kernel.user = seat;
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void portable_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, TRACKED,
        (moot_kernel){.name = "track", .fn = track, .flags = MOOT_KERNEL_PORTABLE});
    add(seat, AFTER,
        (moot_kernel){.name = "after", .fn = after, .flags = MOOT_KERNEL_PORTABLE});
    add(seat, START, (moot_kernel){.name = "start", .fn = start});
}

/* The last rank has only the kernels that all tests have. */
static void kernels_of_some(struct seat *seat)
{
    if (seat->rank < seat->size - 1 || seat->size == 1) {
        portable_kernels(seat);
    } else {
        kernels(seat);
    }
}

static void forget_runs(struct seat *seat)
{
    pthread_barrier_wait(seat->barrier);
    for (int i = 0; i < ARRAYS * COUNT && seat->rank == 0; i++) {
        runs[i / COUNT][i % COUNT] = 0;
        ran_by[i / COUNT][i % COUNT] = ELSEWHERE;
    }
    pthread_barrier_wait(seat->barrier);
}

/* The number of elements of the array that ran on this rank, and each has run once. */
static void check_share(struct seat *seat, int array, int share)
{
    int own = 0;
    pthread_barrier_wait(seat->barrier);
    for (int i = 0; i < COUNT; i++) {
        CHECK(seat, runs[array][i] == 1);
        own += ran_by[array][i] == seat->rank;
    }
    CHECK(seat, own == share);
    pthread_barrier_wait(seat->barrier);
}

static moot_array_spec spec_of(const struct seat *seat, int kernel,
                               const int32_t *number, int kind)
{
    static const enum moot_spread_kind kinds[ARRAYS] = {
        MOOT_SPREAD_BLOCK, MOOT_SPREAD_CYCLIC, MOOT_SPREAD_HASHED};
    return (moot_array_spec){.kernel = seat->kernels[kernel],
                             .count = COUNT,
                             .args = number,
                             .args_size = sizeof(*number),
                             .spread = {.kind = kinds[kind]}};
}

static moot_array spawn(struct seat *seat, const moot_array_spec *spec)
{
    moot_array array = {0};
    EXPECT(seat, moot_array_spawn(seat->m, spec, &array), MOOT_OK);
    return array;
}

static void check_element(struct seat *seat, moot_array array, uint64_t index,
                          uint64_t value)
{
    const void *got = NULL;
    moot_task task;
    EXPECT(seat, moot_array_at(seat->m, array, index, &task), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &got, NULL), MOOT_OK);
    CHECK(seat, got != NULL && *(const uint64_t *)got == value);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

/* --- Who runs it ------------------------------------------------------------------ */

/* The last rank spawns it, in each spread; the others come to their end meanwhile. */
static void one_rank_alone_spawns(struct seat *seat)
{
    forget_runs(seat);
    for (int32_t i = 0; i < ARRAYS && seat->rank == seat->size - 1; i++) {
        const moot_array_spec spec = spec_of(seat, TRACKED, &i, i);
        moot_array array = spawn(seat, &spec);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
        check_element(seat, array, 7, 21);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

static void all_ran_their_share(struct seat *seat)
{
    closes_well(seat);
    for (int i = 0; i < ARRAYS; i++) {
        check_share(seat, i, COUNT / seat->size);
    }
}

/* The last rank spawns it, and is no candidate, unless it is alone. */
static void one_who_is_no_candidate_spawns(struct seat *seat)
{
    static const int ranks[] = {0, 1, 2, 3};
    forget_runs(seat);
    for (int32_t i = 0; i < ARRAYS && seat->rank == seat->size - 1; i++) {
        moot_array_spec spec = spec_of(seat, TRACKED, &i, i);
        spec.candidates.ranks = ranks;
        spec.candidates.count = seat->size > 1 ? (size_t)seat->size - 1 : 1;
        moot_array array = spawn(seat, &spec);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
        check_element(seat, array, 7, 21);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

static void candidates_ran_their_share(struct seat *seat)
{
    const int candidates = seat->size > 1 ? seat->size - 1 : 1;
    closes_well(seat);
    for (int i = 0; i < ARRAYS; i++) {
        check_share(seat, i, seat->rank < candidates ? COUNT / candidates : 0);
    }
}

/* A chain: of a window, of the whole, and of a task that this rank alone has. */
static void one_rank_alone_spawns_a_chain(struct seat *seat)
{
    static const int32_t numbers[ARRAYS] = {0, 1, 2};
    const moot_map_window window = {0, 1, MOOT_EDGE_WRAP};
    forget_runs(seat);
    if (seat->rank > 0) {
        return;
    }
    moot_array_spec spec = spec_of(seat, TRACKED, &numbers[0], 0);
    const moot_task_spec first = {.kernel = seat->kernels[START]};
    moot_array arrays[ARRAYS];
    moot_task task;
    arrays[0] = spawn(seat, &spec);
    const moot_array_input next = {.array = arrays[0],
                                   .map = MOOT_MAP_WINDOW,
                                   .map_args = &window,
                                   .map_args_size = sizeof(window)};
    spec = spec_of(seat, AFTER, &numbers[1], 0);
    spec.inputs = &next;
    spec.input_count = 1;
    arrays[1] = spawn(seat, &spec);
    EXPECT(seat, moot_task_spawn(seat->m, &first, &task), MOOT_OK);
    const moot_array_input both[] = {{.array = arrays[1]}, {.task = task}};
    spec = spec_of(seat, AFTER, &numbers[2], 0);
    spec.inputs = both;
    spec.input_count = 2;
    arrays[2] = spawn(seat, &spec);
    EXPECT(seat, moot_array_wait(seat->m, arrays[2], MOOT_FOREVER), MOOT_OK);
    check_element(seat, arrays[2], 7, 3 * 7 + 3 * 8 + 1000);
    check_element(seat, arrays[2], COUNT - 1, 3 * (COUNT - 1) + 1000);
    for (int i = 0; i < ARRAYS; i++) {
        EXPECT(seat, moot_array_release(seat->m, arrays[i]), MOOT_OK);
    }
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

/* The first of a chain is shared; the rest is, too, or was given up before it could be
 * taken in. */
static void all_ran_their_share_of_the_first(struct seat *seat)
{
    closes_well(seat);
    check_share(seat, 0, COUNT / seat->size);
    for (int i = 0; i < ARRAYS * COUNT; i++) {
        CHECK(seat, runs[i / COUNT][i % COUNT] == 1);
    }
}

/* The others wait for a second array meanwhile, and spawn the first behind it. */
static void others_spawn_it_late(struct seat *seat)
{
    static const int32_t numbers[] = {0, 1};
    const moot_array_spec first = spec_of(seat, TRACKED, &numbers[0], 0),
                          second = spec_of(seat, TRACKED, &numbers[1], 0);
    const moot_array_spec *order[] = {&first, &second};
    forget_runs(seat);
    for (int i = 0; i < 2; i++) {
        moot_array array = spawn(seat, order[seat->rank == 0 ? i : 1 - i]);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
    check_share(seat, 0, COUNT / seat->size);
    check_share(seat, 1, COUNT / seat->size);
}

/* --- Who does not ----------------------------------------------------------------- */

static void a_rank_without_the_kernel_leaves_it(struct seat *seat)
{
    const int32_t number = 0;
    forget_runs(seat);
    if (seat->rank == 0) {
        const moot_array_spec spec = spec_of(seat, TRACKED, &number, 0);
        moot_array array = spawn(seat, &spec);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

static void the_last_ran_nothing(struct seat *seat)
{
    closes_well(seat);
    pthread_barrier_wait(seat->barrier);
    for (int i = 0; i < COUNT; i++) {
        CHECK(seat, runs[0][i] == 1);
        CHECK(seat, seat->size == 1 || ran_by[0][i] != seat->size - 1);
    }
    pthread_barrier_wait(seat->barrier);
}

/* Elements that nobody has spawned run nowhere: who has a part sends no spec. */
static void a_part_is_not_adopted(struct seat *seat)
{
    const int32_t number = 0;
    const moot_range most = {0, COUNT - 1};
    forget_runs(seat);
    if (seat->rank == 0) {
        const moot_array_spec spec = spec_of(seat, TRACKED, &number, 0);
        moot_array array = {0};
        EXPECT(seat, moot_array_spawn_some(seat->m, &spec, &most, 1, &array), MOOT_OK);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

static void the_first_ran_its_part(struct seat *seat)
{
    closes_well(seat);
    pthread_barrier_wait(seat->barrier);
    for (int i = 0; i < COUNT; i++) {
        CHECK(seat, runs[0][i] == (i < COUNT - 1));
        CHECK(seat, ran_by[0][i] <= 0);
    }
    pthread_barrier_wait(seat->barrier);
}

#define ADOPT_SCENE(fn, kernels_fn, after_fn, knobs_of)                                \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = kernels_fn, .after = after_fn, \
        .knobs = knobs_of                                                              \
    }

static const char *const workers[] = {"MOOT_THREADS=3", NULL};
static const char *const trusting[] = {"MOOT_DIVERGENCE=trust", NULL};

static const struct scene scenes[] = {
    ADOPT_SCENE(one_rank_alone_spawns, portable_kernels, all_ran_their_share, NULL),
    ADOPT_SCENE(one_rank_alone_spawns, portable_kernels, all_ran_their_share, workers),
    ADOPT_SCENE(one_rank_alone_spawns, portable_kernels, all_ran_their_share, trusting),
    ADOPT_SCENE(one_who_is_no_candidate_spawns, portable_kernels,
                candidates_ran_their_share, NULL),
    ADOPT_SCENE(one_rank_alone_spawns_a_chain, portable_kernels,
                all_ran_their_share_of_the_first, NULL),
    ADOPT_SCENE(one_rank_alone_spawns_a_chain, portable_kernels,
                all_ran_their_share_of_the_first, workers),
    ADOPT_SCENE(others_spawn_it_late, portable_kernels, closes_well, NULL),
    ADOPT_SCENE(a_rank_without_the_kernel_leaves_it, kernels_of_some,
                the_last_ran_nothing, NULL),
    ADOPT_SCENE(a_part_is_not_adopted, portable_kernels, the_first_ran_its_part, NULL),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
