/* unnamed_release_test.c - releases while tasks wait for their hash: of one of these,
 * of an input of one, and of a task that one of these is once more.
 */
#include "consensus/core_entry.h"
#include "tests/conformance/unnamed.h"

enum what { BYTES, LINGERS, LET_GO };

/* What is so of a task here. */
static bool is(struct seat *seat, const moot_hash *hash, enum what what)
{
    engine_lock(seat->m);
    const struct task *task = core_user(seat->m->core, hash);
    bool found = task != NULL && (what == BYTES     ? task->payload != NULL
                                  : what == LINGERS ? task->lingers
                                                    : task->let_go);
    CHECK(seat,
          task != NULL && (what != LET_GO || task->let_go == !task->handle_count));
    engine_unlock(seat->m);
    return found;
}

static void released_unnamed(struct seat *seat)
{
    enum { ROUNDS = 40 };
    if (seat->rank == 0) {
        square_runs = 0;
    }
    meet_serving(seat);
    begin(seat);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        moot_task tasks[3];
        moot_hash hashes[3];
        for (uint64_t k = 0; k < 3; k++) {
            hashes[k] = hash_u64(seat, SQUARE, 3 * i + k);
        }
        hold_still(seat);
        for (uint64_t k = 0; k < 3; k++) {
            tasks[k] = spawn_u64(seat, SQUARE, 3 * i + k);
        }
        WAIT_UNNAMED(seat, 3);
        uint64_t gone = i % 3;
        release(seat, tasks[gone]);
        WAIT_UNNAMED(seat, 3);
        EXPECT(seat, moot_task_release(seat->m, tasks[gone]), MOOT_ERR_STALE);
        for (uint64_t k = 0; k < 3; k++) {
            CHECK(seat, is(seat, &hashes[k], LET_GO) == (k == gone));
        }
        moot_task_spec spec = {
            .kernel = seat->kernels[SUM], .inputs = &tasks[gone], .input_count = 1};
        moot_task task;
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_ERR_STALE);
        EXPECT(seat, moot_task_wait(seat->m, tasks[gone], 0), MOOT_ERR_STALE);
        spec = (moot_task_spec){.kernel = seat->kernels[SUM],
                                .input_hashes = hashes,
                                .input_hash_count = 3};
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
        uint64_t x = 3 * i;
        CHECK(seat,
              fetch_u64(seat, task) == x * x + (x + 1) * (x + 1) + (x + 2) * (x + 2));
        for (uint64_t k = 0; k < 3; k++) {
            EXPECT(seat, moot_task_release(seat->m, tasks[k]),
                   k == gone ? MOOT_ERR_STALE : MOOT_OK);
        }
        release(seat, task);
    }
    meet_serving(seat);
    CHECK(seat, square_runs == 3 * ROUNDS);
    CHECK(seat, stats_of(seat).votes == 0);
}

/* Its bytes are here; who has let go of them asks for them again. */
static void inputs_released(struct seat *seat)
{
    begin(seat);
    int count = seat->size < 4 ? seat->size : 3;
    moot_task input = spawn_on(seat, seat->size - 1, NULL, 0, 5), takers[3];
    const moot_hash hash = hash_of(seat, input);
    CHECK(seat, fetch_u64(seat, input) == 5);
    meet_serving(seat);
    hold_still(seat);
    for (int rank = 0; rank < count; rank++) {
        takers[rank] = spawn_on(seat, rank, &input, 1, (uint64_t)rank);
    }
    WAIT_UNNAMED(seat, (unsigned)count);
    release(seat, input);
    CHECK(seat, seat->rank >= count || is(seat, &hash, BYTES));
    for (int rank = 0; rank < count; rank++) {
        CHECK(seat, fetch_u64(seat, takers[rank]) == 5 + (uint64_t)rank);
    }
    EXPECT(seat, moot_task_wait(seat->m, input, 0), MOOT_ERR_STALE);
}

/* A task that was released unnamed gets a handle once more, for which there is no room
 * in the table: that moves, with the handle that is being released. */
static void a_table_that_moves(struct seat *seat)
{
    begin(seat);
    moot_task input = spawn_on(seat, 0, NULL, 0, 1);
    while (seat->m->tasks.handles.count + 2 < seat->m->tasks.handles.room) {
        spawn_on(seat, 0, NULL, 0, 1000 + seat->m->tasks.handles.count);
    }
    hold_still(seat);
    moot_task gone = spawn_on(seat, 0, NULL, 0, 2);
    moot_task taker = spawn_on(seat, 0, &input, 1, 3);
    WAIT_UNNAMED(seat, 2);
    const struct handle *slots = seat->m->tasks.handles.slots;
    release(seat, gone);
    release(seat, input);
    CHECK(seat, seat->m->tasks.handles.slots != slots || identity_together() == 0);
    CHECK(seat, fetch_u64(seat, taker) == 4);
    EXPECT(seat, moot_task_release(seat->m, input), MOOT_ERR_STALE);
}

static void where_it_was_spawned(struct seat *seat)
{
    begin(seat);
    char site[] = "here.c:17";
    moot_task task;
    moot_task_info info;
    moot_task_spec spec = {.kernel = seat->kernels[EMPTY]};
    EXPECT(seat, moot_task_spawn_at(seat->m, &spec, &task, site), MOOT_OK);
    WAIT_UNNAMED(seat, 1);
    memset(site, 'x', sizeof(site) - 1);
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    CHECK(seat, strcmp(info.site, "here.c:17") == 0);
}

/* The older handle is the last of a task whose bytes are here. */
static void spawned_again_and_released(struct seat *seat)
{
    begin(seat);
    moot_task task = spawn_on(seat, seat->size - 1, NULL, 0, 6);
    CHECK(seat, fetch_u64(seat, task) == 6);
    meet_serving(seat);
    uint64_t motions = stats_of(seat).motions;
    hold_still(seat);
    moot_task other = spawn_on(seat, seat->size - 1, NULL, 0, 7);
    moot_task again = spawn_on(seat, seat->size - 1, NULL, 0, 6);
    WAIT_UNNAMED(seat, 2);
    release(seat, task);
    const moot_hash hash = hash_of(seat, again);
    CHECK(seat, is(seat, &hash, BYTES));
    CHECK(seat, !is(seat, &hash, LET_GO));
    CHECK(seat, fetch_u64(seat, again) == 6);
    CHECK(seat, stats_of(seat).motions == motions);
    CHECK(seat, fetch_u64(seat, other) == 7);
}

/* What this rank had by its hash alone. */
static void found_and_spawned(struct seat *seat)
{
    begin(seat);
    moot_task found, last = spawn_on(seat, seat->size - 1, NULL, 0, 8);
    moot_hash hash = hash_u64(seat, SUM, 9);
    if (seat->rank == 0) {
        spawn_u64(seat, SUM, 9);
    }
    EXPECT(seat, moot_task_find(seat->m, &hash, &found), MOOT_OK);
    CHECK(seat, fetch_u64(seat, found) == 9);
    CHECK(seat, fetch_u64(seat, last) == 8);
    meet_serving(seat);
    hold_still(seat);
    moot_task again = spawn_u64(seat, SUM, 9);
    WAIT_UNNAMED(seat, 1);
    release(seat, found);
    hash = hash_of(seat, again);
    CHECK(seat, is(seat, &hash, BYTES));
    CHECK(seat, !is(seat, &hash, LET_GO));
    CHECK(seat, fetch_u64(seat, again) == 9);
}

/* A wait that timed out asks once: it goes on for the handle that stays. */
static void polled_and_spawned_again(struct seat *seat)
{
    moot_task_spec spec = {.kernel = seat->kernels[GATE],
                           .owner = MOOT_ON(seat->size - 1)};
    moot_task first, again;
    if (seat->rank == 0) {
        gate_open = false;
    }
    meet(seat);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &first), MOOT_OK);
    if (seat->rank != seat->size - 1) {
        EXPECT(seat, moot_task_wait(seat->m, first, MOOT_MILLISECONDS(1)),
               MOOT_ERR_TIMEOUT);
        begin(seat);
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &again), MOOT_OK);
        WAIT_UNNAMED(seat, 1);
        release(seat, first);
        const moot_hash hash = hash_of(seat, again);
        CHECK(seat, is(seat, &hash, LINGERS));
        CHECK(seat, !is(seat, &hash, LET_GO));
        first = again;
    }
    meet(seat);
    gate_open = true;
    EXPECT(seat, moot_task_wait(seat->m, first, MOOT_FOREVER), MOOT_OK);
}

/* One task with two handles, of which one goes. */
static void equal_specs(struct seat *seat)
{
    begin(seat);
    moot_task tasks[4];
    for (uint64_t first = 0; first < 4; first++) {
        for (uint64_t second = 0; second < 4; second++) {
            for (int which = 0; which < 3 && first != second; which++) {
                uint64_t base = 1000 + 48 * first + 12 * second + 4 * (uint64_t)which;
                uint64_t entered = stats_of(seat).tasks_spawned;
                hold_still(seat);
                for (uint64_t k = 0; k < 4; k++) {
                    tasks[k] =
                        spawn_u64(seat, SQUARE, base + (k == second ? first : k));
                }
                moot_task gone = tasks[which == 0 ? first : second];
                moot_task stays = tasks[which == 0 ? second : first];
                if (which < 2) {
                    release(seat, gone);
                }
                CHECK(seat, stats_of(seat).tasks_spawned == entered + 3);
                CHECK(seat, fetch_u64(seat, stays) == (base + first) * (base + first));
                EXPECT(seat, moot_task_release(seat->m, gone),
                       which < 2 ? MOOT_ERR_STALE : MOOT_OK);
                release(seat, stays);
            }
        }
    }
    CHECK(seat, stats_of(seat).votes == 0);
}

static void equal_specs_unnamed(struct seat *seat)
{
    begin(seat);
    for (uint64_t which = 0; which < 6; which++) {
        uint64_t entered = stats_of(seat).tasks_spawned;
        hold_still(seat);
        moot_task a = spawn_u64(seat, SQUARE, 50 + which);
        moot_task b = spawn_u64(seat, SQUARE, 50 + which);
        WAIT_UNNAMED(seat, 2);
        release(seat, which % 2 ? a : b);
        if (which > 3) {
            spawn_u64(seat, SQUARE, 70 + which);
        }
        WAIT_UNNAMED(seat, which > 3 ? 3 : 2);
        CHECK(seat, fetch_u64(seat, which % 2 ? b : a) == (50 + which) * (50 + which));
        CHECK(seat, stats_of(seat).tasks_spawned == entered + 1 + (which > 3));
        release(seat, which % 2 ? b : a);
    }
}

/* --- All of them ----------------------------------------------------------------- */

static const char *const by_caller[] = {"MOOT_PROGRESS=caller", NULL};
/* A window makes a spawn turn the loop, where about a thousand tasks are unfinished. */
static const char *const by_caller_without_window[] = {"MOOT_PROGRESS=caller",
                                                       "MOOT_WINDOW=0", NULL};

static const struct scene scenes[] = {
    SCENE(released_unnamed, .knobs = by_caller),
    SCENE(a_table_that_moves, .knobs = by_caller_without_window),
    SCENE(where_it_was_spawned, .knobs = by_caller),
    SCENE(inputs_released, .knobs = by_caller),
    SCENE(spawned_again_and_released, .knobs = by_caller),
    SCENE(found_and_spawned, .knobs = by_caller),
    SCENE(polled_and_spawned_again, .knobs = by_caller, .sizes = {2, 3}),
    SCENE(equal_specs, .knobs = by_caller),
    SCENE(equal_specs_unnamed, .knobs = by_caller),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
