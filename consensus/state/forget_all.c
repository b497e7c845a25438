/* forget_all.c - a reload begins: nothing is known of any task any more.
 *
 * PROTOCOL.md, *Reload*.  Ranks, incarnations and hosts stay, and what has been learnt
 * of them; likewise messages that are held for later views.
 */
#include "consensus/state/state.h"

#include <stdlib.h>

static void forget_scopes(struct core *core)
{
    struct core_state *state = &core->state;
    for (size_t i = 0; state->scope_buckets != NULL && i < SCOPE_BUCKETS; i++) {
        while (state->scope_buckets[i] != NULL) {
            struct scope_record *scope = state->scope_buckets[i];
            state->scope_buckets[i] = scope->bucket_next;
            free(scope->tally);
            memory_give(core, scope, sizeof(*scope));
        }
    }
    state->scopes_watched = state->watched_last = NULL;
    free(state->marks);
    state->marks = NULL;
    state->mark_count = state->mark_room = 0;
    free(state->once);
    state->once = NULL;
    state->once_count = state->once_room = 0;
}

static void forget_peer(struct peer *peer)
{
    peer->announced_count = peer->open_count = 0;
    peer->swept = false;
    peer->wins = 0;
    free(peer->site);
    peer->site = NULL;
    peer->state = (struct message_state){0};
    peer->waits_for = peer->orphan = (moot_hash){{0}};
    peer->pollr = (struct message_pollr){0};
}

void state_forget_all(struct core *core)
{
    struct core_state *state = &core->state;
    table_forget_all(core);
    forget_scopes(core);
    for (uint32_t i = 0; i < state->known_count; i++) {
        forget_peer(state->known[i]);
    }
    for (uint32_t i = 0; i < state->beginning_count; i++) {
        free(state->beginnings[i].places);
    }
    state->beginning_count = 0;
    state->untaken = 0;
}
