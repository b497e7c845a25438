/* store.h - the room of memory: results, and records.
 *
 * Results are buffers that several may read and the last one frees (payload.h); what
 * lives as long as a context comes from its pool (pool.h). Large buffers are used again
 * (payload_large.h); tables of which little is used are untouched (untouched.h).
 *
 * Writes m->store. Under the engine lock.
 *
 * This is its contract: files of other rooms include of this room what stands below.
 */
#ifndef NODE_STORE_STORE_H
#define NODE_STORE_STORE_H

#include "node/store/payload.h"
#include "node/store/pool.h"
#include "node/store/untouched.h"

#endif
