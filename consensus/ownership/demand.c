/* demand.c - by when a task is needed, handed down to what it takes.
 *
 * The demand bound (T3, `need`): what a lane waits for is needed by its own position,
 * and what an owned task takes by the lesser of that task's bound and its own position.
 * So a need that comes, or falls, goes down the graph through what this rank owns, to
 * where others are asked.
 *
 * Chains are as long as the program makes them: this works through a list instead of
 * calling itself.  To ask may be to claim, where this rank is the chair itself, and who
 * claims a task asks for what that takes: a few claims may stand one within the other,
 * and what comes below goes onto the list.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/state/state.h"

enum { ASKS_WITHIN_MAX = 64 };

static uint64_t input_bound(const struct task_record *from,
                            const struct task_record *to)
{
    return from->position < to->need ? from->position : to->need;
}

static bool visit(struct core *core, struct task_record *task)
{
    if (task->visiting) {
        return true;
    }
    if (!core_grow(core, &core->ownership.visits, &core->ownership.visit_room,
                   core->ownership.visit_count + 1, sizeof(struct task_record *))) {
        return false;
    }
    task->visiting = true;
    core->ownership.visits[core->ownership.visit_count++] = task;
    return true;
}

static void lower(struct task_record *from, uint64_t bound, bool demanded)
{
    from->need = bound < from->need ? bound : from->need;
    from->demanded |= demanded;
}

/* What has come onto the list since it was so long. */
static void work_off(struct core *core, uint32_t begin)
{
    core->ownership.asks_within++;
    while (core->ownership.visit_count > begin && !core->broken) {
        struct task_record *task =
            core->ownership.visits[--core->ownership.visit_count];
        task->visiting = false;
        if (task->needs_done + task->needs_data > 0 && task->own == CORE_OWN_NONE) {
            ask_consider(core, task);
        }
        const struct edge *inputs = task_inputs(task);
        for (uint32_t i = 0; task->own == CORE_OWN_WAIT && i < task->input_count; i++) {
            struct task_record *from = inputs[i].from; /* NULL: forgotten */
            if (!inputs[i].waiting) {
                continue;
            }
            uint64_t bound = MUTANT(NOBOUND) ? from->need : input_bound(from, task);
            if (bound >= from->need && (!task->demanded || from->demanded)) {
                continue;
            }
            lower(from, bound, task->demanded);
            if (!visit(core, from)) {
                break;
            }
        }
    }
    core->ownership.asks_within--;
}

/* What an owned task takes is needed by the position of what it takes already, which is
 * mostly before its own: only a need below that says more of it. */
HOT void demand_pass_on(struct core *core, struct task_record *task, uint64_t need,
                        bool remote)
{
    bool first_remote = remote && !task->demanded;
    if (need >= task->need && !first_remote) {
        return;
    }
    lower(task, need, remote);
    bool says_more = task->need < task->position || task->late_input;
    if (task->own == CORE_OWN_WAIT && (first_remote || says_more)) {
        uint32_t begin = core->ownership.visit_count;
        if (visit(core, task)) {
            work_off(core, begin);
        }
    } else if (task->own == CORE_OWN_NONE && task->needs_done + task->needs_data > 0) {
        ask_consider(core, task);
    }
}

HOT void demand_inputs(struct core *core, struct task_record *task)
{
    const struct edge *inputs = task_inputs(task);
    const bool deep = core->ownership.asks_within >= ASKS_WITHIN_MAX;
    const uint32_t begin = core->ownership.visit_count;
    core->ownership.asks_within += !deep;
    for (uint32_t i = 0; i < task->input_count; i++) {
        struct task_record *from = inputs[i].from;
        if (!inputs[i].waiting) { /* a verdict may have ended it meanwhile */
            continue;
        }
        uint64_t bound = input_bound(from, task);
        if (!deep) {
            demand_pass_on(core, from, bound, task->demanded);
            ask_consider(core, from);
            continue;
        }
        lower(from, bound, task->demanded);
        if (!visit(core, from)) {
            return;
        }
    }
    core->ownership.asks_within -= !deep;
    if (core->ownership.asks_within == 0) {
        work_off(core, begin);
    }
}

bool core_needs_hold(const struct core *core)
{
    for (struct task_record *task = core->ownership.unfinished.at.next;
         task != &core->ownership.unfinished; task = task->at.next) {
        const struct edge *inputs = task_inputs(task);
        for (uint32_t i = 0; task->own == CORE_OWN_WAIT && i < task->input_count; i++) {
            const struct task_record *from = inputs[i].from;
            if (inputs[i].waiting && (from->need > input_bound(from, task) ||
                                      (task->demanded && !from->demanded))) {
                return false;
            }
        }
    }
    return undecided_hold(core);
}
