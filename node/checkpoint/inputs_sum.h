/* inputs_sum.h - a sum of the bytes of a call's inputs (checkpoint.h says what for).
 *
 * XXH3-64, as each input's sum is the seed of the next one's.  It tells results that
 * vary from each other, and keeps nobody from forging.  It is made when it is first
 * needed, as it reads all inputs.
 */
#ifndef NODE_CHECKPOINT_INPUTS_SUM_H
#define NODE_CHECKPOINT_INPUTS_SUM_H

#include "node/context/context.h"

/* 0: there are none, or they do not count.  On the kernel's strand. */
uint64_t inputs_sum(struct call_checkpoint *call);
/* Whether a record with this sum may be of these inputs: it has none, or the same. */
bool inputs_sum_fits(struct call_checkpoint *call, uint64_t recorded);

#endif
