/* close.h - the end of a context. */
#ifndef NODE_API_CLOSE_H
#define NODE_API_CLOSE_H

#include "node/context/context.h"

/* Whether this thread may end the context's service now: MOOT_OK, or STATE, with the
 * lane's error text.  Queues that are open have passed on what they held. */
int close_check(struct moot *m, struct lane *lane, const char *call);
/* Whether this rank may leave the others, before anything is ended: MOOT_OK, or
 * UNSUPPORTED, with the lane's error text. */
int leave_check(struct moot *m, struct lane *lane, const char *call);
/* The body of moot_leave: all but what makes the context unusable.  From then on
 * m->engine.ended, whatever it returns.  Called inside a public call. */
int leave_context(struct moot *m, struct lane *lane);

/* The same for a program that does not do it itself, in a call of its own (dispatch.h):
 * nothing happens in a kernel, in a watch's function, or if this context closes. */
void leave_as_asked(struct moot *m, struct lane *lane);

/* The body of moot_close, for a lane that is allowed to: serves peers until all have
 * closed, joins threads, frees everything, `m` included.  Called inside
 * engine_enter() without its engine_leave(). */
int close_context(struct moot *m, struct lane *lane);

/* Frees a context that is half open, or closed: NULL parts are skipped.  No lock held,
 * no thread left but this one. */
void context_free(struct moot *m);

#endif
