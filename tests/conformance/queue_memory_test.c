/* queue_memory_test.c - a thread that finds no memory in a task queue is told so, and
 * the queue goes on: what was spawned keeps its order, what was not does not run, and
 * nothing stays in memory.
 *
 * Each allocation fails in turn that the queues of a program make, that of a kernel's
 * inherited ones included, alone or with all behind it, until there is none left.
 */
#include "tests/conformance/failing_thread.h"
#include "tests/conformance/handles_in_use.h"
#include "tests/conformance/queue_marks.h"

enum { TASKS = 8, AGAIN = TASKS };

/* One call after the other, between fail_from() and fail_no_more(). */
struct attempt {
    moot_task tasks[TASKS + 1]; /* zero: not spawned */
    bool chained;               /* in one chain, from the first on */
    bool lost;                  /* a queue could not pass on what it had */
};

static atomic_int nth, overs;
static atomic_bool over;           /* the moot, for want of memory */
static atomic_bool for_good, left; /* an allocation that has not failed yet */

static void fail_from(long which)
{
    made = 0;
    fail_all = for_good;
    fail_at = which;
}

static void fail_no_more(void)
{
    left |= fail_at > 0 && made >= fail_at;
    fail_at = 0;
}

/* MOOT_OK, or there was no memory. */
static bool goes_well(struct seat *seat, int code)
{
    CHECK(seat, code == MOOT_OK || code == MOOT_ERR_NO_MEMORY);
    CHECK(seat, code == MOOT_OK || for_good || told(seat, "memory"));
    return code == MOOT_OK;
}

static void spawn(struct seat *seat, struct attempt *attempt, int which, int number)
{
    const uint64_t args[2] = {(uint64_t)number, 1};
    moot_task_spec spec = {
        .kernel = seat->kernels[MARK], .args = args, .args_size = sizeof(args)};
    moot_task task = {0};
    if (goes_well(seat, moot_task_spawn(seat->m, &spec, &task))) {
        attempt->tasks[which] = task;
    } else {
        CHECK(seat, task.id == 0);
    }
}

static void close_one(struct seat *seat, struct attempt *attempt, bool is_open)
{
    if (is_open && !goes_well(seat, moot_queue_close(seat->m))) {
        attempt->lost = true;
    }
}

static int keep(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                void *state)
{
    (void)queue;
    (void)tickets;
    (void)count;
    (void)state;
    return MOOT_OK;
}

/* S(0 1 B(2 3) 4 C(5 1) 6) 7, C being a queue of the program's own. */
static struct attempt spawn_all(struct seat *seat, int first)
{
    static const moot_queue_custom keeper = {.name = "keeper", .submit = keep};
    struct attempt attempt = {.lost = false};
    moot *m = seat->m;
    attempt.chained = goes_well(seat, moot_queue_open(m, MOOT_QUEUE_SEQUENTIAL));
    spawn(seat, &attempt, 0, first);
    spawn(seat, &attempt, 1, first + 1);
    bool bulk = goes_well(seat, moot_queue_open(m, MOOT_QUEUE_BULK));
    spawn(seat, &attempt, 2, first + 2);
    spawn(seat, &attempt, 3, first + 3);
    close_one(seat, &attempt, bulk);
    spawn(seat, &attempt, 4, first + 4);
    bool custom = goes_well(seat, moot_queue_open_custom(m, &keeper));
    spawn(seat, &attempt, 5, first + 5);
    if (attempt.tasks[1].id != 0) {
        spawn(seat, &attempt, AGAIN, first + 1);
    }
    close_one(seat, &attempt, custom);
    spawn(seat, &attempt, 6, first + 6);
    close_one(seat, &attempt, attempt.chained);
    spawn(seat, &attempt, 7, first + 7);
    return attempt;
}

/* A task that its queue lost is held by nobody, and fails what comes after it.  One
 * that found no place among those that are ready fails, too. */
static void check_tasks(struct seat *seat, const struct attempt *attempt, int first)
{
    int last = -1;
    for (int i = 0; i < TASKS; i++) {
        if (attempt->tasks[i].id == 0) {
            CHECK(seat, notes[first + i].runs == 0);
            continue;
        }
        int code = moot_task_wait(seat->m, attempt->tasks[i], MOOT_FOREVER);
        if (code == MOOT_ERR_TASK_FAILED && !for_good) {
            CHECK(seat, attempt->lost || told(seat, "no memory"));
        } else if (code != MOOT_OK && code != MOOT_ERR_TASK_FAILED) {
            EXPECT(seat, code, attempt->lost ? MOOT_ERR_NOT_HELD : MOOT_OK);
        }
        CHECK(seat, notes[first + i].runs == (code == MOOT_OK));
        bool beside = i == 3 || i == 7; /* of the one before, or of all */
        if (code == MOOT_OK && attempt->chained && last >= 0 && !beside) {
            CHECK(seat, before(first + last, first + i));
        }
        if (code == MOOT_OK) {
            last = i;
        }
    }
}

static void release_all(struct seat *seat, const struct attempt *attempt)
{
    for (int i = 0; i <= AGAIN; i++) {
        if (attempt->tasks[i].id != 0) {
            EXPECT(seat, moot_task_release(seat->m, attempt->tasks[i]), MOOT_OK);
        }
    }
}

/* Where the core itself had none the moot is over, as its next step finds. */
static bool is_over(struct seat *seat)
{
    const struct core_event turn = {.type = CORE_EV_TICK};
    engine_lock(seat->m);
    (void)engine_step(seat->m, &turn);
    bool ended = seat->m->engine.fatal != 0;
    engine_unlock(seat->m);
    return ended;
}

static void in_a_program(struct seat *seat)
{
    begin(seat);
    const uint32_t handles = handles_in_use(seat);
    fail_from(nth);
    const struct attempt attempt = spawn_all(seat, 0);
    fail_no_more();
    EXPECT(seat, moot_queue_close(seat->m), MOOT_ERR_STATE);
    over = is_over(seat);
    overs += over;
    if (over) {
        CHECK(seat, seat->m->engine.fatal == MOOT_ERR_NO_MEMORY);
        release_all(seat, &attempt);
        CHECK(seat, handles_in_use(seat) == handles);
        return;
    }
    check_tasks(seat, &attempt, 0);
    release_all(seat, &attempt);
    CHECK(seat, handles_in_use(seat) == handles);
    const struct attempt next = spawn_all(seat, TASKS);
    CHECK(seat, !next.lost && next.chained);
    check_tasks(seat, &next, TASKS);
    CHECK(seat, ran(TASKS, TASKS));
    release_all(seat, &next);
    CHECK(seat, handles_in_use(seat) == handles);
}

/* Spawns two children, and each of them again if there was no memory. */
static int parent(moot_call *call, void *user)
{
    struct seat *seat = user;
    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t args[2] = {i, 20};
        const moot_task_spec spec = {
            .kernel = seat->kernels[MARK], .args = args, .args_size = sizeof(args)};
        moot_task child;
        if (i == 0) {
            fail_from(nth);
        }
        int code = moot_call_spawn(call, &spec, &child);
        fail_no_more();
        CHECK(seat, code == MOOT_OK || (i == 0 && code == MOOT_ERR_NO_MEMORY));
        if (code != MOOT_OK) {
            EXPECT(seat, moot_call_spawn(call, &spec, &child), MOOT_OK);
        }
    }
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* S(B(S(parent))): its children are a chain all the same. */
static void in_a_kernel_that_inherits(struct seat *seat)
{
    begin(seat);
    const moot_task_spec spec = {.kernel = seat->kernels[ANCESTOR]};
    moot_task task = {0};
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_SEQUENTIAL), MOOT_OK);
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_BULK), MOOT_OK);
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_SEQUENTIAL), MOOT_OK);
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    for (int i = 0; i < 3; i++) {
        close_queue(seat);
    }
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    CHECK(seat, ran(0, 2) && before(0, 1));
}

static void closes_as_it_ended(struct seat *seat)
{
    EXPECT(seat, seat->close_code, over ? MOOT_ERR_NO_MEMORY : MOOT_OK);
}

static void memory_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, MARK, "mark", mark, 0);
    moot_kernel ancestor = {
        .name = "ancestor", .version = 1, .fn = parent, .user = seat};
    EXPECT(seat, moot_kernel_register(seat->m, &ancestor, &seat->kernels[ANCESTOR]),
           MOOT_OK);
}

/* How many allocations failed, one after the other, that the moot survived. */
static int play_until_none_fails(const struct scene *scene)
{
    scene_name = scene->name;
    nth = overs = 0;
    over = false;
    do {
        nth++;
        left = false;
        play(scene, 1, scene->knobs);
    } while (left);
    printf("%s: %d allocations failed, %s; %d ended the moot\n", scene->name,
           (int)nth - 1, for_good ? "with all behind them" : "alone", (int)overs);
    return nth - 1 - overs;
}

int main(void)
{
    static const struct scene scenes[] = {{"in_a_program",
                                           in_a_program,
                                           memory_kernels,
                                           with_workers,
                                           closes_as_it_ended,
                                           {0}},
                                          {"in_a_kernel_that_inherits",
                                           in_a_kernel_that_inherits,
                                           memory_kernels,
                                           with_workers,
                                           closes_well,
                                           {0}}};
    alarm(300);
    for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
        for (int all = 0; all < 2; all++) {
            for_good = all;
            failures += play_until_none_fails(&scenes[i]) < 4;
        }
    }
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
