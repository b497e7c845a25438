/* requests.c - what a chair keeps of a task that somebody asked for.
 *
 * Who asked and why, how long ago, who said that it never will hold the task, and the
 * ballot if it takes one.  Most tasks of agreeing ranks never have one: it is made on
 * demand.  Those without an owner stand on one list, oldest ask first, so that a chair
 * looks only at them when something that is evidence for all of them has changed; and,
 * by their demand bound, in a heap: when its lanes block it looks at those alone that
 * its roll has passed and that somebody is known to hold.  (A rank that is late may be
 * asked for thousands that it is yet to spawn, and wait at each.)
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct requests *requests_of(struct core *core, struct task_record *task)
{
    if (task->requests == NULL) {
        task->requests = memory_take(core, sizeof(*task->requests));
        if (task->requests != NULL) {
            task->requests->askers = task->requests->few;
            task->requests->asker_room = REQUESTS_FEW;
            task->requests->winner = NOBODY;
            task->requests->first_ask_ns = core->now_ns;
        }
    }
    return task->requests;
}

static bool grow(struct core *core, struct requests *requests)
{
    assert(requests->asker_count == requests->asker_room);
    struct asker *more = NULL;
    uint32_t room = 0;
    if (requests->askers != requests->few) {
        return core_grow(core, &requests->askers, &requests->asker_room,
                         requests->asker_count + 1, sizeof(*requests->askers));
    }
    if (!core_grow(core, &more, &room, requests->asker_count + 1, sizeof(*more))) {
        return false;
    }
    memcpy(more, requests->few, sizeof(requests->few));
    requests->askers = more;
    requests->asker_room = room;
    return true;
}

struct asker *requests_asker(struct core *core, struct requests *requests,
                             uint32_t rank)
{
    assert(rank < core->size && requests->asker_count <= requests->asker_room);
    for (uint32_t i = 0; i < requests->asker_count; i++) {
        if (requests->askers[i].rank == rank) {
            return &requests->askers[i];
        }
    }
    if (requests->asker_count == requests->asker_room && !grow(core, requests)) {
        return NULL;
    }
    struct asker *asker = &requests->askers[requests->asker_count++];
    *asker = (struct asker){.rank = rank, .need = NEED_NONE};
    return asker;
}

void requests_note(struct core *core, struct task_record *task, uint32_t from,
                   const struct message_motion *motion)
{
    assert(from < core->size);
    struct requests *requests = requests_of(core, task);
    struct asker *asker =
        requests != NULL ? requests_asker(core, requests, from) : NULL;
    if (asker == NULL) {
        return;
    }
    asker->holds |= motion->holds;
    asker->hint |= motion->hint;
    asker->want = motion->want > asker->want ? motion->want : asker->want;
    asker->need = motion->need < asker->need ? motion->need : asker->need;
    asker->len = motion->len;
    asker->waits = motion->wait;
    asker->told = false;
    if (task->rec == NOBODY || task->finder) { /* a finder's record is hearsay */
        undecided_add(core, task);
    }
}

void requests_take_back(struct core *core, struct task_record *task, uint32_t from)
{
    struct requests *requests = task->requests;
    for (uint32_t i = requests != NULL ? requests->asker_count : 0; i-- > 0;) {
        if (requests->askers[i].rank == from && !requests->askers[i].holds) {
            requests->askers[i] = requests->askers[--requests->asker_count];
        }
    }
    bool open = task->rec == NOBODY || task->finder; /* or it is accepted again */
    if (requests == NULL || !requests->undecided || !open) {
        return;
    }
    release_touch(core, task);
    undecided_remove(core, task);
    if (requests_is_wanted(requests) || requests->failing ||
        chair_has_choice(core, task)) {
        undecided_add(core, task); /* with the bound of those who wait still */
    }
    release_count(core, task);
}

/* --- By their bounds ------------------------------------------------------------- */

uint64_t requests_bound(const struct requests *requests)
{
    uint64_t bound = NEED_NONE;
    for (uint32_t i = 0; i < requests->asker_count; i++) {
        const struct asker *asker = &requests->askers[i];
        if (asker->want != WANT_NOTHING && asker->need < bound) {
            bound = asker->need;
        }
    }
    return bound;
}

static void put(struct bounds *bounds, uint32_t at, struct bound bound)
{
    assert(at < bounds->room && bound.task->requests != NULL);
    bounds->items[at] = bound;
    bound.task->requests->bound_at = at + 1;
}

/* Into a place that is free, or one above or below it. */
static void settle(struct bounds *bounds, uint32_t at, struct bound bound)
{
    assert(at < bounds->room);
    const struct bound *items = bounds->items;
    for (; at > 0 && items[(at - 1) / 2].need > bound.need; at = (at - 1) / 2) {
        put(bounds, at, items[(at - 1) / 2]);
    }
    for (uint32_t below = 2 * at + 1; below < bounds->count; below = 2 * at + 1) {
        below += below + 1 < bounds->count && items[below + 1].need < items[below].need;
        if (items[below].need >= bound.need) {
            break;
        }
        put(bounds, at, items[below]);
        at = below;
    }
    put(bounds, at, bound);
}

static void bound_remove(struct core *core, struct requests *requests)
{
    struct bounds *bounds = &core->ownership.bounds;
    if (requests->bound_at == 0) {
        return;
    }
    uint32_t at = requests->bound_at - 1;
    requests->bound_at = 0;
    if (--bounds->count > at) {
        settle(bounds, at, bounds->items[bounds->count]);
    }
}

static void bound_add(struct core *core, struct task_record *task)
{
    assert(task->requests->bound_at <= core->ownership.bounds.count);
    struct bounds *bounds = &core->ownership.bounds;
    const struct bound bound = {requests_bound(task->requests), task};
    if (task->requests->bound_at != 0) {
        settle(bounds, task->requests->bound_at - 1, bound);
    } else if (bound.need != NEED_NONE &&
               core_grow(core, &bounds->items, &bounds->room, bounds->count + 1,
                         sizeof(*bounds->items))) {
        settle(bounds, bounds->count++, bound);
    }
}

struct task_record **undecided_passed(struct core *core, uint64_t len, uint32_t *count)
{
    struct bounds *bounds = &core->ownership.bounds;
    const uint32_t all = bounds->count;
    while (bounds->count > 0 && bounds->items[0].need <= len) {
        const struct bound first = bounds->items[0];
        bound_remove(core, first.task->requests);
        bounds->items[bounds->count] = first; /* what was the last place is free */
    }
    *count = all - bounds->count;
    struct task_record **list =
        *count > 0 ? out_borrow(core, *count * sizeof(*list)) : NULL;
    *count = list != NULL ? *count : 0;
    for (uint32_t i = 0; i < *count; i++) {
        list[i] = bounds->items[all - 1 - i].task;
    }
    return list;
}

/* --- The list -------------------------------------------------------------------- */

void undecided_add(struct core *core, struct task_record *task)
{
    assert(task->rec == NOBODY || task->finder || task->requests->undecided);
    struct requests *requests = task->requests;
    bound_add(core, task);
    if (requests->undecided) {
        return;
    }
    release_touch(core, task);
    requests->undecided = true;
    requests->first_ask_ns = core->now_ns;
    requests->undecided_next = &core->ownership.undecided;
    requests->undecided_prev = core->ownership.undecided_requests.undecided_prev;
    requests->undecided_prev->requests->undecided_next = task;
    core->ownership.undecided_requests.undecided_prev = task;
}

void undecided_remove(struct core *core, struct task_record *task)
{
    struct requests *requests = task->requests;
    if (requests != NULL && requests->undecided) {
        bound_remove(core, requests);
        if (core->ownership.votes_tested == task) {
            core->ownership.votes_tested = requests->undecided_prev;
        }
        requests->undecided = false;
        requests->undecided_prev->requests->undecided_next = requests->undecided_next;
        requests->undecided_next->requests->undecided_prev = requests->undecided_prev;
    }
}
