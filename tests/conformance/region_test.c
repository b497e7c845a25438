/* region_test.c - what a bulk queue that is its thread's only queue collects without
 * tickets (node/compose/bulk_region.h), among ranks of one process: nothing tells it
 * from what has tickets.
 */
#include "tests/conformance/region_marks.h"
#include "tests/conformance/region_probe.h"

enum { REGION_MAX = 200, PARENT = ANCESTOR + 1 };

/* --- Not before the close --------------------------------------------------------- */

/* In parts of 64; the loops turn meanwhile. */
static void not_before(struct seat *seat)
{
    static const uint64_t counts[] = {1, 3, 64, 65, REGION_MAX};
    moot_task tasks[REGION_MAX];
    uint64_t first = 0;
    start(seat);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        uint64_t count = counts[i];
        open_with(seat, tasks, first, count);
        nap_ms(5);
        meet(seat);
        CHECK(seat, collects(seat, (uint32_t)count) && now == (int)(2 * first));
        meet(seat);
        close_queue(seat);
        CHECK(seat, collects(seat, 0));
        wait_for(seat, tasks, count);
        meet(seat);
        first += count;
    }
    CHECK(seat, ran(0, (int)first));
    moot_stats stats = stats_of(seat);
    CHECK(seat, stats.votes == 0 && stats.tasks_spawned == first + 1);
}

/* Workers run what peers wait for. */
static void while_peers_work(struct seat *seat)
{
    moot_task ahead[20], tasks[20];
    start(seat);
    for (uint64_t i = 0; i < 20; i++) {
        ahead[i] = spawn_mark_with(seat, 100 + i, 1, (moot_task_spec){0});
    }
    open_with(seat, tasks, 0, 20);
    if (seat->rank == 0 && seat->size > 1) {
        wait_for(seat, ahead, 20);
        CHECK(seat, collects(seat, 0));
    }
    meet(seat);
    for (int i = 0; i < 20; i++) {
        CHECK(seat, notes[i].runs == 0);
    }
    CHECK(seat, collects(seat, seat->rank == 0 && seat->size > 1 ? 0 : 20));
    meet(seat);
    close_queue(seat);
    wait_for(seat, tasks, 20);
    CHECK(seat, ran(0, 20) && stats_of(seat).votes == 0);
}

/* --- What is not plain, in the midst --------------------------------------------- */

/* Each takes the one before. */
static void in_a_row(struct seat *seat)
{
    enum { COUNT = 70 };
    moot_task tasks[COUNT];
    start(seat);
    tasks[0] = spawn_sum(seat, NULL, 0, 1);
    open_kind(seat, MOOT_QUEUE_BULK);
    for (size_t i = 1; i < COUNT; i++) {
        tasks[i] = spawn_sum(seat, &tasks[i - 1], 1, 1);
    }
    close_queue(seat);
    CHECK(seat, fetch_u64(seat, tasks[COUNT - 1]) == COUNT);
    CHECK(seat, stats_of(seat).votes == 0);
}

/* What is spawned before and after it in the region, and which task of it is the odd
 * one. */
static void in_the_midst(struct seat *seat)
{
    enum { ROWS = 10, SIZE = 30 };
    const int all[] = {0, seat->size - 1};
    unsigned char large[sizeof(uint64_t[2]) + 400] = {0};
    moot_task tasks[SIZE];
    start(seat);
    moot_task ahead = spawn_mark(seat, ROWS * SIZE);
    moot_hash hash = {0};
    uint64_t once_args = 3;
    const uint64_t args[2] = {ROWS * SIZE, 0};
    EXPECT(seat,
           moot_spec_hash(seat->m,
                          &(moot_task_spec){.kernel = seat->kernels[MARK],
                                            .args = args,
                                            .args_size = sizeof(args)},
                          &hash),
           MOOT_OK);
    const moot_task_spec odd[ROWS] = {{.label = "odd"},
                                      {.priority = 3},
                                      {.key = "key", .key_size = 3},
                                      {.after = &ahead, .after_count = 1},
                                      {.flags = MOOT_TASK_CONDITIONAL},
                                      {.candidates = {all, 2}},
                                      {.input_hashes = &hash, .input_hash_count = 1},
                                      {.flags = MOOT_TASK_NO_QUEUE},
                                      {0},
                                      {0}};
    for (size_t row = 0; row < ROWS; row++) {
        size_t at = row * 3 % SIZE;
        meet(seat);
        open_kind(seat, MOOT_QUEUE_BULK);
        for (size_t i = 0; i < SIZE; i++) {
            uint64_t number = row * SIZE + i;
            if (i != at) {
                tasks[i] = spawn_mark(seat, number);
            } else if (row < 8) {
                tasks[i] = spawn_mark_with(seat, number, 0, odd[row]);
            } else {
                memcpy(large, (uint64_t[2]){number, 0}, sizeof(uint64_t[2]));
                moot_task_spec spec = {.kernel = seat->kernels[row == 8 ? MARK : ONCE],
                                       .args = row == 8 ? (void *)large : &once_args,
                                       .args_size = row == 8 ? sizeof(large) : 8,
                                       .key = row == 8 ? NULL : "one",
                                       .key_size = row == 8 ? 0 : 3};
                EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[i]), MOOT_OK);
            }
            CHECK(seat, collects(seat, i < at ? (uint32_t)i + 1 : 0));
        }
        nap_ms(2);
        meet(seat);
        for (size_t i = 0; i < SIZE; i++) {
            CHECK(seat, notes[row * SIZE + i].runs == 0 || (row == 7 && i == at));
        }
        meet(seat);
        close_queue(seat);
        wait_for(seat, tasks, SIZE);
        for (size_t i = 0; i < SIZE; i++) {
            CHECK(seat, notes[row * SIZE + i].runs == 1 || (row == 9 && i == at));
        }
    }
}

/* --- Calls while it is open ------------------------------------------------------ */

struct looker {
    struct probe *probe;
    int which;
};

static void *look_elsewhere(void *argument)
{
    struct looker *looker = argument;
    call_one(looker->probe, looker->which, false);
    return NULL;
}

static void looked_at(struct seat *seat, bool own)
{
    start(seat);
    for (int which = 0; which < CALLS; which++) {
        const uint64_t first = 4 * (uint64_t)which;
        const uint64_t args[2] = {first + 1, 0};
        struct probe probe = {.seat = seat};
        EXPECT(seat,
               moot_spec_hash(seat->m,
                              &(moot_task_spec){.kernel = seat->kernels[MARK],
                                                .args = args,
                                                .args_size = sizeof(args)},
                              &probe.hash),
               MOOT_OK);
        probe.input = spawn_mark(seat, 400 + (uint64_t)which);
        open_with(seat, probe.tasks, first, 3);
        probe.tasks[3] =
            spawn_mark_with(seat, first + 3, 0,
                            (moot_task_spec){.inputs = &probe.input, .input_count = 1});
        CHECK(seat, collects(seat, 4));
        if (own) {
            call_one(&probe, which, true);
        } else {
            struct looker looker = {&probe, which};
            pthread_t thread;
            pthread_create(&thread, NULL, look_elsewhere, &looker);
            pthread_join(thread, NULL);
        }
        CHECK(seat, collects(seat, 0));
        meet(seat);
        for (int i = 0; i < 4; i++) {
            CHECK(seat, notes[first + (uint64_t)i].runs == 0);
        }
        meet(seat);
        close_queue(seat);
        wait_for(seat, probe.tasks, 2);
        wait_for(seat, &probe.tasks[3], 1);
        for (int i = 0; i < 2 && probe.made[i].id != 0 && which != 13; i++) {
            wait_for(seat, &probe.made[i], 1);
        }
        CHECK(seat, which != 9 || before(300, 301));
        meet(seat);
        if (seat->rank == 0) {
            notes[300].runs = 0;
        }
        EXPECT(seat, moot_park(seat->m), MOOT_OK);
        while (notes[first + 2].runs == 0) {
            nap_ms(1);
        }
        EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    }
    CHECK(seat, ran(0, 4 * CALLS) && stats_of(seat).votes == 0);
}

static void looked_at_here(struct seat *seat) { looked_at(seat, true); }
static void looked_at_elsewhere(struct seat *seat) { looked_at(seat, false); }

/* What is cancelled or declined before the close does not run. */
static void given_up(struct seat *seat)
{
    moot_task tasks[6];
    const uint64_t args[2] = {4, 0};
    moot_hash hash;
    start(seat);
    EXPECT(seat,
           moot_spec_hash(seat->m,
                          &(moot_task_spec){.kernel = seat->kernels[MARK],
                                            .args = args,
                                            .args_size = sizeof(args)},
                          &hash),
           MOOT_OK);
    open_with(seat, tasks, 0, 3);
    EXPECT(seat, moot_task_cancel(seat->m, tasks[1]), MOOT_OK);
    EXPECT(seat, moot_park(seat->m), MOOT_OK);
    meet(seat);
    EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    close_queue(seat);
    EXPECT(seat, moot_task_wait(seat->m, tasks[1], MOOT_FOREVER), MOOT_ERR_CANCELLED);
    open_with(seat, tasks + 3, 3, 3);
    EXPECT(seat, moot_decline(seat->m, &hash), MOOT_OK);
    EXPECT(seat, moot_queue_close(seat->m), MOOT_ERR_DECLINED);
    CHECK(seat, told(seat, "task 2 of a batch of 3") && told(seat, "queue_marks.h"));
    EXPECT(seat, moot_task_wait(seat->m, tasks[4], MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    wait_for(seat, &tasks[3], 1);
    wait_for(seat, &tasks[5], 1);
    meet(seat);
    CHECK(seat, notes[1].runs + notes[4].runs == 0);
    CHECK(seat, ran(2, 2) && ran(5, 1) && ran(0, 1));
}

/* In a scope the hashes are others, and a group waits for what it was given. */
static void in_a_scope_or_group(struct seat *seat)
{
    enum { COUNT = 20 };
    const uint64_t args[2] = {COUNT - 1, 0};
    const moot_task_spec spec = {
        .kernel = seat->kernels[MARK], .args = args, .args_size = sizeof(args)};
    moot_task tasks[COUNT];
    moot_task_info info;
    moot_hash hash;
    start(seat);
    EXPECT(seat, moot_scope_open(seat->m, "phase"), MOOT_OK);
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 0; i < COUNT; i++) {
        tasks[i] = spawn_mark(seat, i);
    }
    CHECK(seat, collects(seat, 0));
    close_queue(seat);
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, tasks[COUNT - 1], &info), MOOT_OK);
    CHECK(seat, memcmp(&info.hash, &hash, sizeof(hash)) == 0);
    wait_for(seat, tasks, COUNT);
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    open_kind(seat, MOOT_QUEUE_BULK);
    for (uint64_t i = 0; i < COUNT; i++) {
        (void)spawn_mark(seat, 100 + i);
    }
    CHECK(seat, collects(seat, 0));
    close_queue(seat);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    CHECK(seat, ran(0, COUNT) && ran(100, COUNT));
}

/* --- Equal specs ------------------------------------------------------------------ */

struct other {
    struct seat *seat;
    pthread_barrier_t *both;
    moot_task tasks[40];
};

static void *same_region(void *argument)
{
    struct other *other = argument;
    struct seat *seat = other->seat;
    moot_task first = spawn_mark(seat, 100);
    wait_for(seat, &first, 1);
    open_kind(seat, MOOT_QUEUE_BULK);
    pthread_barrier_wait(other->both);
    pthread_barrier_wait(other->both);
    for (uint64_t i = 0; i < 40; i++) {
        other->tasks[i] = spawn_mark(seat, 20 + i);
    }
    pthread_barrier_wait(other->both);
    pthread_barrier_wait(other->both);
    close_queue(seat);
    wait_for(seat, other->tasks, 40);
    return NULL;
}

/* Twice in one region, spawned before it, in two threads' regions. */
static void equal_specs(struct seat *seat)
{
    pthread_barrier_t both;
    pthread_barrier_init(&both, NULL, 2);
    struct other other = {.seat = seat, .both = &both};
    moot_task tasks[80], ahead[5];
    start(seat);
    pthread_t thread;
    pthread_create(&thread, NULL, same_region, &other);
    for (uint64_t i = 0; i < 5; i++) {
        ahead[i] = spawn_mark(seat, i);
    }
    EXPECT(seat, moot_task_release(seat->m, ahead[0]), MOOT_OK);
    EXPECT(seat, moot_park(seat->m), MOOT_OK);
    pthread_barrier_wait(&both);
    EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    open_kind(seat, MOOT_QUEUE_BULK);
    pthread_barrier_wait(&both);
    for (uint64_t i = 0; i < 80; i++) {
        tasks[i] = spawn_mark(seat, i / 2);
    }
    pthread_barrier_wait(&both);
    CHECK(seat, collects(seat, 120));
    meet(seat);
    for (int i = 5; i < 60; i++) {
        CHECK(seat, notes[i].runs == 0);
    }
    meet(seat);
    close_queue(seat);
    CHECK(seat, collects(seat, 40));
    pthread_barrier_wait(&both);
    wait_for(seat, tasks, 80);
    EXPECT(seat, moot_park(seat->m), MOOT_OK);
    pthread_join(thread, NULL);
    EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    meet(seat);
    CHECK(seat, ran(0, 60));
    for (int i = 0; i < 80; i++) {
        EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_OK);
    }
    pthread_barrier_destroy(&both);
}

/* A region that is ended before its close, of tasks that are known, begins anew. */
static void anew(struct seat *seat)
{
    enum { COUNT = 70 };
    moot_task ahead[COUNT], tasks[COUNT], more[COUNT];
    moot_task_info info;
    start(seat);
    for (uint64_t i = 0; i < COUNT; i++) {
        ahead[i] = spawn_mark(seat, i);
    }
    wait_for(seat, ahead, COUNT);
    open_with(seat, tasks, 0, COUNT);
    EXPECT(seat, moot_task_info(seat->m, tasks[COUNT - 1], &info), MOOT_OK);
    CHECK(seat, info.state == MOOT_TASK_DONE);
    for (uint64_t i = 0; i < COUNT; i++) {
        more[i] = spawn_mark(seat, 100 + i / 2);
    }
    CHECK(seat, collects(seat, COUNT));
    EXPECT(seat, moot_task_info(seat->m, more[0], &info), MOOT_OK);
    CHECK(seat, info.state == MOOT_TASK_WAITING);
    meet(seat);
    CHECK(seat, notes[100].runs == 0);
    meet(seat);
    close_queue(seat);
    wait_for(seat, tasks, COUNT);
    wait_for(seat, more, COUNT);
    CHECK(seat, ran(0, COUNT) && ran(100, COUNT / 2));
}

/* Inputs that others run, of which a rank remembers little until it hears more. */
static void takes_others(struct seat *seat)
{
    moot_task inputs[SEATS_MAX] = {{0}}, sums[SEATS_MAX][3] = {{{0}}};
    moot_task_info info;
    start(seat);
    for (uint64_t row = 0; row < 2; row++) {
        for (int i = 0; i < seat->size; i++) {
            uint64_t value = 10 * row + (uint64_t)i;
            moot_task_spec spec = {.kernel = seat->kernels[SQUARE],
                                   .args = &value,
                                   .args_size = sizeof(value),
                                   .owner = MOOT_ON(i)};
            EXPECT(seat, moot_task_spawn(seat->m, &spec, &inputs[i]), MOOT_OK);
        }
        open_kind(seat, MOOT_QUEUE_BULK);
        for (int i = 0; i < seat->size; i++) {
            for (uint64_t k = 0; k < 3; k++) {
                moot_task_spec spec = {.kernel = seat->kernels[SUM],
                                       .args = &k,
                                       .args_size = sizeof(k),
                                       .inputs = &inputs[i],
                                       .input_count = 1};
                if (k > 0) {
                    spec.owner = MOOT_ON(i);
                }
                EXPECT(seat, moot_task_spawn(seat->m, &spec, &sums[i][k]), MOOT_OK);
            }
        }
        CHECK(seat, collects(seat, 3 * (uint32_t)seat->size));
        if (row == 0) {
            EXPECT(seat, moot_task_info(seat->m, sums[0][0], &info), MOOT_OK);
        }
        close_queue(seat);
        for (int i = 0; i < seat->size; i++) {
            uint64_t value = 10 * row + (uint64_t)i;
            for (uint64_t k = 0; k < 3; k++) {
                CHECK(seat, fetch_u64(seat, sums[i][k]) == value * value + k);
            }
        }
    }
    CHECK(seat, stats_of(seat).votes == 0);
}

/* --- Left open -------------------------------------------------------------------- */

static void *leave_open(void *argument)
{
    struct seat *seat = argument;
    moot_task first = spawn_mark(seat, 100), tasks[70];
    wait_for(seat, &first, 1);
    open_with(seat, tasks, 0, 70);
    return NULL;
}

static void left_open(struct seat *seat)
{
    start(seat);
    EXPECT(seat, moot_park(seat->m), MOOT_OK);
    pthread_t thread;
    pthread_create(&thread, NULL, leave_open, seat);
    pthread_join(thread, NULL);
    EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    moot_task last = spawn_mark(seat, 69), tasks[70];
    wait_for(seat, &last, 1);
    open_with(seat, tasks, 70, 10);
}

static void left_open_after(struct seat *seat)
{
    closes_well(seat);
    CHECK(seat, ran(0, 80));
}

/* Nothing waits in it. */
static void left_open_empty(struct seat *seat)
{
    unsigned char large[400] = {0};
    moot_task_spec spec = {
        .kernel = seat->kernels[EMPTY], .args = large, .args_size = sizeof(large)};
    moot_task task;
    start(seat);
    open_kind(seat, MOOT_QUEUE_BULK);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    CHECK(seat, collects(seat, 0));
}

/* --- Queues of one's own ---------------------------------------------------------- */

struct adder {
    struct seat *seat;
    moot_task made[2];
};

static int adder_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                        void *state)
{
    struct adder *adder = state;
    adder->made[0] = spawn_mark(adder->seat, 1);
    return moot_queue_up(queue, tickets, count);
}

static int adder_close(moot_queue *queue, void *state)
{
    (void)queue;
    struct adder *adder = state;
    adder->made[1] = spawn_mark(adder->seat, 2);
    return MOOT_OK;
}

/* What its functions spawn the bulk queue around it collects. */
static void around_a_custom_one(struct seat *seat)
{
    struct adder adder = {.seat = seat};
    moot_queue_custom custom = {
        .name = "adder", .submit = adder_submit, .close = adder_close, .user = &adder};
    start(seat);
    open_kind(seat, MOOT_QUEUE_BULK);
    EXPECT(seat, moot_queue_open_custom(seat->m, &custom), MOOT_OK);
    moot_task task = spawn_mark(seat, 0);
    close_queue(seat);
    nap_ms(2);
    meet(seat);
    CHECK(seat, now == 0);
    meet(seat);
    close_queue(seat);
    wait_for(seat, &task, 1);
    wait_for(seat, adder.made, 2);
    CHECK(seat, ran(0, 3) && stats_of(seat).votes == 0);
}

/* --- Children --------------------------------------------------------------------- */

static atomic_bool told_child[SEATS_MAX], child_taken[SEATS_MAX];
static moot_task child_of[SEATS_MAX];

/* Spawns a child, waits for it, and ends when the program has taken its handle. */
static int parent(moot_call *call, void *user)
{
    struct seat *seat = user;
    uint64_t value = 6;
    moot_task child;
    int error = moot_call_spawn(call,
                                &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                                  .args = &value,
                                                  .args_size = sizeof(value)},
                                &child);
    if (error == MOOT_OK) {
        error = moot_call_wait(call, child, NULL, NULL);
    }
    child_of[seat->rank] = child;
    told_child[seat->rank] = true;
    while (!child_taken[seat->rank]) {
        nap_ms(1);
    }
    if (moot_call_output(call, 0) == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    return error;
}

/* A running task's child is an input, though its handle ends with the task. */
static void takes_a_child(struct seat *seat)
{
    told_child[seat->rank] = child_taken[seat->rank] = false;
    start(seat);
    uint64_t number = (uint64_t)seat->rank;
    moot_task task, sums[2];
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[PARENT],
                                             .args = &number,
                                             .args_size = sizeof(number),
                                             .owner = MOOT_ON(seat->rank)},
                           &task),
           MOOT_OK);
    while (!told_child[seat->rank]) {
        nap_ms(1);
    }
    open_kind(seat, MOOT_QUEUE_BULK);
    sums[0] = spawn_sum(seat, &child_of[seat->rank], 1, number); /* another on each */
    CHECK(seat, collects(seat, 1));
    child_taken[seat->rank] = true;
    nap_ms(20);
    CHECK(seat, collects(seat, 0));
    sums[1] = spawn_sum(seat, NULL, 0, number);
    close_queue(seat);
    wait_for(seat, sums, 2);
    CHECK(seat, fetch_u64(seat, sums[0]) == 36 + number);
    wait_for(seat, &task, 1);
}

/* --- The list --------------------------------------------------------------------- */

static void region_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, MARK, "mark", mark, 0);
    moot_kernel kernel = {.name = "parent", .fn = parent, .user = seat};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[PARENT]),
           MOOT_OK);
}

static const struct scene scenes[] = {
    REGIONS(not_before, .knobs = NULL),
    REGIONS(not_before, .knobs = with_workers),
    REGIONS(while_peers_work, .knobs = with_workers),
    REGIONS(in_a_row, .knobs = NULL),
    REGIONS(in_the_midst, .knobs = NULL),
    REGIONS(looked_at_here, .knobs = NULL),
    REGIONS(looked_at_elsewhere, .knobs = NULL),
    REGIONS(given_up, .knobs = NULL),
    REGIONS(in_a_scope_or_group, .knobs = NULL),
    REGIONS(equal_specs, .knobs = NULL),
    REGIONS(anew, .knobs = NULL),
    REGIONS(takes_others, .knobs = NULL),
    {"left_open", left_open, region_kernels, NULL, left_open_after, {0}},
    REGIONS(left_open_empty, .knobs = NULL),
    REGIONS(takes_a_child, .knobs = with_workers),
    REGIONS(around_a_custom_one, .knobs = NULL),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
