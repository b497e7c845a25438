/* divergence_test.c - ranks of one process that spawn different tasks, tasks that
 * spawn tasks, ranks that are busy elsewhere, and the modes strict and trust.
 */
#include "tests/conformance/kernels.h"

/* --- Diverging ------------------------------------------------------------------ */

/* Each task is spawned by one rank only, whoever its chair is. */
static void one_rank_each(struct seat *seat)
{
    if (seat->rank == 0) {
        square_runs = 0;
    }
    meet(seat);
    for (uint64_t i = 0; i < 40; i++) {
        if (i % (uint64_t)seat->size == (uint64_t)seat->rank) {
            moot_task task = spawn_u64(seat, SQUARE, 500 + i);
            CHECK(seat, fetch_u64(seat, task) == (500 + i) * (500 + i));
        }
    }
}

static void one_rank_each_after(struct seat *seat)
{
    closes_well(seat);
    meet(seat);
    CHECK(seat, square_runs == 40);
}

/* All wait for the results of tasks that one of them skips. */
static void all_but_one(struct seat *seat)
{
    moot_task tasks[30];
    for (uint64_t i = 0; i < 30; i++) {
        uint64_t x = 700 + i;
        moot_hash hash;
        moot_task_spec spec = {
            .kernel = seat->kernels[SQUARE], .args = &x, .args_size = sizeof(x)};
        EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
        bool skips = seat->size > 1 && i % (uint64_t)seat->size == (uint64_t)seat->rank;
        if (skips) {
            EXPECT(seat, moot_task_find(seat->m, &hash, &tasks[i]), MOOT_OK);
        } else {
            EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[i]), MOOT_OK);
        }
    }
    for (uint64_t i = 0; i < 30; i++) {
        CHECK(seat, fetch_u64(seat, tasks[i]) == (700 + i) * (700 + i));
    }
}

static void conditional(struct seat *seat)
{
    uint64_t x = 77;
    if (seat->rank == seat->size - 1) {
        for (; x < 97; x++) {
            moot_task task;
            EXPECT(seat,
                   moot_task_spawn(seat->m,
                                   &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                                     .args = &x,
                                                     .args_size = sizeof(x),
                                                     .flags = MOOT_TASK_CONDITIONAL},
                                   &task),
                   MOOT_OK);
            CHECK(seat, fetch_u64(seat, task) == x * x);
        }
    } else {
        nap_ms(30); /* neither blocked nor closed: the hint alone decides */
    }
}

static void declines(struct seat *seat)
{
    uint64_t x = 12345;
    moot_task_spec spec = {
        .kernel = seat->kernels[SQUARE], .args = &x, .args_size = sizeof(x)};
    moot_hash hash;
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
    if (seat->rank == 0) {
        moot_task task;
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
        EXPECT(seat, moot_decline(seat->m, &hash), MOOT_ERR_STATE);
        CHECK(seat, fetch_u64(seat, task) == x * x);
    } else {
        moot_task task = {99};
        EXPECT(seat, moot_decline(seat->m, &hash), MOOT_OK);
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_ERR_DECLINED);
        CHECK(seat, task.id == 99);
    }
    meet(seat);
}

/* A wait for a task that nobody holds, and never will, ends with a name. */
static void nobody_holds(struct seat *seat)
{
    moot_hash hash = {{1, 2, 3}};
    moot_task task;
    EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    moot_task_info info;
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    CHECK(seat, info.state == MOOT_TASK_FAILED && info.status == MOOT_ERR_NOT_HELD);
    CHECK(seat, info.story[0] != '\0' && strstr(info.story, "forgotten") == NULL);
}

/* Nor does who holds it, but is no candidate, wait for ever while the others close; the
 * story names who is one. */
static void nobody_who_may_own_it_holds(struct seat *seat)
{
    if (seat->rank == 0) {
        moot_task task = {0};
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                                 .owner = MOOT_ON(1)},
                               &task),
               MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
        CHECK(seat, told(seat, "; only rank 1 may own it, "));
    }
}

/* The story of a task that all have released, and that is long forgotten, says so; that
 * nobody holds it is then decided. */
static void asks_too_late(struct seat *seat)
{
    enum { COUNT = 8192 }; /* with small_window */
    moot_hash first = hash_u64(seat, SQUARE, 0);
    moot_task task = {0};
    for (uint64_t i = 0; i < COUNT; i++) {
        if (i > 0) {
            EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
        }
        task = spawn_u64(seat, SQUARE, i);
    }
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_find(seat->m, &first, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    CHECK(seat,
          strstr(moot_last_error(seat->m), "forgotten here (MOOT_WINDOW)") != NULL);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    meet(seat);
    task = spawn_u64(seat, SQUARE, 0);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
}

/* A task that the program has named by its spec is told with its kernel and label. */
static void nobody_holds_what_is_named(struct seat *seat)
{
    const uint64_t x = 4343;
    moot_task task;
    EXPECT(seat,
           moot_task_name(seat->m,
                          &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                            .args = &x,
                                            .args_size = sizeof(x),
                                            .label = "wanted"},
                          &task),
           MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    CHECK(seat, told(seat, " of kernel 'square' 'wanted': no rank holds the task"));
    moot_task_info info;
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    CHECK(seat, strcmp(info.kernel, "square") == 0);
    CHECK(seat, strcmp(info.label, "wanted") == 0);
}

/* Rank 0 was told that nobody holds it; who spawns it since is told the same, and when
 * that was decided.  The task next to it is another. */
static void nobody_held_it_then(struct seat *seat)
{
    const uint64_t x = 4242;
    moot_hash hash = hash_u64(seat, SQUARE, x);
    moot_task task;
    if (seat->rank == 0) {
        EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    task = spawn_u64(seat, SQUARE, x);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    CHECK(seat, told(seat, ", decided by rank ") && told(seat, " in view 1"));
    CHECK(seat, told(seat, "spawned it too late, and nobody runs it any more: give "));
    moot_task_info info;
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    CHECK(seat, info.state == MOOT_TASK_FAILED && info.status == MOOT_ERR_NOT_HELD);
    CHECK(seat, fetch_u64(seat, spawn_u64(seat, SQUARE, x + 1)) == (x + 1) * (x + 1));
}

/* --- Room ----------------------------------------------------------------------- */

enum { AHEAD = 4096, ROOM = 512 }; /* with small_window */

/* So many of this rank's own are let go, one after the other. */
static void spawn_ahead(struct seat *seat, uint64_t first, atomic_uint *count)
{
    moot_task task = {0};
    for (uint64_t i = 0; i < AHEAD; i++) {
        if (i > 0) {
            EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
        }
        task = spawn_u64(seat, SQUARE, first + i);
        atomic_fetch_add(count, 1);
    }
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
}

/* What others never spawn is never dropped, so waiting for room is useless. */
static void spawns_what_nobody_else_does(struct seat *seat)
{
    atomic_uint count = 0;
    spawn_ahead(seat, 100000 * ((uint64_t)seat->rank + 1), &count);
}

/* Rank 1 is in its own code, which looks like a rank that has no turn: the others wait
 * for room as long as that may be so, but not for ever. */
static void goes_on_alone(struct seat *seat)
{
    static atomic_uint ahead;
    if (seat->rank == 0) {
        atomic_store(&ahead, 0);
    }
    meet(seat);
    unsigned before = 1, now = 0;
    while (seat->rank == 1 && (now == 0 || now != before)) {
        before = now;
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        now = atomic_load(&ahead);
    }
    CHECK(seat, now < 2 * ROOM);
    while (seat->rank == 1 && atomic_load(&ahead) < AHEAD) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    atomic_uint mine = 0;
    spawn_ahead(seat, 0, seat->rank == 0 ? &ahead : &mine);
}

/* A kernel runs on rank 0's worker until its program opens the gate, which it does
 * behind the spawns.  All these come after the kernel, so that none is dropped before:
 * no rank may stay in them for ever. */
static void opens_the_gate_at_last(struct seat *seat)
{
    if (seat->rank == 0) {
        gate_open = false;
    }
    meet(seat);
    moot_task standing = {0}, task = {0};
    EXPECT(seat,
           moot_task_spawn(
               seat->m,
               &(moot_task_spec){.kernel = seat->kernels[GATE], .owner = MOOT_ON(0)},
               &standing),
           MOOT_OK);
    while (gates_standing == 0) {
        nap_ms(1); /* outside of the library, that the worker takes it */
    }
    double begun_s = now_s();
    for (uint64_t i = 0; i < AHEAD; i++) {
        if (i > 0) {
            EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
        }
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                                 .args = &i,
                                                 .args_size = sizeof(i),
                                                 .after = &standing,
                                                 .after_count = 1},
                               &task),
               MOOT_OK);
    }
    CHECK(seat, seat->rank != 0 || now_s() - begun_s > 10); /* it was waited for */
    meet(seat);
    gate_open = true;
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
}

static void once_tasks(struct seat *seat)
{
    if (seat->rank == 0) {
        once_runs = 0;
    }
    meet(seat);
    for (int i = 0; i < 20; i++) {
        bool mine = i % 2 == 0 || i % seat->size == seat->rank;
        if (!mine) {
            continue;
        }
        moot_task task;
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[ONCE],
                                                 .key = &i,
                                                 .key_size = sizeof(i)},
                               &task),
               MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    }
}

static void once_after(struct seat *seat)
{
    closes_well(seat);
    meet(seat);
    CHECK(seat, once_runs == 20);
}

/* --- Inside tasks --------------------------------------------------------------- */

static void nested(struct seat *seat)
{
    if (seat->rank == 0) {
        tree_runs = 0;
    }
    meet(seat);
    moot_task root = spawn_u64(seat, TREE, 6);
    CHECK(seat, fetch_u64(seat, root) == 127);
    meet(seat);
    CHECK(seat, tree_runs == 127);
    CHECK(seat, stats_of(seat).tasks_run > 0); /* specs travel: every rank takes part */
}

static void deep(struct seat *seat)
{
    enum { DEPTH = 9 };
    moot_task root = spawn_u64(seat, TREE, DEPTH);
    CHECK(seat, fetch_u64(seat, root) == (1u << (DEPTH + 1)) - 1);
}

/* --- Chairs elsewhere ----------------------------------------------------------- */

/* A chair that sits in foreign code, and said so, yields. */
static void parks(struct seat *seat)
{
    if (seat->rank == 0) {
        for (uint64_t i = 0; i < 10; i++) {
            moot_task task = spawn_u64(seat, SQUARE, 333 + i);
            CHECK(seat, fetch_u64(seat, task) == (333 + i) * (333 + i));
        }
        meet(seat);
        return;
    }
    EXPECT(seat, moot_park(seat->m), MOOT_OK);
    EXPECT(seat, moot_park(seat->m), MOOT_ERR_STATE);
    meet(seat); /* the lock that rank 0 reaches only with its results */
    EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
}

static atomic_int in_need; /* so many ranks */

/* Results that others need of rank 0 meanwhile, by hint, come though it does not look:
 * rank 0 stays away until they have it. */
static void need_of_busy(struct seat *seat, uint64_t first)
{
    for (uint64_t i = 0; i < 30; i++) {
        uint64_t x = first + i * 100 + (uint64_t)seat->rank;
        moot_task task;
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                                 .args = &x,
                                                 .args_size = sizeof(x),
                                                 .flags = MOOT_TASK_CONDITIONAL},
                               &task),
               MOOT_OK);
        CHECK(seat, fetch_u64(seat, task) == x * x);
    }
}

/* Rank 0 sits in its own code, a barrier's, while it chairs what others need. */
static void busy_chair(struct seat *seat)
{
    meet(seat);
    if (seat->rank != 0) {
        need_of_busy(seat, 60000);
    }
    meet(seat);
}

/* A task that rank `rank` runs, behind another. */
static moot_task spawn_behind(struct seat *seat, int kernel, int rank, uint64_t ms,
                              const moot_task *after)
{
    moot_task task;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[kernel],
                                             .args = &ms,
                                             .args_size = sizeof(ms),
                                             .after = after,
                                             .after_count = after != NULL,
                                             .owner = MOOT_ON(rank)},
                           &task),
           MOOT_OK);
    return task;
}

/* The same where rank 0 had waited for so long that its helper slept, too: it goes out
 * of its wait into its own code, and later straight into a kernel. */
static void busy_after_long_wait(struct seat *seat)
{
    enum { WAIT_MS = 100 };
    moot_task late = spawn_behind(seat, SLOW, 1, WAIT_MS, NULL);
    if (seat->rank == 0) {
        gate_open = false;
        in_need = seat->size - 1;
    }
    EXPECT(seat, moot_task_wait(seat->m, late, MOOT_FOREVER), MOOT_OK);
    if (seat->rank != 0) {
        need_of_busy(seat, 100000);
    }
    meet(seat);
    late = spawn_behind(seat, SLOW, 1, WAIT_MS + 1, NULL);
    moot_task busy = spawn_behind(seat, GATE, 0, 0, &late);
    EXPECT(seat, moot_task_wait(seat->m, seat->rank == 0 ? busy : late, MOOT_FOREVER),
           MOOT_OK);
    if (seat->rank != 0) {
        need_of_busy(seat, 110000);
        gate_open = --in_need == 0;
    }
    meet(seat);
}

/* --- Modes ---------------------------------------------------------------------- */

static void strict(struct seat *seat)
{
    moot_task task = {0};
    uint64_t x = 0;
    moot_task_spec spec = {.kernel = seat->kernels[SQUARE],
                           .args = &x,
                           .args_size = sizeof(x),
                           .owner = MOOT_ON(0)};
    int code = MOOT_OK;
    double begin = now_s();
    while (code == MOOT_OK && now_s() - begin < 20) {
        x += x == 4 && seat->rank == 1 ? 100 : 1;
        code = moot_task_spawn(seat->m, &spec, &task);
        if (code == MOOT_OK) {
            code = moot_task_wait(seat->m, task, MOOT_FOREVER);
        }
    }
    CHECK(seat, code == MOOT_ERR_DIVERGED);
    CHECK(seat, told(seat, "_test.c:"));
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_ERR_DIVERGED);
    while (!reported(seat, "diverged") && now_s() - begin < 20) {
        nap_ms(1); /* the helper may be about to call the hook */
    }
    CHECK(seat, reported(seat, "diverged"));
    CHECK(seat, reported(seat, "The first difference is spawn number 5 of lane 0"));
    CHECK(seat, reported(seat, "\n! "));
    CHECK(seat, reported(seat, " of kernel 'square'"));
}

static void strict_after(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_ERR_DIVERGED);
}

/* The baseline: nobody votes, so a wait stalls; the report says why, and the job ends.
 */
static void trust(struct seat *seat)
{
    if (seat->rank != 0) {
        return;
    }
    int code = MOOT_OK;
    for (uint64_t i = 0; i < 12 && code == MOOT_OK; i++) {
        moot_task task = spawn_u64(seat, SQUARE, 4000 + i);
        code = moot_task_wait(seat->m, task, MOOT_FOREVER);
    }
    CHECK(seat, code == MOOT_ERR_STALLED);
    CHECK(seat, reported(seat, "MOOT_DIVERGENCE=repair would vote"));
    CHECK(seat, reported(seat, "kernels.h:"));
    CHECK(seat, reported(seat, "in moot_close() for"));
}

static void trust_after(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_ERR_STALLED);
}

/* --- All of them ---------------------------------------------------------------- */

static const char *const with_workers[] = {"MOOT_THREADS=3", NULL};
static const char *const with_caller[] = {"MOOT_PROGRESS=caller", NULL};
static const char *const with_strict[] = {"MOOT_DIVERGENCE=strict", NULL};
static const char *const with_trust[] = {"MOOT_DIVERGENCE=trust", "MOOT_STALL=300ms",
                                         "MOOT_STALL_ABORT=1", NULL};

static const char *const small_window[] = {"MOOT_WINDOW=512", NULL};

static const char *const small_window_worker[] = {"MOOT_WINDOW=512", "MOOT_THREADS=1",
                                                  NULL};

static const struct scene scenes[] = {
    {"one_rank_each", one_rank_each, kernels, NULL, one_rank_each_after, {0}},
    {"one_rank_each with workers",
     one_rank_each,
     kernels,
     with_workers,
     one_rank_each_after,
     {0}},
    SCENE(all_but_one, .knobs = NULL),
    {"all_but_one without a helper",
     all_but_one,
     kernels,
     with_caller,
     closes_well,
     {0}},
    SCENE(conditional, .knobs = NULL),
    SCENE(declines, .knobs = NULL),
    SCENE(nobody_holds, .knobs = NULL),
    SCENE(nobody_holds_what_is_named, .knobs = NULL),
    SCENE(nobody_held_it_then, .knobs = NULL),
    SCENE(nobody_who_may_own_it_holds, .sizes = {2, 3}),
    SCENE(asks_too_late, .knobs = small_window),
    SCENE(spawns_what_nobody_else_does, .knobs = small_window),
    {"goes_on_alone", goes_on_alone, kernels, small_window, closes_well, {2, 3}},
    SCENE(opens_the_gate_at_last, .knobs = small_window_worker, .sizes = {2}),
    {"once_tasks", once_tasks, kernels, NULL, once_after, {0}},
    SCENE(nested, .knobs = NULL),
    {"nested with workers", nested, kernels, with_workers, closes_well, {0}},
    SCENE(deep, .sizes = {1, 2}),
    SCENE(parks, .knobs = NULL),
    SCENE(busy_chair, .sizes = {2, 3}),
    SCENE(busy_after_long_wait, .sizes = {2, 3}),
    {"strict", strict, kernels, with_strict, strict_after, {2, 3, 4}},
    {"trust", trust, kernels, with_trust, trust_after, {2, 3}},
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
