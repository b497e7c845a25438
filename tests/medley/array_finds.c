/* array_finds.c - elements of a medley's arrays (arrays.c) that ranks find by the
 * array's hash, whether or not they have spawned it, and after they have released it.
 *
 * A rank that spawns an array that takes nothing puts its hash into the ledger.  A rank
 * that looks at it, or would if it had spawned it, finds an element of it at times.  If
 * it gets one the bytes are to be those of the element.  Else it fails for any reason
 * that an array has: the array is forgotten, its element has failed, or is lost.
 */
#include "node/api/moot_array.h"

#include "tests/medley/player.h"

enum { NAMELESS, BEING_NAMED, NAMED };

static uint64_t chance_of(const struct medley_player *player, uint32_t array,
                          uint64_t use)
{
    const uint64_t rank = (uint64_t)player->rank;
    return medley_mix(medley_mix(player->medley->base.seed * 41 + array) +
                      (use << 8 | rank)) >>
           8;
}

void player_name_array(struct medley_player *player, uint32_t array)
{
    const struct medley_array *of = &player->medley->arrays[array];
    struct medley_array_name *name = &player->ledger->names[array];
    unsigned nameless = NAMELESS;
    if (of->input_count > 0 || player_is_of(player, of->contrary) ||
        !atomic_compare_exchange_strong(&name->state, &nameless, BEING_NAMED)) {
        return;
    }
    if (moot_array_hash(player->m, player->arrays[array], &name->hash) == MOOT_OK) {
        atomic_store(&name->state, NAMED);
    } else {
        player_wrong(player, of->at, "an array has no hash");
    }
}

static bool may_end_so(int code)
{
    return code == MOOT_ERR_TASK_FAILED || code == MOOT_ERR_RESULT_LOST ||
           code == MOOT_ERR_NOT_HELD || code == MOOT_ERR_NO_CANDIDATE;
}

static void judge_found(struct medley_player *player, uint32_t array, uint64_t index,
                        moot_task found)
{
    const uint32_t at = player->medley->arrays[array].at;
    const void *words = NULL;
    size_t size = 0;
    const int code = moot_task_fetch(player->m, found, MOOT_FOREVER, &words, &size);
    player->over |= code == MOOT_ERR_FENCED || code == MOOT_ERR_NO_QUORUM;
    if (code == MOOT_OK && player_element_digest(words, size / sizeof(uint64_t)) !=
                               player_reckon_element(player, array, index)) {
        player_wrong(player, at, "a found element has other bytes");
    } else if (code != MOOT_OK && !player->over && !may_end_so(code)) {
        player_wrong(player, at, "a found element ends otherwise");
    }
    (void)moot_task_release(player->m, found);
}

void player_find_element(struct medley_player *player, uint32_t array)
{
    const struct medley_array *of = &player->medley->arrays[array];
    struct medley_array_name *name = &player->ledger->names[array];
    moot_task found = {0};
    if (player->over || chance_of(player, array, 0) % 3 != 0 ||
        atomic_load(&name->state) != NAMED) {
        return;
    }
    const uint64_t index = chance_of(player, array, 1) % of->count;
    const int code = moot_array_find(player->m, &name->hash, index, &found);
    player->over |= code == MOOT_ERR_FENCED || code == MOOT_ERR_NO_QUORUM;
    if (code == MOOT_OK) {
        judge_found(player, array, index, found);
    } else if (code != MOOT_ERR_SCOPE_CLOSED && !player->over) {
        player_wrong(player, of->at, "an element is not looked for");
    }
}
