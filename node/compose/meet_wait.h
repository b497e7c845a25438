/* meet_wait.h - all ranks come to the same point of their programs
 * (consensus/PROTOCOL.md, *Meetings*).
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_MEET_WAIT_H
#define NODE_COMPOSE_MEET_WAIT_H

#include "node/context/context.h"

struct meet_wait {
    const moot_hash
        *purpose;      /* the calls of ranks that meet for the same have the same */
    const void *words; /* that all are to hear (PROTOCOL.md, M5); NULL: none */
    size_t words_size; /* in bytes */
};

/* Comes to this rank's next meeting, waits, and returns its number; runs tasks and
 * serves peers meanwhile.  LIMIT: the words of all are too long, together. */
int meet_wait_run(struct moot *m, struct lane *lane, const char *call,
                  const struct meet_wait *meet, uint64_t *number);

#endif
