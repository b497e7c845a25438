/* overrun.h - kernels that have run for so long that they may never return.
 *
 * A rank that computes is no rank that hangs, so where each is in such a kernel nothing
 * would ever be told.  Its time is a multiple of MOOT_STALL, so that a first long
 * kernel is not told of early, and of the longest run of the same kernel that has ended
 * on its rank.
 */
#ifndef NODE_EXPLAIN_OVERRUN_H
#define NODE_EXPLAIN_OVERRUN_H

#include "node/explain/rank_snapshot.h"

/* After how long that is.  UINT64_MAX: never. */
uint64_t overrun_after_ns(uint64_t stall_ns, uint64_t longest_ns);

/* The task's kernel runs there, waits for no child, and has done so for as long, or
 * will have within that time. */
bool overrun_is_near(const Moot__Account *account, const Moot__Account__Task *task,
                     uint64_t within_ns);
/* One of the account's does so. */
bool overrun_any_near(const Moot__Account *account, uint64_t within_ns);

/* That of this rank's which has done so for longest; NULL: none does. */
const struct moot_call *overrun_find(const struct moot *m);

#endif
