/* meet_wait.h - all ranks come to the same point of their programs
 * (consensus/PROTOCOL.md, *Meetings*).
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_MEET_WAIT_H
#define NODE_COMPOSE_MEET_WAIT_H

#include "node/context/context.h"

/* Comes to this rank's next meeting, waits, and returns its number; runs tasks and
 * serves peers meanwhile.  The calls of a rank that meet for the same have the same
 * purpose. */
int meet_wait_run(struct moot *m, struct lane *lane, const char *call,
                  const moot_hash *purpose, uint64_t *number);

#endif
