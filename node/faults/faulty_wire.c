/* faulty_wire.c - see faulty_wire.h. */
#include "node/faults/faulty_wire.h"

#include "consensus/link/link.h"
#include "node/engine/clock.h"
#include "node/faults/faults.h"
#include "proto/limits.h"
#include "proto/wire.h"

#include <stdlib.h>
#include <string.h>

#define MILLISECONDS(n) (UINT64_C(1000000) * (n))

/* What stands before a frame's bytes on the real wire. */
struct header {
    uint64_t sequence, ack;
    uint64_t types; /* PLAN_TYPE bits: what the plan selects by */
    uint64_t more;  /* 1: the next one continues this frame */
};
enum { PIECE_BYTES_MAX = LIMIT_FRAME_BYTES - sizeof(struct header) };

/* A frame, or a piece of one, on its way through a link. */
struct packet {
    uint64_t types, more;
    size_t size;
    unsigned char bytes[];
};

/* On its way through the plan, ready for the real wire. */
struct wire_flight {
    struct wire_flight *next;
    uint64_t due_ns;
    uint32_t waits_for; /* later frames that are to pass it */
    size_t size;
    unsigned char *bytes;
};

struct faulty_peer {
    uint64_t uid;
    struct link *link; /* NULL: this rank itself */
    bool forgotten;
    struct wire_flight *flights; /* delayed and held back */
    unsigned char *joined;       /* the pieces of a frame that have come */
    size_t joined_size;
};

struct faulty {
    struct transport base;
    struct transport *inner;
    struct moot *m;
    struct link_options options;
    uint32_t size;
    struct faulty_peer *peers;                 /* by rank */
    const struct transport_receiver *receiver; /* of the poll that is on */
    int calls;
    int failed;
};

static uint32_t peer_find(const struct faulty *f, uint64_t uid)
{
    uint32_t rank = 0;
    while (rank < f->size && f->peers[rank].uid != uid) {
        rank++;
    }
    bool usable =
        rank < f->size && f->peers[rank].link != NULL && !f->peers[rank].forgotten;
    return usable ? rank : f->size;
}

/* --- Through the plan ------------------------------------------------------------- */

static void put_on_wire(struct faulty *f, const struct faulty_peer *peer, void *bytes,
                        size_t size)
{
    int code = f->inner->ops->send(f->inner, peer->uid, bytes, size);
    if (code != MOOT_OK && f->failed == MOOT_OK) {
        f->failed = code;
    }
}

static void hold_back(struct faulty *f, struct faulty_peer *peer, void *bytes,
                      size_t size, uint64_t delay_ns, uint32_t waits_for)
{
    struct wire_flight *flight = malloc(sizeof(*flight));
    if (flight == NULL) {
        free(bytes); /* lost: the link sends it again */
        return;
    }
    *flight = (struct wire_flight){.next = peer->flights,
                                   .due_ns = clock_ns() + delay_ns,
                                   .waits_for = waits_for,
                                   .size = size,
                                   .bytes = bytes};
    (void)f;
    peer->flights = flight;
}

/* Sends what is due; if a frame has just passed, those that wait for it come nearer. */
static void let_go(struct faulty *f, struct faulty_peer *peer, bool passed)
{
    uint64_t now_ns = clock_ns();
    struct wire_flight **link = &peer->flights;
    while (*link != NULL) {
        struct wire_flight *flight = *link;
        bool was_held = flight->waits_for > 0;
        flight->waits_for -= passed && was_held;
        if (flight->due_ns > now_ns && !(was_held && flight->waits_for == 0)) {
            link = &flight->next;
            continue;
        }
        *link = flight->next;
        put_on_wire(f, peer, flight->bytes, flight->size);
        free(flight);
    }
}

static void *copy_of(const void *bytes, size_t size)
{
    void *copy = malloc(size);
    return copy != NULL ? memcpy(copy, bytes, size) : NULL;
}

static void fly(struct faulty *f, uint32_t to, uint64_t types, void *bytes, size_t size)
{
    struct faulty_peer *peer = &f->peers[to];
    struct fate fate = faults_fate(f->m, types, to);
    if (fate.lost) {
        free(bytes);
        return;
    }
    for (uint32_t i = 1; i < fate.copies; i++) {
        void *copy = copy_of(bytes, size);
        if (copy != NULL) {
            hold_back(f, peer, copy, size, fate.delay_ns, 0);
        }
    }
    if (fate.waits_for > 0) {
        hold_back(f, peer, bytes, size, PLAN_REORDER_HOLD_NS, fate.waits_for);
    } else if (fate.delay_ns > 0) {
        hold_back(f, peer, bytes, size, fate.delay_ns, 0);
    } else {
        put_on_wire(f, peer, bytes, size);
        let_go(f, peer, true);
    }
}

static void launch(struct faulty *f, uint32_t to, const struct header *header,
                   const void *payload, size_t size)
{
    unsigned char *bytes = malloc(sizeof(*header) + size);
    if (bytes == NULL) {
        return; /* lost */
    }
    memcpy(bytes, header, sizeof(*header));
    if (size > 0) {
        memcpy(bytes + sizeof(*header), payload, size);
    }
    fly(f, to, header->types, bytes, sizeof(*header) + size);
}

/* --- Through the link ------------------------------------------------------------- */

static void transmit(struct faulty *f, uint32_t to, const struct link_transmission *out)
{
    const struct packet *packet = out->frame;
    size_t size = packet != NULL ? packet->size : 0;
    const struct header header = {.sequence = out->sequence,
                                  .ack = out->ack,
                                  .types = packet != NULL ? packet->types : 0,
                                  .more = packet != NULL ? packet->more : 0};
    launch(f, to, &header, packet != NULL ? packet->bytes : NULL, size);
}

static void pump(struct faulty *f, uint32_t to)
{
    struct faulty_peer *peer = &f->peers[to];
    struct link_transmission out;
    while (!peer->forgotten && link_next(peer->link, clock_ns(), &out)) {
        transmit(f, to, &out);
    }
    let_go(f, peer, false);
}

static uint64_t types_of(const void *bytes, size_t size)
{
    struct wire_frame frame;
    const char *why;
    uint64_t types = 0;
    if (wire_frame_decode(bytes, size, &frame, &why) == MOOT_OK) {
        for (size_t i = 0; i < frame.count; i++) {
            types |= PLAN_TYPE(frame.messages[i].type);
        }
        wire_frame_release(&frame);
    }
    return types;
}

static struct packet *packet_new(uint64_t types, uint64_t more, const void *bytes,
                                 size_t size)
{
    struct packet *packet = malloc(sizeof(*packet) + size);
    if (packet != NULL) {
        *packet = (struct packet){.types = types, .more = more, .size = size};
        memcpy(packet->bytes, bytes, size);
    }
    return packet;
}

/* What is worthless when late goes past the link. */
static bool goes_past(uint64_t types)
{
    return types != 0 && (types & ~FAULTY_WIRE_PAST) == 0;
}

static int send_pieces(struct faulty *f, uint32_t to, const unsigned char *bytes,
                       size_t size)
{
    uint64_t types = types_of(bytes, size);
    if (goes_past(types)) {
        const struct header header = {.ack = link_ack(f->peers[to].link),
                                      .types = types};
        launch(f, to, &header, bytes, size);
        return MOOT_OK;
    }
    while (size > 0) {
        size_t part = size < PIECE_BYTES_MAX ? size : PIECE_BYTES_MAX;
        struct packet *packet = packet_new(types, part < size, bytes, part);
        if (packet == NULL || link_send(f->peers[to].link, packet) == 0) {
            free(packet);
            return MOOT_ERR_NO_MEMORY;
        }
        bytes += part;
        size -= part;
    }
    return MOOT_OK;
}

static int faulty_send(struct transport *t, uint64_t to_uid, void *bytes, size_t size)
{
    struct faulty *f = (struct faulty *)t;
    uint32_t to = peer_find(f, to_uid);
    if (to == f->size || size == 0 || size > LIMIT_FRAME_BYTES) {
        return f->inner->ops->send(f->inner, to_uid, bytes, size); /* which refuses */
    }
    int code = send_pieces(f, to, bytes, size);
    free(bytes);
    pump(f, to);
    return code != MOOT_OK ? code : f->failed;
}

/* --- Receiving -------------------------------------------------------------------- */

static void join(struct faulty *f, struct faulty_peer *peer,
                 const struct packet *packet)
{
    unsigned char *grown = realloc(peer->joined, peer->joined_size + packet->size + 1);
    if (grown == NULL) {
        f->failed = MOOT_ERR_NO_MEMORY;
        return;
    }
    memcpy(grown + peer->joined_size, packet->bytes, packet->size);
    peer->joined = grown;
    peer->joined_size += packet->size;
    if (packet->more == 0) {
        size_t size = peer->joined_size;
        peer->joined = NULL;
        peer->joined_size = 0;
        f->calls++;
        f->receiver->frame(f->receiver->context, peer->uid, grown, size);
    }
}

/* A frame that went past the link. */
static void past(struct faulty *f, uint32_t from, const struct header *header,
                 const void *bytes, size_t size)
{
    void *copy = copy_of(bytes, size);
    link_receive(f->peers[from].link, clock_ns(), 0, header->ack, NULL);
    if (copy != NULL) {
        f->calls++;
        f->receiver->frame(f->receiver->context, f->peers[from].uid, copy, size);
    }
}

static void on_frame(void *context, uint64_t from_uid, void *bytes, size_t size)
{
    struct faulty *f = context;
    uint32_t from = peer_find(f, from_uid);
    struct header header;
    if (from < f->size && size >= sizeof(header)) {
        memcpy(&header, bytes, sizeof(header));
        size_t left = size - sizeof(header);
        struct packet *packet =
            header.sequence != 0
                ? packet_new(header.types, header.more,
                             (unsigned char *)bytes + sizeof(header), left)
                : NULL;
        bool lost = faults_loses_arriving(f->m, header.types, from) ||
                    (header.sequence != 0 && packet == NULL);
        if (lost) {
            free(packet);
        } else if (header.sequence == 0 && left > 0) {
            past(f, from, &header, (unsigned char *)bytes + sizeof(header), left);
        } else {
            link_receive(f->peers[from].link, clock_ns(), header.sequence, header.ack,
                         packet);
        }
        while ((packet = link_take(f->peers[from].link)) != NULL) {
            join(f, &f->peers[from], packet);
            free(packet);
        }
    }
    free(bytes);
}

static void on_bulk(void *context, uint64_t from_uid, void *cookie)
{
    struct faulty *f = context;
    f->calls++;
    f->receiver->bulk(f->receiver->context, from_uid, cookie);
}

static void on_bulk_sent(void *context, uint64_t to_uid, void *cookie)
{
    struct faulty *f = context;
    f->calls++;
    f->receiver->bulk_sent(f->receiver->context, to_uid, cookie);
}

static int faulty_poll(struct transport *t, const struct transport_receiver *receiver,
                       int frames_max)
{
    struct faulty *f = (struct faulty *)t;
    const struct transport_receiver own = {f, on_frame, on_bulk, on_bulk_sent, NULL};
    f->receiver = receiver;
    f->calls = 0;
    int code = f->inner->ops->poll(f->inner, &own, frames_max);
    for (uint32_t rank = 0; rank < f->size; rank++) {
        if (f->peers[rank].link != NULL && !f->peers[rank].forgotten) {
            pump(f, rank);
        }
    }
    if (code < 0) {
        return code;
    }
    return f->failed != MOOT_OK ? f->failed : f->calls;
}

/* --- The other slots -------------------------------------------------------------- */

static size_t faulty_backlog(const struct transport *t, uint64_t to_uid)
{
    const struct faulty *f = (const struct faulty *)t;
    uint32_t to = peer_find(f, to_uid);
    return to < f->size ? (size_t)link_backlog(f->peers[to].link) : 0;
}

static int faulty_bulk_send(struct transport *t, uint64_t to_uid, const void *data,
                            size_t size, void *cookie)
{
    struct transport *inner = ((struct faulty *)t)->inner;
    return inner->ops->bulk_send(inner, to_uid, data, size, cookie);
}

static int faulty_bulk_receive(struct transport *t, uint64_t from_uid, void *data,
                               size_t size, void *cookie)
{
    struct transport *inner = ((struct faulty *)t)->inner;
    return inner->ops->bulk_receive(inner, from_uid, data, size, cookie);
}

static bool faulty_flushed(const struct transport *t)
{
    const struct faulty *f = (const struct faulty *)t;
    for (uint32_t rank = 0; rank < f->size; rank++) {
        const struct faulty_peer *peer = &f->peers[rank];
        if (peer->link != NULL && !peer->forgotten && link_backlog(peer->link) > 0) {
            return false;
        }
    }
    return f->inner->ops->flushed(f->inner);
}

static void drop_flights(struct faulty_peer *peer)
{
    while (peer->flights != NULL) {
        struct wire_flight *next = peer->flights->next;
        free(peer->flights->bytes);
        free(peer->flights);
        peer->flights = next;
    }
}

static void faulty_forget(struct transport *t, uint64_t uid)
{
    struct faulty *f = (struct faulty *)t;
    uint32_t rank = peer_find(f, uid);
    if (rank < f->size) {
        link_forget(f->peers[rank].link);
        drop_flights(&f->peers[rank]);
        f->peers[rank].forgotten = true;
    }
    f->inner->ops->forget(f->inner, uid);
}

static void faulty_distrust(struct transport *t, uint64_t uid)
{
    struct transport *inner = ((struct faulty *)t)->inner;
    if (inner->ops->distrust != NULL) {
        inner->ops->distrust(inner, uid);
    }
}

static void faulty_go_alone(struct transport *t)
{
    struct transport *inner = ((struct faulty *)t)->inner;
    inner->ops->go_alone(inner);
}

static uint32_t faulty_next_death(struct transport *t)
{
    struct transport *inner = ((struct faulty *)t)->inner;
    return inner->ops->next_death != NULL ? inner->ops->next_death(inner) : UINT32_MAX;
}

static bool faulty_emptied(struct transport *t)
{
    struct transport *inner = ((struct faulty *)t)->inner;
    return inner->ops->emptied != NULL && inner->ops->emptied(inner);
}

static uint32_t faulty_next_newcomer(struct transport *t, struct transport_group *group)
{
    struct faulty *f = (struct faulty *)t;
    const uint32_t rank = f->inner->ops->next_newcomer != NULL
                              ? f->inner->ops->next_newcomer(f->inner, group)
                              : UINT32_MAX;
    if (rank == UINT32_MAX) {
        return rank;
    }
    f->peers[rank].uid = group->uids[rank];
    f->peers[rank].link = link_new(&f->options);
    if (f->peers[rank].link == NULL) {
        f->failed = MOOT_ERR_NO_MEMORY; /* told by the next poll */
    }
    return rank;
}

static struct transport *faulty_beneath(struct transport *t)
{
    return ((struct faulty *)t)->inner;
}

static void faulty_stats(const struct transport *t, struct transport_stats *out)
{
    const struct faulty *f = (const struct faulty *)t;
    f->inner->ops->stats(f->inner, out);
    for (uint32_t rank = 0; rank < f->size; rank++) {
        if (f->peers[rank].link != NULL) {
            out->linked += link_stats(f->peers[rank].link)->sent;
            out->resent += link_stats(f->peers[rank].link)->resent;
        }
    }
}

static const char *faulty_story(const struct transport *t)
{
    const struct transport *inner = ((const struct faulty *)t)->inner;
    return inner->ops->story(inner);
}

static bool faulty_free(struct transport *t)
{
    struct faulty *f = (struct faulty *)t;
    for (uint32_t rank = 0; f->peers != NULL && rank < f->size; rank++) {
        link_free(f->peers[rank].link);
        drop_flights(&f->peers[rank]);
        free(f->peers[rank].joined);
    }
    free(f->peers);
    bool quiet = f->inner == NULL || f->inner->ops->free(f->inner);
    free(f);
    return quiet;
}

static const struct transport_ops faulty_ops = {
    .name = "faulty",
    .send = faulty_send,
    .backlog = faulty_backlog,
    .bulk_send = faulty_bulk_send,
    .bulk_receive = faulty_bulk_receive,
    .poll = faulty_poll,
    .flushed = faulty_flushed,
    .forget = faulty_forget,
    .distrust = faulty_distrust,
    .go_alone = faulty_go_alone,
    .next_death = faulty_next_death,
    .emptied = faulty_emptied,
    .next_newcomer = faulty_next_newcomer,
    .beneath = faulty_beneath,
    .stats = faulty_stats,
    .story = faulty_story,
    .free = faulty_free,
};

void faulty_wire_look(const struct moot *m, uint32_t rank, struct faulty_view *out)
{
    *out = (struct faulty_view){0};
    if (m->transport->ops != &faulty_ops) {
        return;
    }
    const struct faulty *f = (const struct faulty *)m->transport;
    const struct faulty_peer *peer = &f->peers[rank];
    if (peer->link != NULL && !peer->forgotten) {
        *out = (struct faulty_view){.backlog = link_backlog(peer->link),
                                    .resent = link_stats(peer->link)->resent};
    }
}

/* --- Wrapping --------------------------------------------------------------------- */

static void release_packet(void *context, void *frame)
{
    (void)context;
    free(frame);
}

static bool make_peers(struct faulty *f, const struct transport_group *group)
{
    f->peers = calloc(group->size, sizeof(*f->peers));
    bool good = f->peers != NULL;
    for (uint32_t rank = 0; good && rank < group->size; rank++) {
        f->peers[rank].uid = group->uids[rank];
        if (rank != group->rank && group->uids[rank] != 0) {
            f->peers[rank].link = link_new(&f->options);
            good = f->peers[rank].link != NULL;
        }
    }
    return good;
}

int faulty_wire_wrap(struct moot *m)
{
    struct faulty *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    f->base.ops = &faulty_ops;
    f->m = m;
    f->size = m->group.size;
    f->options = (struct link_options){.rto_initial_ns = MILLISECONDS(20),
                                       .rto_min_ns = MILLISECONDS(5),
                                       .rto_max_ns = MILLISECONDS(40),
                                       .ack_delay_ns = MILLISECONDS(2),
                                       .release = release_packet};
    if (!make_peers(f, &m->group)) {
        faulty_free(&f->base);
        return MOOT_ERR_NO_MEMORY;
    }
    f->inner = m->transport;
    m->transport = &f->base;
    return MOOT_OK;
}
