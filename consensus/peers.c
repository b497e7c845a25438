/* peers.c - what this rank keeps of its peers.
 *
 * Incarnations and hosts are known of every rank and stand in arrays.  The rest is a
 * record that few ranks need of many: in a moot of thousands a rank has to do with its
 * neighbours in the tree, its partners in gossip, and those whose tasks touch its own.
 * So above PEERS_ALL_MAX ranks records are made when there is something to put down,
 * and a list of those that are there spares every loop the empty places.
 */
#include "consensus/internal.h"

#include <stdlib.h>
#include <string.h>

bool peers_make_room(struct core *core, uint32_t size)
{
    uint64_t *uids = realloc(core->uids, size * sizeof(*uids));
    core->uids = uids != NULL ? uids : core->uids;
    uint32_t *hosts = realloc(core->hosts, size * sizeof(*hosts));
    core->hosts = hosts != NULL ? hosts : core->hosts;
    struct peer **peers = realloc(core->peers, size * sizeof(struct peer *));
    core->peers = peers != NULL ? peers : core->peers;
    if (uids == NULL || hosts == NULL || peers == NULL) {
        core->broken = true;
        return false;
    }
    for (uint32_t rank = core->size; rank < size; rank++) {
        uids[rank] = 0;
        hosts[rank] = 0;
        peers[rank] = NULL;
    }
    uint32_t first = core->size;
    core->size = size;
    for (uint32_t rank = first; rank < size && size <= PEERS_ALL_MAX; rank++) {
        (void)peer_of(core, rank);
    }
    return !core->broken;
}

void peers_release(struct core *core)
{
    for (uint32_t i = 0; i < core->known_count; i++) {
        free(core->known[i]->site);
        rankset_release(&core->known[i]->suspects);
        free(core->known[i]->announced);
        free(core->known[i]);
    }
    free(core->known);
    free(core->peers);
    free(core->uids);
    free(core->hosts);
}

struct peer *peer_of(struct core *core, uint32_t rank)
{
    assert(rank < core->size);
    struct peer *peer = core->peers[rank];
    if (peer != NULL) {
        return peer;
    }
    peer = core_grow(core, &core->known, &core->known_room, core->known_count + 1,
                     sizeof(struct peer *))
               ? core_alloc(core, sizeof(*peer))
               : NULL;
    if (peer == NULL) {
        core->nobody = (struct peer){.rank = rank};
        return &core->nobody;
    }
    peer->rank = rank;
    core->peers[rank] = peer;
    core->known[core->known_count++] = peer;
    return peer;
}

const struct peer *peer_seen(const struct core *core, uint32_t rank)
{
    static const struct peer nothing = {0};
    const struct peer *peer = rank < core->size ? core->peers[rank] : NULL;
    return peer != NULL ? peer : &nothing;
}

/* Of a rank with whom there is nothing else to do it need not be known. */
void peer_heard(struct core *core, uint32_t rank)
{
    if (core->peers[rank] != NULL) {
        core->peers[rank]->heard_ns = core->now_ns;
    }
}
