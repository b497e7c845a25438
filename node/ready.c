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

bool ready_push(struct ready *ready, struct task *task)
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
    ready->live++;
    task->queued = true;
    return true;
}

static struct task *take_at(struct ready *ready, size_t at)
{
    struct task *task = ready->items[at].task;
    task->queued = false;
    ready->items[at] = ready->items[--ready->count];
    if (at < ready->count) {
        sift_down(ready, at);
        sift_up(ready, at);
    }
    return task;
}

struct task *ready_pop(struct ready *ready)
{
    while (ready->count > 0) {
        struct task *task = take_at(ready, 0);
        if (task->stage == TASK_READY) { /* else it was cancelled in the queue */
            ready->live--;
            return task;
        }
    }
    return NULL;
}

const struct task *ready_first(const struct ready *ready)
{
    return ready->items[0].task;
}

void ready_remove(struct ready *ready, const struct task *task)
{
    for (size_t i = 0; i < ready->count; i++) {
        if (ready->items[i].task == task) {
            take_at(ready, i);
            return;
        }
    }
}

void ready_release(struct ready *ready) { free(ready->items); }
