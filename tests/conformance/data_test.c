/* data_test.c - what a program may rely on that names its data: the order of accesses
 * is the order of versions, a version stays what it was for who holds it, and memory is
 * used again only where nobody can see it.
 *
 * A version here is a vector of PLACES equal numbers, so that one changed while it is
 * read is seen: its numbers are not equal.
 */
#include "tests/conformance/ranks.h"

enum { PLACES = 512, BYTES = PLACES * sizeof(uint64_t) };
enum { MAKE, ADD, DIGEST, SWAP, ODD, TWO_OF_THREE, GATE, STUMBLER };

static atomic_int in_place, copied;
static atomic_bool gate_open;

static bool all_equal(const uint64_t *vector)
{
    for (int i = 1; i < PLACES; i++) {
        if (vector[i] != vector[0]) {
            return false;
        }
    }
    return true;
}

/* args: the number */
static int make(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *number = moot_call_args(call, NULL);
    uint64_t *vector = moot_call_output(call, BYTES);
    for (int i = 0; i < PLACES; i++) {
        vector[i] = *number;
    }
    return MOOT_OK;
}

/* input 0, changed by the argument and by what else it reads */
static int add(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *number = moot_call_args(call, NULL);
    const void *before = moot_call_input(call, 0, NULL);
    uint64_t more = *number;
    for (size_t i = 1; i < moot_call_input_count(call); i++) {
        more += *(const uint64_t *)moot_call_input(call, i, NULL);
    }
    uint64_t *vector = moot_call_update(call, 0);
    if (vector == NULL || !all_equal(vector) || moot_call_update(call, 0) != vector ||
        moot_call_input(call, 0, NULL) != vector ||
        moot_call_update(call, 99) != NULL) {
        return moot_call_fail(call, 1, "not what was made");
    }
    if (before == vector) {
        in_place++;
    } else {
        copied++;
    }
    for (int i = 0; i < PLACES; i++) {
        vector[i] = vector[i] * 3 + more;
    }
    return MOOT_OK;
}

/* -> the number of each input, added up */
static int digest(moot_call *call, void *user)
{
    (void)user;
    uint64_t *sum = moot_call_output(call, sizeof(*sum));
    *sum = 0;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        const uint64_t *vector = moot_call_input(call, i, NULL);
        if (vector == NULL || !all_equal(vector)) {
            return moot_call_fail(call, 2, "a version changed under its reader");
        }
        *sum = *sum * 31 + vector[0];
    }
    return MOOT_OK;
}

/* writes both: each gets the other's number and its own place in it */
static int swap(moot_call *call, void *user)
{
    (void)user;
    size_t sizes[] = {BYTES, BYTES};
    void *parts[2];
    int error = moot_call_parts(call, 2, sizes, parts);
    for (int k = 0; error == MOOT_OK && k < 2; k++) {
        const uint64_t *from = moot_call_input(call, 1 - (size_t)k, NULL);
        uint64_t *to = parts[k];
        for (int i = 0; i < PLACES; i++) {
            to[i] = from[i] + (uint64_t)k;
        }
    }
    return error;
}

/* writes several, and makes no parts; or too few */
static int odd(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 2 * BYTES) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int two_of_three(moot_call *call, void *user)
{
    (void)user;
    size_t sizes[] = {8, 0};
    void *parts[2];
    size_t many[65] = {0};
    void *too_many[65];
    if (moot_call_parts(call, 65, many, too_many) != MOOT_ERR_LIMIT ||
        moot_call_parts(call, 0, sizes, parts) != MOOT_ERR_INVALID) {
        return moot_call_fail(call, 1, "it took what it should refuse");
    }
    int error = moot_call_parts(call, 2, sizes, parts);
    memset(parts[0], 7, 8);
    return error;
}

/* as add, but it fails when it has changed what it was given; but for the last time */
static int stumble(moot_call *call, void *user)
{
    atomic_int *left = user;
    uint64_t *vector = moot_call_update(call, 0);
    for (int i = 0; vector != NULL && i < PLACES; i++) {
        vector[i] += 100;
    }
    return vector != NULL && (*left)-- <= 0 ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* as make, once the gate is open */
static int gate(moot_call *call, void *user)
{
    while (!gate_open) {
        nap_ms(1);
    }
    return make(call, user);
}

static void kernels(struct seat *seat)
{
    add_kernel(seat, GATE, "gate", gate, 0);
    add_kernel(seat, MAKE, "make", make, 0);
    add_kernel(seat, ADD, "add", add, 0);
    add_kernel(seat, DIGEST, "digest", digest, 0);
    add_kernel(seat, SWAP, "swap", swap, 0);
    add_kernel(seat, ODD, "odd", odd, 0);
    add_kernel(seat, TWO_OF_THREE, "two_of_three", two_of_three, 0);
}

static void meet(struct seat *seat) { pthread_barrier_wait(seat->barrier); }

static void closes_well(struct seat *seat) { CHECK(seat, seat->close_code == MOOT_OK); }

static moot_data data_new(struct seat *seat)
{
    moot_data data = {0};
    EXPECT(seat, moot_data_new(seat->m, (moot_task){0}, &data), MOOT_OK);
    return data;
}

static moot_task run(struct seat *seat, int kernel, uint64_t number,
                     const moot_access *accesses, size_t count)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_data_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[kernel],
                                             .args = &number,
                                             .args_size = sizeof(number)},
                           accesses, count, &task),
           MOOT_OK);
    return task;
}

static void forget(struct seat *seat, moot_task task)
{
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

static uint64_t number_of(struct seat *seat, moot_task task)
{
    const void *bytes = NULL;
    size_t size = 0;
    uint64_t number = 0;
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &bytes, &size), MOOT_OK);
    if (bytes != NULL && size >= sizeof(number)) {
        memcpy(&number, bytes, sizeof(number));
    }
    return number;
}

static uint64_t newest(struct seat *seat, moot_data data)
{
    moot_task task = {0};
    EXPECT(seat, moot_data_version(seat->m, data, &task), MOOT_OK);
    uint64_t number = number_of(seat, task);
    forget(seat, task);
    return number;
}

/* --- Scenes --------------------------------------------------------------------- */

/* Reads and writes in turn, no handle on a version: each reader must see the version of
 * the moment of its spawn, whenever it runs. */
static void order_of_accesses(struct seat *seat)
{
    enum { ROUNDS = 60, READERS = 3 };
    moot_data x = data_new(seat);
    moot_task readers[ROUNDS][READERS];
    uint64_t wanted[ROUNDS], number = 5;
    meet(seat);
    in_place = copied = 0;
    meet(seat);
    forget(seat, run(seat, MAKE, number, &(moot_access){x, MOOT_WRITE}, 1));
    for (int i = 0; i < ROUNDS; i++) {
        for (uint64_t k = 0; k < READERS; k++) { /* the argument makes them distinct */
            readers[i][k] = run(seat, DIGEST, k, &(moot_access){x, MOOT_READ}, 1);
        }
        wanted[i] = number;
        number = number * 3 + (uint64_t)i;
        forget(seat, run(seat, ADD, (uint64_t)i, &(moot_access){x, MOOT_READWRITE}, 1));
    }
    CHECK(seat, newest(seat, x) == number);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < READERS; k++) {
            CHECK(seat, number_of(seat, readers[i][k]) == wanted[i]);
        }
    }
    CHECK(seat, moot_data_release(seat->m, x) == MOOT_OK);
    moot_stats stats = {0};
    moot_stats_get(seat->m, &stats);
    CHECK(seat, stats.votes == 0 && stats.tasks_spawned == 1 + ROUNDS * (READERS + 1));
    meet(seat);
    CHECK(seat, in_place + copied == ROUNDS);
    CHECK(seat, seat->size > 1 || in_place == 0); /* its maker keeps a version */
}

/* A chain from rank to rank: nobody but the next writer reads, so that every version
 * that came from elsewhere is changed in place. */
static void in_place_where_it_came(struct seat *seat)
{
    enum { ROUNDS = 40 };
    moot_data x = data_new(seat);
    uint64_t number = 1;
    meet(seat);
    in_place = copied = 0;
    meet(seat);
    forget(seat, run(seat, MAKE, number, &(moot_access){x, MOOT_WRITE}, 1));
    for (int i = 0; i < ROUNDS; i++) {
        moot_task task;
        uint64_t more = (uint64_t)i;
        EXPECT(seat,
               moot_data_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[ADD],
                                                 .args = &more,
                                                 .args_size = sizeof(more),
                                                 .owner = MOOT_ON(i % seat->size)},
                               &(moot_access){x, MOOT_READWRITE}, 1, &task),
               MOOT_OK);
        forget(seat, task);
        number = number * 3 + more;
    }
    CHECK(seat, newest(seat, x) == number);
    meet(seat);
    CHECK(seat, in_place + copied == ROUNDS);
    CHECK(seat, seat->size == 1 ? in_place == 0 : in_place >= ROUNDS - 1);
}

/* Who holds a version reads the same bytes for as long, whatever is written after. */
static void held_versions_stay(struct seat *seat)
{
    enum { ROUNDS = 30 };
    moot_data x = data_new(seat);
    moot_task held[ROUNDS];
    const uint64_t *bytes[ROUNDS];
    uint64_t number[ROUNDS + 1] = {9};
    forget(seat, run(seat, MAKE, 9, &(moot_access){x, MOOT_WRITE}, 1));
    for (int i = 0; i < ROUNDS; i++) {
        const void *data = NULL;
        EXPECT(seat, moot_data_version(seat->m, x, &held[i]), MOOT_OK);
        EXPECT(seat, moot_task_fetch(seat->m, held[i], MOOT_FOREVER, &data, NULL),
               MOOT_OK);
        bytes[i] = data;
        forget(seat, run(seat, ADD, 1, &(moot_access){x, MOOT_READWRITE}, 1));
        number[i + 1] = number[i] * 3 + 1;
    }
    CHECK(seat, newest(seat, x) == number[ROUNDS]);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(seat,
              bytes[i] != NULL && bytes[i][0] == number[i] && all_equal(bytes[i]));
        forget(seat, held[i]);
    }
}

static moot_task run_on(struct seat *seat, int rank, int kernel,
                        const moot_access *accesses, size_t count)
{
    uint64_t number = 6;
    moot_task task = {0};
    EXPECT(seat,
           moot_data_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[kernel],
                                             .args = &number,
                                             .args_size = sizeof(number),
                                             .owner = MOOT_ON(rank)},
                           accesses, count, &task),
           MOOT_OK);
    return task;
}

/* Rank 1 owns a reader that cannot start yet, and a writer that can.  The version came
 * from rank 0, and no handle is on it: it must outlive the writer all the same. */
static void a_reader_that_still_waits(struct seat *seat)
{
    gate_open = false;
    meet(seat);
    in_place = copied = 0;
    meet(seat);
    moot_data x = data_new(seat), late = data_new(seat);
    forget(seat, run_on(seat, 0, MAKE, &(moot_access){x, MOOT_WRITE}, 1));
    forget(seat,
           run_on(seat, seat->size - 1, GATE, &(moot_access){late, MOOT_WRITE}, 1));
    moot_access two[] = {{x, MOOT_READ}, {late, MOOT_READ}};
    moot_task reader = run_on(seat, 1, DIGEST, two, 2);
    forget(seat, run_on(seat, 1, ADD, &(moot_access){x, MOOT_READWRITE}, 1));
    if (seat->rank <= 1) { /* rank 0 runs its part while it waits */
        CHECK(seat, newest(seat, x) == 24);
    }
    meet(seat);
    gate_open = true;
    CHECK(seat, number_of(seat, reader) == 6 * 31 + 6);
    CHECK(seat, newest(seat, x) == 24 && in_place == 0);
}

/* A kernel that is tried again finds its input as it was. */
static void tried_again(struct seat *seat)
{
    static atomic_int left;
    moot_kernel kernel = {
        .name = "stumble", .version = 1, .fn = stumble, .user = &left, .retries = 3};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[STUMBLER]),
           MOOT_OK);
    meet(seat);
    left = 2;
    meet(seat);
    moot_data x = data_new(seat);
    forget(seat, run_on(seat, 0, MAKE, &(moot_access){x, MOOT_WRITE}, 1));
    forget(seat, run_on(seat, seat->size - 1, STUMBLER,
                        &(moot_access){x, MOOT_READWRITE}, 1));
    CHECK(seat, newest(seat, x) == 106 && left == -1);
}

/* A task that writes two handles gives each its own part; a kernel that makes no parts,
 * or too few, fails the versions that it owes, and no others. */
static void parts_of_a_result(struct seat *seat)
{
    moot_data x = data_new(seat), y = data_new(seat), z = data_new(seat);
    forget(seat, run(seat, MAKE, 10, &(moot_access){x, MOOT_WRITE}, 1));
    forget(seat, run(seat, MAKE, 20, &(moot_access){y, MOOT_WRITE}, 1));
    moot_access both[] = {{x, MOOT_READWRITE}, {y, MOOT_READWRITE}};
    for (int i = 0; i < 5; i++) {
        forget(seat, run(seat, SWAP, 0, both, 2));
    }
    CHECK(seat, newest(seat, x) == 22 && newest(seat, y) == 13);
    moot_access all[] = {{x, MOOT_WRITE}, {y, MOOT_WRITE}, {z, MOOT_WRITE}};
    moot_task whole = run(seat, TWO_OF_THREE, 0, all, 3), task = {0};
    const void *data = NULL;
    size_t size = 0;
    EXPECT(seat, moot_task_wait(seat->m, whole, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_data_version(seat->m, x, &task), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &size), MOOT_OK);
    CHECK(seat, size == 8 && memcmp(data, "\7\7\7\7\7\7\7\7", 8) == 0);
    EXPECT(seat, moot_data_version(seat->m, y, &task), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &size), MOOT_OK);
    CHECK(seat, size == 0);
    EXPECT(seat, moot_data_version(seat->m, z, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, strstr(moot_last_error(seat->m), "moot_call_parts") != NULL);
    forget(seat, run(seat, ODD, 0, both, 2));
    EXPECT(seat, moot_data_version(seat->m, y, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
}

/* An access list only fills in inputs: a task has the hash of one whose inputs are
 * named, so ranks may differ in which they use. */
static void same_task_as_by_hand(struct seat *seat)
{
    uint64_t number = 4, more = 2;
    moot_task first = {0}, by_hand = {0}, by_data = {0};
    moot_data x = {0};
    moot_task_spec make_spec = {
        .kernel = seat->kernels[MAKE], .args = &number, .args_size = sizeof(number)};
    EXPECT(seat, moot_task_spawn(seat->m, &make_spec, &first), MOOT_OK);
    EXPECT(seat, moot_data_new(seat->m, first, &x), MOOT_OK);
    moot_task_spec add_spec = {.kernel = seat->kernels[ADD],
                               .args = &more,
                               .args_size = sizeof(more),
                               .inputs = &first,
                               .input_count = 1};
    if (seat->rank % 2 == 0) {
        EXPECT(seat, moot_task_spawn(seat->m, &add_spec, &by_hand), MOOT_OK);
        CHECK(seat, number_of(seat, by_hand) == 14);
    } else {
        by_data = run(seat, ADD, more, &(moot_access){x, MOOT_READWRITE}, 1);
        CHECK(seat, number_of(seat, by_data) == 14);
    }
    moot_stats stats = {0};
    moot_stats_get(seat->m, &stats);
    CHECK(seat, stats.votes == 0);
}

static void refusals(struct seat *seat)
{
    moot *m = seat->m;
    moot_data x = data_new(seat), gone = data_new(seat), again = {0};
    moot_task task = {0};
    uint64_t number = 1;
    moot_task_spec spec = {
        .kernel = seat->kernels[MAKE], .args = &number, .args_size = sizeof(number)};
    EXPECT(seat, moot_data_release(m, gone), MOOT_OK);
    EXPECT(seat, moot_data_release(m, gone), MOOT_ERR_STALE);
    again = data_new(seat);
    CHECK(seat, again.id != gone.id);
    const struct {
        moot_access accesses[2];
        size_t count;
        int code;
    } rows[] = {
        {{{x, MOOT_READ}}, 1, MOOT_ERR_STATE},
        {{{x, MOOT_READWRITE}}, 1, MOOT_ERR_STATE},
        {{{x, MOOT_WRITE}, {x, MOOT_WRITE}}, 2, MOOT_ERR_INVALID},
        {{{x, 0}}, 1, MOOT_ERR_INVALID},
        {{{x, 4}}, 1, MOOT_ERR_INVALID},
        {{{gone, MOOT_WRITE}}, 1, MOOT_ERR_STALE},
        {{{{0}, MOOT_WRITE}}, 1, MOOT_ERR_FOREIGN},
        {{{{spec.kernel.id}, MOOT_WRITE}}, 1, MOOT_ERR_FOREIGN},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        EXPECT(seat, moot_data_spawn(m, &spec, rows[i].accesses, rows[i].count, &task),
               rows[i].code);
    }
    spec.kernel.id = 0;
    EXPECT(seat, moot_data_spawn(m, &spec, &(moot_access){x, MOOT_WRITE}, 1, &task),
           MOOT_ERR_UNKNOWN_KERNEL);
    EXPECT(seat, moot_data_version(m, x, &task), MOOT_ERR_STATE); /* still no version */
    EXPECT(seat, moot_data_new(m, (moot_task){x.id}, &again), MOOT_ERR_FOREIGN);
    EXPECT(seat, moot_data_spawn(m, NULL, NULL, 0, NULL), MOOT_ERR_INVALID);
    CHECK(seat, task.id == 0 && moot_call_update(NULL, 0) == NULL);
}

/* A chain of updates through a handle whose versions are beside each other: the rank
 * that made the first made them all, and no other ran an update. */
static void chain_stays_beside(struct seat *seat)
{
    moot_data x = {0};
    EXPECT(seat, moot_data_new_with(seat->m, (moot_task){0}, 2, &x), MOOT_ERR_INVALID);
    EXPECT(seat, moot_data_new_with(seat->m, (moot_task){0}, MOOT_DATA_BESIDE, &x),
           MOOT_OK);
    moot_task first = run(seat, MAKE, 1, &(moot_access){x, MOOT_WRITE}, 1), last = {0};
    for (uint64_t i = 0; i < 20; i++) {
        forget(seat, run(seat, ADD, i, &(moot_access){x, MOOT_READWRITE}, 1));
    }
    EXPECT(seat, moot_data_version(seat->m, x, &last), MOOT_OK);
    (void)number_of(seat, last);
    (void)number_of(seat, first);
    moot_task_info a, b;
    EXPECT(seat, moot_task_info(seat->m, first, &a), MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, last, &b), MOOT_OK);
    CHECK(seat, a.chair == b.chair && a.owner == b.owner);
    forget(seat, first);
    forget(seat, last);
    EXPECT(seat, moot_data_release(seat->m, x), MOOT_OK);
}

/* The other's candidates are its own; and a spec that names some is refused. */
static void beside_has_the_candidates(struct seat *seat)
{
    moot_task_spec spec = {.size = sizeof(spec),
                           .kernel = seat->kernels[MAKE],
                           .args = &(uint64_t){5},
                           .args_size = sizeof(uint64_t),
                           .owner = MOOT_ON(1)};
    moot_task root = {0}, with = {0}, none = {0};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &root), MOOT_OK);
    spec.beside = root;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &none), MOOT_ERR_INVALID);
    spec.owner = (moot_place){0};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &with), MOOT_OK);
    (void)number_of(seat, with);
    moot_task_info info;
    EXPECT(seat, moot_task_info(seat->m, with, &info), MOOT_OK);
    CHECK(seat, info.chair == 1 && info.owner == 1);
    forget(seat, with);
    forget(seat, root);
    spec.beside = root;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &none), MOOT_ERR_STALE);
}

#define DATA_SCENE(fn)                                                                 \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = kernels, .after = closes_well  \
    }

static const struct scene scenes[] = {
    DATA_SCENE(order_of_accesses),
    DATA_SCENE(in_place_where_it_came),
    DATA_SCENE(held_versions_stay),
    DATA_SCENE(parts_of_a_result),
    DATA_SCENE(same_task_as_by_hand),
    DATA_SCENE(chain_stays_beside),
    {.name = "beside_has_the_candidates",
     .program = beside_has_the_candidates,
     .register_kernels = kernels,
     .after = closes_well,
     .sizes = {2, 4}},
    DATA_SCENE(refusals),
    DATA_SCENE(tried_again),
    {.name = "a_reader_that_still_waits",
     .program = a_reader_that_still_waits,
     .register_kernels = kernels,
     .after = closes_well,
     .sizes = {3, 4}},
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
