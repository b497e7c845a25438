/* disk_learn.h - learns which keys the finished environments have, behind the program's
 * back, so that finds need not ask those that have not.
 *
 * The price of that is a read of all keys.  A job that looks for few records does not
 * pay it: an environment is learned when asking it in vain has taken about as long as
 * learning it will take.  So all of it together takes at most twice as long as the
 * better of both ways would have.
 *
 * A thread of its own does it, with a low priority.  Until an environment's filter
 * (disk_filter.h) is whole it is asked as before; one of which not all can be read
 * never gets one, nor do those beyond LEARN_BYTES_MAX of memory.
 */
#ifndef NODE_DISKSTORE_DISK_LEARN_H
#define NODE_DISKSTORE_DISK_LEARN_H

#include "node/diskstore/disk_private.h"

/* A finished environment was asked for a key, perhaps in vain.  Any thread. */
void disk_learn_asked(struct diskstore *store, struct disk_finished *env, bool vain);
/* Ends the thread, if there is one. */
void disk_learn_end(struct diskstore *store);

#endif
