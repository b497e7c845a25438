/* exchange_rings.c - an exchange's part with the peers of its own host (exchange.h).
 *
 * A ring may be full: then frames wait in their stream as for a wire whose window is
 * used up, and the poll that follows tries again.  What was taken out of a ring and is
 * lent goes back with the next poll.
 */
#include "node/transport/exchange.h"
#include "proto/limits.h"

#include <string.h>

enum { PER_PEER_MAX = 8 }; /* frames in one poll: the others wait, too */

static bool is_short(const struct exchange *x, size_t size)
{
    return size <= x->rings.frame_max;
}

bool exchange_ring_has_room(struct exchange *x, struct near *near, size_t size)
{
    return ring_place(&near->out, is_short(x, size) ? size : sizeof(size)) != NULL;
}

void exchange_ring_post(struct exchange *x, struct near *near,
                        const struct piece *piece)
{
    const bool whole = is_short(x, piece->size);
    const size_t size = whole ? piece->size : sizeof(piece->size);
    memcpy(ring_place(&near->out, size), whole ? piece->bytes : &piece->size, size);
    ring_show(&near->out, size, whole ? RING_FRAME : RING_NOTICE);
    if (whole) {
        exchange_land(x, piece, 0);
    } else {
        x->post(x, piece);
    }
}

void *exchange_ring_place(struct exchange *x, uint32_t rank, size_t size)
{
    struct near *near = host_rings_near(&x->rings, rank);
    return near && is_short(x, size) ? ring_place(&near->out, size) : NULL;
}

void exchange_ring_show(struct exchange *x, uint32_t rank, size_t size)
{
    ring_show(&host_rings_near(&x->rings, rank)->out, size, RING_FRAME);
}

size_t exchange_noticed(const void *bytes, size_t size)
{
    size_t frame_bytes = 0;
    if (size == sizeof(frame_bytes)) {
        memcpy(&frame_bytes, bytes, sizeof(frame_bytes));
    }
    return frame_bytes;
}

/* Takes what came next from this peer; false if there is nothing. */
static bool take_next(struct exchange *x, struct near *near, bool lends)
{
    size_t size = 0;
    enum ring_kind kind;
    const void *bytes = ring_take(&near->in, &size, &kind);
    if (!bytes) {
        if (kind != RING_NOTHING) {
            exchange_fail(x, MOOT_ERR_TRANSPORT, "a ring has what nobody put there");
        }
        return false;
    }
    if (kind == RING_FRAME) {
        return exchange_bring(x, near->rank, bytes, size, lends);
    }
    x->notice(x, near->rank, bytes, size);
    return !x->failed;
}

void exchange_rings_poll(struct exchange *x, size_t frames_max, bool lends)
{
    for (uint32_t i = 0; i < x->rings.count && !x->failed; i++) {
        struct near *near = &x->rings.peers[i];
        const struct exchange_peer *peer = &x->peers[near->rank];
        ring_return(&near->in);
        if (peer->streams[TRANSFER_FRAME_OUT].unstarted) {
            exchange_pump(x, near->rank, TRANSFER_FRAME_OUT);
        }
        for (int taken = 0; taken < PER_PEER_MAX && !peer->forgotten &&
                            exchange_waiting(x) < frames_max &&
                            take_next(x, near, lends);) {
            taken++;
        }
    }
}
