/* cancel_all.c - an array is cancelled (A14).
 *
 * A cancel of an array comes to its chair as that of a task does (ownership/cancel.c).
 * Here the chair does not tell the owner of the end, but all members: none of them
 * begins an element any more.  What a rank has and has not begun ends cancelled, as its
 * host says, and the rank tells of that as of any end.  A home that has not spawned the
 * array gives its stretch up, and what is nobody's is as good as ended.  So the end
 * comes when the last element that had begun has ended, and costs each rank two words.
 *
 * The rank that cancels tells the chair ahead of it that it holds the array: a chair
 * that knows no card could not tell of the rest.
 */
#include "consensus/elements/elements_private.h"

#include "consensus/ownership/ownership.h"

#include <assert.h>

void elements_cancel_begin(struct core *core, struct task_record *task)
{
    struct array_record *array = task_ext(task)->array;
    if (array != NULL && array->begun && !is_over(task)) {
        say_card(core, array);
    }
    cancel_begin(core, task);
    elements_cancel(core, task);
}

static void tell_all_members(struct core *core, struct array_record *array)
{
    assert(!array->cancel_said && array->task->chair == core->rank);
    array->cancel_said = !MUTANT(ARRAYCANCELAGAIN);
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank) {
            cancel_send(core, rank, array->task);
        }
    }
    keeper_cancel(core, array);
}

/* Nothing of it begins here. */
static void drop_own(struct core *core, struct array_record *array)
{
    if (array->left.count == 0 || array->dropping) {
        return;
    }
    array->dropping = true;
    struct core_output *output = out_add(core, CORE_OUT_CANCEL, array->task);
    if (output != NULL) {
        output->u.cancel.by = task_ext(array->task)->canceller;
    }
}

void elements_cancel(struct core *core, struct task_record *task)
{
    struct array_record *array = task_ext(task)->array;
    if (array == NULL || core->broken || is_over(task) || !array_is_open(task) ||
        !cancel_is_agreed(core, task) || task->frozen) {
        return;
    }
    if (task->chair == core->rank && !array->cancel_said) {
        tell_all_members(core, array);
    }
    drop_own(core, array);
}
