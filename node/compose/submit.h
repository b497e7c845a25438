/* submit.h - spawns of the program, and of kernels, through what is open on the thread.
 *
 * A spec is checked, and its task registered (node/spawn/), unless a queue comes
 * between; an open group gets a handle to it.  A plain spawn waits to be hashed
 * together with others (node/spawn/spawn_batch.h).
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_SUBMIT_H
#define NODE_COMPOSE_SUBMIT_H

#include "node/context/context.h"

/* `parent` is the running task that spawns it; NULL for the program.  On failure
 * nothing has happened and the lane's error text says why. */
int spawn_task(struct moot *m, struct lane *lane, const moot_task_spec *spec,
               const char *site, struct task *parent, moot_task *out);
/* The same at top level, for the program alone: the task may have to wait for its hash.
 */
int spawn_soon(struct moot *m, struct lane *lane, const moot_task_spec *spec,
               const char *site, moot_task *out);

#endif
