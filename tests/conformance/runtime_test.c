/* runtime_test.c - what a program may rely on whose ranks agree, over the
 * in-process wire.
 *
 * Each scene is a small SPMD program for one to four ranks.  That the wire is in
 * memory and ranks are threads changes nothing for the runtime: it is the code that
 * runs under mpirun, and these programs are the ones that run under the sanitizers.
 */
#include "hashing/identity.h"
#include "tests/conformance/kernels.h"

/* --- Agreeing ------------------------------------------------------------------- */

static void nothing(struct seat *seat)
{
    CHECK(seat, moot_rank(seat->m) == seat->rank);
    CHECK(seat, moot_size(seat->m) == seat->size);
}

/* Every task runs once in the job, every rank reads every result, nobody votes. */
static void squares(struct seat *seat)
{
    enum { COUNT = 200 };
    moot_task tasks[COUNT];
    if (seat->rank == 0) {
        square_runs = 0;
    }
    meet(seat);
    for (uint64_t i = 0; i < COUNT; i++) {
        tasks[i] = spawn_u64(seat, SQUARE, i);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK(seat, fetch_u64(seat, tasks[i]) == i * i);
    }
    moot_stats stats = stats_of(seat);
    CHECK(seat, stats.votes == 0);
    CHECK(seat, seat->size == 1 || stats.results_pushed > stats.results_answered);
    meet(seat);
    CHECK(seat, square_runs == COUNT);
}

static void chain(struct seat *seat)
{
    enum { LENGTH = 300 };
    moot_task last = spawn_u64(seat, SQUARE, 1);
    for (uint64_t i = 0; i < LENGTH; i++) {
        last = spawn_sum(seat, &last, 1, i);
    }
    CHECK(seat, fetch_u64(seat, last) == 1 + LENGTH * (LENGTH - 1) / 2);
}

static void large_results(struct seat *seat)
{
    static const uint64_t sizes[] = {1, 8191, 8192, 8193, 1 << 20, 5000000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        moot_task task = spawn_u64(seat, BIG, sizes[i]);
        const unsigned char *data = NULL;
        const void *place = NULL;
        size_t size = 0;
        EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &place, &size),
               MOOT_OK);
        data = place;
        CHECK(seat, size == sizes[i] && (uintptr_t)place % 64 == 0);
        bool same = data != NULL;
        for (uint64_t k = 0; same && k < size; k++) {
            same = data[k] == (unsigned char)(k * 31 + k / 251);
        }
        CHECK(seat, same);
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    }
}

/* A wait for completion moves no bytes; a later fetch still gets them. */
static void wait_then_fetch(struct seat *seat)
{
    moot_task task = spawn_u64(seat, BIG, 100000);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    const void *data = NULL;
    size_t size = 0;
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &size), MOOT_OK);
    CHECK(seat, data != NULL && size == 100000);
    EXPECT(seat, moot_task_fetch(seat->m, task, 0, &data, NULL), MOOT_OK);
}

static void duplicates(struct seat *seat)
{
    moot_task a = spawn_u64(seat, SQUARE, 9), b = spawn_u64(seat, SQUARE, 9);
    CHECK(seat, fetch_u64(seat, a) == 81);
    EXPECT(seat, moot_task_release(seat->m, a), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, a, 0), MOOT_ERR_STALE);
    CHECK(seat, fetch_u64(seat, b) == 81);
    CHECK(seat, stats_of(seat).tasks_spawned == 1);
}

/* Bytes that were let go come back for a consumer that is spawned later. */
static void released_then_used(struct seat *seat)
{
    moot_task a = spawn_u64(seat, SQUARE, 3);
    CHECK(seat, fetch_u64(seat, a) == 9);
    moot_hash hash = {0};
    moot_task_info info;
    EXPECT(seat, moot_task_info(seat->m, a, &info), MOOT_OK);
    hash = info.hash;
    EXPECT(seat, moot_task_release(seat->m, a), MOOT_OK);
    uint64_t more = 5;
    for (uint64_t i = 0; i < 8; i++, more++) {
        moot_task b;
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[SUM],
                                                 .args = &more,
                                                 .args_size = sizeof(more),
                                                 .input_hashes = &hash,
                                                 .input_hash_count = 1},
                               &b),
               MOOT_OK);
        CHECK(seat, fetch_u64(seat, b) == 9 + more);
    }
}

static void order_only(struct seat *seat)
{
    moot_task first = spawn_u64(seat, SLOW, 20);
    uint64_t x = 4;
    moot_task second;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                             .args = &x,
                                             .args_size = sizeof(x),
                                             .after = &first,
                                             .after_count = 1},
                           &second),
           MOOT_OK);
    CHECK(seat, fetch_u64(seat, second) == 16);
    EXPECT(seat, moot_task_wait(seat->m, first, MOOT_FOREVER), MOOT_OK);
}

static void owners(struct seat *seat)
{
    for (int rank = 0; rank < seat->size; rank++) {
        uint64_t x = (uint64_t)rank + 10;
        moot_task task;
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                                 .args = &x,
                                                 .args_size = sizeof(x),
                                                 .owner = MOOT_ON(rank),
                                                 .label = "pinned"},
                               &task),
               MOOT_OK);
        CHECK(seat, fetch_u64(seat, task) == x * x);
        moot_task_info info;
        EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
        CHECK(seat, info.owner == rank && info.chair == rank);
        CHECK(seat, info.state == MOOT_TASK_DONE && info.size == 8);
        CHECK(seat, strcmp(info.decided, "claim") == 0);
        CHECK(seat, strcmp(info.label, "pinned") == 0);
        CHECK(seat, strstr(info.site, "_test.c:") != NULL);
        CHECK(seat, info.story[0] == '\0' && info.status == MOOT_OK);
    }
}

static void unwaited(struct seat *seat)
{
    if (seat->rank == 0) {
        square_runs = 0;
    }
    meet(seat);
    for (uint64_t i = 0; i < 50; i++) {
        spawn_u64(seat, SQUARE, 1000 + i);
    }
}

static void unwaited_after(struct seat *seat)
{
    closes_well(seat);
    meet(seat);
    CHECK(seat, square_runs == 50);
}

/* --- Waiting -------------------------------------------------------------------- */

static void timeouts(struct seat *seat)
{
    uint64_t ms = 150;
    moot_task task;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[SLOW],
                                             .args = &ms,
                                             .args_size = sizeof(ms),
                                             .owner = MOOT_ON(0)},
                           &task),
           MOOT_OK);
    if (seat->rank != 0) { /* the owner runs it while it waits */
        double begin = now_s();
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_MILLISECONDS(10)),
               MOOT_ERR_TIMEOUT);
        CHECK(seat, now_s() - begin < 5);
        int code;
        while ((code = moot_task_wait(seat->m, task, 0)) == MOOT_ERR_TIMEOUT) {
            nap_ms(1);
        }
        CHECK(seat, code == MOOT_OK);
    }
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
}

/* A program that only polls asks its peers all the same, even for what it holds and
 * expects to be pushed: its owner, which waits for nothing, pushes nothing. */
static void polling(struct seat *seat)
{
    uint64_t x = 31;
    moot_task task;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                             .args = &x,
                                             .args_size = sizeof(x),
                                             .owner = MOOT_ON(0)},
                           &task),
           MOOT_OK);
    if (seat->rank != 0 || seat->size == 1) {
        const void *data = NULL;
        size_t size = 0;
        int code = MOOT_ERR_TIMEOUT;
        for (double begin = now_s();
             code == MOOT_ERR_TIMEOUT && now_s() - begin < 20;) {
            nap_ms(1);
            code = moot_task_fetch(seat->m, task, 0, &data, &size);
        }
        CHECK(seat, code == MOOT_OK && size == 8);
        CHECK(seat, data != NULL && *(const uint64_t *)data == 31 * 31);
    }
    meet(seat);
}

/* Who waits for a task has not asked for its data yet. */
static void a_wait_brings_no_data(struct seat *seat)
{
    uint64_t bytes = 100000;
    moot_task task;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[BIG],
                                             .args = &bytes,
                                             .args_size = sizeof(bytes),
                                             .owner = MOOT_ON(0)},
                           &task),
           MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    const void *data = NULL;
    if (seat->rank != 0) {
        EXPECT(seat, moot_task_fetch(seat->m, task, 0, &data, NULL), MOOT_ERR_TIMEOUT);
        CHECK(seat, told(seat, "before the task's data were here"));
    }
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL), MOOT_OK);
    CHECK(seat, data != NULL);
}

static void any_and_all(struct seat *seat)
{
    moot_task tasks[40];
    bool seen[40] = {false};
    for (uint64_t i = 0; i < 40; i++) {
        tasks[i] = spawn_u64(seat, SQUARE, 9000 + i);
    }
    size_t left = 40;
    size_t index[40];
    for (size_t i = 0; i < 40; i++) {
        index[i] = i;
    }
    while (left > 20) {
        size_t which = 99;
        EXPECT(seat, moot_task_wait_any(seat->m, tasks, left, MOOT_FOREVER, &which),
               MOOT_OK);
        CHECK(seat, which < left && !seen[index[which]]);
        if (which >= left) {
            return;
        }
        seen[index[which]] = true;
        left--;
        tasks[which] = tasks[left];
        index[which] = index[left];
    }
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, left, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_wait_all(seat->m, NULL, 0, 0), MOOT_OK);
}

static moot_task spawn_on_0(struct seat *seat, int kernel, uint64_t value,
                            const moot_task *after)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[kernel],
                                             .args = &value,
                                             .args_size = sizeof(value),
                                             .after = after,
                                             .after_count = after != NULL,
                                             .owner = MOOT_ON(0)},
                           &task),
           MOOT_OK);
    return task;
}

/* One victim waits for an order, one stands in the queue behind a running task. */
static void cancels(struct seat *seat)
{
    gate_open = false;
    meet(seat);
    moot_task blocker = spawn_on_0(seat, GATE, 0, NULL);
    moot_task victims[] = {spawn_on_0(seat, SLOW, 0, &blocker),
                           spawn_on_0(seat, SLOW, 1, NULL)};
    moot_task dependent;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[EMPTY],
                                             .inputs = victims,
                                             .input_count = 2},
                           &dependent),
           MOOT_OK);
    meet(seat);
    if (seat->rank == seat->size - 1) {
        for (int i = 0; i < 2; i++) {
            EXPECT(seat, moot_task_cancel(seat->m, victims[i]), MOOT_OK);
            if (seat->size > 1) { /* its owner ends it while the blocker runs */
                EXPECT(seat, moot_task_wait(seat->m, victims[i], MOOT_FOREVER),
                       MOOT_ERR_CANCELLED);
            }
        }
        gate_open = true;
    }
    for (int i = 0; i < 2; i++) {
        EXPECT(seat, moot_task_wait(seat->m, victims[i], MOOT_FOREVER),
               MOOT_ERR_CANCELLED);
        CHECK(seat, told(seat, "cancelled"));
    }
    EXPECT(seat, moot_task_wait(seat->m, dependent, MOOT_FOREVER),
           MOOT_ERR_TASK_FAILED);
    EXPECT(seat, moot_task_wait(seat->m, blocker, MOOT_FOREVER), MOOT_OK);
    CHECK(seat, fetch_u64(seat, spawn_on_0(seat, SQUARE, 3, NULL)) == 9);
}

/* --- Scopes and threads --------------------------------------------------------- */

static void scopes(struct seat *seat)
{
    moot_hash in_a, in_b, outside;
    uint64_t x = 1;
    moot_task_spec spec = {
        .kernel = seat->kernels[SQUARE], .args = &x, .args_size = sizeof(x)};
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &outside), MOOT_OK);
    EXPECT(seat, moot_scope_open(seat->m, "a"), MOOT_OK);
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &in_a), MOOT_OK);
    moot_task task = spawn_u64(seat, SQUARE, 1);
    CHECK(seat, fetch_u64(seat, task) == 1);
    EXPECT(seat, moot_scope_open(seat->m, "b"), MOOT_OK);
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &in_b), MOOT_OK);
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_scope_open(seat->m, "b"), MOOT_ERR_SCOPE_CLOSED);
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    CHECK(seat, memcmp(&in_a, &outside, sizeof(in_a)) != 0);
    CHECK(seat, memcmp(&in_a, &in_b, sizeof(in_a)) != 0);
    EXPECT(seat, moot_scope_open(seat->m, ""), MOOT_ERR_INVALID);
    char name[2] = "A";
    for (int i = 0; i < 32; i++, name[0]++) {
        EXPECT(seat, moot_scope_open(seat->m, name), MOOT_OK);
    }
    EXPECT(seat, moot_scope_open(seat->m, "deeper"), MOOT_ERR_LIMIT);
    for (int i = 0; i < 32; i++) {
        EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    }
}

static int is_it(void *hash, const moot_task_info *info)
{
    return memcmp(hash, &info->hash, sizeof(info->hash)) == 0;
}

/* Of a scope that has ended on every rank nothing is to be found. */
static void found_too_late(struct seat *seat)
{
    EXPECT(seat, moot_scope_open(seat->m, "early"), MOOT_OK);
    moot_hash hash = hash_u64(seat, SQUARE, 7);
    moot_task task = spawn_u64(seat, SQUARE, 7), found = {99};
    CHECK(seat, fetch_u64(seat, task) == 49);
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_task_find(seat->m, &hash, &found), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, found), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    for (uint64_t i = 8; moot_tasks_each(seat->m, NULL, is_it, &hash) != 0; i++) {
        moot_task other = spawn_u64(seat, SQUARE, i); /* so that the loop turns */
        EXPECT(seat, moot_task_wait(seat->m, other, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_task_release(seat->m, other), MOOT_OK);
    }
    found.id = 99;
    EXPECT(seat, moot_task_find(seat->m, &hash, &found), MOOT_ERR_SCOPE_CLOSED);
    CHECK(seat, found.id == 99 && told(seat, "scope that has ended on every rank"));
}

struct spawner {
    struct seat *seat;
    uint64_t first;
};

static void *spawner_main(void *argument)
{
    const struct spawner *spawner = argument;
    for (uint64_t i = 0; i < 50; i++) {
        uint64_t x = spawner->first + i;
        moot_task task = spawn_u64(spawner->seat, SQUARE, x);
        CHECK(spawner->seat, fetch_u64(spawner->seat, task) == x * x);
    }
    return NULL;
}

static void two_threads(struct seat *seat)
{
    struct spawner spawners[2] = {{seat, 20000}, {seat, 20025}};
    pthread_t thread;
    pthread_create(&thread, NULL, spawner_main, &spawners[0]);
    spawner_main(&spawners[1]);
    moot_park(seat->m);
    pthread_join(thread, NULL);
    moot_unpark(seat->m);
}

static void *waiter_main(void *argument)
{
    struct seat *seat = argument;
    uint64_t x = 5555;
    moot_task_spec spec = {
        .kernel = seat->kernels[SQUARE], .args = &x, .args_size = sizeof(x)};
    moot_hash hash;
    moot_task task;
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
    EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
    pthread_barrier_wait(seat->barrier);
    int code = moot_task_wait(seat->m, task, MOOT_FOREVER);
    CHECK(seat, code == MOOT_ERR_CLOSED);
    return NULL;
}

/* Closing while another thread waits: that one leaves first, with CLOSED. */
static void close_with_waiters(struct seat *seat)
{
    pthread_barrier_t *all = seat->barrier, own;
    pthread_barrier_init(&own, NULL, 2);
    seat->barrier = &own;
    spawn_u64(seat, SQUARE,
              1); /* a lane that runs: what the other waits for may come */
    pthread_t thread;
    pthread_create(&thread, NULL, waiter_main, seat);
    pthread_barrier_wait(&own);
    nap_ms(30);
    seat->close_code = moot_close(seat->m);
    CHECK(seat, seat->close_code == MOOT_OK);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&own);
    seat->barrier = all;
    seat->m = NULL;
}

/* Kernels that just return a child's code keep its story. */
static void causes_from_below(struct seat *seat)
{
    moot_task task = spawn_u64(seat, LOSER, 2);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    const char *story = moot_last_error(seat->m);
    unsigned told = 0;
    for (const char *at = story; (at = strstr(at, "child failed:")) != NULL; at++) {
        told++;
    }
    CHECK(seat, told == 2);
    CHECK(seat, strstr(story, "kernels.h:") != NULL);
    CHECK(seat, strstr(story, "failed with code 7: the pump is dry") != NULL);
}

/* --- Kernels that wait ---------------------------------------------------------- */

static moot_hash hash_of_task(struct seat *seat, moot_task task)
{
    moot_task_info info = {0};
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    return info.hash;
}

/* The kernel waits for what the program spawns after a wait that it runs in. */
static void waits_for_later(struct seat *seat)
{
    moot_task early = spawn_relay(seat, hash_u64(seat, SQUARE, 77));
    moot_task between = spawn_u64(seat, SQUARE, 5);
    CHECK(seat, fetch_u64(seat, between) == 25);
    moot_task late = spawn_u64(seat, SQUARE, 77);
    CHECK(seat, fetch_u64(seat, early) == 77 * 77);
    CHECK(seat, fetch_u64(seat, late) == 77 * 77);
}

/* The second kernel waits for the first, which waits for what comes after both. */
static void waits_for_waiter(struct seat *seat)
{
    moot_task first = spawn_relay(seat, hash_u64(seat, SQUARE, 6));
    moot_task second = spawn_relay(seat, hash_of_task(seat, first));
    moot_task third = spawn_relay(seat, hash_of_task(seat, second));
    moot_task last = spawn_u64(seat, SQUARE, 6);
    CHECK(seat, fetch_u64(seat, third) == 36);
    CHECK(seat, fetch_u64(seat, last) == 36);
}

/* A kernel that began in a wait goes on while its thread is parked. */
static void goes_on_while_parked(struct seat *seat)
{
    moot_task relay_task = {0};
    moot_hash source = hash_u64(seat, SQUARE, 8);
    moot_task_spec spec = {.kernel = seat->kernels[RELAY],
                           .args = &source,
                           .args_size = sizeof(source),
                           .owner = MOOT_ON(0)};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &relay_task), MOOT_OK);
    uint64_t eight = 8;
    if (seat->rank == 0) {
        EXPECT(seat, moot_task_wait(seat->m, relay_task, 20000000), MOOT_ERR_TIMEOUT);
        EXPECT(seat, moot_park(seat->m), MOOT_OK);
        meet(seat); /* which the others reach with its result */
        EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    } else {
        nap_ms(40);
    }
    moot_task source_task = spawn_u64(seat, SQUARE, eight);
    CHECK(seat, fetch_u64(seat, relay_task) == 64);
    if (seat->rank != 0) {
        meet(seat);
    }
    CHECK(seat, fetch_u64(seat, source_task) == 64);
}

/* More kernels wait at once than a thread's stack would hold. */
static void many_waiters(struct seat *seat)
{
    enum { COUNT = 600 };
    moot_task chain_of[COUNT];
    chain_of[0] = spawn_relay(seat, hash_u64(seat, SQUARE, 3));
    for (int i = 1; i < COUNT; i++) {
        chain_of[i] = spawn_relay(seat, hash_of_task(seat, chain_of[i - 1]));
    }
    moot_task last = spawn_u64(seat, SQUARE, 3);
    CHECK(seat, fetch_u64(seat, chain_of[COUNT - 1]) == 9);
    CHECK(seat, fetch_u64(seat, last) == 9);
}

/* A program that spawns ahead runs what it has spawned, whatever it calls meanwhile. */
static void spawns_ahead_and(struct seat *seat, bool looks)
{
    /* With small_window so many may be unfinished, and the others have no hash yet. */
    enum { EACH = 50, AHEAD = 512 / 256 + 1 + IDENTITY_TOGETHER_MAX - 1 };
    moot_task last = {0};
    for (uint64_t i = 0; i < EACH; i++) {
        for (int rank = 0; rank < seat->size; rank++) {
            uint64_t args[] = {i, (uint64_t)rank};
            if (last.id != 0) {
                EXPECT(seat, moot_task_release(seat->m, last), MOOT_OK);
            }
            EXPECT(seat,
                   moot_task_spawn(seat->m,
                                   &(moot_task_spec){.kernel = seat->kernels[EMPTY],
                                                     .args = args,
                                                     .args_size = sizeof(args),
                                                     .owner = MOOT_ON(rank)},
                                   &last),
                   MOOT_OK);
            if (looks) {
                (void)hash_of_task(seat, last);
            }
        }
    }
    CHECK(seat, stats_of(seat).tasks_run + AHEAD >= EACH);
    EXPECT(seat, moot_task_wait(seat->m, last, MOOT_FOREVER), MOOT_OK);
}

static void spawns_ahead(struct seat *seat) { spawns_ahead_and(seat, false); }

static void spawns_ahead_and_looks(struct seat *seat) { spawns_ahead_and(seat, true); }

/* What is unfinished may wait for what has yet to be spawned. */
static void spawns_what_all_wait_for_last(struct seat *seat)
{
    moot_hash source = hash_u64(seat, SQUARE, 3);
    moot_task sums[40];
    for (uint64_t i = 0; i < 40; i++) {
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[SUM],
                                                 .args = &i,
                                                 .args_size = sizeof(i),
                                                 .input_hashes = &source,
                                                 .input_hash_count = 1},
                               &sums[i]),
               MOOT_OK);
    }
    moot_task last = spawn_u64(seat, SQUARE, 3);
    for (uint64_t i = 0; i < 40; i++) {
        CHECK(seat, fetch_u64(seat, sums[i]) == 9 + i);
    }
    EXPECT(seat, moot_task_release(seat->m, last), MOOT_OK);
}

/* However many are ready: one that is over runs no more of them. */
static void runs_what_it_waits_for(struct seat *seat)
{
    enum { COUNT = 100 };
    moot_task tasks[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        tasks[i] = spawn_u64(seat, SQUARE, 7000 + i);
    }
    for (uint64_t i = 0; i < COUNT; i += 10) {
        EXPECT(seat, moot_task_wait(seat->m, tasks[i], MOOT_FOREVER), MOOT_OK);
        CHECK(seat, stats_of(seat).tasks_run == i + 1);
    }
}

/* --- All of them ---------------------------------------------------------------- */

static const char *const with_workers[] = {"MOOT_THREADS=3", NULL};
/* Whatever the environment says: another thread may take what stands in the queue. */
static const char *const without_workers[] = {"MOOT_THREADS=0", NULL};
static const char *const small_window[] = {"MOOT_WINDOW=512", NULL};
static const char *const with_caller[] = {"MOOT_PROGRESS=caller", NULL};

static const struct scene scenes[] = {
    {.name = "nothing", .program = nothing, .after = closes_well},
    SCENE(squares, .knobs = NULL),
    {"squares with workers", squares, kernels, with_workers, closes_well, {0}},
    SCENE(chain, .knobs = NULL),
    {"chain with workers", chain, kernels, with_workers, closes_well, {0}},
    {"chain without a helper", chain, kernels, with_caller, closes_well, {0}},
    SCENE(large_results, .knobs = NULL),
    SCENE(wait_then_fetch, .knobs = NULL),
    SCENE(duplicates, .knobs = NULL),
    SCENE(released_then_used, .knobs = NULL),
    SCENE(order_only, .knobs = NULL),
    SCENE(owners, .knobs = NULL),
    {"unwaited", unwaited, kernels, NULL, unwaited_after, {0}},
    SCENE(timeouts, .knobs = NULL),
    SCENE(a_wait_brings_no_data, .knobs = NULL),
    SCENE(polling, .knobs = with_workers),
    SCENE(any_and_all, .knobs = NULL),
    SCENE(cancels, .knobs = without_workers),
    SCENE(causes_from_below, .knobs = NULL),
    SCENE(scopes, .knobs = NULL),
    SCENE(found_too_late, .knobs = NULL),
    SCENE(two_threads, .knobs = NULL),
    SCENE(waits_for_later, .knobs = NULL),
    {"waits_for_later with workers",
     waits_for_later,
     kernels,
     with_workers,
     closes_well,
     {0}},
    SCENE(waits_for_waiter, .knobs = NULL),
    {"waits_for_waiter with workers",
     waits_for_waiter,
     kernels,
     with_workers,
     closes_well,
     {0}},
    SCENE(goes_on_while_parked, .knobs = NULL),
    SCENE(many_waiters, .knobs = NULL),
    {"many_waiters with workers",
     many_waiters,
     kernels,
     with_workers,
     closes_well,
     {0}},
    {"runs_what_it_waits_for",
     runs_what_it_waits_for,
     kernels,
     with_caller,
     closes_well,
     {1}},
    SCENE(spawns_ahead, .knobs = small_window),
    SCENE(spawns_ahead_and_looks, .knobs = small_window),
    SCENE(spawns_what_all_wait_for_last, .knobs = small_window),
    {"close_with_waiters", close_with_waiters, kernels, NULL, NULL, {0}},
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
