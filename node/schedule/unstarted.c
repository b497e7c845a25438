/* unstarted.c - see unstarted.h. */
#include "node/schedule/unstarted.h"

#include "hashing/base/hot.h"
#include "node/engine/engine.h"
#include "node/schedule/ready.h"
#include "node/tasks/task.h"

#include <stdlib.h>

/* Nested ones are known here alone.  One that has failed once is tried again here: the
 * others would count its failures anew. */
static void give_back(struct moot *m, struct task *task)
{
    if (task->stage != TASK_READY || task->nested || task_seldom(task)->failures > 0) {
        return;
    }
    task->stage = TASK_IDLE;
    task->own = false;
    m->schedule.ready.live--;
    engine_step(m, &(struct core_event){.type = CORE_EV_UNSTARTED,
                                        .hash = task->hash,
                                        .entry = task_entry(task)});
}

/* Without memory for the list it runs them itself. */
COLD void unstarted_give_back(struct moot *m)
{
    const struct ready *ready = &m->schedule.ready;
    size_t room = ready->count + ready->line_count;
    struct task **tasks = room > 0 ? malloc(room * sizeof(struct task *)) : NULL;
    size_t count = tasks != NULL ? ready_list(ready, tasks, room) : 0;
    for (size_t i = 0; i < count; i++) {
        give_back(m, tasks[i]);
    }
    free(tasks);
}
