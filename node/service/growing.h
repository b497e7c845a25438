/* growing.h - a wish that the job have more ranks, from outside its program.
 *
 * `moot grow` wishes at the socket of any rank of the job.  The rank passes that on to
 * the launcher, by its process's channel (channel_grow()), and the answer back.  The
 * launcher may take seconds for it, and the loop that serves the socket must not wait:
 * each wish has a thread of its own, which outlives the moot if it must.
 */
#ifndef NODE_SERVICE_GROWING_H
#define NODE_SERVICE_GROWING_H

#include <stdbool.h>
#include <stdint.h>

struct growing;

/* Wishes for so many, which, if the job is of that kind, are let in where its ranks end
 * a session; NULL without memory, or a thread. */
struct growing *growing_begin(uint32_t count, bool at_boundary);

/* The answer, as of channel_grow(); false: it has not come yet.  *story stays until
 * growing_leave(). */
bool growing_answer(const struct growing *growing, int *code, uint32_t *first,
                    const char **story);

/* Nobody wants to know any more; accepts NULL.  The wish stays. */
void growing_leave(struct growing *growing);

#endif
