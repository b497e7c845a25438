/* queue_line.h - what a stack of queues leaves to the children of what goes through it.
 *
 * A task keeps the number of its *line*: which queues, from the outermost in, it was
 * spawned through.  If it runs here, its children's spawns go through new queues of
 * that line.  Lines are few, so they are kept once per context, each as its last queue
 * and the line of those before it; line 0 is empty.
 *
 * For children, who find these queues empty and open, long rows of sequential and bulk
 * queues come to the same as short ones: a chain within a batch within a chain is a
 * chain within a batch.  Lines are kept in that form, so that kernels which spawn
 * kernels through queues of their own do not make longer ones with each generation.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_QUEUE_LINE_H
#define NODE_COMPOSE_QUEUE_LINE_H

#include "node/context/context.h"

/* The line of a queue of this kind that is opened in one of line `up`; `custom` for
 * that kind.  LIMIT, NO_MEMORY. */
int queue_line_in(struct queue_lines *lines, uint16_t up, enum queue_kind kind,
                  const moot_queue_custom *custom, uint16_t *out);
const struct queue_line *queue_line_at(const struct queue_lines *lines, uint16_t line);
void queue_lines_release(struct queue_lines *lines);

#endif
