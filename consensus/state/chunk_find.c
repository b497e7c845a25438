/* chunk_find.c - the chunk around a position of a roll, and who has an equal one. */
#include "consensus/state/state.h"

#include <assert.h>

HOT struct chunk *roll_chunk_at(const struct lane_record *lane, uint64_t position)
{
    assert(position >= 1 && position <= lane->len);
    uint32_t low = 0, high = lane->chunk_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (lane->chunks[middle].first <= position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0 ||
        lane->chunks[low - 1].first + lane->chunks[low - 1].count <= position) {
        return NULL;
    }
    return &lane->chunks[low - 1];
}

struct chunk *roll_chunk_of(const struct core *core, const struct task_record *task)
{
    return task->position != 0
               ? roll_chunk_at(&core->gossip.lanes[task->lane], task->lane_position)
               : NULL;
}

bool roll_all_hold(const struct core *core, uint32_t number, const struct chunk *chunk)
{
    assert(number < core->gossip.lane_count);
    assert(chunk->first + chunk->count <= core->gossip.lanes[number].open_first);
    const struct lane_record *lane = &core->gossip.lanes[number];
    uint64_t last = chunk->first + chunk->count - 1;
    FOR_MEMBERS(core, rank)
    {
        bool agrees = lane->agreed != NULL && lane->agreed[rank] >= last;
        bool knows_name = !chunk->cut || MUTANT(CUTUNTOLD);
        if (rank != core->rank && !(agrees && knows_name) &&
            !rankset_has(&chunk->holders, rank)) {
            return false;
        }
    }
    return true;
}
