/* array_singles.c - single tasks whose result all elements of a medley's array take
 * (arrays.c).
 *
 * One array in three has such an input, behind all others, unless a scope, a group or a
 * queue is open where ranks spawn it: there the task would be another, or end
 * otherwise. Every rank that spawns the array spawns the task, and lets it go.  Some
 * are large, and a few fail.
 */
#include "tests/medley/player.h"

#include <stdlib.h>

enum { WORDS_MAX = 3, WORDS_LARGE = 1500, NEAR = 8 };

static uint64_t word_of(const struct medley *medley, uint32_t array, uint64_t use)
{
    return medley_mix(medley_mix(medley->base.seed * 43 + array) + use) >> 8;
}

static size_t words_of(const struct medley *medley, uint32_t array)
{
    const bool large = word_of(medley, array, 1) % 6 == 0;
    return large ? WORDS_LARGE : 1 + word_of(medley, array, 2) % WORDS_MAX;
}

static void fill_words(const struct medley *medley, uint32_t array, uint64_t *words)
{
    for (size_t i = 0; i < words_of(medley, array); i++) {
        words[i] = player_element_word(word_of(medley, array, 3), i);
    }
}

static bool is_near_region(const struct medley *medley, uint32_t at)
{
    bool is = false;
    for (uint32_t i = 0; i < medley->region_count; i++) {
        is |= at < medley->regions[i].to && medley->regions[i].from <= at + NEAR;
    }
    return is;
}

void medley_draw_singles(struct medley *medley)
{
    for (uint32_t i = 0; i < medley->array_count; i++) {
        struct medley_array *of = &medley->arrays[i];
        of->single = word_of(medley, i, 4) % 3 == 0 && !is_near_region(medley, of->at);
        of->single_fails = of->single && word_of(medley, i, 5) % 12 == 0;
    }
}

static int single_kernel(moot_call *call, void *user)
{
    const struct medley_player *player = user;
    const uint32_t *array = moot_call_args(call, NULL);
    const size_t count = words_of(player->medley, *array);
    player_nap(word_of(player->medley, *array, 6) % 3 * 20000);
    if (player->medley->arrays[*array].single_fails) {
        return 7;
    }
    uint64_t *out = moot_call_output(call, count * sizeof(*out));
    if (out != NULL) {
        fill_words(player->medley, *array, out);
    }
    return out != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

int player_register_singles(struct medley_player *player)
{
    const moot_kernel single = {.name = "single", .fn = single_kernel, .user = player};
    return moot_kernel_register(player->m, &single, &player->single);
}

int player_spawn_single(struct medley_player *player, uint32_t array, moot_task *out)
{
    const moot_task_spec spec = {
        .kernel = player->single, .args = &array, .args_size = sizeof(array)};
    return moot_task_spawn(player->m, &spec, out);
}

uint64_t player_single_digest(const struct medley_player *player, uint32_t array)
{
    uint64_t words[WORDS_LARGE];
    fill_words(player->medley, array, words);
    return player->medley->arrays[array].single_fails
               ? 0
               : player_element_digest(words, words_of(player->medley, array));
}
