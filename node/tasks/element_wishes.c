/* element_wishes.c - see element_wishes.h. */
#include "node/tasks/element_wishes.h"

#include "node/context/context.h"
#include "node/tasks/place_table.h"

#include <stdlib.h>
#include <string.h>

static int compare_places(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* --- The array's ------------------------------------------------------------------ */

static void list_wished(struct moot *m, struct elements *elements)
{
    if (!elements->wished) {
        elements->wished = true;
        elements->next_wished = m->tasks.wished;
        m->tasks.wished = elements;
    }
}

static bool make_room(struct element_wishes *wishes)
{
    if (wishes->ended_count < wishes->ended_room) {
        return true;
    }
    const uint32_t room = 2 * wishes->ended_room + 64;
    uint64_t *ended = realloc(wishes->ended, room * sizeof(*ended));
    if (ended != NULL) {
        wishes->ended = ended;
        wishes->ended_room = room;
    }
    return ended != NULL;
}

void wishes_note(struct moot *m, struct elements *elements, uint64_t place)
{
    struct element_wishes *wishes = elements->wishes;
    if (wishes == NULL) {
        return;
    }
    if (make_room(wishes)) {
        wishes->ended[wishes->ended_count++] = place;
    } else {
        wishes->untold = true;
    }
    list_wished(m, elements);
}

struct elements *wishes_next(struct moot *m)
{
    struct elements *elements = m->tasks.wished;
    if (elements != NULL) {
        struct element_wishes *wishes = elements->wishes;
        m->tasks.wished = elements->next_wished;
        elements->wished = false;
        if (wishes->ended_count > 1) {
            qsort(wishes->ended, wishes->ended_count, sizeof(*wishes->ended),
                  compare_places);
        }
    }
    return elements;
}

void wishes_seen(struct elements *elements)
{
    struct element_wishes *wishes = elements->wishes;
    wishes->ended_count = 0;
    wishes->untold = false;
    if (wishes->first == NULL) {
        free(wishes->ended);
        free(wishes);
        elements->wishes = NULL;
    }
}

void wishes_add(struct moot *m, struct elements *elements, struct element_wish *wish)
{
    if (elements->wishes == NULL) {
        elements->wishes = calloc(1, sizeof(*elements->wishes));
    }
    if (elements->wishes == NULL) {
        free(wish);
        return;
    }
    wish->known = false;
    wish->next = elements->wishes->first;
    elements->wishes->first = wish;
    list_wished(m, elements);
}

/* --- One of them ------------------------------------------------------------------ */

static bool has_ended(const struct elements *elements, uint64_t place)
{
    const struct element_block *block = elements_block(elements, place);
    return block != NULL && elements_has_ended(block, place);
}

static uint64_t take_out(struct element_wish *wish, uint32_t i)
{
    const uint64_t place = wish->places[i];
    wish->count--;
    memmove(wish->places + i, wish->places + i + 1,
            (wish->count - i) * sizeof(*wish->places));
    return place;
}

/* All that it has. */
static uint64_t take_any(const struct elements *elements, struct element_wish *wish,
                         uint32_t *at)
{
    while (*at < wish->count) {
        if (has_ended(elements, wish->places[*at])) {
            return take_out(wish, *at);
        }
        ++*at;
    }
    wish->known = true;
    return PLACE_NOWHERE;
}

uint64_t wish_take(const struct elements *elements, struct element_wish *wish,
                   uint32_t *at)
{
    const struct element_wishes *wishes = elements->wishes;
    if (!wish->known || wishes->untold) {
        return take_any(elements, wish, at);
    }
    if (*at == 0 && wish->count > 0) {
        *at = places_below(wishes->ended, wishes->ended_count, wish->places[0]);
    }
    while (wish->count > 0 && *at < wishes->ended_count &&
           wishes->ended[*at] <= wish->places[wish->count - 1]) {
        const uint64_t place = wishes->ended[(*at)++];
        const uint32_t i = places_below(wish->places, wish->count, place);
        if (wish->places[i] == place && has_ended(elements, place)) {
            return take_out(wish, i);
        }
    }
    return PLACE_NOWHERE;
}

/* --- The end ---------------------------------------------------------------------- */

void wishes_free(struct moot *m, struct elements *elements)
{
    struct elements **at = &m->tasks.wished;
    while (elements->wished && *at != elements) {
        at = &(*at)->next_wished;
    }
    if (elements->wished) {
        *at = elements->next_wished;
        elements->wished = false;
    }
    if (elements->wishes != NULL) {
        while (elements->wishes->first != NULL) {
            struct element_wish *wish = elements->wishes->first;
            elements->wishes->first = wish->next;
            free(wish);
        }
        wishes_seen(elements);
    }
}
