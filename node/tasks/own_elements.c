/* own_elements.c - see own_elements.h. */
#include "node/tasks/own_elements.h"

#include "hashing/base/byte_order.h"
#include "hashing/base/hot.h"
#include "node/context/context.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/element_wishes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool founders_begin(struct moot *m)
{
    bool good = true;
    for (uint32_t rank = m->group.founders; good && rank-- > 0;) {
        good = rankset_add(&m->tasks.founders, rank);
    }
    return good && rankset_copy(&m->tasks.all_homes, &m->tasks.founders);
}

void founders_end(struct moot *m)
{
    rankset_release(&m->tasks.founders);
    rankset_release(&m->tasks.all_homes);
}

static bool take_homes(struct moot *m, struct elements *elements,
                       const struct element_homes *homes)
{
    const struct rankset *ranks = homes->ranks;
    elements->homes.bound = homes->bound;
    elements->homes.ranks = ranks != NULL ? &elements->own_homes : &m->tasks.founders;
    return ranks == NULL || (rankset_copy(&elements->own_homes, ranks) &&
                             rankset_merge(&m->tasks.all_homes, ranks));
}

bool elements_make(struct moot *m, struct task *task, const struct array_spread *spread,
                   const struct element_homes *homes, const void *args,
                   size_t args_size)
{
    struct task_seldom *seldom = task_seldom_of(m, task);
    if (seldom == NULL || seldom->elements != NULL) {
        return seldom != NULL;
    }
    struct elements *elements = malloc(sizeof(*elements) + args_size);
    if (elements == NULL) {
        return false;
    }
    *elements =
        (struct elements){.task = task, .spread = *spread, .args_size = args_size};
    if (!take_homes(m, elements, homes)) {
        rankset_release(&elements->own_homes);
        free(elements);
        return false;
    }
    if (args_size > 0) {
        memcpy(elements->args, args, args_size);
    }
    elements->last_block = &elements->blocks;
    seldom->elements = elements;
    return true;
}

/* --- The list --------------------------------------------------------------------- */

HOT void elements_list(struct moot *m, struct elements *elements)
{
    if (elements->listed) {
        return;
    }
    struct elements **link = &m->schedule.elements;
    while (*link != NULL && (*link)->task->priority >= elements->task->priority) {
        link = &(*link)->next;
    }
    elements->next = *link;
    elements->listed = true;
    *link = elements;
}

static void unlist(struct moot *m, struct elements *elements)
{
    struct elements **link = &m->schedule.elements;
    while (elements->listed && *link != elements) {
        assert(*link != NULL);
        link = &(*link)->next;
    }
    if (elements->listed) {
        *link = elements->next;
        elements->listed = false;
    }
}

void elements_raise(struct moot *m, struct elements *elements)
{
    if (elements->listed) {
        unlist(m, elements);
        elements_list(m, elements);
    }
}

int elements_add(struct moot *m, struct elements *elements, struct range places,
                 bool held)
{
    const size_t count = places.end - places.first;
    const bool waits = elements->link_count > 0;
    struct element_block *block =
        calloc(1, sizeof(*block) + count * sizeof(block->results[0]) +
                      (waits ? links_waits_bytes(elements, count) : 0));
    if (block == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    block->places = places;
    block->begun = places.first;
    block->open = count;
    block->held = held;
    block->dealt = elements_home_of(&elements->spread, &elements->homes,
                                    places.first) != m->group.rank;
    *elements->last_block = block;
    elements->last_block = &block->next;
    if (waits) {
        return links_wait(m, elements, block);
    }
    elements_list(m, elements);
    return MOOT_OK;
}

static bool can_run(const struct element_block *block)
{
    return block->closed || block->held                       ? false
           : block->tries != NULL && block->tries->first != 0 ? true
           : block->waits != NULL ? block->waits->begun < block->waits->ready
                                  : block->begun < block->places.end;
}

static uint64_t begin_again(struct element_block *block)
{
    struct element_tries *tries = block->tries;
    const uint64_t offset = tries->first - 1;
    tries->first = tries->of[offset].next;
    tries->of[offset].waits = false;
    return block->places.first + offset;
}

static uint64_t begin_one(struct element_block *block)
{
    if (block->tries != NULL && block->tries->first != 0) {
        return begin_again(block);
    }
    return block->waits != NULL
               ? block->places.first + block->waits->order[block->waits->begun++]
               : block->begun++;
}

static struct element_block *first_waiting(const struct elements *elements)
{
    struct element_block *block = elements->blocks;
    while (block != NULL && !can_run(block)) {
        block = block->next;
    }
    return block;
}

HOT bool elements_take_of(struct moot *m, struct elements *elements, uint64_t *place)
{
    struct element_block *block =
        m->schedule.elements != elements || elements->task->gone
            ? NULL
            : first_waiting(elements);
    if (block == NULL) {
        return false;
    }
    *place = begin_one(block);
    if (!can_run(block) && first_waiting(elements) == NULL) {
        unlist(m, elements);
    }
    return true;
}

struct elements *elements_take(struct moot *m, uint64_t *place)
{
    while (m->schedule.elements != NULL) {
        struct elements *elements = m->schedule.elements;
        if (elements_take_of(m, elements, place)) {
            return elements;
        }
        unlist(m, elements);
    }
    return NULL;
}

uint64_t elements_ready(const struct elements *elements)
{
    const struct element_block *block = first_waiting(elements);
    return block == NULL          ? 0
           : block->waits != NULL ? block->waits->ready - block->waits->begun
                                  : block->places.end - block->begun;
}

/* --- Trying again ----------------------------------------------------------------- */

uint32_t elements_failures(const struct elements *elements, uint64_t place)
{
    const struct element_block *block = elements_block(elements, place);
    return block != NULL && block->tries != NULL
               ? block->tries->of[place - block->places.first].failures
               : 0;
}

/* NULL without memory. */
static struct element_try *try_of(struct element_block *block, uint64_t place)
{
    assert(block != NULL);
    if (block->tries == NULL) {
        block->tries = calloc(1, sizeof(*block->tries) +
                                     (block->places.end - block->places.first) *
                                         sizeof(block->tries->of[0]));
    }
    return block->tries != NULL ? &block->tries->of[place - block->places.first] : NULL;
}

bool elements_rest(struct elements *elements, uint64_t place)
{
    struct element_try *try = try_of(elements_block(elements, place), place);
    if (try == NULL) {
        return false;
    }
    try->failures++;
    try->waits = true;
    return true;
}

bool elements_put_back(struct moot *m, struct elements *elements, uint64_t place)
{
    struct element_try *try = try_of(elements_block(elements, place), place);
    if (try == NULL) {
        return false;
    }
    try->waits = true;
    elements_try(m, elements, place);
    return true;
}

void elements_try(struct moot *m, struct elements *elements, uint64_t place)
{
    struct element_block *block = elements_block(elements, place);
    assert(block != NULL && block->tries != NULL && !block->closed);
    struct element_tries *tries = block->tries;
    const uint64_t number = place - block->places.first + 1;
    assert(tries->of[number - 1].waits);
    tries->of[number - 1].next = 0;
    if (tries->first == 0) {
        tries->first = number;
    } else {
        tries->of[tries->last - 1].next = number;
    }
    tries->last = number;
    elements_list(m, elements);
}

/* --- Results ---------------------------------------------------------------------- */

struct payload element_failed, element_cancelled, element_maybe_ran;

static bool is_none(const struct payload *result)
{
    return result == NULL || result == &element_failed ||
           result == &element_cancelled || result == &element_maybe_ran;
}

int elements_status(const struct payload *result)
{
    return result == &element_failed      ? MOOT_ERR_TASK_FAILED
           : result == &element_cancelled ? MOOT_ERR_CANCELLED
           : result == &element_maybe_ran ? MOOT_ERR_MAYBE_RAN
                                          : MOOT_OK;
}

struct element_block *elements_block(const struct elements *elements, uint64_t place)
{
    struct element_block *block = elements->blocks;
    while (block != NULL &&
           (place < block->places.first || place >= block->places.end)) {
        block = block->next;
    }
    return block;
}

bool elements_has(const struct elements *elements, uint64_t place)
{
    return elements_block(elements, place) != NULL;
}

static void keep(struct moot *m, struct elements *elements, struct element_block *block,
                 uint64_t place, struct payload *result)
{
    assert(block != NULL && !elements_has_ended(block, place));
    assert(block->open > 0 && result != NULL);
    block->results[place - block->places.first] = result;
    block->open--;
    block->failed |= is_none(result);
    elements->again -= block->again;
    links_give(m, elements, place, is_none(result) ? NULL : result);
    wishes_note(m, elements, place);
}

const struct element_block *elements_keep(struct moot *m, struct elements *elements,
                                          uint64_t place, struct payload *result)
{
    struct element_block *block = elements_block(elements, place);
    keep(m, elements, block, place, result);
    return block;
}

/* Those that wait for inputs began in an order of their own: each that runs has a mark
 * for as long as the others are gone through. */
static void mark_running(struct element_block *block, struct payload *from,
                         struct payload *to)
{
    for (uint32_t i = 0; block->waits != NULL && i < block->waits->begun; i++) {
        struct payload **result = &block->results[block->waits->order[i]];
        *result = *result == from ? to : *result;
    }
}

/* Those that have failed and are to be tried again are not. */
static void cancel_tries(struct moot *m, struct elements *elements,
                         struct element_block *block)
{
    const uint64_t size = block->places.end - block->places.first;
    for (uint64_t i = 0; block->tries != NULL && i < size; i++) {
        if (block->tries->of[i].waits) {
            block->tries->of[i].waits = false;
            keep(m, elements, block, block->places.first + i, &element_cancelled);
        }
    }
}

bool elements_close(struct moot *m, struct elements *elements,
                    struct element_block *block)
{
    static struct payload runs;
    const uint64_t open = block->open;
    uint64_t place = block->waits != NULL ? block->places.first : block->begun;
    block->closed = true;
    cancel_tries(m, elements, block);
    mark_running(block, NULL, &runs);
    for (; place < block->places.end; place++) {
        if (!elements_has_ended(block, place)) {
            keep(m, elements, block, place, &element_cancelled);
        }
    }
    mark_running(block, &runs, NULL);
    if (first_waiting(elements) == NULL) {
        unlist(m, elements);
    }
    return block->open < open;
}

/* --- Held blocks ------------------------------------------------------------------ */

static bool is_held(const struct elements *elements, const struct element_block *block,
                    uint32_t home)
{
    return block->held && block->open > 0 &&
           elements_stretch(&elements->spread, block->places.first) == home;
}

int elements_unhold(struct moot *m, struct elements *elements, uint32_t home)
{
    if (!rankset_add(&elements->leaves, home)) {
        return MOOT_ERR_NO_MEMORY;
    }
    for (struct element_block *block = elements->blocks; block != NULL;
         block = block->next) {
        block->held = block->held && !is_held(elements, block, home);
    }
    elements_list(m, elements);
    return MOOT_OK;
}

uint64_t elements_held(const struct elements *elements, uint32_t home)
{
    uint64_t held = 0;
    for (const struct element_block *block = elements->blocks; block != NULL;
         block = block->next) {
        const uint64_t size = block->places.end - block->places.first;
        held += is_held(elements, block, home) ? size : 0;
    }
    return held;
}

void elements_deny(struct moot *m, struct elements *elements,
                   struct element_block *block)
{
    assert(block->held);
    block->closed = true;
    block->held = false;
    for (uint64_t place = block->places.first; place < block->places.end; place++) {
        if (!elements_has_ended(block, place)) {
            keep(m, elements, block, place, &element_maybe_ran);
        }
    }
}

struct payload *elements_result(const struct elements *elements, uint64_t place)
{
    const struct element_block *block = elements_block(elements, place);
    struct payload *result =
        block != NULL ? block->results[place - block->places.first] : NULL;
    return is_none(result) ? NULL : result;
}

bool elements_may_run(const struct moot *m, const struct element_homes *homes)
{
    return !homes->bound || rankset_has(homes->ranks, m->group.rank);
}

void elements_free(struct moot *m, struct task *task)
{
    struct elements *elements = elements_of(task);
    if (elements == NULL) {
        return;
    }
    unlist(m, elements);
    while (elements->blocks != NULL) {
        struct element_block *block = elements->blocks;
        elements->blocks = block->next;
        for (uint64_t i = 0; i < block->places.end - block->places.first; i++) {
            if (!is_none(block->results[i])) {
                payload_drop(block->results[i]);
            }
        }
        links_waits_free(block->waits, elements->link_count);
        free(block->tries);
        free(block);
    }
    links_free(m, elements);
    wishes_free(m, elements);
    payload_drop(elements->story);
    range_set_release(&elements->part);
    rankset_release(&elements->leaves);
    rankset_release(&elements->own_homes);
    free(elements);
    task->seldom->elements = NULL;
}
