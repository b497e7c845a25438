/* unnamed_test.c - tasks that wait for their hash look like tasks that have one.
 *
 * Each scene spawns up to three plain tasks while the loop stands still, so that they
 * wait (node/spawn/spawn_batch.h), and then does what a program, another thread or a
 * peer can do before they are registered.
 */
#include "consensus/core_entry.h"
#include "node/tasks/task.h"
#include "tests/conformance/unnamed.h"

/* --- When they are registered ---------------------------------------------------- */

/* Any call of the library but a spawn and a release.  Where a scope has ended, or a
 * task was declined, all are registered at once: these come last. */
enum call {
    ON_INFO,
    ON_WAIT,
    ON_WAIT_ANY,
    ON_FETCH,
    ON_THEN,
    ON_DATA,
    ON_CANCEL,
    STATS,
    HASH,
    NO_SCOPE,
    GROUP,
    PARK,
    QUEUE,
    KERNEL,
    FIND,
    SCOPE,
    DECLINE,
    CALLS
};

/* Whether this was one of those that take it. */
static bool call_on(struct seat *seat, enum call which, moot_task task)
{
    moot *m = seat->m;
    moot_task_spec spec = {.kernel = seat->kernels[EMPTY]};
    moot_task_info info = {.size = 0};
    moot_data data;
    size_t number;
    const void *bytes;
    if (which == ON_INFO) {
        EXPECT(seat, moot_task_info(m, task, &info), MOOT_OK);
    } else if (which == ON_WAIT) {
        CHECK(seat, moot_task_wait(m, task, 0) != MOOT_ERR_STALE);
    } else if (which == ON_WAIT_ANY) {
        CHECK(seat, moot_task_wait_any(m, &task, 1, 0, &number) != MOOT_ERR_STALE);
    } else if (which == ON_FETCH) {
        EXPECT(seat, moot_task_fetch(m, task, MOOT_FOREVER, &bytes, &number), MOOT_OK);
    } else if (which == ON_THEN) {
        EXPECT(seat, moot_task_then(m, task, &spec, &task), MOOT_OK);
    } else if (which == ON_DATA) {
        EXPECT(seat, moot_data_new(m, task, &data), MOOT_OK);
    } else if (which == ON_CANCEL) {
        EXPECT(seat, moot_task_cancel(m, task), MOOT_OK);
    }
    return which <= ON_CANCEL;
}

static void call_beside(struct seat *seat, enum call which)
{
    moot *m = seat->m;
    const moot_hash hash = {{1, 2, 3}};
    moot_hash made;
    moot_stats stats;
    moot_task task;
    moot_kernel kernel = {.name = "later", .version = 1, .fn = empty};
    moot_task_spec spec = {.kernel = seat->kernels[EMPTY]};
    if (which == STATS) {
        EXPECT(seat, moot_stats_get(m, &stats), MOOT_OK);
    } else if (which == HASH) {
        EXPECT(seat, moot_spec_hash(m, &spec, &made), MOOT_OK);
    } else if (which == NO_SCOPE) {
        EXPECT(seat, moot_scope_close(m), MOOT_ERR_STATE);
    } else if (which == GROUP) {
        EXPECT(seat, moot_group_open(m), MOOT_OK);
    } else if (which == PARK) {
        EXPECT(seat, moot_park(m), MOOT_OK);
    } else if (which == QUEUE) {
        EXPECT(seat, moot_queue_open(m, MOOT_QUEUE_BULK), MOOT_OK);
    } else if (which == KERNEL) {
        EXPECT(seat, moot_kernel_register(m, &kernel, &spec.kernel), MOOT_OK);
    } else if (which == FIND) {
        EXPECT(seat, moot_task_find(m, &hash, &task), MOOT_OK);
    } else if (which == SCOPE) {
        EXPECT(seat, moot_scope_open(m, "scope"), MOOT_OK);
    } else if (which == DECLINE) {
        EXPECT(seat, moot_decline(m, &hash), MOOT_OK);
    }
}

static void end_call(struct seat *seat, enum call which)
{
    if (which == SCOPE) {
        EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    }
    if (which == GROUP) {
        EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    }
    if (which == PARK) {
        EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    }
    if (which == QUEUE) {
        EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    }
}

/* The last of as many as are hashed together, an input of another, and any other call.
 */
static void settled_in_time(struct seat *seat)
{
    begin(seat);
    const unsigned together =
        identity_together() > 0 ? (unsigned)identity_together() : 1;
    moot_task tasks[IDENTITY_TOGETHER_MAX + 1];
    for (unsigned i = 0; i <= together; i++) {
        tasks[i] = spawn_u64(seat, SQUARE, 10 + i);
        WAIT_UNNAMED(seat, still_unnamed(i + 1));
    }
    spawn_sum(seat, &tasks[0], 1, 0); /* which has its name already */
    WAIT_UNNAMED(seat, 2);
    spawn_sum(seat, &tasks[together], 1, 1);
    WAIT_UNNAMED(seat, 1);
    const uint64_t last = 10 + together;
    CHECK(seat, fetch_u64(seat, tasks[together]) == last * last);
    for (enum call which = 0; which < CALLS; which++) {
        begin(seat);
        moot_task task = spawn_u64(seat, SQUARE, 100 + (uint64_t)which);
        WAIT_UNNAMED(seat, 1);
        if (!call_on(seat, which, task)) {
            call_beside(seat, which);
        }
        WAIT_UNNAMED(seat, 0);
        end_call(seat, which);
    }
    begin(seat);
    spawn_u64(seat, SQUARE, 99);
    WAIT_UNNAMED(seat, 0);
}

/* Spawns alone turn the loop, and run what is there. */
static void nothing_but_spawns(struct seat *seat)
{
    for (uint64_t i = 0; i < 5000; i++) {
        release(seat, spawn_u64(seat, SQUARE, i));
    }
    CHECK(seat, stats_of(seat).tasks_run > 500 / (uint64_t)seat->size);
}

/* Nor does the core hear of anything else before. */
static void before_any_event(struct seat *seat)
{
    begin(seat);
    spawn_u64(seat, SQUARE, 1);
    WAIT_UNNAMED(seat, 1);
    pthread_mutex_lock(&seat->m->bond->lock);
    EXPECT(seat, engine_step(seat->m, &(struct core_event){.type = CORE_EV_TICK}),
           MOOT_OK);
    pthread_mutex_unlock(&seat->m->bond->lock);
    WAIT_UNNAMED(seat, 0);
    hold_still(seat);
    const moot_task task = spawn_u64(seat, SQUARE, 2);
    const moot_hash hash = hash_of(seat, task);
    hold_still(seat);
    spawn_u64(seat, SQUARE, 3);
    WAIT_UNNAMED(seat, 1);
    pthread_mutex_lock(&seat->m->bond->lock);
    engine_later(seat->m, &(struct later){.type = CORE_EV_LANE,
                                          .hash = hash,
                                          .lane = 0,
                                          .state = CORE_LANE_RUNNING});
    pthread_mutex_unlock(&seat->m->bond->lock);
    WAIT_UNNAMED(seat, 0);
}

/* --- In which order -------------------------------------------------------------- */

/* The ways in which a task may not be plain; those before LABELLED are. */
enum kind {
    BARE,
    OWNED,
    NEWEST,
    OLD_ONES,
    IN_GROUP,
    LABELLED,
    KEYED,
    KEY_EMPTY, /* which is not the same as none */
    KEY_ONCE,
    URGENT,
    PATIENT,
    AFTER,
    CONDITIONAL,
    LARGE,
    NINE,
    BY_HASH,
    AMONG,
    PORTABLE,
    IN_SCOPE,
    IN_QUEUE,
    KINDS
};
enum { MIXED = 400 };
static uint64_t places[SEATS_MAX][MIXED];

struct draft {
    moot_task_spec spec;
    uint64_t args[25];
    moot_task nine[9]; /* the newest first */
    moot_hash hash;
    int ends[2];
};

static void draw_plain(struct seat *seat, enum kind kind, uint64_t number,
                       struct draft *draft)
{
    moot_task_spec *spec = &draft->spec;
    spec->kernel = seat->kernels[SUM];
    spec->args = draft->args;
    spec->args_size = sizeof(number);
    draft->args[0] = number;
    if (kind == OWNED) {
        spec->owner = MOOT_ON((int)(number % (uint64_t)seat->size));
    }
    if (kind == NEWEST || kind == OLD_ONES || kind == NINE) {
        spec->inputs = draft->nine + (kind == OLD_ONES ? 6 : 0);
        spec->input_count = kind == NEWEST ? 1 : kind == OLD_ONES ? 3 : 9;
    }
}

static void draw_rest(struct seat *seat, enum kind kind, struct draft *draft)
{
    moot_task_spec *spec = &draft->spec;
    spec->label = kind == LABELLED ? "labelled" : NULL;
    spec->priority = kind == URGENT ? 1 : kind == PATIENT ? -1 : 0;
    spec->flags = kind == CONDITIONAL ? MOOT_TASK_CONDITIONAL : 0;
    if (kind == KEYED || kind == KEY_EMPTY || kind == KEY_ONCE) {
        spec->key = kind == KEY_ONCE ? (const void *)draft->args : "key";
        spec->key_size = kind == KEY_ONCE ? 8 : kind == KEYED ? 3 : 0;
    }
    if (kind == KEY_ONCE || kind == PORTABLE) {
        spec->kernel = seat->kernels[kind == KEY_ONCE ? ONCE : RELAY + 1];
    }
    if (kind == AFTER) {
        spec->after = draft->nine;
        spec->after_count = 2;
    }
    if (kind == LARGE) {
        spec->args_size = sizeof(draft->args);
    }
    if (kind == BY_HASH) {
        draft->hash = hash_of(seat, draft->nine[0]);
        spec->input_hashes = &draft->hash;
        spec->input_hash_count = 1;
    }
    if (kind == AMONG) {
        draft->ends[1] = seat->size - 1;
        spec->candidates = (moot_ranks){draft->ends, seat->size > 1 ? 2 : 1};
    }
}

static void open_around(struct seat *seat, enum kind kind, uint64_t number)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "mixed %d", (int)number);
    if (kind == IN_SCOPE) {
        EXPECT(seat, moot_scope_open(seat->m, name), MOOT_OK);
    }
    if (kind == IN_GROUP) {
        EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    }
    if (kind == IN_QUEUE) {
        EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_BULK), MOOT_OK);
    }
}

static void close_around(struct seat *seat, enum kind kind)
{
    if (kind == IN_SCOPE) {
        EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    }
    if (kind == IN_GROUP) {
        EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    }
    if (kind == IN_QUEUE) {
        EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    }
}

/* `before`: behind the newest task; a bare one needs none. */
static moot_task spawn_kind(struct seat *seat, enum kind kind, uint64_t number,
                            const moot_task *before)
{
    struct draft draft = {.ends = {0}};
    moot_task task = {0};
    for (int i = 0; kind != BARE && i < 9; i++) {
        draft.nine[i] = before[-1 - i];
    }
    draw_plain(seat, kind, number, &draft);
    draw_rest(seat, kind, &draft);
    open_around(seat, kind, number);
    EXPECT(seat, moot_task_spawn(seat->m, &draft.spec, &task), MOOT_OK);
    if (kind >= LABELLED) {
        WAIT_UNNAMED(seat, 0);
    }
    close_around(seat, kind);
    return task;
}

static void and_portable(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, RELAY + 1, "portable sum", sum, MOOT_KERNEL_PORTABLE);
}

/* What the numbers draw is the same on all ranks; when tasks are settled is not. */
static void in_the_order_of_the_spawns(struct seat *seat)
{
    begin(seat);
    moot_task tasks[9 + MIXED];
    unsigned draw = 7, other = (unsigned)seat->rank + 1;
    for (int i = 0; i < 9 + MIXED; i++) {
        enum kind kind = BARE;
        if (i >= 9) {
            draw = draw * 1103515245 + 12345;
            kind = (draw >> 18) % ((draw >> 16) % 2 ? LABELLED : KINDS);
        }
        if (kind == IN_SCOPE || i == MIXED) { /* once one has ended none waits */
            kind = i >= MIXED ? IN_SCOPE : BARE;
        }
        /* A once task has no bytes to add. */
        tasks[i] =
            spawn_kind(seat, kind == KEY_ONCE ? BARE : kind, (uint64_t)i, tasks + i);
        if (kind == KEY_ONCE) {
            spawn_kind(seat, kind, (uint64_t)i, tasks + i);
        }
        other = other * 1103515245 + 12345;
        if ((other >> 16) % 7 == 0) {
            hold_still(seat);
        }
    }
    for (int i = 0; i < MIXED; i++) {
        places[seat->rank][i] = place_of(seat, tasks[9 + i]);
    }
    for (int i = 1; i < MIXED; i++) {
        CHECK(seat, places[seat->rank][i] > places[seat->rank][i - 1]);
    }
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, 9 + MIXED, MOOT_FOREVER), MOOT_OK);
    meet_serving(seat);
    CHECK(seat, memcmp(places[0], places[seat->rank], sizeof(places[0])) == 0);
    CHECK(seat, stats_of(seat).votes - stats_of(seat).votes_by[2] == 0);
    CHECK(seat, stats_of(seat).violations == 0);
}

static void refused(struct seat *seat)
{
    static const int zero;
    begin(seat);
    moot_task good = spawn_u64(seat, SQUARE, 2), none = {0}, stale = good;
    release(seat, spawn_u64(seat, SQUARE, 2));
    const moot_kernel_id kernel = seat->kernels[SUM];
    const moot_kernel_id unknown = {kernel.id + KERNELS_MAX};
    stale.id += UINT64_C(1) << 28;
    const struct {
        moot_task_spec spec;
        int code;
    } rows[] = {
        {{.kernel = kernel, .args_size = 8}, MOOT_ERR_INVALID},
        {{.kernel = kernel, .input_count = 1}, MOOT_ERR_INVALID},
        {{.kernel = kernel, .key_size = 1}, MOOT_ERR_INVALID},
        {{.kernel = kernel, .input_hash_count = 1}, MOOT_ERR_INVALID},
        {{.kernel = kernel, .after_count = 1}, MOOT_ERR_INVALID},
        {{.kernel = kernel, .candidates = {NULL, 1}}, MOOT_ERR_INVALID},
        {{.kernel = kernel, .candidates = {&zero, 0}}, MOOT_ERR_INVALID},
        {{.kernel = kernel, .flags = 64}, MOOT_ERR_INVALID},
        {{.kernel = kernel, .owner = MOOT_ON(seat->size)}, MOOT_ERR_INVALID},
        {{.kernel = kernel, .owner = MOOT_ON(64)}, MOOT_ERR_INVALID},
        {{.kernel = kernel, .owner = MOOT_ON(-7)}, MOOT_ERR_INVALID},
        {{.kernel = kernel, .inputs = &none, .input_count = 1}, MOOT_ERR_STALE},
        {{.kernel = kernel, .inputs = &stale, .input_count = 1}, MOOT_ERR_STALE},
        {{.kernel = unknown}, MOOT_ERR_UNKNOWN_KERNEL},
        {{.kernel = {0}}, MOOT_ERR_UNKNOWN_KERNEL},
        {{.kernel = seat->kernels[ONCE]}, MOOT_ERR_NO_KEY},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hold_still(seat);
        moot_task task = spawn_u64(seat, SQUARE, 10 + i);
        WAIT_UNNAMED(seat, 1);
        EXPECT(seat, moot_task_spawn(seat->m, &rows[i].spec, &none), rows[i].code);
        CHECK(seat, none.id == 0);
        CHECK(seat, fetch_u64(seat, task) == (10 + i) * (10 + i));
    }
    CHECK(seat, fetch_u64(seat, good) == 4);
}

/* --- Stubs ----------------------------------------------------------------------- */

static bool see_all(void *context, void *entry)
{
    (void)context, (void)entry;
    return true;
}

/* What the core takes for its first input, once it has looked at all. */
static moot_hash input_of(struct seat *seat, const moot_hash *hash)
{
    engine_lock(seat->m);
    core_each_entry(seat->m->core, see_all, NULL);
    moot_hash input = *(const moot_hash *)core_entry_input(
        task_entry(core_user(seat->m->core, hash)), 0);
    engine_unlock(seat->m);
    return input;
}

/* Its own task makes a record of a stub, whose memory another rank's task takes, and
 * the next names it again. */
static void a_stub_of_several(struct seat *seat)
{
    begin(seat);
    for (uint64_t i = 0; i < 8; i++) {
        for (int on = 0; on < seat->size; on++) {
            const uint64_t number = 100 * i + 10 * (uint64_t)on;
            moot_task from = spawn_on(seat, on + 1, NULL, 0, number), tasks[4];
            hold_still(seat);
            tasks[0] = spawn_on(seat, on, &from, 1, 1000);
            tasks[1] = spawn_on(seat, on + 1, NULL, 0, number + 1);
            tasks[2] = spawn_on(seat, on + 1, &from, 1, 2000);
            tasks[3] = spawn_on(seat, on, &from, 1, 3000);
            WAIT_UNNAMED(seat, still_unnamed(4));
            const moot_hash hash = hash_of(seat, tasks[2]);
            const moot_hash wanted = hash_of(seat, from), found = input_of(seat, &hash);
            CHECK(seat, memcmp(&found, &wanted, sizeof(found)) == 0);
            release(seat, from);
            for (uint64_t k = 0; k < 4; k++) {
                CHECK(seat,
                      fetch_u64(seat, tasks[k]) == number + (k == 1   ? 1
                                                             : k == 0 ? 1000
                                                                      : 1000 * k));
                release(seat, tasks[k]);
            }
        }
    }
}

/* Tasks of others', one of which each rank takes into a task of its own: that makes it
 * a record while those behind it wait for their names. */
static void stubs_that_become_records(struct seat *seat)
{
    begin(seat);
    uint64_t votes = stats_of(seat).votes;
    for (uint64_t i = 0; i < 200; i++) {
        int on = (int)i % seat->size;
        moot_task from[4], takers[4];
        for (uint64_t k = 0; k < 4; k++) {
            from[k] = spawn_on(seat, on + 1, NULL, 0, 100 * i + k);
        }
        hold_still(seat);
        const moot_task both[] = {from[0], from[1], from[0]};
        for (int k = 0; k < 4; k++) {
            takers[k] = spawn_on(seat, on + k % 2 + (k == 2), both, 3,
                                 100 * i + 50 + (uint64_t)k);
        }
        WAIT_UNNAMED(seat, still_unnamed(4));
        hold_still(seat);
        takers[0] = spawn_on(seat, on, &from[2], 1, 100 * i + 60);
        takers[1] = spawn_on(seat, on + 1, &from[2], 1, 100 * i + 61);
        takers[2] = spawn_on(seat, on + 2, &from[2], 1, 100 * i + 62);
        if (i % 3 == 0) {
            EXPECT(seat, moot_task_wait(seat->m, from[2], MOOT_FOREVER), MOOT_OK);
        }
        release(seat, from[2]);
        for (int k = 0; k < 3; k++) {
            CHECK(seat, fetch_u64(seat, takers[k]) == 200 * i + 62 + (uint64_t)k);
        }
        for (int k = 0; k < 4; k++) {
            if (k != 2) {
                release(seat, from[k]);
            }
            release(seat, takers[k]);
        }
    }
    CHECK(seat, stats_of(seat).votes == votes);
}

/* A task that is known by its hash alone gets the priority of what takes it, and its
 * spawn hands that on to what it takes itself: twice the same stub, and another. */
static void raised_before_its_spawn(struct seat *seat)
{
    begin(seat);
    for (int on = 0; on < seat->size; on++) {
        const uint64_t number = 7000 + 10 * (uint64_t)on;
        const moot_task first = spawn_on(seat, on + 1, NULL, 0, number);
        const moot_task inputs[] = {first, first,
                                    spawn_on(seat, on + 1, NULL, 0, number + 1)};
        moot_task_spec spec = {.kernel = seat->kernels[SUM],
                               .args = &number,
                               .args_size = sizeof(number),
                               .inputs = inputs,
                               .input_count = 3,
                               .owner = MOOT_ON(on)};
        moot_task tasks[4];
        moot_hash hash;
        EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
        EXPECT(seat, moot_task_find(seat->m, &hash, &tasks[0]), MOOT_OK);
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[SUM],
                                                 .inputs = tasks,
                                                 .input_count = 1,
                                                 .owner = MOOT_ON(on),
                                                 .priority = 2},
                               &tasks[1]),
               MOOT_OK);
        hold_still(seat);
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[2]), MOOT_OK);
        tasks[3] = spawn_on(seat, on, inputs, 1, 1);
        CHECK(seat, fetch_u64(seat, tasks[1]) == 4 * number + 1);
        CHECK(seat, fetch_u64(seat, tasks[3]) == number + 1);
        for (int k = 0; k < 4; k++) {
            release(seat, tasks[k]);
        }
        release(seat, inputs[0]);
        release(seat, inputs[2]);
    }
}

/* --- All of them ----------------------------------------------------------------- */

static const char *const by_caller[] = {"MOOT_PROGRESS=caller", NULL};

static const struct scene scenes[] = {
    SCENE(settled_in_time, .knobs = by_caller),
    SCENE(before_any_event, .knobs = by_caller),
    SCENE(nothing_but_spawns, .knobs = by_caller),
    {"in_the_order_of_the_spawns",
     in_the_order_of_the_spawns,
     and_portable,
     by_caller,
     closes_well,
     {0}},
    SCENE(refused, .knobs = by_caller),
    SCENE(a_stub_of_several, .knobs = by_caller, .sizes = {2, 3, 4}),
    SCENE(stubs_that_become_records, .knobs = by_caller, .sizes = {2, 3, 4}),
    SCENE(raised_before_its_spawn, .knobs = by_caller, .sizes = {2, 3, 4}),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
