/* family.h - the children that a task left running, as a list of hashes.
 *
 * How they come to be known is told in node/schedule/descendants.h.
 *
 * Under the engine lock.
 */
#ifndef NODE_TASKS_FAMILY_H
#define NODE_TASKS_FAMILY_H

#include "node/context/context.h"

/* More of them; false without memory. */
bool family_add(struct moot *m, struct task *task, const moot_hash *hashes,
                uint32_t count);
/* Part `i` of what is to be said of it, its place in all; false if there is none. */
bool family_part(const struct task *task, uint32_t i, struct message_family *out);
void family_free(struct task *task);

#endif
