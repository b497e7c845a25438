/* differing.h - telling the program which ranks differ in their state.
 *
 * Under the engine lock.
 */
#ifndef NODE_RECORD_DIFFERING_H
#define NODE_RECORD_DIFFERING_H

#include "node/context/context.h"

/* CORE_OUT_SIGNATURE: a report, an event, and with MOOT_SIGNATURE=fail the end of who
 * is contradicted, or of who differs where nobody can be named. */
void differing_carry(struct moot *m, const struct core_output *output);

#endif
