/* pieces.c - from transfers to pieces, and back (carrier.h).
 *
 * Each peer has two lines of what is to go there, frames and large results, and two of
 * what is to come.  A turn sends a frame's piece before a result's, of each in turn, as
 * long as the way has room.  What comes is held against what was announced: the total
 * with which a frame begins, and the buffers that were posted for results.
 */
#include "node/transport/carrier/carrier_private.h"
#include "proto/limits.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURN_BYTES = 1 << 20 }; /* to one peer, before the next has its turn */

/* --- Lines ------------------------------------------------------------------------ */

static bool line_push(struct piece_line *line, const struct piece *piece)
{
    if (line->count == line->room) {
        size_t room = line->room > 0 ? 2 * line->room : 8;
        struct piece *items = calloc(room, sizeof(*items));
        if (items == NULL) {
            return false;
        }
        for (size_t i = 0; i < line->count; i++) {
            items[i] = line->items[(line->head + i) % line->room];
        }
        free(line->items);
        line->items = items;
        line->room = room;
        line->head = 0;
    }
    line->items[(line->head + line->count++) % line->room] = *piece;
    return true;
}

static struct piece *line_first(const struct piece_line *line)
{
    return line->count > 0 ? &line->items[line->head] : NULL;
}

static struct piece line_pop(struct piece_line *line)
{
    const struct piece piece = line->items[line->head];
    line->head = (line->head + 1) % line->room;
    line->count--;
    line->offset = 0;
    return piece;
}

/* --- Sending ---------------------------------------------------------------------- */

void pieces_wake(struct carrier *c, struct carrier_peer *p)
{
    if (!p->busy) {
        p->busy = true;
        p->next_busy = c->busy;
        c->busy = p;
    }
}

static bool way_send(struct carrier *c, struct carrier_peer *p,
                     const struct piece_head *head, const void *bytes)
{
    struct near *near = host_rings_near(&c->exchange.rings, p->rank);
    if (near == NULL) {
        return far_send(c, p, head, bytes);
    }
    unsigned char *place = ring_place(&near->out, sizeof(*head) + head->size);
    if (place == NULL) {
        return false;
    }
    memcpy(place, head, sizeof(*head));
    if (head->size > 0) {
        memcpy(place + sizeof(*head), bytes, head->size);
    }
    ring_show(&near->out, sizeof(*head) + head->size, RING_NOTICE);
    return true;
}

static size_t way_payload(const struct carrier *c, const struct carrier_peer *p)
{
    return host_rings_near(&c->exchange.rings, p->rank) != NULL
               ? c->exchange.rings.frame_max - sizeof(struct piece_head)
               : c->payload_max;
}

static bool send_ready(struct carrier *c, struct carrier_peer *p)
{
    const struct piece_head head = {.word = PIECE_READY, .total = p->ready_owed};
    if (p->ready_owed == 0 || !way_send(c, p, &head, NULL)) {
        return false;
    }
    p->ready_owed = 0;
    return true;
}

/* Sends a part of the first piece of a line; 0: nothing can be sent. */
static size_t send_part(struct carrier *c, struct carrier_peer *p, enum line which)
{
    struct piece_line *line = &p->out[which];
    const struct piece *first = line_first(line);
    if (first == NULL || (which == LINE_BULK && p->ready == 0)) {
        return 0;
    }
    size_t size = first->size - line->offset;
    if (size > way_payload(c, p)) {
        size = way_payload(c, p);
    }
    const struct piece_head head = {.word =
                                        which == LINE_FRAMES ? PIECE_FRAME : PIECE_BULK,
                                    .total = first->size,
                                    .size = (uint32_t)size};
    const char *bytes = size > 0 ? (const char *)first->bytes + line->offset : NULL;
    if (!way_send(c, p, &head, bytes)) {
        return 0;
    }
    line->offset += size;
    if (line->offset == first->size) {
        const struct piece piece = line_pop(line);
        const enum transfer_kind kind = piece.transfer->kind;
        p->ready -= which == LINE_BULK;
        exchange_land(&c->exchange, &piece, 0);
        exchange_pump(&c->exchange, p->rank, kind);
    }
    return sizeof(head) + size;
}

/* Sends what this peer is to have, as far as there is room.  True: nothing is left. */
static bool drive(struct carrier *c, struct carrier_peer *p)
{
    size_t sent = 0;
    for (bool more = true; more && sent < TURN_BYTES && !c->exchange.failed;) {
        more = send_ready(c, p);
        for (enum line which = 0; which < LINES; which++) {
            const size_t bytes = send_part(c, p, which);
            more = more || bytes > 0;
            sent += bytes;
        }
    }
    const bool waits = p->ready_owed > 0 || p->out[LINE_FRAMES].count > 0 ||
                       (p->out[LINE_BULK].count > 0 && p->ready > 0);
    return (!(p->introduced || p->met) || far_drive(c, p)) && !waits;
}

void pieces_drive(struct carrier *c)
{
    if (c->driving) {
        return;
    }
    c->driving = true;
    struct carrier_peer *list = c->busy;
    c->busy = NULL;
    while (list != NULL) {
        struct carrier_peer *p = list;
        list = p->next_busy;
        p->busy = false;
        if (!c->exchange.peers[p->rank].forgotten && !drive(c, p)) {
            pieces_wake(c, p);
        }
    }
    c->driving = false;
}

void pieces_post(struct exchange *x, const struct piece *piece)
{
    struct carrier *c = (struct carrier *)x;
    struct carrier_peer *p = &c->peers[piece->transfer->rank];
    const enum transfer_kind kind = piece->transfer->kind;
    struct piece_line *line = kind == TRANSFER_FRAME_OUT  ? &p->out[LINE_FRAMES]
                              : kind == TRANSFER_BULK_OUT ? &p->out[LINE_BULK]
                                                          : &p->in[LINE_BULK];
    if (!line_push(line, piece)) {
        exchange_fail(x, MOOT_ERR_NO_MEMORY, "out of memory for a transfer");
        return;
    }
    p->ready_owed += kind == TRANSFER_BULK_IN;
    pieces_wake(c, p);
    pieces_drive(c);
}

/* --- Receiving -------------------------------------------------------------------- */

static void refuse(struct carrier *c, const struct carrier_peer *p, const char *what)
{
    char story[160];
    snprintf(story, sizeof(story), "rank %u sent %s", p->rank, what);
    exchange_fail(&c->exchange, MOOT_ERR_TRANSPORT, story);
}

static bool begin_frame(struct carrier *c, struct carrier_peer *p, uint64_t total)
{
    struct piece piece;
    if (total > LIMIT_FRAME_BYTES) {
        refuse(c, p, "a frame that is too long");
        return false;
    }
    if (!exchange_expect(&c->exchange, p->rank, (size_t)total, &piece)) {
        return false;
    }
    if (!line_push(&p->in[LINE_FRAMES], &piece)) {
        exchange_fail(&c->exchange, MOOT_ERR_NO_MEMORY, "out of memory for a frame");
        return false;
    }
    return true;
}

/* Copies a part to where the first piece of the line has got. */
static void fill(struct carrier *c, struct carrier_peer *p, enum line which,
                 const struct piece_head *head, const void *bytes)
{
    struct piece_line *line = &p->in[which];
    const struct piece *first = line_first(line);
    if (first == NULL || head->total != first->size ||
        head->size > first->size - line->offset) {
        refuse(c, p, "a part of a transfer of another size than was announced");
        return;
    }
    if (head->size > 0) {
        assert(first->bytes != NULL); /* only an empty transfer has none */
        memcpy((char *)first->bytes + line->offset, bytes, head->size);
    }
    line->offset += head->size;
    if (line->offset < first->size) {
        return;
    }
    const struct piece piece = line_pop(line);
    exchange_land(&c->exchange, &piece, piece.size);
    if (which == LINE_BULK) {
        exchange_pump(&c->exchange, p->rank, TRANSFER_BULK_IN);
    }
}

void pieces_take(struct carrier *c, struct carrier_peer *p, const void *bytes,
                 size_t size)
{
    struct piece_head head;
    if (size < sizeof(head)) {
        refuse(c, p, "less than a head");
        return;
    }
    memcpy(&head, bytes, sizeof(head));
    const unsigned char *rest = (const unsigned char *)bytes + sizeof(head);
    if (head.size != size - sizeof(head)) {
        refuse(c, p, "a piece of another length than it says");
    } else if (head.word == PIECE_FRAME) {
        if (p->in[LINE_FRAMES].count == 0 && head.total == head.size) {
            exchange_take(&c->exchange, p->rank, rest, head.size);
        } else if (p->in[LINE_FRAMES].count > 0 || begin_frame(c, p, head.total)) {
            fill(c, p, LINE_FRAMES, &head, rest);
        }
    } else if (head.word == PIECE_BULK) {
        fill(c, p, LINE_BULK, &head, rest);
    } else if (head.word == PIECE_READY && head.total <= UINT32_MAX) {
        p->ready += head.total;
        pieces_wake(c, p);
    } else if (head.word == PIECE_BYE) {
        p->heard_bye = true;
    } else {
        refuse(c, p, "a piece of no known kind");
    }
}

/* A notice of the exchange's own is the size of a long frame, whose pieces follow. */
void pieces_notice(struct exchange *x, uint32_t rank, const void *bytes, size_t size)
{
    struct carrier *c = (struct carrier *)x;
    if (size < sizeof(struct piece_head)) {
        begin_frame(c, &c->peers[rank], exchange_noticed(bytes, size));
    } else {
        pieces_take(c, &c->peers[rank], bytes, size);
    }
}

/* --- Ending ----------------------------------------------------------------------- */

void pieces_drop(struct carrier *c, struct carrier_peer *p)
{
    for (enum line which = 0; which < LINES; which++) {
        while (p->out[which].count > 0) {
            const struct piece piece = line_pop(&p->out[which]);
            exchange_land(&c->exchange, &piece, piece.size);
        }
        while (p->in[which].count > 0) {
            const struct piece piece = line_pop(&p->in[which]);
            exchange_land(&c->exchange, &piece, piece.size);
        }
    }
    p->ready = p->ready_owed = 0;
}

void pieces_release(struct carrier_peer *p)
{
    for (enum line which = 0; which < LINES; which++) {
        free(p->out[which].items);
        free(p->in[which].items);
    }
}
