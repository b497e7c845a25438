/* gossip_hold.c - what must be true of rolls, chunks and announcements between two
 * steps (PROTOCOL.md, G1 to G3).
 *
 * Positions are never used again and chunks stand one behind the other, so what is
 * known of a peer's lane is at most what stands on ours; a chunk's sum and its count of
 * live tasks are those of its positions; what is announced lies within a message's
 * bounds.
 */
#include "consensus/gossip/gossip_private.h"

#include <assert.h>

void gossip_hold_fields(const struct core *core)
{
    const struct core_gossip *gossip = &core->gossip;
    assert(gossip->lane_count >= 1 && gossip->lane_count <= LIMIT_LANES);
    assert(gossip->child_count <= gossip->child_room);
    assert(gossip->partner_count <= PARTNERS_MAX);
    assert(gossip->by_sum_count * 2 <= gossip->by_sum_room);
    assert(gossip->difference.side_count <= 4);
    assert(!gossip->difference.found || core->options.mode == CORE_STRICT);
    assert(gossip->knowledge_of < core->size);
    if (core->epoch > 0) {
        assert(gossip->parent != core->rank);
        assert((gossip->parent == NOBODY) ==
               (rankset_next(&core->members, 0) == core->rank));
        assert(disseminate_is_on(core) || gossip->parent != NOBODY ||
               gossip->child_count == core->member_count - 1);
    }
}

/* --- Chunks ---------------------------------------------------------------------- */

/* How many of so many positions are not forgotten. */
static uint32_t count_live(const struct lane_record *lane, uint64_t first, uint64_t end)
{
    uint32_t live = 0;
    for (uint64_t at = first; at < end; at++) {
        live += lane_known(lane, at) != NULL;
    }
    return live;
}

static bool is_sum_of(const struct core *core, const struct lane_record *lane,
                      uint64_t first, uint32_t count, const struct rollsum *sum)
{
    struct rollsum found;
    return !roll_sum_of(core, lane, first, count, &found) || rollsum_equal(&found, sum);
}

static void hold_chunk(const struct core *core, const struct lane_record *lane,
                       const struct chunk *chunk)
{
    assert(chunk->count >= 1 && chunk->count <= ROLL_CHUNK_TASKS_MAX);
    assert(chunk->live == count_live(lane, chunk->first, chunk->first + chunk->count));
    assert(is_sum_of(core, lane, chunk->first, chunk->count, &chunk->sum));
    assert(!rankset_has(&chunk->holders, core->rank));
    assert(chunk->cut || !chunk->cut_told);
    assert(chunk->looked <= chunk->count);
    assert(chunk->facts.quiet <= chunk->count);
    assert(chunk->told <= chunk->before && chunk->turn <= PARTNERS_MAX);
    const struct chunk_name name = {chunk->sum, chunk->count};
    uint32_t number;
    assert(chunk->live == 0 || roll_find_chunk(core, &name, &number) != NULL);
}

static void hold_chunks(const struct core *core, const struct lane_record *lane)
{
    uint64_t next = 1;
    uint32_t dead = 0;
    for (uint32_t i = 0; i < lane->chunk_count; i++) {
        const struct chunk *chunk = &lane->chunks[i];
        assert(chunk->first >=
               next); /* chunks of which nothing is left are taken out */
        next = chunk->first + chunk->count;
        dead += chunk->live == 0;
        hold_chunk(core, lane, chunk);
    }
    assert(next <= lane->open_first && dead == lane->chunks_dead);
}

/* --- Lanes ----------------------------------------------------------------------- */

static void hold_open(const struct core *core, const struct lane_record *lane)
{
    uint32_t count = (uint32_t)(lane->len + 1 - lane->open_first);
    uint32_t live = count_live(lane, lane->open_first, lane->len + 1);
    assert(live == count - lane->open_forgotten);
    assert(is_sum_of(core, lane, lane->open_first, count, &lane->open_sum));
    for (uint64_t at = lane->open_first; at <= lane->len; at++) {
        const moot_hash *hash = lane_hash(lane, at);
        assert(hash == NULL || hash_scope(hash) == lane->open_scope);
    }
}

static void hold_lane_fields(const struct core *core, const struct lane_record *lane)
{
    assert(lane->state <= CORE_LANE_ENDED);
    assert(lane->chunk_count <= lane->chunk_room);
    assert(lane->chunks_dead <= lane->chunk_count);
    assert(lane->chunks_told <= lane->chunk_count);
    assert(lane->part_count <= PARTS_MAX);
    assert(lane->open_first >= 1 && lane->open_first <= lane->len + 1);
    assert(lane->len + 1 - lane->open_first < ROLL_CHUNK_TASKS_MAX);
    assert(lane->announced <= lane->len && lane->announced + 1 >= lane->open_first);
    for (uint32_t rank = 0; lane->agreed != NULL && rank < core->size; rank++) {
        assert(lane->agreed[rank] <= lane->len);
    }
}

static void hold_lanes(const struct core *core)
{
    uint64_t tasks = 0, chunks = 0;
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        const struct lane_record *lane = &core->gossip.lanes[i];
        hold_lane_fields(core, lane);
        hold_chunks(core, lane);
        hold_open(core, lane);
        tasks += lane->len;
        chunks += lane->chunk_count;
    }
    assert(tasks == core->gossip.roll_len);
    assert(chunks == core->gossip.by_sum_count);
}

/* --- Peers ----------------------------------------------------------------------- */

static void hold_announced(const struct announced *what)
{
    assert(what->lane < LIMIT_LANES && what->first >= 1);
    assert(what->count >= 1 && what->count <= ROLL_CHUNK_TASKS_MAX);
    assert(!what->partial || !what->cut);
}

void gossip_hold_peer(const struct core *core, const struct peer *peer)
{
    for (uint32_t i = 0; i < peer->announced_count; i++) {
        hold_announced(&peer->announced[i]);
        assert(!mark_is_dropped(core, peer->announced[i].scope));
    }
}

static void hold_neighbours(const struct core *core)
{
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        assert(core->gossip.children[i] != core->rank);
        assert(rankset_has(&core->members, core->gossip.children[i]));
    }
    for (uint32_t i = 0; i < core->gossip.partner_count; i++) {
        assert(rankset_has(&core->members, core->gossip.partners[i]));
    }
    for (uint32_t i = 0; i < core->state.known_count; i++) {
        gossip_hold_peer(core, core->state.known[i]);
    }
}

void gossip_hold(const struct core *core)
{
    gossip_hold_fields(core);
    hold_lanes(core);
    hold_neighbours(core);
}
