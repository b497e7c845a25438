/* array_children.c - arrays that the parents of a medley spawn (arrays.c, kernels.c).
 *
 * In a medley with arrays half of the parents spawn their children as one array, and
 * half of these have a second array take it.  The parent reads all elements of the last
 * one, or leaves them running.
 */
#include "tests/medley/player.h"

static uint64_t word_of(const struct medley_player *player, uint32_t task, uint64_t use)
{
    return medley_mix(medley_mix(player->medley->base.seed * 53 + task) + use) >> 8;
}

bool player_has_child_array(const struct medley_player *player, uint32_t task)
{
    return player->medley->array_count > 0 && word_of(player, task, 1) % 2 == 0;
}

static bool is_taken(const struct medley_player *player, uint32_t task)
{
    return word_of(player, task, 2) % 2 == 0;
}

static int give(moot_call *call, uint64_t value)
{
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out != NULL) {
        *out = value;
    }
    return out != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int child_kernel(moot_call *call, void *user)
{
    struct medley_player *player = user;
    const uint32_t task = *(const uint32_t *)moot_call_args(call, NULL);
    const uint64_t value = medley_child(task, (uint32_t)moot_call_index(call));
    player_nap(value % 300000);
    player->ledger->children[task]++;
    return give(call, value);
}

/* An element of the second array takes all of the first. */
static int sum_kernel(moot_call *call, void *user)
{
    uint64_t sum = moot_call_index(call);
    (void)user;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        sum += *(const uint64_t *)moot_call_input(call, i, NULL);
    }
    return give(call, sum);
}

int player_register_child_arrays(struct medley_player *player)
{
    const moot_kernel child = {
        .name = "array child", .fn = child_kernel, .user = player};
    const moot_kernel sum = {.name = "child sum", .fn = sum_kernel, .user = player};
    int code = moot_kernel_register(player->m, &child, &player->array_child);
    return code != MOOT_OK ? code
                           : moot_kernel_register(player->m, &sum, &player->child_sum);
}

static uint64_t value_of(const struct medley_player *player, uint32_t task, uint32_t i)
{
    uint64_t sum = i;
    if (!is_taken(player, task)) {
        return medley_child(task, i);
    }
    for (uint32_t j = 0; j < player_recipe(player, task)->children; j++) {
        sum += medley_child(task, j);
    }
    return sum;
}

static int read_one(struct medley_player *player, moot_call *call, moot_array array,
                    uint32_t task, uint32_t i)
{
    const void *data = NULL;
    size_t size = 0;
    moot_task element;
    int code = moot_call_array_at(call, array, i, &element);
    if (code == MOOT_OK) {
        code = moot_call_wait(call, element, &data, &size);
    }
    if (code == MOOT_OK && (size != sizeof(uint64_t) ||
                            *(const uint64_t *)data != value_of(player, task, i))) {
        player_wrong(player, task, "an element of a child array has another result");
    }
    return code;
}

int player_run_child_array(struct medley_player *player, moot_call *call, uint32_t task)
{
    const uint32_t count = player_recipe(player, task)->children;
    moot_array array;
    moot_array_spec spec = {.kernel = player->array_child,
                            .count = count,
                            .args = &task,
                            .args_size = sizeof(task),
                            .spread = {(enum moot_spread_kind)(count % 3), 0}};
    int code = moot_call_array_spawn(call, &spec, &array);
    if (code == MOOT_OK && is_taken(player, task)) {
        const moot_array_input all = {.array = array, .map = MOOT_MAP_ALL};
        spec.kernel = player->child_sum;
        spec.inputs = &all;
        spec.input_count = 1;
        code = moot_call_array_spawn(call, &spec, &array);
    }
    if (code != MOOT_OK || player->medley->tasks[task].leaves) {
        return code;
    }
    code = moot_call_array_wait(call, array);
    for (uint32_t i = 0; i < count && code == MOOT_OK; i++) {
        code = read_one(player, call, array, task, i);
    }
    return code;
}
