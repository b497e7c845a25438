/* array_snapshot.h - what a rank says of a task array's elements in its account: its
 * own, and, of an array that it chairs, those that nobody runs.
 */
#ifndef NODE_EXPLAIN_ARRAY_SNAPSHOT_H
#define NODE_EXPLAIN_ARRAY_SNAPSHOT_H

#include "consensus/core_view.h"
#include "node/context/context.h"

#include "moot.pb-c.h"

/* Lives as long as the account that it is told in. */
struct array_told {
    Moot__Account__Elements message;
    uint64_t own_at[2 * SOME_RANGES], unspawned_at[2 * SOME_RANGES],
        unclaimed_at[2 * SOME_RANGES];
    moot_hash input;
    uint64_t runs_ns; /* of .running */
};

/* Fills in all but the sets of ranks. `task`: NULL, or what this rank has of it. */
void array_snapshot_fill(struct moot *m, const struct task *task,
                         const struct core_array_view *view, struct array_told *told);
/* Calls `see` for some arrays of which elements of this rank's have not ended. */
void array_snapshot_each(const struct moot *m,
                         void (*see)(void *context, const moot_hash *hash),
                         void *context);

#endif
