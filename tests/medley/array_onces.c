/* array_onces.c - arrays of a medley's whose elements may start once (arrays.c).
 *
 * One array in four of not too many elements is of a once kernel.  Whoever begins an
 * element puts its hash into the ledger first: nobody may have done so before, whatever
 * has died since.  Where ranks are lost such an array may end MAYBE_RAN; what takes of
 * it may fail then, and what is read of it may be lost.
 */
#include "node/api/moot_array.h"

#include "tests/medley/player.h"

#include <string.h>

enum { COUNT_MOST = 300 };

void medley_draw_array_onces(struct medley *medley)
{
    for (uint32_t i = 0; i < medley->array_count; i++) {
        const uint64_t word = medley_mix(medley_mix(medley->base.seed * 43 + i)) >> 8;
        struct medley_array *of = &medley->arrays[i];
        of->once = word % 4 == 0 && of->count <= COUNT_MOST;
    }
}

void player_begin_once(struct medley_player *player, uint32_t array,
                       const moot_hash *element)
{
    uint64_t word;
    memcpy(&word, element->bytes, sizeof(word));
    word |= 1;
    for (uint64_t i = 0; i < MEDLEY_ELEMENT_STARTS; i++) {
        unsigned long long before = 0;
        atomic_ullong *at =
            &player->ledger->element_starts[(word + i) % MEDLEY_ELEMENT_STARTS];
        if (atomic_compare_exchange_strong(at, &before, word)) {
            return;
        }
        if (before == word) {
            player_wrong(player, player->medley->arrays[array].at,
                         "an element starts twice");
            return;
        }
    }
    player_wrong(player, player->medley->arrays[array].at, "no room for a start");
}

static int once_kernel(moot_call *call, void *user)
{
    size_t size = 0;
    const uint32_t *array = moot_call_args(call, &size);
    player_begin_once(user, *array, moot_call_hash(call));
    return player_run_element(call, user);
}

int player_register_onces(struct medley_player *player)
{
    const bool portable = player->medley->base.seed % 3 == 0;
    const moot_kernel deed = {.name = "deed",
                              .fn = once_kernel,
                              .user = player,
                              .flags = MOOT_KERNEL_ONCE |
                                       (portable ? MOOT_KERNEL_PORTABLE : 0u)};
    return moot_kernel_register(player->m, &deed, &player->deed);
}

bool player_may_have_run(const struct medley_player *player, uint32_t array, int code)
{
    return player->medley->arrays[array].once && player_loses_ranks(player) &&
           (code == MOOT_ERR_MAYBE_RAN || code == MOOT_ERR_TASK_FAILED);
}
