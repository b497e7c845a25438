/* queue_children_test.c - what running tasks spawn goes through queues like those that
 * they were spawned through themselves, among ranks of one process.
 */
#include "tests/conformance/queue_marks.h"

/* --- Kernels --------------------------------------------------------------------- */

enum spawns { PLAIN, WAITS, EXPLICIT_BULK, OWN_CHAIN, NO_QUEUES };

/* args: first number, count, what.  Spawns marks as children. */
static int family(moot_call *call, void *user)
{
    struct seat *seat = user;
    const uint64_t *args = moot_call_args(call, NULL);
    moot *m = moot_call_context(call);
    int error = MOOT_OK;
    if (args[2] == EXPLICIT_BULK || args[2] == OWN_CHAIN) {
        error = moot_queue_open(m, args[2] == OWN_CHAIN ? MOOT_QUEUE_SEQUENTIAL
                                                        : MOOT_QUEUE_BULK);
    }
    moot_task child = {0};
    for (uint64_t i = 0; i < args[1] && error == MOOT_OK; i++) {
        const uint64_t numbers[2] = {args[0] + i, (i + 1) % 2};
        error = moot_call_spawn(
            call,
            &(moot_task_spec){.kernel = seat->kernels[MARK],
                              .args = numbers,
                              .args_size = sizeof(numbers),
                              .flags = args[2] == NO_QUEUES ? MOOT_TASK_NO_QUEUE : 0},
            &child);
    }
    if (args[2] == EXPLICIT_BULK) {
        EXPECT(seat, moot_call_wait(call, child, NULL, NULL), MOOT_ERR_STATE);
        EXPECT(seat, moot_queue_close(m), MOOT_OK);
        EXPECT(seat, moot_queue_close(m), MOOT_ERR_STATE);
    }
    if (error == MOOT_OK && args[2] != PLAIN) {
        error = moot_call_wait(call, child, NULL, NULL);
    }
    const struct note *last = &notes[args[0] + args[1] - 1];
    CHECK(seat, args[2] == PLAIN || last->runs == 1);
    int *seen = moot_call_output(call, sizeof(*seen));
    if (seen == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *seen = last->runs;
    return error;
}

static moot_task spawn_family(struct seat *seat, uint64_t first, uint64_t count,
                              enum spawns what)
{
    const uint64_t args[3] = {first, count, what};
    moot_task task = {0};
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[FAMILY],
                                             .args = args,
                                             .args_size = sizeof(args)},
                           &task),
           MOOT_OK);
    return task;
}

static bool in_chain(int first, int count)
{
    for (int i = first; i + 1 < first + count; i++) {
        if (!before(i, i + 1)) {
            return false;
        }
    }
    return true;
}

/* Children of a task of a chain are a chain, whether it waits for them or not, and the
 * task is not behind them. */
static void chains_of_children(struct seat *seat)
{
    begin(seat);
    moot_task tasks[4];
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    tasks[0] = spawn_family(seat, 0, 10, WAITS);
    tasks[1] = spawn_family(seat, 10, 10, PLAIN);
    tasks[2] = spawn_family(seat, 20, 10, EXPLICIT_BULK);
    tasks[3] = spawn_family(seat, 30, 10, NO_QUEUES);
    close_queue(seat);
    wait_for(seat, tasks, 4);
    CHECK(seat, in_chain(0, 10));
    moot_task rest[10];
    for (uint64_t i = 0; i < 10; i++) { /* the ranks hold no handle of these */
        rest[i] = spawn_mark(seat, 100 + i);
    }
    wait_for(seat, rest, 10);
}

static void chains_of_children_after(struct seat *seat)
{
    closes_well(seat);
    CHECK(seat, in_chain(10, 10) && ran(0, 40));
    CHECK(seat, before(9, 20)); /* the first family waited for its last child */
}

/* Children of a task of a batch are a batch: submitted as it waits, or returns. */
static void batches_of_children(struct seat *seat)
{
    begin(seat);
    moot_task tasks[3];
    open_kind(seat, MOOT_QUEUE_BULK);
    tasks[0] = spawn_family(seat, 0, 10, PLAIN);
    tasks[1] = spawn_family(seat, 10, 10, WAITS);
    tasks[2] = spawn_family(seat, 20, 10, OWN_CHAIN);
    close_queue(seat);
    const void *data = NULL;
    EXPECT(seat, moot_task_fetch(seat->m, tasks[0], MOOT_FOREVER, &data, NULL),
           MOOT_OK);
    CHECK(seat, *(const int *)data == 0);
    wait_for(seat, tasks, 3);
    CHECK(seat, in_chain(20, 10));
}

static void batches_of_children_after(struct seat *seat)
{
    closes_well(seat);
    CHECK(seat, ran(0, 30));
}

/* --- A queue of one's own for children, too -------------------------------------- */

static atomic_int tagged, opened, closed;

static int tag_open(moot_queue *queue, void *user, void **state)
{
    (void)queue;
    opened++;
    *state = user;
    return MOOT_OK;
}

static int tag_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                      void *state)
{
    tagged += (int)count;
    int error = MOOT_OK;
    for (size_t i = 0; i < count && error == MOOT_OK; i++) {
        error = moot_ticket_label(tickets[i], state);
    }
    return error == MOOT_OK ? moot_queue_up(queue, tickets, count) : error;
}

static int tag_close(moot_queue *queue, void *state)
{
    (void)queue;
    (void)state;
    closed++;
    return MOOT_OK;
}

/* `flags` decides whether the children are tagged as well. */
static void tagged_children(struct seat *seat)
{
    static char label[] = "tagged";
    moot_queue_custom custom = {.name = "tag",
                                .open = tag_open,
                                .submit = tag_submit,
                                .close = tag_close,
                                .user = label};
    for (uint32_t inherited = 0; inherited < 2; inherited++) {
        begin(seat);
        tagged = opened = closed = 0;
        meet(seat);
        custom.flags = inherited ? MOOT_QUEUE_INHERITED : 0;
        EXPECT(seat, moot_queue_open_custom(seat->m, &custom), MOOT_OK);
        moot_task task = spawn_family(seat, 20 * inherited, 10, WAITS);
        close_queue(seat);
        wait_for(seat, &task, 1);
        meet(seat); /* a task runs once: ten children */
        CHECK(seat, tagged == seat->size + (inherited ? 10 : 0));
        CHECK(seat, opened == seat->size + (int)inherited);
        CHECK(seat, closed == opened);
    }
}

/* args: depth.  A chain in a batch in each of many generations. */
static int ancestor(moot_call *call, void *user)
{
    struct seat *seat = user;
    const uint64_t *depth = moot_call_args(call, NULL);
    uint64_t below = *depth - 1;
    moot *m = moot_call_context(call);
    moot_task child;
    int error = MOOT_OK;
    if (*depth > 0) {
        error = moot_queue_open(m, MOOT_QUEUE_BULK);
        if (error == MOOT_OK) {
            error = moot_queue_open(m, MOOT_QUEUE_SEQUENTIAL);
        }
        if (error == MOOT_OK) {
            error = moot_call_spawn(call,
                                    &(moot_task_spec){.kernel = seat->kernels[ANCESTOR],
                                                      .args = &below,
                                                      .args_size = sizeof(below)},
                                    &child);
        }
        if (error == MOOT_OK) {
            error = moot_queue_close(m); /* the other one as it returns */
        }
    }
    if (error == MOOT_OK && moot_call_output(call, 0) == NULL) {
        error = MOOT_ERR_NO_MEMORY;
    }
    return error;
}

static void generations(struct seat *seat)
{
    moot_kernel kernel = {.name = "ancestor", .fn = ancestor, .user = seat};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[ANCESTOR]),
           MOOT_OK);
    uint64_t depth = 60;
    moot_task task;
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    open_kind(seat, MOOT_QUEUE_SEQUENTIAL);
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[ANCESTOR],
                                             .args = &depth,
                                             .args_size = sizeof(depth)},
                           &task),
           MOOT_OK);
    close_queue(seat);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
}

/* --- The list --------------------------------------------------------------------- */

static void queue_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, MARK, "mark", mark, 0);
    moot_kernel kernel = {.name = "family", .version = 1, .fn = family, .user = seat};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[FAMILY]),
           MOOT_OK);
}

static const struct scene scenes[] = {
    QUEUES(tagged_children, .knobs = NULL),
    QUEUES(generations, .knobs = NULL),
    {"chains_of_children",
     chains_of_children,
     queue_kernels,
     NULL,
     chains_of_children_after,
     {0}},
    {"chains_of_children with workers",
     chains_of_children,
     queue_kernels,
     with_workers,
     chains_of_children_after,
     {0}},
    {"batches_of_children",
     batches_of_children,
     queue_kernels,
     NULL,
     batches_of_children_after,
     {0}},
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
