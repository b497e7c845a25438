/* lane_scope.h - phases of a long run: named scopes that task hashes cover.
 *
 * A scope's hash is made of its parent's and its name.  Threads may have the same scope
 * open; when the last of them closes it, this rank spawns no more in it, which the core
 * is told (evidence for its peers), and its name is used up.  The core is told, too,
 * when the program has released the last handle of a task in it: then it may be
 * forgotten as soon as all ranks have come so far.
 *
 * Under the engine lock.
 */
#ifndef NODE_ENGINE_LANE_SCOPE_H
#define NODE_ENGINE_LANE_SCOPE_H

#include "node/engine/lane.h"

struct scope {
    struct scope *next;
    moot_hash hash;
    uint64_t mark;         /* hash_scope() of its tasks */
    uint32_t open_count;   /* lanes that have it open; 0: closed for good */
    uint32_t handle_count; /* that the program holds */
};

enum { SCOPE_BUCKETS = 64 };

/* LIMIT, SCOPE_CLOSED, NO_MEMORY; the lane's error text is set. */
int scope_open(struct moot *m, struct lane *lane, const char *name);
int scope_close(struct moot *m, struct lane *lane); /* STATE */
void scope_close_all(struct moot *m, struct lane *lane);
/* Something that was spawned in an open scope and is not registered yet keeps it open,
 * though its threads may close it meanwhile.  False: the program has no such scope. */
bool scope_keep(struct moot *m, const moot_hash *hash);
void scope_unkeep(struct moot *m, const moot_hash *hash);
/* A handle on a task with this mark comes and goes.  False: not counted, because the
 * program has no such scope. */
bool scope_use(struct moot *m, uint64_t mark);
void scope_unuse(struct moot *m, uint64_t mark);
void scopes_release(struct moot *m);

#endif
