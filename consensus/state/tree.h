/* tree.h - a tree over the members of a view, so that one rank reaches all of them.
 *
 * Where a view has many members, what all must be told goes down such a tree, and what
 * is asked of all is added up along it: N - 1 messages each way, about log4 N deep, and
 * nobody sends more than TREE_ARITY of them.  Every member finds its own place from the
 * members and the root alone; nothing is agreed or stored for it.
 *
 * The order in which the tree is filled, level by level, is the root and then the other
 * members by rank.  So the members that joined last, who have the highest ranks and
 * whom the others know least, are leaves.
 *
 * All functions are pure, and cost a pass over the set's words for each rank that they
 * tell; none allocates, but for the set that tree_add_below() adds to.
 */
#ifndef CONSENSUS_STATE_TREE_H
#define CONSENSUS_STATE_TREE_H

#include "hashing/rankset.h"

enum { TREE_ARITY = 4 };

struct tree_place {
    uint32_t parent; /* UINT32_MAX: this is the root */
    uint32_t child_count;
    uint32_t children[TREE_ARITY]; /* ranks */
};

/* The place of `rank` in the tree over `members` whose root is `root`.  Both must be
 * members. */
struct tree_place tree_place(const struct rankset *members, uint32_t root,
                             uint32_t rank);

/* Adds the member and all below it in that tree.  False without memory. */
bool tree_add_below(const struct rankset *members, uint32_t root, uint32_t rank,
                    struct rankset *to);

/* How many steps it is from the root of a tree of so many members to the farthest. */
uint32_t tree_depth(uint32_t member_count);

#endif
