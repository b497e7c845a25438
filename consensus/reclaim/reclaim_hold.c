/* reclaim_hold.c - what must be true of scopes and chunks on their way out between two
 * steps (PROTOCOL.md, "Forgetting" and G5).
 *
 * Scopes and chunks on their way out are counted with the lists that they stand on;
 * only the lowest member counts for all, and only about members; messages that are kept
 * back while a chunk leaves are taken up when none does.
 */
#include "consensus/reclaim/reclaim_private.h"

#include <assert.h>

void reclaim_hold_fields(const struct core *core)
{
    const struct drop *drop = &core->reclaim.drop;
    bool lowest = rankset_next(&core->members, 0) == core->rank;
    assert(core->reclaim.ended_count <= core->reclaim.ended_room);
    assert(core->reclaim.ended_count <= core->reclaim.ended_ever);
    assert(drop->news_seen <= core->state.released_ever);
    assert(drop->moves_seen <= core->state.released_ever);
    assert(drop->looked_ns <= core->now_ns);
    assert(drop->lane <= core->gossip.lane_count);
    assert(drop->offer_count <= drop->offer_room);
    assert(drop->offer_count == 0 || lowest || core->epoch == 0);
    assert(drop->answers_open == 0 || drop->offer_count > 0);
    assert(drop->recent_count <= drop->recent_room);
    for (uint32_t i = 0; i < drop->recent_count; i++) {
        assert(drop->recent[i].epoch <= core->epoch);
    }
    assert(drop->held_first == NULL || drop->leaving > 0);
    assert(drop->leaving == 0 || drop->counts);
    assert(!drop->cuts_untold || drop->cuts > 0 || drop->counts);
    assert(core->reclaim.scopes_dropping != NULL || !core->reclaim.forget_due);
}

/* --- Chunks ---------------------------------------------------------------------- */

static void hold_chunks(const struct core *core)
{
    const struct drop *drop = &core->reclaim.drop;
    uint32_t leaving = 0, cuts = 0;
    for (uint32_t number = 0; number < core->gossip.lane_count; number++) {
        const struct lane_record *lane = &core->gossip.lanes[number];
        for (uint32_t i = 0; i < lane->chunk_count; i++) {
            const struct chunk *chunk = &lane->chunks[i];
            assert(chunk->stage <= CHUNK_LEAVING);
            leaving += chunk->stage == CHUNK_LEAVING;
            cuts += chunk->cut && chunk->live > 0;
            assert(chunk->stage != CHUNK_LEAVING || chunk->live > 0);
            assert(chunk->stage != CHUNK_LEAVING ||
                   chunk->first + chunk->count - 1 <= drop->leaving_last);
        }
    }
    for (const struct lot *lot = core->reclaim.lots.first; lot != NULL;
         lot = lot->next) {
        leaving += !lot->stayed;
    }
    assert(leaving == drop->leaving && cuts == drop->cuts);
}

/* --- Lots ------------------------------------------------------------------------- */

/* A task that leaves in a lot stands in one that this rank has agreed to. */
static void hold_lots(const struct core *core)
{
    const struct lots *lots = &core->reclaim.lots;
    size_t listed = 0, marked = 0;
    for (const struct lot *lot = lots->first; lot != NULL; lot = lot->next) {
        assert(lot->count > 0 && lot->count <= LOT_TASKS &&
               lot->reported <= lot->count);
        for (uint32_t i = 0; i < lot->count && !lot->stayed; i++) {
            const struct task_record *task = table_look(core, &lot->hashes[i]);
            listed += task != NULL && !is_stub(task) && task->lot;
        }
    }
    for (size_t i = 0; i < core->state.slot_count; i++) {
        const struct task_record *task = core->state.slots[i];
        if (task != NULL && !is_stub(task) && task->lot) {
            assert(!task->counted && task->own != CORE_OWN_RUNNING);
            marked++;
        }
    }
    assert(listed == marked);
    assert(lots->stage == LOT_NONE || (lots->count > 0 && lots->answers_open > 0));
    assert(lots->count <= LOT_TASKS && lots->marks <= LOT_MARKS);
}

static void hold_offers(const struct core *core)
{
    const struct drop *drop = &core->reclaim.drop;
    uint64_t asked = 0;
    for (uint32_t i = 0; i < drop->offer_count; i++) {
        const struct offer *offer = &drop->offers[i];
        assert(offer->name.count >= 1 && offer->name.count <= ROLL_CHUNK_TASKS_MAX);
        for (uint32_t rank = rankset_next(&offer->ready, 0); rank != NOBODY;
             rank = rankset_next(&offer->ready, rank + 1)) {
            assert(rankset_has(&core->members, rank));
        }
        asked += offer->asked;
    }
    /* Each member answers for each chunk of a round. */
    assert(drop->answers_open <= asked * core->member_count);
    assert((drop->answers_open > 0) == (asked > 0));
}

static void hold_kept_back(const struct drop *drop)
{
    struct held *const *link = &drop->held_first;
    for (; *link != NULL; link = &(*link)->next) {
        assert((*link)->message != NULL);
    }
    assert(drop->held_first == NULL || link == drop->held_last);
}

/* --- Scopes ---------------------------------------------------------------------- */

static void hold_told(const struct scope_record *scope)
{
    assert(!scope->released || scope->closed || scope->dropping);
    assert(!scope->told_rests || scope->told_sent <= scope->sent);
    assert(!scope->told_rests || scope->told_received <= scope->received);
    assert(!scope->sweep_sent || scope->sweep_asked);
    assert(scope->round_open == 0 || scope->round > 0);
}

static void hold_reports(const struct core *core, const struct scope_record *scope)
{
    uint32_t known = 0;
    assert(scope->tally_count <= core->size);
    for (uint32_t rank = 0; rank < scope->tally_count; rank++) {
        const struct scope_report *report = &scope->tally[rank];
        known += report->known;
        assert(!report->known || rankset_has(&core->members, rank));
        assert(report->answered <= scope->round);
    }
    assert(known == scope->known && known <= core->member_count);
    assert(scope->round_open <= core->member_count);
}

static void hold_scopes(const struct core *core)
{
    uint32_t dropping = 0;
    for (size_t i = 0; core->state.scope_buckets != NULL && i < SCOPE_BUCKETS; i++) {
        for (const struct scope_record *scope = core->state.scope_buckets[i];
             scope != NULL; scope = scope->bucket_next) {
            hold_told(scope);
            hold_reports(core, scope);
            dropping += scope->dropping;
        }
    }
    for (const struct scope_record *scope = core->reclaim.scopes_dropping;
         scope != NULL; scope = scope->next) {
        assert(scope->dropping && dropping > 0);
        dropping--;
    }
    assert(dropping == 0);
}

/* --- The whole ------------------------------------------------------------------- */

void reclaim_hold(const struct core *core)
{
    reclaim_hold_fields(core);
    hold_chunks(core);
    hold_lots(core);
    hold_offers(core);
    hold_kept_back(&core->reclaim.drop);
    hold_scopes(core);
    for (uint32_t i = 0; i < core->reclaim.ended_count; i++) {
        assert(core->reclaim.ended[i].epoch <= core->epoch);
        assert(core->reclaim.ended[i].number <= core->reclaim.ended_ever);
        assert(mark_is_dropped(core, core->reclaim.ended[i].mark));
    }
}
