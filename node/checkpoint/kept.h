/* kept.h - results on their way into the store.
 *
 * A result that is to be stored waits, if the policy has it wait, in the list
 * m->checkpoint.waiting; then it is the store's, which has a reference to its bytes;
 * and written, or given up, it lies in m->checkpoint.written until somebody who holds
 * the engine lock drops the reference.
 */
#ifndef NODE_CHECKPOINT_KEPT_H
#define NODE_CHECKPOINT_KEPT_H

#include "node/checkpoint/checkpoint.h"

/* Gives the store all that waits.  Without the engine lock: it waits for room. */
void kept_write_out(struct moot *m);
/* As much of it as there is room for. */
void kept_write_some(struct moot *m);
/* Drops references to what has been written.  Under the engine lock. */
void kept_drop(struct moot *m);

#endif
