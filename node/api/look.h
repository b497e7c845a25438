/* look.h - what is known of tasks, as programs are shown it.
 *
 * Under the engine lock.
 */
#ifndef NODE_API_LOOK_H
#define NODE_API_LOOK_H

#include "node/context/context.h"

/* Its strings are the record's. */
void look_fill(struct moot *m, const struct task *task, moot_task_info *out);

#endif
