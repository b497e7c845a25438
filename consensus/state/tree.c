/* tree.c - places in a tree over the members of a view (tree.h).
 *
 * Members are numbered in the order in which the tree is filled: the root is 0, then
 * come the others by rank.  Member v hangs under (v - 1) / TREE_ARITY, as in a heap.
 */
#include "consensus/state/tree.h"

#include <assert.h>

/* The root's number is 0; who is lower than the root comes one later for it. */
static uint32_t rank_of_number(const struct rankset *members, uint32_t root,
                               uint32_t root_index, uint32_t number)
{
    if (number == 0) {
        return root;
    }
    return rankset_at(members, number <= root_index ? number - 1 : number);
}

static uint32_t number_of(const struct rankset *members, uint32_t root, uint32_t rank)
{
    const uint32_t root_index = rankset_below(members, root);
    const uint32_t index = rankset_below(members, rank);
    return rank == root ? 0 : index < root_index ? index + 1 : index;
}

struct tree_place tree_place(const struct rankset *members, uint32_t root,
                             uint32_t rank)
{
    assert(rankset_has(members, root) && rankset_has(members, rank));
    const uint32_t root_index = rankset_below(members, root);
    const uint32_t number = number_of(members, root, rank);
    struct tree_place place = {.parent = UINT32_MAX};
    if (number > 0) {
        place.parent =
            rank_of_number(members, root, root_index, (number - 1) / TREE_ARITY);
    }
    for (uint32_t i = 1; i <= TREE_ARITY; i++) {
        uint32_t child =
            rank_of_number(members, root, root_index, number * TREE_ARITY + i);
        if (child == UINT32_MAX) {
            break;
        }
        place.children[place.child_count++] = child;
    }
    return place;
}

/* Those who hang under a row of numbers are a row of numbers, too. */
bool tree_add_below(const struct rankset *members, uint32_t root, uint32_t rank,
                    struct rankset *to)
{
    assert(rankset_has(members, root) && rankset_has(members, rank));
    const uint32_t root_index = rankset_below(members, root);
    const uint64_t count = rankset_count(members);
    uint64_t first = number_of(members, root, rank), last = first;
    bool good = true;
    while (first < count && good) {
        for (uint64_t i = first; i <= last && i < count && good; i++) {
            good =
                rankset_add(to, rank_of_number(members, root, root_index, (uint32_t)i));
        }
        first = first * TREE_ARITY + 1;
        last = last * TREE_ARITY + TREE_ARITY;
    }
    return good;
}

uint32_t tree_depth(uint32_t member_count)
{
    assert(member_count >= 1);
    uint32_t depth = 0;
    for (uint32_t last = member_count; last > 1; last = (last - 2) / TREE_ARITY + 1) {
        depth++;
    }
    return depth;
}
