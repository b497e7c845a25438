/* unnamed_test.c - tasks that wait for their hash look like tasks that have one.
 *
 * Each scene spawns up to three plain tasks while the loop stands still, so that they
 * wait (node/unnamed.h), and then does what a program, another thread or a peer can do
 * before they are registered.
 */
#include "unnamed.h"

/* --- When they are registered ------------------------------------------------------
 */

enum { CALLS = 17 };

/* Any call of the library but a spawn and a release.  Where a scope has ended, or a
 * task was declined, all are registered at once: these come last. */
static void call(struct seat *seat, int which, moot_task task)
{
    moot *m = seat->m;
    const moot_hash hash = {{1, 2, 3}};
    moot_task_info info = {.size = 0};
    moot_stats stats;
    moot_data data;
    size_t number;
    const void *bytes;
    moot_kernel kernel = {.name = "later", .version = 1, .fn = empty};
    moot_task_spec spec = {.kernel = seat->kernels[EMPTY]};
    switch (which) {
    case 0:
        EXPECT(seat, moot_stats_get(m, &stats), MOOT_OK);
        break;
    case 1:
        EXPECT(seat, moot_task_info(m, task, &info), MOOT_OK);
        break;
    case 2:
        CHECK(seat, moot_task_wait(m, task, 0) != MOOT_ERR_STALE);
        break;
    case 3:
        CHECK(seat, moot_task_wait_any(m, &task, 1, 0, &number) != MOOT_ERR_STALE);
        break;
    case 4:
        EXPECT(seat, moot_task_fetch(m, task, MOOT_FOREVER, &bytes, &number), MOOT_OK);
        break;
    case 5:
        EXPECT(seat, moot_spec_hash(m, &spec, &info.hash), MOOT_OK);
        break;
    case 16:
        CHECK(seat, moot_decline(m, &hash) == MOOT_OK);
        break;
    case 15:
        EXPECT(seat, moot_scope_open(m, "scope"), MOOT_OK);
        break;
    case 8:
        EXPECT(seat, moot_scope_close(m), MOOT_ERR_STATE);
        break;
    case 9:
        EXPECT(seat, moot_group_open(m), MOOT_OK);
        break;
    case 10:
        EXPECT(seat, moot_park(m), MOOT_OK);
        break;
    case 11:
        EXPECT(seat, moot_queue_open(m, MOOT_QUEUE_BULK), MOOT_OK);
        break;
    case 12:
        EXPECT(seat, moot_kernel_register(m, &kernel, &spec.kernel), MOOT_OK);
        break;
    case 13:
        EXPECT(seat, moot_task_then(m, task, &spec, &task), MOOT_OK);
        break;
    case 14:
        EXPECT(seat, moot_task_find(m, &hash, &task), MOOT_OK);
        break;
    case 7:
        EXPECT(seat, moot_data_new(m, task, &data), MOOT_OK);
        break;
    case 6:
        EXPECT(seat, moot_task_cancel(m, task), MOOT_OK);
        break;
    }
}

static void end_call(struct seat *seat, int which)
{
    if (which == 15)
        EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    if (which == 9)
        EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    if (which == 10)
        EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    if (which == 11)
        EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
}

/* The fourth of them, an input of another, and any other call. */
static void settled_in_time(struct seat *seat)
{
    begin(seat);
    moot_task tasks[5];
    for (uint64_t i = 0; i < 5; i++) {
        tasks[i] = spawn_u64(seat, SQUARE, 10 + i);
        WAIT_UNNAMED(seat, (i + 1) % 4);
    }
    spawn_sum(seat, &tasks[2], 1, 0); /* which has its name already */
    WAIT_UNNAMED(seat, 2);
    spawn_sum(seat, &tasks[4], 1, 1);
    WAIT_UNNAMED(seat, 1);
    CHECK(seat, fetch_u64(seat, tasks[4]) == 14 * 14);
    for (int which = 0; which < CALLS; which++) {
        begin(seat);
        moot_task task = spawn_u64(seat, SQUARE, 100 + (uint64_t)which);
        WAIT_UNNAMED(seat, 1);
        call(seat, which, task);
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
    for (uint64_t i = 0; i < 5000; i++)
        release(seat, spawn_u64(seat, SQUARE, i));
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

/* --- In which order -----------------------------------------------------------------
 */

enum { PLAIN_KINDS = 6, KINDS = 22, MIXED = 400 };
static uint64_t places[SEATS_MAX][MIXED];

/* One of the ways in which a task may not be plain; those below PLAIN_KINDS are. */
static moot_task spawn_kind(struct seat *seat, int kind, uint64_t number,
                            const moot_task *before)
{
    static char large[200];
    const int all[] = {0, seat->size - 1};
    moot_task nine[9];
    moot_hash hash;
    moot_task task = {0};
    for (int i = 0; kind != 0 && i < 9; i++)
        nine[i] = before[-1 - i];
    char args[sizeof large], name[32];
    memcpy(args, large, sizeof args);
    memcpy(args, &number, sizeof number);
    moot_task_spec spec = {
        .kernel = seat->kernels[SUM], .args = args, .args_size = sizeof number};
    switch (kind) {
    case 1:
        spec.owner = MOOT_ON((int)(number % (uint64_t)seat->size));
        break;
    case 2: /* the newest */
        spec.inputs = nine;
        spec.input_count = 1;
        break;
    case 3: /* old ones */
        spec.inputs = nine + 6;
        spec.input_count = 3;
        break;
    case 6:
        spec.label = "labelled";
        break;
    case 7:
        spec.key = "key";
        spec.key_size = 3;
        break;
    case 8:
        spec.kernel = seat->kernels[ONCE];
        spec.key = &number;
        spec.key_size = sizeof number;
        break;
    case 9:
        spec.priority = 1;
        break;
    case 10:
        spec.priority = -1;
        break;
    case 11:
        spec.after = nine;
        spec.after_count = 2;
        break;
    case 12:
        spec.flags = MOOT_TASK_CONDITIONAL;
        break;
    case 13:
        spec.args_size = sizeof args;
        break;
    case 14:
        spec.inputs = nine;
        spec.input_count = 9;
        break;
    case 15:
        hash = hash_of(seat, before[-1]);
        spec.input_hashes = &hash;
        spec.input_hash_count = 1;
        break;
    case 16:
        spec.candidates = (moot_ranks){all, seat->size > 1 ? 2 : 1};
        break;
    case 17:
        (void)snprintf(name, sizeof name, "mixed %d", (int)number);
        EXPECT(seat, moot_scope_open(seat->m, name), MOOT_OK);
        break;
    case 18:
        EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
        break;
    case 19:
        EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_BULK), MOOT_OK);
        break;
    case 20: /* is not the same as none */
        spec.key = "";
        break;
    case 21: /* portable */
        spec.kernel = seat->kernels[RELAY + 1];
        break;
    default:
        break;
    }
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    if (kind >= PLAIN_KINDS)
        WAIT_UNNAMED(seat, 0);
    if (kind == 17)
        EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    if (kind == 18)
        EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    if (kind == 19)
        EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
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
        int kind = 0;
        if (i >= 9) {
            draw = draw * 1103515245 + 12345;
            kind = (draw >> 16) % 2 ? (int)((draw >> 18) % 4)
                                    : (int)((draw >> 18) % KINDS);
            /* Once a scope has ended all are registered at once: the first is late. */
            kind = i == MIXED ? 17 : kind == 17 && i < MIXED ? 0 : kind;
        }
        /* A once task has no bytes to add. */
        tasks[i] = spawn_kind(seat, kind == 8 ? 0 : kind, (uint64_t)i, tasks + i);
        if (kind == 8)
            spawn_kind(seat, kind, (uint64_t)i, tasks + i);
        other = other * 1103515245 + 12345;
        if ((other >> 16) % 7 == 0)
            hold_still(seat);
    }
    for (int i = 0; i < MIXED; i++)
        places[seat->rank][i] = place_of(seat, tasks[9 + i]);
    for (int i = 1; i < MIXED; i++)
        CHECK(seat, places[seat->rank][i] > places[seat->rank][i - 1]);
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, 9 + MIXED, MOOT_FOREVER), MOOT_OK);
    meet_serving(seat);
    CHECK(seat, memcmp(places[0], places[seat->rank], sizeof places[0]) == 0);
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
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hold_still(seat);
        moot_task task = spawn_u64(seat, SQUARE, 10 + i);
        WAIT_UNNAMED(seat, 1);
        EXPECT(seat, moot_task_spawn(seat->m, &rows[i].spec, &none), rows[i].code);
        CHECK(seat, none.id == 0);
        CHECK(seat, fetch_u64(seat, task) == (10 + i) * (10 + i));
    }
    CHECK(seat, fetch_u64(seat, good) == 4);
}

/* --- Stubs --------------------------------------------------------------------------
 */

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
            WAIT_UNNAMED(seat, 0);
            const moot_hash hash = hash_of(seat, tasks[2]);
            const moot_hash wanted = hash_of(seat, from), found = input_of(seat, &hash);
            CHECK(seat, memcmp(&found, &wanted, sizeof found) == 0);
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
        for (uint64_t k = 0; k < 4; k++)
            from[k] = spawn_on(seat, on + 1, NULL, 0, 100 * i + k);
        hold_still(seat);
        const moot_task both[] = {from[0], from[1], from[0]};
        for (int k = 0; k < 4; k++)
            takers[k] = spawn_on(seat, on + k % 2 + (k == 2), both, 3,
                                 100 * i + 50 + (uint64_t)k);
        WAIT_UNNAMED(seat, 0);
        hold_still(seat);
        takers[0] = spawn_on(seat, on, &from[2], 1, 100 * i + 60);
        takers[1] = spawn_on(seat, on + 1, &from[2], 1, 100 * i + 61);
        takers[2] = spawn_on(seat, on + 2, &from[2], 1, 100 * i + 62);
        if (i % 3 == 0)
            EXPECT(seat, moot_task_wait(seat->m, from[2], MOOT_FOREVER), MOOT_OK);
        release(seat, from[2]);
        for (int k = 0; k < 3; k++)
            CHECK(seat, fetch_u64(seat, takers[k]) == 200 * i + 62 + (uint64_t)k);
        for (int k = 0; k < 4; k++) {
            if (k != 2)
                release(seat, from[k]);
            release(seat, takers[k]);
        }
    }
    CHECK(seat, stats_of(seat).votes == votes);
}

/* --- All of them --------------------------------------------------------------------
 */

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
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
