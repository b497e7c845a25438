/* priority.c - see priority.h: a walk towards the inputs, along a list, because chains
 * are as long as the program makes them. */
#include "priority.h"

#include "node/ready.h"

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
        ready_raise(&m->ready, task);
    }
}

/* Everything on the list has its priority; its inputs may not. */
static void walk(struct moot *m, struct task *list)
{
    while (list != NULL) {
        struct task *task = list;
        list = task->raise_next;
        task->raise_next = NULL;
        for (uint32_t i = 0; i < task->input_count; i++) {
            struct task *input = task->inputs[i];
            if (is_lower(input, task->priority)) {
                set(m, input, task->priority);
                input->raise_next = list;
                list = input;
            }
        }
    }
}

void priority_hand_down(struct moot *m, struct task *task)
{
    if (task->priority > 0) {
        task->raise_next = NULL;
        walk(m, task);
    }
}

void priority_raise(struct moot *m, struct task *task, int32_t priority)
{
    if (priority > 0 && is_lower(task, priority)) {
        set(m, task, priority);
        priority_hand_down(m, task);
    }
}

void priority_on_message(struct moot *m, const struct message *message)
{
    int32_t priority = message->type == MESSAGE_MOTION ? message->u.motion.priority
                                                       : message->u.decision.priority;
    bool gone = priority <= 0 || core_forgotten(m->core, &message->hash) ||
                core_lost(m->core, &message->hash);
    struct task *task = gone ? NULL : task_enter(m, &message->hash);
    if (task != NULL) {
        priority_raise(m, task, priority);
    }
}
