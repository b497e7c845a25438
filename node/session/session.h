/* session.h - who is in the present session, under which rank, and the process sets.
 *
 * Members of the moot have numbers that are never used again; the core, the wire, and
 * all rooms but api/ and spawn/ speak of these.  A session numbers those of its members
 * anew: session_member() and session_rank() (context.h) translate.  In the first one,
 * and for most programs ever, the two are equal, and `members` is NULL.
 *
 * Which members a session has all of them know from the outcome of the meeting that
 * began it (PROTOCOL.md, *Meetings*), so sets and numbers are alike on every rank
 * without a further word.
 *
 * Under the engine lock.
 */
#ifndef NODE_SESSION_SESSION_H
#define NODE_SESSION_SESSION_H

#include "node/api/moot_session.h"
#include "node/context/context.h"

void session_open(struct moot *m); /* the first */
void session_release(struct moot *m);

/* These members have come to its end.  False without memory. */
bool session_end(struct moot *m, const struct rankset *members);
/* Nobody of them is a member any more but who is to be in the next session. */
bool session_others_are_gone(const struct moot *m, const struct rankset *next);
/* That begins, with these members, of which this rank is one.  False without memory:
 * then nothing has changed. */
bool session_begin(struct moot *m, const struct rankset *members);
/* This rank has left instead. */
void session_leave(struct moot *m);

/* The present one.  False without memory. */
bool session_show(struct moot *m, moot_session_info *out);

/* How many sets there are.  False without memory. */
bool session_pset_count(struct moot *m, size_t *count);
/* index is less than the count. */
void session_pset_show(const struct moot *m, size_t index, moot_pset_info *out);

#endif
