/* flow_test.c - what a program may rely on that waits for some, continues, and groups.
 */
#include "tests/conformance/kernels.h"

enum { BURST = RELAY + 1, SORROW, KEEPER, LATE, MOTHER };

/* --- Waiting for some ----------------------------------------------------------- */

/* Those that have ended are named, all of them and no others, in order. */
static void some_of_many(struct seat *seat)
{
    enum { COUNT = 40 };
    moot_task tasks[COUNT];
    bool seen[COUNT] = {false};
    size_t indices[COUNT], done = 0, left = COUNT;
    if (seat->rank == 0) {
        gate_open = false;
    }
    meet(seat);
    for (uint64_t i = 0; i < COUNT; i++) {
        tasks[i] = spawn_u64(seat, SQUARE, i);
    }
    while (left > 0) {
        EXPECT(seat,
               moot_task_wait_some(seat->m, tasks, COUNT, MOOT_FOREVER, indices, &done),
               MOOT_OK);
        CHECK(seat, done > 0 && done <= COUNT);
        left = COUNT;
        for (size_t i = 0; i < done; i++) {
            CHECK(seat, indices[i] < COUNT && (i == 0 || indices[i] > indices[i - 1]));
            seen[indices[i]] = true;
            moot_task_info info;
            EXPECT(seat, moot_task_info(seat->m, tasks[indices[i]], &info), MOOT_OK);
            CHECK(seat, info.state == MOOT_TASK_DONE);
        }
        for (size_t i = 0; i < COUNT; i++) {
            left -= seen[i];
        }
        if (left > 0) { /* what is left ends when it is waited for */
            EXPECT(seat, moot_task_wait(seat->m, tasks[COUNT - 1], MOOT_FOREVER),
                   MOOT_OK);
        }
        for (size_t i = 0; left > 0 && i < COUNT; i++) {
            if (!seen[i]) {
                EXPECT(seat, moot_task_wait(seat->m, tasks[i], MOOT_FOREVER), MOOT_OK);
            }
        }
    }
}

/* The gate is shut, so only what does not need it can have ended; and of the ended the
 * first that failed gives the code. */
static void some_and_not_others(struct seat *seat)
{
    if (seat->rank == 0) {
        gate_open = false;
    }
    meet(seat);
    moot_task_spec spec = {.kernel = seat->kernels[GATE], .owner = MOOT_ON(0)};
    moot_task tasks[3];
    size_t indices[3] = {7, 7, 7}, done = 7;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[0]), MOOT_OK);
    if (seat->rank != 0) {
        EXPECT(seat,
               moot_task_wait_some(seat->m, tasks, 1, MOOT_MILLISECONDS(5), indices,
                                   &done),
               MOOT_ERR_TIMEOUT);
        CHECK(seat, indices[0] == 7 && done == 7);
    }
    spec = (moot_task_spec){.kernel = seat->kernels[FAIL],
                            .owner = MOOT_ON(seat->size - 1)};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[1]), MOOT_OK);
    spec.kernel = seat->kernels[EMPTY];
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[2]), MOOT_OK);
    meet(seat);
    gate_open = seat->size == 1;
    if (seat->rank != 0 || seat->size == 1) {
        EXPECT(seat, moot_task_wait(seat->m, tasks[1], MOOT_FOREVER),
               MOOT_ERR_TASK_FAILED);
        EXPECT(seat, moot_task_wait(seat->m, tasks[2], MOOT_FOREVER), MOOT_OK);
        EXPECT(seat,
               moot_task_wait_some(seat->m, tasks, 3, MOOT_FOREVER, indices, &done),
               MOOT_ERR_TASK_FAILED);
        CHECK(seat, told(seat, "the pump is dry"));
        if (seat->size > 1) {
            CHECK(seat, done == 2 && indices[0] == 1 && indices[1] == 2);
        }
    }
    meet(seat);
    gate_open = true;
    EXPECT(seat, moot_task_wait(seat->m, tasks[0], MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_wait_some(seat->m, tasks, 0, 0, indices, &done),
           MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_wait_some(seat->m, tasks, 1, 0, NULL, &done),
           MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_wait_some(seat->m, tasks, 1, -1, indices, &done),
           MOOT_ERR_INVALID);
}

/* --- Continuations -------------------------------------------------------------- */

static moot_task then_u64(struct seat *seat, moot_task before, uint64_t more,
                          const moot_task *inputs, size_t count)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_then(seat->m, before,
                          &(moot_task_spec){.kernel = seat->kernels[SUM],
                                            .args = &more,
                                            .args_size = sizeof(more),
                                            .inputs = inputs,
                                            .input_count = count},
                          &task),
           MOOT_OK);
    return task;
}

static void continuations(struct seat *seat)
{
    enum { LENGTH = 50, WIDTH = 20 };
    moot_task at = spawn_u64(seat, SQUARE, 3), many[WIDTH];
    for (uint64_t i = 1; i <= LENGTH; i++) {
        moot_task next = then_u64(seat, at, i, NULL, 0);
        EXPECT(seat, moot_task_release(seat->m, at), MOOT_OK); /* it may go at once */
        at = next;
    }
    CHECK(seat, fetch_u64(seat, at) == 9 + LENGTH * (LENGTH + 1) / 2);
    for (uint64_t i = 0; i < WIDTH; i++) {
        many[i] = spawn_u64(seat, SQUARE, i);
    }
    CHECK(seat, fetch_u64(seat, then_u64(seat, at, 0, many, WIDTH)) ==
                    9 + LENGTH * (LENGTH + 1) / 2 + 2470);
    moot_task by_hand[] = {many[2], many[3]}, same[2];
    same[0] = then_u64(seat, many[2], 1, &many[3], 1);
    same[1] = spawn_sum(seat, by_hand, 2, 1);
    moot_task_info one, other;
    EXPECT(seat, moot_task_info(seat->m, same[0], &one), MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, same[1], &other), MOOT_OK);
    CHECK(seat, memcmp(&one.hash, &other.hash, sizeof(one.hash)) == 0);
    CHECK(seat, strstr(one.site, "flow_test.c:") != NULL);
}

static void continuations_that_cannot(struct seat *seat)
{
    moot_task bad = {0}, after, gone = spawn_u64(seat, SQUARE, 1);
    moot_task_spec spec = {.kernel = seat->kernels[FAIL]};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &bad), MOOT_OK);
    after = then_u64(seat, then_u64(seat, bad, 1, NULL, 0), 2, NULL, 0);
    EXPECT(seat, moot_task_wait(seat->m, after, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the pump is dry"));
    EXPECT(seat, moot_task_release(seat->m, gone), MOOT_OK);
    EXPECT(seat, moot_task_then(seat->m, gone, &spec, &after), MOOT_ERR_STALE);
    spec.input_count = 1;
    EXPECT(seat, moot_task_then(seat->m, bad, &spec, &after), MOOT_ERR_INVALID);
    static const moot_task full[4096];
    spec.inputs = full;
    spec.input_count = 4096;
    EXPECT(seat, moot_task_then(seat->m, bad, &spec, &after), MOOT_ERR_LIMIT);
    EXPECT(seat, moot_task_then(seat->m, bad, NULL, &after), MOOT_ERR_INVALID);
}

/* --- Groups --------------------------------------------------------------------- */

struct burst {
    uint64_t depth, salt;
    uint64_t waits; /* for the first of its children */
};

static atomic_int bursts;

/* Spawns three like itself, one level down, and returns before they have run; the
 * children of one depth are the later the deeper. */
static int burst(moot_call *call, void *user)
{
    const struct seat *seat = user;
    const struct burst *burst = moot_call_args(call, NULL);
    moot_task child, first = {0};
    int error = MOOT_OK;
    nap_ms(1);
    for (uint64_t i = 0; error == MOOT_OK && burst->depth > 0 && i < 3; i++) {
        struct burst args = {burst->depth - 1, i, burst->waits};
        moot_task_spec spec = {
            .kernel = seat->kernels[BURST], .args = &args, .args_size = sizeof(args)};
        error = moot_call_spawn(call, &spec, &child);
        first = i == 0 ? child : first;
    }
    if (error == MOOT_OK && burst->depth > 0 && burst->waits) {
        error = moot_call_wait(call, first, NULL, NULL);
    }
    bursts++;
    return error == MOOT_OK && moot_call_output(call, 0) != NULL ? MOOT_OK : error;
}

static atomic_bool late_is_over;
static atomic_bool parents_release; /* their children's handles, before they return */

static int let_go(moot_call *call, moot_task child)
{
    return parents_release ? moot_task_release(moot_call_context(call), child)
                           : MOOT_OK;
}

static int late(moot_call *call, void *user)
{
    (void)user;
    nap_ms(100);
    late_is_over = true;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* Waits for a child that leaves a late one. */
static int mother(moot_call *call, void *user)
{
    const struct seat *seat = user;
    bool grandmother = moot_call_args(call, NULL) != NULL;
    moot_task child;
    moot_task_spec spec = {.kernel = seat->kernels[grandmother ? MOTHER : LATE]};
    int error = moot_call_spawn(call, &spec, &child);
    if (error == MOOT_OK && grandmother) {
        error = moot_call_wait(call, child, NULL, NULL);
    }
    if (error == MOOT_OK) {
        error = let_go(call, child);
    }
    return error == MOOT_OK && moot_call_output(call, 0) != NULL ? MOOT_OK : error;
}

/* Leaves a child that fails; or, with an argument, waits for it and goes on. */
static int sorrow(moot_call *call, void *user)
{
    const struct seat *seat = user;
    moot_task child;
    moot_task_spec spec = {.kernel = seat->kernels[FAIL], .label = "the child"};
    int error = moot_call_spawn(call, &spec, &child);
    if (error == MOOT_OK && moot_call_args(call, NULL) != NULL) {
        (void)moot_call_wait(call, child, NULL, NULL);
    }
    if (error == MOOT_OK) {
        error = let_go(call, child);
    }
    return error == MOOT_OK && moot_call_output(call, 0) != NULL ? MOOT_OK : error;
}

static int keeper(moot_call *call, void *user)
{
    (void)user;
    int *code = moot_call_output(call, 2 * sizeof(*code));
    moot *m = moot_call_context(call);
    code[0] = moot_group_open(m);
    code[1] = moot_group_close(m, 0);
    return MOOT_OK;
}

static void group_kernels(struct seat *seat)
{
    kernels(seat);
    moot_kernel more[] = {{.name = "burst", .version = 1, .fn = burst, .user = seat},
                          {.name = "sorrow", .version = 1, .fn = sorrow, .user = seat},
                          {.name = "keeper", .version = 1, .fn = keeper},
                          {.name = "late", .version = 1, .fn = late},
                          {.name = "mother", .version = 1, .fn = mother, .user = seat}};
    for (int i = 0; i < 5; i++) {
        EXPECT(seat, moot_kernel_register(seat->m, &more[i], &seat->kernels[BURST + i]),
               MOOT_OK);
    }
}

static void spawn_burst(struct seat *seat, struct burst args)
{
    moot_task task;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[BURST],
                                             .args = &args,
                                             .args_size = sizeof(args)},
                           &task),
           MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK); /* the group has its own */
}

/* All generations are over when the close returns, wherever they ran, and whether their
 * parents waited for them or not. */
static void groups_of_generations(struct seat *seat)
{
    enum { DEPTH = 3, NODES = 1 + 3 + 9 + 27, COUNT = 4 };
    for (uint64_t waits = 0; waits < 2; waits++) {
        meet(seat);
        bursts = 0;
        meet(seat);
        EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
        for (uint64_t i = 0; i < COUNT; i++) {
            spawn_burst(seat, (struct burst){DEPTH, 100 + i, waits});
        }
        EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
        CHECK(seat, bursts == COUNT * NODES);
    }
    moot_stats stats = stats_of(seat);
    CHECK(seat, stats.violations == 0);
}

/* What an awaited child leaves is its parent's to tell. */
static void grandchildren(struct seat *seat)
{
    late_is_over = false;
    meet(seat);
    moot_task task;
    uint64_t grandmother = 1;
    moot_task_spec spec = {.kernel = seat->kernels[MOTHER],
                           .args = &grandmother,
                           .args_size = sizeof(grandmother),
                           .owner = MOOT_ON(1)};
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    CHECK(seat, late_is_over);
}

static moot_task spawn_plain(struct seat *seat, int kernel, const char *label,
                             uint64_t argument)
{
    moot_task task = {0};
    moot_task_spec spec = {.kernel = seat->kernels[kernel],
                           .label = label,
                           .args = argument != 0 ? &argument : NULL,
                           .args_size = argument != 0 ? sizeof(argument) : 0,
                           .key = label,
                           .key_size = strlen(label)};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    return task;
}

/* To release a child's handle is not to wait for it. */
static void children_that_were_released(struct seat *seat)
{
    parents_release = true;
    for (int generations = 1; generations <= 2; generations++) {
        late_is_over = false;
        meet(seat);
        moot_task task;
        uint64_t grandmother = 1;
        moot_task_spec spec = {.kernel = seat->kernels[MOTHER],
                               .args = generations == 2 ? &grandmother : NULL,
                               .args_size = generations == 2 ? sizeof(grandmother) : 0,
                               .owner = MOOT_ON(0)};
        EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
        EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
        CHECK(seat, late_is_over);
        meet(seat);
    }
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    spawn_plain(seat, SORROW, "a parent that copes", 1);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    spawn_plain(seat, SORROW, "a parent that does not", 0);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the pump is dry"));
    meet(seat);
    parents_release = false;
}

/* A family that does not fit one message; the last of it is the last to end. */
static int many(moot_call *call, void *user)
{
    const struct seat *seat = user;
    int error = MOOT_OK;
    for (uint64_t i = 0; error == MOOT_OK && i <= 5000; i++) {
        moot_task child;
        moot_task_spec spec = {.kernel = seat->kernels[i < 5000 ? SQUARE : LATE],
                               .priority = i < 5000 ? 0 : -1,
                               .args = &i,
                               .args_size = sizeof(i)};
        error = moot_call_spawn(call, &spec, &child);
    }
    return error == MOOT_OK && moot_call_output(call, 0) != NULL ? MOOT_OK : error;
}

static void a_large_family(struct seat *seat)
{
    moot_kernel_id id;
    EXPECT(seat,
           moot_kernel_register(
               seat->m, &(moot_kernel){.name = "many", .fn = many, .user = seat}, &id),
           MOOT_OK);
    if (seat->rank == 0) {
        square_runs = 0;
    }
    late_is_over = false;
    meet(seat);
    moot_task task;
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = id, .owner = MOOT_ON(0)}, &task),
           MOOT_OK);
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
    CHECK(seat, square_runs == 5000 && late_is_over);
}

static void group_errors(struct seat *seat)
{
    moot *m = seat->m;
    /* Those that the thread spawned come first, in their order. */
    EXPECT(seat, moot_group_open(m), MOOT_OK);
    spawn_plain(seat, SORROW, "parent", 0);
    spawn_plain(seat, EMPTY, "fine", 0);
    spawn_plain(seat, FAIL, "the first", 0);
    spawn_plain(seat, FAIL, "the second", 0);
    EXPECT(seat, moot_group_close(m, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the first") && !told(seat, "the second"));
    /* Then what they left. */
    EXPECT(seat, moot_group_open(m), MOOT_OK);
    spawn_plain(seat, SORROW, "another parent", 0);
    EXPECT(seat, moot_group_close(m, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the pump is dry"));
    /* What a parent has waited for it has dealt with. */
    EXPECT(seat, moot_group_open(m), MOOT_OK);
    spawn_plain(seat, SORROW, "a parent that copes", 1);
    EXPECT(seat, moot_group_close(m, MOOT_FOREVER), MOOT_OK);
    /* What fails inside an inner group fails the outer one as well. */
    EXPECT(seat, moot_group_open(m), MOOT_OK);
    EXPECT(seat, moot_group_open(m), MOOT_OK);
    spawn_plain(seat, FAIL, "within", 0);
    EXPECT(seat, moot_group_close(m, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    spawn_plain(seat, FAIL, "after it", 0);
    EXPECT(seat, moot_group_close(m, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "within"));
    EXPECT(seat, moot_group_close(m, MOOT_FOREVER), MOOT_ERR_STATE);
}

static void group_edges(struct seat *seat)
{
    moot *m = seat->m;
    if (seat->rank == 0) {
        gate_open = false;
    }
    meet(seat);
    EXPECT(seat, moot_group_open(m), MOOT_OK);
    moot_task_spec spec = {.kernel = seat->kernels[GATE], .owner = MOOT_ON(0)};
    moot_task task;
    const void *data = NULL;
    EXPECT(seat, moot_task_spawn(m, &spec, &task), MOOT_OK);
    if (seat->rank != 0) { /* rank 0 would be in that kernel */
        EXPECT(seat, moot_group_close(m, MOOT_MILLISECONDS(5)), MOOT_ERR_TIMEOUT);
        EXPECT(seat, moot_group_close(m, -1), MOOT_ERR_INVALID);
    }
    meet(seat);
    gate_open = true;
    EXPECT(seat, moot_group_close(m, MOOT_FOREVER), MOOT_OK); /* it was as it was */
    for (int i = 0; i < 64; i++) {
        EXPECT(seat, moot_group_open(m), MOOT_OK);
    }
    EXPECT(seat, moot_group_open(m), MOOT_ERR_LIMIT);
    for (int i = 0; i < 64; i++) {
        EXPECT(seat, moot_group_close(m, MOOT_FOREVER), MOOT_OK);
    }
    EXPECT(seat, moot_group_close(m, MOOT_FOREVER), MOOT_ERR_STATE);
    spec = (moot_task_spec){.kernel = seat->kernels[KEEPER]};
    EXPECT(seat, moot_task_spawn(m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_task_fetch(m, task, MOOT_FOREVER, &data, NULL), MOOT_OK);
    CHECK(seat, data != NULL && ((const int *)data)[0] == MOOT_ERR_STATE &&
                    ((const int *)data)[1] == MOOT_ERR_STATE);
    EXPECT(seat, moot_group_open(m), MOOT_OK); /* and left open at the close */
    spawn_u64(seat, SQUARE, 77);
}

/* A group that lives long holds what has not ended, not all that it ever saw. */
static void a_long_group(struct seat *seat)
{
    EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
    for (uint64_t i = 0; i < 6000; i += 100) {
        moot_task tasks[100];
        for (uint64_t k = 0; k < 100; k++) {
            tasks[k] = spawn_u64(seat, SQUARE, i + k);
        }
        EXPECT(seat, moot_task_wait_all(seat->m, tasks, 100, MOOT_FOREVER), MOOT_OK);
        for (uint64_t k = 0; k < 100; k++) {
            EXPECT(seat, moot_task_release(seat->m, tasks[k]), MOOT_OK);
        }
    }
    EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
}

/* Ranks need not have the same groups. */
static void groups_of_one_rank(struct seat *seat)
{
    if (seat->rank == 0) {
        bursts = 0;
    }
    meet(seat);
    if (seat->rank == 0) {
        EXPECT(seat, moot_group_open(seat->m), MOOT_OK);
        for (uint64_t i = 0; i < 5; i++) {
            spawn_burst(seat, (struct burst){2, 50 + i, 0});
        }
        EXPECT(seat, moot_group_close(seat->m, MOOT_FOREVER), MOOT_OK);
        CHECK(seat, bursts == 5 * 13);
    }
}

/* --- All of them ---------------------------------------------------------------- */

#define GROUP_SCENE(fn, ...)                                                           \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = group_kernels,                 \
        .after = closes_well, __VA_ARGS__                                              \
    }

static const struct scene scenes[] = {
    SCENE(some_of_many, .knobs = NULL),
    SCENE(some_and_not_others, .knobs = NULL),
    SCENE(continuations, .knobs = NULL),
    SCENE(continuations_that_cannot, .knobs = NULL),
    GROUP_SCENE(groups_of_generations, .knobs = NULL),
    GROUP_SCENE(grandchildren, .sizes = {2, 3, 4}),
    GROUP_SCENE(children_that_were_released, .knobs = NULL),
    GROUP_SCENE(a_large_family, .knobs = NULL),
    GROUP_SCENE(group_errors, .knobs = NULL),
    GROUP_SCENE(group_edges, .knobs = NULL),
    GROUP_SCENE(a_long_group, .knobs = NULL),
    GROUP_SCENE(groups_of_one_rank, .knobs = NULL),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
