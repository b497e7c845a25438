/* wire.c - see wire.h.
 *
 * Frames and transfers under way are the world's, not a rank's: they are allocated
 * between account_own_begin() and account_own_end(), but for a frame's bytes, which go
 * from the sender's account to the receiver's.
 */
#include "tests/virtual/wire.h"

#include "proto/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENT_MAX = 64 };

/* A frame, or a side of a bulk transfer. */
struct parcel {
    struct parcel *next;
    unsigned char *bytes;
    size_t size;
    void *cookie;
    uint64_t leaves_ns, arrives_ns;
};

struct parcels {
    struct parcel *first, **end;
    size_t count;
};

struct pair {
    struct parcels frames, offers, posted, copied;
    uint64_t last_ns; /* when the latest of it arrives */
    bool cut;         /* the receiver is gone or has forgotten the sender */
};

struct wire {
    struct wire_options options;
    uint64_t uids[WORLD_RANKS_MAX];
    uint32_t joined;
    uint64_t link_free_ns[WORLD_RANKS_MAX];
    struct pair pairs[WORLD_RANKS_MAX][WORLD_RANKS_MAX];
    void *blob;
    size_t blob_size;
    void *boards[WORLD_RANKS_MAX];
};

struct end {
    struct transport base;
    struct wire *wire;
    uint32_t rank, first;
    bool forgotten[WORLD_RANKS_MAX];
    unsigned char *placed;
    void *lent[LENT_MAX];
    uint32_t lent_count;
    struct transport_stats stats;
    char story[128];
};

/* --- Parcels ---------------------------------------------------------------------- */

static void push_parcel(struct parcels *to, struct parcel *parcel)
{
    if (to->first == NULL) {
        to->end = &to->first;
    }
    parcel->next = NULL;
    *to->end = parcel;
    to->end = &parcel->next;
    to->count++;
}

static struct parcel *pop_parcel(struct parcels *from)
{
    struct parcel *parcel = from->first;
    from->first = parcel->next;
    from->count--;
    return parcel;
}

static void free_parcel(struct parcel *parcel)
{
    account_own_begin();
    free(parcel);
    account_own_end();
}

static void drop_parcels(struct parcels *all, bool frames)
{
    while (all->first != NULL) {
        struct parcel *parcel = pop_parcel(all);
        if (frames) {
            free(parcel->bytes);
        }
        free_parcel(parcel);
    }
}

struct wire *wire_new(const struct wire_options *options)
{
    struct wire *wire = calloc(1, sizeof(*wire));
    if (wire == NULL) {
        exit(2);
    }
    wire->options = *options;
    for (uint32_t rank = 0; rank < options->ranks; rank++) {
        wire->boards[rank] = calloc(1, TRANSPORT_BOARD_BYTES);
        wire->uids[rank] = world_draw(UINT64_C(1) << 40) + 1 + ((uint64_t)rank << 48);
    }
    return wire;
}

void wire_free(struct wire *wire)
{
    for (uint32_t from = 0; from < WORLD_RANKS_MAX; from++) {
        for (uint32_t to = 0; to < WORLD_RANKS_MAX; to++) {
            struct pair *pair = &wire->pairs[from][to];
            drop_parcels(&pair->frames, true);
            drop_parcels(&pair->offers, false);
            drop_parcels(&pair->posted, false);
            drop_parcels(&pair->copied, false);
        }
    }
    for (uint32_t rank = 0; rank < wire->options.ranks; rank++) {
        free(wire->boards[rank]);
    }
    free(wire->blob);
    free(wire);
}

uint32_t wire_left(const struct wire *wire)
{
    uint32_t left = 0;
    for (uint32_t from = 0; from < wire->options.ranks; from++) {
        for (uint32_t to = 0; to < wire->options.ranks; to++) {
            const struct pair *pair = &wire->pairs[from][to];
            bool live = !world_is_dead(from, NULL) && !world_is_dead(to, NULL);
            left += live ? (uint32_t)(pair->offers.count + pair->posted.count) : 0;
        }
    }
    return left;
}

/* --- Sending ---------------------------------------------------------------------- */

static int refuse(struct end *end, int code, const char *why)
{
    (void)snprintf(end->story, sizeof(end->story), "%s", why);
    return code;
}

static uint32_t find_peer(const struct end *end, uint64_t uid)
{
    uint32_t ranks = end->wire->options.ranks, rank = 0;
    while (rank < ranks && end->wire->uids[rank] != uid) {
        rank++;
    }
    bool usable = rank < ranks && rank != end->rank && !end->forgotten[rank];
    return usable ? rank : ranks;
}

/* When it has left this rank's link, and when it arrives: after what went before it. */
static void time_parcel(struct end *end, uint32_t to, struct parcel *parcel)
{
    struct wire *wire = end->wire;
    const struct wire_options *options = &wire->options;
    struct pair *pair = &wire->pairs[end->rank][to];
    uint64_t now_ns = world_now_ns(), *free_ns = &wire->link_free_ns[end->rank];
    *free_ns = (*free_ns > now_ns ? *free_ns : now_ns) + options->frame_ns +
               parcel->size * 1000 / options->bytes_per_us;
    uint64_t takes_ns = options->latency_ns + world_draw(options->jitter_ns + 1);
    if (world_draw(1000) < options->slow_ones) {
        takes_ns += 20 * options->jitter_ns;
    }
    parcel->leaves_ns = *free_ns;
    parcel->arrives_ns = *free_ns + takes_ns;
    if (parcel->arrives_ns < pair->last_ns) {
        parcel->arrives_ns = pair->last_ns;
    }
    pair->last_ns = parcel->arrives_ns;
    world_frame_at(to, parcel->arrives_ns);
}

static struct parcel *new_parcel(void *bytes, size_t size, void *cookie)
{
    account_own_begin();
    struct parcel *parcel = calloc(1, sizeof(*parcel));
    account_own_end();
    if (parcel == NULL) {
        exit(2);
    }
    *parcel = (struct parcel){.bytes = bytes, .size = size, .cookie = cookie};
    return parcel;
}

static uint64_t digest_bytes(const unsigned char *bytes, size_t size)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < size; i++) {
        digest = (digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}

static int send_frame(struct transport *t, uint64_t to_uid, void *bytes, size_t size)
{
    struct end *end = (struct end *)t;
    uint32_t to = find_peer(end, to_uid);
    if (size == 0 || size > LIMIT_FRAME_BYTES || to == end->wire->options.ranks) {
        free(bytes);
        return refuse(end,
                      size == 0 || size > LIMIT_FRAME_BYTES ? MOOT_ERR_LIMIT
                                                            : MOOT_ERR_INVALID,
                      "no such peer, or no such size");
    }
    world_note(1, digest_bytes(bytes, size), to);
    end->stats.frames_sent++;
    end->stats.bytes_sent += size;
    struct pair *pair = &end->wire->pairs[end->rank][to];
    if (pair->cut) {
        free(bytes);
        return MOOT_OK;
    }
    struct parcel *parcel = new_parcel(bytes, size, NULL);
    account_give(bytes, WORLD_ON_WIRE);
    time_parcel(end, to, parcel);
    push_parcel(&pair->frames, parcel);
    if (end->wire->options.swaps && pair->frames.count > 1 && world_draw(4) == 0) {
        push_parcel(&pair->frames, pop_parcel(&pair->frames));
    }
    return MOOT_OK;
}

static void *place_frame(struct transport *t, uint64_t to_uid, size_t size)
{
    struct end *end = (struct end *)t;
    if (!end->wire->options.places || size > 4096 || world_draw(4) == 0 ||
        find_peer(end, to_uid) == end->wire->options.ranks) {
        return NULL;
    }
    free(end->placed); /* of one that was not placed */
    end->placed = malloc(size);
    return end->placed;
}

static void frame_placed(struct transport *t, uint64_t to_uid, size_t size)
{
    struct end *end = (struct end *)t;
    unsigned char *bytes = end->placed;
    end->placed = NULL;
    (void)send_frame(t, to_uid, bytes, size);
}

static size_t count_backlog(const struct transport *t, uint64_t to_uid)
{
    const struct end *end = (const struct end *)t;
    uint32_t to = find_peer(end, to_uid);
    size_t count = 0;
    if (to < end->wire->options.ranks) {
        const struct parcel *parcel = end->wire->pairs[end->rank][to].frames.first;
        for (; parcel != NULL; parcel = parcel->next) {
            count += parcel->leaves_ns > world_now_ns();
        }
    }
    return count;
}

static int offer_bulk(struct transport *t, uint64_t to_uid, const void *data,
                      size_t size, void *cookie)
{
    struct end *end = (struct end *)t;
    uint32_t to = find_peer(end, to_uid);
    if (to == end->wire->options.ranks) {
        return refuse(end, MOOT_ERR_INVALID, "no such peer");
    }
    struct pair *pair = &end->wire->pairs[end->rank][to];
    end->stats.bulk_sent++;
    end->stats.bytes_sent += size;
    if (!pair->cut) {
        struct parcel *parcel = new_parcel((void *)(uintptr_t)data, size, cookie);
        time_parcel(end, to, parcel);
        push_parcel(&pair->offers, parcel);
    }
    return MOOT_OK;
}

static int post_bulk(struct transport *t, uint64_t from_uid, void *data, size_t size,
                     void *cookie)
{
    struct end *end = (struct end *)t;
    uint32_t from = find_peer(end, from_uid);
    if (from == end->wire->options.ranks) {
        return refuse(end, MOOT_ERR_INVALID, "no such peer");
    }
    struct pair *pair = &end->wire->pairs[from][end->rank];
    if (!pair->cut) {
        push_parcel(&pair->posted, new_parcel(data, size, cookie));
    }
    return MOOT_OK;
}

/* --- Receiving -------------------------------------------------------------------- */

/* A rank that died took with it what had not left, and the end of what was under way.
 */
static bool has_come(const struct parcel *parcel, uint32_t from)
{
    uint64_t died_ns = 0;
    if (parcel == NULL || parcel->arrives_ns > world_now_ns()) {
        return false;
    }
    return !world_is_dead(from, &died_ns) ||
           (parcel->leaves_ns <= died_ns && parcel->arrives_ns % 4 != 3);
}

static void hand_over(struct end *end, uint32_t from, struct parcel *frame,
                      const struct transport_receiver *receiver)
{
    uint64_t uid = end->wire->uids[from];
    unsigned char *bytes = frame->bytes;
    size_t size = frame->size;
    free_parcel(frame);
    end->stats.frames_received++;
    end->stats.bytes_received += size;
    world_note(2, size, from);
    account_give(bytes, end->rank);
    if (end->wire->options.lends && receiver->lent != NULL &&
        end->lent_count < LENT_MAX) {
        end->lent[end->lent_count++] = bytes;
        receiver->lent(receiver->context, uid, bytes, size);
    } else {
        receiver->frame(receiver->context, uid, bytes, size);
    }
}

static int take_frames(struct end *end, uint32_t from,
                       const struct transport_receiver *receiver, int frames_max)
{
    struct pair *pair = &end->wire->pairs[from][end->rank];
    int calls = 0;
    while (calls < frames_max && has_come(pair->frames.first, from)) {
        hand_over(end, from, pop_parcel(&pair->frames), receiver);
        calls++;
    }
    return calls;
}

static int take_bulks(struct end *end, uint32_t from,
                      const struct transport_receiver *receiver)
{
    struct pair *pair = &end->wire->pairs[from][end->rank];
    int calls = 0;
    while (pair->posted.first != NULL && has_come(pair->offers.first, from)) {
        struct parcel *offer = pair->offers.first, *posted = pair->posted.first;
        if (offer->size != posted->size) {
            return refuse(end, MOOT_ERR_TRANSPORT, "a transfer has another size");
        }
        size_t size = offer->size;
        if (size > 0) {
            memcpy(posted->bytes, offer->bytes,
                   size - (end->wire->options.cuts_bulk ? 1 : 0));
        }
        end->stats.bulk_received++;
        end->stats.bytes_received += size;
        push_parcel(&pair->copied, pop_parcel(&pair->offers));
        void *cookie = pop_parcel(&pair->posted)->cookie;
        free_parcel(posted);
        world_note(3, size, from);
        world_frame_at(from, world_now_ns());
        receiver->bulk(receiver->context, end->wire->uids[from], cookie);
        calls++;
    }
    return calls;
}

static int settle_bulks(struct end *end, uint32_t to,
                        const struct transport_receiver *receiver)
{
    struct pair *pair = &end->wire->pairs[end->rank][to];
    int calls = 0;
    for (; pair->copied.first != NULL; calls++) {
        struct parcel *copied = pop_parcel(&pair->copied);
        void *cookie = copied->cookie;
        free_parcel(copied);
        receiver->bulk_sent(receiver->context, end->wire->uids[to], cookie);
    }
    return calls;
}

static void drop_lent(struct end *end)
{
    while (end->lent_count > 0) {
        free(end->lent[--end->lent_count]);
    }
}

static int poll_end(struct transport *t, const struct transport_receiver *receiver,
                    int frames_max)
{
    struct end *end = (struct end *)t;
    uint32_t ranks = end->wire->options.ranks;
    int calls = 0;
    drop_lent(end);
    world_spend();
    end->first = (end->first + 1) % ranks;
    for (uint32_t i = 0; i < ranks; i++) {
        uint32_t peer = (end->first + i) % ranks;
        int bulks = take_bulks(end, peer, receiver);
        if (bulks < 0) {
            return bulks;
        }
        int frames = take_frames(end, peer, receiver, frames_max);
        frames_max -= frames;
        calls += bulks + frames + settle_bulks(end, peer, receiver);
    }
    return calls;
}

/* --- Ending ----------------------------------------------------------------------- */

static void cut_pairs(struct end *end, uint32_t peer, bool takes_back)
{
    struct pair *in = &end->wire->pairs[peer][end->rank];
    struct pair *out = &end->wire->pairs[end->rank][peer];
    in->cut = true;
    drop_parcels(&in->frames, true);
    drop_parcels(&in->offers, false);
    drop_parcels(&in->posted, false);
    if (takes_back) {
        drop_parcels(&out->frames, true);
    }
    drop_parcels(&out->offers, false);
    drop_parcels(&out->copied, false);
}

static bool is_flushed(const struct transport *t)
{
    const struct end *end = (const struct end *)t;
    for (uint32_t to = 0; to < end->wire->options.ranks; to++) {
        const struct pair *pair = &end->wire->pairs[end->rank][to];
        if (pair->offers.count + pair->copied.count > 0) {
            return false;
        }
        for (const struct parcel *parcel = pair->frames.first; parcel != NULL;
             parcel = parcel->next) {
            if (parcel->leaves_ns > world_now_ns()) {
                return false;
            }
        }
    }
    return true;
}

static void forget_peer(struct transport *t, uint64_t uid)
{
    struct end *end = (struct end *)t;
    uint32_t peer = find_peer(end, uid);
    if (peer < end->wire->options.ranks) {
        cut_pairs(end, peer, true);
        end->forgotten[peer] = true;
    }
}

static void go_alone(struct transport *t) { (void)t; }

static void look_at_stats(const struct transport *t, struct transport_stats *out)
{
    *out = ((const struct end *)t)->stats;
}

static const char *last_story(const struct transport *t)
{
    return ((const struct end *)t)->story;
}

static bool free_end(struct transport *t)
{
    struct end *end = (struct end *)t;
    for (uint32_t peer = 0; peer < end->wire->options.ranks; peer++) {
        cut_pairs(end, peer, false);
    }
    drop_lent(end);
    free(end->placed);
    free(end);
    return true;
}

static const struct transport_ops wire_ops = {
    .name = "virtual",
    .send = send_frame,
    .place = place_frame,
    .placed = frame_placed,
    .backlog = count_backlog,
    .bulk_send = offer_bulk,
    .bulk_receive = post_bulk,
    .poll = poll_end,
    .flushed = is_flushed,
    .forget = forget_peer,
    .go_alone = go_alone,
    .stats = look_at_stats,
    .story = last_story,
    .free = free_end,
};

/* --- Opening ---------------------------------------------------------------------- */

static void join_wire(struct wire *wire, uint32_t rank, const void *blob, size_t size)
{
    if (rank == 0) {
        account_own_begin();
        wire->blob = malloc(size > 0 ? size : 1);
        account_own_end();
        if (wire->blob == NULL) {
            exit(2);
        }
        memcpy(wire->blob, blob, size);
        wire->blob_size = size;
    }
    wire->joined++;
    while (wire->joined < wire->options.ranks) {
        world_sleep_until(world_now_ns() + 1000);
    }
}

int wire_open(void *arg, const void *blob, size_t blob_size,
              struct transport_group *group, struct transport **out, char *story,
              size_t story_size)
{
    const struct wire_end_options *options = arg;
    struct wire *wire = options->wire;
    uint32_t ranks = wire->options.ranks;
    join_wire(wire, options->rank, blob, blob_size);
    struct end *end = calloc(1, sizeof(*end));
    *group = (struct transport_group){.rank = options->rank,
                                      .size = ranks,
                                      .founders = ranks,
                                      .uids = malloc(ranks * sizeof(*group->uids)),
                                      .hosts = calloc(ranks, sizeof(*group->hosts)),
                                      .boards = calloc(ranks, sizeof(*group->boards)),
                                      .blob = malloc(wire->blob_size + 1),
                                      .blob_size = wire->blob_size,
                                      .threads = true,
                                      .survives = true,
                                      .oversubscribed = true};
    if (end == NULL || group->uids == NULL || group->hosts == NULL ||
        group->blob == NULL || group->boards == NULL) {
        transport_group_release(group);
        free(end);
        (void)snprintf(story, story_size, "out of memory");
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(group->uids, wire->uids, ranks * sizeof(*group->uids));
    memcpy(group->hosts, wire->options.hosts, ranks * sizeof(*group->hosts));
    for (uint32_t rank = 0; rank < ranks; rank++) {
        bool near = group->hosts[rank] == group->hosts[options->rank];
        group->boards[rank] = near ? wire->boards[rank] : NULL;
    }
    memcpy(group->blob, wire->blob, wire->blob_size);
    *end =
        (struct end){.base = {.ops = &wire_ops}, .wire = wire, .rank = options->rank};
    *out = &end->base;
    return MOOT_OK;
}
