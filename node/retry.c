/* retry.c - see retry.h. */
#include "retry.h"

#include "node/progress.h"
#include "node/ready.h"

#include <stdlib.h>

#define REST_NS_MAX (UINT64_C(3600) * 1000000000u)

struct rest {
    struct rest *next; /* due later, or as soon */
    struct task *task;
    uint64_t due_ns;
};

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
    if (!ready_push(&m->ready, task)) {
        return false;
    }
    task->stage = TASK_READY;
    progress_wake(m);
    return true;
}

bool retry_later(struct moot *m, struct task *task)
{
    uint32_t failures = task_seldom(task)->failures;
    if (failures >= task->kernel->retries || m->fatal != 0 ||
        task_seldom_of(m, task) == NULL) {
        return false;
    }
    uint64_t ns = rest_ns(task->kernel, failures + 1);
    struct rest *rest = ns > 0 ? malloc(sizeof(*rest)) : NULL;
    if (ns > 0 ? rest == NULL : !make_ready(m, task)) {
        return false;
    }
    task->seldom->failures++;
    m->counts.retried++;
    if (ns == 0) {
        return true;
    }
    struct rest **link = &m->resting;
    *rest = (struct rest){.task = task, .due_ns = m->now_ns + ns};
    while (*link != NULL && (*link)->due_ns <= rest->due_ns) {
        link = &(*link)->next;
    }
    rest->next = *link;
    *link = rest;
    task->stage = TASK_RESTING;
    return true;
}

void retry_wake(struct moot *m)
{
    while (m->resting != NULL && m->resting->due_ns <= m->now_ns &&
           make_ready(m, m->resting->task)) {
        struct rest *rest = m->resting;
        m->resting = rest->next;
        free(rest);
    }
}

void retry_forget(struct moot *m, struct task *task)
{
    for (struct rest **link = &m->resting; *link != NULL; link = &(*link)->next) {
        struct rest *rest = *link;
        if (rest->task == task) {
            *link = rest->next;
            free(rest);
            return;
        }
    }
}

void retry_release(struct moot *m)
{
    while (m->resting != NULL) {
        struct rest *next = m->resting->next;
        free(m->resting);
        m->resting = next;
    }
}
