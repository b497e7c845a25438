/* stall.h - the stall report: what everything hangs on, and what to do about it.
 *
 * From a picture (what ranks say of themselves) and its diagnosis: each cause with its
 * chain of waits, file and line, the evidence, and what to do next; then what is waited
 * for, equal waits of all ranks in one; what each rank says, alike ones in one, and how
 * old that is; and where two ranks disagree.  moot-stall(7) reads one line by line.
 */
#ifndef NODE_EXPLAIN_STALL_H
#define NODE_EXPLAIN_STALL_H

#include "node/config/text.h"
#include "node/explain/diagnosis.h"

/* All of it, under a line that says who reports and why. */
void stall_compose(struct text *text, const struct picture *given,
                   const struct diagnosis *diagnosis);

/* "task 1a2b3c4d of kernel 'square' 'label' (file:line)", as far as anyone told; or
 * "array 1a2b3c4d ...". */
void stall_add_task(struct text *text, const struct picture *picture,
                    const moot_hash *hash);
/* "rank 3", "ranks 0-2,5" */
void stall_add_ranks(struct text *text, const struct rankset *ranks);
/* "ranks 0,2,5 and 12 more": in some 60 bytes. */
void stall_add_few_ranks(struct text *text, const struct rankset *ranks);
/* "  hosts: a has ranks 0-1; b has ranks 2-3", a line, if they are on several. */
void stall_add_hosts(struct text *text, const struct picture *picture);
/* What a program does, lane by lane, in a few words. */
void stall_add_program(struct text *text, const Moot__Account *account);

/* stall_array.c: "elements 0-39,60-99 and 12 more", of so many, as an account tells of
 * them. */
void stall_add_some(struct text *text, uint64_t count, const uint64_t *at, size_t n);
/* An array that is waited for: how far its elements are, a line; nothing of a task.
 */
void stall_add_progress(struct text *text, const struct picture *picture,
                        const moot_hash *hash);
/* The subject of a finding whose cause is among elements, and what to do: true; false:
 * it is told as of a task. */
bool stall_say_elements(struct text *text, const struct picture *picture,
                        const struct finding *finding);

/* stall_cause.c: one finding, in several lines. */
void stall_add_finding(struct text *text, const struct picture *picture,
                       const struct finding *finding);
/* The reason why the moot does not end such a wait with `code`; `advice`: what the user
 * can do about it, an infinitive. */
void stall_say_busy(struct text *text, const struct picture *picture,
                    const struct finding *finding, const char *advice,
                    const char *code);

#endif
