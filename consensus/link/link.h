/* link.h - a wire that loses, repeats and reorders, made into one that does not.
 *
 * PROTOCOL.md (*Links*) wants frames between two incarnations of ranks to arrive once
 * and in the order sent, while both live and are members.  A link makes it so over any
 * wire.  It is one rank's end of one pair of uids: who comes back under a new uid has a
 * new link, and nothing of the old one can reach it.
 *
 *   sending     Frames get sequence numbers from 1.  A frame is kept, and sent again
 *               when its time is up, until the peer has acknowledged it or all up to a
 *               later one.  At most LINK_WINDOW are on their way at a time.
 *   receiving   What comes early is held, what comes twice is dropped, what comes more
 *               than LINK_WINDOW ahead is dropped, too: it will come again.
 *   answering   Every frame to the peer carries an acknowledgement.  If none goes there
 *               anyway within ack_delay_ns, one goes alone.
 *
 * A link knows no clock and no wire: now_ns comes in and never goes back, and frames
 * are handles that it passes through.  It is driven like this:
 *
 *     link_send(link, frame)                  when there is something to say
 *     link_receive(link, now, ...)            when something has come, and then
 *       while ((frame = link_take(link)))       take what is next in order
 *     while (link_next(link, now, &out))      after both, and at link_deadline_ns():
 *       put out.sequence, out.ack and a copy of out.frame on the wire
 *
 * Frames without a sequence number do not belong to the link: what is worthless when it
 * is late can go past it.  They may carry link_ack() all the same.
 */
#ifndef CONSENSUS_LINK_LINK_H
#define CONSENSUS_LINK_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define LINK_NEVER UINT64_MAX

/* Frames on their way, and frames held until those before them come.  Both ends must
 * have the same. */
enum { LINK_WINDOW = 64 };

struct link;

struct link_options {
    /* How long until a frame is sent again (the retransmission timeout): at first, and
     * within which bounds what is learnt from the peer's answers.  min is longer than
     * ack_delay_ns; 0 < min <= initial <= max < 2^60. */
    uint64_t rto_initial_ns, rto_min_ns, rto_max_ns;
    uint64_t ack_delay_ns;
    /* The link needs this frame no more.  Must not call the link. */
    void (*release)(void *context, void *frame);
    void *context;
};

struct link_stats {
    uint64_t sent, resent; /* frames, the first time and again */
    uint64_t acks_sent;    /* alone */
    uint64_t delivered;    /* to link_take() */
    uint64_t repeated;     /* received again, and dropped */
    uint64_t beyond;       /* received too far ahead, and dropped */
    uint64_t refused;      /* acknowledgements of what was never sent */
    uint64_t rtt_ns,
        rto_ns; /* smoothed round trip, 0 before the first; present timeout */
    uint64_t rtt_deviation_ns; /* smoothed */
};

/* NULL without memory.  The options must outlive the link. */
struct link *link_new(const struct link_options *options);
/* Releases all frames that it holds.  Accepts NULL. */
void link_free(struct link *link);

/* The peer is no member any more: releases all frames, and from then on keeps none,
 * gives none, and says nothing. */
void link_forget(struct link *link);

/* Queues a frame (not NULL) and returns its sequence number.  The link owns it until it
 * releases it.  0 without memory: the frame is the caller's. */
uint64_t link_send(struct link *link, void *frame);

/* How many frames the peer has not acknowledged, queued ones included.  It is for the
 * caller to see that they do not become too many: while there are more than LINK_WINDOW
 * the wire is behind, and messages had better share frames. */
uint64_t link_backlog(const struct link *link);

struct link_transmission {
    uint64_t sequence; /* 0: an acknowledgement alone */
    uint64_t ack;
    void *frame; /* the link's, for the caller to copy; NULL with sequence 0 */
    bool again;  /* was sent before */
};

/* What is to go onto the wire now, one after the other; false: nothing (more). */
bool link_next(struct link *link, uint64_t now_ns, struct link_transmission *out);

/* What a frame past the link should carry, which goes now: the last sequence number up
 * to which everything is here. */
uint64_t link_ack(struct link *link);

/* Something came from the peer.  `frame` is the link's from now on, whatever becomes of
 * it; NULL if and only if sequence is 0. */
void link_receive(struct link *link, uint64_t now_ns, uint64_t sequence, uint64_t ack,
                  void *frame);

/* The next frame in order, the caller's from now on; NULL: it has not come yet. */
void *link_take(struct link *link);

/* When link_next() has something again if nothing else happens: 0 is at once,
 * LINK_NEVER that the link is at rest. */
uint64_t link_deadline_ns(const struct link *link);

const struct link_stats *link_stats(const struct link *link);

#endif
