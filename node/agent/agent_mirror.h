/* agent_mirror.h - what ranks leave in folders of their host, shown to `moot run`.
 *
 * Ranks leave sheets, ends and marks (node/tools/sheet.h, node/config/ending.h) as they
 * go, by which `moot run` sees that a job is hopeless, and sums it up; those are sent
 * when they change.  Records of a trace are sent at the end.
 */
#ifndef NODE_AGENT_AGENT_MIRROR_H
#define NODE_AGENT_AGENT_MIRROR_H

#include "node/launch/agent_stream.h"

#include <stdbool.h>

struct agent_mirror;

/* Makes the folders, readable by this user alone, in TMPDIR or /tmp; with one for
 * records if `trace`.  Those of this user's agents that were killed here go.  NULL,
 * with a line in story. */
struct agent_mirror *agent_mirror_new(bool trace, char *story, size_t story_size);
void agent_mirror_free(struct agent_mirror *mirror); /* removes them; accepts NULL */

const char *agent_mirror_ends(const struct agent_mirror *mirror);  /* sheets, too */
const char *agent_mirror_trace(const struct agent_mirror *mirror); /* "": none */

/* Polls readable when something has changed. */
int agent_mirror_descriptor(const struct agent_mirror *mirror);

/* Says what has changed. */
void agent_mirror_pass(struct agent_mirror *mirror, struct agent_stream *stream);

/* When all ranks have ended: says all that is there, whether it was said or not, and
 * calls `wait` for room now and then. */
void agent_mirror_end(struct agent_mirror *mirror, struct agent_stream *stream,
                      void (*wait)(void *context), void *context);

#endif
