/* array_spread.h - where the elements of a task array belong.
 *
 * A spread puts the elements 0 .. count-1 of an array into an order, their places, and
 * gives each of its homes a stretch of places, which is cut into ARRAY_SLOTS slots
 * (consensus/PROTOCOL.md, rule A3).  The chair of a slot is its home, if that is a
 * member, and else one of the other homes that are, drawn by highest random weight from
 * the slot alone.  So a share of an array is few ranges of places in any spread; a home
 * that goes moves its own share and no other, and all arrays move alike.
 *
 * Everything follows from everything without a table and without a look at other
 * elements.  All functions are pure; none allocates.
 */
#ifndef HASHING_ARRAY_SPREAD_H
#define HASHING_ARRAY_SPREAD_H

#include "hashing/rankset.h"

/* A home has so many slots. */
enum { ARRAY_SLOTS = 16 };
#define ARRAY_COUNT_MAX (UINT64_C(1) << 32)
#define ARRAY_HOMES_MAX (UINT32_C(1) << 24)

enum array_spread_kind {
    ARRAY_SPREAD_BLOCK,  /* a home has neighbours */
    ARRAY_SPREAD_CYCLIC, /* blocks go round the homes */
    ARRAY_SPREAD_HASHED  /* a home has what a fixed permutation gives it */
};

struct array_spread {
    uint64_t count; /* 1 .. ARRAY_COUNT_MAX */
    uint64_t block; /* CYCLIC: elements of a block, from 1 on; else 0 */
    uint32_t homes; /* 1 .. ARRAY_HOMES_MAX */
    enum array_spread_kind kind;
};

/* Whether all is in range; the others are asked of such a spread alone. */
bool array_spread_valid(const struct array_spread *spread);

/* The place of an element, and the element at a place: each undoes the other. */
uint64_t array_place(const struct array_spread *spread, uint64_t index);
uint64_t array_index(const struct array_spread *spread, uint64_t place);

/* The first place of a home's stretch, the count for `home` == homes: a stretch ends
 * where the next begins. */
uint64_t array_home_first(const struct array_spread *spread, uint32_t home);
/* Likewise of a slot: slots are numbered through, ARRAY_SLOTS a home. */
uint64_t array_slot_first(const struct array_spread *spread, uint32_t slot);
/* The slot of a place. */
uint32_t array_slot(const struct array_spread *spread, uint64_t place);

/* The chair of a slot: `homes` are the spread's, ascending.  PLACEMENT_NOBODY: none of
 * them is a member. */
uint32_t array_slot_chair(uint32_t slot, const struct rankset *homes,
                          const struct rankset *members);

#endif
