/* queue_refused_test.c - what a task queue could not pass on was not spawned, and holds
 * nothing back and nothing in memory; what was spawned before keeps its place.
 */
#include "tests/conformance/handles_in_use.h"
#include "tests/conformance/queue_marks.h"

static moot_task_spec mark_spec(struct seat *seat, const uint64_t args[2])
{
    return (moot_task_spec){
        .kernel = seat->kernels[MARK], .args = args, .args_size = 2 * sizeof(args[0])};
}

static void refused(struct seat *seat, const moot_task_spec *spec, int code)
{
    moot_task none = {77};
    uint32_t handles = handles_in_use(seat);
    EXPECT(seat, moot_task_spawn(seat->m, spec, &none), code);
    CHECK(seat, none.id == 77 && handles_in_use(seat) == handles);
}

static void decline(struct seat *seat, const moot_task_spec *spec)
{
    moot_hash hash = {{0}};
    EXPECT(seat, moot_spec_hash(seat->m, spec, &hash), MOOT_OK);
    EXPECT(seat, moot_decline(seat->m, &hash), MOOT_OK);
}

/* Passes up what comes at once, or keeps it until its close, which may fail. */
struct usher {
    bool keeps;
    int close_code;
};

static int usher_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                        void *state)
{
    const struct usher *usher = state;
    moot_ticket_view view;
    for (size_t i = 0; i < count; i++) {
        if (moot_ticket_look(tickets[i], &view) != MOOT_OK ||
            strcmp(view.label, "refuse") == 0) {
            return MOOT_ERR_LIMIT;
        }
    }
    return usher->keeps ? MOOT_OK : moot_queue_up(queue, tickets, count);
}

static int usher_close(moot_queue *queue, void *state)
{
    (void)queue;
    const struct usher *usher = state;
    return usher->close_code;
}

static void open_usher(struct seat *seat, struct usher *usher)
{
    const moot_queue_custom custom = {
        .name = "usher", .submit = usher_submit, .close = usher_close, .user = usher};
    EXPECT(seat, moot_queue_open_custom(seat->m, &custom), MOOT_OK);
}

/* --- Refused ------------------------------------------------------------------------
 */

/* What comes next in the chain comes after what came before. */
static void by_the_queue_around_a_chain(struct seat *seat)
{
    begin(seat);
    struct usher usher = {.keeps = false};
    const uint64_t args[2] = {1, 0};
    moot_task_spec spec = mark_spec(seat, args);
    open_usher(seat, &usher);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    moot_task tasks[3] = {spawn_mark_with(seat, 0, 30, (moot_task_spec){0})};
    spec.label = "refuse";
    refused(seat, &spec, MOOT_ERR_LIMIT);
    tasks[1] = spawn_mark(seat, 2);
    spec.label = NULL;
    spec.flags = MOOT_TASK_NO_QUEUE;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[2]), MOOT_OK);
    close_queue(seat);
    close_queue(seat);
    wait_for(seat, tasks, 3);
    CHECK(seat, ran(0, 3) && before(0, 2));
}

/* With what its order adds it comes after more than any task may. */
static void by_the_order(struct seat *seat)
{
    enum { MOST = 4096 };
    begin(seat);
    struct usher usher = {.keeps = false};
    moot_task first = spawn_mark(seat, 0), *after = calloc(MOST, sizeof(*after));
    for (size_t i = 0; after != NULL && i < MOST; i++) {
        after[i] = first;
    }
    const uint64_t args[2] = {3, 0};
    moot_task_spec spec = mark_spec(seat, args);
    spec.after = after;
    spec.after_count = MOST;
    for (int direct = 0; direct < 2; direct++) {
        if (direct == 0) {
            open_usher(seat, &usher);
        }
        open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
        moot_task tasks[2] = {
            spawn_mark_with(seat, 4 + 2 * (uint64_t)direct, 30, (moot_task_spec){0})};
        refused(seat, &spec, MOOT_ERR_LIMIT);
        tasks[1] = spawn_mark(seat, 5 + 2 * (uint64_t)direct);
        close_queue(seat);
        if (direct == 0) {
            close_queue(seat);
        }
        wait_for(seat, tasks, 2);
        CHECK(seat, before(4 + 2 * direct, 5 + 2 * direct));
    }
    moot_task at_last = {0};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &at_last), MOOT_OK);
    free(after);
    wait_for(seat, &at_last, 1);
    CHECK(seat, ran(3, 5));
}

static void because_it_was_declined(struct seat *seat)
{
    begin(seat);
    const uint64_t args[2] = {1, 0};
    moot_task_spec spec = mark_spec(seat, args);
    decline(seat, &spec);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    moot_task tasks[2] = {spawn_mark_with(seat, 0, 30, (moot_task_spec){0})};
    refused(seat, &spec, MOOT_ERR_DECLINED);
    spec.flags = MOOT_TASK_NO_QUEUE;
    refused(seat, &spec, MOOT_ERR_DECLINED);
    tasks[1] = spawn_mark(seat, 2);
    close_queue(seat);
    wait_for(seat, tasks, 2);
    CHECK(seat, before(0, 2) && notes[1].runs == 0);
}

/* The rest of its batch is spawned, and with it still holds back what comes next. */
static void as_one_of_a_batch(struct seat *seat)
{
    begin(seat);
    const uint64_t args[2] = {1, 0};
    const moot_task_spec spec = mark_spec(seat, args);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    open_kind(seat, MOOT_QUEUE_BULK);
    moot_task good = spawn_mark(seat, 0), bad = spawn_mark(seat, 1);
    decline(seat, &spec);
    EXPECT(seat, moot_queue_close(seat->m), MOOT_ERR_DECLINED);
    moot_task next = spawn_mark(seat, 2);
    close_queue(seat);
    wait_for(seat, &good, 1);
    EXPECT(seat, moot_task_wait(seat->m, bad, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    int code = moot_task_wait(seat->m, next, MOOT_FOREVER);
    CHECK(seat, code == MOOT_ERR_TASK_FAILED || code == MOOT_ERR_NOT_HELD);
    CHECK(seat, ran(0, 1) && notes[1].runs + notes[2].runs == 0);
}

/* What a queue leaves goes up though its close fails; the first error is told. */
static void as_a_queue_closes(struct seat *seat)
{
    begin(seat);
    struct usher usher = {.keeps = true, .close_code = MOOT_ERR_LIMIT};
    const uint64_t args[2] = {1, 0};
    const moot_task_spec spec = mark_spec(seat, args);
    open_usher(seat, &usher);
    moot_task tasks[2] = {spawn_mark(seat, 0)};
    (void)spawn_mark(seat, 1);
    tasks[1] = spawn_mark(seat, 2);
    decline(seat, &spec);
    EXPECT(seat, moot_queue_close(seat->m), MOOT_ERR_LIMIT);
    CHECK(seat, told(seat, "queue 'usher': its function .close returned"));
    EXPECT(seat, moot_queue_close(seat->m), MOOT_ERR_STATE);
    wait_for(seat, tasks, 2);
    CHECK(seat, ran(0, 1) && ran(2, 1) && notes[1].runs == 0);
}

/* --- Spawned before -----------------------------------------------------------------
 */

/* It is part of the chain around a queue that keeps nothing. */
static void before_a_queue_that_passes_on(struct seat *seat)
{
    begin(seat);
    struct usher usher = {.keeps = false};
    moot_task tasks[2] = {spawn_mark_with(seat, 0, 60, (moot_task_spec){0})};
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    open_usher(seat, &usher);
    (void)spawn_mark_with(seat, 0, 60, (moot_task_spec){0});
    tasks[1] = spawn_mark(seat, 1);
    close_queue(seat);
    close_queue(seat);
    wait_for(seat, tasks, 2);
    CHECK(seat, before(0, 1));
}

/* What such a queue keeps came before it; what comes after the queue does not. */
static void before_a_queue_that_keeps(struct seat *seat)
{
    begin(seat);
    gate_open = false;
    struct usher usher = {.keeps = true};
    const moot_task_spec gate_spec = {.kernel = seat->kernels[GATE]};
    moot_task gates[2], kept, next;
    EXPECT(seat, moot_task_spawn(seat->m, &gate_spec, &gates[0]), MOOT_OK);
    while (gates_standing == 0) { /* a worker has it, not the wait below */
        nap_ms(1);
    }
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    open_usher(seat, &usher);
    kept = spawn_mark(seat, 0);
    EXPECT(seat, moot_task_spawn(seat->m, &gate_spec, &gates[1]), MOOT_OK);
    close_queue(seat);
    next = spawn_mark(seat, 1);
    close_queue(seat);
    EXPECT(seat, moot_task_wait(seat->m, kept, MOOT_SECONDS(20)), MOOT_OK);
    int opened_at = ++now;
    gate_open = true;
    wait_for(seat, gates, 2);
    wait_for(seat, &next, 1);
    CHECK(seat, notes[1].started > opened_at);
}

/* --- The list -----------------------------------------------------------------------
 */

static void queue_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, MARK, "mark", mark, 0);
}

static const struct scene scenes[] = {
    QUEUES(by_the_queue_around_a_chain, .knobs = with_workers),
    QUEUES(by_the_order, .knobs = with_workers),
    QUEUES(because_it_was_declined, .knobs = with_workers),
    QUEUES(as_one_of_a_batch, .knobs = NULL),
    QUEUES(as_a_queue_closes, .knobs = NULL),
    QUEUES(before_a_queue_that_passes_on, .knobs = with_workers),
    QUEUES(before_a_queue_that_keeps, .knobs = with_workers, .sizes = {1}),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
