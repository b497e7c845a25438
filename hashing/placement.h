/* placement.h - who is a task's chair, and who votes with it.
 *
 * Highest random weight (rendezvous hashing: Thaler and Ravishankar, 1998): every rank
 * draws a weight from (place, rank), and the highest wins.  It is balanced without a
 * table, and when a rank leaves, only its own tasks move.  Weights are drawn over
 * ranks, not over incarnations, so a restart keeps its tasks.  placement.c says how
 * only about log2 N of them are drawn.
 *
 * The place is 24 bits of the hash (hash_place()).  A task beside another has that
 * one's, and so its chair in every view and among equal candidates.  2^24 places are
 * 1,677 for each of 10,000 ranks, whose shares then differ by 2.4 %.
 *
 * All functions are pure; none allocates.
 */
#ifndef HASHING_PLACEMENT_H
#define HASHING_PLACEMENT_H

#include "hashing/moot_hash.h"
#include "hashing/rankset.h"

#define PLACEMENT_NOBODY UINT32_MAX

/* The chair: the member of `members`, and of `candidates` unless that is NULL, with the
 * highest weight; PLACEMENT_NOBODY if there is none. */
uint32_t placement_chair(const moot_hash *hash, const struct rankset *members,
                         const struct rankset *candidates);

/* The voters C(chair): the chair and up to voters_max - 1 other members, by weight,
 * those on other hosts than the chair's first.  `hosts` has a host number per rank
 * (NULL: all alike).  Writes ranks to voters[], the chair first; returns how many: none
 * if the chair is PLACEMENT_NOBODY, fewer than voters_max if members are few. */
uint32_t placement_voters(const moot_hash *hash, uint32_t chair,
                          const struct rankset *members, const uint32_t *hosts,
                          uint32_t voters_max, uint32_t *voters);

#endif
