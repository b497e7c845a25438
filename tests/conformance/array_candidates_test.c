/* array_candidates_test.c - arrays with candidates: these alone run elements, whoever
 * spawns it, and whoever takes from it, reads it or combines it gets the same.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { TRACKED = RELAY + 1, AFTER, ADD };
enum { COUNT = 120, ELSEWHERE = -1 };

static atomic_int runs[COUNT], ran_by[COUNT];

static int track(moot_call *call, void *user)
{
    const struct seat *seat = user;
    const uint64_t index = moot_call_index(call);
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = 5 * index;
    runs[index]++;
    ran_by[index] = seat->rank;
    return MOOT_OK;
}

/* Gives on what it takes, and by whom it is run. */
static int after(moot_call *call, void *user)
{
    const struct seat *seat = user;
    const uint64_t *in = moot_call_input(call, 0, NULL);
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL || *in != 5 * moot_call_index(call)) {
        return moot_call_fail(call, 1, "takes something else");
    }
    *out = *in + 1;
    ran_by[moot_call_index(call)] = seat->rank;
    return MOOT_OK;
}

static int add(moot_call *call, void *user)
{
    const struct seat *seat = user;
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = 0;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        *out += *(const uint64_t *)moot_call_input(call, i, NULL);
    }
    ran_by[COUNT - 1] = seat->rank;
    return MOOT_OK;
}

static void own_kernels(struct seat *seat)
{
    const moot_kernel tracked = {.name = "track", .fn = track, .user = seat};
    const moot_kernel taker = {.name = "after", .fn = after, .user = seat};
    const moot_kernel adder = {.name = "add", .fn = add, .user = seat};
    kernels(seat);
    EXPECT(seat, moot_kernel_register(seat->m, &tracked, &seat->kernels[TRACKED]),
           MOOT_OK);
    EXPECT(seat, moot_kernel_register(seat->m, &taker, &seat->kernels[AFTER]), MOOT_OK);
    EXPECT(seat, moot_kernel_register(seat->m, &adder, &seat->kernels[ADD]), MOOT_OK);
}

static void forget_runs(struct seat *seat)
{
    pthread_barrier_wait(seat->barrier);
    for (int i = 0; i < COUNT && seat->rank == 0; i++) {
        runs[i] = 0;
        ran_by[i] = ELSEWHERE;
    }
    pthread_barrier_wait(seat->barrier);
}

static const enum moot_spread_kind kinds[] = {MOOT_SPREAD_BLOCK, MOOT_SPREAD_CYCLIC,
                                              MOOT_SPREAD_HASHED};

/* All but the first, the last alone, or the last two. */
static size_t choose(const struct seat *seat, int how, int ranks[SEATS_MAX])
{
    size_t count = 0;
    for (int rank = 0; rank < seat->size; rank++) {
        const int behind = seat->size - 1 - rank;
        if (how == 0 ? rank > 0 || seat->size == 1 : behind < how) {
            ranks[count++] = rank;
        }
    }
    return count;
}

static bool is_one_of(int rank, const int *ranks, size_t count)
{
    bool is = false;
    for (size_t i = 0; i < count; i++) {
        is |= ranks[i] == rank;
    }
    return is;
}

static moot_array_spec spec_of(const struct seat *seat, const int32_t *key,
                               const int *ranks, size_t count)
{
    return (moot_array_spec){.kernel = seat->kernels[TRACKED],
                             .count = COUNT,
                             .key = key,
                             .key_size = sizeof(*key),
                             .spread = {.kind = kinds[*key % 3]},
                             .candidates = {ranks, count}};
}

static void check_ran_by(struct seat *seat, const int *ranks, size_t count)
{
    pthread_barrier_wait(seat->barrier);
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK(seat, runs[i] == 1);
        CHECK(seat, is_one_of(ran_by[i], ranks, count));
    }
    pthread_barrier_wait(seat->barrier);
}

static void read_one(struct seat *seat, moot_array array, uint64_t index,
                     uint64_t value)
{
    moot_task task;
    const void *data;
    EXPECT(seat, moot_array_at(seat->m, array, index, &task), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL), MOOT_OK);
    CHECK(seat, *(const uint64_t *)data == value);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

static void candidates_run_all_and_others_wait_and_read(struct seat *seat)
{
    int ranks[SEATS_MAX];
    for (int32_t key = 0; key < 9; key++) {
        const size_t count = choose(seat, key / 3, ranks);
        forget_runs(seat);
        const moot_array_spec spec = spec_of(seat, &key, ranks, count);
        moot_array array;
        EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
        check_ran_by(seat, ranks, count);
        read_one(seat, array, (uint64_t)(7 * key), (uint64_t)(35 * key));
        pthread_barrier_wait(seat->barrier);
        CHECK(seat, runs[7 * key] == 1);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

/* Each candidate but the last skips it. */
static void another_candidate_runs_what_one_skips(struct seat *seat)
{
    int ranks[SEATS_MAX];
    for (int32_t key = 20; key < 23; key++) {
        const size_t count = choose(seat, 2, ranks);
        const int last = ranks[count - 1];
        const bool skips = seat->rank != last && is_one_of(seat->rank, ranks, count);
        forget_runs(seat);
        const moot_array_spec spec = spec_of(seat, &key, ranks, count);
        moot_array array;
        if (!skips) {
            EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
            EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
            EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
        }
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
        check_ran_by(seat, &last, 1);
    }
}

/* An array at the last rank takes from one at the others, and one beside it; a tree
 * combines that where it is. */
static void arrays_of_other_homes_take_from_each_other(struct seat *seat)
{
    int ranks[SEATS_MAX], all[] = {seat->size - 1};
    for (int32_t key = 30; key < 33; key++) {
        const size_t count = choose(seat, 0, ranks);
        forget_runs(seat);
        const moot_array_spec spec = spec_of(seat, &key, ranks, count);
        moot_array first, next, near;
        moot_task total;
        const void *data;
        EXPECT(seat, moot_array_spawn(seat->m, &spec, &first), MOOT_OK);
        const moot_array_input input = {.array = first};
        moot_array_spec taker = spec_of(seat, &key, all, 1);
        taker.kernel = seat->kernels[AFTER];
        taker.inputs = &input;
        taker.input_count = 1;
        EXPECT(seat, moot_array_spawn(seat->m, &taker, &next), MOOT_OK);
        EXPECT(seat, moot_array_wait(seat->m, next, MOOT_FOREVER), MOOT_OK);
        read_one(seat, next, 17, 86);
        pthread_barrier_wait(seat->barrier);
        for (int i = 0; i < COUNT; i++) {
            CHECK(seat, ran_by[i] == all[0]);
        }
        pthread_barrier_wait(seat->barrier);
        taker.candidates = (moot_ranks){NULL, 0};
        taker.spread = (moot_spread){.kind = MOOT_SPREAD_BLOCK};
        taker.beside = first;
        EXPECT(seat, moot_array_spawn(seat->m, &taker, &near), MOOT_OK);
        EXPECT(seat, moot_array_wait(seat->m, near, MOOT_FOREVER), MOOT_OK);
        pthread_barrier_wait(seat->barrier);
        for (int i = 0; i < COUNT; i++) {
            CHECK(seat, is_one_of(ran_by[i], ranks, count));
        }
        pthread_barrier_wait(seat->barrier);
        const moot_task_spec combine = {.kernel = seat->kernels[ADD]};
        EXPECT(seat, moot_array_reduce(seat->m, next, &combine, &total), MOOT_OK);
        EXPECT(seat, moot_task_fetch(seat->m, total, MOOT_FOREVER, &data, NULL),
               MOOT_OK);
        CHECK(seat, *(const uint64_t *)data == 5 * (COUNT * (COUNT - 1) / 2) + COUNT);
        CHECK(seat, ran_by[COUNT - 1] == all[0]);
        EXPECT(seat, moot_task_release(seat->m, total), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, near), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, next), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, first), MOOT_OK);
    }
}

/* Rank 0 alone spawns it, and is no candidate; all find its elements by the hash. */
static void elements_are_found_by_the_hash(struct seat *seat)
{
    static moot_hash hash;
    int last[] = {seat->size - 1};
    const int32_t key = 40;
    const moot_array_spec spec = spec_of(seat, &key, last, 1);
    moot_array array = {0};
    moot_task task;
    const void *data;
    forget_runs(seat);
    if (seat->rank == 0 || seat->rank == last[0]) {
        EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    }
    if (seat->rank == 0) {
        EXPECT(seat, moot_array_hash(seat->m, array, &hash), MOOT_OK);
    }
    pthread_barrier_wait(seat->barrier);
    EXPECT(seat, moot_array_find(seat->m, &hash, 11, &task), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL), MOOT_OK);
    CHECK(seat, *(const uint64_t *)data == 55);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    check_ran_by(seat, last, 1);
    if (array.id != 0) {
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    }
}

static void nobody_else_runs_what_no_candidate_spawns(struct seat *seat)
{
    int last[] = {seat->size - 1};
    const int32_t key = 50;
    const moot_array_spec spec = spec_of(seat, &key, last, 1);
    moot_array array;
    forget_runs(seat);
    if (seat->rank == last[0]) {
        return;
    }
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    CHECK(seat, told(seat, ", and perhaps others, no candidate of the array had "
                           "spawned, and none could go on to"));
    CHECK(seat, runs[0] == 0 && runs[COUNT - 1] == 0);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* The only candidate leaves with its results: these are lost, and nobody spawns it. */
static void without_a_candidate_nothing_is_made_again(struct seat *seat)
{
    int last[] = {seat->size - 1};
    const int32_t key = 60, later = 61;
    moot_array_spec spec = spec_of(seat, &key, last, 1);
    moot_array array, none;
    forget_runs(seat);
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    pthread_barrier_wait(seat->barrier);
    if (seat->rank == last[0]) {
        EXPECT(seat, moot_leave(seat->m), MOOT_OK);
    }
    pthread_barrier_wait(seat->barrier);
    if (seat->rank == last[0]) {
        return;
    }
    moot_task task;
    EXPECT(seat, moot_array_at(seat->m, array, 3, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_RESULT_LOST);
    CHECK(seat, runs[3] == 1);
    spec.key = &later;
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &none), MOOT_ERR_NO_CANDIDATE);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* An element is made again by its other candidate, which then has to learn that nobody
 * has what it takes.  The tasks that read both run on ranks that have nothing else to
 * do: these are to ask for the ends of the arrays all the same. */
static void what_was_made_of_lost_results_is_lost(struct seat *seat)
{
    enum { CHAINS = 6 };
    int both[] = {seat->size - 2, seat->size - 1};
    moot_array first[CHAINS], second[CHAINS], third[CHAINS];
    for (int32_t i = 0; i < CHAINS; i++) {
        const int32_t key = 90 + 3 * i; /* in blocks: the last has the second half */
        moot_array_spec spec = spec_of(seat, &key, &both[1], 1);
        EXPECT(seat, moot_array_spawn(seat->m, &spec, &first[i]), MOOT_OK);
        moot_array_input input = {.array = first[i]};
        spec.kernel = seat->kernels[AFTER];
        spec.candidates = (moot_ranks){both, 2};
        spec.inputs = &input;
        spec.input_count = 1;
        EXPECT(seat, moot_array_spawn(seat->m, &spec, &second[i]), MOOT_OK);
        input.array = second[i];
        spec.kernel = seat->kernels[ADD];
        EXPECT(seat, moot_array_spawn(seat->m, &spec, &third[i]), MOOT_OK);
    }
    for (int i = 0; i < CHAINS; i++) {
        EXPECT(seat, moot_array_wait(seat->m, third[i], MOOT_FOREVER), MOOT_OK);
    }
    pthread_barrier_wait(seat->barrier);
    if (seat->rank == both[1]) {
        EXPECT(seat, moot_leave(seat->m), MOOT_OK);
    }
    pthread_barrier_wait(seat->barrier);
    for (int i = 0; i < CHAINS && seat->rank != both[1]; i++) {
        const moot_array read = i % 2 == 0 ? second[i] : third[i];
        moot_task task;
        EXPECT(seat, moot_array_at(seat->m, read, COUNT - 1, &task), MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_RESULT_LOST);
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, first[i]), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, second[i]), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, third[i]), MOOT_OK);
    }
}

static void refuse(struct seat *seat, const moot_array_spec *spec, int code,
                   const char *why)
{
    moot_array array;
    EXPECT(seat, moot_array_spawn(seat->m, spec, &array), code);
    CHECK(seat, strstr(moot_last_error(seat->m), why) != NULL);
}

static void bad_candidates_are_refused(struct seat *seat)
{
    int beyond[] = {0, seat->size}, one[] = {0};
    const int32_t key = 70;
    moot_array_spec spec = spec_of(seat, &key, beyond, 2);
    refuse(seat, &spec, MOOT_ERR_INVALID, "is not one of 0..");
    spec.candidates = (moot_ranks){beyond, 0};
    refuse(seat, &spec, MOOT_ERR_INVALID, "empty");
    spec.candidates = (moot_ranks){NULL, 1};
    refuse(seat, &spec, MOOT_ERR_INVALID, "empty");
    spec.candidates = (moot_ranks){one, 1};
    spec.pset = "mpi://WORLD";
    refuse(seat, &spec, MOOT_ERR_INVALID, ".pset and .candidates");
    spec.candidates = (moot_ranks){NULL, 0};
    spec.pset = "nothing";
    refuse(seat, &spec, MOOT_ERR_INVALID, "no process set");
    spec.pset = NULL;
    moot_array array;
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    spec.beside = array;
    spec.candidates = (moot_ranks){one, 1};
    refuse(seat, &spec, MOOT_ERR_INVALID, ".beside is given together");
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* "mpi://SELF" would be another array on each rank. */
static void a_process_set_names_them(struct seat *seat)
{
    int all[SEATS_MAX];
    const int32_t key = 80;
    moot_array_spec spec = spec_of(seat, &key, all, 0);
    moot_array array, again;
    moot_hash first, second;
    for (int rank = 0; rank < seat->size; rank++) {
        all[rank] = rank;
    }
    spec.candidates = (moot_ranks){NULL, 0};
    spec.pset = "mpi://WORLD";
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    spec.pset = NULL;
    spec.candidates = (moot_ranks){all, (size_t)seat->size};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &again), MOOT_OK);
    EXPECT(seat, moot_array_hash(seat->m, array, &first), MOOT_OK);
    EXPECT(seat, moot_array_hash(seat->m, again, &second), MOOT_OK);
    CHECK(seat, memcmp(&first, &second, sizeof(first)) == 0);
    EXPECT(seat, moot_array_wait(seat->m, again, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, again), MOOT_OK);
}

#define OWN_SCENE(fn, ...)                                                             \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = own_kernels, __VA_ARGS__       \
    }

static const struct scene scenes[] = {
    OWN_SCENE(candidates_run_all_and_others_wait_and_read, .after = closes_well),
    OWN_SCENE(another_candidate_runs_what_one_skips, .after = closes_well,
              .sizes = {2, 3, 4}),
    OWN_SCENE(arrays_of_other_homes_take_from_each_other, .after = closes_well),
    OWN_SCENE(elements_are_found_by_the_hash, .after = closes_well),
    OWN_SCENE(nobody_else_runs_what_no_candidate_spawns, .sizes = {2, 3, 4}),
    OWN_SCENE(without_a_candidate_nothing_is_made_again, .sizes = {3, 4}),
    OWN_SCENE(what_was_made_of_lost_results_is_lost, .sizes = {3, 4}),
    OWN_SCENE(bad_candidates_are_refused, .after = closes_well),
    OWN_SCENE(a_process_set_names_them, .after = closes_well),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
