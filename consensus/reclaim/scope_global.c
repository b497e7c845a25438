/* scope_global.c - the lowest member counts what all say of a scope.
 *
 * Mattern's four counters over the messages about one scope: when all have said that it
 * rests, and as much was received as sent, they are asked once more; if it still rests,
 * with the same counts, nothing was on its way.  Then the scope is at REST, or, if all
 * are ready, it is DROPped.
 */
#include "consensus/reclaim/reclaim_private.h"

#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

static struct scope_report *tally_of(struct core *core, struct scope_record *scope)
{
    if (scope->tally == NULL || scope->tally_count < core->size) {
        free(scope->tally);
        scope->tally = core_alloc(core, core->size * sizeof(*scope->tally));
        scope->tally_count = scope->tally != NULL ? core->size : 0;
        scope->known = 0;
    }
    return scope->tally;
}

/* Of members that have all said something. */
struct count {
    bool rests, ready, alike, swept;
    uint64_t sent, received;
};

static struct count count(const struct core *core, const struct scope_record *scope)
{
    assert(scope->tally != NULL && scope->known == core->member_count);
    struct count all = {true, true, true, true, 0, 0};
    const struct scope_report *first = &scope->tally[rankset_next(&core->members, 0)];
    FOR_MEMBERS(core, rank)
    {
        const struct scope_report *one = &scope->tally[rank];
        all.rests = all.rests && one->rests;
        all.ready = all.ready && one->ready;
        all.swept = all.swept && one->swept;
        all.alike = all.alike && one->count == first->count &&
                    rollsum_equal(&one->sum, &first->sum);
        all.sent += one->sent;
        all.received += one->received;
    }
    return all;
}

static void send_all(struct core *core, const struct scope_record *scope,
                     struct message_released said)
{
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank) {
            scope_send(core, rank, &scope->hash, said);
        }
    }
}

static void ask(struct core *core, struct scope_record *scope)
{
    assert(!scope->dropping && scope->round_open == 0);
    scope->round++;
    scope->round_open = core->member_count;
    scope->round_failed = false;
    send_all(core, scope,
             (struct message_released){.what = RELEASED_ASK, .round = scope->round});
    scope_on_ask(core, scope, scope->round);
}

static void sweep_all(struct core *core, struct scope_record *scope)
{
    assert(!scope->sweep_sent);
    scope->sweep_sent = true;
    send_all(core, scope, (struct message_released){.what = RELEASED_SWEEP});
    scope->sweep_asked = true;
    scope_watch(core, scope);
    core->reclaim.scope_work = true;
}

void scope_drop_everywhere(struct core *core, struct scope_record *scope, bool alike,
                           uint64_t round)
{
    assert(!scope->dropping && rankset_next(&core->members, 0) == core->rank);
    send_all(core, scope,
             (struct message_released){
                 .what = RELEASED_DROP, .alike = alike, .round = round});
    scope_drop(core, scope, alike, true);
}

static void end_round(struct core *core, struct scope_record *scope)
{
    assert(scope->round_open == 0 && scope->round > 0);
    const struct count all = count(core, scope);
    if (scope->round_failed || !all.rests || all.sent != all.received) {
        return;
    }
    if (all.ready) {
        scope_all_answered(core, scope);
        scope_drop_everywhere(core, scope, all.alike, scope->round);
    } else if (!scope->rested) {
        scope->rested = true;
        send_all(core, scope, (struct message_released){.what = RELEASED_REST});
    }
}

/* Some may have dropped it, or never met it: so has who has closed and says nothing of
 * it.  Goes on from the member that was waited for before. */
static bool asks_early(const struct core *core, struct scope_record *scope)
{
    bool later_view = core->epoch > core->options.epoch || core->options.join_uid != 0;
    uint32_t rank = rankset_next(&core->members, scope->awaited);
    while (rank != NOBODY && !later_view &&
           (scope->tally[rank].known || rank == core->rank ||
            peer_seen(core, rank)->state.closed)) {
        rank = rankset_next(&core->members, rank + 1);
    }
    scope->awaited = rank != NOBODY ? rank : scope->awaited;
    return later_view || rank == NOBODY;
}

/* After each account that came in. */
static void consider(struct core *core, struct scope_record *scope)
{
    assert(scope->round_open == 0 && !scope->dropping);
    if (scope->known < core->member_count) {
        if (scope->round == 0 && asks_early(core, scope)) {
            ask(core, scope);
        }
        return;
    }
    const struct count all = count(core, scope);
    if (!all.rests) {
        return;
    }
    if (!all.alike && !all.swept) {
        if (!scope->sweep_sent) {
            sweep_all(core, scope);
        }
    } else if (MUTANT(FORGETFLYING) && all.ready) {
        scope_drop_everywhere(core, scope, all.alike, 0);
    } else if (all.sent == all.received && (all.ready || !scope->rested)) {
        ask(core, scope);
    }
}

void scope_take_account(struct core *core, struct scope_record *scope, uint32_t from,
                        const struct message_released *said)
{
    assert(rankset_has(&core->members, from));
    assert(said->what == RELEASED_READY || said->what == RELEASED_ANSWER);
    struct scope_report *tally = tally_of(core, scope);
    if (tally == NULL || scope->dropping) {
        return;
    }
    struct scope_report *one = &tally[from];
    bool same = one->known && said->rests && one->rests && one->sent == said->sent &&
                one->received == said->received;
    bool answers = said->what == RELEASED_ANSWER && said->round == scope->round &&
                   one->answered != scope->round && scope->round_open > 0;
    scope->known += !one->known;
    scope->round_failed |= !same; /* what has come in since was on its way */
    *one = (struct scope_report){.known = true,
                                 .rests = said->rests,
                                 .ready = said->ready,
                                 .swept = said->swept,
                                 .answered = answers ? scope->round : one->answered,
                                 .count = said->count,
                                 .sent = said->sent,
                                 .received = said->received,
                                 .sum = said->sum};
    if (answers && --scope->round_open == 0) {
        end_round(core, scope);
    }
    if (!scope->dropping && scope->round_open == 0) {
        consider(core, scope);
    }
}
