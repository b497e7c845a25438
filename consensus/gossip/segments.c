/* segments.c - finding the chunks of a roll: by where they stand, and by what they are.
 *
 * A chunk's name is its sum and its count, so that ranks whose rolls differ before it
 * mean the same.  An index, open addressing by the sum, leads to its place.  How far a
 * peer is known to agree follows from chunks, too.
 */
#include "consensus/gossip/gossip_private.h"

#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Where the by-sum index points; chunks move when their array grows. */
struct chunk_place {
    uint32_t lane, chunk_plus_one;
};

static struct chunk *chunk_at(const struct core *core, struct chunk_place place)
{
    assert(place.lane < core->gossip.lane_count && place.chunk_plus_one > 0);
    return &core->gossip.lanes[place.lane].chunks[place.chunk_plus_one - 1];
}

/* --- By name --------------------------------------------------------------------- */

static void by_sum_put(struct chunk_place *index, size_t room, const struct core *core,
                       struct chunk_place place)
{
    size_t slot = (size_t)chunk_at(core, place)->sum.low & (room - 1);
    while (index[slot].chunk_plus_one != 0) {
        slot = (slot + 1) & (room - 1);
    }
    index[slot] = place;
}

void roll_index_last(struct core *core, uint32_t number)
{
    assert(core->gossip.lanes[number].chunk_count > 0);
    struct chunk_place place = {number, core->gossip.lanes[number].chunk_count};
    if (core->gossip.by_sum_count * 2 >= core->gossip.by_sum_room) {
        size_t room = core->gossip.by_sum_room ? core->gossip.by_sum_room * 2 : 64;
        struct chunk_place *index = core_alloc(core, room * sizeof(*index));
        if (index == NULL) {
            return;
        }
        for (size_t i = 0; i < core->gossip.by_sum_room; i++) {
            if (core->gossip.by_sum[i].chunk_plus_one != 0) {
                by_sum_put(index, room, core, core->gossip.by_sum[i]);
            }
        }
        free(core->gossip.by_sum);
        core->gossip.by_sum = index;
        core->gossip.by_sum_room = room;
    }
    by_sum_put(core->gossip.by_sum, core->gossip.by_sum_room, core, place);
    core->gossip.by_sum_count++;
}

static const struct chunk_place *by_sum_find(const struct core *core,
                                             const struct chunk_name *what)
{
    size_t mask = core->gossip.by_sum_room - 1;
    for (size_t slot = (size_t)what->sum.low & mask;
         core->gossip.by_sum_room > 0 && core->gossip.by_sum[slot].chunk_plus_one != 0;
         slot = (slot + 1) & mask) {
        const struct chunk *chunk = chunk_at(core, core->gossip.by_sum[slot]);
        if (rollsum_equal(&chunk->sum, &what->sum) && chunk->count == what->count &&
            chunk->live > 0) {
            return &core->gossip.by_sum[slot];
        }
    }
    return NULL;
}

void roll_index(struct core *core)
{
    size_t count = 0,
           room = core->gossip.by_sum_room > 0 ? core->gossip.by_sum_room : 64;
    for (uint32_t number = 0; number < core->gossip.lane_count; number++) {
        count += core->gossip.lanes[number].chunk_count;
    }
    while (count * 2 >= room) {
        room *= 2;
    }
    if (room != core->gossip.by_sum_room) {
        struct chunk_place *index = core_alloc(core, room * sizeof(*index));
        if (index == NULL) {
            return;
        }
        free(core->gossip.by_sum);
        core->gossip.by_sum = index;
        core->gossip.by_sum_room = room;
    } else {
        memset(core->gossip.by_sum, 0, room * sizeof(*core->gossip.by_sum));
    }
    core->gossip.by_sum_count = count;
    for (uint32_t number = 0; number < core->gossip.lane_count; number++) {
        for (uint32_t i = 0; i < core->gossip.lanes[number].chunk_count; i++) {
            by_sum_put(core->gossip.by_sum, room, core,
                       (struct chunk_place){number, i + 1});
        }
    }
}

uint32_t roll_compact(struct core *core, struct lane_record *lane, uint32_t at)
{
    uint32_t kept = 0, before = 0;
    for (uint32_t i = 0; i < lane->chunk_count; i++) {
        if (lane->chunks[i].live > 0) {
            before += i < at;
            lane->chunks[kept++] = lane->chunks[i];
        } else {
            rankset_release(&lane->chunks[i].holders);
        }
    }
    lane->chunk_count = kept;
    lane->chunks_dead = 0;
    lane->chunks_told = 0; /* their places are others now */
    roll_index(core);
    return before;
}

/* --- By place -------------------------------------------------------------------- */

struct chunk *roll_find_chunk(const struct core *core, const struct chunk_name *name,
                              uint32_t *lane)
{
    const struct chunk_place *place = by_sum_find(core, name);
    if (place == NULL) {
        return NULL;
    }
    *lane = place->lane;
    return chunk_at(core, *place);
}

/* --- How far a peer is known to agree ------------------------------------------------
 */

uint64_t roll_agreed(const struct core *core, const struct lane_record *lane,
                     uint32_t rank)
{
    assert(rank < core->size);
    uint64_t upto =
        roll_compared_behind(core, (uint32_t)(lane - core->gossip.lanes), rank);
    if (!disseminate_is_on(core)) {
        const uint64_t agreed = lane->agreed != NULL ? lane->agreed[rank] : 0;
        return agreed > upto ? agreed : upto;
    }
    for (uint32_t c = 0; c < lane->chunk_count; c++) {
        const struct chunk *chunk = &lane->chunks[c];
        const uint64_t last = chunk->first + chunk->count - 1;
        if (last > upto && !rankset_has(&chunk->holders, rank)) {
            break;
        }
        upto = last > upto ? last : upto;
    }
    for (uint32_t i = 0; i < lane->part_count; i++) {
        const struct chunk *part = &lane->part[i];
        if (part->first <= upto + 1 && part->first + part->count - 1 > upto &&
            rankset_has(&part->holders, rank)) {
            upto = part->first + part->count - 1;
        }
    }
    return upto;
}
