/* compose.h - the room of what stands between a spawn and its submission.
 *
 * Spawns of programs and kernels come in by submit.h.  Stacks of queues (queue.h,
 * queue_line.h), the order of a sequential one (chain.h), groups of all that a thread
 * spawned (group.h), and data handles that order tasks by what they read and write
 * (data.h).  Arrays (task_array.h), what their elements take (array_inputs.h), trees
 * over them (array_reduce.h), arrays of others that this rank runs (array_adopt.h),
 * tasks that read their elements (element_read.h) and that find them by hash
 * (element_find.h), and those that wait for what elements lack (element_gate.h).
 *
 * Writes m->compose. Under the engine lock.
 *
 * This is its contract: files of other rooms include of this room what stands below.
 */
#ifndef NODE_COMPOSE_COMPOSE_H
#define NODE_COMPOSE_COMPOSE_H

#include "node/compose/array_adopt.h"
#include "node/compose/array_inputs.h"
#include "node/compose/array_reduce.h"
#include "node/compose/chain.h"
#include "node/compose/data.h"
#include "node/compose/element_find.h"
#include "node/compose/element_gate.h"
#include "node/compose/element_read.h"
#include "node/compose/group.h"
#include "node/compose/meet_wait.h"
#include "node/compose/queue.h"
#include "node/compose/queue_line.h"
#include "node/compose/stretch.h"
#include "node/compose/submit.h"
#include "node/compose/task_array.h"
#include "node/compose/task_wait.h"

#endif
