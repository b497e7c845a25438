/* party.h - one rank of a transport under test: what it sends, and how it checks what
 * comes in.  Every frame and transfer carries a pattern made from its sender and its
 * number, so one that is lost, doubled, torn or out of order shows at once.
 */
#ifndef TESTS_CONFORMANCE_PARTY_H
#define TESTS_CONFORMANCE_PARTY_H

#include "node/transport/inproc/inproc.h"
#include "proto/limits.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS_MAX = 16, PATIENCE_SECONDS = 120, PLENTY = 64, LENT_MAX = PLENTY };
enum { FAILURES_PRINTED = 20 };
enum { INCOMING = RANKS_MAX };
enum { HEADER_BYTES = 16 }; /* of a test frame: number, announced bulk size */

static const char *current_case;
static _Atomic int failures;

/* One rank's end of a group, and what it has seen. */
struct party {
    struct transport *t;
    struct transport_group group;
    uint64_t sent[RANKS_MAX], got[RANKS_MAX];           /* frames */
    uint64_t bulk_got[RANKS_MAX], bulk_sent[RANKS_MAX]; /* reports */
    uint64_t frame_bytes_sent, frame_bytes_got;
    struct lent_frame {
        uint64_t from_uid;
        const void *bytes;
        size_t size;
    } lent[LENT_MAX];
    size_t lent_count;
    uint64_t polls;
    uint64_t placed; /* frames that were written to where they leave from */
    bool announces;  /* frames announce a bulk transfer of header[1] bytes */
    struct load *incoming[RANKS_MAX]; /* not reported yet, newest first */
    struct inproc_hub *hub;           /* NULL over MPI */
    struct party *twin;               /* this rank in a second group */
    char scratch[200];
};

struct load {
    struct load *older;
    size_t size;
    uint64_t number;
    unsigned char *bytes;
};

#define CHECK(p, condition) CHECK_AS(p, condition, #condition)
#define CHECK_AS(p, holds, text)                                                       \
    do {                                                                               \
        if (!(holds)) {                                                                \
            if (failures < FAILURES_PRINTED)                                           \
                fprintf(stderr, "%s: rank %u of %u: line %d: %s\n", current_case,      \
                        (p)->group.rank, (p)->group.size, __LINE__, text);             \
            failures++;                                                                \
        }                                                                              \
    } while (0)

/* --- What a rank does with what comes in ------------------------------------------ */

static uint32_t rank_of(const struct party *p, uint64_t uid)
{
    uint32_t rank = 0;
    while (rank < p->group.size && p->group.uids[rank] != uid) {
        rank++;
    }
    CHECK(p, rank < p->group.size && rank != p->group.rank);
    return rank < p->group.size ? rank : 0;
}

/* The byte at `offset` of message `number` from rank `from`. */
static unsigned char pattern(uint32_t from, uint64_t number, size_t offset)
{
    return (unsigned char)((from + 1) * 37 + number * 11 + offset * 7 + offset / 251);
}

static void fill(unsigned char *bytes, size_t size, uint32_t from, uint64_t number)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = pattern(from, number, i);
    }
}

static bool intact(const unsigned char *bytes, size_t size, uint32_t from,
                   uint64_t number)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != pattern(from, number, i)) {
            return false;
        }
    }
    return true;
}

static void load_free(struct load *x)
{
    free(x->bytes);
    free(x);
}

static struct load *load_new(uint32_t from, size_t size, uint64_t number)
{
    struct load *x = malloc(sizeof(*x));
    if (!x) {
        abort();
    }
    *x = (struct load){.size = size, .number = number, .bytes = malloc(size + 1)};
    if (!x->bytes) {
        abort();
    }
    if (from != INCOMING) {
        fill(x->bytes, size, from, number);
    }
    return x;
}

static void take_frame(struct party *p, uint64_t from_uid, void *bytes, size_t size)
{
    const uint32_t from = rank_of(p, from_uid);
    p->frame_bytes_got += size;
    if (size < HEADER_BYTES) { /* too small for a header: a tiny frame of the case */
        CHECK(p, intact(bytes, size, from, p->got[from]));
    } else {
        uint64_t header[2];
        memcpy(header, bytes, sizeof(header));
        CHECK(p, header[0] == p->got[from]); /* in the order sent */
        CHECK(p, intact((unsigned char *)bytes + HEADER_BYTES, size - HEADER_BYTES,
                        from, header[0]));
        if (p->announces) {
            struct load *x = load_new(INCOMING, (size_t)header[1], header[0]);
            x->older = p->incoming[from];
            p->incoming[from] = x;
            CHECK(p, p->t->ops->bulk_receive(p->t, from_uid, x->bytes, x->size, x) ==
                         MOOT_OK);
        }
    }
    p->got[from]++;
    free(bytes);
}

/* Its bytes live on after the poll: they are looked at then. */
static void on_lent(void *context, uint64_t from_uid, const void *bytes, size_t size)
{
    struct party *p = context;
    CHECK(p, p->lent_count < LENT_MAX);
    if (p->lent_count < LENT_MAX) {
        p->lent[p->lent_count++] = (struct lent_frame){from_uid, bytes, size};
    }
}

static void take_lent(struct party *p)
{
    for (size_t i = 0; i < p->lent_count; i++) {
        void *copy = malloc(p->lent[i].size);
        if (!copy) {
            abort();
        }
        memcpy(copy, p->lent[i].bytes, p->lent[i].size);
        take_frame(p, p->lent[i].from_uid, copy, p->lent[i].size);
    }
    p->lent_count = 0;
}

static void on_frame(void *context, uint64_t from_uid, void *bytes, size_t size)
{
    take_lent(context); /* they came before */
    take_frame(context, from_uid, bytes, size);
}

static void on_bulk(void *context, uint64_t from_uid, void *cookie)
{
    struct party *p = context;
    const uint32_t from = rank_of(p, from_uid);
    struct load *x = cookie;
    CHECK(p, x->number == p->bulk_got[from]); /* the oldest posted one */
    CHECK(p, intact(x->bytes, x->size, from, x->number));
    p->bulk_got[from]++;
    struct load **link = &p->incoming[from];
    while (*link && *link != x) {
        link = &(*link)->older;
    }
    CHECK(p, *link == x);
    if (*link) {
        *link = x->older;
    }
    load_free(x);
}

static void on_bulk_sent(void *context, uint64_t to_uid, void *cookie)
{
    struct party *p = context;
    p->bulk_sent[rank_of(p, to_uid)]++;
    load_free(cookie);
}

/* --- What a rank does ------------------------------------------------------------- */

static int poll_some(struct party *p, int frames_max)
{
    const bool lends = p->polls++ % 2 == 0 && !p->announces;
    const struct transport_receiver receiver = {p, on_frame, on_bulk, on_bulk_sent,
                                                lends ? on_lent : NULL};
    const int calls = p->t->ops->poll(p->t, &receiver, frames_max);
    take_lent(p);
    if (p->twin != NULL && p->twin->t != NULL) {
        poll_some(p->twin, frames_max); /* who has it may still be waited for */
    }
    if (calls == 0) {
        sched_yield();
    }
    return calls;
}

/* Held once is enough: a rank that passes on for others is flushed now and then. */
#define POLL_UNTIL(p, condition)                                                       \
    do {                                                                               \
        const time_t start_ = time(NULL);                                              \
        bool held_ = (condition);                                                      \
        while (!held_ && time(NULL) - start_ < PATIENCE_SECONDS) {                     \
            if (poll_some(p, PLENTY) < 0)                                              \
                break;                                                                 \
            held_ = (condition);                                                       \
        }                                                                              \
        CHECK_AS(p, held_, #condition);                                                \
    } while (0)

static int send_frame(struct party *p, uint32_t to, size_t size, uint64_t announced)
{
    unsigned char *bytes = malloc(size);
    if (!bytes) {
        abort();
    }
    const uint64_t number = p->sent[to]++, header[2] = {number, announced};
    if (size < HEADER_BYTES) {
        fill(bytes, size, p->group.rank, number);
    } else {
        memcpy(bytes, header, sizeof(header));
        fill(bytes + HEADER_BYTES, size - HEADER_BYTES, p->group.rank, number);
    }
    p->frame_bytes_sent += size;
    const struct transport_ops *ops = p->t->ops;
    void *place =
        ops->place && number % 3 > 0 ? ops->place(p->t, p->group.uids[to], size) : NULL;
    if (!place) {
        return ops->send(p->t, p->group.uids[to], bytes, size);
    }
    memcpy(place, bytes, size);
    free(bytes);
    ops->placed(p->t, p->group.uids[to], size);
    p->placed++;
    return MOOT_OK;
}

static void send_bulk(struct party *p, uint32_t to, size_t size)
{
    const uint64_t number = p->sent[to];
    struct load *x = load_new(p->group.rank, size, number);
    CHECK(p, send_frame(p, to, HEADER_BYTES, size) == MOOT_OK);
    CHECK(p,
          p->t->ops->bulk_send(p->t, p->group.uids[to], x->bytes, size, x) == MOOT_OK);
}

static uint64_t sum(const uint64_t counts[RANKS_MAX])
{
    uint64_t total = 0;
    for (int i = 0; i < RANKS_MAX; i++) {
        total += counts[i];
    }
    return total;
}

static uint32_t right_of(const struct party *p)
{
    return (p->group.rank + 1) % p->group.size;
}

/* Returns when all have called it. */
static void meet(struct party *p)
{
    for (uint32_t to = 0; to < p->group.size; to++) {
        if (to != p->group.rank) {
            CHECK(p, send_frame(p, to, 32, 0) == MOOT_OK);
        }
    }
    POLL_UNTIL(p, sum(p->got) == p->group.size - 1 && p->t->ops->flushed(p->t));
}

#endif
