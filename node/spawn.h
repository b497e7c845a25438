/* spawn.h - taking tasks in: from the program, from a running kernel, from a peer.
 *
 * A spawn checks all of its input, makes the task's hash, and registers it with the
 * core unless this rank holds it already; then it only gives one more reference to the
 * same task.  On failure nothing has happened and the lane's error text says why.
 *
 * Under the engine lock.
 */
#ifndef NODE_SPAWN_H
#define NODE_SPAWN_H

#include "node/context.h"

/* `parent` is the running task that spawns it; NULL for the program. */
int spawn_task(struct moot *m, struct lane *lane, const moot_task_spec *spec,
               const char *site, struct task *parent, moot_task *out);
/* The hash that it would have. */
int spawn_hash(struct moot *m, struct lane *lane, const moot_task_spec *spec,
               moot_hash *out);
/* Registers the task of a motion's spec, if this rank knows its kernel and the spec is
 * what its hash says; otherwise does nothing. */
void spawn_adopt(struct moot *m, const struct message *motion);

#endif
