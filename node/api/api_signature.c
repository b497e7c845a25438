/* api_signature.c - the public call by which a program signs its state.
 */
#include "node/api/moot_watch.h"

#include "node/engine/engine.h"
#include "node/faults/faults.h"
#include "proto/error.h"

static int sign(struct moot *m, struct lane *lane, const moot_hash *hash, uint64_t step)
{
    if (m->engine.ended) {
        return lane_fail(lane, MOOT_ERR_CLOSED, "%s", engine_closed_why(m));
    }
    if (m->engine.fatal != 0) {
        return lane_fail(lane, m->engine.fatal, "%s", text_get(&m->engine.fatal_story));
    }
    struct core_event event = {.type = CORE_EV_SIGNATURE, .hash = *hash};
    event.u.signature.step = step;
    faults_sign(m, &event.hash);
    const int error = engine_step(m, &event);
    if (error == MOOT_ERR_STATE) {
        return lane_fail(lane, error, "step %llu is not behind the last one",
                         (unsigned long long)step);
    }
    return error == MOOT_OK ? MOOT_OK
                            : lane_fail(lane, error, "step %llu: %s",
                                        (unsigned long long)step, error_text(error));
}

int moot_state_signature(moot *m, const moot_hash *hash, uint64_t step)
{
    if (m == NULL || hash == NULL) {
        return lane_invalid(m, "moot_state_signature", "the hash is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int error = sign(m, lane, hash, step);
    engine_leave(m);
    return error;
}
