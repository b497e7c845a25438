/* datagram_fuzz.c - no datagram harms who takes it, and a stranger's changes nothing.
 *
 * An input is a byte of how the wire is (1: it promises order, 2: not sealed), and then
 * turns of two peers: a byte that says which turn and whose, a length of two bytes, and
 * so many bytes.  Datagrams go in as they are (what a stranger can do), sealed by the
 * peer (one that lies), and with the right number in the link and a head of their
 * length, since few mutations would get past those.  Between them this rank sends, and
 * posts buffers.  libFuzzer's limit on one allocation is that of what peers announce.
 */
#include "node/transport/carrier/carrier_private.h"
#include "proto/limits.h"
#include "proto/moot_error.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { RANKS = 3, FRAME_BYTES_MAX = 4096, BUFFERS_MAX = 64, TURNS_MAX = 400 };
enum { ORDERED = 1, OPEN = 2 };

enum turn { RAW, REPEATED, LIE, PIECE, POST, SEND, SEND_BULK, FORGET, TURNS };

static const unsigned char key[SEAL_KEY_BYTES] = "the key of a job, of 32 bytes ..";

void newcomers_take(struct carrier *c) { (void)c; } /* none come */
const unsigned char *channel_key(const struct channel *channel)
{
    (void)channel;
    return key;
}

static void require(bool true_or_found)
{
    if (!true_or_found) {
        abort();
    }
}

struct world {
    struct carrier c; /* first: rank 0's */
    struct channel_card cards[RANKS];
    struct seal lies[RANKS]; /* the peers' ends */
    uint64_t sequence[RANKS];
    void *buffers[BUFFERS_MAX];
    size_t buffer_count;
    uint64_t delivered;
    unsigned char last[FRAME_BYTES_MAX]; /* that was sealed by a peer, and taken */
    size_t last_size;
    uint32_t last_rank;
};

/* --- The wire --------------------------------------------------------------------- */

static struct {
    uint64_t from;
    const unsigned char *bytes;
    size_t size;
} coming;

static int introduce_none(moot_wire *wire, uint64_t uid, const void *address,
                          size_t length)
{
    (void)wire, (void)uid, (void)address, (void)length;
    return MOOT_OK;
}

static int send_some(moot_wire *wire, uint64_t uid, const void *bytes, size_t size)
{
    static unsigned turn;
    (void)wire, (void)uid, (void)bytes;
    require(size > 0 && size <= FRAME_BYTES_MAX);
    return turn++ % 7 == 0 ? MOOT_TRANSPORT_FULL : MOOT_OK;
}

static int poll_one(moot_wire *wire, const moot_transport_receiver *receiver, int most)
{
    (void)wire;
    if (coming.bytes == NULL || most < 1) {
        return 0;
    }
    receiver->frame(receiver->context, coming.from, coming.bytes, coming.size);
    coming.bytes = NULL;
    return 1;
}

static void forget_none(moot_wire *wire, uint64_t uid) { (void)wire, (void)uid; }
static const char *tell_none(const moot_wire *wire) { return wire ? "?" : ""; }

static moot_transport table = {.frame_max = FRAME_BYTES_MAX,
                               .introduce = introduce_none,
                               .send = send_some,
                               .poll = poll_one,
                               .forget = forget_none,
                               .story = tell_none};

/* --- This rank -------------------------------------------------------------------- */

static void take_frame(void *context, uint64_t from, void *bytes, size_t size)
{
    struct world *w = context;
    require(exchange_rank_of(&w->c.exchange, from) != UINT32_MAX);
    require(size > 0 && size <= LIMIT_FRAME_BYTES);
    w->delivered++;
    free(bytes);
}

static void take_bulk(void *context, uint64_t uid, void *cookie)
{
    struct world *w = context;
    (void)uid, (void)cookie;
    w->delivered++;
}

static void take_sent(void *context, uint64_t uid, void *cookie)
{
    (void)context, (void)uid, (void)cookie;
}

static void release_packet(void *context, void *frame) { bundle_give(context, frame); }

static uint64_t uid_of(uint32_t rank) { return UINT64_C(0x1000) * rank + 77; }

static struct world *world_new(unsigned char how)
{
    struct world *w = calloc(1, sizeof(*w));
    uint64_t uids[RANKS];
    require(w != NULL && sodium_init() >= 0);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        uids[rank] = uid_of(rank);
        seal_begin(&w->lies[rank], key, uids[rank], uid_of(0));
    }
    struct carrier *c = &w->c;
    require(exchange_init(&c->exchange, 0, RANKS, uids));
    c->exchange.post = pieces_post;
    c->exchange.notice = pieces_notice;
    c->table = &table;
    c->cards = w->cards;
    c->reliable = (how & ORDERED) != 0;
    c->linked = !c->reliable;
    c->sealed = (how & OPEN) == 0;
    c->link_options = (struct link_options){.rto_initial_ns = 50000000,
                                            .rto_min_ns = 10000000,
                                            .rto_max_ns = 1000000000,
                                            .ack_delay_ns = 2000000,
                                            .release = release_packet,
                                            .context = c};
    c->payload_max = FRAME_BYTES_MAX - SEAL_BYTES - sizeof(struct link_head) -
                     sizeof(struct piece_head);
    c->scratch = malloc(FRAME_BYTES_MAX);
    c->opened = malloc(FRAME_BYTES_MAX);
    c->peers = calloc(RANKS, sizeof(*c->peers));
    require(c->scratch != NULL && c->opened != NULL && c->peers != NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        c->peers[rank].rank = rank;
    }
    return w;
}

static void world_free(struct world *w)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        pieces_drop(&w->c, &w->c.peers[rank]);
        far_forget(&w->c, &w->c.peers[rank]);
        pieces_release(&w->c.peers[rank]);
    }
    bundles_release(&w->c);
    exchange_release(&w->c.exchange);
    for (size_t i = 0; i < w->buffer_count; i++) {
        free(w->buffers[i]);
    }
    free(w->c.scratch);
    free(w->c.opened);
    free(w->c.peers);
    free(w);
}

static void poll_all(struct world *w)
{
    const struct transport_receiver receiver = {
        .context = w, .frame = take_frame, .bulk = take_bulk, .bulk_sent = take_sent};
    if (w->c.exchange.failed == 0) {
        far_poll(&w->c, 1);
        pieces_drive(&w->c);
        (void)exchange_report(&w->c.exchange, &receiver, 64);
    }
    coming.bytes = NULL;
}

/* --- Turns ------------------------------------------------------------------------ */

/* One of a stranger, or one that comes again: nothing is to happen but that it counts.
 */
static void put_strange(struct world *w, uint32_t rank, const unsigned char *bytes,
                        size_t size)
{
    struct carrier *c = &w->c;
    const struct transport_stats *stats = &c->exchange.stats;
    const struct carrier_peer before = c->peers[rank];
    const uint64_t delivered = w->delivered;
    const uint64_t dropped = stats->strangers + stats->forged + stats->repeated;
    const bool judged = c->sealed && c->exchange.failed == 0 &&
                        !c->exchange.peers[rank].forgotten && size <= FRAME_BYTES_MAX;
    coming.from = uid_of(rank);
    coming.bytes = bytes;
    coming.size = size;
    poll_all(w);
    if (judged) {
        require(c->exchange.failed == 0 && w->delivered == delivered);
        require(c->peers[rank].introduced == before.introduced &&
                c->peers[rank].heard_bye == before.heard_bye &&
                c->peers[rank].ready == before.ready &&
                c->peers[rank].in[LINE_FRAMES].count == before.in[LINE_FRAMES].count);
        require(stats->strangers + stats->forged + stats->repeated == dropped + 1);
    }
}

/* One that the peer has sealed, and that may say anything. */
static void put_lie(struct world *w, uint32_t rank, const unsigned char *bytes,
                    size_t size)
{
    unsigned char sealed[FRAME_BYTES_MAX];
    if (size > sizeof(sealed) - SEAL_BYTES) {
        return;
    }
    if (w->c.sealed) {
        seal_close(&w->lies[rank], bytes, size, sealed);
        size += SEAL_BYTES;
    } else {
        memcpy(sealed, bytes, size);
    }
    const bool kept = w->c.exchange.failed == 0;
    coming.from = uid_of(rank);
    coming.bytes = sealed;
    coming.size = size;
    poll_all(w);
    if (kept) {
        memcpy(w->last, sealed, size);
        w->last_size = size;
        w->last_rank = rank;
    }
}

/* The same with a head that fits: a byte of what it is, eight of the total. */
static void put_piece(struct world *w, uint32_t rank, const unsigned char *bytes,
                      size_t size)
{
    unsigned char text[FRAME_BYTES_MAX];
    struct link_head link = {0, 0};
    struct piece_head head = {0};
    if (size < 9 || size > w->c.payload_max) {
        return;
    }
    head.word = bytes[0] % 6;
    memcpy(&head.total, bytes + 1, sizeof(head.total));
    head.size = (uint32_t)(size - 9);
    if ((bytes[0] & 64) != 0) {
        head.total = head.size;
    }
    link.sequence = w->c.reliable ? 0 : ++w->sequence[rank];
    memcpy(text, &link, sizeof(link));
    memcpy(text + sizeof(link), &head, sizeof(head));
    memcpy(text + sizeof(link) + sizeof(head), bytes + 9, head.size);
    put_lie(w, rank, text, sizeof(link) + sizeof(head) + head.size);
}

static void *make_buffer(struct world *w, size_t size)
{
    void *buffer = w->buffer_count < BUFFERS_MAX ? calloc(1, size + 1) : NULL;
    if (buffer != NULL) {
        w->buffers[w->buffer_count++] = buffer;
    }
    return buffer;
}

static void play(struct world *w, enum turn turn, uint32_t rank,
                 const unsigned char *bytes, size_t size)
{
    struct transport *t = &w->c.exchange.base;
    void *buffer;
    switch (turn) {
    case RAW:
        put_strange(w, rank, bytes, size);
        break;
    case REPEATED:
        if (w->last_size > 0) {
            unsigned char again[FRAME_BYTES_MAX];
            memcpy(again, w->last, w->last_size);
            put_strange(w, w->last_rank, again, w->last_size);
        }
        break;
    case LIE:
        put_lie(w, rank, bytes, size);
        break;
    case PIECE:
        put_piece(w, rank, bytes, size);
        break;
    case POST:
        buffer = make_buffer(w, size);
        if (buffer != NULL) {
            (void)exchange_bulk_receive(t, uid_of(rank), buffer, size, NULL);
        }
        break;
    case SEND:
        buffer = malloc(size + 1);
        require(buffer != NULL);
        memset(buffer, 1, size + 1);
        (void)exchange_send(t, uid_of(rank), buffer, size);
        break;
    case SEND_BULK:
        buffer = make_buffer(w, size);
        if (buffer != NULL) {
            (void)exchange_bulk_send(t, uid_of(rank), buffer, size, NULL);
        }
        break;
    case FORGET:
        pieces_drop(&w->c, &w->c.peers[rank]);
        far_forget(&w->c, &w->c.peers[rank]);
        exchange_forget(t, uid_of(rank));
        break;
    default:
        break;
    }
    poll_all(w);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct world *w = world_new(size > 0 ? data[0] : 0);
    size_t at = 1;
    for (int turns = 0; at + 3 <= size && turns < TURNS_MAX; turns++) {
        const unsigned char what = data[at];
        size_t length = (size_t)(data[at + 1] | data[at + 2] << 8);
        at += 3;
        length = length < size - at ? length : size - at;
        unsigned char *bytes = malloc(length + 1); /* so that its end is seen */
        require(bytes != NULL);
        memcpy(bytes, data + at, length);
        play(w, (enum turn)(what % TURNS), 1 + what / TURNS % 2, bytes, length);
        free(bytes);
        at += length;
    }
    world_free(w);
    return 0;
}
