/* unnamed_bounds_test.c - where a plain spawn may not wait for its hash, or no longer:
 * among more owners than a block can name, once something has been forgotten or is
 * about to be, and when a queue's function returns.  And where the little that is kept
 * of other ranks' tasks is not enough: in tickets, and behind many kinds of queues.
 */
#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/handle.h"
#include "node/tasks/task.h"
#include "tests/conformance/unnamed.h"

/* --- Many owners ----------------------------------------------------------------- */

enum { CROWD = 66 };

/* A task that waits names its owner by a bit of one word. */
static void owners_beyond_a_word(struct seat *seat)
{
    begin(seat);
    for (int owner = IDENTITY_OWNERS - 1; owner < seat->size; owner++) {
        uint64_t number = (uint64_t)owner;
        moot_task_spec spec = {.kernel = seat->kernels[SUM],
                               .args = &number,
                               .args_size = sizeof(number),
                               .owner = MOOT_ON(owner)};
        moot_task_info info = {.size = 0};
        moot_hash wanted;
        moot_task task;
        EXPECT(seat, moot_spec_hash(seat->m, &spec, &wanted), MOOT_OK);
        hold_still(seat);
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
        WAIT_UNNAMED(seat, owner < IDENTITY_OWNERS);
        EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
        CHECK(seat, memcmp(&info.hash, &wanted, sizeof(wanted)) == 0);
        CHECK(seat, fetch_u64(seat, task) == number);
        EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
        CHECK(seat, info.owner == owner);
    }
}

/* --- What is forgotten, or about to be ------------------------------------------- */

enum { FEW = 6, TURNS_MAX = 20000, ROUNDS_MAX = 4000 };

static atomic_bool holds_lock; /* the rank that is asked */

/* All ranks turn their loops, one after the other and nobody else's meanwhile, until
 * this is so on one of them. */
static bool turn_until(struct seat *seat, int rank, bool (*is_so)(struct seat *seat))
{
    static atomic_bool found;
    if (seat->rank == rank) {
        found = false;
    }
    meet(seat);
    for (int turn = 0; turn < TURNS_MAX * seat->size && !found; turn++) {
        meet(seat);
        if (seat->rank == turn % seat->size && holds_lock && seat->rank == rank) {
            progress_drive(seat->m);
        } else if (seat->rank == turn % seat->size) {
            engine_lock(seat->m);
            progress_drive_free(seat->m);
            engine_unlock(seat->m);
        }
        if (seat->rank == rank) {
            found = is_so(seat);
        }
        meet(seat);
    }
    CHECK(seat, found);
    return found;
}

static moot_hash square_hashes[FEW], input_hash;
static uint64_t leaving; /* the number of one of them */

static bool one_is_leaving(struct seat *seat)
{
    bool found = false;
    for (uint64_t i = 0; i < FEW && !found; i++) {
        const moot_hash hash = square_hashes[i];
        pthread_mutex_lock(&seat->m->bond->lock);
        found = core_is_leaving(seat->m->core, &hash);
        pthread_mutex_unlock(&seat->m->bond->lock);
        leaving = found ? 100 + i : leaving;
    }
    return found;
}

static bool is_last(const struct seat *seat) { return seat->rank == seat->size - 1; }

/* They have run and are released on all ranks. */
static void come_and_go(struct seat *seat)
{
    moot_task tasks[FEW] = {{0}};
    begin(seat);
    for (uint64_t i = 0; i < FEW; i++) {
        tasks[i] = spawn_u64(seat, SQUARE, 100 + i);
    }
    for (uint64_t i = 0; i < FEW && is_last(seat); i++) {
        square_hashes[i] = hash_of(seat, tasks[i]);
    }
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, FEW, MOOT_FOREVER), MOOT_OK);
    meet_serving(seat);
    for (uint64_t i = 0; i < FEW; i++) {
        release(seat, tasks[i]);
    }
}

/* The last rank has agreed to forget a task, and does not know yet whether it will: to
 * spawn it again is to wait for that. */
static void spawned_while_it_leaves(struct seat *seat)
{
    come_and_go(seat);
    turn_until(seat, seat->size - 1, one_is_leaving);
    if (is_last(seat)) {
        hold_still(seat);
    }
    moot_task again = spawn_u64(seat, SQUARE, leaving);
    if (is_last(seat)) {
        WAIT_UNNAMED(seat, 0);
    }
    CHECK(seat, fetch_u64(seat, again) == leaving * leaving);
}

/* What takes it, by its hash, waits for that, too, and then takes what is spawned
 * again. */
static void taken_while_it_leaves(struct seat *seat)
{
    come_and_go(seat);
    turn_until(seat, seat->size - 1, one_is_leaving);
    uint64_t more = 5;
    const moot_task_spec spec = {.kernel = seat->kernels[SUM],
                                 .args = &more,
                                 .args_size = sizeof(more),
                                 .input_hashes = &square_hashes[leaving - 100],
                                 .input_hash_count = 1};
    moot_task taker;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &taker), MOOT_OK);
    spawn_u64(seat, SQUARE, leaving);
    CHECK(seat, fetch_u64(seat, taker) == leaving * leaving + 5);
}

/* The same of what a bulk queue has collected before: its close waits, and so does a
 * call that wants to know one of its tasks. */
static void collected_before_it_leaves(struct seat *seat, bool looks)
{
    moot_task tasks[FEW] = {{0}};
    come_and_go(seat);
    if (is_last(seat)) {
        hold_still(seat);
        EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_BULK), MOOT_OK);
        for (uint64_t i = 0; i < FEW; i++) {
            tasks[i] = spawn_u64(seat, SQUARE, 100 + i);
        }
        CHECK(seat, seat->m->compose.in_regions == FEW || identity_together() == 0);
    }
    turn_until(seat, seat->size - 1, one_is_leaving);
    if (!is_last(seat)) {
        for (uint64_t i = 0; i < FEW; i++) {
            tasks[i] = spawn_u64(seat, SQUARE, 100 + i);
        }
    } else {
        if (looks) {
            hash_of(seat, tasks[0]);
        }
        EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    }
    for (uint64_t i = 0; i < FEW; i++) {
        CHECK(seat, fetch_u64(seat, tasks[i]) == (100 + i) * (100 + i));
    }
}

static void closed_while_it_leaves(struct seat *seat)
{
    collected_before_it_leaves(seat, false);
}

static void looked_at_while_it_leaves(struct seat *seat)
{
    collected_before_it_leaves(seat, true);
}

static bool none_is_leaving(struct seat *seat)
{
    pthread_mutex_lock(&seat->m->bond->lock);
    bool none = !core_any_leaving(seat->m->core);
    pthread_mutex_unlock(&seat->m->bond->lock);
    return none;
}

/* To find it is to wait for that, too: it is then as if it had never been. */
static void found_while_it_leaves(struct seat *seat)
{
    const void *data;
    moot_task found;
    come_and_go(seat);
    turn_until(seat, seat->size - 1, one_is_leaving);
    for (uint64_t i = 0; i < FEW && is_last(seat); i++) {
        EXPECT(seat, moot_task_find(seat->m, &square_hashes[i], &found), MOOT_OK);
        (void)moot_task_fetch(seat->m, found, 0, &data, NULL);
    }
    meet_serving(seat);
    turn_until(seat, seat->size - 1, none_is_leaving);
    meet_serving(seat);
    CHECK(seat, fetch_u64(seat, spawn_u64(seat, SQUARE, leaving)) == leaving * leaving);
}

/* --- What another thread releases meanwhile --------------------------------------- */

enum { INPUT = 701, NAMES = 256 };

struct late_spawn {
    struct seat *seat;
    moot_task input, task;
};

static void *spawn_late(void *argument)
{
    struct late_spawn *late = argument;
    late->task = spawn_on(late->seat, late->seat->size - 1, &late->input, 1, leaving);
    return NULL;
}

/* Tasks of the last rank that take one input have run, and are released; the other
 * ranks have released the input, too.  What comes behind them stays. */
static moot_task take_and_go(struct seat *seat)
{
    moot_task tasks[2 * FEW] = {{0}};
    begin(seat);
    moot_task input = spawn_u64(seat, SQUARE, INPUT);
    for (uint64_t i = 0; i < FEW; i++) {
        tasks[i] = spawn_on(seat, seat->size - 1, &input, 1, 100 + i);
    }
    for (uint64_t i = FEW; i < 2 * FEW; i++) {
        tasks[i] = spawn_u64(seat, SQUARE, 200 + i);
    }
    for (uint64_t i = 0; i < FEW && is_last(seat); i++) {
        square_hashes[i] = hash_of(seat, tasks[i]);
    }
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, 2 * FEW, MOOT_FOREVER), MOOT_OK);
    meet_serving(seat);
    for (uint64_t i = 0; i < FEW; i++) {
        release(seat, tasks[i]);
    }
    if (!is_last(seat)) {
        release(seat, input);
    }
    return input;
}

static void until_it_sleeps(struct seat *seat)
{
    for (;; nap_ms(1)) {
        pthread_mutex_lock(&seat->m->bond->lock);
        if (seat->m->engine.sleepers > 0) {
            return; /* with the lock */
        }
        pthread_mutex_unlock(&seat->m->bond->lock);
    }
}

static bool input_is_gone(struct seat *seat)
{
    return core_user(seat->m->core, &input_hash) == NULL;
}

/* The last rank's thread that spawns waits for the outcome, and before it has woken up
 * its input is released, forgotten, and the memory of its record used again. */
static void an_input_goes_while_its_taker_leaves(struct seat *seat)
{
    struct late_spawn late = {.seat = seat, .input = take_and_go(seat)};
    pthread_t thread;
    moot_hash hash;
    if (is_last(seat)) {
        input_hash = hash_u64(seat, SQUARE, INPUT);
    }
    turn_until(seat, seat->size - 1, one_is_leaving);
    if (is_last(seat)) {
        seat->m->engine.driven =
            true; /* by this thread, which holds the lock from then on */
        pthread_create(&thread, NULL, spawn_late, &late);
        until_it_sleeps(seat);
        task_handle_end(seat->m, handle_at(&seat->m->tasks.handles, late.input.id));
        holds_lock = true;
    }
    meet(seat);
    turn_until(seat, seat->size - 1, input_is_gone);
    if (is_last(seat)) {
        for (uint64_t i = 0; i < NAMES; i++) {
            hash = digest_bytes(&i, sizeof(i));
            hash.bytes[MOOT_HASH_BYTES - 1] = 0;
            CHECK(seat, task_enter(seat->m, &hash) != NULL);
        }
        holds_lock = seat->m->engine.driven = false;
        pthread_mutex_unlock(&seat->m->bond->lock);
        pthread_join(thread, NULL);
    }
    meet(seat);
    moot_task input = spawn_u64(seat, SQUARE, INPUT);
    if (!is_last(seat)) {
        late.task = spawn_on(seat, seat->size - 1, &input, 1, leaving);
    }
    EXPECT(seat, moot_task_wait(seat->m, late.task, MOOT_SECONDS(20)), MOOT_OK);
    CHECK(seat, fetch_u64(seat, late.task) == INPUT * INPUT + leaving);
}

/* --- What is forgotten for good ----------------------------------------------------
 */

/* Tasks come and go on all ranks until each has forgotten this one. */
static void forget_once(struct seat *seat, const moot_hash *hash)
{
    static atomic_int lost;
    bool all = false;
    for (uint64_t round = 0; round < ROUNDS_MAX && !all; round++) {
        moot_task tasks[FEW] = {{0}};
        for (uint64_t i = 0; i < FEW; i++) {
            tasks[i] = spawn_u64(seat, SQUARE, 1000 + round * FEW + i);
        }
        EXPECT(seat, moot_task_wait_all(seat->m, tasks, FEW, MOOT_FOREVER), MOOT_OK);
        for (uint64_t i = 0; i < FEW; i++) {
            release(seat, tasks[i]);
        }
        if (seat->rank == 0) {
            lost = 0;
        }
        meet_serving(seat);
        pthread_mutex_lock(&seat->m->bond->lock);
        lost += core_lost(seat->m->core, hash);
        pthread_mutex_unlock(&seat->m->bond->lock);
        meet_serving(seat);
        all = lost == seat->size;
        meet_serving(seat);
    }
    CHECK(seat, all);
}

/* What takes a once task that was forgotten is refused at its spawn. */
static void takes_what_is_forgotten(struct seat *seat)
{
    moot_task task, found;
    begin(seat);
    moot_task_spec spec = {
        .kernel = seat->kernels[ONCE], .key = "one", .key_size = sizeof("one")};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    const moot_hash hash = hash_of(seat, task);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    release(seat, task);
    forget_once(seat, &hash);
    hold_still(seat);
    spawn_u64(seat, SQUARE, 300);
    WAIT_UNNAMED(seat, 0);
    EXPECT(seat, moot_task_find(seat->m, &hash, &found), MOOT_OK);
    spec = (moot_task_spec){
        .kernel = seat->kernels[SUM], .inputs = &found, .input_count = 1};
    hold_still(seat);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_ERR_RESULT_LOST);
}

/* Nobody can be asked for it: its end is known here. */
static void waits_for_what_is_forgotten(struct seat *seat)
{
    const void *data;
    moot_task task;
    begin(seat);
    const moot_task_spec spec = {
        .kernel = seat->kernels[ONCE], .key = "two", .key_size = sizeof("two")};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    const moot_hash hash = hash_of(seat, task);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    release(seat, task);
    forget_once(seat, &hash);
    EXPECT(seat, moot_task_name(seat->m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, 0), MOOT_ERR_RESULT_LOST);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_SECONDS(20)), MOOT_ERR_RESULT_LOST);
    release(seat, task);
    EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_SECONDS(20), &data, NULL),
           MOOT_ERR_RESULT_LOST);
    CHECK(seat, strstr(moot_last_error(seat->m), "RESULT_LOST") != NULL);
}

/* --- Queues' functions ----------------------------------------------------------- */

struct adder {
    struct seat *seat;
    moot_task made;
};

static int keep(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                void *state)
{
    (void)queue, (void)tickets, (void)count, (void)state;
    return MOOT_OK;
}

static int add_one(moot_queue *queue, void *state)
{
    struct adder *adder = state;
    (void)queue;
    hold_still(adder->seat);
    adder->made = spawn_u64(adder->seat, SQUARE, 402);
    WAIT_UNNAMED(adder->seat, 1);
    return MOOT_OK;
}

/* No queue is around it: what its function spawns is registered when that returns, and
 * so before what the queue still has. */
static void spawned_by_a_closing_queue(struct seat *seat)
{
    struct adder adder = {.seat = seat};
    moot_queue_custom custom = {
        .name = "adder", .submit = keep, .close = add_one, .user = &adder};
    begin(seat);
    EXPECT(seat, moot_queue_open_custom(seat->m, &custom), MOOT_OK);
    moot_task kept[2];
    for (uint64_t i = 0; i < 2; i++) {
        kept[i] = spawn_u64(seat, SQUARE, 400 + i);
    }
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    CHECK(seat, place_of(seat, adder.made) + 1 == place_of(seat, kept[0]));
    CHECK(seat, place_of(seat, kept[0]) + 1 == place_of(seat, kept[1]));
    CHECK(seat, fetch_u64(seat, adder.made) == 402 * 402);
    CHECK(seat, fetch_u64(seat, kept[1]) == 401 * 401);
}

/* A ticket needs records of what its task takes. */
static void kept_with_inputs_of_others(struct seat *seat)
{
    moot_queue_custom custom = {.name = "keeper", .submit = keep};
    moot_task inputs[SEATS_MAX] = {{0}}, takers[SEATS_MAX] = {{0}};
    begin(seat);
    for (int owner = 0; owner < seat->size; owner++) {
        inputs[owner] = spawn_on(seat, owner, NULL, 0, 600 + (uint64_t)owner);
    }
    EXPECT(seat, moot_queue_open_custom(seat->m, &custom), MOOT_OK);
    for (int owner = 0; owner < seat->size; owner++) {
        takers[owner] = spawn_on(seat, owner, &inputs[owner], 1, 7);
    }
    for (int owner = 0; owner < seat->size; owner++) {
        hash_of(seat, inputs[owner]);
        release(seat, inputs[owner]);
    }
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    for (int owner = 0; owner < seat->size; owner++) {
        CHECK(seat, fetch_u64(seat, takers[owner]) == 607 + (uint64_t)owner);
    }
}

/* Tasks of other ranks, which this one may come to run: what they spawn goes through
 * queues like those in which they were spawned, however many kinds were there before.
 */
static void behind_many_kinds_of_queues(struct seat *seat)
{
    enum { KINDS = STUB_QUEUE_LINE_MAX + 1 };
    static const char users[KINDS];
    begin(seat);
    for (int i = 0; i < KINDS; i++) {
        moot_queue_custom custom = {.name = "keeper",
                                    .submit = keep,
                                    .flags = MOOT_QUEUE_INHERITED,
                                    .user = (void *)(uintptr_t)&users[i]};
        EXPECT(seat, moot_queue_open_custom(seat->m, &custom), MOOT_OK);
        EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    }
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_BULK), MOOT_OK);
    moot_task tasks[SEATS_MAX] = {{0}};
    for (int owner = 0; owner < seat->size; owner++) {
        tasks[owner] = spawn_on(seat, owner, NULL, 0, 500);
    }
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    for (int owner = 0; owner < seat->size; owner++) {
        const moot_hash hash = hash_of(seat, tasks[owner]);
        engine_lock(seat->m);
        const struct task *record = core_user(seat->m->core, &hash);
        CHECK(seat, record != NULL && record->queue_line == KINDS + 1);
        engine_unlock(seat->m);
    }
}

/* --- All of them ----------------------------------------------------------------- */

static const char *const by_caller[] = {"MOOT_PROGRESS=caller", NULL};
static const char *const small_window[] = {"MOOT_PROGRESS=caller", "MOOT_WINDOW=16",
                                           NULL};

static const struct scene scenes[] = {
    SCENE(owners_beyond_a_word, .knobs = by_caller, .sizes = {CROWD}),
    SCENE(spawned_while_it_leaves, .knobs = small_window, .sizes = {2, 3}),
    SCENE(taken_while_it_leaves, .knobs = small_window, .sizes = {2, 3}),
    SCENE(found_while_it_leaves, .knobs = small_window, .sizes = {2, 3}),
    SCENE(closed_while_it_leaves, .knobs = small_window, .sizes = {2, 3}),
    SCENE(looked_at_while_it_leaves, .knobs = small_window, .sizes = {2, 3}),
    SCENE(an_input_goes_while_its_taker_leaves, .knobs = small_window, .sizes = {3}),
    SCENE(takes_what_is_forgotten, .knobs = small_window),
    SCENE(waits_for_what_is_forgotten, .knobs = small_window),
    SCENE(spawned_by_a_closing_queue, .knobs = by_caller),
    SCENE(kept_with_inputs_of_others, .knobs = by_caller),
    SCENE(behind_many_kinds_of_queues, .knobs = by_caller),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
