/* split.c - where results take much memory, rolls are cut finer (G5).
 *
 * What all have released is dropped chunk by chunk, and where a chunk ends is left to
 * the tasks' hashes: so ranks that differ find the same chunks, and gossip costs next
 * to nothing.  But a chunk of 256 tasks whose results are of 64 MiB each holds 16 GiB,
 * and none of that may go before its last task has been spawned and released.
 *
 * So a member on which results take much memory (core_press) cuts the roll finer: at
 * each multiple of so many positions, as far as it knows that all members' rolls equal
 * its own.  It announces each piece like any chunk, but as one that was *cut*.  Who
 * hears of it cuts the same piece out of its own roll, where that is equal, says so to
 * all in its turn, and offers the piece once that is released there, however much
 * memory it has itself.  Then the piece is a chunk: it is offered, asked for and
 * dropped, or kept, by reclaim.c, whose rules do not depend on where a chunk ends.
 * Nobody leads: who cuts elsewhere, or finer, is followed as well, and all arrive at
 * the same pieces because each of them is told to all.
 *
 * What needs care is the announcements that were under way when a roll was cut:
 *
 *   - A piece is *held by all* when all have announced that they cut it.  That its
 *     tasks are known to be on a member's roll, as with other chunks, is not enough:
 *     what it said before it had cut may span the piece, and can be compared no more
 *     once the piece is gone.  So each says it once, and not while others may have
 *     dropped it.
 *   - What has been answered for is cut when it is known to stay; until then the
 *     announcement waits.  Who has cut it has not agreed to drop it, so that it will.
 *   - What has been offered may be cut.  The offer is void with the name, here, and at
 *     the lowest member when it cuts likewise, which is before it hears an offer of a
 *     piece.
 *   - No announcement crosses epochs: in a new view each member tells of its pieces
 *     again, as of all chunks (roll.c), but of those that are leaving.  These all have
 *     offered, and so all have told of them.
 *
 * Where memory is not short nothing of this happens.  A piece costs an announcement
 * from each member to each, of forty bytes, and what it costs to drop a chunk: little
 * for what it brings, as pieces are made to be of megabytes.
 */
#include "consensus/reclaim/reclaim_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <string.h>

/* Pieces made in one look. */
enum { CUTS_PER_LOOK = 256 };

static void mark(struct core *core, struct chunk *chunk)
{
    assert(chunk->live > 0);
    if (!chunk->cut) {
        chunk->cut = core->reclaim.drop.cuts_untold = true;
        core->reclaim.drop.cuts++;
        rankset_release(&chunk->holders); /* all are to say so anew */
    }
}

static void fill(struct core *core, uint32_t number, struct chunk *chunk,
                 uint64_t first, uint32_t count)
{
    assert(count > 0 && number < core->gossip.lane_count);
    const struct lane_record *lane = &core->gossip.lanes[number];
    *chunk = (struct chunk){.first = first,
                            .count = count,
                            .live = count,
                            .facts = release_facts_of(core, number, first, count)};
    (void)roll_sum_of(core, lane, first, count, &chunk->sum);
    mark(core, chunk);
}

/* --- Making an end --------------------------------------------------------------- */

enum end { END_IS, END_LATER, END_CANNOT };

static bool room_for_one(struct core *core, struct lane_record *lane)
{
    return core_grow(core, &lane->chunks, &lane->chunk_room, lane->chunk_count + 1,
                     sizeof(*lane->chunks));
}

/* Of what stands behind the last chunk. */
static enum end end_in_open(struct core *core, uint32_t number, uint64_t at)
{
    assert(at >= core->gossip.lanes[number].open_first);
    struct lane_record *lane = &core->gossip.lanes[number];
    if (at > lane->len || lane->open_forgotten > 0 || !room_for_one(core, lane)) {
        return END_CANNOT;
    }
    uint64_t first = lane->open_first;
    fill(core, number, &lane->chunks[lane->chunk_count++], first,
         (uint32_t)(at - first + 1));
    uint32_t rest = (uint32_t)(lane->len - at);
    lane->open_first = at + 1;
    lane->open_facts = release_facts_of(core, number, at + 1, rest);
    (void)roll_sum_of(core, lane, at + 1, rest, &lane->open_sum);
    lane->announced = at; /* of the rest anew: what spans the end may not be heard */
    return END_IS;
}

static enum end end_in_chunk(struct core *core, uint32_t number, struct chunk *chunk,
                             uint64_t at)
{
    assert(at >= chunk->first && at < chunk->first + chunk->count - 1);
    struct lane_record *lane = &core->gossip.lanes[number];
    uint32_t index = (uint32_t)(chunk - lane->chunks);
    uint64_t first = chunk->first, last = first + chunk->count - 1;
    if (chunk->live != chunk->count) {
        return END_CANNOT;
    }
    if (chunk->stage == CHUNK_LEAVING && !MUTANT(CUTLEAVING)) {
        return END_LATER;
    }
    if (!room_for_one(core, lane)) {
        return END_CANNOT;
    }
    chunk = &lane->chunks[index];
    const struct chunk_name name = {chunk->sum, chunk->count};
    reclaim_void_offer(core, &name);
    core->reclaim.drop.cuts -= chunk->cut;
    rankset_release(&chunk->holders); /* of that name */
    memmove(chunk + 1, chunk, (lane->chunk_count - index) * sizeof(*chunk));
    lane->chunk_count++;
    fill(core, number, chunk, first, (uint32_t)(at - first + 1));
    fill(core, number, chunk + 1, at + 1, (uint32_t)(last - at));
    return END_IS;
}

/* A chunk ends at this position, from now on. */
static enum end end_at(struct core *core, uint32_t number, uint64_t at)
{
    assert(number < core->gossip.lane_count);
    struct lane_record *lane = &core->gossip.lanes[number];
    if (at == 0 || at + 1 == lane->open_first) {
        return END_IS;
    }
    if (at >= lane->open_first) {
        return end_in_open(core, number, at);
    }
    struct chunk *chunk = roll_chunk_at(lane, at);
    if (chunk == NULL) {
        return END_CANNOT; /* it has gone */
    }
    return at == chunk->first + chunk->count - 1
               ? END_IS
               : end_in_chunk(core, number, chunk, at);
}

/* --- Where memory is short ------------------------------------------------------- */

static uint64_t agreed_by_all(const struct core *core, const struct lane_record *lane)
{
    uint64_t upto = lane->len;
    FOR_MEMBERS(core, rank)
    {
        uint64_t agreed = lane->agreed != NULL ? lane->agreed[rank] : 0;
        upto = rank != core->rank && agreed < upto ? agreed : upto;
    }
    return upto;
}

/* Returns how many ends it has made. */
static uint32_t cut_open(struct core *core, uint32_t number, uint32_t together,
                         uint64_t upto, uint32_t most)
{
    assert(together > 0 && (together & (together - 1)) == 0);
    struct lane_record *lane = &core->gossip.lanes[number];
    uint32_t made = 0;
    uint64_t at = lane->open_first - 1;
    at += together - at % together;
    while (at <= upto && made < most && end_at(core, number, at) == END_IS) {
        at += together;
        made++;
    }
    return made;
}

/* From behind, so that the chunk's place stays.  Returns how many ends it has made. */
static uint32_t cut_chunk(struct core *core, uint32_t number, uint32_t index,
                          uint32_t together, uint64_t upto)
{
    assert(together > 0 && index < core->gossip.lanes[number].chunk_count);
    const struct chunk *chunk = &core->gossip.lanes[number].chunks[index];
    uint64_t first = chunk->first, last = first + chunk->count - 1;
    uint64_t at = upto < last ? upto : last - 1;
    uint32_t made = 0;
    at -= at % together;
    while (at >= first && end_at(core, number, at) == END_IS) {
        at -= together;
        made++;
    }
    return made;
}

/* A chunk that is short enough is marked: all are to offer it. */
static uint32_t cut_lane(struct core *core, uint32_t number, uint32_t together)
{
    struct lane_record *lane = &core->gossip.lanes[number];
    uint64_t upto = agreed_by_all(core, lane);
    uint32_t made = 0;
    for (uint32_t i = 0; i < lane->chunk_count && made < CUTS_PER_LOOK; i++) {
        const struct chunk *chunk = &lane->chunks[i];
        bool stays = chunk->stage != CHUNK_LEAVING && chunk->live == chunk->count;
        if (!stays || chunk->first > upto) {
            continue;
        }
        uint32_t more = cut_chunk(core, number, i, together, upto);
        made += more;
        i += more;
        chunk = &lane->chunks[i];
        if (chunk->first + chunk->count - 1 <= upto) {
            mark(core, &lane->chunks[i]);
        }
    }
    uint32_t most = made < CUTS_PER_LOOK ? CUTS_PER_LOOK - made : 0;
    return made + cut_open(core, number, together, upto, most);
}

void split_own(struct core *core)
{
    assert(core->reclaim.drop.press > 0 && reclaim_is_on(core));
    uint32_t together = 1, made = 0;
    while (together <= core->reclaim.drop.press / 2) {
        together *= 2;
    }
    for (uint32_t number = 0; number < core->gossip.lane_count; number++) {
        made += cut_lane(core, number, together);
    }
    if (made > 0) {
        roll_index(core);
        roll_resolve(core); /* others may have cut there, too */
        split_take_heard(core);
    }
    split_tell(core);
}

/* --- Where it is short elsewhere ------------------------------------------------- */

static void hear(struct core *core, uint32_t from, struct chunk *chunk)
{
    mark(core, chunk);
    if (!rankset_add(&chunk->holders, from)) {
        core->broken = true;
    }
}

/* False: not yet, as it is leaving. */
static bool take(struct core *core, uint32_t from, const struct announced *what)
{
    const struct chunk_name name = {what->sum, what->count};
    uint32_t number;
    struct chunk *chunk = roll_find_chunk(core, &name, &number);
    enum end end = END_IS;
    bool here = chunk != NULL && number == what->lane && chunk->first == what->first;
    if (chunk == NULL || (chunk->stage == CHUNK_LEAVING && !here)) {
        end = end_at(core, what->lane, what->first - 1);
        if (end == END_IS) {
            end = end_at(core, what->lane, what->first + what->count - 1);
        }
        roll_index(core);
        chunk = roll_find_chunk(core, &name, &number);
    }
    if (chunk != NULL) {
        hear(core, from, chunk);
    }
    core->reclaim.drop.cuts_wait |= end == END_LATER;
    return end != END_LATER;
}

void split_take_heard(struct core *core)
{
    for (uint32_t k = 0; k < core->state.known_count; k++) {
        struct peer *peer = core->state.known[k];
        for (uint32_t i = peer->announced_count; i-- > 0;) {
            struct announced *what = &peer->announced[i];
            bool split = what->split;
            what->split = false;
            if (split && take(core, peer->rank, what)) {
                announced_forget(peer, i);
            }
        }
    }
}

/* --- Telling --------------------------------------------------------------------- */

/* Not of one that others may have dropped: who has can make nothing of it. */
static void tell_one(struct core *core, uint32_t number, struct chunk *chunk)
{
    if (!chunk->cut || chunk->cut_told || chunk->live == 0) {
        return;
    }
    if (chunk->stage == CHUNK_LEAVING) {
        core->reclaim.drop.cuts_untold = true;
        return;
    }
    chunk->cut_told = true;
    roll_announce(core, number, chunk);
}

/* Before anything is offered: an offer follows the announcement of what it names. */
void split_tell(struct core *core)
{
    if (core->reclaim.drop.cuts_wait && core->reclaim.drop.leaving == 0) {
        core->reclaim.drop.cuts_wait = false;
        roll_resolve(core);
        split_take_heard(core);
    }
    if (!core->reclaim.drop.cuts_untold) {
        return;
    }
    core->reclaim.drop.cuts_untold = false;
    for (uint32_t number = 0; number < core->gossip.lane_count; number++) {
        const struct lane_record *lane = &core->gossip.lanes[number];
        for (uint32_t i = 0; i < lane->chunk_count; i++) {
            tell_one(core, number, &lane->chunks[i]);
        }
    }
}
