/* group.h - scopes of waiting: everything that a thread spawned between two calls.
 *
 * A group has a handle on each task that its thread spawned while it was the innermost
 * one.  Its close waits for these, then for the families that they left
 * (descendants.h), then for theirs, until nothing new is left: a task that spawns is
 * over before its children are known to be all there are, so this ends when and only
 * when everything that began in the group has.  It waits for tasks by name and for
 * nothing else; the protocol knows of no group, and ranks need not have the same.
 *
 * Until the close that is the program's own handle: a spawn in a group makes no other
 * one, and may wait for its hash as any spawn may (node/spawn/spawn_batch.h).  Once the
 * program releases it the handle is the group's alone.  The close makes another for
 * each that the program has kept.
 *
 * A task that ended well and left nothing is let go as the group grows, so that a group
 * that lives long is as large as what it waits for.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_GROUP_H
#define NODE_COMPOSE_GROUP_H

#include "node/context/context.h"

struct group;

int group_open(struct moot *m, struct lane *lane); /* LIMIT, NO_MEMORY */
int group_close(struct moot *m, struct lane *lane, moot_duration timeout);
/* Before a top-level spawn: there will be room for it.  NO_MEMORY. */
int group_reserve(struct moot *m, struct lane *lane);
/* After it: the handle is the program's own.  Both only while a group is open. */
void group_add(struct moot *m, struct lane *lane, moot_task task);
/* The thread or the context ends: the groups go, and nobody waits. */
void groups_abandon(struct moot *m, struct lane *lane);
void groups_free(struct moot *m, struct lane *lane);

#endif
