/* going_back_test.c - all ranks go back to a snapshot: what is found again and what
 * runs again, what handles of before are good for, and who makes it fail for all.
 */
#include "node/api/moot_checkpoint.h"
#include "node/api/moot_data.h"
#include "node/api/moot_queue.h"
#include "tests/conformance/checkpoint_jobs.h"

static atomic_int drops;

static void drop_own(moot *m, void *user)
{
    (void)m;
    atomic_fetch_add((atomic_int *)user, 1);
}

static uint64_t varied_of(struct seat *seat, uint64_t number)
{
    const moot_task task = spawn_u64(seat, VARYING, number);
    const uint64_t value = fetch_u64(seat, task);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    return value;
}

/* The same one on all ranks: who asks when it is over already has made another. */
static moot_hash snapshot_of(struct seat *seat, const char *name)
{
    moot_hash id = {{0}};
    meet(seat);
    EXPECT(seat,
           moot_checkpoint(seat->m, &(moot_checkpoint_options){.name = name}, &id),
           MOOT_OK);
    meet(seat);
    EXPECT(seat, moot_checkpoint_find(seat->m, name, &id), MOOT_OK);
    meet(seat);
    return id;
}

/* A value from before the snapshot is found again, one from after it made anew. */
static void goes_back(struct seat *seat)
{
    const moot_hash none = {{1}};
    const uint64_t before = varied_of(seat, 1);
    const moot_hash id = snapshot_of(seat, "a");
    const uint64_t later = varied_of(seat, 2);
    const moot_task running = spawn_u64(seat, ENDLESS, 3);
    EXPECT(seat, moot_checkpoint_reload(seat->m, &none), MOOT_ERR_FILE);
    EXPECT(seat, moot_checkpoint_reload(NULL, &id), MOOT_ERR_INVALID);
    EXPECT(seat, moot_checkpoint_on_reload(seat->m, drop_own, &drops), MOOT_OK);
    EXPECT(seat, moot_checkpoint_reload(seat->m, &id), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, running, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    CHECK(seat, told(seat, "spawn it again"));
    EXPECT(seat, moot_task_release(seat->m, running), MOOT_OK);
    CHECK(seat, varied_of(seat, 1) == before);
    CHECK(seat, varied_of(seat, 2) != later);
    meet(seat);
}

static void all_go_back_to_a_snapshot(void)
{
    begin_case(__func__);
    for (int ranks = 1; ranks <= 4; ranks++) {
        drops = 0;
        begin_case(__func__);
        job(goes_back, ranks, NULL);
        MUST(drops == ranks);
    }
    begin_case(__func__);
    job(goes_back, 3, "MOOT_HEARTBEAT=never");
    begin_case(__func__);
    job(goes_back, 3, "MOOT_DIVERGENCE=strict");
}

/* Each time all goes back to what the snapshot has, and later snapshots stay. */
static void goes_to_and_fro(struct seat *seat)
{
    const uint64_t first = varied_of(seat, 1);
    const moot_hash a = snapshot_of(seat, "a");
    uint64_t second = varied_of(seat, 2);
    moot_hash b = snapshot_of(seat, "b");
    for (int i = 0; i < 3; i++) {
        EXPECT(seat, moot_checkpoint_reload(seat->m, &a), MOOT_OK);
        CHECK(seat, varied_of(seat, 1) == first);
        const uint64_t other = varied_of(seat, 2);
        CHECK(seat, other != second);
        EXPECT(seat, moot_checkpoint_reload(seat->m, &b), MOOT_OK);
        CHECK(seat, varied_of(seat, 1) == first);
        CHECK(seat, varied_of(seat, 2) == second);
        EXPECT(seat, moot_checkpoint_reload(seat->m, &a), MOOT_OK);
        second = varied_of(seat, 2);
        b = snapshot_of(seat, "b");
    }
    meet(seat);
}

/* A job after it begins where the last one stood. */
static atomic_ullong last_second;

static void leaves_a_second(struct seat *seat)
{
    const uint64_t first = varied_of(seat, 1);
    const moot_hash a = snapshot_of(seat, "a");
    const uint64_t void_second = varied_of(seat, 2);
    EXPECT(seat, moot_checkpoint_reload(seat->m, &a), MOOT_OK);
    last_second = varied_of(seat, 2);
    CHECK(seat, last_second != void_second && varied_of(seat, 1) == first);
    meet(seat);
}

static void finds_the_second(struct seat *seat)
{
    CHECK(seat, varied_of(seat, 2) == last_second);
    add_up(seat);
}

static void all_go_to_and_fro(void)
{
    begin_case(__func__);
    job(goes_to_and_fro, 3, NULL);
    begin_case(__func__);
    job(leaves_a_second, 3, NULL);
    job(finds_the_second, 2, NULL);
    MUST(found == 1);
}

/* --- Handles of before ------------------------------------------------------------ */

static int spawn_with(struct seat *seat, moot_task input, bool only_after,
                      moot_task *out)
{
    return moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[SUM],
                                             .inputs = &input,
                                             .input_count = only_after ? 0 : 1,
                                             .after = &input,
                                             .after_count = only_after ? 1 : 0},
                           out);
}

/* None of them touches the task of the same hash that was spawned since. */
static void uses_old_handles(struct seat *seat)
{
    const moot_hash id = snapshot_of(seat, "a");
    const moot_task ended = spawn_u64(seat, VARYING, 1);
    const uint64_t old = fetch_u64(seat, ended);
    meet(seat);
    const moot_task held = spawn_u64(seat, ENDLESS, 1);
    const moot_task only =
        seat->rank == 0 ? spawn_u64(seat, COUNTED, 77) : (moot_task){0};
    moot_data data, empty;
    moot_task out = {0};
    EXPECT(seat, moot_data_new(seat->m, ended, &data), MOOT_OK);
    EXPECT(seat, moot_data_new(seat->m, (moot_task){0}, &empty), MOOT_OK);
    EXPECT(seat, moot_checkpoint_reload(seat->m, &id), MOOT_OK);
    const moot_task anew = spawn_u64(seat, VARYING, 1);
    struct moot_task_info info, new_info;
    EXPECT(seat, moot_task_info(seat->m, ended, &info), MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, anew, &new_info), MOOT_OK);
    CHECK(seat, memcmp(&info.hash, &new_info.hash, sizeof(info.hash)) == 0);
    EXPECT(seat, moot_task_cancel(seat->m, ended), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, ended, 0), MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_task_wait(seat->m, held, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    const void *bytes;
    size_t size, which;
    EXPECT(seat, moot_task_fetch(seat->m, ended, 0, &bytes, &size), MOOT_ERR_CANCELLED);
    EXPECT(seat, spawn_with(seat, ended, false, &out), MOOT_ERR_CANCELLED);
    EXPECT(seat, spawn_with(seat, held, true, &out), MOOT_ERR_CANCELLED);
    EXPECT(seat,
           moot_task_then(seat->m, ended,
                          &(moot_task_spec){.kernel = seat->kernels[SUM]}, &out),
           MOOT_ERR_CANCELLED);
    const moot_task both[] = {held, anew};
    EXPECT(seat, moot_task_wait_any(seat->m, both, 2, MOOT_FOREVER, &which),
           MOOT_ERR_CANCELLED);
    CHECK(seat, which == 0);
    EXPECT(seat,
           moot_data_spawn(seat->m, &(moot_task_spec){.kernel = seat->kernels[SUM]},
                           &(moot_access){data, MOOT_READ}, 1, &out),
           MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_data_release(seat->m, data), MOOT_OK);
    EXPECT(seat, moot_data_release(seat->m, empty), MOOT_OK);
    CHECK(seat, fetch_u64(seat, anew) != old);
    EXPECT(seat, moot_task_release(seat->m, ended), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, held), MOOT_OK);
    if (seat->rank == 0) {
        EXPECT(seat, moot_task_wait(seat->m, only, MOOT_FOREVER), MOOT_ERR_CANCELLED);
        EXPECT(seat, moot_task_release(seat->m, only), MOOT_OK);
    }
    EXPECT(seat, moot_task_wait(seat->m, anew, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, anew), MOOT_OK);
    meet(seat);
}

/* Groups that are open, and tasks that queues still have, are of before, too. */
static void goes_back_from_within(struct seat *seat)
{
    const moot_hash id = snapshot_of(seat, "a");
    EXPECT(seat, moot_scope_open(seat->m, "phase"), MOOT_OK);
    EXPECT(seat, moot_checkpoint_reload(seat->m, &id), MOOT_ERR_STATE);
    CHECK(seat, told(seat, "a scope is open"));
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_BULK), MOOT_OK);
    EXPECT(seat, moot_checkpoint_reload(seat->m, &id), MOOT_ERR_STATE);
    CHECK(seat, told(seat, "a queue is open"));
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    const moot_task running = spawn_u64(seat, ENDLESS, 3);
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_SEQUENTIAL), MOOT_OK);
    const moot_task ordered[] = {spawn_u64(seat, ENDLESS, 4),
                                 spawn_u64(seat, COUNTED, 5)};
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_checkpoint_reload(seat->m, &id), MOOT_OK);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_task_release(seat->m, running), MOOT_OK);
    EXPECT(seat, moot_task_release_all(seat->m, ordered, 2), MOOT_OK);
    EXPECT(seat, moot_scope_open(seat->m, "phase"), MOOT_OK);
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    const moot_task task = spawn_u64(seat, COUNTED, 5);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    CHECK(seat, fetch_u64(seat, task) == 6);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_state_signature(seat->m, &id, 1), MOOT_OK);
    meet(seat);
}

static void what_is_undone_stays_so(void)
{
    begin_case(__func__);
    job(uses_old_handles, 3, NULL);
    begin_case(__func__);
    job(uses_old_handles, 3, "MOOT_THREADS=2");
    begin_case(__func__);
    job(goes_back_from_within, 3, NULL);
}

/* --- Once tasks ------------------------------------------------------------------- */

static void starts_once_again(struct seat *seat)
{
    const moot_hash id = snapshot_of(seat, "a");
    moot_task task = spawn_keyed(seat, ONCE_FAILING);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    meet(seat);
    EXPECT(seat, moot_checkpoint_reload(seat->m, &id), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    task = spawn_keyed(seat, ONCE_FAILING);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    meet(seat);
}

static void a_once_task_starts_as_on_that_day(void)
{
    begin_case(__func__);
    job(starts_once_again, 3, NULL);
    MUST(runs == 1); /* once is once */
}

/* --- Ranks that differ ------------------------------------------------------------ */

static void names_another(struct seat *seat)
{
    char own[32];
    moot_hash id;
    const uint64_t before = varied_of(seat, 1);
    snprintf(own, sizeof(own), "of-%d", seat->rank);
    EXPECT(seat, moot_checkpoint(seat->m, &(moot_checkpoint_options){.name = own}, &id),
           MOOT_OK);
    meet(seat);
    EXPECT(seat, moot_checkpoint_reload(seat->m, &id), MOOT_ERR_STATE);
    CHECK(seat, varied_of(seat, 1) == before);
    meet(seat);
}

static void comes_to_a_barrier(struct seat *seat)
{
    const uint64_t before = varied_of(seat, 1);
    const moot_hash id = snapshot_of(seat, "a");
    const uint64_t later = varied_of(seat, 2);
    const int code =
        seat->rank == 1 ? moot_barrier(seat->m) : moot_checkpoint_reload(seat->m, &id);
    CHECK(seat, code == MOOT_ERR_STATE);
    CHECK(seat, varied_of(seat, 1) == before && varied_of(seat, 2) == later);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    meet(seat);
}

/* A rank that has closed need not come. */
static void closes_instead(struct seat *seat)
{
    const uint64_t before = varied_of(seat, 1);
    const moot_hash id = snapshot_of(seat, "a");
    const uint64_t later = varied_of(seat, 2);
    if (seat->rank != 1) {
        EXPECT(seat, moot_checkpoint_reload(seat->m, &id), MOOT_OK);
        CHECK(seat, varied_of(seat, 1) == before && varied_of(seat, 2) != later);
    }
}

static int reloads_inside(moot_call *call, void *user)
{
    struct seat *seat = user;
    const moot_hash id = {{1}};
    EXPECT(seat, moot_checkpoint_reload(seat->m, &id), MOOT_ERR_STATE);
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void reloads_in_a_kernel(struct seat *seat)
{
    moot_kernel kernel = {.name = "inside", .fn = reloads_inside, .user = seat};
    moot_task task;
    moot_task_spec spec = {0};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &spec.kernel), MOOT_OK);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    meet(seat);
}

static void ranks_that_differ_are_told(void)
{
    begin_case(__func__);
    job(names_another, 2, NULL);
    begin_case(__func__);
    job(comes_to_a_barrier, 3, NULL);
    begin_case(__func__);
    job(closes_instead, 3, NULL);
    begin_case(__func__);
    job(reloads_in_a_kernel, 2, NULL);
}

int main(void)
{
    static void (*const cases[])(void) = {
        all_go_back_to_a_snapshot,  all_go_to_and_fro,
        what_is_undone_stays_so,    a_once_task_starts_as_on_that_day,
        ranks_that_differ_are_told,
    };
    return run_cases("going-back-test", cases, sizeof(cases) / sizeof(cases[0]));
}
