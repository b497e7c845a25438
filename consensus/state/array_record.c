/* array_record.c - see array_record.h. */
#include "consensus/state/array_record.h"

#include "consensus/state/state.h"

#include <stdlib.h>

void array_record_free(struct array_record *array)
{
    if (array == NULL) {
        return;
    }
    array->prev->next = array->next;
    array->next->prev = array->prev;
    range_set_release(&array->mine);
    range_set_release(&array->left);
    range_set_release(&array->told);
    range_set_release(&array->given_up);
    range_set_release(&array->ended);
    range_set_release(&array->owned);
    range_set_release(&array->spare);
    rankset_release(&array->holders);
    rankset_release(&array->to_tell);
    rankset_release(&array->asked);
    rankset_release(&array->asked_quiet);
    free(array);
}

bool array_is_open(const struct task_record *task)
{
    const struct array_record *array = task_ext(task)->array;
    return array != NULL &&
           !range_set_covers(&array->ended, (struct range){0, array->spread.count});
}

bool array_runs_here(const struct task_record *task)
{
    const struct array_record *array = task_ext(task)->array;
    return array != NULL && array->left.count > 0;
}

int32_t array_status(const struct task_record *task)
{
    const struct array_record *array = task_ext(task)->array;
    return array != NULL ? array->first_fault.status : MOOT_OK;
}

bool array_is_cancelled(const struct task_record *task)
{
    return array_status(task) == MOOT_ERR_CANCELLED && !array_is_open(task);
}
