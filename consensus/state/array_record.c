/* array_record.c - see array_record.h. */
#include "consensus/state/array_record.h"

#include "consensus/state/state.h"

#include <stdlib.h>

void array_record_free(struct core *core, struct array_record *array)
{
    if (array == NULL) {
        return;
    }
    array->prev->next = array->next;
    array->next->prev = array->prev;
    rankset_release(&array->homes);
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
    rankset_release(&array->asked_held);
    rankset_release(&array->strangers);
    range_set_release(&array->part);
    range_set_release(&array->unheld);
    array_parts_release(array);
    memory_give(core, array, sizeof(*array));
}

const struct rankset *array_home_ranks(const struct core *core,
                                       const struct array_record *array)
{
    return rankset_empty(&array->homes) ? &core->elements.homes : &array->homes;
}

bool array_has_no_candidate(const struct core *core, const struct array_record *array)
{
    return array->bound && rankset_count_both(&array->homes, &core->members) == 0;
}

void array_put_homes(struct core *core, const struct array_record *array,
                     struct message_elements *message)
{
    const bool own = !rankset_empty(&array->homes);
    message->count = array->spread.count;
    message->block = array->spread.block;
    message->kind = array->spread.kind;
    message->homes = array->spread.homes;
    message->ranks = own ? out_copy_set(core, &array->homes) : NULL;
    message->bound = array->bound;
}

void array_parts_release(struct array_record *array)
{
    for (uint32_t i = 0; i < array->part_count; i++) {
        range_set_release(&array->parts[i].set);
    }
    free(array->parts);
    array->parts = NULL;
    array->part_count = array->part_room = 0;
}

void array_note_failure(struct array_failure *first, uint64_t index_plus_one,
                        int32_t status)
{
    const bool cancelled = status == MOOT_ERR_CANCELLED;
    const bool alike = cancelled == (first->status == MOOT_ERR_CANCELLED);
    const bool counts = alike ? index_plus_one < first->index_plus_one : cancelled;
    if (status != MOOT_OK && (first->index_plus_one == 0 || counts)) {
        *first = (struct array_failure){index_plus_one, status};
    }
}

struct array_failure array_first_fault(const struct array_record *array)
{
    struct array_failure first = array->first_fault;
    array_note_failure(&first, array->not_held.index_plus_one, array->not_held.status);
    return first;
}

/* By place the indices of a stretch ascend, if they are not shuffled. */
uint64_t array_first_index(const struct array_record *array, struct range places)
{
    const struct array_spread *spread = &array->spread;
    uint64_t least = UINT64_MAX, next;
    for (uint64_t place = places.first; place < places.end; place = next) {
        const uint64_t index = array_index(spread, place);
        const uint32_t home = array_slot(spread, place) / ARRAY_SLOTS;
        least = index < least ? index : least;
        next = spread->kind == ARRAY_SPREAD_HASHED ? place + 1
                                                   : array_home_first(spread, home + 1);
    }
    return least;
}

const struct message_spec *spec_to_send(const struct task_record *task)
{
    const struct task_ext *ext = task_ext(task);
    const struct array_record *array = ext->array;
    const bool in_part = array != NULL && !array->whole && !MUTANT(ADOPTPART);
    const bool ends =
        array != NULL && ext->canceller != NOBODY && !MUTANT(ADOPTCANCELLED);
    return task->held && !in_part && !ends ? ext->spec : NULL;
}

bool array_is_open(const struct task_record *task)
{
    const struct array_record *array = task_ext(task)->array;
    if (array == NULL || array->spread.count == 0) {
        return false;
    }
    const struct range *ended = range_set_items(&array->ended);
    return array->ended.count != 1 || ended->first > 0 || /* all is one range */
           ended->end < array->spread.count;
}

bool array_has_stretches(const struct array_record *array)
{
    return hash_has(&array->task->hash, MOOT_HASH_STRETCHES);
}

bool array_runs_here(const struct task_record *task)
{
    const struct array_record *array = task_ext(task)->array;
    return array != NULL && array->left.count > 0;
}

int32_t array_status(const struct task_record *task)
{
    const struct array_record *array = task_ext(task)->array;
    return array != NULL ? array_first_fault(array).status : MOOT_OK;
}

bool array_is_cancelled(const struct task_record *task)
{
    return array_status(task) == MOOT_ERR_CANCELLED && !array_is_open(task);
}
