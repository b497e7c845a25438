/* descendants.h - what a task leaves running when it ends.
 *
 * A kernel may spawn children and return without having waited for them.  Nobody else
 * knows of these: their spawner alone holds them, so a group (group.h) that is to last
 * until all is over has to be told by the rank that ran the task.  A task's *family* is
 * the list of the children that it did not wait for, in the order of their spawns, and,
 * in the place of a child that it did wait for, of what that one left.  A child that
 * has ended well by then, and left nothing, is left out.  Those whose handles it has
 * released by then come first.
 *
 * It is made when the kernel ends, and sent ahead of each RESULT of the task (FAMILY);
 * the wire keeps their order, so who knows the result knows the family.  A task that
 * leaves nothing, as nearly all do, sends nothing.  Their own families are learnt with
 * the children's results.
 *
 * The list is as true as the spawner was alive: if the rank dies with children that
 * have not ended, whoever waits for them learns that nobody holds them, unless a rank
 * that was sent their spec does (portable kernels).
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_DESCENDANTS_H
#define NODE_SCHEDULE_DESCENDANTS_H

#include "node/context/context.h"

struct moot_call;

/* The kernel has returned, and its children's handles are still there, but for those
 * that were noted.  False without memory. */
bool family_make(struct moot_call *call);
/* The program is about to release a handle that has a parent: if that one runs, and it
 * is a child's, the child is noted.  False without memory. */
bool family_note_release(struct moot *m, const struct handle *handle);
/* FAMILY (dispatch.h). */
bool family_take(struct moot *m, uint32_t from, const struct message *message);

#endif
