/* notify.c - telling an owner who waits for its result (T6).
 *
 * Once a chair has decided, whoever asks is served: by the owner, which hears of every
 * new asker by a DECISION, or, if it has left, by who has a copy of the bytes.  The
 * same message tells a winner that it has won, so it is repeated whenever the winner
 * asks, and in each new view while its result has not been seen.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/state/state.h"

#include <assert.h>

/* Who is to answer for the record: its owner, or one that has a copy. */
static uint32_t server_of(const struct core *core, const struct task_record *task)
{
    if (rankset_has(&core->members, task->rec) || task_ext(task)->recovery == NULL) {
        return task->rec;
    }
    FOR_MEMBERS(core, rank)
    {
        if (rankset_has(&task_ext(task)->recovery->at, rank)) {
            return rank;
        }
    }
    return task->rec;
}

static void send_decision(struct core *core, struct task_record *task,
                          const struct message_asker *askers, size_t count)
{
    assert(task->chair == core->rank && task->rec < core->size);
    struct message *message =
        out_send(core, server_of(core, task), MESSAGE_DECISION, task);
    if (message == NULL) {
        return;
    }
    message->u.decision =
        (struct message_decision){.evidence = (enum evidence)task->evidence,
                                  .askers = askers,
                                  .asker_count = count};
    message->u.decision.seen = task->seen && !MUTANT(SEENALONE);
    message->u.decision.alone = task->suspect && !MUTANT(SUSPECTUNTOLD);
    if (cancel_is_agreed(core, task)) {
        message->u.decision.cancelled_by = task_ext(task)->canceller + 1;
        task->cancel_told = true;
    }
    out_note(core, CORE_POINT_DECISION_SENT, task, task->rec,
             (enum evidence)task->evidence);
    graph_pass_end_on(core, task);
}

/* A decision that was under way when its addressee entered this view is lost, and who
 * waits for nothing asks for none (T6). */
void notify_decide_again(struct core *core, struct task_record *task)
{
    if (task->chair == core->rank && !task->finder && !task->frozen &&
        task->rec != core->rank && rankset_has(&core->members, task->rec) &&
        task->have == CORE_HAVE_NOTHING && !MUTANT(FWDNOTDEC)) {
        send_decision(core, task, NULL, 0);
    }
}

/* The owner has left, and this rank has the bytes. */
static void answer_with_copy(struct core *core, struct task_record *task)
{
    assert(task->have == CORE_HAVE_DATA && task->own == CORE_OWN_NONE);
    struct requests *requests = task->requests;
    for (uint32_t i = 0; requests != NULL && i < requests->asker_count; i++) {
        struct asker *asker = &requests->askers[i];
        if (!asker->told && asker->want != WANT_NOTHING && asker->rank != core->rank) {
            graph_send_result(core, task, asker->rank, asker->want);
        }
        asker->told = true;
    }
}

void notify_askers(struct core *core, struct task_record *task, bool fresh)
{
    assert(task->chair == core->rank && task->rec != NOBODY);
    struct requests *requests = task->requests;
    if (task->rec == core->rank) {
        graph_answer(core, task);
        return;
    }
    if (!rankset_has(&core->members, task->rec) && task->have == CORE_HAVE_DATA) {
        answer_with_copy(core, task);
        return;
    }
    assert(requests != NULL);
    struct message_asker *told =
        out_borrow(core, (requests->asker_count + 1) * sizeof(*told));
    if (told == NULL) {
        return;
    }
    size_t count = 0;
    for (uint32_t i = 0; i < requests->asker_count; i++) {
        struct asker *asker = &requests->askers[i];
        if (asker->told) {
            continue;
        }
        asker->told = true;
        if (asker->rank == task->rec) {
            fresh = true; /* the winner asks: it must hear that it is the winner */
        } else if (asker->want != WANT_NOTHING && !MUTANT(FORGETASKERS)) {
            told[count++] =
                (struct message_asker){asker->rank, asker->want, asker->need};
        }
    }
    if (fresh || (count > 0 && !MUTANT(DECIDEONCE))) {
        send_decision(core, task, told, count);
    }
}
