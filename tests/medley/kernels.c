/* kernels.c - what a medley's tasks do (player.h).
 *
 * A kernel knows its player by the pointer that it was registered with, and its task by
 * the number in its arguments.
 */
#include "tests/medley/player.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void player_wrong(struct medley_player *player, uint32_t task, const char *what)
{
    fprintf(stderr, "medley: WRONG: rank %d, task %u: %s: %s\n", player->rank,
            (unsigned)task, what, player->m != NULL ? moot_last_error(player->m) : "");
    player->ledger->ledger.wrong[player->rank]++;
}

const struct medley_recipe *player_recipe(const struct medley_player *player,
                                          uint32_t task)
{
    return &player->medley->base.tasks[task];
}

bool player_is_of(const struct medley_player *player, uint64_t ranks)
{
    return (ranks >> player->rank & 1) != 0;
}

uint64_t player_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void player_nap(uint64_t ns)
{
    const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
                                  .tv_nsec = (long)(ns % 1000000000u)};
    nanosleep(&time, NULL);
}

static int child_kernel(moot_call *call, void *user)
{
    size_t size;
    const uint32_t *which = moot_call_args(call, &size);
    uint64_t *value = moot_call_output(call, sizeof(*value));
    struct medley_player *player = user;
    if (value == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    player_nap(medley_child(which[0], which[1]) % 300000);
    *value = medley_child(which[0], which[1]);
    player->ledger->children[which[0]]++;
    return MOOT_OK;
}

static int look_at_child(struct medley_player *player, moot_call *call, moot_task child,
                         uint32_t task, uint32_t number)
{
    const void *data = NULL;
    size_t size = 0;
    uint64_t value = 0;
    int code = moot_call_wait(call, child, &data, &size);
    if (code == MOOT_OK && size == sizeof(value)) {
        memcpy(&value, data, sizeof(value));
    }
    if (code == MOOT_OK && value != medley_child(task, number)) {
        player_wrong(player, task, "a child has another result");
    }
    return code;
}

static int run_children(struct medley_player *player, moot_call *call, uint32_t task)
{
    moot_task children[4] = {{0}};
    uint32_t count = player_recipe(player, task)->children;
    bool leaves = player->medley->tasks[task].leaves;
    int code = MOOT_OK;
    for (uint32_t i = 0; i < count && code == MOOT_OK; i++) {
        const uint32_t args[2] = {task, i};
        const moot_task_spec spec = {
            .kernel = player->child, .args = args, .args_size = sizeof(args)};
        code = moot_call_spawn(call, &spec, &children[i]);
    }
    for (uint32_t i = 0; i < count && code == MOOT_OK && !leaves; i++) {
        code = look_at_child(player, call, children[i], task, i);
    }
    return code;
}

/* The value, which run it is of, and bytes that follow from the value. */
static void fill(unsigned char *out, const struct medley_recipe *recipe, uint64_t value,
                 uint64_t nonce)
{
    memcpy(out, &value, sizeof(value));
    memcpy(out + 8, &nonce, sizeof(nonce));
    memset(out + 16, (int)(value & 255), recipe->bytes - 16);
}

bool player_is_intact(const struct medley_recipe *recipe, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t value = 0;
    if (size != recipe->bytes) {
        return false;
    }
    memcpy(&value, bytes, sizeof(value));
    bool tail = size == 16 || (bytes[16] == (recipe->value & 255) &&
                               bytes[size - 1] == (recipe->value & 255) &&
                               bytes[16 + (size - 16) / 2] == (recipe->value & 255));
    return value == recipe->value && tail;
}

static void take_inputs(struct medley_player *player, moot_call *call, uint32_t task,
                        uint64_t *inputs)
{
    const struct medley_recipe *recipe = player_recipe(player, task);
    size_t count = recipe->input_count - recipe->after_count;
    if (moot_call_input_count(call) != count) {
        player_wrong(player, task, "has another number of inputs");
    }
    for (size_t i = 0; i < count; i++) {
        size_t size = 0;
        const void *data = moot_call_input(call, i, &size);
        inputs[i] = 0;
        if (data == NULL ||
            !player_is_intact(player_recipe(player, recipe->inputs[i]), data, size)) {
            player_wrong(player, task, "an input has other bytes");
        } else {
            memcpy(&inputs[i], data, sizeof(inputs[i]));
        }
    }
}

/* A run after one that failed here, as was drawn, is the same start. */
static bool is_drawn_to_fail(struct medley_player *player, uint32_t task)
{
    const struct medley_recipe *recipe = player_recipe(player, task);
    uint32_t fails = recipe->fails ? MEDLEY_RETRIES + 1 : recipe->failing_runs;
    bool retried = MEDLEY_HAS(player->medley, RETRIES) && recipe->kind != MEDLEY_ONCE;
    uint32_t retries = retried ? MEDLEY_RETRIES : 0;
    uint32_t run = player->runs[task]++ % (retries + 1);
    if (run == 0) {
        player->ledger->ledger.starts[task][player->rank]++;
    }
    if (run >= fails) {
        player->runs[task] = 0;
    }
    return run < fails;
}

static int kernel(moot_call *call, void *user)
{
    struct medley_player *player = user;
    size_t size;
    const uint32_t task = *(const uint32_t *)moot_call_args(call, &size);
    const struct medley_recipe *recipe = player_recipe(player, task);
    struct medley_times *times = &player->ledger->times[task];
    uint64_t inputs[MEDLEY_INPUTS_MAX];
    const bool fails = is_drawn_to_fail(player, task);
    times->began_ns = player_now_ns();
    take_inputs(player, call, task, inputs);
    player_nap(recipe->kernel_us * UINT64_C(1000));
    if (fails) {
        return moot_call_fail(call, 7, "it is drawn to fail");
    }
    int code = recipe->children > 0 && player_has_child_array(player, task)
                   ? player_run_child_array(player, call, task)
                   : run_children(player, call, task);
    if (code != MOOT_OK) {
        return moot_call_fail(call, code, "a child failed");
    }
    unsigned char *out = player->medley->tasks[task].updates
                             ? moot_call_update(call, 0)
                             : moot_call_output(call, recipe->bytes);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    uint64_t nonce =
        recipe->kind == MEDLEY_VARIES
            ? medley_mix(player_now_ns() ^ (uint64_t)player->rank << 60) | 1
            : 1;
    fill(out, recipe, medley_combine(recipe, task, inputs), nonce);
    times->ended_ns = player_now_ns();
    return MOOT_OK;
}

int player_register(struct medley_player *player)
{
    static const struct {
        const char *name;
        uint32_t flags;
    } kinds[] = {[MEDLEY_PURE] = {"pure", 0},
                 [MEDLEY_ONCE] = {"once", MOOT_KERNEL_ONCE},
                 [MEDLEY_AGAIN] = {"again", MOOT_KERNEL_ONCE | MOOT_KERNEL_IDEMPOTENT},
                 [MEDLEY_VARIES] = {"varies", MOOT_KERNEL_NONDETERMINISTIC},
                 [MEDLEY_PORTABLE] = {"portable", MOOT_KERNEL_PORTABLE},
                 [MEDLEY_PARENT] = {"parent", 0}};
    bool retries = MEDLEY_HAS(player->medley, RETRIES);
    int code = moot_kernel_register(
        player->m, &(moot_kernel){.name = "child", .fn = child_kernel, .user = player},
        &player->child);
    for (int kind = 0; kind < MEDLEY_KIND_END && code == MOOT_OK; kind++) {
        const moot_kernel made = {
            .name = kinds[kind].name,
            .fn = kernel,
            .user = player,
            .flags = kinds[kind].flags,
            .retries = kind == MEDLEY_ONCE || !retries ? 0 : MEDLEY_RETRIES,
            .retry_backoff = MOOT_MILLISECONDS(1) / 4};
        code = moot_kernel_register(player->m, &made, &player->kernels[kind]);
    }
    return code;
}
