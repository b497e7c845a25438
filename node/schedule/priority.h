/* priority.h - a task's priority, handed down to what it takes.
 *
 * What a task with a priority above 0 needs is as urgent as the task itself: its
 * inputs, and theirs, get at least its priority.  Ranks that agree have the same graph,
 * so each rank raises what it will run by its own.  Where ranks differ, a motion brings
 * the priority to the chair, and a decision to the owner.
 *
 * An array's priority is that of its end, and so it hands it down to the arrays that
 * its elements take, and they run by it.
 *
 * Priorities only rise, and only what has not begun is raised.  Under the engine lock.
 */
#ifndef NODE_SCHEDULE_PRIORITY_H
#define NODE_SCHEDULE_PRIORITY_H

#include "node/context/context.h"

/* The task has at least this priority, and all that it waits for. */
void priority_raise(struct moot *m, struct task *task, int32_t priority);
/* It is about to be registered with these inputs, some of which may be NULL. */
void priority_hand_down(struct moot *m, const struct task *task, void *const *inputs,
                        size_t count);
/* A peer says in a motion, or in a decision, how urgent it is. */
void priority_hear(struct moot *m, const moot_hash *hash, int32_t priority);
/* DECISION (dispatch.h). */
bool priority_take_decision(struct moot *m, uint32_t from,
                            const struct message *decision);

#endif
