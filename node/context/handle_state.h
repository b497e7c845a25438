/* handle_state.h - the numbers that programs hold, and their slots
 * (node/tasks/handle.h).
 */
#ifndef NODE_CONTEXT_HANDLE_STATE_H
#define NODE_CONTEXT_HANDLE_STATE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct task;

enum { HANDLE_KERNEL = 0xffff, HANDLE_REST = 1024 };

struct handle {
    struct task *task;   /* NULL: free */
    struct task *parent; /* the running task that spawned it; NULL: the program's */
    bool borrowed : 1;   /* fetched: holds a reference to the task's payload */
    bool child : 1;      /* that the parent's kernel spawned, and did not find */
    bool awaited : 1;    /* a child that its parent waited for */
    bool scoped : 1;     /* counted by the task's scope (lane_scope.h) */
    bool kept : 1;       /* released, but its task is needed yet (task_handle.h) */
    bool grouped : 1;    /* an open group needs its task (node/compose/group.h) */
    bool let_go : 1;     /* such a one that the program has released */
    uint16_t generation;
    uint32_t next_free; /* kept: the next of those */
};
static_assert(sizeof(struct handle) <= 24, "each task that is used has one");

struct handles {
    struct handle *slots;
    uint32_t count, room; /* slots ever used; allocated */
    uint32_t first_free, last_free, free_count;
    uint32_t first_kept, last_kept;
    uint32_t to_settle; /* so many of these are of tasks without tickets */
    uint32_t tag;       /* 20 bits, not zero */
};

#endif
