/* look.h - what is known of tasks, as programs are shown it.
 *
 * Under the engine lock.
 */
#ifndef NODE_API_LOOK_H
#define NODE_API_LOOK_H

#include "node/api/moot_watch.h"
#include "node/context/context.h"

/* Its strings are the record's. */
void look_fill(struct moot *m, const struct task *task, moot_task_info *out);
/* As moot_tasks_each() says. */
bool look_admits(const moot_task_filter *filter, const moot_task_info *info);

#endif
