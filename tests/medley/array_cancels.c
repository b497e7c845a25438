/* array_cancels.c - task arrays of a medley that ranks cancel (arrays.c).
 *
 * One array in four has ranks that cancel it: with its spawn, or before they look at
 * it. It then may end cancelled on every rank, or as if nobody had asked; and a rank
 * that reads an element of it may hear that its input has failed. So may all that takes
 * elements of it, directly or by other arrays.
 */
#include "node/api/moot_array.h"

#include "tests/medley/player.h"

static uint64_t chance_of(const struct medley *medley, uint32_t array, uint64_t use)
{
    return medley_mix(medley_mix(medley->base.seed * 37 + array) + use) >> 8;
}

void medley_draw_array_cancels(struct medley *medley)
{
    for (uint32_t i = 0; i < medley->array_count; i++) {
        const uint64_t some = chance_of(medley, i, 0);
        const uint64_t one = UINT64_C(1)
                             << chance_of(medley, i, 1) % medley->base.ranks;
        const bool is_one = chance_of(medley, i, 2) % 2 == 0;
        const bool any = chance_of(medley, i, 3) % 4 == 0;
        medley->arrays[i].cancellers = !any ? 0 : is_one ? one : some;
    }
}

/* One that it takes from, perhaps by others, is one that ranks cancel. */
static bool takes_cancelled(const struct medley *medley, uint32_t array)
{
    const struct medley_array *of = &medley->arrays[array];
    bool takes = false;
    for (uint32_t i = 0; i < of->input_count && !takes; i++) {
        const uint32_t from = of->inputs[i].array; /* an earlier one */
        takes = medley->arrays[from].cancellers != 0 || takes_cancelled(medley, from);
    }
    return takes;
}

bool player_takes_cancel(const struct medley_player *player, uint32_t array, int code)
{
    const bool own = player->medley->arrays[array].cancellers != 0;
    return (code == MOOT_ERR_CANCELLED && own) ||
           (code == MOOT_ERR_TASK_FAILED &&
            (own || takes_cancelled(player->medley, array)));
}

void player_cancel_array(struct medley_player *player, uint32_t array, bool spawned)
{
    const struct medley_array *of = &player->medley->arrays[array];
    const bool at_once =
        chance_of(player->medley, array, 4 + (uint64_t)player->rank) % 2 == 0;
    if (!player_is_of(player, of->cancellers) || at_once != spawned || player->over ||
        player->arrays[array].id == 0) {
        return;
    }
    const int code = moot_array_cancel(player->m, player->arrays[array]);
    if (code != MOOT_OK) {
        player_wrong(player, of->at, "an array is not cancelled");
    }
}
