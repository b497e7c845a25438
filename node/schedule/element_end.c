/* element_end.c - see element_end.h. */
#include "node/schedule/element_end.h"

#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/schedule/element_parts.h"
#include "node/schedule/retry.h"
#include "node/schedule/task_end.h"
#include "node/tasks/death.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/error_chain.h"

#include <assert.h>
#include <inttypes.h>

/* The core hears of a block when all of it has ended: in runs that ended alike. */
static void tell_block(struct moot *m, struct task *task,
                       const struct element_block *block)
{
    const uint64_t count = block->places.end - block->places.first;
    struct later event = {
        .type = CORE_EV_ELEMENTS, .hash = task->hash, .entry = task_entry(task)};
    for (uint64_t at = 0, next; at < count && !block->again; at = next) {
        const int status = elements_status(block->results[at]);
        next = block->failed ? at + 1 : count;
        while (next < count && status == elements_status(block->results[next])) {
            next++;
        }
        event.places =
            (struct range){block->places.first + at, block->places.first + next};
        event.status = status;
        engine_later(m, &event);
    }
}

/* An element that is made again, or has been, is the core's from now on. */
static void take_over(struct moot *m, struct elements *elements,
                      struct element_block *block)
{
    block->again = false;
    elements->again -= block->open > 0;
    if (block->open == 0) {
        tell_block(m, elements->task, block);
    }
}

/* The first in the range that was made again; NULL: there is none. */
static struct element_block *find_again(const struct elements *elements,
                                        struct range places)
{
    struct element_block *found = NULL;
    for (struct element_block *block = elements->blocks; block != NULL;
         block = block->next) {
        const bool within =
            block->places.first >= places.first && block->places.end <= places.end;
        if (block->again && within &&
            (found == NULL || block->places.first < found->places.first)) {
            found = block;
        }
    }
    return found;
}

int element_give(struct moot *m, struct elements *elements, struct range places)
{
    int error = MOOT_OK;
    while (error == MOOT_OK && places.first < places.end) {
        struct element_block *again =
            elements->any_again ? find_again(elements, places) : NULL;
        const struct range gap = {places.first,
                                  again != NULL ? again->places.first : places.end};
        places.first = again != NULL ? again->places.end : places.end;
        if (gap.first < gap.end) {
            error = elements_add(m, elements, gap, false);
        }
        if (again != NULL) {
            take_over(m, elements, again);
        }
    }
    return error;
}

void element_carried(struct moot *m, const struct core_output *output, int error)
{
    const struct task *task = output->user;
    const struct elements *elements = elements_of(task);
    if (error == MOOT_ERR_NO_MEMORY) {
        engine_starve(m, "no memory for the elements of an array");
    } else if (error != MOOT_OK) {
        engine_end_alone(m, error, "an array has too many elements here");
    }
    if (elements->link_count > 0 &&
        elements_home_of(&elements->spread, &elements->homes,
                         output->u.elements.places.first) != m->group.rank) {
        for (uint32_t i = 0; i < elements->link_count; i++) {
            elements->links[i]->dealt = true;
            link_look(m, elements->links[i]); /* what they take is to be looked for */
        }
    }
    progress_wake(m);
}

/* The source of the element that has failed, NULL if there is none, and its link. */
static const struct element_source *find_lost(const struct moot_call *call,
                                              const struct element_link **link,
                                              uint32_t *slot)
{
    const struct elements *elements = call->array;
    *link = elements->lacks ? links_failed(elements, call->place, slot) : NULL;
    return *link != NULL ? &(*link)->sources[*slot] : NULL;
}

bool element_lost_input(struct moot_call *call)
{
    uint32_t slot = 0;
    const struct element_link *link;
    const struct element_source *source = find_lost(call, &link, &slot);
    if (source != NULL && !link->single && link_place(link, slot) == LINK_NOWHERE) {
        text_add(&call->why, "it did not run: input %u has none for it: %s",
                 link->number, (const char *)source->payload->data);
    }
    return source != NULL;
}

/* The element has failed for want of an input; NULL: for another cause, or without
 * memory. */
static struct payload *story_of_want(const struct moot_call *call)
{
    uint32_t slot = 0;
    const struct element_link *link;
    const struct element_source *source =
        call->lacks ? find_lost(call, &link, &slot) : NULL;
    if (source == NULL || (!link->single && link_place(link, slot) == LINK_NOWHERE)) {
        return NULL;
    }
    struct text failure = {0};
    text_add(&failure, "element %" PRIu64 " failed, of ", call->index);
    task_describe(&failure, call->task);
    text_add(&failure, " on rank %" PRIu32 ": it takes ", call->m->group.rank);
    if (link->single) {
        text_add(&failure, "a task, by input %" PRIu32, link->number);
    } else if (link->from == NULL) {
        text_add(&failure, "an element of a forgotten array, by input %" PRIu32,
                 link->number);
    } else {
        text_add(&failure, "element %" PRIu64 " by input %" PRIu32,
                 array_index(&link->from->spread, link_place(link, slot)),
                 link->number);
    }
    struct payload *story = story_of_element(source->payload, text_get(&failure));
    text_release(&failure);
    return story;
}

void elements_say_waiting(struct moot *m, uint64_t count, uint32_t reads)
{
    m->schedule.waiting_told = count;
    m->schedule.reads_told = reads;
    engine_later(m, &(struct later){
                        .type = CORE_EV_ELEMENTS_WAIT, .size = count, .reads = reads});
}

void elements_go_on(struct moot *m)
{
    links_news(m);
    if (m->schedule.waiting_told > 0 || m->schedule.reads_told > 0) {
        elements_say_waiting(m, 0, 0);
    }
}

/* The failure of the least index is told. */
static void note_failure(struct moot *m, struct moot_call *call, int code)
{
    struct elements *elements = call->array;
    if (elements->failed != 0 && elements->failed <= call->index) {
        return;
    }
    struct payload *of_want = story_of_want(call);
    if (of_want != NULL) {
        payload_drop(elements->story);
        elements->story = of_want;
        elements->failed = call->index + 1;
        return;
    }
    struct text story = {0};
    const uint32_t failures = elements_failures(elements, call->place);
    text_add(&story, "element %" PRIu64 ": ", call->index);
    if (failures > 0) {
        text_add(&story, "failed %" PRIu32 " times, last: ", failures + 1);
    }
    if (call->checkpoint.may_have) {
        text_add(
            &call->why,
            "it began before, as the checkpoint %s says, and is not started again: "
            "look at what it was to do, and spawn an array by another key to do it "
            "once more",
            m->knobs.checkpoint);
    }
    if (code == MOOT_OK) {
        code = call->no_memory ? MOOT_ERR_NO_MEMORY : MOOT_ERR_NO_OUTPUT;
    }
    if (call->lacks && call->why.length > 0) {
        story_of_no_run(&story, m, call->task, text_get(&call->why));
    } else {
        story_of_kernel(&story, m, call->task, code, text_get(&call->why));
    }
    payload_drop(elements->story);
    elements->story = story_payload(
        &story, (struct root_cause){.code = code, .rank = (int)m->group.rank});
    elements->failed = call->index + 1;
    text_release(&story);
}

int element_code(const struct moot_call *call, int code)
{
    const bool gives_up = code == MOOT_ERR_CANCELLED && call->task->cancelled;
    return code == MOOT_OK && call->output != NULL ? MOOT_OK
           : gives_up                              ? MOOT_ERR_CANCELLED
                                                   : MOOT_ERR_TASK_FAILED;
}

/* The element has run, and ended so. */
HOT static void keep_result(struct moot *m, struct elements *elements, uint64_t place,
                            struct payload *result)
{
    const struct element_block *block = elements_keep(m, elements, place, result);
    m->counts.elements_run++;
    m->counts.elements_taken += block->dealt;
    if (elements->takers != NULL && block->dealt) {
        parts_send_dealt(m, elements, place);
    }
    if (block->open == 0) {
        elements_go_on(m);
        tell_block(m, elements->task, block);
    }
    progress_wake(m);
}

HOT void element_end_well(struct moot *m, struct elements *elements, uint64_t place,
                          struct payload *result)
{
    if (elements->task->gone) { /* by a reload */
        payload_drop(result);
    } else {
        keep_result(m, elements, place, result);
    }
}

HOT void element_end(struct moot *m, struct moot_call *call, int code)
{
    const bool good = code == MOOT_OK && call->output != NULL;
    const bool gives_up = code == MOOT_ERR_CANCELLED && call->task->cancelled;
    if (good) {
        element_end_well(m, call->array, call->place, call->output);
        return;
    }
    payload_drop(call->output);
    if (call->task->gone) {
        return;
    }
    if (!gives_up) {
        note_failure(m, call, code);
    }
    m->counts.elements_failed++;
    keep_result(m, call->array, call->place,
                gives_up                    ? &element_cancelled
                : call->checkpoint.may_have ? &element_maybe_ran
                                            : &element_failed);
}

void element_put_back(struct moot *m, struct elements *elements, uint64_t place)
{
    struct element_block *block = elements_block(elements, place);
    if (elements->task->gone) {
        return;
    }
    if (!block->closed) {
        if (!elements_put_back(m, elements, place)) {
            engine_starve(m, "no memory for elements that have not begun");
        }
        return;
    }
    elements_keep(m, elements, place, &element_cancelled);
    if (block->open == 0) {
        elements_go_on(m);
        tell_block(m, elements->task, block);
    }
    progress_wake(m);
}

void element_cancel_array(struct moot *m, struct task *task)
{
    struct elements *elements = elements_of(task);
    __atomic_store_n(&task->cancelled, true, __ATOMIC_RELEASE);
    retry_forget_array(m, task);
    for (struct element_block *block = elements->blocks; block != NULL;
         block = block->next) {
        if (elements_close(m, elements, block) && block->open == 0) {
            elements_go_on(m);
            tell_block(m, task, block);
        }
    }
    progress_wake(m);
}

/* Ranges of indices that are told, and looked at, at most. */
enum { RANGES_TOLD = 8, RANGES_LOOKED_AT = 64 };

/* The indices of those that may have run.  False: there are more, or no memory. */
static bool find_denied(const struct elements *elements, struct range_set *out)
{
    bool all = true;
    for (const struct element_block *block = elements->blocks; block != NULL && all;
         block = block->next) {
        const uint64_t first = block->places.first;
        for (uint64_t place = first; place < block->places.end && all; place++) {
            if (block->results[place - first] == &element_maybe_ran) {
                const uint64_t index = array_index(&elements->spread, place);
                all = out->count < RANGES_LOOKED_AT &&
                      range_set_add(out, (struct range){index, index + 1});
            }
        }
    }
    return all;
}

/* "element 3", "elements 3-7, 9" */
static void tell_indices(struct text *story, const struct range_set *set, bool all)
{
    const struct range *ranges = range_set_items(set);
    text_add(story, range_set_size(set) == 1 ? "element " : "elements ");
    for (uint32_t i = 0; i < set->count && i < RANGES_TOLD; i++) {
        text_add(story, i == 0 ? "%" PRIu64 : ", %" PRIu64, ranges[i].first);
        if (ranges[i].end - ranges[i].first > 1) {
            text_add(story, "-%" PRIu64, ranges[i].end - 1);
        }
    }
    if (!all) {
        text_add(story, ", and others");
    } else if (set->count > RANGES_TOLD) {
        text_add(story, ", ... (%" PRIu64 " in all)", range_set_size(set));
    }
}

/* They are told, unless one that failed is before them. */
static void note_denied(struct moot *m, struct elements *elements)
{
    struct text story = {0};
    struct range_set denied = {0};
    const bool all = find_denied(elements, &denied);
    const uint64_t first = denied.count > 0 ? range_set_items(&denied)->first : 0;
    if (denied.count > 0 && (elements->failed == 0 || elements->failed >= first + 1)) {
        task_describe(&story, elements->task);
        text_add(&story, ": ");
        tell_indices(&story, &denied, all);
        text_add(&story,
                 " may have run: a rank that is gone had leave to begin them, or they "
                 "began before and were forgotten; none of them is started again: look "
                 "at what they were to do, and spawn an array by another key to do it "
                 "once more");
        payload_drop(elements->story);
        elements->story =
            story_payload(&story, (struct root_cause){.code = MOOT_ERR_MAYBE_RAN,
                                                      .rank = (int)m->group.rank});
        elements->failed = first + 1;
    }
    text_release(&story);
    range_set_release(&denied);
}

void element_deny(struct moot *m, struct elements *elements, uint32_t home)
{
    struct task *task = elements->task;
    for (struct element_block *block = elements->blocks; block != NULL;
         block = block->next) {
        if (block->held && block->open > 0 &&
            elements_stretch(&elements->spread, block->places.first) == home) {
            elements_deny(m, elements, block);
            note_denied(m, elements);
            elements_go_on(m);
            tell_block(m, task, block);
        }
    }
    progress_wake(m);
}

/* Those that may have run are of the share of a rank that is gone. */
static void tell_share(struct text *story, const struct elements *elements,
                       uint64_t index)
{
    const struct array_spread *spread = &elements->spread;
    const uint32_t home = elements_stretch(spread, array_place(spread, index));
    const uint64_t first = array_home_first(spread, home);
    const uint64_t end = array_home_first(spread, home + 1);
    text_add(story, ", and perhaps others of the share of rank %" PRIu32,
             rankset_at(elements->homes.ranks, home));
    if (spread->kind == ARRAY_SPREAD_BLOCK) {
        text_add(story, ", %" PRIu64 "-%" PRIu64, first, end - 1);
    } else {
        text_add(story, ", %" PRIu64 " elements", end - first);
    }
    text_add(story, ", may have run there, and none of them is started again: look at "
                    "what they were to do, and spawn an array by another key to do it "
                    "once more");
}

/* No rank that might run them has spawned them. */
static void tell_unheld(struct text *story, const struct elements *elements)
{
    if (elements->homes.bound) {
        text_add(
            story,
            ", and perhaps others, no candidate of the array had spawned, and none "
            "could go on to: the array has ended without them; take another .key, "
            "and spawn all of it on a candidate before the wait");
    } else {
        text_add(story,
                 ", and perhaps others, no rank had spawned, and none could go on to: "
                 "the array has ended without them; take another .key, and spawn "
                 "all of it before the wait (moot_array_spawn_some)");
    }
}

/* Another rank has found it, or none has run it. */
static void tell_fault(struct text *story, const struct moot *m,
                       const struct task *task, int code)
{
    const uint64_t fault = core_array_fault(task_entry(task));
    task_describe(story, task);
    if (fault > 0) {
        text_add(story, ": element %" PRIu64, fault - 1);
    } else {
        text_add(story, ": an element");
    }
    if (code == MOOT_ERR_MAYBE_RAN && fault > 0) {
        tell_share(story, elements_of(task), fault - 1);
    } else if (code == MOOT_ERR_MAYBE_RAN) {
        text_add(story,
                 ", and perhaps others, may have run on a rank that is gone, and is "
                 "not started again: look at what it does outside, or spawn an array "
                 "by another key");
    } else if (code == MOOT_ERR_NO_CANDIDATE) {
        text_add(story, ", and perhaps others: no candidate of the array is there any "
                        "more, and nobody else runs them");
    } else if (code == MOOT_ERR_NOT_HELD) {
        tell_unheld(story, elements_of(task));
    } else if (code == MOOT_ERR_CRASHED) {
        text_add(story,
                 ", and perhaps others, have not run: enough ranks died in elements of "
                 "the array (MOOT_CRASHES=%lld), and no other rank runs what these had",
                 (long long)m->knobs.crashes);
        death_add_stories(story, m, &task->hash, false);
    } else {
        text_add(story, " of the array failed on another rank, which says why");
    }
}

void element_end_array(struct moot *m, struct task *task, int code)
{
    const struct elements *elements = elements_of(task);
    struct text story = {0};
    m->counts.run++; /* an array counts as one task */
    if (code == MOOT_OK) {
        const bool own = elements->homes.ranks == &elements->own_homes;
        const struct element_homes homes = {own ? elements->homes.ranks : NULL,
                                            elements->homes.bound};
        struct payload *card = elements_card(&elements->spread, &homes);
        if (card == NULL) {
            engine_starve(m, "no memory for the end of an array");
        }
        task_end(m, task, MOOT_OK, card);
    } else if (elements->story != NULL && code != MOOT_ERR_NOT_HELD &&
               code != MOOT_ERR_NO_CANDIDATE && code != MOOT_ERR_CRASHED) {
        task_end(m, task, code, payload_hold(elements->story));
    } else {
        tell_fault(&story, m, task, code);
        task_end_with_story(m, task, code, NO_ROOT_CAUSE, &story);
    }
}
