/* dealt_inputs.h - the sources of elements that were dealt to this rank.
 *
 * No schedule has them, so each is looked up by its map when its block comes.  One that
 * the map has take what there is not, or too much, fails: its home, which has looked at
 * it when the array was spawned, has been refused the array for it (PROTOCOL.md, rule
 * A13).
 *
 * Under the engine lock.
 */
#ifndef NODE_TASKS_DEALT_INPUTS_H
#define NODE_TASKS_DEALT_INPUTS_H

#include "node/tasks/element_inputs.h"

/* Gives each element of the block the slots of its sources.  NO_MEMORY. */
int dealt_find_slots(const struct elements *elements, struct element_block *block);

#endif
