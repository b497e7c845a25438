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
#include "consensus/state/core_state.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256, LOOKS_PER_STEP = 16 };

/* --- Marks of scopes that have ended --------------------------------------------- */

static size_t mark_slot(const uint64_t *marks, size_t room, uint64_t mark)
{
    size_t slot = (size_t)(mark * 0x9e3779b97f4a7c15u >> 20) & (room - 1);
    while (marks[slot] != 0 && marks[slot] != mark) {
        slot = (slot + 1) & (room - 1);
    }
    return slot;
}

bool mark_is_dropped(const struct core *core, uint64_t mark)
{
    return mark != 0 && core->mark_room > 0 &&
           core->marks[mark_slot(core->marks, core->mark_room, mark)] == mark;
}

static void mark_add(struct core *core, uint64_t mark)
{
    if (core->mark_count * 2 >= core->mark_room) {
        size_t room = core->mark_room ? core->mark_room * 2 : 64;
        uint64_t *marks = core_alloc(core, room * sizeof(*marks));
        if (marks == NULL) {
            return;
        }
        for (size_t i = 0; i < core->mark_room; i++) {
            if (core->marks[i] != 0) {
                marks[mark_slot(marks, room, core->marks[i])] = core->marks[i];
            }
        }
        free(core->marks);
        core->marks = marks;
        core->mark_room = room;
    }
    core->marks[mark_slot(core->marks, core->mark_room, mark)] = mark;
    core->mark_count++;
}

/* --- Records of scopes ----------------------------------------------------------- */

static struct scope **bucket_of(const struct core *core, uint64_t mark)
{
    return &core->scope_buckets[(mark * 0x9e3779b97f4a7c15u >> 32) % BUCKETS];
}

static struct scope *scope_find(const struct core *core, uint64_t mark)
{
    struct scope *scope =
        mark != 0 && core->scope_buckets != NULL ? *bucket_of(core, mark) : NULL;
    while (scope != NULL && scope->mark != mark) {
        scope = scope->bucket_next;
    }
    return scope;
}

/* Behind those that are watched already. */
static void watch_on(struct core *core, struct scope *scope)
{
    scope->watched = true;
    scope->watch_next = NULL;
    *(core->scopes_watched != NULL ? &core->watched_last->watch_next
                                   : &core->scopes_watched) = scope;
    core->watched_last = scope;
}

static struct scope *take_watched(struct core *core)
{
    struct scope *scope = core->scopes_watched;
    core->scopes_watched = scope->watch_next;
    scope->watched = false;
    return scope;
}

/* Something happened to it: it is the next to be looked at. */
void scope_watch(struct core *core, struct scope *scope)
{
    if (!scope->watched && !scope->dropping) {
        scope->watched = true;
        scope->watch_next = core->scopes_watched;
        if (core->scopes_watched == NULL) {
            core->watched_last = scope;
        }
        core->scopes_watched = scope;
    }
}

struct scope *scope_enter(struct core *core, uint64_t mark, const moot_hash *hash)
{
    if (core->scope_buckets == NULL) {
        core->scope_buckets = core_alloc(core, BUCKETS * sizeof(struct scope *));
        if (core->scope_buckets == NULL) {
            return NULL;
        }
    }
    struct scope *scope = scope_find(core, mark);
    if (scope != NULL) {
        return scope;
    }
    scope = memory_take(core, sizeof(*scope));
    if (scope == NULL) {
        return NULL;
    }
    scope->mark = mark;
    scope->hash = *hash;
    struct scope **bucket = bucket_of(core, mark);
    scope->bucket_next = *bucket;
    *bucket = scope;
    if (core->closed) {
        scope_watch(core, scope);
    }
    return scope;
}

/* The record goes, its mark stays. */
static void scope_end(struct core *core, struct scope *scope)
{
    struct scope **link = bucket_of(core, scope->mark);
    while (*link != scope) {
        link = &(*link)->bucket_next;
    }
    *link = scope->bucket_next;
    free(scope->tally);
    memory_give(core, scope, sizeof(*scope));
    core->stats.scopes_ended++;
}

void scope_release_all(struct core *core)
{
    for (size_t i = 0; core->scope_buckets != NULL && i < BUCKETS; i++) {
        for (struct scope *scope = core->scope_buckets[i]; scope != NULL;
             scope = scope->bucket_next) {
            free(scope->tally);
        }
    }
    free(core->scope_buckets);
    free(core->marks);
    free(core->ended);
}

void scope_add_task(struct scope *scope, struct task *task)
{
    task->scope = scope;
    task->scope_prev = NULL;
    task->scope_next = scope->tasks;
    if (scope->tasks != NULL) {
        scope->tasks->scope_prev = task;
    }
    scope->tasks = task;
    scope->touched = true;
}

/* --- What the program says ------------------------------------------------------- */

bool scope_is_closed_here(const struct core *core, const struct scope *scope)
{
    return scope->closed || core->closed;
}

bool scope_is_closed(const struct core *core, const struct task *task)
{
    return task->scope != NULL && scope_is_closed_here(core, task->scope);
}

bool core_forgotten(const struct core *core, const moot_hash *hash)
{
    return scope_is_dropped(core, hash);
}

bool core_scope_closed(const struct core *core, const moot_hash *hash)
{
    const struct scope *scope = scope_find(core, hash_scope(hash));
    return scope_is_dropped(core, hash) || (scope != NULL && scope->closed);
}

int scope_on_close(struct core *core, const moot_hash *hash)
{
    if (scope_is_dropped(core, hash)) {
        return MOOT_OK;
    }
    struct scope *scope = scope_of(core, hash);
    if (scope == NULL) {
        return core->broken ? MOOT_ERR_NO_MEMORY : MOOT_ERR_INVALID;
    }
    scope_watch(core, scope);
    if (scope->closed) {
        return MOOT_OK;
    }
    scope->closed = true;
    scope->hash = *hash;
    for (struct task *task = scope->tasks; task != NULL; task = task->scope_next) {
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
    struct scope *scope = error == MOOT_OK ? scope_find(core, hash_scope(hash)) : NULL;
    if (scope != NULL) {
        scope->released = true;
    }
    return error;
}

void scope_on_rank_close(struct core *core)
{
    for (size_t i = 0; core->scope_buckets != NULL && i < BUCKETS; i++) {
        for (struct scope *scope = core->scope_buckets[i]; scope != NULL;
             scope = scope->bucket_next) {
            scope_watch(core, scope);
        }
    }
}

/* --- Counting -------------------------------------------------------------------- */

/* What may lead to more; a CHASE or a RESOLVE acts on what is busy anyway. */
static bool counts(enum message_type type)
{
    return (type >= MESSAGE_MOTION && type <= MESSAGE_VERDICT) ||
           type == MESSAGE_CANCEL || (type == MESSAGE_LEAVE && !MUTANT(LEAVEUNCOUNTED));
}

static void touch(struct core *core, struct scope *scope)
{
    scope->touched = true;
    scope->rests = false;
    if (scope_is_closed_here(core, scope)) {
        scope_watch(core, scope);
    }
}

void scope_sent(struct core *core, struct task *task, enum message_type type)
{
    release_touch(core, task);
    task->said += counts(type);
    if (task->scope != NULL && counts(type)) {
        task->scope->sent++;
        touch(core, task->scope);
    }
}

void scope_received(struct core *core, struct task *task, const struct message *message)
{
    release_touch(core, task);
    task->heard += counts(message->type) && message->epoch == core->epoch;
    if (task->scope != NULL && counts(message->type) && message->epoch == core->epoch) {
        task->scope->received++;
        touch(core, task->scope);
    }
}

/* --- Messages -------------------------------------------------------------------- */

void scope_send(struct core *core, uint32_t to, const moot_hash *hash,
                struct message_released released)
{
    struct message *message = out_send(core, to, MESSAGE_RELEASED, NULL);
    if (message != NULL) {
        message->hash = *hash;
        message->u.released = released;
    }
}

void scope_late(struct core *core, uint32_t from, const struct message *message)
{
    core->stats.late++;
    bool asks = message->type == MESSAGE_MOTION || message->type == MESSAGE_SEEK ||
                message->type == MESSAGE_PULL || message->type == MESSAGE_DECISION ||
                message->type == MESSAGE_ACCEPT || message->type == MESSAGE_RELEASED;
    if (asks) {
        scope_send(core, from, &message->hash,
                   (struct message_released){.what = RELEASED_DROP});
    }
}

void scope_on_released(struct core *core, uint32_t from, const struct message *message)
{
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
    struct scope *scope = scope_of(core, &message->hash);
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
        touch(core, scope);
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
    if (core->member_count > 1 &&
        core_grow(core, &core->ended, &core->ended_room, core->ended_count + 1,
                  sizeof(*core->ended))) {
        core->ended[core->ended_count++] =
            (struct ended){mark, core->epoch, ++core->ended_ever, from_lowest};
    }
}

/* What the lowest member had told before it asked came to all before the question; and
 * they rest, so they have settled, and have heard what was told when they entered. */
void scope_all_answered(struct core *core, const struct scope *scope)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < core->ended_count; i++) {
        const struct ended *one = &core->ended[i];
        bool told = one->from_lowest || one->epoch < core->epoch;
        if (one->number > scope->asked_after || !told) {
            core->ended[kept++] = *one;
        }
    }
    core->ended_count = kept;
}

void scope_drop(struct core *core, struct scope *scope, bool alike, bool from_lowest)
{
    note_ended(core, scope->mark, from_lowest);
    scope->dropping = true;
    scope->alike = alike;
    mark_add(core, scope->mark);
    forget_begin(core, scope);
    scope->next = core->scopes_dropping;
    core->scopes_dropping = scope;
    core->forget_due = true;
}

/* --- Views ----------------------------------------------------------------------- */

static void reset(struct core *core, struct scope *scope)
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
    for (uint32_t i = 0; i < core->ended_count && !MUTANT(SCOPEDOUBT); i++) {
        tell_ended(core, rank, core->ended[i].mark);
    }
}

/* In a view that has settled all know, and in those before it. */
static void forget_ended(struct core *core)
{
    uint32_t kept = 0;
    uint64_t settled = core->past_count > 0 ? core->past[0].epoch : 0;
    for (uint32_t i = 0; i < core->ended_count; i++) {
        if (core->ended[i].epoch >= settled) {
            core->ended[kept++] = core->ended[i];
        }
    }
    core->ended_count = kept;
}

void scope_enter_view(struct core *core, const struct view *view)
{
    forget_ended(core);
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank && !core->large) {
            scope_tell_ended(core, rank);
        }
    }
    for (size_t i = 0; core->scope_buckets != NULL && i < BUCKETS; i++) {
        for (struct scope *scope = core->scope_buckets[i]; scope != NULL;
             scope = scope->bucket_next) {
            reset(core, scope);
        }
    }
    for (uint32_t i = 0; i < view->newcomer_count; i++) {
        uint32_t rank = view->newcomers[i].rank;
        for (size_t k = 0; k < core->mark_room && rank != core->rank; k++) {
            if (core->marks[k] != 0 && rankset_has(&core->members, rank)) {
                tell_ended(core, rank, core->marks[k]);
            }
        }
    }
}

/* --- The turn -------------------------------------------------------------------- */

/* Some of those that only wait for their consumers, in turn, and all that were asked
 * for. */
static void look_at_watched(struct core *core)
{
    struct scope *last = core->watched_last;
    for (uint32_t i = 0; core->scopes_watched != NULL; i++) {
        struct scope *scope = take_watched(core);
        if (!scope->dropping && scope_look(core, scope) && !scope->watched) {
            watch_on(core, scope);
        }
        if (scope == last || (i >= LOOKS_PER_STEP && !core->asks_open)) {
            break;
        }
    }
    core->asks_open = false;
}

void scope_forget(struct core *core)
{
    uint32_t budget = FORGET_PER_STEP;
    for (struct scope **link = &core->scopes_dropping; *link != NULL;) {
        struct scope *scope = *link;
        if (!forget_some(core, scope, &budget) && !scope->watched) {
            *link = scope->next;
            scope_end(core, scope);
        } else {
            link = &scope->next;
        }
    }
    core->forget_due = budget == 0;
}

void scope_turn(struct core *core)
{
    core->scope_work = false;
    if (core->epoch > 0 && core->scope_buckets != NULL) {
        look_at_watched(core);
    }
    core->scope_work |= core->forget_due;
}
