/* element_inputs.c - see element_inputs.h. */
#include "node/tasks/element_inputs.h"

#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "node/context/context.h"
#include "node/store/store.h"
#include "node/tasks/dealt_inputs.h"
#include "node/tasks/kept_handles.h"

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- Slots and places ------------------------------------------------------------- */

/* The first place of this rank's stretch of that array. */
static uint64_t stretch_first(const struct moot *m, const struct elements *elements)
{
    const struct rankset *homes = elements->homes.ranks;
    return rankset_has(homes, m->group.rank)
               ? array_home_first(&elements->spread,
                                  rankset_below(homes, m->group.rank))
               : 0;
}

static uint32_t sent_count(const struct array_schedule *schedule)
{
    const uint32_t senders = schedule->sender_count;
    return senders == 0 ? 0
                        : schedule->senders[senders - 1].first +
                              schedule->senders[senders - 1].count;
}

static uint32_t find_place(const uint64_t *places, uint32_t count, uint64_t place)
{
    const uint32_t low = places_below(places, count, place);
    return low < count && places[low] == place ? low : UINT32_MAX;
}

uint32_t link_slot(const struct element_link *link, uint64_t place)
{
    const struct array_schedule *schedule = link->schedule;
    if (link->single) {
        return 0;
    }
    const uint32_t sent = sent_count(schedule), own = schedule->own_from;
    if (place - link->own_first < own) {
        return (uint32_t)(place - link->own_first);
    }
    for (uint32_t i = 0; i < schedule->sender_count; i++) {
        const struct array_peer *sender = &schedule->senders[i];
        const uint32_t at =
            find_place(schedule->sent + sender->first, sender->count, place);
        if (at != UINT32_MAX) {
            return own + sender->first + at;
        }
    }
    const uint32_t other = place_table_find(&link->others, place);
    return other == UINT32_MAX ? UINT32_MAX : own + sent + other;
}

uint64_t link_place(const struct element_link *link, uint32_t slot)
{
    const uint32_t own = link->schedule->own_from, sent = sent_count(link->schedule);
    assert(slot < link->source_count);
    return slot < own          ? link->own_first + slot
           : slot < own + sent ? link->schedule->sent[slot - own]
                               : link->others.places[slot - own - sent];
}

bool link_is_sent(const struct element_link *link, uint32_t slot)
{
    const uint32_t own = link->schedule->own_from;
    return slot >= own && slot < own + sent_count(link->schedule);
}

static bool grow_sources(struct element_link *link)
{
    const uint32_t room = 2 * link->source_room + 8;
    const bool first = link->sources == link->first_sources;
    struct element_source *sources =
        realloc(first ? NULL : link->sources, room * sizeof(*sources));
    if (sources == NULL) {
        return false;
    }
    if (first) {
        memcpy(sources, link->sources, link->source_count * sizeof(*sources));
    }
    link->sources = sources;
    link->source_room = room;
    return true;
}

uint32_t link_add_other(struct element_link *link, uint64_t place)
{
    const bool full = link->source_count == link->source_room;
    if ((full && !grow_sources(link)) ||
        place_table_add(&link->others, place) == UINT32_MAX) {
        return UINT32_MAX;
    }
    const uint32_t slot = link->source_count++;
    link->sources[slot] = (struct element_source){.state = SOURCE_AWAITED};
    return slot;
}

/* --- Links ------------------------------------------------------------------------ */

static void link_free(struct element_link *link)
{
    for (uint32_t i = link->held_first; i < link->held_end; i++) {
        payload_drop(link->sources[i].payload);
    }
    schedule_let_go(link->schedule);
    if (link->sources != link->first_sources) {
        free(link->sources);
    }
    place_table_release(&link->others);
    untouched_free(link, link->bytes);
}

/* One that was named as elsewhere may yet be run here. */
HOT static void add_fresh(struct element_link *link, uint32_t own)
{
    if (!link->is_fresh[own]) {
        link->is_fresh[own] = true;
        link->fresh[link->fresh_count++] = own;
    }
}

/* Only of results that somebody takes.  One that another block has may yet be run here.
 */
void link_list_all(struct moot *m, struct element_link *link)
{
    const struct array_schedule *schedule = link->schedule;
    const uint32_t own = schedule->own_from;
    const struct element_block *first = elements_block(link->from, link->own_first);
    const bool none_has = first != NULL && first->places.end - link->own_first >= own &&
                          first->open == first->places.end - first->places.first;
    for (uint32_t i = 0; !none_has && i < schedule->taker_count; i++) {
        const struct array_peer *taker = &schedule->takers[i];
        for (uint32_t at = taker->first; at < taker->first + taker->count; at++) {
            const uint64_t place = link->own_first + schedule->given[at];
            const struct element_block *block = elements_block(link->from, place);
            if (block == NULL || elements_has_ended(block, place)) {
                add_fresh(link, schedule->given[at]);
            }
        }
    }
    if (link->fresh_count > 0) {
        link_list(m, link);
    }
}

/* Takes what this rank has made already, as a home or for others. */
static void take_over(struct moot *m, struct element_link *link)
{
    for (const struct element_block *block = link->from->blocks; block != NULL;
         block = block->next) {
        const bool any = block->open < block->places.end - block->places.first;
        for (uint64_t place = block->places.first; any && place < block->places.end;
             place++) {
            const bool ended = elements_has_ended(block, place);
            const uint32_t slot = ended ? link_slot(link, place) : UINT32_MAX;
            struct payload *result = elements_result(link->from, place);
            if (slot != UINT32_MAX) {
                link->sources[slot].state =
                    result != NULL ? SOURCE_HERE : SOURCE_ELSEWHERE;
                link_hold(link, slot, result != NULL ? payload_hold(result) : NULL);
            }
        }
    }
    link_list_all(m, link);
}

struct array_shape link_shape(const struct moot *m, const struct elements *by,
                              const struct elements *from,
                              const struct array_mapping *mapping)
{
    return (struct array_shape){.takes = {by->spread, by->homes.ranks},
                                .from = {from->spread, from->homes.ranks},
                                .mapping = *mapping,
                                .members = &m->tasks.all_homes,
                                .rank = m->group.rank};
}

/* A link with room for what the schedule says, and for a copy of the map's arguments:
 * sources, own ones that are fresh, whether each is, arguments.  NULL without memory.
 */
static struct element_link *link_new(const struct array_schedule *schedule,
                                     const struct array_mapping *mapping)
{
    const uint32_t own = schedule->own_from, count = own + sent_count(schedule);
    const size_t sources = (count + 1u) * sizeof(struct element_source);
    const size_t fresh = (own + 1u) * (sizeof(uint32_t) + sizeof(bool));
    const size_t end = sizeof(struct element_link) + sources + fresh;
    const size_t args_at = (end + alignof(max_align_t) - 1) & -alignof(max_align_t);
    struct element_link *link = untouched_new(args_at + mapping->args_size);
    if (link == NULL) {
        return NULL;
    }
    link->bytes = args_at + mapping->args_size;
    link->schedule = schedule;
    link->source_count = link->source_room = count;
    link->sources = link->first_sources;
    link->fresh = (uint32_t *)(link->sources + count + 1);
    link->is_fresh = (bool *)(link->fresh + own + 1);
    void *args = (char *)link + args_at;
    if (mapping->args_size > 0) {
        memcpy(args, mapping->args, mapping->args_size);
    }
    link->mapping = (struct array_mapping){mapping->map, args, mapping->args_size};
    return link;
}

bool links_open(struct moot *m, struct elements *elements, uint32_t count)
{
    if (m->tasks.schedules == NULL) {
        m->tasks.schedules = schedule_cache_new();
    }
    const bool few =
        count <= sizeof(elements->few_links) / sizeof(struct element_link *);
    elements->links =
        few ? elements->few_links : calloc(count, sizeof(struct element_link *));
    if (m->tasks.schedules == NULL || elements->links == NULL) {
        return false;
    }
    links_list(m, elements);
    return true;
}

void links_end(struct moot *m)
{
    schedule_cache_free(m->tasks.schedules);
    m->tasks.schedules = NULL;
}

int link_make(struct moot *m, struct elements *by, struct elements *from,
              const struct array_mapping *mapping)
{
    const struct array_shape shape = link_shape(m, by, from, mapping);
    const struct array_schedule *schedule;
    const int error = schedule_cache_take(m->tasks.schedules, &shape, &schedule);
    if (error != MOOT_OK) {
        return error;
    }
    struct element_link *link = link_new(schedule, mapping);
    if (link == NULL) {
        schedule_let_go(schedule);
        return MOOT_ERR_NO_MEMORY;
    }
    link->by = by;
    link->from = from;
    link->number = by->link_count;
    link->by_first = stretch_first(m, by);
    link->own_first = stretch_first(m, from);
    take_over(m, link);
    by->links[by->link_count++] = link;
    link->next_taker = from->takers;
    from->takers = link;
    return MOOT_OK;
}

int link_make_single(struct elements *by, struct task *task)
{
    const size_t bytes = sizeof(struct element_link) + sizeof(struct element_source);
    struct element_link *link = untouched_new(bytes);
    if (link == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    link->bytes = bytes;
    link->by = by;
    link->single = true;
    link->task = task;
    link->number = by->link_count;
    link->sources = link->first_sources;
    link->source_count = link->source_room = 1;
    by->links[by->link_count++] = link;
    return MOOT_OK;
}

/* --- What an element takes -------------------------------------------------------- */

static struct element_block *block_with(const struct elements *elements, uint64_t place)
{
    struct element_block *block = elements_block(elements, place);
    assert(block != NULL && block->waits != NULL);
    return block;
}

/* The slots of one element in a link. */
struct slot_run {
    const uint32_t *slots;
    uint32_t count;
};

static inline struct slot_run slots_of(const struct element_link *link,
                                       const struct element_waits *waits,
                                       uint32_t offset)
{
    static const uint32_t only = 0;
    const struct slot_table *table = &waits->tables[link->number];
    if (table->first == NULL) {
        return (struct slot_run){&only, 1};
    }
    const uint32_t *first = table->first + offset;
    return (struct slot_run){table->slots + first[0], first[1] - first[0]};
}

/* Its source has come, or is not to be had. */
static inline bool is_over(const struct element_source *source)
{
    return source->state == SOURCE_HERE || source->state == SOURCE_FAILED;
}

/* The block of the element of that number, and which one of it that is. */
static inline struct element_block *block_of(const struct elements *elements,
                                             uint32_t number, uint32_t *offset)
{
    struct element_block *block = elements->blocks;
    while (number - block->waits->number >= block->places.end - block->places.first) {
        block = block->next;
    }
    *offset = number - block->waits->number;
    return block;
}

/* Behind those that wait there already: who is to be run first comes first. */
static void wait_at(const struct elements *elements, struct element_source *source,
                    struct element_waits *waits, uint32_t offset)
{
    const uint32_t waiter = waits->number + offset + 1;
    waits->next[offset] = 0;
    if (source->waiter == 0) {
        source->waiter = waiter;
    } else {
        uint32_t last;
        struct element_block *block =
            block_of(elements, source->last_waiter - 1, &last);
        block->waits->next[last] = waiter;
    }
    source->last_waiter = waiter;
}

/* From the source that it waits for back: the next that it lacks, or it is ready. */
HOT static void go_on(struct moot *m, struct elements *elements,
                      struct element_block *block, uint32_t offset)
{
    struct element_waits *waits = block->waits;
    uint32_t here = waits->at[offset], behind = 0;
    for (uint32_t i = elements->link_count; i-- > 0;) {
        struct element_link *link = elements->links[i];
        const struct slot_run run = slots_of(link, waits, offset);
        const uint32_t known = here < behind ? 0 : here - behind;
        uint32_t left = known < run.count ? run.count - known : 0;
        while (left > 0 && is_over(&link->sources[run.slots[left - 1]])) {
            left--;
        }
        if (left > 0) {
            struct element_source *source = &link->sources[run.slots[left - 1]];
            waits->at[offset] = behind + run.count - left;
            wait_at(elements, source, waits, offset);
            if (source->state != SOURCE_AWAITED || link->single) {
                link_look(m, link);
            }
            return;
        }
        behind += run.count;
    }
    if (!block->closed) {
        waits->order[waits->ready++] = offset;
        elements_list(m, elements);
    }
}

/* Each that waits at this slot. */
HOT static void wake(struct moot *m, struct element_link *link, uint32_t slot)
{
    uint32_t waiter = link->sources[slot].waiter;
    link->sources[slot].waiter = 0;
    while (waiter != 0) {
        uint32_t offset;
        struct element_block *block = block_of(link->by, waiter - 1, &offset);
        waiter = block->waits->next[offset];
        go_on(m, link->by, block, offset);
    }
}

HOT static void come(struct moot *m, struct element_link *link, uint32_t slot,
                     enum source_state state, struct payload *payload)
{
    struct element_source *source = &link->sources[slot];
    if (is_over(source)) {
        payload_drop(payload);
        return;
    }
    link_hold(link, slot, payload);
    source->state = (uint8_t)state;
    link->by->lacks |= state == SOURCE_FAILED;
    wake(m, link, slot);
}

void link_hear(struct moot *m, struct element_link *link, uint64_t place,
               enum source_state state, struct payload *payload)
{
    const uint32_t slot = link_slot(link, place);
    if (slot == UINT32_MAX) {
        payload_drop(payload);
    } else if (state == SOURCE_HERE || state == SOURCE_FAILED) {
        come(m, link, slot, state, payload);
    } else if (link->sources[slot].state == SOURCE_AWAITED) {
        link->sources[slot].state = (uint8_t)state;
        link_look(m, link);
    }
}

void link_miss(struct moot *m, struct element_link *link, uint64_t place)
{
    const uint32_t slot = link_slot(link, place);
    if (slot != UINT32_MAX && link->sources[slot].state == SOURCE_ASKED) {
        link->sources[slot].state = SOURCE_ELSEWHERE;
        link->misses++;
        link_look(m, link);
    }
}

void link_hear_large(struct moot *m, struct element_link *link, uint64_t place,
                     uint32_t rank)
{
    const uint32_t slot = link_slot(link, place);
    if (slot != UINT32_MAX && link->sources[slot].state != SOURCE_HERE &&
        link->sources[slot].state != SOURCE_FAILED &&
        link->sources[slot].state != SOURCE_ASKED) {
        link->sources[slot].state = SOURCE_LARGE;
        link->sources[slot].rank = rank;
        link_look(m, link);
    }
}

/* An own element has failed: others may have it, unless it was lost before. */
static void miss(struct moot *m, struct element_link *link, uint64_t place)
{
    const uint32_t slot = link_slot(link, place);
    if (slot != UINT32_MAX && link->sources[slot].state == SOURCE_AGAIN) {
        struct payload *story = link->from->story;
        come(m, link, slot, SOURCE_FAILED, story != NULL ? payload_hold(story) : NULL);
    } else {
        link_hear(m, link, place, SOURCE_ELSEWHERE, NULL);
    }
}

HOT void links_give(struct moot *m, struct elements *from, uint64_t place,
                    struct payload *result)
{
    for (struct element_link *link = from->takers; link != NULL;
         link = link->next_taker) {
        const uint64_t own = place - link->own_first;
        const bool covered = own < link->schedule->own_from;
        if (covered && link->schedule->is_given[own]) {
            add_fresh(link, (uint32_t)own);
            link_list(m, link);
        }
        if (result == NULL) {
            miss(m, link, place);
        } else if (covered) {
            come(m, link, (uint32_t)own, SOURCE_HERE, payload_hold(result));
        } else {
            link_hear(m, link, place, SOURCE_HERE, payload_hold(result));
        }
    }
}

/* --- Blocks ----------------------------------------------------------------------- */

size_t links_waits_bytes(const struct elements *elements, size_t count)
{
    return sizeof(struct element_waits) +
           elements->link_count * sizeof(struct slot_table) +
           3 * count * sizeof(uint32_t);
}

static struct element_waits *waits_begin(const struct elements *elements,
                                         struct element_block *block, uint64_t size)
{
    struct element_waits *waits = (struct element_waits *)(block->results + size);
    waits->number = elements->here_count;
    waits->order = (uint32_t *)(waits->tables + elements->link_count);
    waits->next = waits->order + size;
    waits->at = waits->next + size;
    return waits;
}

/* Where the block's slots are: in the links' schedules, or in lists of its own. */
static int find_slots(const struct elements *elements, struct element_block *block)
{
    uint32_t i = 0;
    while (i < elements->link_count && elements->links[i]->single) {
        i++;
    }
    if (i == elements->link_count) {
        return MOOT_OK;
    }
    const struct element_link *link = elements->links[i];
    const bool covered = block->places.first >= link->by_first &&
                         block->places.end - link->by_first <= link->schedule->own;
    if (!covered) {
        return dealt_find_slots(elements, block);
    }
    const uint64_t own = block->places.first - link->by_first;
    for (; i < elements->link_count; i++) {
        const struct array_schedule *schedule = elements->links[i]->schedule;
        if (!elements->links[i]->single) {
            block->waits->tables[i] =
                (struct slot_table){schedule->first + own, schedule->slots};
        }
    }
    return MOOT_OK;
}

int links_wait(struct moot *m, struct elements *elements, struct element_block *block)
{
    const uint64_t size = block->places.end - block->places.first;
    if (size > UINT32_MAX - elements->here_count - 1) {
        return MOOT_ERR_LIMIT;
    }
    block->waits = waits_begin(elements, block, size);
    elements->here_count += (uint32_t)size;
    int error = find_slots(elements, block);
    for (uint64_t i = 0; error == MOOT_OK && i < size; i++) {
        go_on(m, elements, block, (uint32_t)i);
    }
    return error;
}

void links_look_for(struct moot *m, struct elements *elements,
                    const struct element_block *block)
{
    const uint32_t size = (uint32_t)(block->places.end - block->places.first);
    for (uint32_t i = 0; i < elements->link_count; i++) {
        struct element_link *link = elements->links[i];
        for (uint32_t offset = 0; offset < size && !link->single; offset++) {
            const struct slot_run run = slots_of(link, block->waits, offset);
            for (uint32_t at = 0; at < run.count; at++) {
                struct element_source *source = &link->sources[run.slots[at]];
                if (source->state == SOURCE_AWAITED) {
                    source->state = SOURCE_ELSEWHERE;
                }
            }
        }
        link_look(m, link);
    }
}

HOT size_t links_fill(const struct elements *elements, uint64_t place, size_t room,
                      const struct payload **out)
{
    const struct element_block *block = block_with(elements, place);
    const uint32_t offset = (uint32_t)(place - block->places.first);
    size_t count = 0;
    for (uint32_t i = 0; i < elements->link_count; i++) {
        const struct element_link *link = elements->links[i];
        const struct slot_run run = slots_of(link, block->waits, offset);
        const size_t left = room > count ? room - count : 0;
        for (uint32_t at = 0; at < run.count && at < left; at++) {
            out[count + at] = link->sources[run.slots[at]].payload;
        }
        count += run.count;
    }
    return count;
}

moot_hash links_hash(const struct elements *elements, uint64_t place, uint32_t i)
{
    const struct element_block *block = block_with(elements, place);
    const uint32_t offset = (uint32_t)(place - block->places.first);
    uint32_t at = 0;
    struct slot_run run = slots_of(elements->links[0], block->waits, offset);
    while (i >= run.count) {
        i -= run.count;
        run = slots_of(elements->links[++at], block->waits, offset);
    }
    const struct element_link *link = elements->links[at];
    if (link->single && link->task != NULL) {
        return link->task->hash;
    }
    if (link->from == NULL) { /* by a reload */
        return (moot_hash){{0}};
    }
    const uint64_t source = link_place(link, run.slots[i]);
    return identity_element(&link->from->task->hash,
                            array_index(&link->from->spread, source));
}

const struct element_link *links_failed(const struct elements *elements, uint64_t place,
                                        uint32_t *out)
{
    const struct element_block *block = block_with(elements, place);
    for (uint32_t i = 0; i < elements->link_count; i++) {
        const struct element_link *link = elements->links[i];
        const struct slot_run run =
            slots_of(link, block->waits, (uint32_t)(place - block->places.first));
        for (uint32_t at = 0; at < run.count; at++) {
            if (link->sources[run.slots[at]].state == SOURCE_FAILED) {
                *out = run.slots[at];
                return link;
            }
        }
    }
    return NULL;
}

uint64_t links_waiting(const struct elements *elements)
{
    uint64_t waiting = 0;
    for (const struct element_block *block = elements->blocks;
         elements->link_count > 0 && block != NULL; block = block->next) {
        const uint64_t size = block->places.end - block->places.first;
        waiting += block->closed ? 0 : size - block->waits->ready;
    }
    return waiting;
}

uint64_t links_idle(const struct elements *elements)
{
    uint64_t idle = 0;
    for (const struct element_block *block = elements->blocks;
         elements->link_count > 0 && block != NULL; block = block->next) {
        const uint64_t size = block->places.end - block->places.first;
        const uint64_t ended = size - block->open;
        const uint64_t lacking = block->closed ? 0 : size - block->waits->ready;
        idle += block->open == 0 || block->again ? 0
                : block->held                    ? size
                                                 : lacking + ended;
    }
    return idle;
}

void links_waits_free(struct element_waits *waits, uint32_t links)
{
    for (uint32_t i = 0; waits != NULL && waits->own_slots && i < links; i++) {
        free((uint32_t *)(uintptr_t)waits->tables[i].first); /* not const to it */
        free((uint32_t *)(uintptr_t)waits->tables[i].slots);
    }
}

void links_free(struct moot *m, struct elements *elements)
{
    links_news(m);
    for (struct element_link *link = elements->takers; link != NULL;
         link = link->next_taker) {
        link->from = NULL;
    }
    for (uint32_t i = 0; i < elements->link_count; i++) {
        struct element_link *link = elements->links[i];
        if (link->from != NULL) {
            struct element_link **at = &link->from->takers;
            while (*at != link) {
                at = &(*at)->next_taker;
            }
            *at = link->next_taker;
        }
        if (link->kept && link_kept_task(link) != NULL) {
            task_ticket_end(m, link_kept_task(link));
        }
        link_unlist(m, link);
        link_look_no_more(m, link);
        link_free(link);
    }
    if (elements->links != elements->few_links) {
        free(elements->links);
    }
    links_close(m, elements);
}
