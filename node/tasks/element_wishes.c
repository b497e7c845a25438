/* element_wishes.c - see element_wishes.h. */
#include "node/tasks/element_wishes.h"

#include "node/context/context.h"

#include <stdlib.h>

void wishes_note(struct moot *m, struct elements *elements)
{
    if (elements->wishes != NULL && !elements->wished) {
        elements->wished = true;
        elements->next_wished = m->tasks.wished;
        m->tasks.wished = elements;
    }
}

struct elements *wishes_next(struct moot *m)
{
    struct elements *elements = m->tasks.wished;
    if (elements != NULL) {
        m->tasks.wished = elements->next_wished;
        elements->wished = false;
    }
    return elements;
}

void wishes_add(struct moot *m, struct elements *elements, struct element_wish *wish)
{
    wish->next = elements->wishes;
    elements->wishes = wish;
    wishes_note(m, elements);
}

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
    while (elements->wishes != NULL) {
        struct element_wish *wish = elements->wishes;
        elements->wishes = wish->next;
        free(wish);
    }
}
