/* handles_in_use.h - how many handles a rank has, each of which keeps a task in memory.
 */
#ifndef TESTS_CONFORMANCE_HANDLES_IN_USE_H
#define TESTS_CONFORMANCE_HANDLES_IN_USE_H

#include "node/context/context.h"
#include "node/engine/engine.h"
#include "tests/conformance/ranks.h"

static inline uint32_t handles_in_use(struct seat *seat)
{
    engine_lock(seat->m);
    const struct handles *handles = &seat->m->tasks.handles;
    uint32_t count = handles->count - handles->free_count;
    engine_unlock(seat->m);
    return count;
}

#endif
