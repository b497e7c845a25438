/* element_find.h - an element of an array that this rank perhaps never heard of.
 *
 * A rank that knows an array's hash alone knows no element's home.  So to find an
 * element is a task of the library's kernel "moot.find", whose arguments are the hash
 * and the index, and whose input is the end of the array, by that hash: its result says
 * how many elements there are, and where.  It is beside the array's end, so that its
 * chair is the array's; the kernel is portable, so that the chair runs it for a rank
 * that asks alone.  Whoever owns it has the result, or asks for it (read_seek()).
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_ELEMENT_FIND_H
#define NODE_COMPOSE_ELEMENT_FIND_H

#include "node/api/moot_array.h"
#include "node/context/context.h"

bool finds_begin(struct moot *m); /* false without memory */
int array_find(struct moot *m, struct lane *lane, const moot_hash *array,
               uint64_t index, const char *site, moot_task *out);

#endif
