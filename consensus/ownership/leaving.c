/* leaving.c - what a rank that leaves may still come to own (PROTOCOL.md, *Leave*). */
#include "consensus/ownership/ownership_private.h"

#include "consensus/gossip/gossip.h"

#include <assert.h>

bool leave_another_may_run(const struct core *core, const struct task_record *task)
{
    assert(core->membership.leave.going);
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank && !rankset_has(&core->membership.leavers, rank) &&
            (task->candidates == NULL || rankset_has(task->candidates, rank)) &&
            roll_knows_holder(core, task, rank)) {
            return true;
        }
    }
    return false;
}

bool leave_forbids_claim(const struct core *core, const struct task_record *task)
{
    if (!core->membership.leave.going || MUTANT(LEAVECLAIM)) {
        return false;
    }
    return core->membership.leave.ready || leave_another_may_run(core, task);
}
