/* peers.c - what this rank keeps of its peers.
 *
 * Incarnations and hosts are known of every rank and stand in arrays.  The rest is a
 * record that few ranks need of many: in a moot of thousands a rank has to do with its
 * neighbours in the tree, its partners in gossip, and those whose tasks touch its own.
 * So above PEERS_ALL_MAX ranks records are made when there is something to put down,
 * and a list of those that are there spares every loop the empty places.
 */
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool peers_make_room(struct core *core, uint32_t size)
{
    assert(size >= core->size && size <= LIMIT_RANKS);
    uint64_t *uids = core_resize(core, core->state.uids, size * sizeof(*uids));
    core->state.uids = uids != NULL ? uids : core->state.uids;
    uint32_t *hosts = core_resize(core, core->state.hosts, size * sizeof(*hosts));
    core->state.hosts = hosts != NULL ? hosts : core->state.hosts;
    struct peer **peers =
        core_resize(core, core->state.peers, size * sizeof(struct peer *));
    core->state.peers = peers != NULL ? peers : core->state.peers;
    if (uids == NULL || hosts == NULL || peers == NULL) {
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
    for (uint32_t i = 0; i < core->state.known_count; i++) {
        free(core->state.known[i]->site);
        rankset_release(&core->state.known[i]->suspects);
        free(core->state.known[i]->announced);
        free(core->state.known[i]->signatures);
        free(core->state.known[i]);
    }
    for (uint32_t i = 0; i < core->state.beginning_count; i++) {
        free(core->state.beginnings[i].places);
    }
    free(core->state.beginnings);
    free(core->state.known);
    free(core->state.peers);
    free(core->state.uids);
    free(core->state.hosts);
}

struct peer *peer_of(struct core *core, uint32_t rank)
{
    assert(rank < core->size);
    struct peer *peer = core->state.peers[rank];
    if (peer != NULL) {
        return peer;
    }
    peer = core_grow(core, &core->state.known, &core->state.known_room,
                     core->state.known_count + 1, sizeof(struct peer *))
               ? core_alloc(core, sizeof(*peer))
               : NULL;
    if (peer == NULL) {
        core->state.nobody = (struct peer){.rank = rank};
        return &core->state.nobody;
    }
    peer->rank = rank;
    core->state.peers[rank] = peer;
    core->state.known[core->state.known_count++] = peer;
    return peer;
}

const struct peer *peer_seen(const struct core *core, uint32_t rank)
{
    static const struct peer nothing = {0};
    const struct peer *peer = rank < core->size ? core->state.peers[rank] : NULL;
    return peer != NULL ? peer : &nothing;
}

/* --- What a peer has announced -----------------------------------------------------
 */

/* What one of many peers announced and we do not have; the first matter most. */
enum { ANNOUNCED_MAX = 64 };

/* Ranks that each spawn their own tasks announce a chunk with every few hundred of
 * them, which all stay, and a lane that blocks looks at what may match: so what differs
 * for good stands apart. */
static void swap(struct announced *a, struct announced *b)
{
    const struct announced was = *a;
    *a = *b;
    *b = was;
}

struct announced *announced_enter(struct core *core, struct peer *peer,
                                  const struct message_roll *roll)
{
    assert(roll->first > 0 && roll->count > 0);
    assert(peer->open_count <= peer->announced_count);
    for (uint32_t i = 0; i < peer->announced_count; i++) {
        const struct announced *old = &peer->announced[i];
        if (old->lane == roll->lane && old->first == roll->first &&
            (!disseminate_is_on(core) || old->count == roll->count)) {
            announced_forget(peer, i); /* superseded by a longer one */
            break;
        }
    }
    if (disseminate_is_on(core) && peer->announced_count >= ANNOUNCED_MAX) {
        return NULL; /* it is no help to anyone */
    }
    if (!core_grow(core, &peer->announced, &peer->announced_room,
                   peer->announced_count + 1, sizeof(*peer->announced))) {
        return NULL;
    }
    struct announced *made = &peer->announced[peer->open_count++];
    swap(made, &peer->announced[peer->announced_count++]);
    return made;
}

void announced_forget(struct peer *peer, uint32_t i)
{
    assert(i < peer->announced_count);
    if (i < peer->open_count) {
        announced_close(peer, i);
        i = peer->open_count;
    }
    peer->announced[i] = peer->announced[--peer->announced_count];
}

void announced_close(struct peer *peer, uint32_t i)
{
    assert(i < peer->announced_count);
    if (i < peer->open_count) {
        swap(&peer->announced[i], &peer->announced[--peer->open_count]);
    }
}

void announced_open(struct peer *peer) { peer->open_count = peer->announced_count; }

/* --- Hearing --------------------------------------------------------------------- */

/* Of a rank with whom there is nothing else to do it need not be known. */
void peer_heard(struct core *core, uint32_t rank)
{
    assert(rank < core->size);
    if (core->state.peers[rank] != NULL) {
        core->state.peers[rank]->heard_ns = core->now_ns;
    }
}

bool core_make_room(struct core *core, uint32_t size)
{
    assert(size <= LIMIT_RANKS);
    if (size <= core->size) {
        return true;
    }
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        struct lane_record *lane = &core->gossip.lanes[i];
        if (lane->agreed == NULL) {
            continue;
        }
        uint64_t *agreed = core_resize(core, lane->agreed, size * sizeof(*agreed));
        if (agreed == NULL) {
            return false;
        }
        memset(agreed + core->size, 0, (size - core->size) * sizeof(*agreed));
        lane->agreed = agreed;
    }
    return peers_make_room(core, size);
}

void peer_spoke(struct core *core, uint32_t rank)
{
    assert(rank < core->size && core->epoch > 0);
    if (core->state.peers[rank] != NULL) {
        core->state.peers[rank]->spoke_epoch = core->epoch;
    }
}

uint32_t peer_of_uid(const struct core *core, uint64_t uid)
{
    for (uint32_t rank = 0; rank < core->size; rank++) {
        if (core->state.uids[rank] == uid) {
            return rank;
        }
    }
    return NOBODY;
}

bool peer_is_named(const struct core *core, uint32_t rank)
{
    return rank < core->size && core->state.uids[rank] != 0;
}

bool peer_is(const struct core *core, uint32_t rank, uint64_t uid)
{
    return peer_is_named(core, rank) && core->state.uids[rank] == uid;
}

const struct message_newcomer *peer_beginning(const struct core *core, uint32_t rank)
{
    for (uint32_t i = 0; i < core->state.beginning_count; i++) {
        if (core->state.beginnings[i].rank == rank) {
            return &core->state.beginnings[i];
        }
    }
    return NULL;
}

uint64_t peer_begins(const struct core *core, uint32_t rank, uint32_t lane)
{
    const struct message_newcomer *beginning =
        core->state.beginning_count > 0 ? peer_beginning(core, rank) : NULL;
    return beginning != NULL && lane < beginning->lanes ? beginning->places[lane] : 0;
}

void peer_note_beginning(struct core *core, const struct message_newcomer *newcomer)
{
    if (newcomer->lanes == 0 || peer_beginning(core, newcomer->rank) != NULL) {
        return;
    }
    const size_t size = newcomer->lanes * sizeof(*newcomer->places);
    uint64_t *places = core_alloc(core, size);
    if (places == NULL ||
        !core_grow(core, &core->state.beginnings, &core->state.beginning_room,
                   core->state.beginning_count + 1, sizeof(*newcomer))) {
        free(places);
        return;
    }
    memcpy(places, newcomer->places, size);
    struct message_newcomer *made =
        &core->state.beginnings[core->state.beginning_count++];
    *made = *newcomer;
    made->places = places;
}

void peer_name(struct core *core, uint32_t rank, uint64_t uid, uint32_t host)
{
    assert(rank < core->size);
    core->state.uids[rank] = uid;
    core->state.hosts[rank] = host;
}
