/* wire.h - the wire between virtual ranks: latencies, bandwidth, and deaths.
 *
 * A transport (node/transport/transport.h), opened by each rank on its own thread of
 * the world.  Frames leave one after the other through the sender's link, take a drawn
 * time, and arrive in the order sent; a bulk transfer likewise, and is copied in the
 * receiver's poll once both sides have named their buffers.  Nothing is lost between
 * ranks that live.  Whoever dies takes with it what had not left its link, and an
 * unknown part of what was under way.
 *
 * Drawn per world are the two optional ways of frames, too: written to where they leave
 * from (`place`), and lent to the receiver until its next poll (`lent`).
 */
#ifndef TESTS_VIRTUAL_WIRE_H
#define TESTS_VIRTUAL_WIRE_H

#include "node/transport/transport.h"
#include "tests/virtual/world.h"

struct wire_options {
    uint32_t ranks;
    uint64_t seed;
    uint64_t latency_ns, jitter_ns;  /* of a frame: the first, and up to the second */
    uint32_t slow_ones;              /* of a thousand frames, so many take 20 jitters */
    uint64_t bytes_per_us, frame_ns; /* of a rank's link: what a frame takes of it */
    uint32_t hosts[WORLD_RANKS_MAX]; /* where each rank is */
    bool places, lends;
    bool cuts_bulk; /* the canary of bytes: a transfer's last byte is not copied */
    bool swaps;     /* the canary of order: a frame may overtake another */
};

struct wire;

struct wire *wire_new(const struct wire_options *options);
void wire_free(struct wire *wire);

struct wire_end_options {
    struct wire *wire;
    uint32_t rank;
};

/* A transport_open_fn; `arg` is a const struct wire_end_options *. */
int wire_open(void *arg, const void *blob, size_t blob_size,
              struct transport_group *group, struct transport **out, char *story,
              size_t story_size);

/* Nothing is to be under way between ranks that live and have closed: bulk transfers
 * that one side has named, and the other never did. */
uint32_t wire_left(const struct wire *wire);

#endif
