/* agent_door.h - questions of `moot run` to a rank of this host, at the rank's socket
 * (node/service/status_socket.h): they and the answers are passed on as they are.
 */
#ifndef NODE_AGENT_AGENT_DOOR_H
#define NODE_AGENT_AGENT_DOOR_H

#include "node/launch/agent_stream.h"

struct agent_door;

struct agent_door *agent_door_new(void);       /* NULL without memory */
void agent_door_free(struct agent_door *door); /* accepts NULL */

/* Puts the question of an AGENT_ASK; one that is under way is given up. */
void agent_door_ask(struct agent_door *door, struct agent_stream *stream,
                    const struct agent_header *header, const unsigned char *bytes);

/* Passes on what has come of the answer. */
void agent_door_pass(struct agent_door *door, struct agent_stream *stream);

/* Polls readable when something has; -1: nothing is awaited. */
int agent_door_descriptor(const struct agent_door *door);

#endif
