/* close.h - the end of a context. */
#ifndef NODE_API_CLOSE_H
#define NODE_API_CLOSE_H

#include "node/context/context.h"

/* The body of moot_close, for a lane that is allowed to: serves peers until all have
 * closed, joins threads, frees everything, `m` included.  Called inside
 * engine_enter() without its engine_leave(). */
int close_context(struct moot *m, struct lane *lane);

/* Frees a context that is half open, or closed: NULL parts are skipped.  No lock held,
 * no thread left but this one. */
void context_free(struct moot *m);

#endif
