/* results.h - results that peers have sent, and the core has accepted.
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_RESULTS_H
#define NODE_SCHEDULE_RESULTS_H

#include "node/context/context.h"

/* CORE_OUT_RESULT. */
void result_carry(struct moot *m, const struct core_output *output);

#endif
