/* generations.h - by which reload each rank's tasks began (PROTOCOL.md, *Reload*).
 *
 * Generation 0 is before all of them.  A rank is in the generation that it was last
 * told to begin: what is seen of it from then on is of that one, while ranks that have
 * yet to hear of it are in the one before.  A newcomer is in that of its first view.
 * Checkers that keep what they have seen of a
 * task keep it by generation.
 */
#ifndef CONSENSUS_SIM_CHECKS_GENERATIONS_H
#define CONSENSUS_SIM_CHECKS_GENERATIONS_H

#include "consensus/sim/engine/sim.h"

enum { GENERATIONS_MAX = 32 }; /* their numbers, which a run does not reach */

struct generations {
    uint32_t *of; /* by rank */
    uint32_t limit;
};

/* `limit`: ranks there may be. */
void generations_open(struct generations *generations, uint32_t limit);
void generations_close(struct generations *generations);
/* True: the sight tells a rank to begin another generation, in which it is from now on.
 */
bool generations_see(struct generations *generations, struct sim *sim,
                     const struct sight *sight);

#endif
