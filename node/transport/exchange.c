/* exchange.c - see exchange.h. */
#include "node/transport/exchange.h"
#include "hashing/base/hot.h"
#include "proto/limits.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW_FRAMES = 64, /* frames to one peer that the wire may hold at a time */
    WINDOW_PIECES = 16  /* likewise pieces of bulk transfers, per direction */
};

#define NOBODY UINT32_MAX

static struct exchange *self(struct transport *t) { return (struct exchange *)t; }

static const struct exchange *self_const(const struct transport *t)
{
    return (const struct exchange *)t;
}

bool exchange_init(struct exchange *x, uint32_t rank, uint32_t size,
                   const uint64_t *uids)
{
    size_t places = 2;
    while (places < 2 * (size_t)size) {
        places *= 2;
    }
    x->rank = rank;
    x->size = size;
    x->peers = calloc(size, sizeof(*x->peers));
    x->by_uid = malloc(places * sizeof(*x->by_uid));
    if (!x->peers || !x->by_uid) {
        return false;
    }
    x->by_uid_mask = places - 1;
    for (size_t i = 0; i < places; i++) {
        x->by_uid[i] = NOBODY;
    }
    for (uint32_t r = 0; r < size; r++) {
        if (uids[r] != 0) {
            exchange_add(x, r, uids[r]);
        }
    }
    return true;
}

void exchange_add(struct exchange *x, uint32_t rank, uint64_t uid)
{
    assert(uid != 0 && x->peers[rank].uid == 0);
    uint64_t place = uid & x->by_uid_mask;
    while (x->by_uid[place] != NOBODY) {
        place = (place + 1) & x->by_uid_mask;
    }
    x->by_uid[place] = rank;
    x->peers[rank].uid = uid;
    x->known++;
}

void exchange_release(struct exchange *x)
{
    for (uint32_t r = 0; x->peers && r < x->size; r++) {
        for (int kind = 0; kind < TRANSFER_KINDS; kind++) {
            stream_abandon(&x->peers[r].streams[kind]);
        }
    }
    transfer_queue_release(&x->arrived);
    transfer_queue_release(&x->finished);
    transfer_pool_release(&x->pool);
    host_rings_close(&x->rings);
    free(x->peers);
    free(x->by_uid);
    x->peers = NULL;
    x->by_uid = NULL;
}

static int refuse(struct exchange *x, int code, const char *why)
{
    snprintf(x->story, sizeof(x->story), "%s", why);
    return code;
}

int exchange_fail(struct exchange *x, int code, const char *why)
{
    if (!x->failed) {
        x->failed = refuse(x, code, why);
    }
    return x->failed;
}

/* --- Towards the wire ------------------------------------------------------------- */

static bool is_incoming(enum transfer_kind kind)
{
    return kind == TRANSFER_FRAME_IN || kind == TRANSFER_BULK_IN;
}

/* The rank with this uid, whoever it is; NULL: there is none. */
HOT static struct exchange_peer *uid_find(const struct exchange *x, uint64_t uid)
{
    uint64_t place = uid & x->by_uid_mask;
    for (; x->by_uid[place] != NOBODY; place = (place + 1) & x->by_uid_mask) {
        if (x->peers[x->by_uid[place]].uid == uid) {
            return &x->peers[x->by_uid[place]];
        }
    }
    return NULL;
}

/* The peer with this uid; NULL if there is none, or it is this rank or forgotten. */
HOT static struct exchange_peer *peer_find(const struct exchange *x, uint64_t uid)
{
    struct exchange_peer *peer = uid_find(x, uid);
    return peer && !peer->forgotten && peer != &x->peers[x->rank] ? peer : NULL;
}

bool exchange_has_forgotten(const struct exchange *x, uint64_t uid)
{
    const struct exchange_peer *peer = uid_find(x, uid);
    return peer && peer->forgotten;
}

uint32_t exchange_rank_of(const struct exchange *x, uint64_t uid)
{
    const struct exchange_peer *peer = peer_find(x, uid);
    return peer ? (uint32_t)(peer - x->peers) : NOBODY;
}

/* Makes the transfer; the bytes stay the caller's unless this succeeds. */
static int prepare(struct exchange *x, enum transfer_kind kind, uint64_t uid,
                   void *bytes, size_t size, void *cookie, struct transfer **out)
{
    if (x->failed) {
        return x->failed;
    }
    const struct exchange_peer *peer = peer_find(x, uid);
    if (!peer) {
        return refuse(x, MOOT_ERR_INVALID, "no such peer");
    }
    *out =
        transfer_take(&x->pool, kind, (uint32_t)(peer - x->peers), bytes, size, cookie);
    return *out ? MOOT_OK : refuse(x, MOOT_ERR_NO_MEMORY, "out of memory");
}

/* Queues the transfer with its peer and starts what the window lets. */
static int submit(struct exchange *x, struct transfer *transfer)
{
    const enum transfer_kind kind = transfer->kind;
    const uint32_t rank = transfer->rank;
    if (!is_incoming(kind)) {
        x->unsent++;
    }
    stream_push(&x->peers[rank].streams[kind], transfer);
    exchange_pump(x, rank, kind);
    return x->failed;
}

void exchange_pump(struct exchange *x, uint32_t rank, enum transfer_kind kind)
{
    const bool frames = kind == TRANSFER_FRAME_OUT;
    const uint32_t window = frames ? WINDOW_FRAMES : WINDOW_PIECES;
    struct near *near = frames ? host_rings_near(&x->rings, rank) : NULL;
    struct stream *stream = &x->peers[rank].streams[kind];
    struct piece piece;
    while (!x->failed && stream->unstarted) {
        if (near && !exchange_ring_has_room(x, near, stream->unstarted->size)) {
            return;
        }
        if (!stream_start(stream, window, &piece)) {
            return;
        }
        if (near) {
            exchange_ring_post(x, near, &piece);
        } else {
            x->post(x, &piece);
        }
    }
}

HOT void *exchange_place(struct transport *t, uint64_t to_uid, size_t size)
{
    struct exchange *x = self(t);
    if (x->rings.count == 0 || x->failed || size == 0) {
        return NULL;
    }
    const struct exchange_peer *peer = peer_find(x, to_uid);
    if (!peer || peer->streams[TRANSFER_FRAME_OUT].transfers.head) {
        return NULL; /* it would overtake those */
    }
    return exchange_ring_place(x, (uint32_t)(peer - x->peers), size);
}

static void count_frame(struct exchange *x, size_t size)
{
    x->stats.frames_sent++;
    x->stats.bytes_sent += size;
}

HOT void exchange_placed(struct transport *t, uint64_t to_uid, size_t size)
{
    struct exchange *x = self(t);
    const struct exchange_peer *peer = peer_find(x, to_uid);
    assert(peer);
    exchange_ring_show(x, (uint32_t)(peer - x->peers), size);
    count_frame(x, size);
}

int exchange_send(struct transport *t, uint64_t to_uid, void *bytes, size_t size)
{
    struct exchange *x = self(t);
    struct transfer *transfer = NULL;
    int code;
    if (size == 0 || size > LIMIT_FRAME_BYTES) {
        code = refuse(x, MOOT_ERR_LIMIT, "a frame has 1 to LIMIT_FRAME_BYTES bytes");
    } else {
        code = prepare(x, TRANSFER_FRAME_OUT, to_uid, bytes, size, NULL, &transfer);
    }
    if (code != MOOT_OK) {
        free(bytes);
        return code;
    }
    count_frame(x, size);
    return submit(x, transfer);
}

size_t exchange_backlog(const struct transport *t, uint64_t to_uid)
{
    const struct exchange_peer *peer = peer_find(self_const(t), to_uid);
    return peer ? peer->streams[TRANSFER_FRAME_OUT].transfers.count : 0;
}

int exchange_bulk_send(struct transport *t, uint64_t to_uid, const void *data,
                       size_t size, void *cookie)
{
    struct exchange *x = self(t);
    struct transfer *transfer = NULL;
    /* The cast drops const; nothing writes through a BULK_OUT transfer. */
    const int code = prepare(x, TRANSFER_BULK_OUT, to_uid, (void *)(uintptr_t)data,
                             size, cookie, &transfer);
    if (code != MOOT_OK) {
        return code;
    }
    x->stats.bulk_sent++;
    x->stats.bytes_sent += size;
    return submit(x, transfer);
}

int exchange_bulk_receive(struct transport *t, uint64_t from_uid, void *data,
                          size_t size, void *cookie)
{
    struct exchange *x = self(t);
    struct transfer *transfer = NULL;
    const int code =
        prepare(x, TRANSFER_BULK_IN, from_uid, data, size, cookie, &transfer);
    return code == MOOT_OK ? submit(x, transfer) : code;
}

struct piece exchange_split(struct exchange *x, const struct piece *frame)
{
    struct transfer *transfer = frame->transfer;
    x->peers[transfer->rank].streams[transfer->kind].pieces_open++;
    transfer->pieces_open++;
    return (struct piece){transfer, &transfer->size, sizeof(transfer->size)};
}

/* --- From the wire ---------------------------------------------------------------- */

/* The transfer has gone through its stream. */
static void transfer_finish(struct exchange *x, struct transfer *transfer)
{
    if (transfer->kind == TRANSFER_FRAME_OUT) {
        if (!x->peers[transfer->rank].forgotten) {
            x->unsent--;
        }
        transfer_give(&x->pool, transfer);
    } else if (transfer->kind == TRANSFER_FRAME_IN) {
        transfer_queue_push(&x->arrived, transfer);
    } else {
        transfer_queue_push(&x->finished, transfer);
    }
}

void exchange_land(struct exchange *x, const struct piece *piece, size_t size)
{
    struct transfer *transfer = piece->transfer;
    struct exchange_peer *peer = &x->peers[transfer->rank];
    if (is_incoming(transfer->kind) && !peer->forgotten && size != piece->size) {
        exchange_fail(x, MOOT_ERR_TRANSPORT,
                      "a transfer has another size than was announced");
    }
    struct stream *stream = &peer->streams[transfer->kind];
    stream_end(stream, transfer);
    while ((transfer = stream_pop(stream))) {
        transfer_finish(x, transfer);
    }
}

bool exchange_expect(struct exchange *x, uint32_t rank, size_t size, struct piece *out)
{
    if (size == 0 || size > LIMIT_FRAME_BYTES) {
        exchange_fail(x, MOOT_ERR_TRANSPORT, "a frame came whose size breaks a limit");
        return false;
    }
    void *bytes = malloc(size);
    struct transfer *transfer =
        bytes ? transfer_take(&x->pool, TRANSFER_FRAME_IN, rank, bytes, size, NULL)
              : NULL;
    if (!transfer) {
        free(bytes);
        exchange_fail(x, MOOT_ERR_NO_MEMORY, "out of memory for a frame");
        return false;
    }
    struct stream *stream = &x->peers[rank].streams[TRANSFER_FRAME_IN];
    stream_push(stream, transfer);
    return stream_start(stream, UINT32_MAX, out);
}

bool exchange_take(struct exchange *x, uint32_t rank, const void *bytes, size_t size)
{
    struct piece piece;
    if (!exchange_expect(x, rank, size, &piece)) {
        return false;
    }
    memcpy(piece.bytes, bytes, size);
    exchange_land(x, &piece, size);
    return !x->failed;
}

/* Reports a bulk transfer that has ended; returns how many handlers it called. */
static int bulk_report(struct exchange *x, struct transfer *transfer,
                       const struct transport_receiver *receiver)
{
    const struct exchange_peer *peer = &x->peers[transfer->rank];
    const bool sent = transfer->kind == TRANSFER_BULK_OUT;
    const size_t size = transfer->size;
    void *cookie = transfer->cookie;
    transfer_give(&x->pool, transfer);
    if (peer->forgotten) {
        return 0;
    }
    if (sent) {
        x->unsent--;
        receiver->bulk_sent(receiver->context, peer->uid, cookie);
    } else {
        x->stats.bulk_received++;
        x->stats.bytes_received += size;
        receiver->bulk(receiver->context, peer->uid, cookie);
    }
    return 1;
}

static int frame_report(struct exchange *x, struct transfer *transfer,
                        const struct transport_receiver *receiver)
{
    const struct exchange_peer *peer = &x->peers[transfer->rank];
    const size_t size = transfer->size;
    if (peer->forgotten) {
        transfer_give(&x->pool, transfer);
        return 0;
    }
    void *bytes = transfer->bytes; /* the handler's from here on */
    transfer->bytes = NULL;
    transfer_give(&x->pool, transfer);
    x->stats.frames_received++;
    x->stats.bytes_received += size;
    receiver->frame(receiver->context, peer->uid, bytes, size);
    return 1;
}

/* Nothing that came before it waits to be handed over or is on its way. */
static bool is_next(const struct exchange *x, uint32_t rank)
{
    return x->arrived.count == 0 &&
           !x->peers[rank].streams[TRANSFER_FRAME_IN].transfers.head;
}

HOT bool exchange_bring(struct exchange *x, uint32_t rank, const void *bytes,
                        size_t size, bool lends)
{
    if (!lends || size == 0 || x->lent_count == EXCHANGE_LENT_MAX ||
        !is_next(x, rank)) {
        return exchange_take(x, rank, bytes, size);
    }
    x->lent[x->lent_count++] = (struct lent){rank, bytes, size};
    return true;
}

static int lend(struct exchange *x, const struct transport_receiver *receiver,
                const struct lent *lent)
{
    const struct exchange_peer *peer = &x->peers[lent->rank];
    if (peer->forgotten) {
        return 0;
    }
    x->stats.frames_received++;
    x->stats.bytes_received += lent->size;
    receiver->lent(receiver->context, peer->uid, lent->bytes, lent->size);
    return 1;
}

int exchange_report(struct exchange *x, const struct transport_receiver *receiver,
                    size_t frames_max)
{
    int calls = 0;
    /* Handlers may start transfers that end at once: those are the next poll's. */
    for (size_t i = 0; i < x->lent_count; i++) {
        calls += lend(x, receiver, &x->lent[i]);
    }
    frames_max -= x->lent_count < frames_max ? x->lent_count : frames_max;
    x->lent_count = 0;
    for (size_t i = x->finished.count; i > 0; i--) {
        calls += bulk_report(x, transfer_queue_pop(&x->finished), receiver);
    }
    for (size_t i = 0; i < frames_max && x->arrived.count > 0; i++) {
        calls += frame_report(x, transfer_queue_pop(&x->arrived), receiver);
    }
    return calls;
}

static void drop_frame(void *context, uint64_t from_uid, void *bytes, size_t size)
{
    (void)context, (void)from_uid, (void)size;
    free(bytes);
}

static void drop_bulk(void *context, uint64_t uid, void *cookie)
{
    (void)context, (void)uid, (void)cookie;
}

const struct transport_receiver exchange_drop = {
    .frame = drop_frame, .bulk = drop_bulk, .bulk_sent = drop_bulk};

/* --- Looking in, and forgetting --------------------------------------------------- */

bool exchange_flushed(const struct transport *t)
{
    const struct exchange *x = self_const(t);
    return x->failed || x->unsent == 0;
}

void exchange_forget(struct transport *t, uint64_t uid)
{
    struct exchange *x = self(t);
    struct exchange_peer *peer = peer_find(x, uid);
    if (!peer) {
        return;
    }
    for (const struct transfer *p = x->finished.head; p; p = p->next) {
        if (p->kind == TRANSFER_BULK_OUT && &x->peers[p->rank] == peer) {
            x->unsent--;
        }
    }
    x->unsent -= peer->streams[TRANSFER_FRAME_OUT].transfers.count +
                 peer->streams[TRANSFER_BULK_OUT].transfers.count;
    for (int kind = 0; kind < TRANSFER_KINDS; kind++) {
        stream_abandon(&peer->streams[kind]);
    }
    peer->forgotten = true;
    x->alone = true;
}

void exchange_go_alone(struct transport *t) { self(t)->alone = true; }

void exchange_stats(const struct transport *t, struct transport_stats *out)
{
    *out = self_const(t)->stats;
    out->peers_by_ring = self_const(t)->rings.count;
}

const char *exchange_story(const struct transport *t) { return self_const(t)->story; }
