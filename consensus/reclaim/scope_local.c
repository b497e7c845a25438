/* scope_local.c - is this rank done with a scope, and is it told?
 *
 * A scope *rests* here when the program has closed it and no task of it, on this rank,
 * runs or waits, is needed, is asked for and undecided, or is frozen.  This rank is
 * *ready* to end it when, besides, the program holds no handle in it and nothing
 * outside will still take a result from it: a consumer is done here, or belongs to a
 * scope that rests everywhere, or its chair is known to hold it.  The last is not
 * enough where ranks may die, because such a consumer may come to another rank before
 * it has run.
 *
 * After a death a result may be lost with its owner, and made again only while the
 * scopes that it was made from have not ended; else it ends with RESULT_LOST.
 */
#include "consensus/reclaim/reclaim_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/ownership/ownership.h"
#include "consensus/state/state.h"

#include <assert.h>

enum { SCAN_PER_STEP = 4096 };

/* --- Looking --------------------------------------------------------------------- */

static bool is_served(const struct core *core, const struct task_record *to)
{
    if (to->own != CORE_OWN_NONE) {
        return to->own == CORE_OWN_DONE;
    }
    bool mortal = detector_is_on(core);
    if (to->have == CORE_HAVE_DATA || (to->have == CORE_HAVE_BARE && !mortal) ||
        (to->scope != NULL && to->scope->rested)) {
        return true;
    }
    bool believed =
        core->options.mode == CORE_TRUST || (to->chair != core->rank && !to->finder &&
                                             roll_knows_holder(core, to, to->chair));
    return !mortal && believed;
}

/* Goes on from the edge at which it found one before. */
static bool feeds_others(const struct core *core, struct scope_record *scope)
{
    assert(scope->feeding != NULL || scope->feeder != NULL);
    struct edge *edge =
        scope->feeding != NULL ? scope->feeding : scope->feeder->consumers;
    while (edge != NULL &&
           (edge_to(edge)->scope == scope || is_served(core, edge_to(edge)))) {
        edge = edge->next;
    }
    scope->feeding = edge;
    return edge != NULL;
}

static bool is_busy(const struct core *core, const struct task_record *task)
{
    bool unclaimed = task->chair == core->rank && task->held && task->rec == NOBODY;
    return task->needs_done + task->needs_data > 0 || task->users > 0 ||
           task->own == CORE_OWN_WAIT || task->own == CORE_OWN_RUNNING ||
           task->pending || task->owed || task->frozen || unclaimed ||
           requests_is_open(core, task) || array_runs_here(task);
}

enum found { FOUND_NONE, FOUND_ONE, FOUND_NOT_YET };

/* Looks on from the first task that was busy: all must be seen at rest with nothing
 * said about the scope in between. */
static enum found find_busy(struct core *core, struct scope_record *scope,
                            uint32_t *budget)
{
    while (!scope->rests && *budget > 0) {
        if (scope->cursor == NULL) {
            scope->cursor = scope->tasks;
            scope->touched = false;
        } else if (is_busy(core, scope->cursor)) {
            return FOUND_ONE;
        } else {
            scope->cursor = scope->cursor->scope_next;
        }
        scope->rests = scope->cursor == NULL && !scope->touched;
        (*budget)--;
    }
    return scope->rests ? FOUND_NONE : FOUND_NOT_YET;
}

/* A consumer that is served stays served. */
static enum found find_feeder(struct core *core, struct scope_record *scope,
                              uint32_t *budget)
{
    if (!scope->feeds_looked) {
        scope->feeds_looked = true;
        scope->feeder = scope->tasks;
        scope->feeding = NULL;
    }
    for (; scope->feeder != NULL && *budget > 0; (*budget)--) {
        if (feeds_others(core, scope)) {
            return FOUND_ONE;
        }
        scope->feeder = scope->feeder->scope_next;
    }
    return scope->feeder == NULL ? FOUND_NONE : FOUND_NOT_YET;
}

static enum found look(struct core *core, struct scope_record *scope, bool *ready)
{
    uint32_t budget = SCAN_PER_STEP;
    bool released = scope->released || core->step.closed || MUTANT(FORGETHELD);
    *ready = false;
    if (!scope_is_closed_here(core, scope) || !core->membership.settled ||
        core->options.mode == CORE_STRICT) {
        return FOUND_ONE;
    }
    if (MUTANT(FORGETBUSY)) {
        *ready = true;
        return FOUND_NONE;
    }
    enum found busy = find_busy(core, scope, &budget);
    if (busy != FOUND_NONE || !released) {
        return busy;
    }
    enum found feeder =
        MUTANT(FORGETFED) ? FOUND_NONE : find_feeder(core, scope, &budget);
    *ready = feeder == FOUND_NONE;
    return feeder == FOUND_NOT_YET ? FOUND_NOT_YET : FOUND_NONE;
}

/* T1a: the rolls differ, and the chairs of what stands on this one may lack it. */
static void sweep(struct core *core, struct scope_record *scope)
{
    assert(scope->sweep_asked && !scope->swept);
    scope->swept = true;
    for (struct task_record *task = scope->tasks;
         task != NULL && core->options.mode == CORE_REPAIR && !MUTANT(NOSCOPESWEEP);
         task = task->scope_next) {
        if (task->position != 0 && task->chair != core->rank && !task->asked &&
            task->have == CORE_HAVE_NOTHING && task->own == CORE_OWN_NONE &&
            !task->lot && !task->owner_asked &&
            !roll_knows_holder(core, task, task->chair)) {
            /* A wait may have come for it since the scope rested. */
            ask_queue_forget(task);
            ask_send_motion(core, task, task->chair);
        }
    }
}

/* --- Telling the lowest member --------------------------------------------------- */

static bool is_told(const struct scope_record *scope, bool rests, bool ready)
{
    return scope->told_rests == rests && scope->told_ready == ready &&
           scope->told_swept == scope->swept && scope->told_sent == scope->sent &&
           scope->told_received == scope->received;
}

/* Says it once, and again when it has changed or is asked for. */
static void tell(struct core *core, struct scope_record *scope, bool rests, bool ready)
{
    uint64_t asked = scope->asked;
    if (asked == 0 && (!rests || is_told(scope, rests, ready))) {
        scope->told_rests = scope->told_rests && rests;
        return;
    }
    scope->asked = 0;
    scope->told_rests = rests;
    scope->told_ready = ready;
    scope->told_swept = scope->swept;
    scope->told_sent = scope->sent;
    scope->told_received = scope->received;
    const struct message_released said = {.what = asked != 0 ? RELEASED_ANSWER
                                                             : RELEASED_READY,
                                          .rests = rests,
                                          .ready = ready,
                                          .swept = scope->swept,
                                          .round = asked,
                                          .count = scope->count,
                                          .sum = scope->sum,
                                          .sent = scope->sent,
                                          .received = scope->received};
    uint32_t lowest = rankset_next(&core->members, 0);
    if (lowest == core->rank) {
        scope_take_account(core, scope, core->rank, &said);
    } else {
        scope_send(core, lowest, &scope->hash, said);
    }
}

void scope_on_ask(struct core *core, struct scope_record *scope, uint64_t round)
{
    assert(round > 0);
    scope->asked = round;
    scope->asked_after = core->reclaim.ended_ever;
    core->reclaim.asks_open = true;
    scope->rests = false;
    scope->cursor = NULL;
    scope_watch(core, scope);
    core->reclaim.scope_work = true;
}

bool scope_look(struct core *core, struct scope_record *scope)
{
    assert(!scope->dropping);
    bool ready;
    enum found found = look(core, scope, &ready);
    if (found == FOUND_NONE && scope->sweep_asked && !scope->swept) {
        sweep(core, scope);
        found = look(core, scope, &ready);
    }
    if (found == FOUND_NOT_YET) {
        core->reclaim.scope_work = true;
        return true;
    }
    tell(core, scope, found == FOUND_NONE, ready);
    return !ready && scope_is_closed_here(core, scope);
}
