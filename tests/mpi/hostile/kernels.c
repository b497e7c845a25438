/* kernels.c - the kernels of random programs (player.h). */
#include "tests/mpi/hostile/player.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static int run_child(moot_call *call, void *user)
{
    size_t size;
    const uint32_t *which = moot_call_args(call, &size);
    uint64_t *value = moot_call_output(call, sizeof(*value));
    (void)user;
    if (value == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *value = chaos_child(which[0], which[1]);
    return MOOT_OK;
}

static int run_children(moot_call *call, uint32_t task, const struct recipe *recipe)
{
    moot_task children[4] = {{0}};
    int code = MOOT_OK;
    uint32_t awaited = recipe->children - (recipe->leaves ? 1 : 0);
    for (uint32_t i = 0; i < recipe->children && code == MOOT_OK; i++) {
        const uint32_t args[2] = {task, i};
        const moot_task_spec spec = {
            .kernel = player.child, .args = args, .args_size = sizeof(args)};
        code = moot_call_spawn(call, &spec, &children[i]);
    }
    if (code == MOOT_OK && task % 2 == 0) {
        code = moot_call_wait_all(call, children, awaited);
    }
    for (uint32_t i = 0; i < awaited && code == MOOT_OK; i++) {
        const void *data = NULL;
        size_t size = 0;
        uint64_t value = 0;
        code = moot_call_wait(call, children[i], &data, &size);
        if (code == MOOT_OK && size == sizeof(value)) {
            memcpy(&value, data, sizeof(value));
        }
        if (code == MOOT_OK && value != chaos_child(task, i)) {
            player_wrong(task, "a child has another result");
        }
    }
    return code;
}

/* The value, which run it is of, and bytes that follow from the value. */
static void fill_output(unsigned char *out, const struct recipe *recipe, uint64_t value)
{
    uint64_t nonce = 1;
    if (recipe->kind == CHAOS_VARIES) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        nonce = chaos_mix((uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32) | 1;
    }
    memcpy(out, &value, sizeof(value));
    memcpy(out + 8, &nonce, sizeof(nonce));
    memset(out + 16, (int)(value & 255), recipe->bytes - 16);
}

static void read_inputs(moot_call *call, const struct chaos *chaos, uint32_t task,
                        uint64_t *inputs)
{
    const struct recipe *recipe = &chaos->tasks_of[task];
    if (moot_call_input_count(call) != recipe_data_count(recipe)) {
        player_wrong(task, "it has another number of inputs");
    }
    for (size_t i = 0; i < recipe_data_count(recipe); i++) {
        size_t size = 0;
        const unsigned char *data = moot_call_input(call, i, &size);
        const struct recipe *from = &chaos->tasks_of[recipe->inputs[i]];
        if (size != from->bytes) {
            player_wrong(task, "an input has another size");
            continue;
        }
        memcpy(&inputs[i], data, sizeof(inputs[i]));
        if (inputs[i] != from->value ||
            (size > 16 && data[size - 1] != (from->value & 255))) {
            player_wrong(task, "an input has other bytes");
        }
    }
}

/* True if this run is to fail. */
static bool fails_yet(const struct recipe *recipe, uint32_t round, uint32_t task)
{
    atomic_uint *attempts = &player.attempts[round % PLAYER_ROUNDS_KEPT][task];
    if (recipe->kind != CHAOS_RETRIED) {
        return recipe->fails;
    }
    uint32_t run = (*attempts)++;
    bool fails = recipe->fails || run < recipe->failures;
    if (fails && run == CHAOS_RETRIES) {
        *attempts = 0; /* its end: after a death it may run here again */
    }
    return fails;
}

/* A rank may run a task of a round that it has yet to come to. */
static const struct chaos *find_program(uint32_t round, struct chaos *place)
{
    if (!player.has_rounds) {
        return &player.chaos;
    }
    player_draw_round(place, round);
    return place;
}

static int run_task(moot_call *call, void *user)
{
    struct chaos place;
    const uint32_t *args = moot_call_args(call, NULL);
    const struct chaos *chaos = find_program(args[0], &place);
    const uint32_t task = args[1];
    const struct recipe *recipe = &chaos->tasks_of[task];
    uint64_t inputs[CHAOS_INPUTS_MAX] = {0};
    (void)user;
    if (recipe->kind != CHAOS_RETRIED ||
        player.attempts[args[0] % PLAYER_ROUNDS_KEPT][task] == 0) {
        player.ledger->starts[task][player.rank]++;
    }
    read_inputs(call, chaos, task, inputs);
    const struct timespec work = {.tv_nsec = (long)recipe->kernel_us * 1000};
    nanosleep(&work, NULL);
    if (fails_yet(recipe, args[0], task)) {
        return moot_call_fail(call, 7, "it is drawn to fail");
    }
    int code = run_children(call, task, recipe);
    if (code != MOOT_OK) {
        return moot_call_fail(call, code, "a child failed");
    }
    unsigned char *out = recipe->kind == CHAOS_UPDATES
                             ? moot_call_update(call, 0)
                             : moot_call_output(call, recipe->bytes);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    fill_output(out, recipe, chaos_combine(recipe, task, inputs));
    player.attempts[args[0] % PLAYER_ROUNDS_KEPT][task] = 0;
    return MOOT_OK;
}

int player_register(void)
{
    static const moot_kernel kinds[] = {
        [CHAOS_PURE] = {.name = "pure"},
        [CHAOS_ONCE] = {.name = "once", .flags = MOOT_KERNEL_ONCE},
        [CHAOS_AGAIN] = {.name = "again",
                         .flags = MOOT_KERNEL_ONCE | MOOT_KERNEL_IDEMPOTENT},
        [CHAOS_VARIES] = {.name = "varies", .flags = MOOT_KERNEL_NONDETERMINISTIC},
        [CHAOS_PORTABLE] = {.name = "portable", .flags = MOOT_KERNEL_PORTABLE},
        [CHAOS_PARENT] = {.name = "parent"},
        [CHAOS_RETRIED] = {.name = "retried",
                           .retries = CHAOS_RETRIES,
                           .retry_backoff = MOOT_MILLISECONDS(1)},
        [CHAOS_UPDATES] = {.name = "updates"}};
    int code = moot_kernel_register(
        player.m, &(moot_kernel){.name = "child", .fn = run_child}, &player.child);
    for (int kind = 0; kind < CHAOS_KIND_END && code == MOOT_OK; kind++) {
        moot_kernel kernel = kinds[kind];
        kernel.size = sizeof(kernel);
        kernel.fn = run_task;
        code = moot_kernel_register(player.m, &kernel, &player.kernels[kind]);
    }
    return code;
}
