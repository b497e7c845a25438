/* carrier.c - see carrier.h: its slots, and how ranks part. */
#include "node/api/moot_stream.h"
#include "node/config/ending.h"
#include "node/transport/carrier/carrier_private.h"
#include "proto/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MILLISECONDS(n) ((n)*UINT64_C(1000000))
enum { WIRE_FRAMES = 64 };         /* datagrams taken in one poll */
enum { POLLS_NEAR = 64 };          /* to a look at the wire, where all have rings */
enum { LEAVE_MS = 2000 };          /* how long free() waits for last words, */
enum { LEAVE_BY_HOPS_MS = 10000 }; /* where others may speak through it, */
enum { LINGER_MS = 100 };   /* and for their acknowledgements, or alone for that */
enum { IDLE_MS = 300 };     /* and how long nobody has to have spoken through it, */
enum { NEEDED_MS = 30000 }; /* but no longer than that */

/* --- The slots that are not the exchange's ---------------------------------------- */

/* Looks at the wire at each poll, but hardly where all peers have rings: then nothing
 * comes there but strangers, and a look takes as long as a frame by a ring. */
static bool is_far_due(struct carrier *c)
{
    return c->exchange.rings.count + 1 < c->exchange.known ||
           c->polls_near++ % POLLS_NEAR == 0;
}

static int carrier_poll(struct transport *base,
                        const struct transport_receiver *receiver, int frames_max)
{
    struct carrier *c = (struct carrier *)base;
    struct exchange *x = &c->exchange;
    const size_t frames = frames_max > 0 ? (size_t)frames_max : 0;
    newcomers_take(c);
    if (!x->failed) {
        exchange_rings_poll(x, frames, receiver->lent != NULL);
    }
    if (!x->failed && exchange_waiting(x) < frames && is_far_due(c)) {
        far_poll(c, WIRE_FRAMES);
    }
    if (!x->failed && c->hops != NULL) {
        hops_look(c);
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
        flushed = !far_holds(p);
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

static void carrier_distrust(struct transport *base, uint64_t uid)
{
    struct carrier *c = (struct carrier *)base;
    const uint32_t rank = exchange_rank_of(&c->exchange, uid);
    if (rank != UINT32_MAX && c->hops != NULL) {
        hops_lose(c, &c->peers[rank]);
    }
}

static void carrier_go_plain(struct transport *base)
{
    host_rings_close(&((struct carrier *)base)->exchange.rings);
}

/* A look is a call of the system's. */
static uint32_t carrier_next_death(struct transport *base)
{
    struct carrier *c = (struct carrier *)base;
    const uint64_t now_ns = carrier_now_ns();
    if (now_ns - c->deaths_asked_ns < MILLISECONDS(1)) {
        return UINT32_MAX;
    }
    const uint32_t rank = channel_next_death(c->channel, &c->deaths_told);
    c->deaths_asked_ns = rank == UINT32_MAX ? now_ns : c->deaths_asked_ns;
    return rank;
}

static bool carrier_emptied(struct transport *base)
{
    const struct carrier *c = (const struct carrier *)base;
    return channel_is_emptied(c->channel, c->opening);
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
        if (!p->met || (c->hops != NULL && p->gone)) {
            continue;
        }
        p->said_bye = p->said_bye || far_send(c, p, &bye, NULL);
        pieces_wake(c, p);
        done = done && (p->heard_bye || (c->exchange.alone && c->hops == NULL)) &&
               p->said_bye && (heard_is_enough || far_is_flushed(p));
    }
    return done;
}

/* Others have just spoken through this rank, which they need for that. */
static bool is_needed(const struct carrier *c, uint64_t since_ns, uint64_t now_ns)
{
    return !hops_are_idle(c, MILLISECONDS(IDLE_MS)) &&
           now_ns - since_ns < MILLISECONDS(NEEDED_MS);
}

/* A peer that has ended in another way says no last word. */
static void lose_dead(struct carrier *c)
{
    const uint32_t rank =
        c->hops != NULL ? carrier_next_death(&c->exchange.base) : UINT32_MAX;
    if (rank != UINT32_MAX) {
        hops_lose(c, &c->peers[rank]);
    }
}

/* Nothing that a peer still needs is lost: what was sent is there, and what still comes
 * has been taken, so that no system beneath resets a connection. */
static void leave_together(struct carrier *c)
{
    const struct timespec pause = {.tv_nsec = 50000};
    const uint64_t start = carrier_now_ns();
    const uint64_t linger = start + MILLISECONDS(LINGER_MS);
    const bool alone = c->exchange.alone, hops = c->hops != NULL;
    const uint64_t end = alone && !hops   ? linger
                         : alone || !hops ? start + MILLISECONDS(LEAVE_MS)
                                          : start + MILLISECONDS(LEAVE_BY_HOPS_MS);
    for (uint64_t now = start;
         !c->exchange.failed && (now < end || is_needed(c, start, now));
         now = carrier_now_ns()) {
        if (say_bye(c, now > linger) && !is_needed(c, start, now)) {
            break;
        }
        (void)carrier_poll(&c->exchange.base, &exchange_drop, WIRE_FRAMES);
        lose_dead(c);
        nanosleep(&pause, NULL);
    }
    (void)carrier_poll(&c->exchange.base, &exchange_drop, WIRE_FRAMES);
}

static bool carrier_free(struct transport *base)
{
    struct carrier *c = (struct carrier *)base;
    if (c->cards != NULL) {
        channel_close(c->channel, c->opening);
    }
    if (c->wire != NULL && c->peers != NULL && !c->exchange.failed) {
        leave_together(c);
    }
    for (uint32_t rank = 0; c->peers != NULL && rank < c->exchange.size; rank++) {
        pieces_drop(c, &c->peers[rank]);
        far_forget(c, &c->peers[rank]);
        pieces_release(&c->peers[rank]);
    }
    bundles_release(c);
    if (c->wire != NULL) {
        c->table->close(c->wire);
    }
    newcomers_release(c);
    hops_release(c);
    host_memory_close(&c->boards);
    exchange_release(&c->exchange);
    free(c->peers);
    free(c->cards);
    free(c->scratch);
    free(c->opened);
    free(c);
    return true;
}

static void carrier_stats(const struct transport *t, struct transport_stats *out)
{
    const struct carrier *c = (const struct carrier *)t;
    exchange_stats(t, out);
    if (c->table->poll == moot_stream_poll) {
        moot_stream_counts counts;
        moot_stream_count(c->wire, &counts);
        out->streams_refused = counts.refused + counts.crowded_out + counts.late;
        out->streams_broken = counts.broken;
    }
    far_count(c, out);
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
    .distrust = carrier_distrust,
    .go_alone = exchange_go_alone,
    .go_plain = carrier_go_plain,
    .next_death = carrier_next_death,
    .emptied = carrier_emptied,
    .next_newcomer = carrier_next_newcomer,
    .grow = carrier_grow,
    .stats = carrier_stats,
    .story = exchange_story,
    .free = carrier_free,
};

/* --- Opening -----------------------------------------------------------------------
 */

int transport_carrier_open(void *arg, const void *blob, size_t blob_size,
                           struct transport_group *group, struct transport **out,
                           char *story, size_t story_size)
{
    const struct transport_carrier_options *options = arg;
    struct transport_group joined = {.threads = true, .told_of_deaths = true};
    struct carrier *c = calloc(1, sizeof(*c));
    const struct joining o = {c, &joined, story, story_size};
    if (c == NULL) {
        snprintf(story, story_size, "out of memory");
        return MOOT_ERR_NO_MEMORY;
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
    } else if (channel_room(c->channel) > LIMIT_RANKS) {
        snprintf(story, story_size, "more ranks than LIMIT_RANKS");
        code = MOOT_ERR_LIMIT;
    } else {
        ending_awaits(channel_rank(c->channel));
        joined.rank = channel_rank(c->channel);
        joined.size = channel_room(c->channel);
        joined.founders = channel_size(c->channel);
        code = carrier_join(&o, options, blob, blob_size);
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
