/* watch_test.c - what a program is told and shown of its tasks.
 */
#include "tests/conformance/kernels.h"
#include <assert.h>

enum { TALE_MAX = 4096 };

/* What a watch was told, and whether it came as promised. */
struct tale {
    struct seat *seat;
    moot_event events[TALE_MAX];
    char labels[TALE_MAX][32], whys[TALE_MAX][256];
    bool named[TALE_MAX]; /* a kernel 'square', spawned here */
    atomic_int count;
    atomic_int inside; /* threads in the function */
    atomic_bool overlapped, unordered;
};

static void note(void *user, const moot_event *event)
{
    struct tale *tale = user;
    if (tale->inside++ != 0) {
        tale->overlapped = true;
    }
    int at = tale->count;
    if (at < TALE_MAX) {
        tale->events[at] = *event;
        snprintf(tale->labels[at], sizeof(tale->labels[at]), "%s", event->label);
        snprintf(tale->whys[at], sizeof(tale->whys[at]), "%s", event->why);
        tale->named[at] = strcmp(event->kernel, "square") == 0 &&
                          strstr(event->site, "watch_test.c:") != NULL;
        if (at > 0 && event->sequence <= tale->events[at - 1].sequence) {
            tale->unordered = true;
        }
        tale->count = at + 1;
    }
    tale->inside--;
}

static struct tale *tale_new(struct seat *seat, uint32_t kinds, const char *prefix,
                             moot_watch_id *id)
{
    struct tale *tale = calloc(1, sizeof(*tale));
    moot_watch_id unused;
    tale->seat = seat;
    EXPECT(seat,
           moot_watch_add(
               seat->m,
               &(moot_watch){
                   .kinds = kinds, .label_prefix = prefix, .fn = note, .user = tale},
               id != NULL ? id : &unused),
           MOOT_OK);
    return tale;
}

/* The place of the one such event of the task; -1: none, -2: several. */
static int place_of(const struct tale *tale, const moot_hash *hash,
                    enum moot_event_kind kind)
{
    int place = -1;
    for (int i = 0; i < tale->count; i++) {
        if (tale->events[i].kind == kind &&
            memcmp(&tale->events[i].hash, hash, sizeof(*hash)) == 0) {
            place = place == -1 ? i : -2;
        }
    }
    return place;
}

static moot_task spawn_labelled(struct seat *seat, int kernel, uint64_t value,
                                const char *label, uint32_t flags)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[kernel],
                                             .args = &value,
                                             .args_size = sizeof(value),
                                             .label = label,
                                             .flags = flags},
                           &task),
           MOOT_OK);
    return task;
}

/* --- Being told ----------------------------------------------------------------- */

static void a_life(struct seat *seat)
{
    enum { COUNT = 50 };
    struct tale *tale = tale_new(seat, 0, "mine", NULL);
    moot_task tasks[COUNT];
    moot_task_info infos[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        tasks[i] = spawn_labelled(seat, SQUARE, i, "mine.square", 0);
        spawn_labelled(seat, SQUARE, 1000 + i, "other", 0);
    }
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, COUNT, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_info_all(seat->m, tasks, COUNT, infos), MOOT_OK);
    EXPECT(seat, moot_close(seat->m), MOOT_OK); /* which tells the last of it */
    seat->m = NULL;
    for (int i = 0; i < COUNT; i++) {
        moot_task_info info = infos[i];
        int spawned = place_of(tale, &info.hash, MOOT_EVENT_SPAWNED);
        int running = place_of(tale, &info.hash, MOOT_EVENT_RUNNING);
        int done = place_of(tale, &info.hash, MOOT_EVENT_DONE);
        CHECK(seat, spawned >= 0 && done > spawned);
        CHECK(seat, info.owner == seat->rank ? running > spawned && running < done
                                             : running == -1);
        if (done >= 0) {
            const moot_event *event = &tale->events[done];
            CHECK(seat, event->rank == info.owner && event->status == MOOT_OK);
            CHECK(seat, tale->named[done] && event->when > 0);
            CHECK(seat, strcmp(tale->labels[done], "mine.square") == 0);
        }
    }
    for (int i = 0; i < tale->count; i++) {
        CHECK(seat, strcmp(tale->labels[i], "other") != 0);
    }
    CHECK(seat, !tale->overlapped && !tale->unordered);
    free(tale); /* nobody calls any more */
}

/* How tasks end otherwise, and what is waited for. */
static void other_ends(struct seat *seat)
{
    struct tale *tale = tale_new(seat,
                                 MOOT_EVENT_FAILED | MOOT_EVENT_CANCELLED |
                                     MOOT_EVENT_BLOCKED | MOOT_EVENT_RUNNING,
                                 NULL, NULL);
    if (seat->rank == 0) {
        gate_open = false;
    }
    meet(seat);
    moot_task_spec spec = {.kernel = seat->kernels[FAIL], .label = "fails"};
    moot_task failing, gated, late;
    moot_task_info info;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &failing), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, failing, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    EXPECT(seat, moot_task_info(seat->m, failing, &info), MOOT_OK);
    moot_hash fails = info.hash;
    spec = (moot_task_spec){.kernel = seat->kernels[GATE], .owner = MOOT_ON(0)};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &gated), MOOT_OK);
    spec = (moot_task_spec){.kernel = seat->kernels[EMPTY],
                            .owner = MOOT_ON(0),
                            .after = &gated,
                            .after_count = 1};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &late), MOOT_OK);
    meet(seat);
    EXPECT(seat, moot_task_cancel(seat->m, late), MOOT_OK);
    meet(seat); /* rank 0, whose worker may stand at the gate, has cancelled it, too */
    gate_open = true;
    EXPECT(seat, moot_task_wait(seat->m, late, MOOT_FOREVER), MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_task_info(seat->m, late, &info), MOOT_OK);
    EXPECT(seat, moot_close(seat->m), MOOT_OK); /* all has been told */
    seat->m = NULL;
    int blocked = place_of(tale, &fails, MOOT_EVENT_BLOCKED);
    int failed = place_of(tale, &fails, MOOT_EVENT_FAILED);
    CHECK(seat, failed > blocked && blocked != -2);
    if (failed >= 0) {
        CHECK(seat, tale->events[failed].status == MOOT_ERR_TASK_FAILED);
        CHECK(seat, strstr(tale->whys[failed], "the pump is dry") != NULL);
    }
    CHECK(seat, place_of(tale, &info.hash, MOOT_EVENT_CANCELLED) >= 0);
    CHECK(seat, place_of(tale, &info.hash, MOOT_EVENT_RUNNING) == -1);
    free(tale);
}

/* Rank 0 comes to know that the task of rank 1 has ended, and later its bytes. */
static void an_end_told_once(struct seat *seat)
{
    struct tale *tale = tale_new(seat, 0, NULL, NULL);
    moot_task_info info = {0};
    uint64_t x = 7;
    moot_task_spec spec = {.kernel = seat->kernels[SQUARE],
                           .args = &x,
                           .args_size = sizeof(x),
                           .owner = MOOT_ON(1)};
    moot_task task;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    CHECK(seat, fetch_u64(seat, task) == 49);
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    meet(seat);
    EXPECT(seat, moot_close(seat->m), MOOT_OK);
    seat->m = NULL;
    CHECK(seat, place_of(tale, &info.hash, MOOT_EVENT_DONE) >= 0);
    free(tale);
}

/* A second moot of the same ranks, which open it at different times: what rank 0 does
 * first, and rank 1 is told of, has the lower time. */
static void one_clock(struct seat *seat)
{
    static struct inproc_hub *hub;
    static moot_duration began;
    moot_hash hash;
    struct seat second = {.rank = seat->rank, .size = seat->size};
    if (seat->rank == 0) {
        hub = inproc_hub_new((uint32_t)seat->size);
    }
    meet(seat);
    if (seat->rank != 0) {
        nap_ms(200);
    }
    EXPECT(seat,
           moot_open_transport(NULL, transport_inproc_open,
                               &(struct transport_inproc_options){
                                   .hub = hub, .rank = (uint32_t)seat->rank},
                               &second.m),
           MOOT_OK);
    kernels(&second);
    struct tale *tale =
        tale_new(&second, MOOT_EVENT_RUNNING | MOOT_EVENT_DONE, NULL, NULL);
    uint64_t x = 11;
    moot_task_spec spec = {.kernel = second.kernels[SQUARE],
                           .args = &x,
                           .args_size = sizeof(x),
                           .owner = MOOT_ON(0)};
    moot_task task;
    EXPECT(seat, moot_spec_hash(second.m, &spec, &hash), MOOT_OK);
    EXPECT(seat, moot_task_spawn(second.m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(second.m, task, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_close(second.m), MOOT_OK);
    int running = place_of(tale, &hash, MOOT_EVENT_RUNNING);
    int done = place_of(tale, &hash, MOOT_EVENT_DONE);
    if (seat->rank == 0 && running >= 0) {
        began = tale->events[running].when;
    }
    CHECK(seat, done >= 0 && (running >= 0) == (seat->rank == 0));
    meet(seat);
    /* An event bears the beginning of its turn, which may lie before what came in it;
     * clocks of their own would be 200 ms apart. */
    CHECK(seat, began >= MOOT_MILLISECONDS(200) &&
                    tale->events[done].when + MOOT_MILLISECONDS(100) >= began);
    free(tale);
    if (seat->rank == 0) {
        inproc_hub_free(hub);
    }
}

static moot_hash theirs_hash[2]; /* of rank 1's tasks below */

/* Rank 1 spawns both, and tasks of rank 0 that take them, by portable specs: their
 * results are pushed to rank 0 before anything there has named them. */
static void push_to_the_first(struct seat *seat)
{
    for (int i = 0; i < 2; i++) {
        uint64_t x = 300 + (uint64_t)i;
        moot_task theirs, taker;
        moot_task_spec spec = {.kernel = seat->kernels[SQUARE],
                               .args = &x,
                               .args_size = sizeof(x),
                               .owner = MOOT_ON(1)};
        EXPECT(seat, moot_spec_hash(seat->m, &spec, &theirs_hash[i]), MOOT_OK);
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &theirs), MOOT_OK);
        spec = (moot_task_spec){.kernel = seat->kernels[SUM],
                                .inputs = &theirs,
                                .input_count = 1,
                                .owner = MOOT_ON(0)};
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &taker), MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, theirs, MOOT_FOREVER), MOOT_OK);
    }
}

/* Ends that came before the program had a name for the tasks: told when one is found,
 * and when one is taken as an input. */
static void an_early_end(struct seat *seat)
{
    struct tale *tale = tale_new(seat, MOOT_EVENT_DONE, NULL, NULL);
    if (seat->rank == 1) {
        push_to_the_first(seat);
    }
    for (int ms = 0; seat->rank == 0 && ms < 20000; ms++) {
        if (stats_of(seat).results_received >= 2) {
            break;
        }
        nap_ms(1);
    }
    meet(seat);
    if (seat->rank == 0) {
        moot_task found, taker;
        CHECK(seat, stats_of(seat).results_received == 2 && tale->count == 0);
        EXPECT(seat, moot_task_find(seat->m, &theirs_hash[0], &found), MOOT_OK);
        EXPECT(seat, moot_task_find(seat->m, &theirs_hash[0], &found), MOOT_OK);
        moot_task_spec spec = {.kernel = seat->kernels[SUM],
                               .input_hashes = &theirs_hash[1],
                               .input_hash_count = 1,
                               .owner = MOOT_ON(0)};
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &taker), MOOT_OK);
        CHECK(seat, fetch_u64(seat, taker) == 301u * 301u);
    }
    meet(seat);
    EXPECT(seat, moot_close(seat->m), MOOT_OK);
    seat->m = NULL;
    for (int i = 0; i < 2 && seat->rank < 2; i++) {
        CHECK(seat, place_of(tale, &theirs_hash[i], MOOT_EVENT_DONE) >= 0);
    }
    free(tale);
}

/* No event before is about that task. */
static bool is_first(const struct tale *tale, int at)
{
    int i = 0;
    while (i < at && memcmp(&tale->events[i].hash, &tale->events[at].hash,
                            sizeof(tale->events[i].hash)) != 0) {
        i++;
    }
    return i == at;
}

static int distinct_of(const struct tale *tale)
{
    int distinct = 0;
    for (int i = 0; i < tale->count; i++) {
        distinct += is_first(tale, i);
    }
    return distinct;
}

/* What has happened is told a little later; true if `count` tasks come to be told of.
 */
static bool tells_of(const struct tale *tale, int count)
{
    for (int ms = 0; ms < 20000 && distinct_of(tale) < count; ms++) {
        nap_ms(1);
    }
    return distinct_of(tale) == count;
}

/* Rank 0 alone holds the tasks: each other rank that chairs one tells of its vote, and
 * rank 0 of each that it was given. */
static void votes(struct seat *seat)
{
    enum { COUNT = 40 };
    static atomic_int cast[SEATS_MAX];
    struct tale *tale = tale_new(seat, MOOT_EVENT_VOTED, NULL, NULL);
    cast[seat->rank] = 0;
    meet(seat);
    for (uint64_t i = 0; seat->rank == 0 && i < COUNT; i++) {
        EXPECT(
            seat,
            moot_task_wait(seat->m,
                           spawn_labelled(seat, SQUARE, i, NULL, MOOT_TASK_CONDITIONAL),
                           MOOT_FOREVER),
            MOOT_OK);
    }
    meet(seat); /* the helper thread of each rank votes meanwhile */
    moot_stats stats = stats_of(seat);
    CHECK(seat, seat->rank == 0 || tells_of(tale, (int)stats.votes));
    CHECK(seat, seat->rank == 0 || (uint64_t)tale->count == stats.votes);
    for (int i = 0; seat->rank != 0 && i < tale->count; i++) {
        CHECK(seat, tale->events[i].rank == 0 && strcmp(tale->whys[i], "hint") == 0);
    }
    cast[seat->rank] = seat->rank != 0 ? (int)tale->count : 0;
    meet(seat);
    int all = 0;
    for (int rank = 1; rank < seat->size; rank++) {
        all += cast[rank];
    }
    if (seat->rank == 0) {
        CHECK(seat, all > 0 && tells_of(tale, all));
        for (int i = 0; i < tale->count; i++) {
            CHECK(seat, tale->events[i].rank > 0);
        }
    }
    EXPECT(seat, moot_close(seat->m), MOOT_OK);
    seat->m = NULL;
    free(tale);
}

/* --- Inside a watch's function -------------------------------------------------- */

struct meddler {
    struct seat *seat;
    moot_watch_id self;
    moot_task task;
    int look, find;
    int refused[11]; /* what must be */
    atomic_int calls;
    pthread_t thread;
};

enum { REFUSED = sizeof((struct meddler){0}.refused) / sizeof(int) };

static void meddle(void *user, const moot_event *event)
{
    struct meddler *meddler = user;
    moot *m = meddler->seat->m;
    moot_task task = {0};
    moot_task_info info;
    moot_task_spec spec = {.kernel = meddler->seat->kernels[EMPTY]};
    meddler->thread = pthread_self();
    meddler->look = moot_task_info(m, meddler->task, &info);
    meddler->find = moot_task_find(m, &event->hash, &task);
    const int refused[] = {
        moot_task_spawn(m, &spec, &task),
        moot_task_wait(m, meddler->task, 0),
        moot_close(m),
        moot_queue_open(m, MOOT_QUEUE_BULK),
        moot_queue_close(m),
        moot_group_open(m),
        moot_group_close(m, 0),
        moot_scope_open(m, "within"),
        moot_scope_close(m),
        moot_park(m),
        moot_unpark(m),
    };
    static_assert(sizeof(refused) == sizeof(meddler->refused), "each of them");
    memcpy(meddler->refused, refused, sizeof(refused));
    int calls = meddler->calls + 1;
    if (calls == 2 && moot_watch_remove(m, meddler->self) != MOOT_OK) {
        calls = -1000;
    }
    meddler->calls = calls;
}

static void check_meddler(struct seat *seat, const struct meddler *meddler)
{
    CHECK(seat, meddler->look == MOOT_OK && meddler->find == MOOT_OK);
    for (int i = 0; i < REFUSED; i++) {
        CHECK(seat, meddler->refused[i] == MOOT_ERR_STATE);
    }
}

static void a_function_that_meddles(struct seat *seat)
{
    struct meddler meddler = {.seat = seat, .task = spawn_u64(seat, SQUARE, 1)};
    EXPECT(seat,
           moot_watch_add(seat->m,
                          &(moot_watch){.size = sizeof(moot_watch),
                                        .kinds = MOOT_EVENT_SPAWNED,
                                        .fn = meddle,
                                        .user = &meddler},
                          &meddler.self),
           MOOT_OK);
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_SEQUENTIAL), MOOT_OK);
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    for (uint64_t i = 2; i < 9; i++) {
        spawn_u64(seat, SQUARE, i);
    }
    CHECK(seat, meddler.calls == 2);
    check_meddler(seat, &meddler);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_watch_remove(seat->m, meddler.self), MOOT_ERR_STALE);
}

/* The same on a thread that never called the moot: rank 0's program sleeps, and what
 * rank 1 pushes to it is told by whoever took it in. */
static void a_helper_that_meddles(struct seat *seat)
{
    struct meddler meddler = {.seat = seat, .task = spawn_u64(seat, SQUARE, 1)};
    moot_watch watch = {.kinds = MOOT_EVENT_DONE,
                        .label_prefix = "theirs",
                        .fn = meddle,
                        .user = &meddler};
    EXPECT(seat, moot_watch_add(seat->m, &watch, &meddler.self), MOOT_OK);
    moot_task pushed[2];
    if (seat->rank != 0) { /* nothing ends while rank 0 still calls the moot */
        pthread_barrier_wait(seat->barrier);
    }
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t x = 100 + i;
        moot_task_spec spec = {.kernel = seat->kernels[SQUARE],
                               .args = &x,
                               .args_size = sizeof(x),
                               .owner = MOOT_ON(1),
                               .label = "theirs"};
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &pushed[i]), MOOT_OK);
        moot_task taker;
        spec = (moot_task_spec){.kernel = seat->kernels[SUM],
                                .inputs = &pushed[i],
                                .input_count = 1,
                                .owner = MOOT_ON(0)};
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &taker), MOOT_OK);
    }
    if (seat->rank == 0) {
        pthread_barrier_wait(seat->barrier);
        double give_up_s = now_s() + 20;
        while (meddler.calls >= 0 && meddler.calls < 2 && now_s() < give_up_s) {
            nap_ms(1);
        }
        CHECK(seat, meddler.calls == 2);
        CHECK(seat, !pthread_equal(meddler.thread, pthread_self()));
        check_meddler(seat, &meddler);
    }
    EXPECT(seat, moot_task_wait_all(seat->m, pushed, 2, MOOT_FOREVER), MOOT_OK);
}

static void nobody_keeps(void *user, const moot_event *event)
{
    (void)event;
    moot *m = user;
    (void)moot_task_wait(m, (moot_task){0}, 0); /* which fails, and says why */
}

/* What a call failed with is still there after a watch was told. */
static void last_error_stays(struct seat *seat)
{
    moot_watch_id id;
    EXPECT(seat,
           moot_watch_add(seat->m, &(moot_watch){.fn = nobody_keeps, .user = seat->m},
                          &id),
           MOOT_OK);
    moot_task_spec spec = {.kernel = seat->kernels[FAIL]};
    moot_task task;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the pump is dry"));
}

static void no_watch(struct seat *seat)
{
    moot_watch_id ids[64], more;
    moot_watch good = {.fn = note}, bad[] = {{.fn = NULL},
                                             {.fn = note, .kinds = 1u << 18},
                                             {.fn = note, .size = 3}};
    for (size_t i = 0; i < 3; i++) {
        EXPECT(seat, moot_watch_add(seat->m, &bad[i], &more), MOOT_ERR_INVALID);
    }
    for (int i = 0; i < 64; i++) {
        EXPECT(seat, moot_watch_add(seat->m, &good, &ids[i]), MOOT_OK);
    }
    EXPECT(seat, moot_watch_add(seat->m, &good, &more), MOOT_ERR_LIMIT);
    for (int i = 0; i < 64; i++) {
        EXPECT(seat, moot_watch_remove(seat->m, ids[i]), MOOT_OK);
    }
    EXPECT(seat, moot_watch_remove(seat->m, ids[3]), MOOT_ERR_STALE);
    EXPECT(seat, moot_watch_remove(seat->m, (moot_watch_id){0}), MOOT_ERR_STALE);
}

/* --- Being shown ---------------------------------------------------------------- */

struct listing {
    struct seat *seat;
    int count, stop_at;
    bool found;
};

static int list(void *user, const moot_task_info *info)
{
    struct listing *listing = user;
    moot_task task;
    listing->found = moot_task_find(listing->seat->m, &info->hash, &task) == MOOT_OK &&
                     moot_task_release(listing->seat->m, task) == MOOT_OK;
    return ++listing->count == listing->stop_at ? 77 : 0;
}

static int count_of(struct seat *seat, const moot_task_filter *filter)
{
    struct listing listing = {.seat = seat};
    EXPECT(seat, moot_tasks_each(seat->m, filter, list, &listing), MOOT_OK);
    CHECK(seat, listing.count == 0 || listing.found);
    return listing.count;
}

static void listings(struct seat *seat)
{
    enum { COUNT = 20 };
    moot_task tasks[COUNT];
    moot_task_info infos[COUNT];
    moot_task_spec fails = {.kernel = seat->kernels[FAIL], .label = "b.fails"};
    moot_task failing;
    for (uint64_t i = 0; i < COUNT; i++) {
        tasks[i] = spawn_labelled(seat, SQUARE, i, i < 5 ? "a.few" : "b.many", 0);
    }
    EXPECT(seat, moot_task_spawn(seat->m, &fails, &failing), MOOT_OK);
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, COUNT, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, failing, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    uint32_t done = 1u << MOOT_TASK_DONE, failed = 1u << MOOT_TASK_FAILED;
    CHECK(seat, count_of(seat, NULL) == COUNT + 1);
    CHECK(seat, count_of(seat, &(moot_task_filter){.label_prefix = "a."}) == 5);
    CHECK(seat, count_of(seat, &(moot_task_filter){.kernel = "square",
                                                   .label_prefix = "b."}) == COUNT - 5);
    CHECK(seat, count_of(seat, &(moot_task_filter){.states = failed}) == 1);
    CHECK(seat, count_of(seat, &(moot_task_filter){.states = done | failed,
                                                   .label_prefix = "b."}) == COUNT - 4);
    CHECK(seat, count_of(seat, &(moot_task_filter){.kernel = "sum"}) == 0);
    struct listing listing = {.seat = seat, .stop_at = 3};
    CHECK(seat, moot_tasks_each(seat->m, NULL, list, &listing) == 77);
    CHECK(seat, listing.count == 3);
    EXPECT(seat, moot_tasks_each(seat->m, NULL, NULL, NULL), MOOT_ERR_INVALID);
    EXPECT(seat, moot_tasks_each(seat->m, &(moot_task_filter){.size = 1}, list, seat),
           MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_info_all(seat->m, tasks, COUNT, infos), MOOT_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK(seat, infos[i].state == MOOT_TASK_DONE &&
                        strcmp(infos[i].kernel, "square") == 0);
    }
    EXPECT(seat, moot_task_release(seat->m, tasks[7]), MOOT_OK);
    infos[0].status = 5;
    EXPECT(seat, moot_task_info_all(seat->m, tasks, COUNT, infos), MOOT_ERR_STALE);
    CHECK(seat, infos[0].status == 5 && told(seat, "handle 7"));
}

/* --- All of them ---------------------------------------------------------------- */

static const char *const workers[] = {"MOOT_THREADS=2", NULL};

static const struct scene scenes[] = {
    SCENE(a_life, .knobs = NULL),
    SCENE(a_life, .knobs = workers),
    SCENE(other_ends, .knobs = NULL),
    SCENE(an_end_told_once, .sizes = {2, 3}),
    SCENE(one_clock, .sizes = {2, 3}),
    SCENE(an_early_end, .sizes = {2, 3}),
    SCENE(votes, .sizes = {2, 3, 4}),
    SCENE(a_function_that_meddles, .knobs = NULL),
    SCENE(a_helper_that_meddles, .sizes = {2, 3}),
    SCENE(last_error_stays, .knobs = NULL),
    SCENE(no_watch, .knobs = NULL),
    SCENE(listings, .knobs = NULL),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
