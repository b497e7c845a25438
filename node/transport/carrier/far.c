/* far.c - pieces over the wire, one in a datagram (carrier.h).
 *
 *     sealed:  | number | link_head, piece_head, bytes ... (encrypted) | tag |
 *     open:             | link_head, piece_head, bytes ...             |
 *
 * and by a route with a route_head before the link's.
 *
 * A wire that has no room for a datagram gets the same one again: it has its number in
 * the link and in the seal, and on a wire that promises its order it must be the next.
 */
#include "node/transport/carrier/carrier_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t carrier_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Before the first datagram there is sealed, or one that may be from there is opened.
 * Never again: under the same keys numbers would begin anew. */
static void make_keys(struct carrier *c, struct carrier_peer *p)
{
    if (!p->keyed) {
        seal_begin(&p->seal, channel_key(c->channel),
                   c->exchange.peers[c->exchange.rank].uid,
                   c->exchange.peers[p->rank].uid);
        p->keyed = true;
    }
}

/* The first datagram goes there, or the first has come from there and is known for the
 * peer's: whoever just names a peer makes this rank keep nothing. */
bool far_introduce(struct carrier *c, struct carrier_peer *p)
{
    const uint64_t uid = c->exchange.peers[p->rank].uid;
    const struct channel_card *card = &c->cards[p->rank];
    if (p->introduced) {
        return true;
    }
    if (c->table->introduce(c->wire, uid, card->bytes, card->size) != MOOT_OK) {
        exchange_fail(&c->exchange, MOOT_ERR_TRANSPORT, c->table->story(c->wire));
        return false;
    }
    make_keys(c, p);
    p->introduced = true;
    return true;
}

/* The first piece goes there, or comes from there, by whatever way. */
bool far_meet(struct carrier *c, struct carrier_peer *p)
{
    if (p->met) {
        return true;
    }
    if (c->linked && (p->link = link_new(&c->link_options)) == NULL) {
        exchange_fail(&c->exchange, MOOT_ERR_NO_MEMORY, "out of memory for a link");
        return false;
    }
    p->met = true;
    return true;
}

static struct carrier_peer *find_way(struct carrier *c, struct carrier_peer *p)
{
    return c->hops != NULL ? hops_way(c, c->exchange.rank, p) : p;
}

/* --- Sending ---------------------------------------------------------------------- */

/* Gives the wire the datagram in `bytes`; keeps a copy if there is no room for it. */
static void hand_over(struct carrier *c, struct carrier_peer *p,
                      const unsigned char *bytes, size_t size)
{
    const int code =
        c->table->send(c->wire, c->exchange.peers[p->rank].uid, bytes, size);
    if (code == MOOT_TRANSPORT_FULL && p->held == NULL) {
        p->held = malloc(sizeof(*p->held) + size);
        if (p->held == NULL) {
            exchange_fail(&c->exchange, MOOT_ERR_NO_MEMORY,
                          "out of memory for a datagram");
            return;
        }
        p->held->size = size;
        memcpy(p->held->bytes, bytes, size);
        pieces_wake(c, p);
    } else if (code < 0) {
        exchange_fail(&c->exchange, MOOT_ERR_TRANSPORT, c->table->story(c->wire));
    }
}

void far_emit(struct carrier *c, struct carrier_peer *hop, const unsigned char *plain,
              size_t size)
{
    if (!c->sealed) {
        hand_over(c, hop, plain, size);
        return;
    }
    seal_close(&hop->seal, plain, size, c->scratch);
    hand_over(c, hop, c->scratch, size + SEAL_BYTES);
}

/* Nothing may go before what is held. */
bool far_give_held(struct carrier *c, struct carrier_peer *p)
{
    if (p->held == NULL) {
        return true;
    }
    const int code = c->table->send(c->wire, c->exchange.peers[p->rank].uid,
                                    p->held->bytes, p->held->size);
    if (code == MOOT_TRANSPORT_FULL) {
        return false;
    }
    if (code < 0) {
        exchange_fail(&c->exchange, MOOT_ERR_TRANSPORT, c->table->story(c->wire));
    }
    free(p->held);
    p->held = NULL;
    return true;
}

bool far_has_room(struct carrier *c, struct carrier_peer *p)
{
    struct carrier_peer *hop = find_way(c, p);
    return far_meet(c, p) && far_introduce(c, hop) && far_give_held(c, hop) &&
           (p->link == NULL || link_backlog(p->link) < LINK_WINDOW);
}

/* A piece as it stands in a datagram, with room for the words of the route and of the
 * link. */
static struct bundle *packet_make(struct carrier *c, const struct piece_head *head,
                                  const void *bytes)
{
    const size_t before = c->way_bytes + sizeof(struct link_head);
    const size_t size = before + sizeof(*head) + head->size;
    struct bundle *packet = bundle_take(c, size);
    if (packet == NULL) {
        return NULL;
    }
    memset(packet->bytes, 0, before);
    memcpy(packet->bytes + before, head, sizeof(*head));
    if (head->size > 0) {
        memcpy(packet->bytes + before + sizeof(*head), bytes, head->size);
    }
    return packet;
}

bool far_send(struct carrier *c, struct carrier_peer *p, const struct piece_head *head,
              const void *bytes)
{
    if (!far_has_room(c, p) || c->exchange.failed) {
        return false;
    }
    struct bundle *packet = packet_make(c, head, bytes);
    if (packet == NULL || (p->link != NULL && link_send(p->link, packet) == 0)) {
        bundle_give(c, packet);
        exchange_fail(&c->exchange, MOOT_ERR_NO_MEMORY, "out of memory for a piece");
        return false;
    }
    if (p->link == NULL) {
        far_emit(c, p, packet->bytes, packet->size); /* it went, or it is held */
        bundle_give(c, packet);
    } else {
        (void)far_drive(c, p);
    }
    return !c->exchange.failed;
}

/* Sends what the link has, by the way that is the way now; false: something is left. */
static bool drive_link(struct carrier *c, struct carrier_peer *p)
{
    struct link_transmission next;
    unsigned char alone[sizeof(struct route_head) + sizeof(struct link_head)];
    struct carrier_peer *hop = find_way(c, p);
    while (far_introduce(c, hop) && far_give_held(c, hop) && !c->exchange.failed &&
           link_next(p->link, carrier_now_ns(), &next)) {
        const struct link_head head = {next.sequence, next.ack};
        struct bundle *packet = next.frame;
        unsigned char *bytes = packet != NULL ? packet->bytes : alone;
        memcpy(bytes + c->way_bytes, &head, sizeof(head));
        if (c->hops != NULL) {
            hops_address(c, hop, p, bytes);
            hops_sent(c, hop, hop != p || packet != NULL);
        }
        far_emit(c, hop, bytes,
                 packet != NULL ? packet->size : c->way_bytes + sizeof(head));
    }
    return link_deadline_ns(p->link) == LINK_NEVER;
}

bool far_drive(struct carrier *c, struct carrier_peer *p)
{
    bool done = !p->introduced || far_give_held(c, p);
    done = (c->hops == NULL || hops_drive(c, p)) && done;
    return (p->link == NULL || drive_link(c, p)) && done && p->held == NULL;
}

bool far_holds(const struct carrier_peer *p)
{
    return p->held != NULL || p->passed != NULL;
}

bool far_is_flushed(const struct carrier_peer *p)
{
    return !far_holds(p) && (p->link == NULL || link_backlog(p->link) == 0);
}

/* --- Receiving -------------------------------------------------------------------- */

static void take_by_link(struct carrier *c, struct carrier_peer *p,
                         const struct link_head *head, const unsigned char *bytes,
                         size_t size)
{
    struct bundle *packet = NULL;
    if (head->sequence != 0) {
        packet = bundle_take(c, size);
        if (packet == NULL) {
            return; /* it comes again */
        }
        memcpy(packet->bytes, bytes, size);
    }
    link_receive(p->link, carrier_now_ns(), head->sequence, head->ack, packet);
    while ((packet = link_take(p->link)) != NULL) {
        if (!c->exchange.failed) {
            pieces_take(c, p, packet->bytes, packet->size);
        }
        bundle_give(c, packet);
    }
    pieces_wake(c, p); /* to acknowledge it */
}

/* A datagram of `size` bytes, opened. */
static void take(struct carrier *c, struct carrier_peer *p, const unsigned char *bytes,
                 size_t size)
{
    struct link_head head;
    if (size < sizeof(head)) {
        c->exchange.stats.forged++;
        return;
    }
    memcpy(&head, bytes, sizeof(head));
    bytes += sizeof(head);
    size -= sizeof(head);
    if (p->link != NULL) {
        take_by_link(c, p, &head, bytes, size);
    } else {
        pieces_take(c, p, bytes, size);
    }
}

/* True: the datagram is the peer's, and new; *bytes are what it was sealed from. */
static bool unseal(struct carrier *c, struct carrier_peer *p,
                   const unsigned char **bytes, size_t *size)
{
    if (!c->sealed) {
        return true;
    }
    make_keys(c, p);
    const enum seal_found found =
        seal_open(&p->seal, *bytes, *size, c->reliable, c->opened);
    c->exchange.stats.forged += found == SEAL_FORGED;
    c->exchange.stats.repeated += found == SEAL_REPEATED;
    *bytes = c->opened;
    *size -= found == SEAL_OPENED ? SEAL_BYTES : 0;
    return found == SEAL_OPENED;
}

/* A datagram of this hop's, opened; `fresh`: it is none that came before. */
static void take_hop(struct carrier *c, struct carrier_peer *hop,
                     const unsigned char *bytes, size_t size, bool fresh)
{
    struct carrier_peer *from = hop;
    if (c->hops != NULL) {
        from = hops_take(c, hop, bytes, size, fresh);
        bytes += c->way_bytes;
        size -= c->way_bytes;
    }
    if (from != NULL && far_meet(c, from)) {
        take(c, from, bytes, size);
    }
}

static void far_frame(void *context, uint64_t from_uid, const void *bytes, size_t size)
{
    struct carrier *c = context;
    const unsigned char *plain = bytes;
    uint32_t rank = exchange_rank_of(&c->exchange, from_uid);
    if (rank == UINT32_MAX) {
        newcomers_take(c); /* its first word may come with the launcher's */
        rank = exchange_rank_of(&c->exchange, from_uid);
    }
    if (rank == UINT32_MAX || size > c->table->frame_max) {
        c->exchange.stats.strangers += !exchange_has_forgotten(&c->exchange, from_uid);
        return;
    }
    struct carrier_peer *p = &c->peers[rank];
    const uint64_t before = p->seal.opened;
    if (!c->exchange.failed && unseal(c, p, &plain, &size) && far_introduce(c, p)) {
        take_hop(c, p, plain, size, !c->sealed || p->seal.opened > before);
    }
}

/* A suspicion, no more: heartbeats find out. */
static void far_unreachable(void *context, uint64_t uid)
{
    struct carrier *c = context;
    const uint32_t rank = exchange_rank_of(&c->exchange, uid);
    if (c->hops != NULL && rank != UINT32_MAX) {
        hops_suspect(c, &c->peers[rank]);
    }
}

void far_poll(struct carrier *c, int frames_max)
{
    const moot_transport_receiver receiver = {.size = sizeof(receiver),
                                              .context = c,
                                              .frame = far_frame,
                                              .unreachable = far_unreachable};
    if (c->table->poll(c->wire, &receiver, frames_max) < 0) {
        exchange_fail(&c->exchange, MOOT_ERR_TRANSPORT, c->table->story(c->wire));
    }
}

void far_forget(struct carrier *c, struct carrier_peer *p)
{
    if (p->introduced) {
        c->table->forget(c->wire, c->exchange.peers[p->rank].uid);
    }
    if (c->hops != NULL) {
        hops_lose(c, p);
        hops_drop(p);
    }
    if (p->link != NULL) {
        c->linked_before += link_stats(p->link)->sent;
        c->resent_before += link_stats(p->link)->resent;
    }
    link_free(p->link);
    free(p->held);
    p->link = NULL;
    p->held = NULL;
    p->introduced = p->met = false;
}

void far_count(const struct carrier *c, struct transport_stats *out)
{
    out->linked = c->linked_before;
    out->resent = c->resent_before;
    for (uint32_t rank = 0; c->linked && rank < c->exchange.size; rank++) {
        const struct link *link = c->peers[rank].link;
        if (link != NULL) {
            out->linked += link_stats(link)->sent;
            out->resent += link_stats(link)->resent;
        }
    }
}
