/* query_targets.h - of what an inquiry has to ask whom (snapshot_query.h).
 *
 * From the accounts that have come: every task that somebody waits for, once, and who
 * is to speak of it, which is its owner, or else its chair, as far as is known.  What
 * this costs grows with what the accounts say, and hardly faster: they may be those of
 * thousands of ranks, and the engine's lock is held.
 */
#ifndef NODE_EXPLAIN_QUERY_TARGETS_H
#define NODE_EXPLAIN_QUERY_TARGETS_H

#include "node/explain/job_snapshot.h"
#include "proto/limits.h"

struct question {
    moot_hash hashes[LIMIT_INQUIRY_HASHES];
    uint32_t count;
    bool fresh; /* of a task of which it is to speak the rank has said nothing yet */
};

struct questions;

/* `all`: everyone is asked about everything.  NULL without memory. */
struct questions *questions_new(const struct picture *picture, bool all);
/* Those for one rank, the first that fit. */
void questions_put(const struct questions *questions, uint32_t rank,
                   struct question *out);
void questions_free(struct questions *questions); /* accepts NULL */

#endif
