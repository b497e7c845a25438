/* carrier.c - see carrier.h: its slots, how ranks meet, and how they part. */
#include "node/config/ending.h"
#include "node/transport/carrier/carrier_private.h"
#include "node/transport/hello.h"
#include "node/transport/tables.h"
#include "proto/limits.h"
#include "proto/wire.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MILLISECONDS(n) ((n)*UINT64_C(1000000))
enum { WIRE_FRAMES = 64 }; /* datagrams taken in one poll */
enum { LEAVE_MS = 2000 };  /* how long free() waits for last words, */
enum { LINGER_MS = 100 };  /* and for their acknowledgements, or alone for that */

/* --- The slots that are not the exchange's ---------------------------------------- */

static int carrier_poll(struct transport *base,
                        const struct transport_receiver *receiver, int frames_max)
{
    struct carrier *c = (struct carrier *)base;
    struct exchange *x = &c->exchange;
    const size_t frames = frames_max > 0 ? (size_t)frames_max : 0;
    if (!x->failed) {
        exchange_rings_poll(x, frames, receiver->lent != NULL);
    }
    if (!x->failed && exchange_waiting(x) < frames) {
        far_poll(c, WIRE_FRAMES);
    }
    if (!x->failed) {
        pieces_drive(c);
    }
    return x->failed ? x->failed : exchange_report(x, receiver, frames);
}

/* Frames that a link has sent and not been told of may be lost on its way.  But a peer
 * tells of it only as long as it polls, so that is for the last words to wait for. */
static bool carrier_flushed(const struct transport *base)
{
    const struct carrier *c = (const struct carrier *)base;
    if (c->exchange.failed) {
        return true;
    }
    bool flushed = exchange_flushed(base) && c->table->flushed(c->wire);
    for (const struct carrier_peer *p = c->busy; flushed && p != NULL;
         p = p->next_busy) {
        flushed = p->held == NULL;
    }
    return flushed;
}

static void carrier_forget(struct transport *base, uint64_t uid)
{
    struct carrier *c = (struct carrier *)base;
    const uint32_t rank = exchange_rank_of(&c->exchange, uid);
    if (rank == UINT32_MAX) {
        return;
    }
    pieces_drop(c, &c->peers[rank]);
    far_forget(c, &c->peers[rank]);
    exchange_forget(base, uid);
}

static void carrier_go_plain(struct transport *base)
{
    host_rings_close(&((struct carrier *)base)->exchange.rings);
}

/* --- Parting ---------------------------------------------------------------------- */

/* Says the last word to all that were spoken to over the wire; true: they all have it,
 * and theirs has come, or is not waited for. */
static bool say_bye(struct carrier *c, bool heard_is_enough)
{
    const struct piece_head bye = {.word = PIECE_BYE};
    bool done = true;
    for (uint32_t rank = 0; rank < c->exchange.size; rank++) {
        struct carrier_peer *p = &c->peers[rank];
        if (!p->introduced) {
            continue;
        }
        p->said_bye = p->said_bye || far_send(c, p, &bye, NULL);
        pieces_wake(c, p);
        done = done && (p->heard_bye || c->exchange.alone) && p->said_bye &&
               (heard_is_enough || far_is_flushed(p));
    }
    return done;
}

/* Nothing that a peer still needs is lost: what was sent is there, and what still comes
 * has been taken, so that no system beneath resets a connection. */
static void leave_together(struct carrier *c)
{
    const struct timespec pause = {.tv_nsec = 50000};
    const uint64_t start = carrier_now_ns();
    const uint64_t linger = start + MILLISECONDS(LINGER_MS);
    const uint64_t end = c->exchange.alone ? linger : start + MILLISECONDS(LEAVE_MS);
    for (uint64_t now = start; now < end && !c->exchange.failed;
         now = carrier_now_ns()) {
        if (say_bye(c, now > linger)) {
            break;
        }
        (void)carrier_poll(&c->exchange.base, &exchange_drop, WIRE_FRAMES);
        nanosleep(&pause, NULL);
    }
    (void)carrier_poll(&c->exchange.base, &exchange_drop, WIRE_FRAMES);
}

static bool carrier_free(struct transport *base)
{
    struct carrier *c = (struct carrier *)base;
    if (c->wire != NULL && c->peers != NULL && !c->exchange.failed) {
        leave_together(c);
    }
    for (uint32_t rank = 0; c->peers != NULL && rank < c->exchange.size; rank++) {
        pieces_drop(c, &c->peers[rank]);
        far_forget(c, &c->peers[rank]);
        pieces_release(&c->peers[rank]);
    }
    if (c->wire != NULL) {
        c->table->close(c->wire);
    }
    host_memory_close(&c->boards);
    exchange_release(&c->exchange);
    free(c->peers);
    free(c->cards);
    free(c->scratch);
    free(c->opened);
    free(c);
    return true;
}

static const struct transport_ops carrier_ops = {
    .name = "carrier",
    .send = exchange_send,
    .place = exchange_place,
    .placed = exchange_placed,
    .backlog = exchange_backlog,
    .bulk_send = exchange_bulk_send,
    .bulk_receive = exchange_bulk_receive,
    .poll = carrier_poll,
    .flushed = carrier_flushed,
    .forget = carrier_forget,
    .go_alone = exchange_go_alone,
    .go_plain = carrier_go_plain,
    .stats = exchange_stats,
    .story = exchange_story,
    .free = carrier_free,
};

/* --- Meeting ---------------------------------------------------------------------- */

struct joining {
    struct carrier *c;
    struct transport_group *group;
    char *story;
    size_t story_size;
};

/* The card by which a rank tells the others of itself; an address and a blob follow. */
struct card_head {
    uint64_t wire_version;
    uint64_t failed; /* a code of MOOT_ERR_*, negated; its story follows, and no more */
    uint64_t flags;  /* of the wire */
    uint64_t frame_max;
    uint64_t address_size, blob_size;
    struct hello hello;
};

static int refuse(const struct joining *o, int code, const char *why)
{
    snprintf(o->story, o->story_size, "%s", why);
    return code;
}

/* All hand in what they have to say; what one could not do nobody does. */
static int swap_cards(const struct joining *o, int code, const struct card_head *head,
                      const void *address, const void *blob)
{
    struct carrier *c = o->c;
    unsigned char *mine = malloc(sizeof(*head) + MOOT_TRANSPORT_ADDRESS_MAX +
                                 head->blob_size + o->story_size);
    struct card_head first = *head;
    size_t size = sizeof(first);
    if (mine == NULL) {
        return refuse(o, MOOT_ERR_NO_MEMORY, "out of memory");
    }
    if (code != MOOT_OK) {
        first.failed = (uint64_t)-code;
        memcpy(mine + size, o->story, strlen(o->story) + 1);
        size += strlen(o->story) + 1;
    } else {
        memcpy(mine + size, address, (size_t)first.address_size);
        size += (size_t)first.address_size;
        memcpy(mine + size, blob, (size_t)first.blob_size);
        size += (size_t)first.blob_size;
    }
    memcpy(mine, &first, sizeof(first));
    const int gathered = channel_gather(c->channel, mine, size, &c->cards,
                                        code == MOOT_OK ? o->story : (char[1]){0},
                                        code == MOOT_OK ? o->story_size : 1);
    free(mine);
    return code != MOOT_OK ? code : gathered;
}

/* Another rank's card as it came: whether it fits, and what it refuses. */
static int read_card(const struct joining *o, uint32_t rank, struct card_head *head)
{
    const struct channel_card *card = &o->c->cards[rank];
    if (card->size < sizeof(*head)) {
        return refuse(o, MOOT_ERR_PROTOCOL, "a rank's card is too short");
    }
    memcpy(head, card->bytes, sizeof(*head));
    const size_t rest = card->size - sizeof(*head);
    if (head->wire_version != WIRE_VERSION) {
        snprintf(o->story, o->story_size,
                 "rank %u speaks version %d of the wire, not %d", rank,
                 (int)head->wire_version, WIRE_VERSION);
        return MOOT_ERR_PROTOCOL;
    }
    if (head->failed != 0) {
        const char *theirs = (const char *)card->bytes + sizeof(*head);
        snprintf(o->story, o->story_size, "rank %u: %.*s", rank, (int)rest, theirs);
        return head->failed <= INT32_MAX ? -(int)head->failed : MOOT_ERR_PROTOCOL;
    }
    if (head->address_size > rest || head->blob_size != rest - head->address_size) {
        return refuse(o, MOOT_ERR_PROTOCOL, "a rank's card is not what it says");
    }
    const uint64_t sealed = (uint64_t)o->c->sealed << 32;
    if (head->flags != (o->c->table->flags | sealed) ||
        head->frame_max != o->c->table->frame_max) {
        snprintf(
            o->story, o->story_size,
            "rank %u has another version of the transport '%s', or another MOOT_SEAL",
            rank, o->c->table->name);
        return MOOT_ERR_CONFIG;
    }
    return MOOT_OK;
}

/* Those whose process numbers can be compared share a host; the lowest rank names it.
 */
static void find_hosts(struct hello *all, uint32_t size)
{
    for (uint32_t rank = 0; rank < size; rank++) {
        all[rank].host = rank;
        for (uint32_t lower = 0; lower < rank; lower++) {
            if (all[rank].process.space != 0 &&
                all[lower].process.space == all[rank].process.space) {
                all[rank].host = all[lower].host;
                break;
            }
        }
    }
}

static int take_cards(const struct joining *o)
{
    struct transport_group *group = o->group;
    struct hello *all = malloc(group->size * sizeof(*all));
    int code = all != NULL ? MOOT_OK : refuse(o, MOOT_ERR_NO_MEMORY, "out of memory");
    for (uint32_t rank = 0; code == MOOT_OK && rank < group->size; rank++) {
        struct card_head head;
        struct channel_card *card = &o->c->cards[rank];
        code = read_card(o, rank, &head);
        if (code != MOOT_OK) {
            break;
        }
        all[rank] = head.hello;
        const unsigned char *rest = (const unsigned char *)card->bytes + sizeof(head);
        *card = (struct channel_card){rest, (size_t)head.address_size};
        if (rank == 0) {
            group->blob_size = (size_t)head.blob_size;
            group->blob = malloc(group->blob_size > 0 ? group->blob_size : 1);
            if (group->blob == NULL) {
                code = refuse(o, MOOT_ERR_NO_MEMORY, "out of memory");
            } else {
                memcpy(group->blob, rest + head.address_size, group->blob_size);
            }
        }
    }
    if (code == MOOT_OK) {
        find_hosts(all, group->size);
        hello_take(group, all);
    }
    free(all);
    return code;
}

/* Whether all ranks have it; all learn that. */
static int all_have(const void *context, bool *have)
{
    const struct joining *o = context;
    struct channel_card *all = NULL;
    const char mine = (char)*have;
    const int code = channel_gather(o->c->channel, &mine, sizeof(mine), &all, o->story,
                                    o->story_size);
    for (uint32_t rank = 0; code == MOOT_OK && rank < o->group->size; rank++) {
        *have = *have && all[rank].size == 1 && *(const char *)all[rank].bytes != 0;
    }
    free(all);
    return code;
}

/* Memory of this host: rings and boards. */
static int open_memory(const struct joining *o)
{
    struct carrier *self = o->c;
    const int code =
        host_share(&self->exchange.rings, &self->boards, o->group, all_have, o);
    return code;
}

static void release_packet(void *context, void *frame)
{
    (void)context;
    free(frame);
}

static bool make_parts(struct carrier *c, const struct transport_group *group)
{
    const size_t frame_max = c->table->frame_max < MOOT_TRANSPORT_FRAME_MAX
                                 ? c->table->frame_max
                                 : MOOT_TRANSPORT_FRAME_MAX;
    c->payload_max =
        frame_max - SEAL_BYTES - sizeof(struct link_head) - sizeof(struct piece_head);
    c->scratch = malloc(c->table->frame_max);
    c->opened = malloc(c->table->frame_max);
    c->peers = calloc(group->size, sizeof(*c->peers));
    c->link_options = (struct link_options){.rto_initial_ns = MILLISECONDS(50),
                                            .rto_min_ns = MILLISECONDS(10),
                                            .rto_max_ns = MILLISECONDS(1000),
                                            .ack_delay_ns = MILLISECONDS(2),
                                            .release = release_packet};
    for (uint32_t rank = 0; c->peers != NULL && rank < group->size; rank++) {
        c->peers[rank].rank = rank;
    }
    return exchange_init(&c->exchange, group->rank, group->size, group->uids) &&
           c->peers != NULL && c->scratch != NULL && c->opened != NULL;
}

/* This rank's own: its table, its end of the wire, its address. */
static int open_end(const struct joining *o, const char *word, bool open,
                    struct card_head *head, void *address)
{
    struct carrier *c = o->c;
    const char *options = "";
    size_t size = 0;
    int code = transport_table_load(word, &c->table, &options, o->story, o->story_size);
    if (code != MOOT_OK) {
        return code;
    }
    const moot_transport_setup setup = {.size = sizeof(setup),
                                        .uid = head->hello.uid,
                                        .options = options,
                                        .host = channel_host(c->channel)};
    code = c->table->open(&setup, &c->wire, o->story, o->story_size);
    if (code == MOOT_OK) {
        code = c->table->address(c->wire, address, &size);
        if (code != MOOT_OK) {
            (void)refuse(o, code, c->table->story(c->wire));
        } else if (size > MOOT_TRANSPORT_ADDRESS_MAX) {
            code = refuse(o, MOOT_ERR_LIMIT, "a transport's address is too long");
        }
    }
    if (code == MOOT_OK) {
        c->sealed = !open && (c->table->flags & MOOT_TRANSPORT_PRIVATE) == 0;
        head->flags = c->table->flags | (uint64_t)c->sealed << 32;
        head->frame_max = c->table->frame_max;
        head->address_size = size;
        c->reliable = (c->table->flags & MOOT_TRANSPORT_RELIABLE) != 0;
    }
    return code;
}

static int join(const struct joining *o,
                const struct transport_carrier_options *options, const void *blob,
                size_t blob_size)
{
    struct carrier *c = o->c;
    unsigned char address[MOOT_TRANSPORT_ADDRESS_MAX];
    struct card_head head = {.wire_version = WIRE_VERSION,
                             .blob_size = o->group->rank == 0 ? blob_size : 0};
    int code = hello_make(o->group, &head.hello)
                   ? open_end(o, options->word, options->open, &head, address)
                   : refuse(o, MOOT_ERR_NO_MEMORY, "out of memory or randomness");
    code = swap_cards(o, code, &head, address, blob);
    if (code == MOOT_OK) {
        code = take_cards(o);
    }
    if (code != MOOT_OK) {
        return code;
    }
    bool made = make_parts(c, o->group);
    code = all_have(o, &made);
    if (code == MOOT_OK && !made) {
        code = refuse(o, MOOT_ERR_NO_MEMORY, "a rank is out of memory");
    }
    return code == MOOT_OK ? open_memory(o) : code;
}

int transport_carrier_open(void *arg, const void *blob, size_t blob_size,
                           struct transport_group *group, struct transport **out,
                           char *story, size_t story_size)
{
    const struct transport_carrier_options *options = arg;
    struct transport_group joined = {.threads = true};
    struct carrier *c = calloc(1, sizeof(*c));
    const struct joining o = {c, &joined, story, story_size};
    if (c == NULL) {
        return refuse(&o, MOOT_ERR_NO_MEMORY, "out of memory");
    }
    c->exchange.base.ops = &carrier_ops;
    c->exchange.post = pieces_post;
    c->exchange.notice = pieces_notice;
    story[0] = '\0';
    int code = MOOT_OK;
    c->channel = channel_of_process(story, story_size);
    if (c->channel == NULL) {
        if (story[0] == '\0') {
            snprintf(
                story, story_size,
                "MOOT_TRANSPORT=%s needs a launcher by which ranks find each other: "
                "start the program with `moot run --launcher local`",
                options->word);
        }
        code = MOOT_ERR_CONFIG;
    } else if (channel_size(c->channel) > LIMIT_RANKS) {
        code = refuse(&o, MOOT_ERR_LIMIT, "more ranks than LIMIT_RANKS");
    } else {
        joined.rank = channel_rank(c->channel);
        joined.size = channel_size(c->channel);
        code = join(&o, options, blob, blob_size);
    }
    /* No mark of an opening: it waits for no rank that has ended. */
    ending_opened();
    if (code != MOOT_OK) {
        transport_group_release(&joined);
        c->exchange.failed = code;
        carrier_free(&c->exchange.base);
        return code;
    }
    *group = joined;
    *out = &c->exchange.base;
    return MOOT_OK;
}
