/* array_inputs.h - what the elements of an array are to take, as its spec says it.
 *
 * A spec is checked before anything is spawned.  Of maps that are built in every rank
 * refuses what one would have to.  Of a map that the program has registered a rank
 * looks at its own elements alone, when the array is about to be registered, and may be
 * refused it where others are not.
 *
 * With MOOT_VERIFY the inverse of such a map is compared with its sources, once for a
 * shape, and the first difference is reported.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_ARRAY_INPUTS_H
#define NODE_COMPOSE_ARRAY_INPUTS_H

#include "consensus/shape/array_schedule.h"
#include "hashing/identity.h"
#include "node/api/moot_array.h"
#include "node/context/context.h"

struct elements;

/* The inputs of an array, as its spec has them. */
struct array_inputs {
    uint32_t count;
    moot_task handles[MOOT_ARRAY_INPUTS_MAX];     /* tasks, and the ends of arrays */
    struct elements *from[MOOT_ARRAY_INPUTS_MAX]; /* NULL: it is a task, */
    struct task *tasks[MOOT_ARRAY_INPUTS_MAX];    /* this one */
    struct array_mapping mappings[MOOT_ARRAY_INPUTS_MAX];
    struct identity_map maps[MOOT_ARRAY_INPUTS_MAX];
};

/* Checks those of the spec; `inputs` is zero before. */
int array_inputs_find(struct lane *lane, struct moot *m, const moot_array_spec *spec,
                      const struct array_spread *spread, struct array_inputs *inputs);
/* The array takes them.  It is not registered yet. */
int array_inputs_take(struct moot *m, struct lane *lane, struct elements *elements,
                      const struct array_inputs *inputs);

#endif
