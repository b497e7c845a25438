/* array_reduce.h - one result of all elements of an array: moot_array_reduce().
 *
 * A tree of tasks combines them.  Each of its levels is a task array, which takes
 * blocks of the level below (array_map_blocks), so that a rank touches its own share
 * alone, and ranks that differ are seen to as for any array.  The shape follows from
 * the count.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_ARRAY_REDUCE_H
#define NODE_COMPOSE_ARRAY_REDUCE_H

#include "node/api/moot_array.h"
#include "node/context/context.h"

int array_reduce(struct moot *m, struct lane *lane, moot_array array,
                 const moot_task_spec *combine, const char *site, moot_task *out);

#endif
