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
 * Under the engine lock.
 */
#ifndef NODE_TASKS_ELEMENT_WISHES_H
#define NODE_TASKS_ELEMENT_WISHES_H

#include "node/tasks/own_elements.h"

/* Elements that one rank wishes for, for an input of that array. */
struct element_wish {
    struct element_wish *next; /* in elements->wishes */
    uint32_t rank, input;
    moot_hash by;
    uint32_t count;
    uint64_t places[]; /* ascending: of those that it was not sent */
};

/* The wish is the array's from now on. */
void wishes_add(struct moot *m, struct elements *elements, struct element_wish *wish);
/* Elements have ended that may be wished for. */
void wishes_note(struct moot *m, struct elements *elements);
/* The next array of which that is so, and is no more; NULL: there is none. */
struct elements *wishes_next(struct moot *m);
void wishes_free(struct moot *m, struct elements *elements);

#endif
