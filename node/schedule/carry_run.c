/* carry_run.c - see carry_run.h. */
#include "node/schedule/carry_run.h"

#include "node/engine/engine.h"
#include "node/members/members.h"
#include "node/record/trace.h"
#include "node/schedule/element_end.h"
#include "node/schedule/exec.h"
#include "node/schedule/ready.h"
#include "node/schedule/retry.h"
#include "node/schedule/task_end.h"
#include "node/tasks/error_chain.h"
#include "node/tasks/kernel.h"
#include "node/tasks/own_elements.h"
#include "node/tasks/task.h"

#include <assert.h>

void carry_ready(struct moot *m, struct task *task)
{
    if (ready_push(&m->schedule.ready, task)) {
        task->stage = TASK_READY;
        trace_ready(m, task);
        progress_wake(m);
    } else {
        task_end_unplaced(m, task);
    }
}

/* All elements have ended, wherever they ran. */
static void end_array(struct moot *m, struct task *task,
                      const struct core_output *output)
{
    trace_ready(m, task);
    if (output->u.run.code == MOOT_ERR_CANCELLED) {
        task_end_cancelled(m, task, output->u.run.by, false);
    } else {
        element_end_array(m, task, output->u.run.code);
    }
    trace_end(m, task);
}

void carry_run(struct moot *m, const struct core_output *output)
{
    struct task *task = output->user;
    const int code = output->u.run.code;
    assert(task != NULL && task->stage == TASK_IDLE);
    task->own = true;
    task->seen = output->u.run.seen;
    task->alone = output->u.run.alone;
    m->schedule.any_alone |= task->alone;
    const bool taken_over = members_take_over(m, task);
    const struct task *failed = code == MOOT_OK ? task_failed_input(m, task) : NULL;
    if (elements_of(task) != NULL) {
        end_array(m, task, output);
    } else if (code == MOOT_ERR_CANCELLED) {
        task_end_cancelled(m, task, output->u.run.by, false);
    } else if (code != MOOT_OK) {
        task_end_lost(m, task);
    } else if (task->kernel->opens != NULL && task->kernel->opens(m, task, failed)) {
        return;
    } else if (failed != NULL) {
        task_end_after(m, task, failed, taken_over);
    } else {
        carry_ready(m, task);
    }
}

void carry_cancel(struct moot *m, const struct core_output *output)
{
    struct task *task = output->user;
    if (task != NULL && elements_of(task) != NULL) {
        element_cancel_array(m, task);
    } else if (task != NULL &&
               task->stage == TASK_RUNNING) { /* moot_call_cancelled() */
        struct moot_call *call = exec_call_of(m, task);
        assert(call != NULL);
        call->cancelled_by = output->u.cancel.by;
        __atomic_store_n(&task->cancelled, true, __ATOMIC_RELEASE);
    }
    if (task == NULL || (task->stage != TASK_READY && task->stage != TASK_RESTING)) {
        return; /* too late: it runs, or has ended */
    }
    if (task->stage == TASK_RESTING) {
        retry_forget(m, task);
    } else {
        m->schedule.ready.live--;
    }
    task_end_cancelled(m, task, output->u.cancel.by, task_seldom(task)->failures > 0);
    task_release_inputs(m, task);
    trace_end(m, task);
}
