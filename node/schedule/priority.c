/* priority.c - see priority.h: a walk towards the inputs, along a list, because chains
 * are as long as the program makes them. */
#include "node/schedule/priority.h"

#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "node/schedule/ready.h"
#include "node/tasks/own_elements.h"
#include "node/tasks/task.h"

#include <assert.h>

static bool is_lower(const struct task *task, int32_t priority)
{
    bool waits = task->stage == TASK_IDLE || task->stage == TASK_READY ||
                 task->stage == TASK_RESTING;
    return task->priority < priority && waits && !task->known && !task->gone;
}

static void set(struct moot *m, struct task *task, int32_t priority)
{
    task_reprioritise(task, priority);
    if (task->stage == TASK_READY) {
        ready_raise(&m->schedule.ready, task);
    } else if (elements_of(task) != NULL) {
        elements_raise(m, elements_of(task));
    }
}

/* Returns the list with the task on it, if it had a lower priority. */
static struct task *raise(struct moot *m, struct task *task, int32_t priority,
                          struct task *list)
{
    assert(task == NULL || !core_is_stub(task));
    if (task == NULL || !is_lower(task, priority)) {
        return list;
    }
    set(m, task, priority);
    task->raise_next = list;
    return task;
}

/* Everything on the list has its priority; its inputs may not. */
static void walk(struct moot *m, struct task *list)
{
    while (list != NULL) {
        struct task *task = list;
        list = task->raise_next;
        task->raise_next = NULL;
        for (uint32_t i = 0; i < task_input_count(task); i++) {
            list = raise(m, task_input(task, i), task->priority, list);
        }
    }
}

void priority_hand_down(struct moot *m, const struct task *task, void *const *inputs,
                        size_t count)
{
    struct task *list = NULL;
    for (size_t i = 0; task->priority > 0 && i < count; i++) {
        list = raise(m, inputs[i], task->priority, list);
    }
    walk(m, list);
}

void priority_raise(struct moot *m, struct task *task, int32_t priority)
{
    if (priority > 0) {
        walk(m, raise(m, task, priority, NULL));
    }
}

void priority_hear(struct moot *m, const moot_hash *hash, int32_t priority)
{
    bool gone =
        priority <= 0 || core_forgotten(m->core, hash) || core_lost(m->core, hash);
    struct task *task = gone ? NULL : task_enter(m, hash);
    if (task != NULL) {
        priority_raise(m, task, priority);
    }
}

bool priority_take_decision(struct moot *m, uint32_t from,
                            const struct message *decision)
{
    (void)from;
    priority_hear(m, &decision->hash, decision->u.decision.priority);
    return true;
}
