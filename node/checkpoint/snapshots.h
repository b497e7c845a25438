/* snapshots.h - named snapshots of what all ranks have stored.
 *
 * The core says when (consensus/PROTOCOL.md, *Snapshots*), the store's thread writes
 * (diskstore_snapshot.h), and what it has done comes back to the core in a chore of the
 * loop.
 *
 * At a cut results that wait for the policy are given to the store as far as it has
 * room; they are of kernels that give the same bytes again.  Those that vary are in the
 * store before anybody else learns of them.
 *
 * Writes m->checkpoint.asks, .cut, .goes_back and .ended.  Under the engine lock.
 */
#ifndef NODE_CHECKPOINT_SNAPSHOTS_H
#define NODE_CHECKPOINT_SNAPSHOTS_H

#include "node/context/context.h"

/* A call that waits; on its caller's stack. */
struct snapshot_ask {
    struct snapshot_ask *next;
    const char *name;
    bool over;
    int32_t status; /* once it is over: MOOT_OK, or why, */
    uint32_t rank;  /* on that rank */
    moot_hash id;
};

/* Asks for it; the ask then waits until it is over, or withdrawn.  The core's error. */
int snapshots_ask(struct moot *m, struct snapshot_ask *ask);
void snapshots_withdraw(struct moot *m, struct snapshot_ask *ask);
/* The newest whole one of that name.  Lets the lock go meanwhile.  False: there is
 * none, and a story in `why`. */
bool snapshots_find(struct moot *m, const char *name, moot_hash *id, struct text *why);

void snapshots_carry_cut(struct moot *m, const struct core_output *output);
/* The program is on its way back to a snapshot: a cut of those who have gone back waits
 * until the store has, too. */
void snapshots_go_back(struct moot *m);
/* The store has gone back with the program, or neither has, and the rank goes on; or it
 * does not, and then that cut is never made. */
void snapshots_went_back(struct moot *m, bool goes_on);
void snapshots_carry_commit(struct moot *m, const struct core_output *output);
void snapshots_carry_mark(struct moot *m, const struct core_output *output);
void snapshots_carry_done(struct moot *m, const struct core_output *output);
/* Tells the core what the store has done. */
void snapshots_look(struct moot *m);
void snapshots_release(struct moot *m); /* without the lock, when the store is closed */

#endif
