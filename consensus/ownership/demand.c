/* demand.c - by when a task is needed, handed down to what it takes.
 *
 * The demand bound (T3, `need`): what a lane waits for is needed by its own position,
 * and what an owned task takes by the lesser of that task's bound and its own position.
 * So a need that comes, or falls, goes down the graph through what this rank owns, to
 * where others are asked.
 *
 * Chains are as long as the program makes them: each task of one hands its bound on to
 * its own inputs alone, and puts those on the agenda.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/state/state.h"

#include <assert.h>

/* What an owned task takes is needed by the position of what it takes already, which is
 * mostly before its own: only a need below that says more of it. */
HOT void demand_pass_on(struct core *core, struct task_record *task, uint64_t need,
                        bool remote)
{
    bool first_remote = remote && !task->demanded;
    if (need >= task->need && !first_remote) {
        return;
    }
    task->need = need < task->need ? need : task->need;
    task->demanded |= remote;
    bool says_more = task->need < task->position || task->late_input;
    if (task->own == CORE_OWN_WAIT && (first_remote || says_more)) {
        agenda_add(core, task, AGENDA_DEMAND);
    } else {
        ask_consider(core, task);
    }
}

HOT void demand_inputs(struct core *core, struct task_record *task)
{
    assert(task->own != CORE_OWN_WAIT || task->held);
    const struct edge *inputs = task_inputs(task);
    for (uint32_t i = 0; task->own == CORE_OWN_WAIT && i < task->input_count; i++) {
        struct task_record *from = inputs[i].from; /* NULL: forgotten */
        if (inputs[i].waiting) {
            uint64_t bound = MUTANT(NOBOUND) ? from->need : demand_of_input(from, task);
            demand_pass_on(core, from, bound, task->demanded);
        }
    }
}
