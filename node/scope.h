/* scope.h - phases of a long run: named scopes that task hashes cover.
 *
 * A scope's hash is made of its parent's and its name.  Threads may have the same scope
 * open; when the last of them closes it, this rank spawns no more in it, which the core
 * is told (evidence for its peers), and its name is used up.
 *
 * Under the engine lock.
 */
#ifndef NODE_SCOPE_H
#define NODE_SCOPE_H

#include "node/lane.h"

struct scope {
    moot_hash hash;
    char *name;
    uint32_t open_count; /* lanes that have it open; 0: closed for good */
};

/* LIMIT, SCOPE_CLOSED, NO_MEMORY; the lane's error text is set. */
int scope_open(struct moot *m, struct lane *lane, const char *name);
int scope_close(struct moot *m, struct lane *lane); /* STATE */
void scope_close_all(struct moot *m, struct lane *lane);
void scopes_release(struct moot *m);

#endif
