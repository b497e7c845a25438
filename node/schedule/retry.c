/* retry.c - see retry.h.  Each task that rests knows its place in the heap, so that one
 * of many can be cancelled.
 */
#include "node/schedule/retry.h"

#include "node/context/context.h"
#include "node/engine/progress.h"
#include "node/schedule/ready.h"
#include "node/tasks/own_elements.h"
#include "node/tasks/task.h"

#include <stdlib.h>

#define REST_NS_MAX (UINT64_C(3600) * 1000000000u)

/* --- The heap -------------------------------------------------------------------- */

static bool before(const struct rest *a, const struct rest *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static void put(struct resting *resting, size_t at, const struct rest *rest)
{
    resting->items[at] = *rest;
    if (rest->element == 0) {
        rest->task->seldom->rest_at = (uint32_t)at;
    }
}

/* Puts it where it belongs, into the free place or one above or below. */
static void sift(struct resting *resting, size_t at, struct rest rest)
{
    struct rest *items = resting->items;
    while (at > 0 && before(&rest, &items[(at - 1) / 2])) {
        put(resting, at, &items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (size_t child = 2 * at + 1; child < resting->count; child = 2 * at + 1) {
        child += child + 1 < resting->count && before(&items[child + 1], &items[child]);
        if (!before(&items[child], &rest)) {
            break;
        }
        put(resting, at, &items[child]);
        at = child;
    }
    put(resting, at, &rest);
}

/* False without memory. */
static bool make_room(struct resting *resting)
{
    if (resting->count < resting->room) {
        return true;
    }
    size_t room = resting->room ? resting->room * 2 : 64;
    struct rest *grown = realloc(resting->items, room * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    resting->items = grown;
    resting->room = room;
    return true;
}

static void take_out(struct resting *resting, size_t at)
{
    const struct rest last = resting->items[--resting->count];
    if (at < resting->count) {
        sift(resting, at, last);
    }
}

/* --- Trying again ---------------------------------------------------------------- */

/* Before try n + 1, n >= 1. */
static uint64_t rest_ns(const struct kernel *kernel, uint32_t failures)
{
    uint64_t ns = (uint64_t)kernel->retry_backoff;
    for (uint32_t i = 1; i < failures && ns < REST_NS_MAX; i++) {
        ns *= 2;
    }
    return ns < REST_NS_MAX ? ns : REST_NS_MAX;
}

static bool make_ready(struct moot *m, struct task *task)
{
    if (!ready_push(&m->schedule.ready, task)) {
        return false;
    }
    task->stage = TASK_READY;
    progress_wake(m);
    return true;
}

static void rest(struct moot *m, struct task *task, uint64_t element, uint64_t ns)
{
    const struct rest rest = {.due_ns = m->now_ns + ns,
                              .number = ++m->schedule.resting.newest,
                              .task = task,
                              .element = element};
    sift(&m->schedule.resting, m->schedule.resting.count++, rest);
}

bool retry_later(struct moot *m, struct task *task, const struct kernel *kernel)
{
    uint32_t failures = task_seldom(task)->failures;
    if (failures >= kernel->retries || m->engine.fatal != 0 ||
        task_seldom_of(m, task) == NULL) {
        return false;
    }
    uint64_t ns = rest_ns(kernel, failures + 1);
    if (ns > 0 ? !make_room(&m->schedule.resting) : !make_ready(m, task)) {
        return false;
    }
    task->seldom->failures++;
    m->counts.retried++;
    if (ns > 0) {
        task->stage = TASK_RESTING;
        rest(m, task, 0, ns);
    }
    return true;
}

bool retry_element(struct moot *m, struct elements *elements, uint64_t place)
{
    const struct kernel *kernel = elements->task->kernel;
    const uint32_t failures = elements_failures(elements, place);
    if (failures >= kernel->retries || m->engine.fatal != 0) {
        return false;
    }
    const uint64_t ns = rest_ns(kernel, failures + 1);
    if ((ns > 0 && !make_room(&m->schedule.resting)) ||
        !elements_rest(elements, place)) {
        return false;
    }
    m->counts.retried++;
    if (ns > 0) {
        rest(m, elements->task, place + 1, ns);
    } else {
        elements_try(m, elements, place);
        progress_wake(m);
    }
    return true;
}

/* False without memory. */
static bool wake(struct moot *m, const struct rest *due)
{
    if (due->element == 0) {
        return make_ready(m, due->task);
    }
    elements_try(m, elements_of(due->task), due->element - 1);
    progress_wake(m);
    return true;
}

void retry_wake(struct moot *m)
{
    struct resting *resting = &m->schedule.resting;
    while (resting->count > 0 && resting->items[0].due_ns <= m->now_ns &&
           wake(m, &resting->items[0])) {
        take_out(resting, 0);
    }
}

void retry_forget(struct moot *m, const struct task *task)
{
    take_out(&m->schedule.resting, task->seldom->rest_at);
}

void retry_forget_array(struct moot *m, const struct task *task)
{
    struct resting *resting = &m->schedule.resting;
    const size_t count = resting->count;
    resting->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct rest item = resting->items[i];
        if (item.task != task || item.element == 0) {
            sift(resting, resting->count++, item);
        }
    }
}

void retry_release(struct moot *m) { free(m->schedule.resting.items); }
