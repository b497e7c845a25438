/* region_loss_test.c - what a bulk queue collects without tickets
 * (node/compose/bulk_region.h), and what is lost or forgotten meanwhile: ranks,
 * contexts, tasks; and memory, which is not.
 */
#include "tests/conformance/region_marks.h"

#include <malloc.h>

enum { KIN = ANCESTOR + 1 };

/* --- Ranks that are lost --------------------------------------------------------- */

static atomic_bool lost;

/* Until this rank goes on without the last. */
static void wait_for_loss(struct seat *seat)
{
    while (!reported(seat, "go on in view 2") && !lost) {
        nap_ms(1);
    }
    lost = true;
    nap_ms(50);
}

/* The owner of tasks of the region is lost while it is open: the close says so of what
 * has not run, and what was spawned before is there as before. */
static void loses_an_owner(struct seat *seat)
{
    const moot_task_spec theirs = {.owner = MOOT_ON(2)};
    moot_task before_it[4], tasks[8];
    lost = false;
    start(seat);
    for (uint64_t i = 0; i < 4; i++) {
        before_it[i] = spawn_mark_with(seat, i, 0, theirs);
    }
    wait_for(seat, before_it, 4);
    for (uint64_t i = 0; i < 4; i++) {
        EXPECT(seat, moot_task_release(seat->m, before_it[i]), MOOT_OK);
    }
    if (seat->rank == 2) {
        moot_task never =
            spawn_mark_with(seat, 50, 0, (moot_task_spec){.owner = MOOT_ON(0)});
        EXPECT(seat, moot_task_wait(seat->m, never, MOOT_FOREVER), MOOT_ERR_NO_QUORUM);
        return;
    }
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 0; i < 8; i++) {
        tasks[i] = spawn_mark_with(seat, i, 0, i < 6 ? theirs : (moot_task_spec){0});
    }
    CHECK(seat, collects(seat, 8));
    wait_for_loss(seat);
    CHECK(seat, collects(seat, 8));
    EXPECT(seat, moot_queue_close(seat->m), MOOT_ERR_NO_CANDIDATE);
    CHECK(seat, told(seat, "of a batch of") && told(seat, "queue_marks.h"));
    wait_for(seat, tasks, 4);
    wait_for(seat, tasks + 6, 2);
    EXPECT(seat, moot_task_wait(seat->m, tasks[4], MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    for (int i = 0; i < 8; i++) {
        EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_OK);
    }
}

static void loses_an_owner_after(struct seat *seat)
{
    CHECK(seat, seat->close_code == (seat->rank == 2 ? MOOT_ERR_NO_QUORUM : MOOT_OK));
}

static const char *const cut_two[] = {"MOOT_FAULTS=part:2@300ms", "MOOT_SUSPECT=300ms",
                                      NULL};

/* args: its number.  Four marks, which no other thread may run before it has ended:
 * what a task of a bulk queue spawns is collected, too. */
static int kin(moot_call *call, void *user)
{
    const moot_kernel_id *marks = user;
    const uint64_t *number = moot_call_args(call, NULL);
    uint64_t first = 100 + 4 * *number;
    int error = MOOT_OK;
    notes[*number].runs++;
    for (uint64_t i = first; i < first + 4 && error == MOOT_OK; i++) {
        const uint64_t args[2] = {i, 0};
        moot_task child;
        error = moot_call_spawn(call,
                                &(moot_task_spec){.kernel = *marks,
                                                  .args = args,
                                                  .args_size = sizeof(args)},
                                &child);
    }
    nap_ms(4);
    notes[*number].ended = notes[first].runs + notes[first + 3].runs;
    return moot_call_output(call, 0) != NULL ? error : MOOT_ERR_NO_MEMORY;
}

enum { KINS = 24 };

/* A rank is lost that had yet to run its share: who does knows the queue, too. */
static void runs_for_the_lost(struct seat *seat)
{
    moot_task tasks[KINS];
    lost = false;
    start(seat);
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 0; i < KINS; i++) {
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[KIN],
                                                 .args = &i,
                                                 .args_size = sizeof(i)},
                               &tasks[i]),
               MOOT_OK);
    }
    CHECK(seat, collects(seat, KINS));
    if (seat->rank == 2) {
        while (!lost) {
            nap_ms(1);
        }
        moot_task never = spawn_mark_with(
            seat, 50, 0,
            (moot_task_spec){.owner = MOOT_ON(0), .flags = MOOT_TASK_NO_QUEUE});
        EXPECT(seat, moot_task_wait(seat->m, never, MOOT_FOREVER), MOOT_ERR_NO_QUORUM);
        return;
    }
    moot_task_info info;
    if (seat->rank == 0) { /* with tickets there, without on rank 1 */
        EXPECT(seat, moot_task_info(seat->m, tasks[0], &info), MOOT_OK);
    }
    close_queue(seat);
    wait_for_loss(seat);
    wait_for(seat, tasks, KINS);
    for (int i = 0; i < KINS; i++) {
        CHECK(seat, notes[i].runs == 1 && notes[i].ended == 0);
    }
}

static void runs_for_the_lost_after(struct seat *seat)
{
    CHECK(seat, seat->close_code == (seat->rank == 2 ? MOOT_ERR_NO_QUORUM : MOOT_OK));
    CHECK(seat, seat->rank == 2 || ran(100, 4 * KINS));
}

static const char *const cut_workers[] = {"MOOT_FAULTS=part:2@300ms",
                                          "MOOT_SUSPECT=300ms", "MOOT_THREADS=2", NULL};

/* --- Contexts that end or close
 * ------------------------------------------------------------
 */

static bool has_ended(const struct seat *seat)
{
    pthread_mutex_lock(&seat->m->bond->lock); /* no call: that would end the region */
    bool ended = seat->m->engine.fatal != MOOT_OK;
    pthread_mutex_unlock(&seat->m->bond->lock);
    return ended;
}

/* One rank ends the moot for all while the others have one open. */
static void ended_by_another(struct seat *seat)
{
    moot_task tasks[5];
    start(seat);
    if (seat->rank == 1) {
        tasks[0] = spawn_mark_with(seat, 50, 0, (moot_task_spec){.owner = MOOT_ON(0)});
        EXPECT(seat, moot_task_wait(seat->m, tasks[0], MOOT_FOREVER), MOOT_ERR_STALLED);
        return;
    }
    open_with(seat, tasks, 0, 5);
    double begin = now_s();
    while (!has_ended(seat) && now_s() - begin < 20) {
        nap_ms(1);
    }
    CHECK(seat, collects(seat, 5));
    EXPECT(seat, moot_queue_close(seat->m), MOOT_ERR_STALLED);
    EXPECT(seat, moot_task_wait(seat->m, tasks[4], MOOT_FOREVER), MOOT_ERR_STALLED);
    EXPECT(seat, moot_task_release(seat->m, tasks[0]), MOOT_OK);
}

static void ended_by_another_after(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_ERR_STALLED);
    for (int i = 0; i < 5; i++) {
        CHECK(seat, notes[i].runs == 0);
    }
}

static const char *const with_trust[] = {"MOOT_DIVERGENCE=trust", "MOOT_STALL=300ms",
                                         "MOOT_STALL_ABORT=1", NULL};

struct stayer {
    struct seat *seat;
    pthread_barrier_t both;
    pthread_t thread;
};
static struct stayer stayers[SEATS_MAX];

static void *stay_open(void *argument)
{
    struct stayer *stayer = argument;
    moot_task first = spawn_mark(stayer->seat, 300), tasks[70];
    wait_for(stayer->seat, &first, 1);
    open_with(stayer->seat, tasks, 0, 70);
    pthread_barrier_wait(&stayer->both);
    pthread_barrier_wait(&stayer->both);
    return NULL;
}

/* Over a queue that another thread has open: what it has is dropped. */
static void closes_over(struct seat *seat)
{
    struct stayer *stayer = &stayers[seat->rank];
    start(seat);
    stayer->seat = seat;
    pthread_barrier_init(&stayer->both, NULL, 2);
    EXPECT(seat, moot_park(seat->m), MOOT_OK);
    pthread_create(&stayer->thread, NULL, stay_open, stayer);
    pthread_barrier_wait(&stayer->both);
    EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
}

static void closes_over_after(struct seat *seat)
{
    struct stayer *stayer = &stayers[seat->rank];
    closes_well(seat);
    pthread_barrier_wait(&stayer->both);
    pthread_join(stayer->thread, NULL);
    pthread_barrier_destroy(&stayer->both);
    for (int i = 0; i < 70; i++) {
        CHECK(seat, notes[i].runs == 0);
    }
}

/* --- Many of them ---------------------------------------------------------------- */

/* One after the other, of the same tasks: memory stays as it is. */
static void one_after_the_other(struct seat *seat)
{
    enum { REGIONS = 400, SIZE = 130 };
    moot_task tasks[SIZE];
    size_t held = 0;
    start(seat);
    for (int i = 0; i < REGIONS; i++) {
        open_with(seat, tasks, 0, SIZE);
        close_queue(seat);
        wait_for(seat, tasks, SIZE);
        for (int k = 0; k < SIZE; k++) {
            EXPECT(seat, moot_task_release(seat->m, tasks[k]), MOOT_OK);
        }
        if (i == REGIONS / 4) {
            meet(seat);
            held = mallinfo2().uordblks;
        }
    }
    meet(seat);
    CHECK(seat, mallinfo2().uordblks <= held + 262144); /* kept, it were ten MB */
    CHECK(seat, ran(0, SIZE) && stats_of(seat).votes == 0);
}

/* Tasks that were spawned and released before are spawned again, while the ranks are
 * about to forget them. */
static void forgotten_meanwhile(struct seat *seat)
{
    enum { SIZE = 12 };
    static atomic_uint turn;
    moot_task tasks[SIZE];
    start(seat);
    uint64_t us = turn++ * 1370 % 30000;
    for (int i = 0; i < 4; i++) {
        open_kind(seat, MOOT_QUEUE_BULK);
        for (uint64_t k = 0; k < SIZE; k++) {
            tasks[k] = spawn_u64(seat, SQUARE, k);
        }
        struct timespec time = {.tv_nsec = (long)us * 1000};
        nanosleep(&time, NULL);
        moot_task_info info;
        EXPECT(seat, moot_task_info(seat->m, tasks[0], &info), MOOT_OK);
        nanosleep(&time, NULL);
        close_queue(seat);
        for (uint64_t k = 0; k < SIZE; k++) {
            CHECK(seat, fetch_u64(seat, tasks[k]) == k * k);
        }
        for (int k = 0; k < SIZE; k++) {
            EXPECT(seat, moot_task_release(seat->m, tasks[k]), MOOT_OK);
        }
    }
}

static const char *const small_window[] = {"MOOT_WINDOW=8",
                                           "MOOT_FAULTS=seed:3,delay:1:5ms+-1ms", NULL};

/* --- The list --------------------------------------------------------------------- */

static void region_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, MARK, "mark", mark, 0);
    moot_kernel kernel = {
        .name = "kin", .version = 1, .fn = kin, .user = &seat->kernels[MARK]};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[KIN]), MOOT_OK);
}

#define LOSSES(fn, plan)                                                               \
    {                                                                                  \
#fn, fn, region_kernels, plan, fn##_after,                                     \
        {                                                                              \
            3                                                                          \
        }                                                                              \
    }

static const struct scene scenes[] = {
    LOSSES(loses_an_owner, cut_two),
    LOSSES(runs_for_the_lost, cut_workers),
    {"ended_by_another",
     ended_by_another,
     region_kernels,
     with_trust,
     ended_by_another_after,
     {2, 3}},
    {"closes_over", closes_over, region_kernels, NULL, closes_over_after, {0}},
    REGIONS(one_after_the_other, .knobs = NULL),
    REGIONS(forgotten_meanwhile, .knobs = small_window),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
