/* source.h - where the result of a task can be had from, without anything to compute.
 *
 * A task that stands for data (node/reference/reference.h) is run by giving its bytes
 * out: a program of this rank has put them, or a file has them.  What is known of that
 * stays with the task's record, and goes when the task is forgotten.
 *
 * Under the engine lock.
 */
#ifndef NODE_TASKS_SOURCE_H
#define NODE_TASKS_SOURCE_H

#include "node/context/context.h"

/* The bytes, unless it has some; takes the reference over whatever it returns.  False
 * without memory. */
bool source_add_bytes(struct moot *m, struct task *task, struct payload *bytes);
/* A file that has them, unless that is known; false without memory. */
bool source_add_file(struct moot *m, struct task *task, const char *path);
void source_free_all(struct task *task);

#endif
