/* micro_arrays.c - what an array of tasks costs a rank before its kernels run: its
 * hash, and its schedule, worked out or found again.
 *
 * The large arrays have a million elements on a hundred thousand ranks, of which this
 * one runs ten.
 */
#include "tests/bench/micro.h"

#include "consensus/shape/schedule_cache.h"
#include "hashing/base/byte_order.h"
#include "hashing/identity.h"

#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 1000000, HOMES = 100000, RANK = 4711, FEW = 8 };

struct shape_state {
    struct identity_kernel kernel;
    struct rankset members;
    struct array_shape shape;
    unsigned char window[ARRAY_WINDOW_BYTES];
    struct schedule_cache *cache;
};

static volatile uint64_t sink;

/* A stencil: each element takes its neighbours and itself. */
static struct shape_state *begin_shape(uint64_t elements, uint32_t homes, uint32_t rank,
                                       enum array_spread_kind kind)
{
    struct shape_state *state = micro_alloc(1, sizeof(*state));
    identity_kernel_init(&state->kernel, "execute", 0);
    for (uint32_t home = homes; home-- > 0;) {
        micro_check(rankset_add(&state->members, home), "no memory");
    }
    put_word(state->window, UINT64_MAX);
    put_word(state->window + 8, 1);
    put_word(state->window + 16, ARRAY_EDGE_CUT);
    const struct array_card card = {
        {elements, kind == ARRAY_SPREAD_CYCLIC, homes, kind}, &state->members};
    state->shape =
        (struct array_shape){card,
                             card,
                             {&array_map_window, state->window, sizeof(state->window)},
                             &state->members,
                             rank};
    state->cache = schedule_cache_new();
    micro_check(state->cache != NULL, "no memory");
    return state;
}

static void end_shape(void *argument)
{
    struct shape_state *state = argument;
    schedule_cache_free(state->cache);
    rankset_release(&state->members);
    free(state);
}

static void *begin_few(long count)
{
    (void)count;
    return begin_shape(FEW, 2, 1, ARRAY_SPREAD_BLOCK);
}

static void *begin_block(long count)
{
    (void)count;
    return begin_shape(ELEMENTS, HOMES, RANK, ARRAY_SPREAD_BLOCK);
}

static void *begin_cyclic(long count)
{
    (void)count;
    return begin_shape(ELEMENTS, HOMES, RANK, ARRAY_SPREAD_CYCLIC);
}

static void hash_array(void *argument, long i)
{
    struct shape_state *state = argument;
    const int64_t args[4] = {i, 1, 2, 3};
    const moot_hash input = {{1}};
    const struct identity_map map = {"moot.window", 1, state->window,
                                     sizeof(state->window)};
    const struct identity_array array = {
        .count = FEW, .spread = ARRAY_SPREAD_BLOCK, .maps = &map};
    moot_hash hash = identity_array_hash(&(struct identity){.kernel = &state->kernel,
                                                            .args = args,
                                                            .args_size = sizeof(args),
                                                            .inputs = &input,
                                                            .input_count = 1},
                                         &array);
    sink = hash_word(&hash);
}

static void work_out(void *argument, long i)
{
    struct shape_state *state = argument;
    struct array_schedule *schedule = NULL;
    (void)i;
    micro_check(array_schedule_new(&state->shape, &schedule) == 0, "no schedule");
    sink = schedule->own + array_schedule_bytes(schedule);
    array_schedule_free(schedule);
}

static void find_again(void *argument, long i)
{
    struct shape_state *state = argument;
    const struct array_schedule *schedule = NULL;
    (void)i;
    micro_check(schedule_cache_take(state->cache, &state->shape, &schedule) == 0,
                "no schedule");
    sink = schedule->own;
    schedule_let_go(schedule);
}

const struct micro micro_arrays[] = {
    {"array-hash", begin_few, hash_array, end_shape},
    {"array-schedule-few", begin_few, work_out, end_shape},
    {"array-schedule-block", begin_block, work_out, end_shape},
    {"array-schedule-cyclic", begin_cyclic, work_out, end_shape},
    {"array-schedule-again", begin_few, find_again, end_shape},
    {"array-large-again", begin_block, find_again, end_shape},
    {0}};
