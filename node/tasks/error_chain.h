/* error_chain.h - why a task failed, as text that travels with its error.
 *
 * A story is a chain of causes, one a line, the first cause last:
 *
 *     task 9f31c2aa 'sum' (tree.c:40) on rank 2: input 1 failed:
 *       task 1a2b3c4d 'leaf' (tree.c:31) on rank 0: kernel 'leaf' failed with code 7
 *
 * It is the payload of an error result.  At most LIMIT_ERROR_STORY_BYTES: a longer one
 * loses its middle, because the ends are what people need.
 */
#ifndef NODE_TASKS_ERROR_CHAIN_H
#define NODE_TASKS_ERROR_CHAIN_H

#include "node/context/context.h"

/* The task's kernel returned `code`, or there is a MOOT_ERR_ reason. */
void story_of_kernel(struct text *story, const struct moot *m, const struct task *task,
                     int code, const char *why);
/* Appends what a call of the failed kernel had met, unless the story has it. */
void story_add_mishap(struct text *story, const char *mishap, const char *its_story);
void story_of_input(struct text *story, const struct moot *m, const struct task *task,
                    const struct task *input);
void story_of_cancel(struct text *story, const struct moot *m, const struct task *task,
                     uint32_t by, bool ran);
void story_of_verdict(struct text *story, const struct moot *m, const struct task *task,
                      int code, const moot_hash *chain, uint32_t chain_count);
/* What a wait for the task says that ended with `code`. */
void story_of_wait(struct text *story, const struct moot *m, const struct task *task,
                   int code);
/* Both registrations and both ranks. */
void story_of_conflict(struct text *story, const struct moot *m,
                       const struct kernel *kernel);
void story_cut(struct text *story);

#endif
