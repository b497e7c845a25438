/* leaving_test.c - ranks that go while others need what only they can run, or have:
 * they see to that before they are gone.
 *
 * The leaver alone holds a task that takes what others have yet to spawn.  So it has
 * begun to leave, and is not gone, while they go on.
 */
#include "consensus/core_view.h"
#include "node/api/moot_array.h"
#include "node/engine/engine.h"
#include "tests/conformance/kernels.h"

enum { TELL = RELAY + 1, PART, MEASURE };
enum { LARGE_BYTES = 20000, SPAWNER = 0, LEAVER = 1, LAST = 3, NUMBER = 5 };

static moot *leavers; /* its context */
static atomic_int told_by[SEATS_MAX];
/* How many bytes the rank's element took. */
static atomic_size_t measured_by[SEATS_MAX];

static int tell(moot_call *call, void *user)
{
    const struct seat *seat = user;
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = NUMBER;
    told_by[seat->rank]++;
    return MOOT_OK;
}

/* A large result, if it is the leaver's. */
static int make_part(moot_call *call, void *user)
{
    const size_t size = moot_call_index(call) == LEAVER ? LARGE_BYTES : sizeof(size);
    void *out = moot_call_output(call, size);
    (void)user;
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(out, 0, size);
    return MOOT_OK;
}

static int measure(moot_call *call, void *user)
{
    size_t bytes = 0;
    (void)user;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        size_t size = 0;
        (void)moot_call_input(call, i, &size);
        bytes += size;
    }
    measured_by[moot_call_index(call)] = bytes;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void leaving_kernels(struct seat *seat)
{
    const moot_kernel teller = {
        .name = "tell", .fn = tell, .user = seat, .flags = MOOT_KERNEL_PORTABLE};
    kernels(seat);
    EXPECT(seat, moot_kernel_register(seat->m, &teller, &seat->kernels[TELL]), MOOT_OK);
    add_kernel(seat, PART, "part", make_part, 0);
    add_kernel(seat, MEASURE, "measure", measure, 0);
    told_by[seat->rank] = 0;
    measured_by[seat->rank] = 0;
}

/* The leaver alone may run this one. */
static moot_task_spec of_leaver(const struct seat *seat)
{
    static const int only[] = {LEAVER};
    return (moot_task_spec){.kernel = seat->kernels[TELL],
                            .candidates = {.ranks = only, .count = 1}};
}

/* A task that takes one which this rank does not spawn. */
static void spawn_after(struct seat *seat, const moot_hash *hash)
{
    const uint64_t none = 0;
    const moot_task_spec spec = {.kernel = seat->kernels[SUM],
                                 .args = &none,
                                 .args_size = sizeof(none),
                                 .input_hashes = hash,
                                 .input_hash_count = 1};
    moot_task task;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
}

static void until_it_goes(void)
{
    for (bool goes = false; !goes; nap_ms(1)) {
        engine_lock(leavers);
        goes = core_goes(leavers->core, LEAVER);
        engine_unlock(leavers);
    }
}

/* The others look at its context until the last meeting. */
static void leave(struct seat *seat)
{
    leavers = seat->m;
    meet(seat);
    EXPECT(seat, moot_leave(seat->m), MOOT_OK);
    meet(seat);
}

static void it_runs_what_no_other_may_run(struct seat *seat)
{
    const moot_task_spec spec = of_leaver(seat);
    if (seat->rank == LEAVER) {
        moot_hash hash;
        EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
        spawn_after(seat, &hash);
        leave(seat);
        return;
    }
    meet(seat);
    until_it_goes();
    if (seat->rank == SPAWNER) {
        moot_task task;
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
        CHECK(seat, fetch_u64(seat, task) == NUMBER);
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    }
    meet(seat);
    CHECK(seat, told_by[LEAVER] == 1);
}

static moot_array spawn_parts(struct seat *seat)
{
    const moot_array_spec spec = {.kernel = seat->kernels[PART],
                                  .count = (uint64_t)seat->size};
    moot_array parts = {0};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &parts), MOOT_OK);
    return parts;
}

static moot_array spawn_measures(struct seat *seat, moot_array parts)
{
    const moot_array_input input = {.array = parts, .map = MOOT_MAP_ALL};
    const moot_array_spec spec = {.kernel = seat->kernels[MEASURE],
                                  .count = (uint64_t)seat->size,
                                  .inputs = &input,
                                  .input_count = 1};
    moot_array measures = {0};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &measures), MOOT_OK);
    return measures;
}

/* Until its results are named to the others. */
static void until_sent(struct seat *seat)
{
    for (bool sent = false; !sent; nap_ms(1)) {
        engine_lock(seat->m);
        sent = seat->m->tasks.unsent == NULL;
        engine_unlock(seat->m);
    }
}

/* The leaver has named its result before it goes.  That it goes the committee alone
 * hears, of which the last rank is no member: it asks the leaver.  The others do not
 * rest meanwhile, so nobody gives up what is asked for. */
static void large_results_are_had_of_it(struct seat *seat)
{
    const moot_hash number = hash_u64(seat, SQUARE, NUMBER);
    moot_array parts = spawn_parts(seat);
    EXPECT(seat, moot_array_wait(seat->m, parts, MOOT_FOREVER), MOOT_OK);
    if (seat->rank == LEAVER) {
        (void)spawn_measures(seat, parts);
        spawn_after(seat, &number);
        until_sent(seat);
        leave(seat);
        return;
    }
    meet(seat);
    until_it_goes();
    while (seat->rank != LAST && measured_by[LAST] == 0) {
        nap_ms(1);
    }
    moot_array measures = spawn_measures(seat, parts);
    while (measured_by[LAST] == 0) {
        (void)moot_array_wait(seat->m, measures, MOOT_MILLISECONDS(1));
    }
    EXPECT(seat, moot_array_wait(seat->m, measures, MOOT_FOREVER), MOOT_OK);
    CHECK(seat, measured_by[seat->rank] == LARGE_BYTES + LAST * sizeof(size_t));
    if (seat->rank == SPAWNER) {
        moot_task task = spawn_u64(seat, SQUARE, NUMBER);
        CHECK(seat, fetch_u64(seat, task) == NUMBER * NUMBER);
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    }
    EXPECT(seat, moot_array_release(seat->m, measures), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, parts), MOOT_OK);
    meet(seat);
}

static const char *const large_view[] = {"MOOT_DIRECT_MAX=2", NULL};
static const char *const one_thread[] = {"MOOT_THREADS=1", NULL};

#define LEAVING_SCENE(fn, ...)                                                         \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = leaving_kernels,               \
        .after = closes_well, __VA_ARGS__                                              \
    }

static const struct scene scenes[] = {
    LEAVING_SCENE(it_runs_what_no_other_may_run, .sizes = {2, 3, 4}),
    LEAVING_SCENE(it_runs_what_no_other_may_run, .sizes = {4}, .knobs = large_view),
    LEAVING_SCENE(it_runs_what_no_other_may_run, .sizes = {2}, .knobs = one_thread),
    LEAVING_SCENE(large_results_are_had_of_it, .sizes = {4}, .knobs = large_view),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
