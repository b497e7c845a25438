/* holders.c - who is known to hold a task, and what a chair can do with that.
 *
 * Predicates over what gossip/ has noted in lanes, chunks and records: finest grain
 * last (gossip/roll.c has the table).  They stand here, below the rooms that write what
 * they read, because a record's release is counted by them, too (release_count.c).
 */
#include "consensus/state/state.h"

#include <assert.h>

/* --- Known holders ------------------------------------------------------------- */

/* Some part says that the rank's lane equals ours at this position. */
static bool is_in_part(const struct lane_record *lane, uint64_t position, uint32_t rank)
{
    for (uint32_t i = 0; i < lane->part_count; i++) {
        const struct chunk *part = &lane->part[i];
        if (part->first <= position && position < part->first + part->count &&
            rankset_has(&part->holders, rank)) {
            return true;
        }
    }
    return false;
}

bool roll_knows_place(const struct core *core, roll_place place, uint32_t rank)
{
    assert(place_lane(place) < core->gossip.lane_count);
    const struct lane_record *lane = &core->gossip.lanes[place_lane(place)];
    uint64_t position = place_position(place);
    if (rank == core->rank ||
        (lane->agreed != NULL && lane->agreed[rank] >= position)) {
        return position > peer_begins(core, rank, place_lane(place)) ||
               MUTANT(BEGINSHOLD);
    }
    if (is_in_part(lane, position, rank)) {
        return true;
    }
    const struct chunk *chunk = roll_chunk_at(lane, position);
    return chunk != NULL && rankset_has(&chunk->holders, rank);
}

bool roll_knows_holder(const struct core *core, const struct task_record *task,
                       uint32_t rank)
{
    if (rank == core->rank) {
        return task->held;
    }
    if (rankset_has(&task_ext(task)->holders, rank)) {
        return true;
    }
    return task->position != 0 &&
           roll_knows_place(core, place_of(task->lane, task->lane_position), rank);
}

/* --- Whom a chair can choose (G4) ---------------------------------------------- */

bool chair_may_choose(const struct core *core, const struct task_record *task,
                      uint32_t rank)
{
    assert(rank < core->size);
    bool refused = task->requests != NULL && rankset_has(&task->requests->never, rank);
    return rankset_has(&core->members, rank) && (!refused || MUTANT(NEVERCHOSEN)) &&
           !(rank == core->rank && core->membership.leave.ready) &&
           (task->candidates == NULL || rankset_has(task->candidates, rank)) &&
           roll_knows_holder(core, task, rank);
}

bool chair_has_choice(const struct core *core, const struct task_record *task)
{
    FOR_MEMBERS(core, rank)
    {
        if (chair_may_choose(core, task, rank)) {
            return true;
        }
    }
    return false;
}

bool chair_has_holder(const struct core *core, const struct task_record *task)
{
    assert(task->finder || task->requests != NULL);
    return !task->finder && (task->requests->balloting || chair_has_choice(core, task));
}

/* --- What a chair still owes --------------------------------------------------- */

bool requests_is_wanted(const struct requests *requests)
{
    for (uint32_t i = 0; i < requests->asker_count; i++) {
        if (requests->askers[i].want != WANT_NOTHING) {
            return true;
        }
    }
    return false;
}

bool requests_is_open(const struct core *core, const struct task_record *task)
{
    const struct requests *requests = task->requests;
    return requests != NULL &&
           (requests->balloting ||
            (requests->undecided &&
             (requests_is_wanted(requests) || chair_has_holder(core, task))));
}
