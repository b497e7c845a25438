/* array_adopt.h - task arrays that this rank runs for others, by their specs.
 *
 * The spec of an array of a portable kernel comes to its chair with a motion, and from
 * there to a home that is asked for its stretch.  A rank that has the kernel and can
 * take what the array takes holds it from then on as if its program had spawned all of
 * it.  Inputs are arrays that this rank holds, by maps that it has, and tasks by their
 * hashes.  What it cannot take in it leaves alone: others run that.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_ARRAY_ADOPT_H
#define NODE_COMPOSE_ARRAY_ADOPT_H

#include "node/context/context.h"

struct array_inputs;

/* MOTION, of a task or an array, and ELEMENTS (dispatch.h): the spec that it may carry
 * is adopted if the core wants it. */
bool array_take_motion(struct moot *m, uint32_t from, const struct message *motion);
bool array_take_elements(struct moot *m, uint32_t from, const struct message *message);
/* There is room in a spec for what the array takes. */
bool array_has_spec(const struct array_inputs *inputs);

#endif
