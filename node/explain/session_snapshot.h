/* session_snapshot.h - the part of an account (rank_snapshot.h) that tells of sessions,
 * process sets, and who has come and gone. */
#ifndef NODE_EXPLAIN_SESSION_SNAPSHOT_H
#define NODE_EXPLAIN_SESSION_SNAPSHOT_H

#include "node/context/context.h"

#include "moot.pb-c.h"

/* What became of a member: Change.what of moot.proto. */
enum account_change {
    ACCOUNT_CHANGE_JOINED,
    ACCOUNT_CHANGE_LEFT,
    ACCOUNT_CHANGE_DIED,
    ACCOUNT_CHANGE_REMOVED,
    ACCOUNT_CHANGE_END
};

/* NULL without memory.  Under the engine lock. */
Moot__Account__Session *session_snapshot(struct moot *m);
void session_snapshot_free(Moot__Account__Session *session); /* accepts NULL */

#endif
