/* alone.c - see alone.h. */
#include "tests/bench/alone.h"

#include "node/api/context_open.h"
#include "node/transport/transport.h"
#include "tests/bench/bench.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_UID = 1000 };

struct alone_frame {
    struct alone_frame *next;
    uint64_t from_uid;
    void *bytes;
    size_t size;
};

struct alone_end {
    struct transport base;
    struct alone_wire *wire;
    uint32_t rank;
    struct alone_frame *first, **last; /* what this rank has not heard yet */
    struct transport_stats stats;
};

struct alone_wire {
    uint32_t ranks;
    uint64_t frames;
    struct alone_end **ends; /* NULL: silent */
};

static int alone_send(struct transport *t, uint64_t to_uid, void *bytes, size_t size)
{
    struct alone_end *end = (struct alone_end *)t;
    struct alone_end *to = end->wire->ends[to_uid - FIRST_UID];
    end->stats.frames_sent++;
    end->stats.bytes_sent += size;
    end->wire->frames++;
    if (to == NULL) {
        free(bytes);
        return MOOT_OK;
    }
    struct alone_frame *frame = bench_alloc(1, sizeof(*frame));
    *frame = (struct alone_frame){
        .from_uid = FIRST_UID + end->rank, .bytes = bytes, .size = size};
    *to->last = frame;
    to->last = &frame->next;
    return MOOT_OK;
}

static size_t alone_backlog(const struct transport *t, uint64_t to_uid)
{
    (void)t;
    (void)to_uid;
    return 0;
}

static int alone_bulk_send(struct transport *t, uint64_t to_uid, const void *data,
                           size_t size, void *cookie)
{
    (void)t;
    (void)to_uid;
    (void)data;
    (void)cookie;
    bench_die("a result of %zu bytes goes in no frame", size);
}

static int alone_bulk_receive(struct transport *t, uint64_t from_uid, void *data,
                              size_t size, void *cookie)
{
    return alone_bulk_send(t, from_uid, data, size, cookie);
}

static int alone_poll(struct transport *t, const struct transport_receiver *receiver,
                      int frames_max)
{
    struct alone_end *end = (struct alone_end *)t;
    int calls = 0;
    while (calls < frames_max && end->first != NULL) {
        struct alone_frame *frame = end->first;
        end->first = frame->next;
        end->last = end->first == NULL ? &end->first : end->last;
        receiver->frame(receiver->context, frame->from_uid, frame->bytes, frame->size);
        free(frame);
        calls++;
    }
    return calls;
}

static bool alone_flushed(const struct transport *t)
{
    (void)t;
    return true;
}

static void alone_forget(struct transport *t, uint64_t uid)
{
    (void)t;
    (void)uid;
}

static void alone_go_alone(struct transport *t) { (void)t; }

static void alone_stats(const struct transport *t, struct transport_stats *out)
{
    *out = ((const struct alone_end *)t)->stats;
}

static const char *alone_story(const struct transport *t)
{
    (void)t;
    return "";
}

static bool alone_free(struct transport *t)
{
    (void)t;
    return true;
}

static const struct transport_ops alone_ops = {.name = "alone",
                                               .send = alone_send,
                                               .backlog = alone_backlog,
                                               .bulk_send = alone_bulk_send,
                                               .bulk_receive = alone_bulk_receive,
                                               .poll = alone_poll,
                                               .flushed = alone_flushed,
                                               .forget = alone_forget,
                                               .go_alone = alone_go_alone,
                                               .stats = alone_stats,
                                               .story = alone_story,
                                               .free = alone_free};

/* Rank 0's blob is what this rank would have given: all are alike. */
static int open_alone(void *arg, const void *blob, size_t blob_size,
                      struct transport_group *group, struct transport **out,
                      char *story, size_t story_size)
{
    struct alone_end *end = arg;
    const uint32_t ranks = end->wire->ranks;
    (void)story;
    (void)story_size;
    *group = (struct transport_group){.rank = end->rank,
                                      .size = ranks,
                                      .founders = ranks,
                                      .threads = true,
                                      .survives = true,
                                      .uids = bench_alloc(ranks, sizeof(uint64_t)),
                                      .hosts = bench_alloc(ranks, sizeof(uint32_t)),
                                      .blob = bench_alloc(blob_size + 1, 1),
                                      .blob_size = blob_size};
    for (uint32_t rank = 0; rank < ranks; rank++) {
        group->uids[rank] = FIRST_UID + rank;
    }
    memcpy(group->blob, blob, blob_size);
    *out = &end->base;
    return MOOT_OK;
}

struct alone_wire *alone_wire_new(uint32_t ranks)
{
    struct alone_wire *wire = bench_alloc(1, sizeof(*wire));
    wire->ranks = ranks;
    wire->ends = bench_alloc(ranks, sizeof(struct alone_end *));
    return wire;
}

moot *alone_open(struct alone_wire *wire, uint32_t rank, const char *knob)
{
    const char *const knobs[] = {"MOOT_PROGRESS=caller", "MOOT_HEARTBEAT=never",
                                 "MOOT_ASK_DELAY=1h", knob, NULL};
    struct alone_end *end = bench_alloc(1, sizeof(*end));
    moot *m = NULL;
    *end = (struct alone_end){.base = {.ops = &alone_ops}, .wire = wire, .rank = rank};
    end->last = &end->first;
    wire->ends[rank] = end;
    bench_check(
        NULL, moot_open_transport(&(moot_options){.knobs = knobs}, open_alone, end, &m),
        "a moot in one process");
    return m;
}

bool alone_is_sent(const struct alone_wire *wire, uint32_t rank)
{
    return wire->ends[rank]->first != NULL;
}

uint64_t alone_frames(const struct alone_wire *wire) { return wire->frames; }
