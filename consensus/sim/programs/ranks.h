/* ranks.h - sets of ranks as checkers use them.
 *
 * struct rankset (hashing/rankset.h) with the algebra that checks are written in.  A
 * set takes a bit per rank up to the highest that it ever had, and none of its own
 * beyond the struct while that is below 64: the same checker watches four ranks and ten
 * thousand.  Memory that runs out ends the process, as everywhere in the simulator.
 */
#ifndef CONSENSUS_SIM_PROGRAMS_RANKS_H
#define CONSENSUS_SIM_PROGRAMS_RANKS_H

#include "hashing/rankset.h"

void ranks_add(struct rankset *set, uint32_t rank);
/* The ranks below `end`, and no others. */
void ranks_fill(struct rankset *set, uint32_t end);
void ranks_copy(struct rankset *to, const struct rankset *from);
void ranks_merge(struct rankset *to, const struct rankset *from);
/* Takes out of the set what is not, or what is, in the other. */
void ranks_keep(struct rankset *set, const struct rankset *other);
void ranks_drop(struct rankset *set, const struct rankset *other);
bool ranks_meet(const struct rankset *a, const struct rankset *b); /* share a rank */
bool ranks_within(const struct rankset *part, const struct rankset *whole);

/* for (...) over the set's ranks, ascending; the set does not change meanwhile. */
#define FOR_RANKS(rank, set)                                                           \
    for (uint32_t rank = rankset_next((set), 0); rank != UINT32_MAX;                   \
         rank = rankset_next((set), rank + 1))

/* "0-2,5" for messages; long ones are cut. */
struct ranks_text {
    char text[96];
};
struct ranks_text ranks_text(const struct rankset *set);

#endif
