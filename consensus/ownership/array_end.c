/* array_end.c - the end of a task array, which waits for those of its elements.
 *
 * The task that stands for an array takes no inputs, and yet it may not run before all
 * elements have ended: they count as one more input that is missing
 * (PROTOCOL.md, A11).  Ranks tell their ends to its chair.  If another rank than that
 * is to run it the chair tells it when all have ended.  If one of them has been
 * cancelled so is the array, and its end waits for nothing else.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/state/state.h"

#include <assert.h>

/* This rank knows so as the chair, or from that. */
static bool knows_all(const struct task_record *task)
{
    return task_ext(task)->array != NULL && !array_is_open(task);
}

void graph_pass_end_on(struct core *core, struct task_record *task)
{
    assert(task->chair == core->rank);
    if (!knows_all(task) || task->rec == core->rank ||
        !rankset_has(&core->members, task->rec) || task->have != CORE_HAVE_NOTHING) {
        return;
    }
    const struct array_record *array = task_ext(task)->array;
    const struct range all = {0, array->spread.count};
    const struct array_failure first = array_first_fault(array);
    struct message *message = out_send(core, task->rec, MESSAGE_ELEMENTS, task);
    const struct range *ranges = out_copy_bytes(core, &all, sizeof(all));
    if (message != NULL && ranges != NULL) {
        message->u.elements = (struct message_elements){.what = ELEMENTS_ENDED,
                                                        .range_count = 1,
                                                        .ranges = ranges,
                                                        .failed = first.index_plus_one,
                                                        .status = first.status};
        array_put_homes(core, array, &message->u.elements);
    }
}

void graph_elements_ended(struct core *core, struct task_record *task)
{
    assert(hash_has(&task->hash, MOOT_HASH_ARRAY) && knows_all(task));
    if (task->own == CORE_OWN_WAIT && array_is_cancelled(task)) {
        graph_end_cancelled(core, task);
    } else if (task->own == CORE_OWN_WAIT) {
        assert(task->missing > 0);
        task->missing--;
        graph_start(core, task);
    } else if (task->chair == core->rank) {
        graph_pass_end_on(core, task);
    }
}
