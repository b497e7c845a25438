/* session_snapshot.h - the part of an account (rank_snapshot.h) that tells of sessions,
 * process sets, and who has come and gone. */
#ifndef NODE_EXPLAIN_SESSION_SNAPSHOT_H
#define NODE_EXPLAIN_SESSION_SNAPSHOT_H

#include "node/explain/rank_snapshot.h"

/* NULL without memory.  Under the engine lock. */
Moot__Account__Session *session_snapshot(struct moot *m);
void session_snapshot_free(Moot__Account__Session *session); /* accepts NULL */

#endif
