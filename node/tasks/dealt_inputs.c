/* dealt_inputs.c - see dealt_inputs.h. */
#include "node/tasks/dealt_inputs.h"

#include "node/tasks/map.h"

#include <stdlib.h>

/* The slots of one link, element by element. */
struct slot_list {
    uint32_t *items;
    uint32_t count, room;
};

static bool push_slot(struct slot_list *list, uint32_t slot)
{
    if (list->count == list->room) {
        const uint32_t room = 2 * list->room + 16;
        uint32_t *more = realloc(list->items, room * sizeof(*more));
        if (more == NULL) {
            return false;
        }
        list->items = more;
        list->room = room;
    }
    list->items[list->count++] = slot;
    return true;
}

static bool push_source(struct element_link *link, uint64_t index,
                        struct slot_list *list)
{
    const uint64_t place = array_place(&link->from->spread, index);
    uint32_t slot = link_slot(link, place);
    slot = slot != UINT32_MAX ? slot : link_add_other(link, place);
    if (slot == UINT32_MAX) {
        return false;
    }
    struct payload *here = elements_result(link->from, place);
    if (here != NULL && link->sources[slot].state != SOURCE_HERE) {
        link_hold(link, slot, payload_hold(here));
        link->sources[slot].state = SOURCE_HERE;
    }
    return push_slot(list, slot);
}

static struct payload *story_of_fault(const struct element_link *link,
                                      const struct array_counts *counts,
                                      const struct map_fault *fault)
{
    struct text text = {0};
    map_tell_fault(&text, &link->mapping, counts, fault);
    const char *told = text_get(&text);
    struct payload *story = payload_copy(told, strlen(told) + 1);
    text_release(&text);
    return story;
}

/* In the place of sources: one that has failed, and says why there are none. */
static bool push_fault(struct element_link *link, uint64_t element,
                       const struct array_counts *counts, struct slot_list *list)
{
    struct map_fault fault;
    if (map_fault_of(&link->mapping, element, counts, &fault) == MOOT_ERR_NO_MEMORY) {
        return false;
    }
    const uint32_t slot = link_add_other(link, LINK_NOWHERE);
    if (slot == UINT32_MAX) {
        return false;
    }
    link->sources[slot].state = SOURCE_FAILED;
    link_hold(link, slot, story_of_fault(link, counts, &fault));
    link->by->lacks = true;
    return link->sources[slot].payload != NULL && push_slot(list, slot);
}

static bool push_sources(struct element_link *link, uint64_t element,
                         struct array_answer *answer, struct slot_list *list)
{
    const struct array_counts counts = {link->by->spread.count,
                                        link->from->spread.count};
    const int count = array_sources(&link->mapping, element, &counts, answer);
    if (count < 0) {
        return count != MOOT_ERR_NO_MEMORY && push_fault(link, element, &counts, list);
    }
    bool good = true;
    for (int i = 0; good && i < count; i++) {
        const struct range range = answer->ranges[i];
        for (uint64_t index = range.first; good && index < range.end; index++) {
            good = push_source(link, index, list);
        }
    }
    return good;
}

/* `first`: where the slots of each element begin. */
static bool list_slots(struct element_link *link, const struct element_block *block,
                       struct slot_list *list, uint32_t *first)
{
    const uint64_t size = block->places.end - block->places.first;
    struct array_answer answer;
    bool good = first != NULL;
    array_answer_init(&answer);
    for (uint64_t at = 0; good && at < size; at++) {
        const uint64_t element =
            array_index(&link->by->spread, block->places.first + at);
        good = push_sources(link, element, &answer, list);
        first[at + 1] = list->count;
    }
    array_answer_release(&answer);
    return good;
}

int dealt_find_slots(const struct elements *elements, struct element_block *block)
{
    const uint64_t size = block->places.end - block->places.first;
    struct element_waits *waits = block->waits;
    bool good = true;
    waits->own_slots = true;
    for (uint32_t i = 0; good && i < elements->link_count; i++) {
        if (elements->links[i]->single) {
            continue;
        }
        struct slot_list list = {.items = calloc(1, sizeof(*list.items)), .room = 1};
        uint32_t *first = calloc(size + 1, sizeof(*first));
        good =
            list.items != NULL && list_slots(elements->links[i], block, &list, first);
        waits->tables[i] = (struct slot_table){first, list.items};
    }
    return good ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}
