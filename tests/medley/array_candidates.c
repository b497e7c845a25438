/* array_candidates.c - task arrays of a medley that have candidates (arrays.c).
 *
 * One array in four has some.  Of those who spawn it, and of those who do so with
 * another count, one is a candidate at least.  Where a rank may lack what the array
 * takes, and so does not spawn it, or is in another scope by then, which makes it
 * another array, or may be gone, all who spawn it are candidates: an
 * array that no candidate holds would keep its ranks from what they spawn next, and
 * nothing else here is of that kind.
 */
#include "node/api/moot_array.h"

#include "tests/medley/player.h"

static uint64_t chance_of(const struct medley *medley, uint32_t array, uint64_t use)
{
    return medley_mix(medley_mix(medley->base.seed * 41 + array) + use) >> 8;
}

/* The first of these that is not late, or all: others may wait for the array before a
 * late one has come to it. */
static uint64_t needed_of(const struct medley_array *of, uint64_t ranks)
{
    const uint64_t early = ranks & ~of->late;
    return early != 0 ? early & (~early + 1) : ranks;
}

void medley_draw_array_candidates(struct medley *medley)
{
    for (uint32_t i = 0; i < medley->array_count; i++) {
        struct medley_array *of = &medley->arrays[i];
        const uint64_t all = (UINT64_C(1) << medley->base.ranks) - 1;
        const uint64_t some = chance_of(medley, i, 0) & all;
        const bool few = chance_of(medley, i, 1) % 2 == 0;
        const bool any = chance_of(medley, i, 3) % 4 == 0;
        const uint64_t holders = of->holders & all;
        of->candidates = (few ? some & chance_of(medley, i, 2) : some) |
                         needed_of(of, holders & of->contrary) |
                         needed_of(of, holders & ~of->contrary);
        of->candidates = any ? of->candidates : 0;
    }
}

size_t player_array_candidates(const struct medley_player *player, uint32_t array,
                               int ranks[MEDLEY_RANKS_MAX])
{
    const struct medley_base *base = &player->medley->base;
    const struct medley_array *of = &player->medley->arrays[array];
    const bool loses = (base->killed | base->paused | base->early) != 0;
    uint64_t candidates = of->candidates;
    size_t count = 0;
    const bool scopes = MEDLEY_HAS(player->medley, SCOPES) && of->late != 0;
    if (candidates != 0 && (loses || scopes || of->input_count > 0)) {
        candidates |= of->holders;
    }
    for (uint32_t rank = 0; rank < base->ranks; rank++) {
        if (candidates >> rank & 1) {
            ranks[count++] = (int)rank;
        }
    }
    return count;
}
