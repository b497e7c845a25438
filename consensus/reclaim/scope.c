/* scope.c - when a scope has ended on every rank, so that its tasks may be forgotten.
 *
 * A long run opens a scope for each phase, and closes it.  What is kept of its tasks
 * (records, results, rolls) may go once no rank can need it any more, and no sooner: a
 * chair that forgot a record would let the task run again.  scope_local.c finds out
 * whether a scope rests here and is ready to end, scope_global.c whether it does on all
 * ranks with nothing on its way:
 *
 *     READY    each member, when it rests, and when its counts have changed since
 *     SWEEP    if the members' sums of the scope's tasks differ: T1a for this scope
 *     ASK      it rests at all, and as much was received as sent: is it still so?
 *     ANSWER   it is, with the same counts, from all of them
 *     REST     it rests everywhere, but some are not ready: consumers may run
 *     DROP     all are: forget it
 *
 * None is per task.  Afterwards a mark of eight bytes is what is left: spawns and waits
 * get SCOPE_CLOSED, and whoever sends something about the scope is late and is told
 * DROP.
 *
 * A view starts the counting anew.  Some may have heard of a DROP before it and others
 * not: in a later epoch the lowest member asks all at the first READY, and who has
 * dropped the scope says so.  Before a chair has all reports it hears which scopes have
 * ended since the last view that settled, so that it does not claim what has run long
 * ago: in a small view each member first tells all others; in a large one this goes
 * along the tree with the word that all have reported (view_barrier.c).  Of what had
 * ended before all were asked about a scope that has ended since all know, because each
 * heard that before the question: so few are told of, however many have ended.
 * Newcomers are told of all by all.
 *
 * In strict mode nothing is forgotten: a difference is found by comparing whole rolls.
 */
#include "consensus/reclaim/reclaim_private.h"

#include "consensus/ownership/ownership.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS_PER_STEP = 16 };

/* --- What the program says ------------------------------------------------------- */

int scope_on_close(struct core *core, const moot_hash *hash)
{
    if (scope_is_dropped(core, hash)) {
        return MOOT_OK;
    }
    struct scope_record *scope = scope_of(core, hash);
    if (scope == NULL) {
        return core->broken ? MOOT_ERR_NO_MEMORY : MOOT_ERR_INVALID;
    }
    scope_watch(core, scope);
    if (scope->closed) {
        return MOOT_OK;
    }
    scope->closed = true;
    scope->hash = *hash;
    for (struct task_record *task = scope->tasks; task != NULL;
         task = task->scope_next) {
        if (!rankset_empty(&task_ext(task)->seekers) &&
            ask_never_will_hold(core, task)) {
            ask_answer_seeks(core, task);
        }
    }
    chair_retest_all(core);
    return MOOT_OK;
}

int scope_on_release(struct core *core, const moot_hash *hash)
{
    int error = scope_on_close(core, hash);
    struct scope_record *scope =
        error == MOOT_OK ? scope_find(core, hash_scope(hash)) : NULL;
    if (scope != NULL) {
        scope->released = true;
    }
    return error;
}

/* --- Messages -------------------------------------------------------------------- */

void scope_send(struct core *core, uint32_t to, const moot_hash *hash,
                struct message_released released)
{
    assert(to != core->rank && hash_scope(hash) != 0);
    struct message *message = out_send(core, to, MESSAGE_RELEASED, NULL);
    if (message != NULL) {
        message->hash = *hash;
        message->u.released = released;
    }
}

void scope_late(struct core *core, uint32_t from, const struct message *message)
{
    assert(scope_is_dropped(core, &message->hash));
    core->stats.late++;
    if (message_is(message->type, MESSAGE_IS_LATE)) {
        scope_send(core, from, &message->hash,
                   (struct message_released){.what = RELEASED_DROP});
    }
}

void scope_on_released(struct core *core, uint32_t from, const struct message *message)
{
    assert(message->type == MESSAGE_RELEASED && from < core->size);
    const struct message_released *said = &message->u.released;
    if (said->what >= RELEASED_CHUNK_READY) {
        reclaim_take(core, from, said);
        return;
    }
    bool lowest = rankset_next(&core->members, 0) == core->rank;
    if (scope_is_dropped(core, &message->hash)) {
        if (said->what != RELEASED_DROP) {
            scope_late(core, from, message);
        }
        return;
    }
    struct scope_record *scope = scope_of(core, &message->hash);
    if (scope == NULL) {
        core->stats.refused++;
        return;
    }
    switch ((int)said->what) {
    case RELEASED_READY:
    case RELEASED_ANSWER:
        if (lowest) {
            scope_take_account(core, scope, from, said);
        }
        break;
    case RELEASED_SWEEP:
        scope->sweep_asked = true;
        scope_touch(core, scope);
        break;
    case RELEASED_ASK:
        scope_on_ask(core, scope, said->round);
        break;
    case RELEASED_REST:
        scope->rested = true;
        break;
    case RELEASED_DROP:
        if (lowest) { /* from who had heard it in an older view */
            scope_drop_everywhere(core, scope, said->alike, 0);
            break;
        }
        if (said->round != 0) {
            scope_all_answered(core, scope);
        }
        scope_drop(core, scope, said->alike, from == rankset_next(&core->members, 0));
        break;
    }
}

/* --- The end --------------------------------------------------------------------- */

/* The next view is told, unless all know. */
static void note_ended(struct core *core, uint64_t mark, bool from_lowest)
{
    assert(mark != 0);
    if (core->member_count > 1 &&
        core_grow(core, &core->reclaim.ended, &core->reclaim.ended_room,
                  core->reclaim.ended_count + 1, sizeof(*core->reclaim.ended))) {
        core->reclaim.ended[core->reclaim.ended_count++] =
            (struct ended){mark, core->epoch, ++core->reclaim.ended_ever, from_lowest};
    }
}

/* What the lowest member had told before it asked came to all before the question; and
 * they rest, so they have settled, and have heard what was told when they entered. */
void scope_all_answered(struct core *core, const struct scope_record *scope)
{
    assert(scope->asked_after <= core->reclaim.ended_ever);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < core->reclaim.ended_count; i++) {
        const struct ended *one = &core->reclaim.ended[i];
        bool told = one->from_lowest || one->epoch < core->epoch;
        if (one->number > scope->asked_after || !told) {
            core->reclaim.ended[kept++] = *one;
        }
    }
    core->reclaim.ended_count = kept;
}

void scope_drop(struct core *core, struct scope_record *scope, bool alike,
                bool from_lowest)
{
    assert(!scope->dropping);
    note_ended(core, scope->mark, from_lowest);
    scope->dropping = true;
    scope->alike = alike;
    scope_mark_add(core, scope->mark);
    forget_begin(core, scope);
    scope->next = core->reclaim.scopes_dropping;
    core->reclaim.scopes_dropping = scope;
    core->reclaim.forget_due = true;
}

/* --- Views ----------------------------------------------------------------------- */

static void reset(struct core *core, struct scope_record *scope)
{
    scope->sent = scope->received = 0;
    scope->told_rests = false;
    scope->swept = scope->sweep_asked = scope->sweep_sent = false;
    scope->cursor = NULL;
    scope->rests = scope->rested = scope->feeds_looked = false;
    scope->round = scope->round_open = scope->asked = scope->asked_after = 0;
    free(scope->tally);
    scope->tally = NULL;
    scope->tally_count = 0;
    scope->known = scope->awaited = 0;
    if (scope_is_closed_here(core, scope)) {
        scope_watch(core, scope);
    }
}

static moot_hash hash_of_mark(uint64_t mark)
{
    moot_hash hash = {{0}};
    hash_set_scope(&hash, mark);
    return hash;
}

static void tell_ended(struct core *core, uint32_t rank, uint64_t mark)
{
    moot_hash hash = hash_of_mark(mark);
    scope_send(core, rank, &hash, (struct message_released){.what = RELEASED_DROP});
}

/* Who was to tell some of them may be gone: a chair must not find a task that has run,
 * and that the others have forgotten, as new as one that nobody ever had. */
void scope_tell_ended(struct core *core, uint32_t rank)
{
    for (uint32_t i = 0; i < core->reclaim.ended_count && !MUTANT(SCOPEDOUBT); i++) {
        tell_ended(core, rank, core->reclaim.ended[i].mark);
    }
}

/* In a view that has settled all know, and in those before it. */
static void forget_ended(struct core *core)
{
    uint32_t kept = 0;
    uint64_t settled =
        core->membership.past_count > 0 ? core->membership.past[0].epoch : 0;
    for (uint32_t i = 0; i < core->reclaim.ended_count; i++) {
        if (core->reclaim.ended[i].epoch >= settled) {
            core->reclaim.ended[kept++] = core->reclaim.ended[i];
        }
    }
    core->reclaim.ended_count = kept;
}

void scope_enter_view(struct core *core, const struct view *view)
{
    assert(view->epoch == core->epoch && !core->membership.settled);
    forget_ended(core);
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank && !core->membership.large) {
            scope_tell_ended(core, rank);
        }
    }
    for (size_t i = 0; core->state.scope_buckets != NULL && i < SCOPE_BUCKETS; i++) {
        for (struct scope_record *scope = core->state.scope_buckets[i]; scope != NULL;
             scope = scope->bucket_next) {
            reset(core, scope);
        }
    }
    for (uint32_t i = 0; i < view->newcomer_count; i++) {
        uint32_t rank = view->newcomers[i].rank;
        for (size_t k = 0; k < core->state.mark_room && rank != core->rank; k++) {
            if (core->state.marks[k] != 0 && rankset_has(&core->members, rank)) {
                tell_ended(core, rank, core->state.marks[k]);
            }
        }
    }
}

/* --- The turn -------------------------------------------------------------------- */

/* Some of those that only wait for their consumers, in turn, and all that were asked
 * for. */
static void look_at_watched(struct core *core)
{
    struct scope_record *last = core->state.watched_last;
    for (uint32_t i = 0; core->state.scopes_watched != NULL; i++) {
        struct scope_record *scope = scope_watched_take(core);
        if (!scope->dropping && scope_look(core, scope) && !scope->watched) {
            scope_watch_last(core, scope);
        }
        if (scope == last || (i >= LOOKS_PER_STEP && !core->reclaim.asks_open)) {
            break;
        }
    }
    core->reclaim.asks_open = false;
}

void scope_forget(struct core *core)
{
    uint32_t budget = FORGET_PER_STEP;
    for (struct scope_record **link = &core->reclaim.scopes_dropping; *link != NULL;) {
        struct scope_record *scope = *link;
        if (!forget_some(core, scope, &budget) && !scope->watched) {
            *link = scope->next;
            scope_end(core, scope);
        } else {
            link = &scope->next;
        }
    }
    core->reclaim.forget_due = budget == 0;
}

void scope_turn(struct core *core)
{
    core->reclaim.scope_work = false;
    if (core->epoch > 0 && core->state.scope_buckets != NULL) {
        look_at_watched(core);
    }
    core->reclaim.scope_work |= core->reclaim.forget_due;
}
