/* committee.c - who watches the members of a view and decides about the next one.
 *
 * Up to core_options.direct_max members that is every member.  In a *large* view,
 * one of more, it is a committee of a few: heartbeats go to it, it grants the leases,
 * and it alone votes on the next view.  What every member does for every other in a
 * small view, and would cost N^2 messages a period, costs N times the committee.
 *
 * The committee is a function of the members and their hosts, so it needs no vote of
 * its own: the value that the old committee decides is the new view, and with it the
 * new committee.  Every rank has a fixed weight, and the lightest are chosen, one from
 * each host before there is a second from any: a host that is lost should take few of
 * them along.  The last seats go to the hosts with the most members, since the end of a
 * small host should not end the others.  Weights do not change with views, so who
 * serves goes on serving, and who has left is replaced.  The view's id covers the
 * committee (core_name_view): ranks that believed in different ones would not take each
 * other's messages.
 *
 * Sizes are odd, so that a majority is never half.  A large view lives as long as a
 * majority of its committee does, whatever becomes of the others.  Certificates of
 * death make a removal quick and count towards no quorum: those whom the dead had told
 * of a decision may be members that have no vote, and live in it.
 */
#include "consensus/membership/membership_private.h"

#include "consensus/state/state.h"

#include <assert.h>

enum { COMMITTEE_MAX = 7 };

bool committee_is_due(const struct core *core, uint32_t member_count)
{
    return member_count > core->options.direct_max;
}

static uint32_t seats_for(uint32_t member_count)
{
    assert(member_count > 1);
    return member_count > PEERS_ALL_MAX ? COMMITTEE_MAX
           : member_count > 8           ? 5
           : member_count > 2           ? 3
                                        : 1;
}

/* --- Choosing -------------------------------------------------------------------- */

struct committee_seat {
    uint64_t weight;
    uint32_t rank, host;
    uint32_t mates; /* members on that host */
};

/* The finaliser of SplitMix64: a permutation, so no two ranks weigh the same. */
static uint64_t weight_of(uint32_t rank)
{
    uint64_t x = (rank + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Keeps the `room` lightest, lightest first, and of each host only its lightest. */
static uint32_t offer(struct committee_seat *seats, uint32_t count, uint32_t room,
                      struct committee_seat seat)
{
    assert(room >= 1 && room <= COMMITTEE_MAX && count <= room);
    uint32_t at = 0;
    while (at < count && seats[at].host != seat.host) {
        at++;
    }
    if (at == count && count < room) {
        count++;
    } else if (at == count) {
        at = count - 1;
        if (seats[at].weight <= seat.weight) {
            return count;
        }
    } else if (seats[at].weight <= seat.weight) {
        return count;
    }
    for (; at > 0 && seats[at - 1].weight > seat.weight; at--) {
        seats[at] = seats[at - 1];
    }
    seats[at] = seat;
    return count;
}

static bool goes_before(const struct committee_seat *a, const struct committee_seat *b)
{
    return a->mates > b->mates || (a->mates == b->mates && a->weight < b->weight);
}

/* Orders seats of different hosts by how many members these have. */
static void put_large_hosts_first(const struct core *core,
                                  const struct rankset *members,
                                  struct committee_seat *seats, uint32_t count)
{
    for (uint32_t rank = rankset_next(members, 0); rank != NOBODY;
         rank = rankset_next(members, rank + 1)) {
        for (uint32_t i = 0; i < count; i++) {
            seats[i].mates += seats[i].host == core->state.hosts[rank];
        }
    }
    for (uint32_t i = 1; i < count; i++) {
        struct committee_seat seat = seats[i];
        uint32_t at = i;
        for (; at > 0 && goes_before(&seat, &seats[at - 1]); at--) {
            seats[at] = seats[at - 1];
        }
        seats[at] = seat;
    }
}

/* One member of each host that has some left, up to `room`.  When all hosts have a seat
 * there are fewer of them than seats. */
static bool choose_round(const struct core *core, const struct rankset *members,
                         uint32_t room, struct rankset *chosen)
{
    struct committee_seat seats[COMMITTEE_MAX];
    bool first = rankset_empty(chosen);
    uint32_t count = 0;
    for (uint32_t rank = rankset_next(members, 0); rank != NOBODY;
         rank = rankset_next(members, rank + 1)) {
        if (!rankset_has(chosen, rank)) {
            count = offer(seats, count, first ? room : COMMITTEE_MAX,
                          (struct committee_seat){.weight = weight_of(rank),
                                                  .rank = rank,
                                                  .host = core->state.hosts[rank]});
        }
    }
    if (count > room && !MUTANT(LIGHTSEATS)) {
        put_large_hosts_first(core, members, seats, count);
    }
    count = count < room ? count : room;
    bool good = count > 0;
    for (uint32_t i = 0; good && i < count; i++) {
        good = rankset_add(chosen, seats[i].rank);
    }
    return good;
}

bool committee_of(const struct core *core, const struct rankset *members,
                  struct rankset *out)
{
    assert(members != out);
    uint32_t count = rankset_count(members);
    rankset_release(out);
    if (!committee_is_due(core, count)) {
        return rankset_copy(out, members);
    }
    uint32_t wanted = seats_for(count), have = 0;
    while (have < wanted) {
        if (!choose_round(core, members, wanted - have, out)) {
            return false;
        }
        have = rankset_count(out);
    }
    return true;
}

/* --- Taking office --------------------------------------------------------------- */

bool committee_take(struct core *core)
{
    assert(core->member_count == rankset_count(&core->members));
    if (core->membership.large && !committee_is_due(core, core->member_count)) {
        rankset_release(
            &core->membership.dead); /* here they would count towards quorums */
    }
    core->membership.large = committee_is_due(core, core->member_count);
    if (!committee_of(core, &core->members, &core->membership.committee)) {
        core->broken = true;
        return false;
    }
    core->membership.committee_count = rankset_count(&core->membership.committee);
    return true;
}
