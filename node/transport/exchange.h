/* exchange.h - the half of a transport that does not know its wire.
 *
 * Peers by uid, their streams of transfers, what has arrived and has to be handed over,
 * counters, the error that ended it all.  A transport over a message-passing library
 * embeds an exchange as its first member, gives it `post`, tells it when a piece has
 * landed, and puts the exchange_* functions below into its table of slots; transport.h
 * has their contracts.
 *
 * With peers of its own host it may have rings (host_rings.h).  Then short frames go by
 * those and never meet the wire, and so does the notice that a longer one, which the
 * wire brings, is next; the wire's own part is to find no frame there from such a peer
 * that it has not been told to expect.
 */
#ifndef NODE_TRANSPORT_EXCHANGE_H
#define NODE_TRANSPORT_EXCHANGE_H

#include "node/transport/shm/host_rings.h"
#include "node/transport/transfer.h"
#include "node/transport/transport.h"

enum { EXCHANGE_LENT_MAX = 64 }; /* frames lent in one poll */

struct exchange_peer {
    uint64_t uid;
    bool forgotten;
    struct stream streams[TRANSFER_KINDS];
};

struct exchange {
    struct transport base;
    /* Gives a piece to the wire.  It may land (exchange_land) inside the call. */
    void (*post)(struct exchange *x, const struct piece *piece);
    /* A notice stands in this peer's ring.  One of sizeof(size_t) bytes is the size of
     * a long frame that comes next; others are the wire's own. */
    void (*notice)(struct exchange *x, uint32_t rank, const void *bytes, size_t size);
    struct host_rings rings;
    uint32_t rank, size;
    uint32_t known;              /* ranks that have come, this one among them */
    struct exchange_peer *peers; /* by rank */
    uint32_t *by_uid;            /* hash table of ranks */
    uint64_t by_uid_mask;
    struct transfer_queue arrived;  /* frames to hand over */
    struct transfer_queue finished; /* bulk transfers to report */
    struct transfer_pool pool;
    struct lent {
        uint32_t rank;
        const void *bytes;
        size_t size;
    } lent[EXCHANGE_LENT_MAX]; /* frames to lend in this poll */
    size_t lent_count;
    size_t unsent; /* outgoing transfers of peers not forgotten */
    bool alone;    /* some peer is forgotten, or exchange_go_alone() */
    int failed;    /* the error that ended this transport, for good */
    char story[256];
    struct transport_stats stats;
};

/* Fills in all but base.ops, post and notice; false without memory (release it anyway).
 * A rank that is yet to come has no uid, and is added when it does. */
bool exchange_init(struct exchange *x, uint32_t rank, uint32_t size,
                   const uint64_t *uids);
void exchange_add(struct exchange *x, uint32_t rank, uint64_t uid);
/* Frees all transfers but those with open pieces, which are the wire's. */
void exchange_release(struct exchange *x);

/* Ends the transport; the first error stays.  Returns it. */
int exchange_fail(struct exchange *x, int code, const char *why);

/* The wire is through with this piece; an incoming one had `size` bytes.  Starts
 * nothing: call exchange_pump when it is safe to post again. */
void exchange_land(struct exchange *x, const struct piece *piece, size_t size);
void exchange_pump(struct exchange *x, uint32_t rank, enum transfer_kind kind);

/* For a wire on which a long frame needs a word ahead: that, as a piece that lands by
 * itself.  Its bytes are the frame's size, a size_t. */
struct piece exchange_split(struct exchange *x, const struct piece *frame);

/* A frame of `size` bytes waits on the wire: *out is the piece to receive it into,
 * which is started.  Returns false, with the exchange failed, if it cannot be taken. */
bool exchange_expect(struct exchange *x, uint32_t rank, size_t size, struct piece *out);
/* The frame has come and is copied; likewise. */
bool exchange_take(struct exchange *x, uint32_t rank, const void *bytes, size_t size);

/* Likewise of a frame that stays where it is until the next poll: if `lends` and
 * nothing from this rank is before it, it is lent to the receiver of this one. */
bool exchange_bring(struct exchange *x, uint32_t rank, const void *bytes, size_t size,
                    bool lends);

/* The rank with this uid; UINT32_MAX if there is none, or it is this one or forgotten.
 */
uint32_t exchange_rank_of(const struct exchange *x, uint64_t uid);

/* That uid was a peer's who is forgotten. */
bool exchange_has_forgotten(const struct exchange *x, uint64_t uid);

/* The size in the exchange's own notice; 0 if this is none. */
size_t exchange_noticed(const void *bytes, size_t size);

/* How many frames wait to be handed over. */
static inline size_t exchange_waiting(const struct exchange *x)
{
    return x->arrived.count + x->lent_count;
}

/* --- exchange_rings.c: with the peers of this host -------------------------------- */

/* Gives back what the last poll lent, sends what the rings had no room for, and takes
 * what they have, until frames_max wait. */
void exchange_rings_poll(struct exchange *x, size_t frames_max, bool lends);

/* Whether the peer's ring has room for the next frame of its stream, of so many bytes;
 * and sends it: a short one whole, of a long one the notice. */
bool exchange_ring_has_room(struct exchange *x, struct near *near, size_t size);
void exchange_ring_post(struct exchange *x, struct near *near,
                        const struct piece *piece);

/* Where a frame that nothing is before can be written; NULL: there is no such place. */
void *exchange_ring_place(struct exchange *x, uint32_t rank, size_t size);
void exchange_ring_show(struct exchange *x, uint32_t rank, size_t size);

/* --- Of all ---------------------------------------------------------------------- */

/* Calls the handlers for what has ended, for what is lent, and for frames_max frames at
 * most. Returns how many handlers it called. */
int exchange_report(struct exchange *x, const struct transport_receiver *receiver,
                    size_t frames_max);

/* A receiver that frees frames and forgets the rest. */
extern const struct transport_receiver exchange_drop;

int exchange_send(struct transport *t, uint64_t to_uid, void *bytes, size_t size);
void *exchange_place(struct transport *t, uint64_t to_uid, size_t size);
void exchange_placed(struct transport *t, uint64_t to_uid, size_t size);
size_t exchange_backlog(const struct transport *t, uint64_t to_uid);
int exchange_bulk_send(struct transport *t, uint64_t to_uid, const void *data,
                       size_t size, void *cookie);
int exchange_bulk_receive(struct transport *t, uint64_t from_uid, void *data,
                          size_t size, void *cookie);
bool exchange_flushed(const struct transport *t);
void exchange_forget(struct transport *t, uint64_t uid);
void exchange_go_alone(struct transport *t);
void exchange_stats(const struct transport *t, struct transport_stats *out);
const char *exchange_story(const struct transport *t);

#endif
