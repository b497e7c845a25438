/* docket.c - what a chair keeps of a task that somebody asked for.
 *
 * Who asked and why, how long ago, who said that it never will hold the task, and the
 * ballot if it takes one.  Most tasks of agreeing ranks never have one: it is made on
 * demand.  Those without an owner stand on one list, oldest ask first, so that a chair
 * looks only at them when something that is evidence for all of them has changed.
 */
#include "consensus/internal.h"

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

void undecided_add(struct core *core, struct task *task)
{
    struct docket *docket = task->docket;
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

void undecided_remove(struct task *task)
{
    struct docket *docket = task->docket;
    if (docket != NULL && docket->undecided) {
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
