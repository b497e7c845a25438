/* scope_table.c - the scopes that this rank has met, by mark: those that go on, and
 * what is left of those that have ended.
 *
 * A scope that goes on has a record (scope_record.h): its tasks, and how many messages
 * about them were said and heard in this epoch.  Records on the watch list are looked
 * at by the next steps.  An ended scope leaves its mark of eight bytes.  When a scope
 * ends is decided elsewhere (reclaim/scope.c).
 */
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

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
    return mark != 0 && core->state.mark_room > 0 &&
           core->state
                   .marks[mark_slot(core->state.marks, core->state.mark_room, mark)] ==
               mark;
}

void scope_mark_add(struct core *core, uint64_t mark)
{
    assert(mark != 0 && !mark_is_dropped(core, mark));
    if (core->state.mark_count * 2 >= core->state.mark_room) {
        size_t room = core->state.mark_room ? core->state.mark_room * 2 : 64;
        uint64_t *marks = core_alloc(core, room * sizeof(*marks));
        if (marks == NULL) {
            return;
        }
        for (size_t i = 0; i < core->state.mark_room; i++) {
            if (core->state.marks[i] != 0) {
                marks[mark_slot(marks, room, core->state.marks[i])] =
                    core->state.marks[i];
            }
        }
        free(core->state.marks);
        core->state.marks = marks;
        core->state.mark_room = room;
    }
    core->state.marks[mark_slot(core->state.marks, core->state.mark_room, mark)] = mark;
    core->state.mark_count++;
}

/* --- Records of scopes ----------------------------------------------------------- */

static struct scope_record **bucket_of(const struct core *core, uint64_t mark)
{
    return &core->state
                .scope_buckets[(mark * 0x9e3779b97f4a7c15u >> 32) % SCOPE_BUCKETS];
}

struct scope_record *scope_find(const struct core *core, uint64_t mark)
{
    struct scope_record *scope =
        mark != 0 && core->state.scope_buckets != NULL ? *bucket_of(core, mark) : NULL;
    while (scope != NULL && scope->mark != mark) {
        scope = scope->bucket_next;
    }
    return scope;
}

/* Behind those that are watched already. */
void scope_watch_last(struct core *core, struct scope_record *scope)
{
    assert(!scope->watched && !scope->dropping);
    scope->watched = true;
    scope->watch_next = NULL;
    *(core->state.scopes_watched != NULL ? &core->state.watched_last->watch_next
                                         : &core->state.scopes_watched) = scope;
    core->state.watched_last = scope;
}

struct scope_record *scope_watched_take(struct core *core)
{
    assert(core->state.scopes_watched != NULL);
    assert(core->state.scopes_watched->watched);
    struct scope_record *scope = core->state.scopes_watched;
    core->state.scopes_watched = scope->watch_next;
    scope->watched = false;
    return scope;
}

/* Something happened to it: it is the next to be looked at. */
void scope_watch(struct core *core, struct scope_record *scope)
{
    if (!scope->watched && !scope->dropping) {
        scope->watched = true;
        scope->watch_next = core->state.scopes_watched;
        if (core->state.scopes_watched == NULL) {
            core->state.watched_last = scope;
        }
        core->state.scopes_watched = scope;
    }
}

struct scope_record *scope_enter(struct core *core, uint64_t mark,
                                 const moot_hash *hash)
{
    assert(mark != 0 && mark == hash_scope(hash));
    if (core->state.scope_buckets == NULL) {
        core->state.scope_buckets =
            core_alloc(core, SCOPE_BUCKETS * sizeof(struct scope_record *));
        if (core->state.scope_buckets == NULL) {
            return NULL;
        }
    }
    struct scope_record *scope = scope_find(core, mark);
    if (scope != NULL) {
        return scope;
    }
    scope = memory_take(core, sizeof(*scope));
    if (scope == NULL) {
        return NULL;
    }
    scope->mark = mark;
    scope->hash = *hash;
    struct scope_record **bucket = bucket_of(core, mark);
    scope->bucket_next = *bucket;
    *bucket = scope;
    if (core->step.closed) {
        scope_watch(core, scope);
    }
    return scope;
}

/* The record goes, its mark stays. */
void scope_end(struct core *core, struct scope_record *scope)
{
    assert(scope->tasks == NULL && !scope->watched && scope->dropping);
    struct scope_record **link = bucket_of(core, scope->mark);
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
    for (size_t i = 0; core->state.scope_buckets != NULL && i < SCOPE_BUCKETS; i++) {
        for (struct scope_record *scope = core->state.scope_buckets[i]; scope != NULL;
             scope = scope->bucket_next) {
            free(scope->tally);
        }
    }
    free(core->state.scope_buckets);
    free(core->state.marks);
    free(core->reclaim.ended);
}

void scope_add_task(struct scope_record *scope, struct task_record *task)
{
    assert(task->scope == NULL && scope->mark == hash_scope(&task->hash));
    task->scope = scope;
    task->scope_prev = NULL;
    task->scope_next = scope->tasks;
    if (scope->tasks != NULL) {
        scope->tasks->scope_prev = task;
    }
    scope->tasks = task;
    scope->touched = true;
}

/* --- What is asked of a scope ---------------------------------------------------- */

bool scope_is_closed_here(const struct core *core, const struct scope_record *scope)
{
    return scope->closed || core->step.closed;
}

bool scope_is_closed(const struct core *core, const struct task_record *task)
{
    return task->scope != NULL && scope_is_closed_here(core, task->scope);
}

bool core_forgotten(const struct core *core, const moot_hash *hash)
{
    return scope_is_dropped(core, hash);
}

bool core_scope_closed(const struct core *core, const moot_hash *hash)
{
    const struct scope_record *scope = scope_find(core, hash_scope(hash));
    return scope_is_dropped(core, hash) || (scope != NULL && scope->closed);
}

void scope_on_rank_close(struct core *core)
{
    assert(core->step.closed);
    for (size_t i = 0; core->state.scope_buckets != NULL && i < SCOPE_BUCKETS; i++) {
        for (struct scope_record *scope = core->state.scope_buckets[i]; scope != NULL;
             scope = scope->bucket_next) {
            scope_watch(core, scope);
        }
    }
}

/* --- Counting -------------------------------------------------------------------- */

static bool counts(enum message_type type)
{
    return message_is(type, MESSAGE_IS_SCOPE) &&
           !(type == MESSAGE_LEAVE && MUTANT(LEAVEUNCOUNTED));
}

void scope_touch(struct core *core, struct scope_record *scope)
{
    assert(scope_find(core, scope->mark) == scope);
    scope->touched = true;
    scope->rests = false;
    if (scope_is_closed_here(core, scope)) {
        scope_watch(core, scope);
    }
}

void scope_sent(struct core *core, struct task_record *task, enum message_type type)
{
    release_touch(core, task);
    task->said += counts(type);
    if (task->scope != NULL && counts(type)) {
        task->scope->sent++;
        scope_touch(core, task->scope);
    }
}

void scope_received(struct core *core, struct task_record *task,
                    const struct message *message)
{
    release_touch(core, task);
    task->heard += counts(message->type) && message->epoch == core->epoch;
    if (task->scope != NULL && counts(message->type) && message->epoch == core->epoch) {
        task->scope->received++;
        scope_touch(core, task->scope);
    }
}
