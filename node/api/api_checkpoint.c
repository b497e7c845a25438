/* api_checkpoint.c - the public call that has what is finished stored.  Those of
 * kernels stand in node/schedule/found.c.
 */
#include "node/api/moot_checkpoint.h"

#include "node/checkpoint/checkpoint.h"
#include "node/engine/engine.h"

int moot_checkpoint_flush(moot *m)
{
    if (m == NULL) {
        return thread_fail(MOOT_ERR_INVALID,
                           "moot_checkpoint_flush: the context is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int error = m->engine.ended
                          ? lane_fail(lane, MOOT_ERR_CLOSED, "%s", engine_closed_why(m))
                          : MOOT_OK;
    if (error == MOOT_OK) {
        checkpoint_flush(m);
    }
    engine_leave(m);
    return error;
}
