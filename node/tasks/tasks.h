/* tasks.h - the room of what this rank keeps of a task beside the core.
 *
 * A record of a task stands behind the core's entry (task.h); programs hold handles
 * (handle.h, kept_handles.h); kernels are registered alike on all ranks (kernel.h);
 * data stand where sources say (source.h); elements of arrays have a few words each
 * (own_elements.h), and wait for what they take (element_inputs.h), which a rank may
 * wish for (element_wishes.h); why a task failed
 * travels with its error (error_chain.h).
 *
 * Writes m->tasks. Under the engine lock.
 *
 * This is its contract: files of other rooms include of this room what stands below.
 */
#ifndef NODE_TASKS_TASKS_H
#define NODE_TASKS_TASKS_H

#include "node/tasks/board.h"
#include "node/tasks/dealt_inputs.h"
#include "node/tasks/death.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/element_wishes.h"
#include "node/tasks/error_chain.h"
#include "node/tasks/family.h"
#include "node/tasks/handle.h"
#include "node/tasks/kept_handles.h"
#include "node/tasks/kernel.h"
#include "node/tasks/map.h"
#include "node/tasks/map_misfit.h"
#include "node/tasks/own_elements.h"
#include "node/tasks/source.h"
#include "node/tasks/task.h"
#include "node/tasks/task_list.h"

#endif
