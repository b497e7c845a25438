/* undo.c - see undo.h. */
#include "node/schedule/undo.h"

#include "consensus/core_view.h"
#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/schedule/call_frame.h"
#include "node/schedule/exec.h"
#include "node/schedule/ready.h"
#include "node/schedule/wait.h"
#include "node/tasks/task.h"

#include <stdlib.h>

/* --- Draining --------------------------------------------------------------------- */

static void cancel_call(void *context, const struct moot_call *call)
{
    (void)context;
    __atomic_store_n(&call->task->cancelled, true, __ATOMIC_RELEASE);
}

void undo_drain(struct moot *m, bool drains)
{
    m->schedule.draining = drains;
    if (drains) {
        exec_each_call(m, cancel_call, NULL);
        progress_ended(m);
        wait_release_ended(m);
    }
    progress_wake(m);
}

void undo_is_called(struct moot *m, bool called)
{
    m->schedule.reload_since_ns = called ? m->now_ns : 0;
}

void undo_meets(struct moot *m, bool meets) { m->schedule.reload.meets = meets; }

void undo_begin(struct moot *m) { m->schedule.reload = (struct reload_call){0}; }

void undo_end(struct moot *m)
{
    m->schedule.meetings.number = m->schedule.meetings.met = core_meetings(m->core);
}

bool undo_is_drained(const struct moot *m) { return m->schedule.running == 0; }

/* --- When the core forgets -------------------------------------------------------- */

static void drop_lingering(struct moot *m)
{
    for (struct task *task = m->schedule.lingering, *next; task != NULL; task = next) {
        next = task->seldom->linger_next;
        task->lingers = false;
        task->seldom->linger_prev = task->seldom->linger_next = NULL;
    }
    m->schedule.lingering = NULL;
}

/* Their items stay in the queue until they come up, as those of cancelled ones do. */
static bool drop_ready(struct moot *m)
{
    struct ready *ready = &m->schedule.ready;
    const size_t room = ready->count + ready->line_count;
    struct task **tasks = calloc(room + 1, sizeof(*tasks));
    const size_t count = tasks != NULL ? ready_list(ready, tasks, room) : 0;
    for (size_t i = 0; i < count; i++) {
        if (tasks[i]->stage == TASK_READY) {
            tasks[i]->stage = TASK_IDLE;
            ready->live--;
        }
    }
    free(tasks);
    return tasks != NULL;
}

static void drop_resting(struct moot *m)
{
    struct resting *resting = &m->schedule.resting;
    for (size_t i = 0; i < resting->count; i++) {
        resting->items[i].task->stage = TASK_IDLE;
    }
    resting->count = 0;
}

void undo_carry_reloaded(struct moot *m, const struct core_output *output)
{
    struct reload_call *reload = &m->schedule.reload;
    reload->over = true;
    reload->status = output->u.reloaded.status;
    reload->generation = output->u.reloaded.generation;
    if (reload->status == MOOT_OK) {
        m->counts.reloads++;
        m->counts.undone =
            m->counts.run - __atomic_load_n(&m->checkpoint.found, __ATOMIC_RELAXED);
        engine_drop_laters(m);
        drop_lingering(m);
        drop_resting(m);
        if (!drop_ready(m)) {
            engine_starve(m, "no memory to go back to a snapshot");
        }
        task_undoing(m, true);
    }
    progress_ended(m);
    m->schedule.ended_ns = m->now_ns;
    progress_wake(m);
}
