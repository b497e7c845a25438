/* far.c - pieces over the wire, one in a datagram (carrier.h).
 *
 *     sealed:  | number | link_head, piece_head, bytes ... (encrypted) | tag |
 *     open:             | link_head, piece_head, bytes ...             |
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

/* The first piece goes there, or the first datagram comes from there. */
static bool introduce(struct carrier *c, struct carrier_peer *p)
{
    const uint64_t uid = c->exchange.peers[p->rank].uid;
    const struct channel_card *card = &c->cards[p->rank];
    if (p->introduced) {
        return true;
    }
    if (!c->reliable && p->link == NULL) {
        p->link = link_new(&c->link_options);
    }
    if (!c->reliable && p->link == NULL) {
        exchange_fail(&c->exchange, MOOT_ERR_NO_MEMORY, "out of memory for a link");
        return false;
    }
    if (c->table->introduce(c->wire, uid, card->bytes, card->size) != MOOT_OK) {
        exchange_fail(&c->exchange, MOOT_ERR_TRANSPORT, c->table->story(c->wire));
        return false;
    }
    seal_begin(&p->seal, channel_key(c->channel),
               c->exchange.peers[c->exchange.rank].uid, uid);
    p->introduced = true;
    return true;
}

/* --- Sending ---------------------------------------------------------------------- */

/* Gives the wire the datagram in `bytes`; keeps a copy if there is no room for it. */
static bool hand_over(struct carrier *c, struct carrier_peer *p,
                      const unsigned char *bytes, size_t size)
{
    const int code =
        c->table->send(c->wire, c->exchange.peers[p->rank].uid, bytes, size);
    if (code == MOOT_TRANSPORT_FULL && p->held == NULL) {
        p->held = malloc(sizeof(*p->held) + size);
        if (p->held == NULL) {
            exchange_fail(&c->exchange, MOOT_ERR_NO_MEMORY,
                          "out of memory for a datagram");
            return false;
        }
        p->held->size = size;
        memcpy(p->held->bytes, bytes, size);
    } else if (code < 0) {
        exchange_fail(&c->exchange, MOOT_ERR_TRANSPORT, c->table->story(c->wire));
    }
    return code == MOOT_OK;
}

/* Writes the datagram: what `opened` holds, sealed. */
static bool emit(struct carrier *c, struct carrier_peer *p, const unsigned char *plain,
                 size_t size)
{
    if (!c->sealed) {
        return hand_over(c, p, plain, size);
    }
    seal_close(&p->seal, plain, size, c->scratch);
    return hand_over(c, p, c->scratch, size + SEAL_BYTES);
}

/* False: the wire has no room, and nothing may go before what is held. */
static bool give_held(struct carrier *c, struct carrier_peer *p)
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
    return introduce(c, p) && give_held(c, p) &&
           (p->link == NULL || link_backlog(p->link) < LINK_WINDOW);
}

/* A piece as it stands in a datagram, with room for the link's words. */
static struct bundle *packet_make(const struct piece_head *head, const void *bytes)
{
    const size_t size = sizeof(struct link_head) + sizeof(*head) + head->size;
    struct bundle *packet = malloc(sizeof(*packet) + size);
    if (packet == NULL) {
        return NULL;
    }
    packet->size = size;
    memset(packet->bytes, 0, sizeof(struct link_head));
    memcpy(packet->bytes + sizeof(struct link_head), head, sizeof(*head));
    if (head->size > 0) {
        memcpy(packet->bytes + sizeof(struct link_head) + sizeof(*head), bytes,
               head->size);
    }
    return packet;
}

bool far_send(struct carrier *c, struct carrier_peer *p, const struct piece_head *head,
              const void *bytes)
{
    if (!far_has_room(c, p) || c->exchange.failed) {
        return false;
    }
    struct bundle *packet = packet_make(head, bytes);
    if (packet == NULL || (p->link != NULL && link_send(p->link, packet) == 0)) {
        free(packet);
        exchange_fail(&c->exchange, MOOT_ERR_NO_MEMORY, "out of memory for a piece");
        return false;
    }
    if (p->link == NULL) {
        (void)emit(c, p, packet->bytes, packet->size); /* it went, or it is held */
        free(packet);
    } else {
        (void)far_drive(c, p);
    }
    return !c->exchange.failed;
}

bool far_drive(struct carrier *c, struct carrier_peer *p)
{
    struct link_transmission next;
    unsigned char alone[sizeof(struct link_head)];
    while (give_held(c, p) && !c->exchange.failed && p->link != NULL &&
           link_next(p->link, carrier_now_ns(), &next)) {
        const struct link_head head = {next.sequence, next.ack};
        struct bundle *packet = next.frame;
        unsigned char *bytes = packet != NULL ? packet->bytes : alone;
        memcpy(bytes, &head, sizeof(head));
        (void)emit(c, p, bytes, packet != NULL ? packet->size : sizeof(alone));
    }
    return p->held == NULL &&
           (p->link == NULL || link_deadline_ns(p->link) == LINK_NEVER);
}

bool far_is_flushed(const struct carrier_peer *p)
{
    return p->held == NULL && (p->link == NULL || link_backlog(p->link) == 0);
}

/* --- Receiving -------------------------------------------------------------------- */

static void take_by_link(struct carrier *c, struct carrier_peer *p,
                         const struct link_head *head, const unsigned char *bytes,
                         size_t size)
{
    struct bundle *packet = NULL;
    if (head->sequence != 0) {
        packet = malloc(sizeof(*packet) + size);
        if (packet == NULL) {
            return; /* it comes again */
        }
        packet->size = size;
        memcpy(packet->bytes, bytes, size);
    }
    link_receive(p->link, carrier_now_ns(), head->sequence, head->ack, packet);
    while ((packet = link_take(p->link)) != NULL) {
        if (!c->exchange.failed) {
            pieces_take(c, p, packet->bytes, packet->size);
        }
        free(packet);
    }
    pieces_wake(c, p); /* to acknowledge it */
}

/* A datagram of `size` bytes, opened. */
static void take(struct carrier *c, struct carrier_peer *p, const unsigned char *bytes,
                 size_t size)
{
    struct link_head head;
    if (size < sizeof(head)) {
        c->forged++;
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

static void far_frame(void *context, uint64_t from_uid, const void *bytes, size_t size)
{
    struct carrier *c = context;
    const uint32_t rank = exchange_rank_of(&c->exchange, from_uid);
    if (rank == UINT32_MAX || size > c->table->frame_max) {
        c->strangers++;
        return;
    }
    struct carrier_peer *p = &c->peers[rank];
    if (c->exchange.failed || !introduce(c, p)) {
        return;
    }
    if (!c->sealed) {
        take(c, p, bytes, size);
    } else if (seal_open(&p->seal, bytes, size, c->reliable, c->opened)) {
        take(c, p, c->opened, size - SEAL_BYTES);
    } else {
        c->forged++;
    }
}

/* A suspicion, no more: heartbeats find out. */
static void far_unreachable(void *context, uint64_t uid) { (void)context, (void)uid; }

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
    link_free(p->link);
    free(p->held);
    p->link = NULL;
    p->held = NULL;
    p->introduced = false;
}
