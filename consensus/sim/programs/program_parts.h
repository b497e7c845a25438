/* program_parts.h - which elements of an array each rank of a drawn program spawns.
 *
 * Drawn of the program's seed, the array and the rank alone, so that who writes a
 * script and who sums all up find the same.
 */
#ifndef CONSENSUS_SIM_PROGRAMS_PROGRAM_PARTS_H
#define CONSENSUS_SIM_PROGRAMS_PROGRAM_PARTS_H

#include "consensus/sim/programs/program.h"

enum { PARTS_MAX = 4 };

/* In the order in which the rank spawns them; of an array that is `parted`.  Places of
 * none: all, or the rest. */
uint32_t parts_draw(const struct program *program, uint32_t task, uint32_t rank,
                    struct range out[PARTS_MAX]);
/* Whether its holders leave out elements. */
bool parts_leave_gaps(const struct program *program, uint32_t task);

#endif
