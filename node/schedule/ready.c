/* ready.c - see ready.h: a binary heap beside a ring. */
#include "node/schedule/ready.h"

#include "hashing/base/fetch_ahead.h"
#include "hashing/base/hot.h"

#include <stdlib.h>

/* What stands in a long line was touched long ago. */
enum { LINE_LONG = 64, LINE_AHEAD = 2 };

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

static uint64_t next_order(struct ready *ready, const struct task *task)
{
    uint64_t number = ++ready->newest;
    return task->nested ? (UINT64_MAX >> 1) - number : number | 1ull << 63;
}

static bool heap_add(struct ready *ready, struct task *task)
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
    ready->items[ready->count] = (struct ready_item){
        .priority = task->priority, .order = next_order(ready, task), .task = task};
    sift_up(ready, ready->count++);
    return true;
}

static void heap_take_first(struct ready *ready)
{
    ready->items[0] = ready->items[--ready->count];
    sift_down(ready, 0);
}

static struct task **line_at(const struct ready *ready, size_t i)
{
    return &ready->line[(ready->line_first + i) & (ready->line_room - 1)];
}

static bool line_grow(struct ready *ready)
{
    size_t room = ready->line_room ? ready->line_room * 2 : 256;
    struct task **grown = malloc(room * sizeof(struct task *));
    if (grown == NULL) {
        return false;
    }
    for (size_t i = 0; i < ready->line_count; i++) {
        grown[i] = *line_at(ready, i);
    }
    free(ready->line);
    ready->line = grown;
    ready->line_first = 0;
    ready->line_room = room;
    return true;
}

static bool line_add(struct ready *ready, struct task *task)
{
    if (ready->line_count == ready->line_room && !line_grow(ready)) {
        return false;
    }
    *line_at(ready, ready->line_count++) = task;
    return true;
}

HOT bool ready_push(struct ready *ready, struct task *task)
{
    bool plain = task->priority == 0 && !task->nested;
    bool added = plain ? line_add(ready, task) : heap_add(ready, task);
    task->queued = (uint16_t)(task->queued + added);
    ready->live += added;
    return added;
}

/* In place of an item that it has; what comes up soon stands near the front. */
static void raise_in_place(struct ready *ready, struct task *task)
{
    size_t at = 0;
    while (at < ready->count && ready->items[at].task != task) {
        at++;
    }
    if (at < ready->count) {
        ready->items[at].priority = task->priority;
        ready->items[at].order = next_order(ready, task);
        sift_up(ready, at);
    }
}

/* Without memory it comes up as it would have. */
void ready_raise(struct ready *ready, struct task *task)
{
    if (task->queued == UINT16_MAX) {
        raise_in_place(ready, task);
        return;
    }
    bool added = heap_add(ready, task);
    task->queued = (uint16_t)(task->queued + added);
}

static bool heap_is_next(const struct ready *ready)
{
    return ready->count > 0 &&
           (ready->line_count == 0 || ready->items[0].priority >= 0);
}

static struct task *take_first(struct ready *ready)
{
    if (heap_is_next(ready)) {
        struct task *task = ready->items[0].task;
        heap_take_first(ready);
        return task;
    }
    struct task *task = *line_at(ready, 0);
    if (ready->line_count > LINE_LONG) {
        fetch_ahead(*line_at(ready, LINE_AHEAD), sizeof(*task));
    }
    ready->line_first++;
    ready->line_count--;
    return task;
}

static void pass_over(struct ready *ready, struct task *task)
{
    if (task->queued == 0 && task->gone) {
        task->raise_next = ready->spent;
        ready->spent = task;
    }
}

/* Of a task that was raised the first item that comes up is the one that counts. */
HOT struct task *ready_pop(struct ready *ready)
{
    while (ready->count + ready->line_count > 0) {
        struct task *task = take_first(ready);
        task->queued--;
        if (task->stage == TASK_READY) { /* else it was cancelled, or has come up */
            ready->live--;
            return task;
        }
        pass_over(ready, task);
    }
    return NULL;
}

bool ready_is_before(struct ready *ready, int32_t priority)
{
    while (ready->count + ready->line_count > 0) {
        const struct task *first = ready_first(ready);
        if (first->stage == TASK_READY) {
            return (heap_is_next(ready) ? ready->items[0].priority : 0) >= priority;
        }
        struct task *task = take_first(ready);
        task->queued--;
        pass_over(ready, task);
    }
    return false;
}

const struct task *ready_first(const struct ready *ready)
{
    return heap_is_next(ready) ? ready->items[0].task : *line_at(ready, 0);
}

size_t ready_list(const struct ready *ready, struct task **out, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < ready->line_count && count < room; i++) {
        out[count++] = *line_at(ready, i);
    }
    for (size_t i = 0; i < ready->count && count < room; i++) {
        out[count++] = ready->items[i].task;
    }
    return count;
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

void ready_release(struct ready *ready)
{
    free(ready->items);
    free(ready->line);
}
