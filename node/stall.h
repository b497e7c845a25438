/* stall.h - the stall report: who waits for what, and why it does not come.
 *
 * For each thing waited for (identical waits merged): the task, since when, who should
 * hold it, who owns it and in what state, who is known to hold it, whether it was asked
 * for, the chain of missing inputs behind it; then what each peer last said, alike ones
 * merged; and a last line that says what to do next.
 */
#ifndef NODE_STALL_H
#define NODE_STALL_H

#include "node/context.h"
#include "node/wait.h"

void stall_compose(struct text *text, struct moot *m, uint64_t now_ns);

#endif
