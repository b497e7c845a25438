/* host_rings.h - the rings among the ranks of one host: a segment of shared memory with
 * one for every ordered pair of them.
 *
 * Many ranks get short rings, and too many none: whoever opens must be able to do
 * without.
 *
 * The steps between which all ranks must meet are the caller's to separate, because it
 * alone knows how.
 */
#ifndef NODE_TRANSPORT_SHM_HOST_RINGS_H
#define NODE_TRANSPORT_SHM_HOST_RINGS_H

#include "node/transport/shm/host_memory.h"
#include "node/transport/shm/ring.h"
#include "node/transport/transport.h"

/* What this rank has with one other of its host. */
struct near {
    uint32_t rank;
    struct ring_writer out;
    struct ring_reader in;
};

struct host_rings {
    struct host_memory memory; /* the segment; none: `count` is 0 */
    uint32_t count;            /* of `peers` */
    struct near *peers;
    uint32_t *index;  /* by rank: in `peers`; UINT32_MAX: elsewhere, or this rank */
    size_t frame_max; /* bytes of the longest frame that a ring takes */
};

/* Three steps, each a rank's own, in this order on all ranks with a meeting between
 * them; `rings` is zero before.  A step returns false if this rank has no rings: if any
 * has none, all must host_rings_close().  Of a rank that is alone on its host all
 * succeed, and it has none. */
bool host_rings_make(struct host_rings *rings, const struct transport_group *group);
bool host_rings_map(struct host_rings *rings, const struct transport_group *group);
void host_rings_hide(struct host_rings *rings);

/* These steps and those of the boards' memory, with the meetings between them: rings on
 * every host, or on none; and boards where they can be had.  `all_have` makes of *have
 * whether all ranks have it, and is collective; its errors are returned. */
int host_share(struct host_rings *rings, struct host_memory *boards,
               struct transport_group *group,
               int (*all_have)(const void *context, bool *have), const void *context);

/* Accepts zero, and what got half-way. */
void host_rings_close(struct host_rings *rings);

/* NULL: there is no ring to that rank. */
static inline struct near *host_rings_near(const struct host_rings *rings,
                                           uint32_t rank)
{
    return rings->count > 0 && rings->index[rank] != UINT32_MAX
               ? &rings->peers[rings->index[rank]]
               : NULL;
}

#endif
