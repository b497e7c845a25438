/* queue_custom_test.c - task queues of a program's own, what tickets keep, and every
 * misuse, among ranks of one process.
 */
#include "tests/conformance/queue_marks.h"

enum { KEPT_MAX = 64 };

/* --- Queues of one's own ---------------------------------------------------------- */

/* Keeps what comes, and passes it up in reverse when it has `size`. */
struct turner {
    size_t size, count;
    int opened, closed, flushed;
    moot_ticket *kept[KEPT_MAX];
};

static int turner_pass(moot_queue *queue, struct turner *turner)
{
    moot_ticket *turned[KEPT_MAX];
    size_t count = turner->count;
    for (size_t i = 0; i < count; i++) {
        turned[i] = turner->kept[count - 1 - i];
    }
    turner->count = 0;
    return moot_queue_up(queue, turned, count);
}

static int turner_open(moot_queue *queue, void *user, void **state)
{
    (void)queue;
    struct turner *turner = user;
    turner->opened++;
    *state = turner;
    return MOOT_OK;
}

static int turner_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                         void *state)
{
    struct turner *turner = state;
    for (size_t i = 0; i < count; i++) {
        turner->kept[turner->count++] = tickets[i];
    }
    return turner->count >= turner->size ? turner_pass(queue, turner) : MOOT_OK;
}

static int turner_flush(moot_queue *queue, void *state)
{
    struct turner *turner = state;
    turner->flushed++;
    return turner_pass(queue, turner);
}

static int turner_close(moot_queue *queue, void *state)
{
    (void)queue;
    struct turner *turner = state;
    turner->closed++;
    return MOOT_OK; /* what is left goes up by itself */
}

static void turned(struct seat *seat)
{
    struct turner turner = {.size = 3};
    moot_queue_custom custom = {.name = "turner",
                                .open = turner_open,
                                .submit = turner_submit,
                                .flush = turner_flush,
                                .close = turner_close,
                                .user = &turner};
    moot_task tasks[8];
    begin(seat);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    EXPECT(seat, moot_queue_open_custom(seat->m, &custom), MOOT_OK);
    for (uint64_t i = 0; i < 8; i++) {
        tasks[i] = spawn_mark(seat, i);
    }
    CHECK(seat, turner.count == 2 && turner.opened == 1);
    EXPECT(seat, moot_task_wait(seat->m, tasks[6], MOOT_FOREVER), MOOT_OK);
    CHECK(seat, turner.count == 0 && turner.flushed == 1);
    (void)spawn_mark(seat, 8);
    close_queue(seat);
    CHECK(seat, turner.closed == 1);
    moot_task last = spawn_mark(seat, 9);
    close_queue(seat);
    wait_for(seat, tasks, 8);
    wait_for(seat, &last, 1);
    meet(seat);
    CHECK(seat, ran(0, 10));
    for (int i = 0; i < 3; i++) {
        for (int k = 3; k < 6; k++) {
            CHECK(seat, before(i, k) && before(k, 6) && before(k, 7));
        }
    }
    CHECK(seat, before(6, 8) && before(7, 8) && before(8, 9));
}

/* Rewrites, looks, refuses. */
struct clerk {
    moot *m;
    moot_task last;
    int seen;
};

static int clerk_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                        void *state)
{
    struct clerk *clerk = state;
    for (size_t i = 0; i < count; i++) {
        moot_ticket_view view;
        int error = moot_ticket_look(tickets[i], &view);
        if (error == MOOT_OK && strcmp(view.kernel, "mark") != 0) {
            return MOOT_ERR_INVALID;
        }
        clerk->seen++;
        if (strcmp(view.label, "refuse") == 0) {
            return MOOT_ERR_LIMIT;
        }
        if (error == MOOT_OK && clerk->last.id != 0) {
            error = moot_ticket_after(tickets[i], &clerk->last, 1);
        }
        if (error == MOOT_OK) {
            error = moot_ticket_label(tickets[i], "seen");
        }
        if (error == MOOT_OK) {
            error = moot_ticket_priority(tickets[i], view.priority + 1);
        }
        moot_task task;
        if (error == MOOT_OK) {
            error = moot_ticket_task(tickets[i], &task);
        }
        if (error == MOOT_OK && clerk->last.id != 0) {
            error = moot_task_release(clerk->m, clerk->last);
        }
        clerk->last = task;
        if (error == MOOT_OK) {
            error = moot_queue_up(queue, &tickets[i], 1);
        }
        if (error != MOOT_OK) {
            return error;
        }
    }
    return MOOT_OK;
}

static void rewritten(struct seat *seat)
{
    struct clerk clerk = {.m = seat->m};
    moot_queue_custom custom = {
        .name = "clerk", .submit = clerk_submit, .user = &clerk};
    moot_task tasks[5];
    begin(seat);
    EXPECT(seat, moot_queue_open_custom(seat->m, &custom), MOOT_OK);
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 0; i < 4; i++) {
        tasks[i] = spawn_mark(seat, i);
    }
    close_queue(seat);
    uint64_t args[2] = {4, 0};
    moot_task none = {77};
    moot_task_spec spec = {.kernel = seat->kernels[MARK],
                           .args = args,
                           .args_size = sizeof(args),
                           .label = "refuse"};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &none), MOOT_ERR_LIMIT);
    CHECK(seat, told(seat, "queue 'clerk': its function .submit returned"));
    CHECK(seat, none.id == 77);
    spec.label = "as before";
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[4]), MOOT_OK);
    close_queue(seat);
    wait_for(seat, tasks, 5);
    moot_task_info info;
    EXPECT(seat, moot_task_info(seat->m, tasks[2], &info), MOOT_OK);
    CHECK(seat, strcmp(info.label, "seen") == 0);
    CHECK(seat, clerk.seen == 6 && ran(0, 5));
    for (int i = 0; i < 4; i++) {
        CHECK(seat, before(i, i + 1));
    }
}

/* --- What cannot be -------------------------------------------------------------- */

struct prober {
    struct seat *seat;
    moot_queue *queue;
    moot_ticket *ticket, *first;
    int calls;
};

static int prober_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                         void *state)
{
    struct prober *prober = state;
    struct seat *seat = prober->seat;
    prober->queue = queue;
    CHECK(seat, count == 1);
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_BULK), MOOT_ERR_STATE);
    EXPECT(seat, moot_queue_close(seat->m), MOOT_ERR_STATE);
    moot_ticket *twice[] = {tickets[0], tickets[0]};
    EXPECT(seat, moot_queue_up(queue, twice, 2), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "ticket 1 is not in queue 'prober'"));
    moot_task stale = {1};
    CHECK(seat, moot_ticket_after(tickets[0], &stale, 1) != MOOT_OK);
    moot_task own;
    EXPECT(seat, moot_ticket_task(tickets[0], &own), MOOT_OK);
    EXPECT(seat, moot_ticket_after(tickets[0], &own, 1), MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_release(seat->m, own), MOOT_OK);
    prober->ticket = tickets[0];
    if (prober->calls++ == 0) {
        /* Its own spawns go above it. */
        (void)spawn_mark(seat, 7);
    }
    return MOOT_OK;
}

static void misuse(struct seat *seat)
{
    moot *m = seat->m;
    struct prober prober = {.seat = seat};
    moot_queue_custom custom = {
        .name = "prober", .submit = prober_submit, .user = &prober};
    begin(seat);
    EXPECT(seat, moot_queue_open(NULL, MOOT_QUEUE_BULK), MOOT_ERR_INVALID);
    EXPECT(seat, moot_queue_open(m, (enum moot_queue_kind)9), MOOT_ERR_INVALID);
    EXPECT(seat, moot_queue_open_custom(m, NULL), MOOT_ERR_INVALID);
    EXPECT(seat, moot_queue_open_custom(m, &(moot_queue_custom){.name = "x"}),
           MOOT_ERR_INVALID);
    custom.size = 3;
    EXPECT(seat, moot_queue_open_custom(m, &custom), MOOT_ERR_INVALID);
    custom.size = sizeof(custom);
    custom.flags = 64;
    EXPECT(seat, moot_queue_open_custom(m, &custom), MOOT_ERR_INVALID);
    custom.flags = 0;
    EXPECT(seat, moot_queue_close(NULL), MOOT_ERR_INVALID);
    EXPECT(seat, moot_queue_close(m), MOOT_ERR_STATE);
    CHECK(seat, told(seat, "this thread has no queue open"));
    for (int i = 0; i < 64; i++) {
        open_kind(seat, i % 2 == 0 ? MOOT_QUEUE_SEQUENTIAL : MOOT_QUEUE_BULK);
    }
    EXPECT(seat, moot_queue_open(m, MOOT_QUEUE_BULK), MOOT_ERR_LIMIT);
    for (int i = 0; i < 64; i++) {
        close_queue(seat);
    }
    EXPECT(seat, moot_queue_open_custom(m, &custom), MOOT_OK);
    moot_task task = spawn_mark(seat, 6);
    EXPECT(seat, moot_queue_up(prober.queue, &prober.ticket, 1), MOOT_ERR_STATE);
    EXPECT(seat, moot_task_wait(m, task, 0), MOOT_ERR_STATE);
    CHECK(seat, told(seat, "the queue 'prober' that this thread has open keeps it"));
    close_queue(seat);
    wait_for(seat, &task, 1);
    meet(seat);
    CHECK(seat, ran(6, 2) || seat->size > 1);
}

/* A task of the region that this rank has declined meanwhile: the close says which. */
static void declined(struct seat *seat)
{
    moot_task tasks[3];
    begin(seat);
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 0; i < 3; i++) {
        tasks[i] = spawn_mark(seat, i);
    }
    moot_task_info info;
    EXPECT(seat, moot_task_info(seat->m, tasks[1], &info), MOOT_OK);
    moot_hash hash = info.hash;
    EXPECT(seat, moot_decline(seat->m, &hash), MOOT_OK);
    EXPECT(seat, moot_queue_close(seat->m), MOOT_ERR_DECLINED);
    CHECK(seat, told(seat, "task 2 of a batch of 3") && told(seat, "queue_marks.h"));
    wait_for(seat, &tasks[0], 1);
    wait_for(seat, &tasks[2], 1);
    EXPECT(seat, moot_task_wait(seat->m, tasks[1], MOOT_FOREVER), MOOT_ERR_NOT_HELD);
}

static int left_calls;

static int left_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                       void *state)
{
    (void)queue, (void)tickets, (void)count, (void)state;
    left_calls++;
    return MOOT_OK; /* keeps them */
}

static int left_close(moot_queue *queue, void *state)
{
    (void)queue, (void)state;
    left_calls++;
    return MOOT_OK;
}

static void *leave_custom(void *argument)
{
    struct seat *seat = argument;
    const moot_queue_custom custom = {
        .name = "left", .submit = left_submit, .close = left_close};
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    EXPECT(seat, moot_queue_open_custom(seat->m, &custom), MOOT_OK);
    (void)spawn_mark(seat, 0);
    open_kind(seat, MOOT_QUEUE_BULK);
    (void)spawn_mark(seat, 1);
    return NULL;
}

/* Its thread has ended: its functions are called no more, and what all had goes up. */
static void left_open(struct seat *seat)
{
    begin(seat);
    left_calls = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, leave_custom, seat);
    pthread_join(thread, NULL);
    CHECK(seat, left_calls == 1);
}

static void left_open_after(struct seat *seat)
{
    closes_well(seat);
    CHECK(seat, left_calls == 1 && ran(0, 2));
}

/* The spec is deep: what it pointed to may change before the region ends. */
static void copied(struct seat *seat)
{
    begin(seat);
    moot_task squares[2];
    uint64_t value = 5;
    char label[16] = "before";
    open_kind(seat, MOOT_QUEUE_BULK);
    squares[0] = spawn_u64(seat, SQUARE, 3);
    moot_task_spec spec = {.kernel = seat->kernels[SUM],
                           .args = &value,
                           .args_size = sizeof(value),
                           .inputs = squares,
                           .input_count = 1,
                           .label = label};
    moot_task sum;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &sum), MOOT_OK);
    value = 1000;
    memset(label, 'x', sizeof(label) - 1);
    EXPECT(seat, moot_task_release(seat->m, squares[0]), MOOT_OK);
    squares[0] = (moot_task){0};
    close_queue(seat);
    CHECK(seat, fetch_u64(seat, sum) == 14);
    moot_task_info info;
    EXPECT(seat, moot_task_info(seat->m, sum, &info), MOOT_OK);
    CHECK(seat, strcmp(info.label, "before") == 0);
}

/* The moot forgets what all ranks have released, but not what a ticket needs, be it the
 * task or an input, though no handle of it is left. */
static void needed_yet(struct seat *seat)
{
    enum { COUNT = 8, OTHERS = 120 };
    begin(seat);
    moot_hash hashes[COUNT];
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t value = 100 + i;
        moot_task_spec spec = {.kernel = seat->kernels[SQUARE],
                               .args = &value,
                               .args_size = sizeof(value),
                               .flags = MOOT_TASK_NO_QUEUE};
        moot_task square, sum;
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &square), MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, square, MOOT_FOREVER), MOOT_OK);
        spec = (moot_task_spec){
            .kernel = seat->kernels[SUM], .inputs = &square, .input_count = 1};
        EXPECT(seat, moot_spec_hash(seat->m, &spec, &hashes[i]), MOOT_OK);
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &sum), MOOT_OK);
        EXPECT(seat, moot_task_release(seat->m, square), MOOT_OK);
        EXPECT(seat, moot_task_release(seat->m, sum), MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, square, 0), MOOT_ERR_STALE);
    }
    for (uint64_t i = 0; i < OTHERS; i++) {
        moot_task other =
            spawn_mark_with(seat, i, 0, (moot_task_spec){.flags = MOOT_TASK_NO_QUEUE});
        EXPECT(seat, moot_task_wait(seat->m, other, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_task_release(seat->m, other), MOOT_OK);
    }
    /* From here on handles keep them: once they have run no ticket does. */
    moot_task sums[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        EXPECT(seat, moot_task_find(seat->m, &hashes[i], &sums[i]), MOOT_OK);
    }
    close_queue(seat);
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK(seat, fetch_u64(seat, sums[i]) == (100 + i) * (100 + i));
    }
}

/* What is cancelled before it is submitted never runs, nor does what comes after it. */
static void cancelled_while_kept(struct seat *seat)
{
    moot_task tasks[4];
    begin(seat);
    open_kind(seat, MOOT_QUEUE_BULK);
    tasks[0] = spawn_mark(seat, 0);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    tasks[1] = spawn_mark(seat, 1);
    tasks[2] = spawn_mark(seat, 2);
    close_queue(seat);
    tasks[3] = spawn_mark_with(seat, 3, 0, (moot_task_spec){.label = "draft: 3"});
    EXPECT(seat, moot_task_cancel(seat->m, tasks[1]), MOOT_OK);
    EXPECT(seat, moot_task_cancel_label(seat->m, "draft:"), MOOT_OK);
    EXPECT(seat, moot_park(seat->m), MOOT_OK);
    meet(seat);
    EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    close_queue(seat);
    wait_for(seat, &tasks[0], 1);
    EXPECT(seat, moot_task_wait(seat->m, tasks[1], MOOT_FOREVER), MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_task_wait(seat->m, tasks[2], MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    EXPECT(seat, moot_task_wait(seat->m, tasks[3], MOOT_FOREVER), MOOT_ERR_CANCELLED);
    CHECK(seat, notes[1].runs + notes[2].runs + notes[3].runs == 0);
}

/* A group cannot be waited for while a bulk queue of its thread has part of it. */
static void groups(struct seat *seat)
{
    begin(seat);
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 0; i < 20; i++) {
        EXPECT(seat, moot_task_release(seat->m, spawn_mark(seat, i)), MOOT_OK);
    }
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_ERR_STATE);
    close_queue(seat);
    EXPECT(seat, moot_task_release(seat->m, spawn_mark(seat, 20)), MOOT_OK);
    close_queue(seat);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    CHECK(seat, ran(0, 21));
    for (int i = 0; i < 20; i++) {
        CHECK(seat, before(i, 20));
    }
}

/* Scopes may end before the tasks in them are submitted. */
static void scopes_end_first(struct seat *seat)
{
    begin(seat);
    open_kind(seat, MOOT_QUEUE_BULK);
    EXPECT(seat, moot_scope_open(seat->m, "phase"), MOOT_OK);
    moot_task task = spawn_mark(seat, 0);
    (void)spawn_mark(seat, 1);
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    close_queue(seat);
    wait_for(seat, &task, 1);
    EXPECT(seat, moot_scope_open(seat->m, "phase"), MOOT_ERR_SCOPE_CLOSED);
}

/* --- The list --------------------------------------------------------------------- */

static void queue_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, MARK, "mark", mark, 0);
}

static const char *const small_window[] = {"MOOT_WINDOW=64", NULL};

static const struct scene scenes[] = {
    QUEUES(needed_yet, .knobs = small_window),
    QUEUES(turned, .knobs = with_workers),
    QUEUES(rewritten, .knobs = NULL),
    QUEUES(misuse, .knobs = NULL),
    QUEUES(declined, .knobs = NULL),
    {"left_open", left_open, queue_kernels, NULL, left_open_after, {1}},
    QUEUES(copied, .knobs = NULL),
    QUEUES(cancelled_while_kept, .knobs = NULL),
    QUEUES(groups, .knobs = NULL),
    QUEUES(scopes_end_first, .knobs = NULL),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
