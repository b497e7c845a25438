/* map_misfit.h - why a map that is built in cannot be, with such arguments and of
 * arrays of such counts: the numbers that do not go together, and what to do.
 *
 * The maps themselves (consensus/shape/array_map.c) say no more than that they cannot.
 */
#ifndef NODE_TASKS_MAP_MISFIT_H
#define NODE_TASKS_MAP_MISFIT_H

#include "consensus/shape/array_schedule.h"
#include "node/config/text.h"

/* array_schedule_can_be() has said INVALID. */
void map_tell_misfit(struct text *text, const struct array_mapping *mapping,
                     const struct array_counts *counts);
/* Likewise LIMIT: an element takes too many, or those of a rank do together. */
void map_tell_excess(struct text *text, const struct array_mapping *mapping,
                     const struct array_spread *takes, const struct array_spread *from);

#endif
