/* disseminate.c - one rank among thousands: whom it hears, whom it tells.
 *
 * Up to options.direct_max members everyone tells everyone.  Above that
 *
 *   - what is asked of all, or told to all, goes along a tree (tree.h) whose root is
 * the lowest rank: polls, states, adjournment, the census, a difference found;
 *   - rolls are told by dissemination (G3; Hensgen, Finkel and Manber, 1988): a chunk
 *     is told in turn k to the member 2^k places on, and who tells it speaks for itself
 *     and for as many members before it as it knows to have an equal chunk.  If all
 *     have it, everybody knows that after log2 N turns, of one message each.
 *
 * A rank passes on only what equals a chunk of its own, so its gossip is so many
 * messages per chunk whatever the others hold; what breaks the row of members that are
 * alike also ends what is known beyond it.  That is allowed: gossip decides nothing.
 *
 * A turn waits until the members before have been heard, a few gossip periods at most,
 * so that ranks that are not in step do not pass on less than they could; and where the
 * row has grown after the last turn, there is another round, ROUNDS_MAX times.
 */
#include "consensus/gossip/gossip_private.h"

#include "consensus/signature/signature.h"
#include "consensus/state/state.h"
#include "consensus/state/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS_WAITED_MAX = 4, ROUNDS_MAX = 3, PARTS_TOLD_AT_ONCE = 2 };

/* --- Places ---------------------------------------------------------------------- */

/* Those who answer to this rank: in the tree, or all to the root. */
static void take_children(struct core *core)
{
    uint32_t root = rankset_next(&core->members, 0);
    core->gossip.parent = root != core->rank ? root : NOBODY;
    core->gossip.child_count = 0;
    if (disseminate_is_on(core)) {
        core->gossip.parent = core->gossip.tree.parent;
        for (uint32_t i = 0; i < core->gossip.tree.child_count; i++) {
            core->gossip.children[core->gossip.child_count++] =
                core->gossip.tree.children[i];
        }
        return;
    }
    FOR_MEMBERS(core, rank)
    {
        if (core->gossip.parent == NOBODY && rank != root) {
            core->gossip.children[core->gossip.child_count++] = rank;
        }
    }
}

static void take_partners(struct core *core)
{
    assert(rankset_has(&core->members, core->rank));
    uint32_t count = core->member_count;
    core->gossip.place = rankset_below(&core->members, core->rank);
    core->gossip.partner_count = 0;
    for (uint32_t step = 1; step < count; step *= 2) {
        core->gossip.partners[core->gossip.partner_count++] =
            rankset_at(&core->members, (core->gossip.place + step) % count);
    }
}

static void begin_rounds(struct chunk *chunk)
{
    chunk->before = chunk->told = 0;
    chunk->turn = chunk->waited = chunk->rounds = 0;
}

/* Rows of members are others now; newcomers have heard nothing. */
static void tell_anew(struct core *core)
{
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        struct lane_record *lane = &core->gossip.lanes[i];
        lane->chunks_told = 0;
        for (uint32_t c = 0; c < lane->chunk_count; c++) {
            begin_rounds(&lane->chunks[c]);
        }
        for (uint32_t p = 0; p < lane->part_count; p++) {
            begin_rounds(&lane->part[p]);
        }
    }
    disseminate_news(core);
}

void disseminate_enter(struct core *core)
{
    bool on = disseminate_is_on(core);
    uint32_t children_max = on ? TREE_ARITY : core->member_count;
    core->gossip.child_count = core->gossip.partner_count = 0;
    if (!rankset_has(&core->members, core->rank) ||
        !core_grow(core, &core->gossip.children, &core->gossip.child_room, children_max,
                   sizeof(*core->gossip.children))) {
        return;
    }
    core->gossip.tree =
        tree_place(&core->members, rankset_next(&core->members, 0), core->rank);
    take_children(core);
    if (on) {
        take_partners(core);
        tell_anew(core);
    }
}

/* --- What the others have -------------------------------------------------------- */

/* Adds a member and so many before it, by rank and around. */
static void add_row(struct core *core, struct rankset *set, uint32_t from,
                    uint32_t before)
{
    assert(rankset_has(&core->members, from));
    uint32_t count = core->member_count;
    before = before < count ? before : count - 1;
    uint32_t place = rankset_below(&core->members, from);
    uint32_t rank = rankset_at(&core->members, (place + count - before) % count);
    for (uint32_t i = 0; i <= before; i++) {
        if (rank != core->rank && !rankset_add(set, rank)) {
            core->broken = true;
            return;
        }
        rank = rankset_next(&core->members, rank + 1);
        rank = rank != NOBODY ? rank : rankset_next(&core->members, 0);
    }
}

/* `from` and the `before` members before it have an equal chunk. */
void disseminate_learn(struct core *core, struct lane_record *lane, struct chunk *chunk,
                       uint32_t from, uint32_t before)
{
    assert(disseminate_is_on(core) && from != core->rank);
    assert(rankset_has(&core->members, from));
    uint32_t count = core->member_count;
    uint32_t place = rankset_below(&core->members, from);
    uint32_t distance = (core->gossip.place + count - place) % count;
    add_row(core, &chunk->holders, from, before);
    if (distance <= chunk->before + 1 && distance + before > chunk->before) {
        chunk->before = distance + before < count ? distance + before : count - 1;
        lane->chunks_told = 0; /* there may be more to tell */
        disseminate_news(core);
    }
    core->gossip.knowledge_grew = core->gossip.knowledge_wide = true;
}

void disseminate_forget(struct lane_record *lane)
{
    for (uint32_t i = 0; i < lane->part_count; i++) {
        rankset_release(&lane->part[i].holders);
    }
    lane->part_count = 0;
}

/* Forgets a part: of the oldest chunk, the shortest. */
static void make_room(struct lane_record *lane)
{
    assert(lane->part_count > 0);
    uint32_t least = 0;
    for (uint32_t i = 1; i < lane->part_count; i++) {
        const struct chunk *a = &lane->part[i], *b = &lane->part[least];
        if (a->first < b->first || (a->first == b->first && a->count < b->count)) {
            least = i;
        }
    }
    rankset_release(&lane->part[least].holders);
    lane->part[least] = lane->part[--lane->part_count];
}

/* Finds or makes; what is made is to be told. */
static struct chunk *part_of(struct core *core, struct lane_record *lane,
                             uint64_t first, uint32_t count, const struct rollsum *sum)
{
    assert(count > 0 && first >= 1);
    for (uint32_t i = 0; i < lane->part_count; i++) {
        struct chunk *part = &lane->part[i];
        if (part->first == first && part->count == count) {
            return part;
        }
    }
    if (lane->part_count == PARTS_MAX) {
        make_room(lane);
    }
    struct chunk *part = &lane->part[lane->part_count++];
    *part = (struct chunk){.first = first, .count = count, .sum = *sum};
    disseminate_news(core);
    return part;
}

/* Their lane equals ours where `what` says, which is no whole chunk of ours.  We have
 * as much, and pass it on. */
void disseminate_learn_part(struct core *core, struct lane_record *lane, uint32_t from,
                            const struct announced *what)
{
    assert(what->lane < core->gossip.lane_count);
    assert(what->first + what->count - 1 <= lane->len);
    struct chunk *part = part_of(core, lane, what->first, what->count, &what->sum);
    disseminate_learn(core, lane, part, from, what->before);
}

void disseminate_tell_part(struct core *core, struct lane_record *lane)
{
    assert(lane->open_first <= lane->len);
    if (disseminate_is_on(core)) {
        (void)part_of(core, lane, lane->open_first,
                      (uint32_t)(lane->len - lane->open_first + 1), &lane->open_sum);
    }
}

/* --- Telling --------------------------------------------------------------------- */

/* A chunk is of one scope; of one that has ended nothing is told any more. */
static void tell(struct core *core, uint32_t number, const struct chunk *chunk,
                 uint32_t to, bool partial)
{
    assert(rankset_has(&core->members, to));
    const moot_hash *first = lane_hash(&core->gossip.lanes[number], chunk->first);
    struct message_roll what = {.lane = number,
                                .scope = first != NULL ? hash_scope(first) : 0,
                                .first = chunk->first,
                                .count = chunk->count,
                                .partial = partial,
                                .sum = chunk->sum,
                                .before = chunk->before};
    struct message *message = first != NULL && roll_begins_within(core, to, &what)
                                  ? out_send(core, to, MESSAGE_ROLL, NULL)
                                  : NULL;
    if (message != NULL) {
        message->u.roll = what;
        signature_roll_sent(core, to, &message->u.roll);
    }
}

/* More members stand in the row than when the last round ended. */
static bool has_turns(const struct core *core, const struct chunk *chunk)
{
    return chunk->turn < core->gossip.partner_count ||
           (core->gossip.partner_count > 0 && chunk->before > chunk->told &&
            chunk->rounds < ROUNDS_MAX);
}

/* A chunk's next turn.  False when it has had them all. */
static bool take_turn(struct core *core, uint32_t number, struct chunk *chunk,
                      bool partial)
{
    assert(disseminate_is_on(core) || core->gossip.partner_count == 0);
    if (!has_turns(core, chunk) || core->options.mode == CORE_TRUST) {
        return false;
    }
    if (chunk->turn == core->gossip.partner_count) {
        chunk->turn = 0;
        chunk->rounds++;
    }
    uint32_t expected = (1u << chunk->turn) - 1;
    if (chunk->before < expected && chunk->waited < TURNS_WAITED_MAX) {
        chunk->waited++;
        return true;
    }
    tell(core, number, chunk, core->gossip.partners[chunk->turn], partial);
    chunk->told = chunk->before;
    chunk->turn++;
    chunk->waited = 0;
    return has_turns(core, chunk);
}

/* There is something new to tell. */
void disseminate_news(struct core *core)
{
    if (disseminate_is_on(core) && core->gossip.spread_due_ns == CORE_NEVER) {
        core->gossip.spread_due_ns = core->gossip.spread_ns;
    }
}

void disseminate_turn(struct core *core)
{
    if (core->now_ns < core->gossip.spread_due_ns) {
        return;
    }
    bool more = false;
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        struct lane_record *lane = &core->gossip.lanes[i];
        uint32_t done = lane->chunk_count;
        for (uint32_t c = lane->chunk_count; c-- > lane->chunks_told;) {
            if (take_turn(core, i, &lane->chunks[c], false)) {
                done = c;
            }
        }
        lane->chunks_told = done;
        more |= done < lane->chunk_count;
        uint32_t turns = 0;
        for (uint32_t p = lane->part_count; p-- > 0;) {
            bool due = has_turns(core, &lane->part[p]);
            if (due && turns < PARTS_TOLD_AT_ONCE) {
                due = take_turn(core, i, &lane->part[p], true);
                turns++;
            }
            more |= due;
        }
    }
    core->gossip.spread_ns = add_ns(core->now_ns, core->options.gossip_period_ns);
    core->gossip.spread_due_ns = more ? core->gossip.spread_ns : CORE_NEVER;
}

uint64_t disseminate_deadline(const struct core *core)
{
    return core->member_count > 1 ? core->gossip.spread_due_ns : CORE_NEVER;
}

/* All that is to be told has been. */
bool disseminate_is_done(const struct core *core)
{
    return core->gossip.spread_due_ns == CORE_NEVER;
}
