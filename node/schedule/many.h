/* many.h - a lane's wait for many tasks, whose ends come in one word for each rank.
 *
 * The core's AWAIT (PROTOCOL.md, T12): nothing is needed of a task at first.  When the
 * core has said that it has what words tell, what has not ended is needed, each.  So a
 * wait that all ranks begin costs messages by their number, and not by that of tasks.
 *
 * With a word come no data.  Where a program mostly reads the results that it has
 * waited for, a wait needs each task as before: then owners push the bytes with the
 * ends, and a fetch finds them here.  That is counted for each kernel.
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_MANY_H
#define NODE_SCHEDULE_MANY_H

#include "node/context/context.h"

/* The wait begins: marks the items whose ends may come by words, if they are many. */
void many_begin(struct moot *m, struct wait *wait);
/* Ends that words have not told are needed now. */
void many_ask(struct moot *m, struct wait *wait);
void many_end(struct moot *m, struct wait *wait);
/* CORE_OUT_AWAITED. */
void many_carry_awaited(struct moot *m, const struct core_output *output);
/* A lane waits for its data, or, with others, for its end. */
void many_count(const struct wait *wait);

#endif
