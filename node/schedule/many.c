/* many.c - see many.h. */
#include "node/schedule/many.h"

#include "consensus/core_view.h"
#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/schedule/wait.h"
#include "node/tasks/task.h"

#include <assert.h>
#include <stdlib.h>

/* Fewer are pushed at once; and of a kernel of which one result in so many is fetched,
 * each is. */
enum { MANY_MIN = 16, FETCHED_SHARE = 4 };

void many_count(const struct wait *wait)
{
    bool many = wait->count >= MANY_MIN && wait->want == WANT_DONE;
    for (size_t i = 0; wait->waiter == NULL && i < wait->count; i++) {
        struct kernel *kernel = wait->items[i].task->kernel;
        if (kernel != NULL) {
            kernel->awaited += many;
            kernel->fetched += wait->want == WANT_DATA;
        }
    }
}

static bool may_come_by_word(const struct moot *m, const struct wait *wait,
                             const struct wait_item *item)
{
    const struct task *task = item->task;
    const struct kernel *kernel = task->kernel;
    return !task->gone && !task->undone && kernel != NULL &&
           kernel->fetched * FETCHED_SHARE <= kernel->awaited &&
           core_may_await(m->core, wait->lane->number, task_entry(task));
}

void many_begin(struct moot *m, struct wait *wait)
{
    if (wait->waiter != NULL || wait->any || wait->want != WANT_DONE ||
        wait->count < MANY_MIN || wait->deadline_ns != CORE_NEVER ||
        m->group.size == 1 || m->knobs.verify_ppm != 0) {
        return;
    }
    void **tasks = malloc(wait->count * sizeof(*tasks));
    struct core_event event = {.type = CORE_EV_AWAIT};
    for (size_t i = 0; tasks != NULL && i < wait->count; i++) {
        wait->items[i].worded = may_come_by_word(m, wait, &wait->items[i]);
        if (wait->items[i].worded) {
            tasks[event.u.await.count++] = task_entry(wait->items[i].task);
        }
    }
    event.u.await.lane = wait->lane->number;
    event.u.await.tasks = tasks;
    event.u.await.behind = wait->stretch ? wait->behind : CORE_NEVER;
    wait->worded = event.u.await.count >= MANY_MIN && engine_step(m, &event) == MOOT_OK;
    for (size_t i = 0; !wait->worded && i < wait->count; i++) {
        wait->items[i].worded = false;
    }
    free(tasks);
}

void many_ask(struct moot *m, struct wait *wait)
{
    assert(wait->worded && wait->words_in);
    wait->words_in = false;
    for (size_t i = 0; i < wait->count; i++) {
        if (wait->items[i].worded) {
            wait->items[i].worded = false;
            wait_need(m, wait, &wait->items[i]);
        }
    }
    struct core_event event = {.type = CORE_EV_AWAIT};
    event.u.await.lane = wait->lane->number;
    engine_step(m, &event);
}

void many_end(struct moot *m, struct wait *wait)
{
    if (wait->worded) {
        struct core_event event = {.type = CORE_EV_UNAWAIT};
        event.u.await.lane = wait->lane->number;
        engine_step(m, &event);
        wait->worded = false;
    }
}

void many_carry_awaited(struct moot *m, const struct core_output *output)
{
    for (struct wait *wait = m->schedule.waits; wait != NULL; wait = wait->next) {
        if (wait->worded && wait->lane->number == output->u.awaited.lane) {
            wait->words_in = true;
        }
    }
    progress_ended(m);
    m->schedule.ended_ns = m->now_ns;
    wait_release_ended(m);
    progress_wake(m);
}
