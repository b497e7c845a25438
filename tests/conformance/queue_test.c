/* queue_test.c - task queues among ranks of one process: order and batches, ranks that
 * differ, what goes past queues and what is left open.
 */
#include "tests/conformance/handles_in_use.h"
#include "tests/conformance/queue_marks.h"

/* --- Order ---------------------------------------------------------------------- */

static void in_order(struct seat *seat)
{
    enum { COUNT = 40 };
    moot_task tasks[COUNT];
    begin(seat);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    for (uint64_t i = 0; i < COUNT; i++) {
        tasks[i] = spawn_mark_with(seat, i, i % 8 == 0, (moot_task_spec){0});
    }
    close_queue(seat);
    wait_for(seat, tasks, COUNT);
    for (int i = 0; i + 1 < COUNT; i++) {
        CHECK(seat, before(i, i + 1));
    }
    CHECK(seat, ran(0, COUNT));
    CHECK(seat, stats_of(seat).votes == 0);
}

static void not_before_the_close(struct seat *seat)
{
    enum { COUNT = 12 };
    moot_task tasks[COUNT];
    begin(seat);
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 0; i < COUNT; i++) {
        tasks[i] = spawn_mark(seat, i);
    }
    moot_task_info info;
    EXPECT(seat, moot_task_info(seat->m, tasks[3], &info), MOOT_OK);
    CHECK(seat, info.state == MOOT_TASK_WAITING && strstr(info.site, "queue_marks.h"));
    EXPECT(seat, moot_task_wait(seat->m, tasks[3], 0), MOOT_ERR_STATE);
    CHECK(seat, told(seat, "a bulk queue that this thread has open keeps it"));
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, 2, MOOT_FOREVER), MOOT_ERR_STATE);
    const void *data;
    EXPECT(seat, moot_task_fetch(seat->m, tasks[0], MOOT_FOREVER, &data, NULL),
           MOOT_ERR_STATE);
    nap_ms(10);
    CHECK(seat, now == 0);
    meet(seat);
    close_queue(seat);
    wait_for(seat, tasks, COUNT);
    CHECK(seat, ran(0, COUNT));
    CHECK(seat, stats_of(seat).votes == 0);
}

/* Batches of 50 after each other take joins, one of 2 does not. */
static void batches_in_order(struct seat *seat)
{
    enum { BATCHES = 4, SIZE = 50 };
    moot_task tasks[BATCHES * SIZE + 3];
    begin(seat);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    size_t count = 0;
    for (int i = 0; i < BATCHES; i++) {
        open_kind(seat, MOOT_QUEUE_BULK);
        for (int k = 0; k < SIZE; k++, count++) {
            tasks[count] = spawn_mark(seat, count);
        }
        close_queue(seat);
    }
    tasks[count] = spawn_mark(seat, count);
    count++;
    open_kind(seat, MOOT_QUEUE_BULK);
    for (int k = 0; k < 2; k++, count++) {
        tasks[count] = spawn_mark(seat, count);
    }
    close_queue(seat);
    close_queue(seat);
    wait_for(seat, tasks, count);
    CHECK(seat, ran(0, (int)count));
    for (int i = 0; i < (BATCHES - 1) * SIZE; i++) {
        for (int k = (i / SIZE + 1) * SIZE; k < (i / SIZE + 2) * SIZE; k++) {
            CHECK(seat, before(i, k));
        }
    }
    for (int i = 0; i < SIZE; i++) {
        CHECK(seat, before((BATCHES - 1) * SIZE + i, BATCHES * SIZE));
    }
    CHECK(seat, before(BATCHES * SIZE, BATCHES * SIZE + 1));
    CHECK(seat, before(BATCHES * SIZE, BATCHES * SIZE + 2));
    CHECK(seat, stats_of(seat).votes == 0);
}

/* Equal specs are one task, which keeps its place: what follows comes after it. */
static void again(struct seat *seat)
{
    begin(seat);
    moot_task slow = spawn_mark_with(seat, 0, 30, (moot_task_spec){0}), tasks[6];
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    tasks[0] = spawn_mark(seat, 1);
    tasks[1] = spawn_mark_with(seat, 0, 30, (moot_task_spec){0});
    tasks[2] = spawn_mark(seat, 2);
    tasks[3] = spawn_mark(seat, 1);
    open_kind(seat, MOOT_QUEUE_BULK);
    tasks[4] = spawn_mark_with(seat, 0, 30, (moot_task_spec){0});
    tasks[5] = spawn_mark(seat, 3);
    (void)spawn_mark(seat, 3);
    close_queue(seat);
    close_queue(seat);
    wait_for(seat, tasks, 6);
    wait_for(seat, &slow, 1);
    CHECK(seat, ran(0, 4));
    CHECK(seat, before(1, 2) && before(0, 2) && before(2, 3));
}

/* What comes after a batch comes after what was spawned before and was in it again. */
static void again_in_a_batch(struct seat *seat)
{
    begin(seat);
    moot_task tasks[4] = {spawn_mark_with(seat, 0, 60, (moot_task_spec){0})};
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    open_kind(seat, MOOT_QUEUE_BULK);
    tasks[1] = spawn_mark_with(seat, 0, 60, (moot_task_spec){0});
    tasks[2] = spawn_mark(seat, 1);
    close_queue(seat);
    tasks[3] = spawn_mark(seat, 2);
    close_queue(seat);
    wait_for(seat, tasks, 4);
    CHECK(seat, ran(0, 3) && before(0, 2) && before(1, 2));
}

/* As it is in one that stands in another, and that one in a batch. */
static void again_further_in(struct seat *seat)
{
    begin(seat);
    moot_task tasks[3] = {spawn_mark_with(seat, 0, 60, (moot_task_spec){0})};
    open_kind(seat, MOOT_QUEUE_BULK);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    tasks[1] = spawn_mark_with(seat, 0, 60, (moot_task_spec){0});
    close_queue(seat);
    tasks[2] = spawn_mark(seat, 1);
    close_queue(seat);
    close_queue(seat);
    wait_for(seat, tasks, 3);
    CHECK(seat, ran(0, 2) && before(0, 1));
}

static pthread_barrier_t within; /* two threads of one rank */

static void *keep_one(void *argument)
{
    struct seat *seat = argument;
    open_kind(seat, MOOT_QUEUE_BULK);
    moot_task task = spawn_mark(seat, 1);
    pthread_barrier_wait(&within);
    pthread_barrier_wait(&within);
    close_queue(seat);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    return NULL;
}

/* What another thread's queue keeps stays there, and does not take the place of what
 * came before it. */
static void again_while_another_keeps_it(struct seat *seat)
{
    begin(seat);
    pthread_t thread;
    pthread_barrier_init(&within, NULL, 2);
    pthread_create(&thread, NULL, keep_one, seat);
    pthread_barrier_wait(&within);
    moot_task first = spawn_mark(seat, 1);
    EXPECT(seat, moot_task_wait(seat->m, first, MOOT_MILLISECONDS(5)),
           MOOT_ERR_TIMEOUT);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    moot_task tasks[3] = {spawn_mark_with(seat, 0, 60, (moot_task_spec){0})};
    tasks[1] = spawn_mark(seat, 1);
    tasks[2] = spawn_mark(seat, 2);
    close_queue(seat);
    pthread_barrier_wait(&within);
    wait_for(seat, tasks, 3);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&within);
    CHECK(seat, ran(0, 3) && before(0, 2) && before(1, 2));
}

/* A chain in a batch waits for that, too. */
static void a_chain_is_kept_with_its_batch(struct seat *seat)
{
    begin(seat);
    moot_task tasks[3];
    open_kind(seat, MOOT_QUEUE_BULK);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    tasks[0] = spawn_mark(seat, 0);
    tasks[1] = spawn_mark(seat, 1);
    close_queue(seat);
    tasks[2] = spawn_mark(seat, 2);
    EXPECT(seat, moot_task_wait(seat->m, tasks[1], MOOT_FOREVER), MOOT_ERR_STATE);
    CHECK(seat, now == 0);
    meet(seat);
    close_queue(seat);
    wait_for(seat, tasks, 3);
    CHECK(seat, ran(0, 3) && before(0, 1));
}

/* Queues that have closed hold no task in memory. */
static void nothing_is_kept_for_good(struct seat *seat)
{
    begin(seat);
    moot_task tasks[6] = {spawn_mark(seat, 0)};
    uint32_t in_use = handles_in_use(seat);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    tasks[1] = spawn_mark(seat, 1);
    open_kind(seat, MOOT_QUEUE_BULK);
    tasks[2] = spawn_mark(seat, 0);
    tasks[3] = spawn_mark(seat, 2);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    tasks[4] = spawn_mark(seat, 0);
    tasks[5] = spawn_mark(seat, 3);
    for (int i = 0; i < 3; i++) {
        close_queue(seat);
    }
    wait_for(seat, tasks, 6);
    for (int i = 1; i < 6; i++) {
        EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_OK);
    }
    CHECK(seat, handles_in_use(seat) == in_use);
    meet(seat);
}

/* One in the other they are one order. */
static void sequential_in_sequential(struct seat *seat)
{
    begin(seat);
    moot_task tasks[3];
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    tasks[0] = spawn_mark_with(seat, 0, 30, (moot_task_spec){0});
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    tasks[1] = spawn_mark_with(seat, 1, 30, (moot_task_spec){0});
    close_queue(seat);
    tasks[2] = spawn_mark(seat, 2);
    close_queue(seat);
    wait_for(seat, tasks, 3);
    CHECK(seat, ran(0, 3) && before(0, 1) && before(1, 2));
}

static void failures_go_down_the_chain(struct seat *seat)
{
    begin(seat);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    moot_task bad = spawn_u64(seat, FAIL, 1);
    open_kind(seat, MOOT_QUEUE_BULK);
    moot_task after = spawn_mark(seat, 0);
    close_queue(seat);
    moot_task last = spawn_mark(seat, 1);
    close_queue(seat);
    EXPECT(seat, moot_task_wait(seat->m, last, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the pump is dry"));
    EXPECT(seat, moot_task_wait(seat->m, after, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    EXPECT(seat, moot_task_wait(seat->m, bad, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, notes[0].runs == 0 && notes[1].runs == 0);
}

/* --- Ranks that differ ------------------------------------------------------------ */

/* Each rank has other queues, and some have none: the tasks are the same. */
static void other_queues(struct seat *seat)
{
    enum { COUNT = 30 };
    moot_task tasks[COUNT];
    begin(seat);
    bool queues = seat->rank != 1;
    if (queues) {
        open_kind(seat, seat->rank % 2 == 0 ? MOOT_QUEUE_BULK : MOOT_QUEUE_SEQUENTIAL);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        tasks[i] = spawn_mark(seat, i);
    }
    if (queues) {
        close_queue(seat);
    }
    wait_for(seat, tasks, COUNT);
    CHECK(seat, ran(0, COUNT));
    meet(seat);
}

/* A rank lacks every third task of the regions, and another has them in addition. */
static void diverging(struct seat *seat)
{
    enum { BATCHES = 3, SIZE = 24 };
    moot_task tasks[BATCHES * SIZE];
    size_t count = 0;
    begin(seat);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    for (int i = 0; i < BATCHES; i++) {
        open_kind(seat, MOOT_QUEUE_BULK);
        for (int k = 0; k < SIZE; k++) {
            bool lacks = seat->rank == 0 && k % 3 == 0 && seat->size > 1;
            if (!lacks) {
                tasks[count++] = spawn_mark(seat, (uint64_t)(i * SIZE + k));
            }
        }
        close_queue(seat);
    }
    close_queue(seat);
    wait_for(seat, tasks, count);
    EXPECT(seat, moot_park(seat->m), MOOT_OK);
    meet(seat);
    EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    CHECK(seat, ran(0, BATCHES * SIZE));
}

/* Two ranks declare contrary orders of what the other one runs. */
static void contrary_orders(struct seat *seat)
{
    begin(seat);
    moot_task tasks[2];
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    for (int i = 0; i < 2; i++) {
        int which = seat->rank == 0 ? i : 1 - i;
        tasks[which] = spawn_mark_with(seat, (uint64_t)which, 0,
                                       (moot_task_spec){.owner = MOOT_ON(1 - which)});
    }
    close_queue(seat);
    for (int i = 0; i < 2; i++) {
        int code = moot_task_wait(seat->m, tasks[i], MOOT_FOREVER);
        CHECK(seat, code == MOOT_ERR_CYCLE || code == MOOT_ERR_TASK_FAILED);
        cycles += code == MOOT_ERR_CYCLE;
    }
    meet(seat);
    CHECK(seat, cycles > 0 && notes[0].runs + notes[1].runs == 0);
}

/* --- Past the queues, and left open ---------------------------------------------- */

static void past_the_queues(struct seat *seat)
{
    begin(seat);
    open_kind(seat, MOOT_QUEUE_BULK);
    moot_task kept = spawn_mark(seat, 0);
    moot_task past =
        spawn_mark_with(seat, 1, 0, (moot_task_spec){.flags = MOOT_TASK_NO_QUEUE});
    wait_for(seat, &past, 1);
    CHECK(seat, notes[0].runs == 0);
    meet(seat);
    /* One that takes what is still kept is not to be had, and that is decided. */
    moot_task behind = spawn_mark_with(seat, 2, 0,
                                       (moot_task_spec){.after = &kept,
                                                        .after_count = 1,
                                                        .flags = MOOT_TASK_NO_QUEUE});
    int code = moot_task_wait(seat->m, behind, MOOT_FOREVER);
    CHECK(seat, code == MOOT_ERR_TASK_FAILED || code == MOOT_ERR_NOT_HELD);
    meet(seat);
    close_queue(seat);
    EXPECT(seat, moot_task_wait(seat->m, kept, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    CHECK(seat, notes[0].runs == 0);
}

static void *leave_open(void *argument)
{
    struct seat *seat = argument;
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 0; i < 5; i++) {
        (void)spawn_mark(seat, i);
    }
    return NULL;
}

static void left_open(struct seat *seat)
{
    begin(seat);
    pthread_t thread;
    pthread_create(&thread, NULL, leave_open, seat);
    EXPECT(seat, moot_park(seat->m), MOOT_OK);
    pthread_join(thread, NULL);
    EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    moot_task fourth = spawn_mark(seat, 3);
    wait_for(seat, &fourth, 1);
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 5; i < 8; i++) {
        (void)spawn_mark(seat, i);
    }
}

static void left_open_after(struct seat *seat)
{
    closes_well(seat);
    CHECK(seat, ran(0, 8));
}

/* --- The list --------------------------------------------------------------------- */

static void queue_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, MARK, "mark", mark, 0);
}

static const struct scene scenes[] = {
    QUEUES(in_order, .knobs = NULL),
    QUEUES(in_order, .knobs = with_workers),
    QUEUES(not_before_the_close, .knobs = with_workers),
    QUEUES(batches_in_order, .knobs = NULL),
    QUEUES(batches_in_order, .knobs = with_workers),
    QUEUES(again, .knobs = with_workers),
    QUEUES(again_in_a_batch, .knobs = with_workers),
    QUEUES(again_further_in, .knobs = with_workers),
    QUEUES(again_while_another_keeps_it, .knobs = with_workers, .sizes = {1}),
    QUEUES(a_chain_is_kept_with_its_batch, .knobs = with_workers),
    QUEUES(nothing_is_kept_for_good, .knobs = with_workers),
    QUEUES(sequential_in_sequential, .knobs = with_workers),
    QUEUES(failures_go_down_the_chain, .knobs = NULL),
    QUEUES(other_queues, .knobs = NULL),
    QUEUES(diverging, .knobs = NULL),
    QUEUES(contrary_orders, .sizes = {2}),
    QUEUES(past_the_queues, .knobs = NULL),
    {"left_open", left_open, queue_kernels, NULL, left_open_after, {0}},
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
