/* steady.c - see steady.h. */
#include "tests/virtual/steady.h"

#include "consensus/core_view.h"
#include "node/context/context.h"
#include "tests/medley/medley.h"
#include "tests/virtual/world.h"

#include <stdio.h>
#include <string.h>

enum {
    TASKS = 1200,
    REACH = 8, /* fetched and released so far behind */
    SCOPE_TASKS = 150,
    BURST = 300, /* tasks that are released as soon as they are spawned */
    REMEMBERED_MAX = 400,
    HANDLES_MAX = 4 * REACH,
    SLACK_BYTES = 128 << 10
};

enum side { SIDE_CANCELLED, SIDE_AGAIN, SIDE_BURST };

struct player {
    const struct steady *steady;
    moot *m;
    uint32_t rank, wrong;
    moot_kernel_id kernel, side;
    moot_task handles[TASKS];
    moot_hash first; /* task 0 */
    size_t bytes_half;
};

static uint64_t word_of(const struct steady *steady, uint32_t task)
{
    return medley_mix(steady->seed * 31 + medley_mix(task));
}

static size_t size_of(const struct steady *steady, uint32_t task)
{
    uint64_t word = word_of(steady, task) >> 20;
    return word % 50 == 0 ? 20000 + word % 20000 : 8 + word % 200;
}

/* The i-th input of a task: one of those that stand a little before it. */
static uint32_t input_of(const struct steady *steady, uint32_t task, uint32_t i)
{
    return 1 + (uint32_t)(word_of(steady, task) >> (8 * i)) % REACH;
}

static uint64_t value_of(uint32_t task) { return medley_mix(task + UINT64_C(77)); }

static void say_wrong(struct player *player, uint32_t task, const char *what)
{
    if (player->wrong++ < 5) {
        printf("WRONG: rank %u, task %u of a long program: %s: %s\n",
               (unsigned)player->rank, (unsigned)task, what,
               moot_last_error(player->m));
    }
}

static int kernel(moot_call *call, void *user)
{
    struct player *player = user;
    uint32_t task;
    memcpy(&task, moot_call_args(call, NULL), sizeof(task));
    for (uint32_t i = 0; i < moot_call_input_count(call); i++) {
        uint64_t value = 0;
        uint32_t input = task - input_of(player->steady, task, i);
        size_t size = 0;
        const void *data = moot_call_input(call, i, &size);
        if (size == size_of(player->steady, input)) {
            memcpy(&value, data, sizeof(value));
        }
        if (value != value_of(input)) {
            say_wrong(player, task, "an input has other bytes");
        }
    }
    size_t size = size_of(player->steady, task);
    unsigned char *out = moot_call_output(call, size);
    uint64_t value = value_of(task);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(out, (int)(value & 255), size);
    memcpy(out, &value, sizeof(value));
    return MOOT_OK;
}

static int side_kernel(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 400) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void meet(struct player *player, uint32_t task)
{
    uint64_t word = word_of(player->steady, task);
    moot_task inputs[2];
    const moot_task_spec spec = {.kernel = player->kernel,
                                 .args = &task,
                                 .args_size = sizeof(task),
                                 .inputs = inputs,
                                 .input_count = task < REACH     ? 0
                                                : word >> 40 & 1 ? 2
                                                : word >> 41 & 1 ? 1
                                                                 : 0};
    for (uint32_t i = 0; i < spec.input_count; i++) {
        inputs[i] = player->handles[task - input_of(player->steady, task, i)];
    }
    bool holds = (word >> 42) % (3 * player->steady->ranks) != player->rank;
    int code = holds ? moot_task_spawn(player->m, &spec, &player->handles[task])
                     : moot_task_name(player->m, &spec, &player->handles[task]);
    if (code != MOOT_OK) {
        say_wrong(player, task, moot_err_name(code));
    }
    moot_task_info info;
    if (task == 0 && moot_task_info(player->m, player->handles[0], &info) == MOOT_OK) {
        player->first = info.hash;
    }
}

static void part(struct player *player, uint32_t task)
{
    const void *data = NULL;
    size_t size = 0;
    uint64_t value = 0;
    int code =
        moot_task_fetch(player->m, player->handles[task], MOOT_FOREVER, &data, &size);
    if (code == MOOT_OK && size == size_of(player->steady, task)) {
        memcpy(&value, data, sizeof(value));
    }
    if (code != MOOT_OK || value != value_of(task)) {
        say_wrong(player, task,
                  code != MOOT_OK ? moot_err_name(code) : "its result has other bytes");
    }
    if ((!player->steady->hoards || player->rank > 0) &&
        moot_task_release(player->m, player->handles[task]) != MOOT_OK) {
        say_wrong(player, task, "is not released");
    }
}

static moot_task spawn_kind(struct player *player, uint32_t args, uint32_t kind,
                            const moot_task *input)
{
    const uint32_t words[2] = {args, kind};
    const moot_task_spec spec = {.kernel = player->side,
                                 .args = words,
                                 .args_size = sizeof(words),
                                 .inputs = input,
                                 .input_count = input != NULL ? 1 : 0};
    moot_task task = {0};
    int code = moot_task_spawn(player->m, &spec, &task);
    if (code != MOOT_OK) {
        say_wrong(player, args, moot_err_name(code));
    }
    return task;
}

static void end_kind(struct player *player, uint32_t args, moot_task task, int other)
{
    int code = moot_task_wait(player->m, task, MOOT_FOREVER);
    if ((code != MOOT_OK && code != other) ||
        moot_task_release(player->m, task) != MOOT_OK) {
        say_wrong(player, args, moot_err_name(code));
    }
}

/* Beside the others: one that is cancelled before it may have started, one that has
 * been forgotten and is spawned again, and now and then many at once. */
static void do_beside(struct player *player, uint32_t task)
{
    if (task % 5 == 1) {
        moot_task *input = &player->handles[task > REACH ? task - REACH : task];
        (void)moot_task_wait(player->m, *input, MOOT_FOREVER);
        moot_task cancelled = spawn_kind(player, task, SIDE_CANCELLED, input);
        (void)moot_task_cancel(player->m, cancelled);
        end_kind(player, task, cancelled, MOOT_ERR_CANCELLED);
    }
    if (task % 3 == 0) {
        end_kind(player, task, spawn_kind(player, task / 60, SIDE_AGAIN, NULL),
                 MOOT_OK);
    }
    if (task % 400 == 100) {
        for (uint32_t i = 0; i < BURST; i++) {
            moot_task one = spawn_kind(player, task * 1000 + i, SIDE_BURST, NULL);
            if (moot_task_release(player->m, one) != MOOT_OK) {
                say_wrong(player, task, "one of many is not released");
            }
        }
    }
}

/* A slot is used again after many releases; a handle of before is stale for ever. */
static void try_old_handle(struct player *player, uint32_t task)
{
    uint32_t old = task > REACH
                       ? (uint32_t)(word_of(player->steady, task) >> 9) % (task - REACH)
                       : 0;
    if (task > REACH && !player->steady->hoards &&
        moot_task_wait(player->m, player->handles[old], 0) != MOOT_ERR_STALE) {
        say_wrong(player, old, "a released handle is not stale");
    }
}

static void change_scope(struct player *player, uint32_t task)
{
    char name[24];
    (void)snprintf(name, sizeof(name), "stretch%u", (unsigned)task);
    if ((task > 0 && moot_scope_close(player->m) != MOOT_OK) ||
        (task < TASKS && moot_scope_open(player->m, name) != MOOT_OK)) {
        say_wrong(player, task, "a scope does not change");
    }
}

static void check_level(struct player *player, const char *of, size_t is, size_t most)
{
    if (is > most) {
        printf("WRONG: rank %u of a long program has %zu %s, and not %zu at most\n",
               (unsigned)player->rank, is, of, most);
        player->wrong++;
    }
}

/* Pools take memory in large pieces, one of which may come at any time. */
static void look_at_memory(struct player *player, uint32_t task)
{
    const struct moot *m = player->m;
    size_t bytes = account_small(player->rank);
    if (task == TASKS / 2) {
        player->bytes_half = bytes;
        return;
    }
    check_level(player, "bytes", bytes,
                player->bytes_half + player->bytes_half / 2 + SLACK_BYTES);
    check_level(player, "tasks", core_stats(m->core)->tasks, REMEMBERED_MAX);
    check_level(player, "handles", m->tasks.handles.count - m->tasks.handles.free_count,
                HANDLES_MAX);
}

/* All ranks have closed it long ago, and have no handle of its tasks. */
static void look_at_first_scope(struct player *player)
{
    moot_task task = {0};
    if (moot_barrier(player->m) != MOOT_OK ||
        moot_task_find(player->m, &player->first, &task) != MOOT_ERR_SCOPE_CLOSED) {
        say_wrong(player, 0, "a scope has not ended");
    }
}

uint32_t steady_play(const struct steady *steady, moot *m)
{
    struct player player = {
        .steady = steady, .m = m, .rank = (uint32_t)moot_rank(m), .wrong = 0};
    const moot_kernel made = {.name = "steady", .fn = kernel, .user = &player};
    const moot_kernel side = {.name = "side", .fn = side_kernel};
    if (moot_kernel_register(m, &made, &player.kernel) != MOOT_OK ||
        moot_kernel_register(m, &side, &player.side) != MOOT_OK) {
        say_wrong(&player, 0, "registers no kernel");
    }
    for (uint32_t task = 0; task < TASKS && player.wrong == 0; task++) {
        if (task % SCOPE_TASKS == 0) {
            change_scope(&player, task);
        }
        meet(&player, task);
        do_beside(&player, task);
        try_old_handle(&player, task);
        if (task >= REACH) {
            part(&player, task - REACH);
        }
        if (task == TASKS / 2 || task + 1 == TASKS) {
            look_at_memory(&player, task);
        }
    }
    for (uint32_t task = TASKS - REACH; task < TASKS && player.wrong == 0; task++) {
        part(&player, task);
    }
    if (player.wrong == 0) {
        look_at_first_scope(&player);
    }
    int code = moot_close(m);
    player.m = NULL;
    if (code != MOOT_OK) {
        say_wrong(&player, TASKS, moot_err_name(code));
    }
    return player.wrong;
}
