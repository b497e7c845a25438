/* unnamed_around_test.c - tasks that wait for their hash, and what is around them:
 * other threads, a program that computes or closes, ranks that are gone, groups, and
 * who looks.
 */
#include "tests/conformance/unnamed.h"

/* --- Threads --------------------------------------------------------------------- */

static void in_thread(struct seat *seat, void *(*run)(void *), void *argument)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, argument);
    pthread_join(thread, NULL);
    (void)seat;
}

struct guest {
    struct seat *seat;
    moot_task tasks[4];
    uint64_t number;
    pthread_barrier_t *turns;
};

static void *use(void *argument)
{
    struct guest *guest = argument;
    struct seat *seat = guest->seat;
    uint64_t x = guest->number;
    moot_task_info info = {.size = 0};
    if (x % 3 == 0) {
        release(seat, guest->tasks[1]);
        EXPECT(seat, moot_task_release(seat->m, guest->tasks[1]), MOOT_ERR_STALE);
    }
    if (x % 2 == 0) {
        EXPECT(seat, moot_task_wait(seat->m, guest->tasks[0], MOOT_FOREVER), MOOT_OK);
    }
    EXPECT(seat, moot_task_info(seat->m, guest->tasks[2], &info), MOOT_OK);
    const moot_hash hash = hash_u64(seat, SQUARE, x + 2);
    CHECK(seat, memcmp(&hash, &info.hash, sizeof(hash)) == 0);
    guest->tasks[3] = spawn_sum(seat, &guest->tasks[2], 1, 1);
    CHECK(seat, fetch_u64(seat, guest->tasks[3]) == (x + 2) * (x + 2) + 1);
    return NULL;
}

static void used_by_another_thread(struct seat *seat)
{
    begin(seat);
    for (uint64_t i = 0; i < 12; i++) {
        struct guest guest = {.seat = seat, .number = 200 + 10 * i};
        hold_still(seat);
        for (uint64_t k = 0; k < 3; k++) {
            guest.tasks[k] = spawn_u64(seat, SQUARE, guest.number + k);
        }
        WAIT_UNNAMED(seat, 3);
        in_thread(seat, use, &guest);
        EXPECT(seat, moot_task_wait(seat->m, guest.tasks[1], MOOT_FOREVER),
               guest.number % 3 == 0 ? MOOT_ERR_STALE : MOOT_OK);
        release(seat, guest.tasks[3]);
    }
}

enum { TURNS = 120 };

static void *take_turns(void *argument)
{
    struct guest *guest = argument;
    moot_task last = guest->tasks[0];
    for (uint64_t i = 0; i < TURNS; i++) {
        pthread_barrier_wait(guest->turns);
        if (i % 2 == guest->number) {
            for (uint64_t k = 0; k <= i % 5; k++) {
                last = k % 2 ? spawn_sum(guest->seat, &last, 1, i)
                             : spawn_u64(guest->seat, SQUARE,
                                         1000 * (guest->number + 1) + 10 * i + k);
            }
            guest->tasks[i % 4] = last;
        }
        pthread_barrier_wait(guest->turns);
        if (i % 2 != guest->number && i % 3 == 0) { /* the other's */
            CHECK(guest->seat,
                  hash_of(guest->seat, guest[guest->number ? -1 : 1].tasks[i % 4])
                          .bytes[15] != 255);
        }
    }
    EXPECT(guest->seat, moot_task_wait(guest->seat->m, last, MOOT_FOREVER), MOOT_OK);
    return NULL;
}

static void threads_that_alternate(struct seat *seat)
{
    pthread_barrier_t turns;
    pthread_barrier_init(&turns, NULL, 2);
    struct guest guests[2] = {{.seat = seat, .number = 0, .turns = &turns},
                              {.seat = seat, .number = 1, .turns = &turns}};
    pthread_t thread;
    pthread_create(&thread, NULL, take_turns, &guests[1]);
    take_turns(&guests[0]);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&turns);
    meet_serving(seat);
    CHECK(seat, stats_of(seat).votes == 0);
}

static void *spawn_beside(void *argument)
{
    struct guest *guest = argument;
    struct seat *seat = guest->seat;
    begin(seat);
    pthread_barrier_wait(guest->turns);
    pthread_barrier_wait(guest->turns);
    WAIT_UNNAMED(seat, 1);
    guest->tasks[1] = spawn_u64(seat, SQUARE, 231);
    WAIT_UNNAMED(seat, 0);
    guest->tasks[2] = spawn_u64(seat, SQUARE, 232);
    WAIT_UNNAMED(seat, 1);
    pthread_barrier_wait(guest->turns);
    pthread_barrier_wait(guest->turns);
    WAIT_UNNAMED(seat, 0);
    return NULL;
}

/* All that wait are one thread's, whose roll they will be on. */
static void two_threads(struct seat *seat)
{
    begin(seat);
    pthread_barrier_t turns;
    pthread_barrier_init(&turns, NULL, 2);
    struct guest guest = {.seat = seat, .turns = &turns};
    pthread_t thread;
    pthread_create(&thread, NULL, spawn_beside, &guest);
    pthread_barrier_wait(&turns);
    hold_still(seat);
    guest.tasks[0] = spawn_u64(seat, SQUARE, 230);
    pthread_barrier_wait(&turns);
    pthread_barrier_wait(&turns);
    guest.tasks[3] = spawn_u64(seat, SQUARE, 233);
    pthread_barrier_wait(&turns);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&turns);
    for (uint64_t k = 0; k < 4; k++) {
        CHECK(seat, fetch_u64(seat, guest.tasks[k]) == (230 + k) * (230 + k));
    }
    for (uint64_t k = 1; k < 4; k++) {
        CHECK(seat,
              place_of(seat, guest.tasks[k]) > place_of(seat, guest.tasks[k - 1]));
    }
}

static void *collect(void *argument)
{
    struct guest *guest = argument;
    struct seat *seat = guest->seat;
    begin(seat);
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_BULK), MOOT_OK);
    guest->tasks[0] = spawn_u64(seat, SQUARE, 240);
    pthread_barrier_wait(guest->turns);
    pthread_barrier_wait(guest->turns);
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    return NULL;
}

/* Another thread's queue has an input of a task that could wait. */
static void an_input_in_a_queue(struct seat *seat)
{
    begin(seat);
    pthread_barrier_t turns;
    pthread_barrier_init(&turns, NULL, 2);
    struct guest guest = {.seat = seat, .turns = &turns};
    pthread_t thread;
    pthread_create(&thread, NULL, collect, &guest);
    pthread_barrier_wait(&turns);
    atomic_store(&seat->m->engine.driven_ns, clock_ns() + 1000000000u);
    moot_task task = spawn_sum(seat, &guest.tasks[0], 1, 7);
    uint64_t more = 7;
    moot_task_spec spec = {.kernel = seat->kernels[SUM],
                           .args = &more,
                           .args_size = sizeof(more),
                           .inputs = &guest.tasks[0],
                           .input_count = 1};
    moot_hash wanted, hash = hash_of(seat, task);
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &wanted), MOOT_OK);
    CHECK(seat, memcmp(&hash, &wanted, sizeof(hash)) == 0);
    pthread_barrier_wait(&turns);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&turns);
    CHECK(seat, fetch_u64(seat, task) == 240 * 240 + 7);
}

static void *stand_at_the_gate(void *argument)
{
    struct guest *guest = argument;
    EXPECT(guest->seat, moot_task_wait(guest->seat->m, guest->tasks[0], MOOT_FOREVER),
           MOOT_OK);
    return NULL;
}

/* A thread that waits runs what is spawned beside it at once. */
static void beside_a_wait(struct seat *seat)
{
    struct guest guest = {.seat = seat};
    moot_task_spec spec = {.kernel = seat->kernels[GATE],
                           .owner = MOOT_ON(seat->size - 1)};
    if (seat->rank == 0) {
        gate_open = false;
    }
    meet(seat);
    begin(seat);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &guest.tasks[0]), MOOT_OK);
    pthread_t thread;
    pthread_create(&thread, NULL, stand_at_the_gate, &guest);
    for (bool waits = false; !waits; sched_yield()) {
        engine_lock(seat->m);
        waits = seat->m->schedule.program_waits > 0;
        engine_unlock(seat->m);
    }
    atomic_store(&seat->m->engine.driven_ns, clock_ns() + 1000000000u);
    spawn_u64(seat, SQUARE, 250);
    WAIT_UNNAMED(seat, 0);
    meet(seat);
    gate_open = true;
    pthread_join(thread, NULL);
}

static void *spawn_and_end(void *argument)
{
    struct guest *guest = argument;
    begin(guest->seat);
    for (uint64_t k = 0; k < 3; k++) {
        guest->tasks[k] = spawn_u64(guest->seat, SQUARE, guest->number + k);
    }
    WAIT_UNNAMED(guest->seat, 3);
    return NULL;
}

/* Its lane ends with it, and they are on its roll. */
static void a_thread_that_ends(struct seat *seat)
{
    for (uint64_t i = 0; i < 5; i++) {
        struct guest guest = {.seat = seat, .number = 300 + 10 * i};
        in_thread(seat, spawn_and_end, &guest);
        WAIT_UNNAMED(seat, 0);
        for (uint64_t k = 0; k < 3; k++) {
            CHECK(seat, fetch_u64(seat, guest.tasks[k]) ==
                            (guest.number + k) * (guest.number + k));
            CHECK(seat, place_of(seat, guest.tasks[k]) != 0);
        }
    }
}

/* --- The program computes, and closes -------------------------------------------- */

/* Somebody else runs what is there, at once. */
static void a_program_that_computes(struct seat *seat)
{
    static atomic_int before;
    begin(seat);
    for (uint64_t count = 1; count < 4; count++) {
        meet_serving(seat);
        if (seat->rank == 0) {
            before = square_runs;
        }
        meet_serving(seat);
        hold_still(seat);
        for (uint64_t k = 0; k < count; k++) {
            spawn_u64(seat, SQUARE, 400 + 10 * count + k);
            WAIT_UNNAMED(seat, 0);
        }
        int wanted = before + (int)count;
        for (int ms = 0; ms < 20000 && square_runs < wanted; ms++) {
            nap_ms(1);
        }
        CHECK(seat, square_runs >= wanted);
        stats_of(seat);
    }
}

static atomic_int closed_runs;

static int count_run(moot_call *call, void *user)
{
    (void)user;
    closed_runs++;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void counting(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, RELAY + 1, "count", count_run, 0);
}

static void closed_at_once(struct seat *seat)
{
    if (seat->rank == 0) {
        closed_runs = 0;
    }
    begin(seat);
    meet_serving(seat);
    hold_still(seat);
    for (uint64_t k = 0; k < 3; k++) {
        spawn_u64(seat, RELAY + 1, k);
    }
    WAIT_UNNAMED(seat, 3);
}

static void closed_well(struct seat *seat)
{
    closes_well(seat);
    meet(seat);
    CHECK(seat, closed_runs == 3);
}

/* --- Kernels that ranks know otherwise ------------------------------------------- */

static void at_odds(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, RELAY + 1, "odd", empty,
               seat->rank == 0 ? MOOT_KERNEL_IDEMPOTENT : 0);
}

/* The first spawn of a kernel tells the others of it, and once that is known others are
 * refused. */
static void kernels_at_odds(struct seat *seat)
{
    begin(seat);
    moot_task_spec spec = {.kernel = seat->kernels[RELAY + 1]};
    moot_task task;
    meet(seat);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    meet(seat); /* nobody has been told of it before this */
    int code = MOOT_OK;
    for (uint64_t i = 0; code == MOOT_OK && i < 4000; i++) {
        moot_task other = spawn_u64(seat, SQUARE, 524 + i % 8); /* of both ranks */
        EXPECT(seat, moot_task_wait(seat->m, other, MOOT_FOREVER), MOOT_OK);
        nap_ms(1);
        hold_still(seat);
        code = moot_task_spawn(seat->m, &spec, &task);
        WAIT_UNNAMED(seat, code == MOOT_OK);
        (void)moot_task_wait(seat->m, task, MOOT_MILLISECONDS(1));
        begin(seat);
    }
    EXPECT(seat, code, MOOT_ERR_KERNEL_MISMATCH);
}

/* --- Who is not there, and what is looked at ------------------------------------- */

/* The last rank is cut off: before, its tasks wait like others, and then they are
 * refused, with others waiting. */
static void owners_that_are_gone(struct seat *seat)
{
    int last = seat->size - 1;
    begin(seat);
    moot_task tasks[3];
    tasks[0] = spawn_on(seat, last, NULL, 0, 1);
    CHECK(seat, fetch_u64(seat, tasks[0]) == 1);
    int code = MOOT_OK;
    for (uint64_t i = 0; code == MOOT_OK && moot_present(seat->m, last) != 0; i++) {
        code = moot_task_wait(seat->m, spawn_u64(seat, SQUARE, i), MOOT_FOREVER);
        nap_ms(1);
    }
    if (seat->rank == last) {
        return;
    }
    EXPECT(seat, code, MOOT_OK);
    hold_still(seat);
    tasks[0] = spawn_on(seat, 0, NULL, 0, 1000);
    tasks[1] = spawn_on(seat, 1, NULL, 0, 1001);
    uint64_t number = 3;
    moot_task_spec spec = {.kernel = seat->kernels[SUM],
                           .args = &number,
                           .args_size = sizeof(number),
                           .owner = MOOT_ON(last)};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[2]), MOOT_ERR_NO_CANDIDATE);
    WAIT_UNNAMED(seat, 0);
    CHECK(seat, place_of(seat, tasks[0]) + 1 == place_of(seat, tasks[1]));
    CHECK(seat, fetch_u64(seat, tasks[1]) == 1001);
    CHECK(seat, fetch_u64(seat, tasks[0]) == 1000);
}

static void cut_off_at_the_end(struct seat *seat)
{
    bool last = seat->rank == seat->size - 1;
    CHECK(seat, seat->close_code == (last ? MOOT_ERR_NO_QUORUM : MOOT_OK));
}

static void ignore(void *user, const moot_event *event) { (void)user, (void)event; }

/* Who looks sees a spawn when it is made. */
static void looked_at(struct seat *seat)
{
    begin(seat);
    moot_watch_id id;
    spawn_u64(seat, SQUARE, 501);
    WAIT_UNNAMED(seat, 1);
    EXPECT(seat, moot_watch_add(seat->m, &(moot_watch){.fn = ignore}, &id), MOOT_OK);
    WAIT_UNNAMED(seat, 0);
    hold_still(seat);
    spawn_u64(seat, SQUARE, 502);
    WAIT_UNNAMED(seat, 0);
}

static void verified(struct seat *seat)
{
    begin(seat);
    spawn_u64(seat, SQUARE, 503);
    WAIT_UNNAMED(seat, 0);
}

/* Before and behind those that wait. */
static void declined(struct seat *seat)
{
    begin(seat);
    moot_hash hashes[3];
    for (uint64_t k = 0; k < 3; k++) {
        hashes[k] = hash_u64(seat, SQUARE, 600 + k);
    }
    hold_still(seat);
    moot_task task = spawn_u64(seat, SQUARE, 600);
    WAIT_UNNAMED(seat, 1);
    EXPECT(seat, moot_decline(seat->m, &hashes[0]), MOOT_ERR_STATE);
    hold_still(seat);
    spawn_u64(seat, SQUARE, 602);
    WAIT_UNNAMED(seat, 1);
    EXPECT(seat, moot_decline(seat->m, &hashes[1]), MOOT_OK);
    uint64_t number = 601;
    moot_task_spec spec = {
        .kernel = seat->kernels[SQUARE], .args = &number, .args_size = sizeof(number)};
    moot_task none;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &none), MOOT_ERR_DECLINED);
    hold_still(seat);
    spawn_u64(seat, SQUARE, 603);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &none), MOOT_ERR_DECLINED);
    CHECK(seat, fetch_u64(seat, task) == 600 * 600);
}

/* --- Groups -------------------------------------------------------------------- */

static uint32_t live_handles(struct seat *seat)
{
    pthread_mutex_lock(&seat->m->bond->lock);
    const struct handles *handles = &seat->m->tasks.handles;
    const uint32_t live = handles->count - handles->free_count;
    pthread_mutex_unlock(&seat->m->bond->lock);
    return live;
}

/* A number that the program has released is void at once, though the group needs the
 * task; one that it keeps is good after the close, and after a failed one. */
static void handles_in_a_group(struct seat *seat)
{
    enum { COUNT = 3000 }; /* more than a group looks at without letting go */
    static moot_task all[SEATS_MAX][COUNT];
    moot_task *tasks = all[seat->rank];
    begin(seat);
    const uint32_t before = live_handles(seat);
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    for (uint64_t i = 0; i < COUNT; i++) {
        tasks[i] = spawn_u64(seat, SQUARE, i);
        if (i % 3 == 0) {
            EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_OK);
            EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_ERR_STALE);
        } else if (i % 50 == 1) {
            CHECK(seat, fetch_u64(seat, tasks[i]) == i * i);
        }
    }
    EXPECT(seat, moot_task_release(seat->m, tasks[1]), MOOT_OK); /* and had its bytes */
    EXPECT(seat, moot_group_close(seat->m, -1), MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_release(seat->m, tasks[2]), MOOT_OK);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    for (uint64_t i = 4; i < COUNT; i++) {
        if (i % 3 != 0) {
            CHECK(seat, fetch_u64(seat, tasks[i]) == i * i);
            EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_OK);
        }
        EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_ERR_STALE);
    }
    CHECK(seat, live_handles(seat) == before);
}

/* --- All of them ----------------------------------------------------------------- */

static const char *const by_caller[] = {"MOOT_PROGRESS=caller", NULL};
static const char *const with_worker[] = {"MOOT_THREADS=1", NULL};
static const char *const with_workers[] = {"MOOT_THREADS=2", NULL};
static const char *const verifying[] = {"MOOT_PROGRESS=caller", "MOOT_VERIFY=1", NULL};
static const char *const cut[] = {"MOOT_FAULTS=part:2@1s", "MOOT_SUSPECT=300ms", NULL};

static const struct scene scenes[] = {
    SCENE(used_by_another_thread, .knobs = by_caller),
    SCENE(two_threads, .knobs = by_caller),
    SCENE(an_input_in_a_queue, .knobs = by_caller),
    SCENE(beside_a_wait, .knobs = by_caller),
    SCENE(threads_that_alternate, .knobs = NULL),
    SCENE(threads_that_alternate, .knobs = with_workers),
    SCENE(a_thread_that_ends, .knobs = by_caller),
    SCENE(a_program_that_computes, .knobs = with_worker),
    {"closed_at_once", closed_at_once, counting, by_caller, closed_well, {0}},
    {"owners_that_are_gone",
     owners_that_are_gone,
     kernels,
     cut,
     cut_off_at_the_end,
     {3}},
    {"kernels_at_odds", kernels_at_odds, at_odds, by_caller, closes_well, {2, 3}},
    SCENE(looked_at, .knobs = by_caller),
    SCENE(verified, .knobs = verifying),
    SCENE(declined, .knobs = by_caller),
    SCENE(handles_in_a_group, .knobs = by_caller),
    SCENE(handles_in_a_group, .knobs = with_workers),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
