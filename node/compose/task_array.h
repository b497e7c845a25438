/* task_array.h - task arrays, as programs have them: spawned as one, and read one by
 * one.
 *
 * An array's handle is that of its end (node/tasks/own_elements.h).  To read an element
 * is an ordinary task of the library's kernel "moot.element", whose arguments are the
 * array's hash and the index, and whose place is one of which the home of the element
 * is the chair.  It comes after the array, and whoever runs it gives what it has.  So
 * it travels, is an input, and is forgotten as any task.  A home whose program reads
 * nothing takes the task from a peer's motion (the kernel is portable), if it runs the
 * element.  Who runs it and has not run the element makes that again: the home had not
 * spawned the array, or is a member no more.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_TASK_ARRAY_H
#define NODE_COMPOSE_TASK_ARRAY_H

#include "node/api/moot_array.h"
#include "node/context/context.h"

bool array_begin(struct moot *m); /* false without memory */
int array_spawn(struct moot *m, struct lane *lane, const moot_array_spec *spec,
                const char *site, moot_array *out);
int array_at(struct moot *m, struct lane *lane, moot_array array, uint64_t index,
             const char *site, moot_task *out);

#endif
