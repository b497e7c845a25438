/* task_array.h - task arrays, as programs have them: spawned as one, and read one by
 * one.
 *
 * An array's handle is that of its end (node/tasks/own_elements.h).  To read an element
 * is a task of its own (element_read.h).
 *
 * Under the engine lock.  The stories of failures do not name the call, which the
 * caller does (lane_name_call).
 */
#ifndef NODE_COMPOSE_TASK_ARRAY_H
#define NODE_COMPOSE_TASK_ARRAY_H

#include "node/api/moot_array.h"
#include "node/context/context.h"

struct elements;
struct spawn;

/* The elements that a program names. */
struct array_ranges {
    const moot_range *ranges;
    size_t count;
};
/* `some`: these alone; NULL: all.  `near`: an array whose homes it is to have; or NULL.
 * `parent`: as in spawn_task. */
int array_spawn(struct moot *m, struct lane *lane, const moot_array_spec *spec,
                const struct array_ranges *some, const struct elements *near,
                struct task *parent, const char *site, moot_array *out);
/* Neither inside a kernel nor parked; `instead` is what a kernel is told to do. */
int array_check_open(struct moot *m, struct lane *lane, const char *instead);
/* The array's end: also of one that this rank knows by its hash alone. */
int array_find_end(struct moot *m, struct lane *lane, moot_array array,
                   struct task **out);
int array_find_elements(struct moot *m, struct lane *lane, moot_array array,
                        struct elements **out);
/* Spawns a task that reads an element. */
int array_spawn_read(struct moot *m, struct lane *lane, struct spawn *spawn,
                     moot_task *out);
int array_at(struct moot *m, struct lane *lane, moot_array array, uint64_t index,
             struct task *parent, const char *site, moot_task *out);

#endif
