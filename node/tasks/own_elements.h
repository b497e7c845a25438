/* own_elements.h - what this rank keeps of the elements of a task array that are its
 * own: which of them it has yet to run, and the results of the others.
 *
 * The array itself is a task, its *end* (PROTOCOL.md, "Arrays"), and `struct elements`
 * hangs on that task's record.  An element has no record: it is a place in a block,
 * which is what the core gave out at once.  Arrays of which elements are to be run
 * stand in a list, m->schedule.elements, the oldest first.  Results stay until the
 * record of the end goes.
 *
 * Under the engine lock.
 */
#ifndef NODE_TASKS_OWN_ELEMENTS_H
#define NODE_TASKS_OWN_ELEMENTS_H

#include "node/tasks/task.h"

struct element_block {
    struct element_block *next;
    struct range places;
    uint64_t begun;            /* the first place that has not been given to a thread */
    struct payload *results[]; /* NULL: it has not ended well */
};

struct elements {
    struct task *task; /* the array's end */
    struct array_spread spread;
    void *args; /* the end's own go when it ends */
    size_t args_size;
    struct element_block *blocks, **last_block;
    struct elements *next; /* in m->schedule.elements, if it is */
    bool listed;
    uint64_t failed;       /* 1 + the least index of those that failed here; 0: none */
    struct payload *story; /* of that one */
};

/* NULL: the task is no array that this rank has spawned. */
static inline struct elements *elements_of(const struct task *task)
{
    return task_seldom(task)->elements;
}

/* The task is to stand for such an array; false without memory. */
bool elements_make(struct moot *m, struct task *task, const struct array_spread *spread,
                   const void *args, size_t args_size);
/* CORE_OUT_ELEMENTS: these are to be run here.  False without memory. */
bool elements_add(struct moot *m, struct elements *elements, struct range places);
/* The next one to be run, which is given to a thread; NULL: there is none. */
struct elements *elements_take(struct moot *m, uint64_t *place);
/* The element has ended well; takes over the payload. */
void elements_keep(struct elements *elements, uint64_t place, struct payload *result);
/* The element is run here, or has been. */
bool elements_has(const struct elements *elements, uint64_t place);
/* NULL: there is none here. */
struct payload *elements_result(const struct elements *elements, uint64_t place);
/* The home of an element among the founders. */
uint32_t elements_home(const struct array_spread *spread, uint64_t index);
void elements_free(struct moot *m, struct task *task); /* that has some, or none */

#endif
