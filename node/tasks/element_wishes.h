/* element_wishes.h - which results of an array's elements ranks wish to be sent.
 *
 * A home sends what the schedules say.  They know nothing of an element that was dealt
 * to a rank, say after a death.  So that rank tells whoever may come to have what the
 * element takes that it *wishes* for it (node/schedule/element_parts.h), and is sent it
 * as it comes.
 *
 * A wish is not answered, and may be forgotten: that costs time alone, since who idles
 * asks for what it lacks.
 *
 * Ranks may wish for hundreds of thousands of elements, and what has ended is sent
 * after each that took long.  So a wish is looked through as a whole once, when it
 * comes.  From then on the places at which elements end are noted, and are looked for
 * in the wishes.
 *
 * Under the engine lock.
 */
#ifndef NODE_TASKS_ELEMENT_WISHES_H
#define NODE_TASKS_ELEMENT_WISHES_H

#include "node/tasks/own_elements.h"

/* Elements that one rank wishes for, for an input of that array. */
struct element_wish {
    struct element_wish *next;
    uint32_t rank, input;
    moot_hash by;
    bool known; /* it was looked through as a whole */
    uint32_t count;
    uint64_t places[]; /* ascending: of those that it was not sent */
};

/* All that are wished for of an array. */
struct element_wishes {
    struct element_wish *first; /* there is one, but while they are looked through */
    uint64_t *ended;            /* places at which elements have ended since then */
    uint32_t ended_count, ended_room;
    bool untold; /* and there was no memory for one of these */
};

/* The wish is the array's from now on; without memory it is forgotten. */
void wishes_add(struct moot *m, struct elements *elements, struct element_wish *wish);
/* An element has ended that may be wished for. */
void wishes_note(struct moot *m, struct elements *elements, uint64_t place);
/* The next array of which that is so, and is no more; NULL: there is none.  Its wishes
 * are to be looked through now, */
struct elements *wishes_next(struct moot *m);
/* each for the places of elements that have ended.  Takes the next one out of the wish;
 * PLACE_NOWHERE: there is none.  `at`: zero before the first. */
uint64_t wish_take(const struct elements *elements, struct element_wish *wish,
                   uint32_t *at);
/* And then what was noted is not needed any more. */
void wishes_seen(struct elements *elements);
void wishes_free(struct moot *m, struct elements *elements);

#endif
