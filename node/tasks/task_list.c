/* task_list.c - see task_list.h. */
#include "node/tasks/task_list.h"

#include "consensus/core_entry.h"
#include "node/context/context.h"

#include <stdlib.h>

/* The list of those that the core has forgotten goes through what was the core's. */
enum { GONE_PREV, GONE_NEXT };

void task_link_gone(struct moot *m, struct task *task)
{
    struct task *next = m->tasks.gone;
    task->entry.rest[GONE_PREV] = NULL;
    task->entry.rest[GONE_NEXT] = next;
    if (next != NULL) {
        next->entry.rest[GONE_PREV] = task;
    }
    m->tasks.gone = task;
}

void task_unlink_gone(struct moot *m, struct task *task)
{
    struct task *prev = task->entry.rest[GONE_PREV],
                *next = task->entry.rest[GONE_NEXT];
    if (prev != NULL) {
        prev->entry.rest[GONE_NEXT] = next;
    } else {
        m->tasks.gone = next;
    }
    if (next != NULL) {
        next->entry.rest[GONE_PREV] = prev;
    }
}

struct each {
    void (*see)(void *context, struct task *task);
    void *context;
};

static bool see_entry(void *context, void *entry)
{
    const struct each *each = context;
    each->see(each->context, entry);
    return true;
}

void task_each(struct moot *m, void (*see)(void *context, struct task *task),
               void *context)
{
    struct each each = {.see = see, .context = context};
    core_each_entry(m->core, see_entry, &each);
    for (struct task *task = m->tasks.gone; task != NULL;
         task = task->entry.rest[GONE_NEXT]) {
        see(context, task);
    }
}

struct listing {
    struct task **tasks; /* NULL: they are only counted */
    size_t count;
};

static void list_one(void *context, struct task *task)
{
    struct listing *listing = context;
    if (!task->entered) {
        return;
    }
    if (listing->tasks != NULL) {
        listing->tasks[listing->count] = task;
    }
    listing->count++;
}

static int newest_first(const void *left, const void *right)
{
    const struct task *const *a = left, *const *b = right;
    return (int32_t)((*a)->number - (*b)->number) > 0 ? -1 : 1;
}

bool task_list(struct moot *m, struct task ***list, size_t *count)
{
    struct listing listing = {0};
    task_each(m, list_one, &listing);
    listing.tasks = calloc(listing.count + 1, sizeof(struct task *));
    if (listing.tasks == NULL) {
        return false;
    }
    listing.count = 0;
    task_each(m, list_one, &listing);
    qsort(listing.tasks, listing.count, sizeof(struct task *), newest_first);
    *list = listing.tasks;
    *count = listing.count;
    return true;
}
