/* beginning.c - rolls of newcomers that begin behind a place (PROTOCOL.md, V5).
 *
 * In strict mode rolls are compared place by place.  The program of a newcomer at a
 * boundary begins where the others stand, so its roll begins there, too: the view that
 * lets it in names the place in each lane.  Positions are the same on all ranks from
 * then on.  The places before are as empty as those of tasks that have gone, and
 * nothing that stands there is told to it, or compared with it.
 */
#include "consensus/gossip/gossip_private.h"

#include "consensus/state/state.h"

#include <assert.h>

uint64_t roll_compared_behind(const struct core *core, uint32_t lane, uint32_t rank)
{
    const uint64_t ours = peer_begins(core, core->rank, lane);
    const uint64_t theirs = peer_begins(core, rank, lane);
    return ours > theirs ? ours : theirs;
}

bool roll_begins_within(const struct core *core, uint32_t to, struct message_roll *what)
{
    assert(what->count > 0 && what->lane < core->gossip.lane_count);
    const uint64_t behind = peer_begins(core, to, what->lane);
    if (behind < what->first) {
        return true;
    }
    const uint64_t last = what->first + what->count - 1;
    what->partial = true;
    what->first = behind + 1;
    what->count = last > behind ? (uint32_t)(last - behind) : 0;
    return what->count > 0 && roll_sum_of(core, &core->gossip.lanes[what->lane],
                                          what->first, what->count, &what->sum);
}

/* Lanes that the program does not enter have ended. */
void roll_begin(struct core *core)
{
    const struct message_newcomer *beginning = peer_beginning(core, core->rank);
    const uint32_t known = core->gossip.lane_count;
    if (beginning == NULL || beginning->lanes == 0 ||
        lane_enter(core, beginning->lanes - 1) == NULL) {
        return;
    }
    for (uint32_t i = 0; i < beginning->lanes; i++) {
        struct lane_record *lane = &core->gossip.lanes[i];
        if (!lane_begin_behind(core, lane, beginning->places[i])) {
            return;
        }
        lane->state = i < known ? lane->state : CORE_LANE_ENDED;
        lane->announced = lane->len;
        lane->open_first = lane->len + 1;
        core->gossip.roll_len += lane->len;
    }
}

/* A chunk ends where newcomers begin, so that theirs begin alike. */
void roll_cut_for_newcomers(struct core *core, const struct rankset *before)
{
    FOR_MEMBERS(core, rank)
    {
        const bool is_new = rank != core->rank && !rankset_has(before, rank);
        for (uint32_t number = 0; is_new && number < core->gossip.lane_count;
             number++) {
            struct lane_record *lane = &core->gossip.lanes[number];
            if (peer_begins(core, rank, number) == lane->len &&
                lane->len >= lane->open_first) {
                roll_cut(core, lane, number);
            }
        }
    }
}
