/* facts.c - what follows from a core's state alone, and more than one room asks.
 *
 * Predicates, which change nothing: whether a part of the protocol is on in this view,
 * whether this rank holds a lease, where a task belongs.  They are named after the part
 * that they are about, and stand below all of them, so that no room has to call a
 * higher one to look at what that one has written.
 */
#include "consensus/state/state.h"

#include <assert.h>

bool disseminate_is_on(const struct core *core)
{
    return core->member_count > core->options.direct_max;
}

bool close_reduce_is_on(const struct core *core)
{
    bool many = core->member_count > SWEEPERS_MAX || disseminate_is_on(core);
    return many && core->options.mode == CORE_REPAIR && !MUTANT(NOSWEEP);
}

bool detector_is_on(const struct core *core)
{
    return core->options.heartbeat_ns != CORE_NEVER && core->options.heartbeat_ns > 0;
}

bool detector_is_quorate(const struct core *core)
{
    if (!detector_is_on(core)) {
        return true;
    }
    bool counts = !core->membership.voted_next || MUTANT(NOOWNWAIT);
    uint32_t granted = committee_serves(core) && counts ? 1 : 0;
    FOR_COMMITTEE(core, rank)
    {
        const struct peer *peer = peer_seen(core, rank);
        granted += rank != core->rank && peer->granted_epoch == core->epoch &&
                   add_ns(peer->grant_token_ns, core->options.lease_ns) > core->now_ns;
    }
    return 2 * granted > core->membership.committee_count;
}

/* A rank that is ready to leave has forsworn its lease. */
bool detector_lease(const struct core *core)
{
    return detector_is_quorate(core) && !core->membership.leave.ready;
}

bool committee_serves(const struct core *core)
{
    return core->rank != NOBODY && rankset_has(&core->membership.committee, core->rank);
}

bool reclaim_is_on(const struct core *core)
{
    return core->options.drop_above > 0 && core->options.mode == CORE_REPAIR &&
           !only_majorities(core) && !disseminate_is_on(core) &&
           !core->membership.large;
}

bool reclaim_place_is_leaving(const struct core *core, roll_place place)
{
    assert(place_lane(place) < core->gossip.lane_count);
    uint64_t position = place_position(place);
    if (core->reclaim.drop.leaving == 0 || position > core->reclaim.drop.leaving_last) {
        return false;
    }
    const struct chunk *chunk =
        roll_chunk_at(&core->gossip.lanes[place_lane(place)], position);
    return chunk != NULL && chunk->stage == CHUNK_LEAVING;
}

bool reclaim_is_leaving(const struct core *core, const struct task_record *task)
{
    return task->lot ||
           (task->position != 0 &&
            reclaim_place_is_leaving(core, place_of(task->lane, task->lane_position)));
}

/* No view has been settled since all went back: what closed ranks have started before
 * is yet to be reported (R5). */
static bool may_have_been_before(const struct core *core,
                                 const struct task_record *task)
{
    return core->membership.past_count > 0 && hash_has(&task->hash, MOOT_HASH_ONCE) &&
           core->membership.past[0].epoch <= core->reload_behind &&
           core->reload_behind > 0 && !MUTANT(RELOADEARLY);
}

/* Has the key had another chair since the last view that everyone settled? */
bool view_change_moved(const struct core *core, const struct task_record *task)
{
    if (may_have_been_before(core, task)) {
        return true;
    }
    if (core->membership.past_count > 0 &&
        hash_has(&task->hash, MOOT_HASH_CANDIDATES)) {
        return true; /* not every rank can tell: all of them treat it as moved */
    }
    for (uint32_t i = 0; i < core->membership.past_count && !MUTANT(NOHIST); i++) {
        if (placement_chair(&task->hash, &core->membership.past[i].members,
                            task->candidates) != task->chair) {
            return true;
        }
    }
    if (MUTANT(NOHIST) && core->membership.past_count > 0) {
        const struct past *last =
            &core->membership.past[core->membership.past_count - 1];
        return placement_chair(&task->hash, &last->members, task->candidates) !=
               task->chair;
    }
    return false;
}

uint32_t chair_or_keeper(const struct rankset *members, const moot_hash *hash,
                         const struct rankset *candidates)
{
    assert(!rankset_empty(members));
    uint32_t chair = placement_chair(hash, members, candidates);
    return chair != NOBODY || candidates == NULL ? chair
                                                 : placement_chair(hash, members, NULL);
}
