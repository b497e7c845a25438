/* ready.c - see ready.h: a binary heap. */
#include "ready.h"

#include <stdlib.h>

static bool before(const struct ready_item *a, const struct ready_item *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->order < b->order;
}

static void sift_up(struct ready *ready, size_t at)
{
    struct ready_item item = ready->items[at];
    while (at > 0 && before(&item, &ready->items[(at - 1) / 2])) {
        ready->items[at] = ready->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    ready->items[at] = item;
}

static void sift_down(struct ready *ready, size_t at)
{
    struct ready_item item = ready->items[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= ready->count) {
            break;
        }
        if (child + 1 < ready->count &&
            before(&ready->items[child + 1], &ready->items[child])) {
            child++;
        }
        if (!before(&ready->items[child], &item)) {
            break;
        }
        ready->items[at] = ready->items[child];
        at = child;
    }
    ready->items[at] = item;
}

static bool add_item(struct ready *ready, struct task *task)
{
    if (ready->count == ready->room) {
        size_t room = ready->room ? ready->room * 2 : 256;
        struct ready_item *grown = realloc(ready->items, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        ready->items = grown;
        ready->room = room;
    }
    uint64_t number = ++ready->newest;
    ready->items[ready->count] = (struct ready_item){
        .priority = task->priority,
        .order = task->nested ? (UINT64_MAX >> 1) - number : number | 1ull << 63,
        .task = task};
    sift_up(ready, ready->count++);
    task->queued++;
    return true;
}

bool ready_push(struct ready *ready, struct task *task)
{
    bool added = add_item(ready, task);
    ready->live += added;
    return added;
}

/* Without memory it comes up as it would have. */
void ready_raise(struct ready *ready, struct task *task)
{
    (void)add_item(ready, task);
}

static void take_first(struct ready *ready)
{
    ready->items[0] = ready->items[--ready->count];
    if (ready->count > 0) {
        sift_down(ready, 0);
    }
}

static void pass_over(struct ready *ready, struct task *task)
{
    if (task->queued == 0 && task->gone) {
        task->raise_next = ready->spent;
        ready->spent = task;
    }
}

/* Of a task that was raised the first item that comes up is the one that counts. */
struct task *ready_pop(struct ready *ready)
{
    while (ready->count > 0) {
        struct task *task = ready->items[0].task;
        take_first(ready);
        task->queued--;
        if (task->stage == TASK_READY) { /* else it was cancelled, or has come up */
            ready->live--;
            return task;
        }
        pass_over(ready, task);
    }
    return NULL;
}

const struct task *ready_first(const struct ready *ready)
{
    return ready->items[0].task;
}

struct task *ready_take_spent(struct ready *ready)
{
    struct task *task = ready->spent;
    if (task != NULL) {
        ready->spent = task->raise_next;
        task->raise_next = NULL;
    }
    return task;
}

void ready_release(struct ready *ready) { free(ready->items); }
