/* farewell.h - the last words of a rank, and when it may go.
 *
 * When all have closed each rank says so once what it had queued has gone out, and goes
 * when nobody has anything more to say: whoever went before might leave others without
 * the word that all have closed.  In a view of few each says it to everyone
 * (ADJOURN_ALL), and ends when all peers have said it or are gone.
 *
 * In a view of many that would be a message, and a connection, between each two of
 * thousands.  There it goes along the tree of the view: that all have closed goes down
 * it at once (ADJOURN_CLOSED); who has heard from all its children, and has nothing
 * more to say, tells its parent (ADJOURN_BELOW); when the root has heard it the word to
 * go comes down (ADJOURN_OVER).
 *
 * Should anybody end meanwhile, and the word to go not come within a moment, or not for
 * long, this rank says farewell to everyone, as among few, and so does who hears it.
 * A rank that knows that all is over answers that with the word to go.
 *
 * Under the engine lock.
 */
#ifndef NODE_MEMBERS_FAREWELL_H
#define NODE_MEMBERS_FAREWELL_H

#include "node/context/context.h"

/* ADJOURN without an error, of a member. */
void farewell_take(struct moot *m, uint32_t from, const struct message *message);
/* The core tells a child that all have closed: whether that is to go out, which it does
 * among many. */
bool farewell_passes_on(const struct moot *m);
/* A process has ended.  True: it may have gone as it should, and is no loss. */
bool farewell_saw_end(struct moot *m, uint32_t rank);
void farewell_look(struct moot *m, uint64_t now_ns);

#endif
