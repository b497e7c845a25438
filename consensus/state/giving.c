/* giving.c - what a leaver has given away and is not taken yet (PROTOCOL.md,
 * *Leaving*).
 *
 * A rank that leaves is ready when all that it gave has been taken: core->state.untaken
 * counts the tasks.  The count stands with the records, as a task that is forgotten is
 * waited for no more, and reclaim/ forgets it.
 */
#include "consensus/state/state.h"

#include <assert.h>

void giving_return(struct core *core, struct task_record *task)
{
    assert(core->membership.leave.going && task->own == CORE_OWN_NONE);
    assert(!task->returning);
    task->returning = true;
    core->state.untaken++;
}

void giving_hand_over(struct core *core, struct task_record *task)
{
    assert(core->membership.leave.going && task->have == CORE_HAVE_DATA);
    assert(!task->handing);
    task->handing = true;
    core->state.untaken++;
}

void giving_end(struct core *core, struct task_record *task)
{
    assert(core->state.untaken >= (uint64_t)task->handing + task->returning);
    core->state.untaken -= (uint64_t)task->handing + task->returning;
    task->handing = task->returning = false;
}
