/* error_chain.h - why a task failed, as text that travels with its error.
 *
 * A story is a chain of causes, one a line, the first cause last:
 *
 *     task 9f31c2aa 'sum' (tree.c:40) on rank 2: input 1 failed:
 *       task 1a2b3c4d 'leaf' (tree.c:31) on rank 0: kernel 'leaf' failed with code 7
 *
 * A story is the payload of an error result, and behind it stand a zero byte and the
 * root cause as numbers: its kernel's code and the rank that ran it, four bytes each,
 * the lowest first.  At most LIMIT_ERROR_STORY_BYTES with these: a longer story loses
 * its middle, because the ends are what people need.
 *
 * Elements of arrays fail in longer chains, one array a step, and only the first
 * failure is of use.  It stands first there, and what followed from it is told in three
 * lines at most:
 *
 *     element 5: array 1409b001 of kernel 'first' on rank 0: kernel ... with code 7
 *       so element 4 failed, of array 8bee072e of kernel 'next' on rank 0: it takes ...
 *       so 37 more failed, each by the one before
 *       so element 0 failed, of array 0b62322f of kernel 'next' on rank 2: it takes ...
 *
 * Where these parts begin stands behind such a text as numbers, so that the next
 * element puts itself in the place of the last.
 */
#ifndef NODE_TASKS_ERROR_CHAIN_H
#define NODE_TASKS_ERROR_CHAIN_H

#include "node/context/context.h"

/* The root cause of a failure, where that is a kernel's own. */
struct root_cause {
    int code; /* that the kernel returned, or gave moot_call_fail; 0: none */
    int rank; /* that it ran on; -1: none */
};
#define NO_ROOT_CAUSE ((struct root_cause){.code = 0, .rank = -1})

/* An error's payload; NULL without memory. */
struct payload *story_payload(struct text *story, struct root_cause root);
/* That of an element that failed for want of what `before` says (NULL: is not known):
 * it has the same root cause.  `failure` names the element. */
struct payload *story_of_element(const struct payload *before, const char *failure);
/* The root cause of a task's error, as far as it is known here. */
struct root_cause story_root(const struct task *task);

/* The task's kernel returned `code`, or there is a MOOT_ERR_ reason. */
void story_of_kernel(struct text *story, const struct moot *m, const struct task *task,
                     int code, const char *why);
/* The element has failed, and its kernel was not called. */
void story_of_no_run(struct text *story, const struct moot *m, const struct task *task,
                     const char *why);
/* Appends what a call of the failed kernel had met, unless the story has it. */
void story_add_mishap(struct text *story, const char *mishap, const char *its_story);
void story_of_input(struct text *story, const struct moot *m, const struct task *task,
                    const struct task *input);
void story_of_cancel(struct text *story, const struct moot *m, const struct task *task,
                     uint32_t by, bool ran);
/* CORE_OUT_VERDICT. */
void story_of_verdict(struct text *story, const struct moot *m, const struct task *task,
                      const struct core_output *output);
/* What a wait for the task says that ended with `code`. */
void story_of_wait(struct text *story, const struct moot *m, const struct task *task,
                   int code);
/* Both registrations and both ranks. */
void story_of_conflict(struct text *story, const struct moot *m,
                       const struct kernel *kernel);
void story_cut(struct text *story);

#endif
