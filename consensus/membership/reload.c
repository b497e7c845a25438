/* reload.c - all go back to what a snapshot holds: a view begins with no task known.
 *
 * PROTOCOL.md, *Reload*.  A meeting has agreed on it, and its mark is durable
 * (meeting/).  Who enters the view that says so forgets every task, each room for
 * itself, before anything of that view is said or taken.  Rule E keeps what was said
 * before away from what comes after.  A rank that has closed still knows which once
 * tasks it has owned (R5).
 */
#include "consensus/membership/membership_private.h"

#include "consensus/elements/elements.h"
#include "consensus/gossip/gossip.h"
#include "consensus/meeting/meeting.h"
#include "consensus/ownership/ownership.h"
#include "consensus/reclaim/reclaim.h"
#include "consensus/signature/signature.h"
#include "consensus/state/state.h"
#include "consensus/termination/termination.h"

#include <assert.h>
#include <stdlib.h>

bool reload_begins(const struct core *core, const struct view *view)
{
    return view->reload.generation > core->reload.generation;
}

/* All wait for it, this rank is the first in line, and no death is told of, with which
 * others might come. */
bool reload_hurries(const struct core *core)
{
    const struct core_membership *membership = &core->membership;
    bool calm = meeting_reload_is_due(core) &&
                rankset_next(&membership->committee, 0) == core->rank;
    FOR_MEMBERS(core, rank)
    {
        calm = calm && !rankset_has(&membership->dead, rank) &&
               !rankset_has(&membership->suspects, rank);
    }
    return calm;
}

void reload_begin(struct core *core, const struct view *view)
{
    assert(view->epoch > core->epoch && reload_begins(core, view));
    const bool newcomer = core->epoch == 0;
    core->reload = view->reload;
    core->reload_epoch = view->epoch;
    core->reload_behind = newcomer ? 0 : view->epoch - 1;
    if (newcomer) {
        meeting_reload_before(core); /* it has nothing to forget */
    }
    if (newcomer || MUTANT(RELOADKEPT)) {
        return;
    }
    if (core->step.closed) {
        once_keep_all(core);
    } else {
        once_drop_kept(core); /* its disk is read (R5) */
    }
    meeting_reload(core); /* the program hears of it before tasks are forgotten */
    reclaim_forget_all(core);
    ownership_forget_all(core);
    elements_forget_all(core);
    termination_forget_all(core);
    gossip_forget_all(core);
    signature_forget_all(core);
    state_forget_all(core);
    losses_forget(core);
    once_bring_back(core, core->reload_behind);
}
