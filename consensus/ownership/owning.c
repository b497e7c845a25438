/* owning.c - a rank hears from a task's chair that it is the owner (DECISION).
 *
 * The word names those who have asked, whom the owner is to answer.  Who has the result
 * already, because the owner before it has left, serves them with its copy.
 */
#include "consensus/ownership/ownership_private.h"

#include <assert.h>

static void serve_copy(struct core *core, struct task_record *task,
                       const struct message_decision *decision)
{
    assert(task->have == CORE_HAVE_DATA && task->own == CORE_OWN_NONE);
    for (size_t i = 0; i < decision->asker_count; i++) {
        const struct message_asker *asker = &decision->askers[i];
        if (rankset_has(&core->members, asker->rank) && asker->rank != core->rank) {
            graph_send_result(core, task, asker->rank, asker->want);
        }
    }
}

bool owning_on_decision(struct core *core, uint32_t from, struct task_record *task,
                        const struct message_decision *decision)
{
    assert(from != core->rank && rankset_has(&core->members, from));
    if (task->own == CORE_OWN_NONE && task->have == CORE_HAVE_DATA) {
        serve_copy(core, task, decision); /* its owner has left; we have the bytes */
        return false;
    }
    if (!task->held ||
        (task->own == CORE_OWN_NONE && task->have != CORE_HAVE_NOTHING)) {
        core->stats.violations +=
            !task->returned; /* sent before the return was heard */
        return false;
    }
    out_note(core, CORE_POINT_DECISION_RECV, task, from, EVIDENCE_NONE);
    uint64_t need = NEED_NONE;
    for (size_t i = 0; i < decision->asker_count; i++) {
        const struct message_asker *told = &decision->askers[i];
        if (!rankset_has(&core->members, told->rank) || told->rank == core->rank) {
            continue;
        }
        struct requests *requests = requests_of(core, task);
        struct asker *asker =
            requests != NULL ? requests_asker(core, requests, told->rank) : NULL;
        if (asker == NULL) {
            return false;
        }
        asker->want = told->want > asker->want ? told->want : asker->want;
        asker->told = false;
        need = told->need < need ? told->need : need;
    }
    demand_pass_on(core, task, need, decision->asker_count > 0);
    task->seen |= decision->seen;
    task->suspect |= decision->alone;
    cancel_on_decision(core, task, decision);
    return true;
}

void owning_begin(struct core *core, struct task_record *task, enum evidence evidence)
{
    assert(task->held);
    if (task->own == CORE_OWN_NONE) {
        core->stats.owned_by_decision++;
        graph_own(core, task, evidence);
    }
    graph_answer(core, task);
}
