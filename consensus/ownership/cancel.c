/* cancel.c - the way of a cancel to whoever decides.
 *
 * PROTOCOL.md, "Cancel".  A task ends cancelled if its owner has not started it; so the
 * owner decides, and what it says is a result like any other.  What has to be seen to
 * is that it hears of the cancel, wherever it is and whoever it will be:
 *
 *   program --event--> any rank --CANCEL--> [finder] --CANCEL--> chair --> owner
 *
 * The chair is told, because it alone knows the owner.  Where there is none yet the
 * cancel waits with the chair: a claim then ends the task at once, and a DECISION tells
 * the winner that it has been cancelled.  A finder seeks a holder, who knows the
 * candidates, and passes it on.
 *
 * Nothing crosses epochs.  Each rank that knows of a cancel remembers it until it knows
 * how the task ended, and tells the chair of each new view; so a cancel is lost only
 * with all who knew of it.
 *
 * A result that somebody has taken, or has heard of, stays: if it is made again because
 * its bytes are gone, that is not a task that could be cancelled (`seen`).  Only the
 * chair knows that, from the reports; so an owner obeys its chair, and not its own
 * program.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/state/state.h"

#include <assert.h>

static bool has_ended(const struct task_record *task)
{
    return task->own == CORE_OWN_DONE || task->have != CORE_HAVE_NOTHING ||
           task_ends_with(task) != 0;
}

static bool is_array(const struct task_record *task)
{
    return hash_has(&task->hash, MOOT_HASH_ARRAY) && !MUTANT(ARRAYALONE);
}

/* Its chair has decided so: its owner ends it, or whoever has its elements these. */
static void take_order(struct core *core, struct task_record *task)
{
    task->cancel_told = true;
    if (is_array(task)) {
        task->cancel_agreed = true;
    } else {
        graph_cancel_own(core, task, task_ext(task)->canceller);
    }
}

bool cancel_is_agreed(const struct core *core, const struct task_record *task)
{
    bool agreed = task->chair == core->rank ? !task->finder : task->cancel_agreed;
    return agreed && task_ext(task)->canceller != NOBODY && !task->seen;
}

void cancel_send(struct core *core, uint32_t to, struct task_record *task)
{
    assert(to != core->rank && task_ext(task)->canceller != NOBODY);
    struct message *message = out_send(core, to, MESSAGE_CANCEL, task);
    if (message != NULL) {
        message->u.cancel.by = task_ext(task)->canceller;
    }
}

/* Its chair: where there is no owner yet it waits for one, and one that has left has a
 * result, or never will. */
static void tell_owner(struct core *core, struct task_record *task)
{
    assert(task->chair == core->rank && !task->finder);
    if (task->frozen || task->seen || task->rec == NOBODY || is_array(task)) {
        return; /* an array's chair tells more than its owner (elements/cancel_all.c) */
    }
    if (task->rec == core->rank) {
        graph_cancel_own(core, task, task_ext(task)->canceller);
    } else if (rankset_has(&core->members, task->rec)) {
        task->cancel_told = true;
        cancel_send(core, task->rec, task);
    }
}

static void seek_holder(struct core *core, struct task_record *task)
{
    assert(task->finder && task->own == CORE_OWN_NONE);
    if (requests_of(core, task) != NULL) {
        agenda_add(core, task, AGENDA_TEST);
    }
}

void cancel_pass_on(struct core *core, struct task_record *task)
{
    bool gone = task->chair == NOBODY || reclaim_is_leaving(core, task);
    if (task_ext(task)->canceller == NOBODY || has_ended(task) || gone ||
        task->cancel_told) {
        return;
    }
    if (task->chair != core->rank) {
        task->cancel_told = true;
        cancel_send(core, task->chair, task);
    } else if (task->finder && !MUTANT(CANCELFINDER)) {
        seek_holder(core, task);
    } else {
        tell_owner(core, task);
    }
}

void cancel_enter_view(struct core *core, struct task_record *task)
{
    if (!MUTANT(CANCELONCE)) {
        cancel_pass_on(core, task);
    }
}

static void remember(struct core *core, struct task_record *task, uint32_t by)
{
    assert(by < core->size || by == NOBODY);
    if (task_ext(task)->canceller == NOBODY) {
        task_ext_get(core, task)->canceller = by;
    }
}

void cancel_begin(struct core *core, struct task_record *task)
{
    if (!has_ended(task)) {
        remember(core, task, core->rank);
        cancel_pass_on(core, task);
    }
}

/* From its chair it is an order; from anybody else it is one to pass on. */
void cancel_on_cancel(struct core *core, uint32_t from, struct task_record *task,
                      const struct message_cancel *cancel)
{
    assert(from != core->rank && from < core->size);
    if (has_ended(task)) {
        return;
    }
    remember(core, task, cancel->by);
    if (from != task->chair || task->finder) {
        cancel_pass_on(core, task);
    } else {
        take_order(core, task);
    }
}

void cancel_on_decision(struct core *core, struct task_record *task,
                        const struct message_decision *decision)
{
    task->cancel_agreed = decision->cancelled_by != 0 && !MUTANT(CANCELALONE);
    if (task->cancel_agreed) {
        remember(core, task, decision->cancelled_by - 1);
        take_order(core, task);
    }
}
