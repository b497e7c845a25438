/* listing.h - the tasks that ranks have spawned in a scope, as one rank tells another.
 *
 * A rank's list is the result of a task of the library's own, a Listing of moot.proto,
 * which so goes from peer to peer, survives deaths and ends waits as any result does.
 */
#ifndef NODE_API_LISTING_H
#define NODE_API_LISTING_H

#include "node/api/moot_watch.h"
#include "node/context/context.h"

/* Registers the kernels that answer, before anybody can ask: a rank may be asked that
 * never asks itself.  False without memory. */
bool listing_begin(struct moot *m);

/* The tasks that are listed: top-level ones of one scope. */
struct listing_scope {
    uint64_t mark; /* hash_scope() of its tasks; 0: of no scope */
    moot_task_filter filter;
};

/* This rank's, packed, to be free()d; NULL without memory.  Under the engine lock. */
void *listing_pack(struct moot *m, const struct listing_scope *scope, size_t *size);

/* A rank's, as it came; size 0: none. */
struct listing_part {
    const void *data;
    size_t size;
};
/* Calls `fn` for each task of these, once, in their order.  Without the lock. */
int listing_show(struct moot *m, const struct listing_part *parts, size_t count,
                 moot_tasks_fn fn, void *user);

#endif
