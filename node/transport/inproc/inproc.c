/* inproc.c - the wire among ranks of one process.
 *
 * The hub has one lane per ordered pair of ranks: the frames on their way, and the bulk
 * transfers offered (by the sender) and posted (by the receiver).  Everything moves in
 * the receiver's poll: it takes frames out, and copies the oldest offer into the oldest
 * posted buffer, a slice at a time so that neither a poll nor the lane's lock takes
 * long.  What the receiver has copied whole goes to the sender's list of what was sent,
 * for the sender's next poll.
 *
 * Locks: one per lane and one for joining, never two at once, and none while a handler
 * runs.
 */
#include "node/transport/inproc/inproc.h"
#include "node/transport/host/processors.h"
#include "node/transport/transfer.h"
#include "proto/limits.h"
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE_BYTES = 1 << 20 };

/* From one rank to another. */
struct inproc_lane {
    pthread_mutex_t lock;
    struct transfer_queue frames; /* sent, not yet taken by the receiver */
    struct transfer_queue offers; /* bulk transfers sent, copied or not */
    struct transfer_queue posted; /* buffers for them */
    struct transfer_queue copied; /* offers that the sender has not been told of */
    bool held;
    bool cut; /* the receiver has left or forgot the sender: what is sent is lost */
};

struct inproc_hub {
    pthread_mutex_t lock;
    pthread_cond_t joined_all;
    uint32_t size, joined;
    bool failed;               /* some end could not be made: nobody opens */
    uint64_t *uids;            /* drawn when the hub is made */
    bool *taken;               /* per rank: its end was opened */
    struct inproc_lane *lanes; /* [from * size + to] */
    void *blob;
    size_t blob_size;
};

struct inproc_end {
    struct transport base;
    struct inproc_hub *hub;
    uint32_t rank;
    uint32_t first;  /* the peer that the next poll looks at first */
    bool *forgotten; /* per rank */
    struct transport_stats stats;
    char story[128];
};

static struct inproc_lane *lane_of(const struct inproc_hub *hub, uint32_t from,
                                   uint32_t to)
{
    return &hub->lanes[(size_t)from * hub->size + to];
}

/* --- The hub ---------------------------------------------------------------------- */

struct inproc_hub *inproc_hub_new(uint32_t size)
{
    struct inproc_hub *hub = calloc(1, sizeof(*hub));
    if (!hub || sodium_init() < 0) {
        goto fail;
    }
    pthread_mutex_init(&hub->lock, NULL);
    pthread_cond_init(&hub->joined_all, NULL);
    hub->uids = calloc(size, sizeof(*hub->uids));
    hub->taken = calloc(size, sizeof(*hub->taken));
    hub->lanes = calloc((size_t)size * size, sizeof(*hub->lanes));
    if (!hub->uids || !hub->taken || !hub->lanes) {
        goto fail_arrays;
    }
    hub->size = size;
    for (size_t i = 0; i < (size_t)size * size; i++) {
        pthread_mutex_init(&hub->lanes[i].lock, NULL);
    }
    for (uint32_t r = 0; r < size; r++) {
        while (hub->uids[r] == 0) {
            randombytes_buf(&hub->uids[r], sizeof(hub->uids[r]));
        }
    }
    return hub;
fail_arrays:
    inproc_hub_free(hub);
    return NULL;
fail:
    free(hub);
    return NULL;
}

void inproc_hub_free(struct inproc_hub *hub)
{
    if (!hub) {
        return;
    }
    for (size_t i = 0; hub->lanes && i < (size_t)hub->size * hub->size; i++) {
        struct inproc_lane *lane = &hub->lanes[i];
        transfer_queue_release(&lane->frames);
        transfer_queue_release(&lane->offers);
        transfer_queue_release(&lane->posted);
        transfer_queue_release(&lane->copied);
        pthread_mutex_destroy(&lane->lock);
    }
    pthread_mutex_destroy(&hub->lock);
    pthread_cond_destroy(&hub->joined_all);
    free(hub->uids);
    free(hub->taken);
    free(hub->lanes);
    free(hub->blob);
    free(hub);
}

void inproc_hub_hold(struct inproc_hub *hub, uint32_t from, uint32_t to, bool held)
{
    struct inproc_lane *lane = lane_of(hub, from, to);
    pthread_mutex_lock(&lane->lock);
    lane->held = held;
    pthread_mutex_unlock(&lane->lock);
}

/* --- Sending ---------------------------------------------------------------------- */

static int refuse(struct inproc_end *end, int code, const char *why)
{
    snprintf(end->story, sizeof(end->story), "%s", why);
    return code;
}

/* The peer's rank; the hub's size if there is none, or it is this rank or forgotten. */
static uint32_t peer_find(const struct inproc_end *end, uint64_t uid)
{
    const struct inproc_hub *hub = end->hub;
    uint32_t rank = 0;
    while (rank < hub->size && hub->uids[rank] != uid) {
        rank++;
    }
    if (rank == hub->size || rank == end->rank || end->forgotten[rank]) {
        return hub->size;
    }
    return rank;
}

/* Puts a new transfer into its queue.  The bytes stay the caller's unless this
 * succeeds.
 */
static int submit(struct inproc_end *end, struct inproc_lane *lane,
                  enum transfer_kind kind, void *bytes, size_t size, void *cookie)
{
    struct transfer *transfer = transfer_new(kind, end->rank, bytes, size, cookie);
    if (!transfer) {
        return refuse(end, MOOT_ERR_NO_MEMORY, "out of memory");
    }
    pthread_mutex_lock(&lane->lock);
    if (!lane->cut) {
        transfer_queue_push(kind == TRANSFER_FRAME_OUT  ? &lane->frames
                            : kind == TRANSFER_BULK_OUT ? &lane->offers
                                                        : &lane->posted,
                            transfer);
        transfer = NULL;
    }
    pthread_mutex_unlock(&lane->lock);
    transfer_free(transfer); /* cut: lost */
    return MOOT_OK;
}

static int inproc_send(struct transport *t, uint64_t to_uid, void *bytes, size_t size)
{
    struct inproc_end *end = (struct inproc_end *)t;
    const uint32_t to = peer_find(end, to_uid);
    int code = MOOT_OK;
    if (size == 0 || size > LIMIT_FRAME_BYTES) {
        code = refuse(end, MOOT_ERR_LIMIT, "a frame has 1 to LIMIT_FRAME_BYTES bytes");
    } else if (to == end->hub->size) {
        code = refuse(end, MOOT_ERR_INVALID, "no such peer");
    } else {
        code = submit(end, lane_of(end->hub, end->rank, to), TRANSFER_FRAME_OUT, bytes,
                      size, NULL);
    }
    if (code != MOOT_OK) {
        free(bytes);
        return code;
    }
    end->stats.frames_sent++;
    end->stats.bytes_sent += size;
    return MOOT_OK;
}

static size_t inproc_backlog(const struct transport *t, uint64_t to_uid)
{
    const struct inproc_end *end = (const struct inproc_end *)t;
    const uint32_t to = peer_find(end, to_uid);
    if (to == end->hub->size) {
        return 0;
    }
    struct inproc_lane *lane = lane_of(end->hub, end->rank, to);
    pthread_mutex_lock(&lane->lock);
    const size_t count = lane->frames.count;
    pthread_mutex_unlock(&lane->lock);
    return count;
}

static int inproc_bulk_send(struct transport *t, uint64_t to_uid, const void *data,
                            size_t size, void *cookie)
{
    struct inproc_end *end = (struct inproc_end *)t;
    const uint32_t to = peer_find(end, to_uid);
    if (to == end->hub->size) {
        return refuse(end, MOOT_ERR_INVALID, "no such peer");
    }
    /* The cast drops const; an offer is only read from. */
    const int code = submit(end, lane_of(end->hub, end->rank, to), TRANSFER_BULK_OUT,
                            (void *)(uintptr_t)data, size, cookie);
    if (code == MOOT_OK) {
        end->stats.bulk_sent++;
        end->stats.bytes_sent += size;
    }
    return code;
}

static int inproc_bulk_receive(struct transport *t, uint64_t from_uid, void *data,
                               size_t size, void *cookie)
{
    struct inproc_end *end = (struct inproc_end *)t;
    const uint32_t from = peer_find(end, from_uid);
    if (from == end->hub->size) {
        return refuse(end, MOOT_ERR_INVALID, "no such peer");
    }
    return submit(end, lane_of(end->hub, from, end->rank), TRANSFER_BULK_IN, data, size,
                  cookie);
}

/* --- Receiving -------------------------------------------------------------------- */

/* Copies up to `budget` bytes of the oldest offer into the oldest posted buffer.
 * Returns the latter once it is full, else NULL; *mismatch if the two sides disagree
 * about the size. */
static struct transfer *lane_copy(struct inproc_lane *lane, size_t *budget,
                                  bool *mismatch)
{
    struct transfer *offer = lane->offers.head, *posted = lane->posted.head;
    if (lane->held || !offer || !posted) {
        return NULL;
    }
    if (offer->size != posted->size) {
        *mismatch = true;
        return NULL;
    }
    size_t size = offer->size - offer->offset;
    if (size > *budget) {
        size = *budget;
    }
    if (size > 0) {
        memcpy((char *)posted->bytes + offer->offset,
               (const char *)offer->bytes + offer->offset, size);
    }
    offer->offset += size;
    *budget -= size;
    if (offer->offset < offer->size) {
        return NULL;
    }
    transfer_queue_push(&lane->copied, transfer_queue_pop(&lane->offers));
    return transfer_queue_pop(&lane->posted);
}

static int bulks_take(struct inproc_end *end, uint32_t from,
                      const struct transport_receiver *receiver)
{
    struct inproc_lane *lane = lane_of(end->hub, from, end->rank);
    size_t budget = SLICE_BYTES;
    int calls = 0;
    for (;;) {
        bool mismatch = false;
        pthread_mutex_lock(&lane->lock);
        struct transfer *full = lane_copy(lane, &budget, &mismatch);
        pthread_mutex_unlock(&lane->lock);
        if (mismatch) {
            return refuse(end, MOOT_ERR_TRANSPORT,
                          "a transfer has another size than was announced");
        }
        if (!full) {
            return calls;
        }
        end->stats.bulk_received++;
        end->stats.bytes_received += full->size;
        void *cookie = full->cookie;
        transfer_free(full);
        receiver->bulk(receiver->context, end->hub->uids[from], cookie);
        calls++;
    }
}

static int bulks_settle(struct inproc_end *end, uint32_t to,
                        const struct transport_receiver *receiver)
{
    struct inproc_lane *lane = lane_of(end->hub, end->rank, to);
    for (int calls = 0;; calls++) {
        pthread_mutex_lock(&lane->lock);
        struct transfer *copied = transfer_queue_pop(&lane->copied);
        pthread_mutex_unlock(&lane->lock);
        if (!copied) {
            return calls;
        }
        void *cookie = copied->cookie;
        transfer_free(copied);
        receiver->bulk_sent(receiver->context, end->hub->uids[to], cookie);
    }
}

static int frames_take(struct inproc_end *end, uint32_t from,
                       const struct transport_receiver *receiver, int frames_max)
{
    struct inproc_lane *lane = lane_of(end->hub, from, end->rank);
    for (int calls = 0;; calls++) {
        struct transfer *frame = NULL;
        pthread_mutex_lock(&lane->lock);
        if (!lane->held && calls < frames_max) {
            frame = transfer_queue_pop(&lane->frames);
        }
        pthread_mutex_unlock(&lane->lock);
        if (!frame) {
            return calls;
        }
        void *bytes = frame->bytes; /* the handler's from here on */
        const size_t size = frame->size;
        frame->bytes = NULL;
        transfer_free(frame);
        end->stats.frames_received++;
        end->stats.bytes_received += size;
        receiver->frame(receiver->context, end->hub->uids[from], bytes, size);
    }
}

static int inproc_poll(struct transport *t, const struct transport_receiver *receiver,
                       int frames_max)
{
    struct inproc_end *end = (struct inproc_end *)t;
    const uint32_t size = end->hub->size;
    int calls = 0;
    end->first = (end->first + 1) % size; /* no peer is always served last */
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t peer = (end->first + i) % size;
        const int bulks = bulks_take(end, peer, receiver);
        if (bulks < 0) {
            return bulks;
        }
        const int frames = frames_take(end, peer, receiver, frames_max);
        frames_max -= frames;
        calls += bulks + frames + bulks_settle(end, peer, receiver);
    }
    return calls;
}

/* --- Ending ----------------------------------------------------------------------- */

/* Drops all that is under way between this end and a peer. */
static void lanes_cut(struct inproc_end *end, uint32_t peer, bool take_frames_back)
{
    struct inproc_lane *in = lane_of(end->hub, peer, end->rank);
    pthread_mutex_lock(&in->lock);
    in->cut = true;
    transfer_queue_release(&in->frames);
    transfer_queue_release(&in->offers);
    transfer_queue_release(&in->posted);
    pthread_mutex_unlock(&in->lock);
    struct inproc_lane *out = lane_of(end->hub, end->rank, peer);
    pthread_mutex_lock(&out->lock);
    if (take_frames_back) {
        transfer_queue_release(&out->frames);
    }
    transfer_queue_release(&out->offers);
    transfer_queue_release(&out->copied);
    pthread_mutex_unlock(&out->lock);
}

static bool inproc_flushed(const struct transport *t)
{
    const struct inproc_end *end = (const struct inproc_end *)t;
    bool empty = true;
    for (uint32_t to = 0; empty && to < end->hub->size; to++) {
        struct inproc_lane *lane = lane_of(end->hub, end->rank, to);
        pthread_mutex_lock(&lane->lock);
        empty = lane->frames.count + lane->offers.count + lane->copied.count == 0;
        pthread_mutex_unlock(&lane->lock);
    }
    return empty;
}

static void inproc_forget(struct transport *t, uint64_t uid)
{
    struct inproc_end *end = (struct inproc_end *)t;
    const uint32_t peer = peer_find(end, uid);
    if (peer == end->hub->size) {
        return;
    }
    lanes_cut(end, peer, true);
    end->forgotten[peer] = true;
}

static void inproc_go_alone(struct transport *t)
{
    (void)t; /* its free() waits for nobody anyway */
}

static void inproc_stats(const struct transport *t, struct transport_stats *out)
{
    *out = ((const struct inproc_end *)t)->stats;
}

static const char *inproc_story(const struct transport *t)
{
    return ((const struct inproc_end *)t)->story;
}

/* Frames that it sent stay on the wire for their receivers. */
static bool inproc_free(struct transport *t)
{
    struct inproc_end *end = (struct inproc_end *)t;
    for (uint32_t peer = 0; peer < end->hub->size; peer++) {
        lanes_cut(end, peer, false);
    }
    free(end->forgotten);
    free(end);
    return true;
}

static const struct transport_ops inproc_ops = {
    .name = "inproc",
    .send = inproc_send,
    .backlog = inproc_backlog,
    .bulk_send = inproc_bulk_send,
    .bulk_receive = inproc_bulk_receive,
    .poll = inproc_poll,
    .flushed = inproc_flushed,
    .forget = inproc_forget,
    .go_alone = inproc_go_alone,
    .stats = inproc_stats,
    .story = inproc_story,
    .free = inproc_free,
};

/* --- Opening ---------------------------------------------------------------------- */

/* Joins, with rank 0's blob, and waits for the others; false if any of them failed. */
static bool hub_join(struct inproc_hub *hub, uint32_t rank, const void *blob,
                     size_t blob_size, bool ok)
{
    pthread_mutex_lock(&hub->lock);
    if (rank == 0 && ok) {
        hub->blob = malloc(blob_size ? blob_size : 1);
        ok = hub->blob != NULL;
        if (ok && blob_size) {
            memcpy(hub->blob, blob, blob_size);
        }
        hub->blob_size = blob_size;
    }
    hub->failed |= !ok;
    hub->joined++;
    pthread_cond_broadcast(&hub->joined_all);
    while (hub->joined < hub->size) {
        pthread_cond_wait(&hub->joined_all, &hub->lock);
    }
    ok = !hub->failed;
    pthread_mutex_unlock(&hub->lock);
    return ok;
}

/* Claims the end for this call; false if there is no such end or it is taken. */
static bool hub_take(struct inproc_hub *hub, uint32_t rank)
{
    pthread_mutex_lock(&hub->lock);
    const bool ok = rank < hub->size && !hub->taken[rank];
    if (ok) {
        hub->taken[rank] = true;
    }
    pthread_mutex_unlock(&hub->lock);
    return ok;
}

static bool group_fill(const struct inproc_hub *hub, uint32_t rank,
                       struct transport_group *group)
{
    group->rank = rank;
    group->size = group->founders = hub->size;
    group->threads = true;
    group->survives = true;
    group->oversubscribed = !processors_suffice(processors_own(), hub->size);
    group->uids = malloc(hub->size * sizeof(*group->uids));
    group->hosts = calloc(hub->size, sizeof(*group->hosts));
    group->blob = malloc(hub->blob_size ? hub->blob_size : 1);
    group->blob_size = hub->blob_size;
    if (!group->uids || !group->hosts || !group->blob) {
        return false;
    }
    memcpy(group->uids, hub->uids, hub->size * sizeof(*group->uids));
    if (hub->blob_size) {
        memcpy(group->blob, hub->blob, hub->blob_size);
    }
    return true;
}

int transport_inproc_open(void *arg, const void *blob, size_t blob_size,
                          struct transport_group *group, struct transport **out,
                          char *story, size_t story_size)
{
    const struct transport_inproc_options *options = arg;
    struct inproc_hub *hub = options->hub;
    if (!hub_take(hub, options->rank)) {
        snprintf(story, story_size, "rank %u is no end of this hub, or opened already",
                 (unsigned)options->rank);
        return MOOT_ERR_INVALID;
    }
    struct transport_group joined = {0};
    struct inproc_end *end = calloc(1, sizeof(*end));
    bool *forgotten = calloc(hub->size, sizeof(*forgotten));
    const bool ok = hub_join(hub, options->rank, blob, blob_size, end && forgotten);
    /* From here on a failure is this rank's alone; the others find it gone. */
    if (!ok || !end || !forgotten || !group_fill(hub, options->rank, &joined)) {
        transport_group_release(&joined);
        free(forgotten);
        free(end);
        snprintf(story, story_size, "out of memory");
        return MOOT_ERR_NO_MEMORY;
    }
    *end = (struct inproc_end){.base = {.ops = &inproc_ops},
                               .hub = hub,
                               .rank = options->rank,
                               .forgotten = forgotten};
    *group = joined;
    *out = &end->base;
    return MOOT_OK;
}
