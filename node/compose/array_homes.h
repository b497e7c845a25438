/* array_homes.h - whose the elements of an array are to be, as its spec says it.
 *
 * The homes are the array's candidates.  If it has none they are those of the array
 * beside which it is; or else the ranks of the session in which it is spawned, which
 * are the founders in the first one.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_ARRAY_HOMES_H
#define NODE_COMPOSE_ARRAY_HOMES_H

#include "node/api/moot_array.h"
#include "node/context/context.h"
#include "node/tasks/own_elements.h"

struct homes_said {
    struct element_homes homes; /* .ranks: NULL, or: */
    struct rankset ranks;       /* release it whatever is returned */
    uint32_t count;
};

/* The homes of a spec whose .beside is checked, and is of that array, or NULL.  `near`:
 * an array whose homes this one has, too, and not its candidates; or NULL.  With a
 * text: INVALID, LIMIT, NO_MEMORY.
 */
int array_homes_find(struct moot *m, struct lane *lane, const moot_array_spec *spec,
                     const struct elements *beside, const struct elements *near,
                     struct homes_said *out);

#endif
