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
#include "consensus/state/core_state.h"

#include <stdlib.h>
#include <string.h>

struct docket *docket_of(struct core *core, struct task *task)
{
    if (task->docket == NULL) {
        task->docket = memory_take(core, sizeof(*task->docket));
        if (task->docket != NULL) {
            task->docket->askers = task->docket->few;
            task->docket->asker_room = DOCKET_FEW;
            task->docket->winner = NOBODY;
            task->docket->first_ask_ns = core->now_ns;
        }
    }
    return task->docket;
}

void docket_release(struct core *core, struct docket *docket)
{
    if (docket == NULL) {
        return;
    }
    if (docket->askers != docket->few) {
        free(docket->askers);
    }
    rankset_release(&docket->never);
    rankset_release(&docket->acks);
    memory_give(core, docket, sizeof(*docket));
}

static bool grow(struct core *core, struct docket *docket)
{
    struct asker *more = NULL;
    uint32_t room = 0;
    if (docket->askers != docket->few) {
        return core_grow(core, &docket->askers, &docket->asker_room,
                         docket->asker_count + 1, sizeof(*docket->askers));
    }
    if (!core_grow(core, &more, &room, docket->asker_count + 1, sizeof(*more))) {
        return false;
    }
    memcpy(more, docket->few, sizeof(docket->few));
    docket->askers = more;
    docket->asker_room = room;
    return true;
}

struct asker *docket_asker(struct core *core, struct docket *docket, uint32_t rank)
{
    for (uint32_t i = 0; i < docket->asker_count; i++) {
        if (docket->askers[i].rank == rank) {
            return &docket->askers[i];
        }
    }
    if (docket->asker_count == docket->asker_room && !grow(core, docket)) {
        return NULL;
    }
    struct asker *asker = &docket->askers[docket->asker_count++];
    *asker = (struct asker){.rank = rank, .need = NEED_NONE};
    return asker;
}

/* --- By their bounds ------------------------------------------------------------- */

uint64_t docket_bound(const struct docket *docket)
{
    uint64_t bound = NEED_NONE;
    for (uint32_t i = 0; i < docket->asker_count; i++) {
        const struct asker *asker = &docket->askers[i];
        if (asker->want != WANT_NOTHING && asker->need < bound) {
            bound = asker->need;
        }
    }
    return bound;
}

static void put(struct bounds *bounds, uint32_t at, struct bound bound)
{
    bounds->items[at] = bound;
    bound.task->docket->bound_at = at + 1;
}

/* Into a place that is free, or one above or below it. */
static void settle(struct bounds *bounds, uint32_t at, struct bound bound)
{
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

static void bound_remove(struct core *core, struct docket *docket)
{
    struct bounds *bounds = &core->bounds;
    if (docket->bound_at == 0) {
        return;
    }
    uint32_t at = docket->bound_at - 1;
    docket->bound_at = 0;
    if (--bounds->count > at) {
        settle(bounds, at, bounds->items[bounds->count]);
    }
}

static void bound_add(struct core *core, struct task *task)
{
    struct bounds *bounds = &core->bounds;
    const struct bound bound = {docket_bound(task->docket), task};
    if (task->docket->bound_at != 0) {
        settle(bounds, task->docket->bound_at - 1, bound);
    } else if (bound.need != NEED_NONE &&
               core_grow(core, &bounds->items, &bounds->room, bounds->count + 1,
                         sizeof(*bounds->items))) {
        settle(bounds, bounds->count++, bound);
    }
}

struct task **undecided_passed(struct core *core, uint64_t len, uint32_t *count)
{
    struct bounds *bounds = &core->bounds;
    const uint32_t all = bounds->count;
    while (bounds->count > 0 && bounds->items[0].need <= len) {
        const struct bound first = bounds->items[0];
        bound_remove(core, first.task->docket);
        bounds->items[bounds->count] = first; /* what was the last place is free */
    }
    *count = all - bounds->count;
    struct task **list = *count > 0 ? out_borrow(core, *count * sizeof(*list)) : NULL;
    *count = list != NULL ? *count : 0;
    for (uint32_t i = 0; i < *count; i++) {
        list[i] = bounds->items[all - 1 - i].task;
    }
    return list;
}

bool undecided_hold(const struct core *core)
{
    const struct bounds *bounds = &core->bounds;
    for (uint32_t i = 0; i < bounds->count; i++) {
        const struct bound *bound = &bounds->items[i];
        const struct docket *docket = bound->task->docket;
        if (!docket->undecided || docket->bound_at != i + 1 ||
            bounds->items[i > 0 ? (i - 1) / 2 : 0].need > bound->need) {
            return false;
        }
    }
    for (const struct task *task = core->undecided_docket.undecided_next;
         task != &core->undecided; task = task->docket->undecided_next) {
        const struct docket *docket = task->docket;
        const uint64_t bound = docket_bound(docket);
        /* What it holds itself it claims as soon as it may. */
        bool elsewhere = core->closed || task->held ||
                         (!task->finder && !chair_has_holder(core, task));
        bool found = docket->bound_at != 0
                         ? bounds->items[docket->bound_at - 1].need <= bound
                         : bound == NEED_NONE || elsewhere;
        if (!found) {
            return false;
        }
    }
    return true;
}

/* --- The list -------------------------------------------------------------------- */

void undecided_add(struct core *core, struct task *task)
{
    struct docket *docket = task->docket;
    bound_add(core, task);
    if (docket->undecided) {
        return;
    }
    drop_touch(core, task);
    docket->undecided = true;
    docket->first_ask_ns = core->now_ns;
    docket->undecided_next = &core->undecided;
    docket->undecided_prev = core->undecided_docket.undecided_prev;
    docket->undecided_prev->docket->undecided_next = task;
    core->undecided_docket.undecided_prev = task;
}

void undecided_remove(struct core *core, struct task *task)
{
    struct docket *docket = task->docket;
    if (docket != NULL && docket->undecided) {
        bound_remove(core, docket);
        if (core->votes_tested == task) {
            core->votes_tested = docket->undecided_prev;
        }
        docket->undecided = false;
        docket->undecided_prev->docket->undecided_next = docket->undecided_next;
        docket->undecided_next->docket->undecided_prev = docket->undecided_prev;
    }
}

bool docket_is_wanted(const struct docket *docket)
{
    for (uint32_t i = 0; i < docket->asker_count; i++) {
        if (docket->askers[i].want != WANT_NOTHING) {
            return true;
        }
    }
    return false;
}

bool docket_is_open(const struct core *core, const struct task *task)
{
    const struct docket *docket = task->docket;
    return docket != NULL &&
           (docket->balloting || (docket->undecided && (docket_is_wanted(docket) ||
                                                        chair_has_holder(core, task))));
}
