/* electorate.c - see electorate.h. */
#include "consensus/sim/checks/electorate.h"

static uint64_t weight(uint32_t rank)
{
    uint64_t word = UINT64_C(0x9e3779b97f4a7c15) * ((uint64_t)rank + 1);
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

static uint32_t chosen_on(const struct rankset *chosen, const uint32_t *machines,
                          uint32_t machine)
{
    uint32_t count = 0;
    for (uint32_t rank = rankset_next(chosen, 0); rank != UINT32_MAX;
         rank = rankset_next(chosen, rank + 1)) {
        count += machines[rank] == machine;
    }
    return count;
}

/* The next of those not chosen, one whose host has the fewest chosen; of these, if each
 * host has one, of the largest host; the lightest of them. */
static uint32_t next_of(const struct rankset *members, const uint32_t *machines,
                        const struct rankset *chosen)
{
    uint32_t best = UINT32_MAX, best_mates = UINT32_MAX, best_size = 0;
    for (uint32_t rank = rankset_next(members, 0); rank != UINT32_MAX;
         rank = rankset_next(members, rank + 1)) {
        uint32_t mates = chosen_on(chosen, machines, machines[rank]);
        if (rankset_has(chosen, rank) || (best != UINT32_MAX && mates > best_mates)) {
            continue;
        }
        uint32_t size = mates > 0 ? chosen_on(members, machines, machines[rank]) : 0;
        if (best == UINT32_MAX || mates < best_mates || size > best_size ||
            (size == best_size && weight(rank) < weight(best))) {
            best = rank;
            best_mates = mates;
            best_size = size;
        }
    }
    return best;
}

bool electorate_of(const struct rankset *members, const uint32_t *machines,
                   uint32_t above, struct rankset *out)
{
    uint32_t count = rankset_count(members);
    uint32_t seats = count > 64 ? 7 : count > 8 ? 5 : count > 2 ? 3 : 1;
    rankset_release(out);
    if (count <= above) {
        return rankset_copy(out, members);
    }
    for (uint32_t i = 0; i < seats; i++) {
        if (!rankset_add(out, next_of(members, machines, out))) {
            return false;
        }
    }
    return true;
}
