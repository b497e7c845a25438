/* once_gone.c - the once tasks that were dropped before their scope ended: they have
 * run, and must not run again, so that their hashes are kept when their records go.
 */
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

static size_t once_slot(const moot_hash *once, size_t room, const moot_hash *hash)
{
    size_t slot = (size_t)hash_word(hash) & (room - 1);
    while (!hash_is_zero(&once[slot]) && !hash_equal(&once[slot], hash)) {
        slot = (slot + 1) & (room - 1);
    }
    return slot;
}

bool reclaim_once_is_gone(const struct core *core, const moot_hash *hash)
{
    const struct core_state *state = &core->state;
    return state->once_count > 0 && hash_has(hash, MOOT_HASH_ONCE) &&
           hash_equal(&state->once[once_slot(state->once, state->once_room, hash)],
                      hash);
}

void reclaim_note_once(struct core *core, const moot_hash *hash)
{
    assert(hash_has(hash, MOOT_HASH_ONCE));
    struct core_state *state = &core->state;
    if (state->once_count * 2 >= state->once_room) {
        size_t room = state->once_room ? state->once_room * 2 : 64;
        moot_hash *once = core_alloc(core, room * sizeof(*once));
        if (once == NULL) {
            return;
        }
        for (size_t i = 0; i < state->once_room; i++) {
            if (!hash_is_zero(&state->once[i])) {
                once[once_slot(once, room, &state->once[i])] = state->once[i];
            }
        }
        free(state->once);
        state->once = once;
        state->once_room = room;
    }
    state->once[once_slot(state->once, state->once_room, hash)] = *hash;
    state->once_count++;
}

const moot_hash *reclaim_next_once(const struct core *core, size_t *at)
{
    const struct core_state *state = &core->state;
    assert(*at <= state->once_room);
    while (*at < state->once_room && hash_is_zero(&state->once[*at])) {
        (*at)++;
    }
    return *at < state->once_room ? &state->once[(*at)++] : NULL;
}
