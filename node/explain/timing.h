/* timing.h - the durations by which a rank acts, as they are now.
 *
 * Those that differ from peer to peer stand at each peer (rank_snapshot.h); here is
 * what this rank would have for itself.
 */
#ifndef NODE_EXPLAIN_TIMING_H
#define NODE_EXPLAIN_TIMING_H

#include "node/context/context.h"

enum { TIMINGS_MAX = 16 };
struct timing {
    const char *name; /* "vote_timeout": a knob's, or what it stands for */
    uint64_t ns;      /* CORE_NEVER: never */
};

/* Returns how many.  Under the engine lock. */
size_t timing_fill(const struct moot *m, struct timing out[TIMINGS_MAX]);

#endif
