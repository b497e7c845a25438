/* holdup.h - a rank that keeps others waiting, and waits for nothing itself, says so.
 *
 * Its program is parked, or in code of its own, and no wait of its own would ever tell.
 * Others whose waits have stalled ask it what it does; then it asks them in turn, and
 * if they hang on it its own report says with what, and what to do about it.  So it
 * stands on both sides, also where each rank's output goes to a file of its own.
 *
 * A rank without a helper thread is not heard, and cannot ask, while its program is
 * elsewhere: a thread that touches no wire, the lookout, says of it when its program is
 * parked, or a kernel may never return, and nobody has driven its loop for MOOT_STALL.
 */
#ifndef NODE_EXPLAIN_HOLDUP_H
#define NODE_EXPLAIN_HOLDUP_H

#include "node/context/context.h"
#include "node/explain/job_snapshot.h"

/* A chore of the loop: asks what hangs on this rank, if that is due. */
void holdup_look(struct moot *m, uint64_t now_ns);
/* The answer is here (INQUIRY_FOR_HOLDUP). */
void holdup_tell(struct moot *m, const struct picture *picture);

/* Begins the lookout of a rank that has no helper; best effort. */
void lookout_start(struct moot *m);
void lookout_join(struct moot *m); /* once m->engine.stop; without the lock */

#endif
