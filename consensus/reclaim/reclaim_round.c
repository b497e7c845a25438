/* reclaim_round.c - the lowest member counts who has released a chunk, and asks all.
 *
 * What a member offers (CHUNK_READY) it may take back: a program may spawn again what
 * it had released.  So when all members have offered a chunk, and all that take its
 * results, they are asked, and their answers bind them until the outcome.  Rounds
 * follow each other: the next begins when all answers of the last are in and its
 * outcomes are told.  Who hears an outcome of round n + 1 therefore knows that everyone
 * has heard those of round n, since their answers came behind them; that bounds what
 * must be remembered of what was dropped (reclaim.c, `recent`).
 */
#include "consensus/reclaim/reclaim_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

/* --- Offers ---------------------------------------------------------------------- */

static struct offer *offer_find(struct core *core, const struct chunk_name *name)
{
    for (uint32_t i = 0; i < core->reclaim.drop.offer_count; i++) {
        struct offer *offer = &core->reclaim.drop.offers[i];
        if (offer->name.count == name->count &&
            rollsum_equal(&offer->name.sum, &name->sum)) {
            return offer;
        }
    }
    return NULL;
}

static struct offer *offer_enter(struct core *core, const struct chunk_name *name)
{
    assert(rankset_next(&core->members, 0) == core->rank && name->count > 0);
    struct drop *drop = &core->reclaim.drop;
    struct offer *offer = offer_find(core, name);
    if (offer == NULL && core_grow(core, &drop->offers, &drop->offer_room,
                                   drop->offer_count + 1, sizeof(*drop->offers))) {
        offer = &drop->offers[drop->offer_count++];
        *offer = (struct offer){.name = *name};
    }
    return offer;
}

static void offer_remove(struct core *core, uint32_t i)
{
    assert(i < core->reclaim.drop.offer_count);
    struct drop *drop = &core->reclaim.drop;
    rankset_release(&drop->offers[i].ready);
    drop->offers[i] = drop->offers[--drop->offer_count];
}

void reclaim_forget_offers(struct core *core)
{
    while (core->reclaim.drop.offer_count > 0) {
        offer_remove(core, core->reclaim.drop.offer_count - 1);
    }
    core->reclaim.drop.answers_open = 0;
}

void reclaim_void_offer(struct core *core, const struct chunk_name *name)
{
    const struct offer *offer = offer_find(core, name);
    if (offer != NULL && !offer->asked && !offer->doubted) {
        offer_remove(core, (uint32_t)(offer - core->reclaim.drop.offers));
    }
}

static bool all_offer(const struct core *core, const struct offer *offer)
{
    FOR_MEMBERS(core, rank)
    {
        if (!rankset_has(&offer->ready, rank) && !MUTANT(DROPEARLY)) {
            return false;
        }
    }
    return true;
}

/* --- Rounds ---------------------------------------------------------------------- */

/* All members let go of what takes the chunk's results, too, as far as this rank's
 * graph goes: it has run, and should its result be lost with its owner, it may be made
 * again. What else takes them is known to who holds it, and keeps that from offering
 * the chunk. */
static bool is_offered(const struct core *core, const struct task_record *to,
                       uint32_t number, const struct chunk *input)
{
    assert(to->held && number < core->gossip.lane_count);
    if (to->position == 0) {
        return to->own == CORE_OWN_DONE || to->have != CORE_HAVE_NOTHING;
    }
    if (to->lane == number && to->lane_position - input->first < input->count) {
        return true;
    }
    const struct chunk *chunk = roll_chunk_of(core, to);
    return chunk != NULL && chunk->all_ready;
}

static bool consumers_are_offered(struct core *core, uint32_t number,
                                  const struct chunk *chunk)
{
    const struct lane_record *lane = &core->gossip.lanes[number];
    enum feeds feeds = release_feeds_offered(core, number, chunk);
    if (feeds != FEEDS_MAYBE) {
        return feeds == FEEDS_YES || MUTANT(DROPFED);
    }
    stub_expand_all(core);
    for (uint32_t i = 0; i < chunk->count && !MUTANT(DROPFED); i++) {
        const struct task_record *task = lane_task(core, lane, chunk->first + i);
        lane_expect(lane, chunk->first + i);
        const struct edge *edge = task != NULL ? task->consumers : NULL;
        for (; edge != NULL; edge = edge->next) {
            if (!is_offered(core, edge_to(edge), number, chunk)) {
                return false;
            }
        }
    }
    return true;
}

static bool may_ask(struct core *core, const struct offer *offer)
{
    uint32_t number;
    struct chunk *chunk = roll_find_chunk(core, &offer->name, &number);
    if (offer->doubted) {
        return true;
    }
    return chunk != NULL && chunk->all_ready && core->membership.settled &&
           !core->step.closed && consumers_are_offered(core, number, chunk);
}

void reclaim_begin_round(struct core *core)
{
    struct drop *drop = &core->reclaim.drop;
    if (drop->answers_open > 0 || drop->offer_count == 0) {
        return;
    }
    uint32_t asked = 0;
    for (uint32_t i = 0; i < drop->offer_count; i++) {
        struct offer *offer = &drop->offers[i];
        offer->asked = may_ask(core, offer);
        offer->all_agree = true;
        offer->dropped = false;
        offer->sent = offer->received = 0;
        asked += offer->asked;
    }
    if (asked == 0) {
        return;
    }
    drop->round++;
    drop->answers_open = asked * core->member_count;
    for (uint32_t i = 0; i < drop->offer_count; i++) {
        const struct offer *offer = &drop->offers[i];
        FOR_MEMBERS(core, rank)
        {
            if (offer->asked) {
                reclaim_say(core, rank, RELEASED_CHUNK_ASK, &offer->name,
                            (struct message_released){.round = drop->round});
            }
        }
    }
}

static bool is_to_go(const struct offer *offer)
{
    assert(offer->asked);
    if (offer->doubted) {
        return offer->dropped && !MUTANT(DROPDOUBT);
    }
    bool still = offer->sent == offer->received || MUTANT(DROPFLYING);
    return (offer->all_agree || MUTANT(DROPEARLY)) && still;
}

static void end_round(struct core *core)
{
    assert(core->reclaim.drop.answers_open == 0);
    struct drop *drop = &core->reclaim.drop;
    uint64_t round = drop->round;
    for (uint32_t i = drop->offer_count; i-- > 0;) {
        if (!drop->offers[i].asked) {
            continue;
        }
        const struct chunk_name name = drop->offers[i].name;
        enum released_what what =
            is_to_go(&drop->offers[i]) ? RELEASED_CHUNK_DROP : RELEASED_CHUNK_KEEP;
        offer_remove(core, i);
        uint32_t number;
        struct chunk *chunk = roll_find_chunk(core, &name, &number);
        if (chunk != NULL) {
            chunk->all_ready = false;
        }
        FOR_MEMBERS(core, rank)
        {
            reclaim_say(core, rank, what, &name,
                        (struct message_released){.round = round});
        }
    }
}

static void next_round(struct core *core)
{
    if (MUTANT(ROUNDEARLY)) {
        reclaim_begin_round(core);
        return;
    }
    agenda_add_due(core, AGENDA_ROUND);
}

/* --- What members say ------------------------------------------------------------ */

/* What this rank does not have by that name has been cut here since, or is about to be,
 * when what is leaving has stayed. */
static void take_ready(struct core *core, uint32_t from, const struct chunk_name *name)
{
    assert(rankset_has(&core->members, from));
    uint32_t number;
    struct chunk *chunk = roll_find_chunk(core, name, &number);
    struct offer *offer = chunk != NULL || core->reclaim.drop.leaving > 0
                              ? offer_enter(core, name)
                              : NULL;
    if (offer == NULL) {
        return;
    }
    if (!rankset_add(&offer->ready, from)) {
        core->broken = true;
        return;
    }
    if (chunk != NULL && all_offer(core, offer)) {
        chunk->all_ready = true;
        next_round(core);
    }
}

static void take_answer(struct core *core, const struct message_released *said)
{
    assert(said->what == RELEASED_CHUNK_ANSWER);
    const struct chunk_name name = {said->sum, (uint32_t)said->count};
    struct offer *offer = offer_find(core, &name);
    if (offer == NULL || !offer->asked || said->round != core->reclaim.drop.round) {
        return;
    }
    offer->all_agree = offer->all_agree && said->ready;
    offer->dropped = offer->dropped || said->alike;
    offer->sent += said->sent;
    offer->received += said->received;
    if (--core->reclaim.drop.answers_open == 0) {
        end_round(core);
        next_round(core);
    }
}

/* A member has left the view before it heard what came of its answer.  A rank that has
 * joined may have heard of no outcome because the round was before its time (V4): it
 * asks all. */
static void take_doubt(struct core *core, uint32_t from, const struct chunk_name *name)
{
    assert(rankset_has(&core->members, from));
    uint32_t number;
    const struct chunk *chunk = roll_find_chunk(core, name, &number);
    bool leaving = (chunk != NULL && chunk->stage == CHUNK_LEAVING) ||
                   lot_find(core, name) != NULL;
    const bool is_new = core->rank >= core->membership.first_size && !MUTANT(DOUBTNEW);
    if (!leaving && !(is_new && !reclaim_was_recent(core, name))) {
        bool dropped = reclaim_was_recent(core, name) && !MUTANT(DROPDOUBT);
        reclaim_say(core, from, dropped ? RELEASED_CHUNK_DROP : RELEASED_CHUNK_KEEP,
                    name, (struct message_released){.round = core->reclaim.drop.round});
        return;
    }
    struct offer *offer = offer_enter(core, name);
    if (offer != NULL) {
        offer->doubted = true;
        next_round(core);
    }
}

void reclaim_take_account(struct core *core, uint32_t from,
                          const struct message_released *said)
{
    const struct chunk_name name = {said->sum, (uint32_t)said->count};
    if (said->what == RELEASED_CHUNK_ANSWER) {
        if (!lot_take_answer(core, said)) {
            take_answer(core, said);
        }
    } else if (rankset_next(&core->members, 0) != core->rank) {
        core->stats.refused++;
    } else if (said->what == RELEASED_CHUNK_READY) {
        take_ready(core, from, &name);
    } else {
        take_doubt(core, from, &name);
    }
}
