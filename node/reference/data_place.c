/* data_place.c - bytes go where they will be needed (moot_reference.h).
 *
 * A place is a need of a result's bytes that nobody waits for: what a wait leaves
 * behind that was given no time (node/schedule/wait.h).  It ends when the bytes are
 * here, or with the last handle.
 */
#include "node/api/moot_reference.h"

#include "node/compose/compose.h"
#include "node/engine/engine.h"
#include "node/schedule/task_handle.h"
#include "node/schedule/wait.h"

static int check_ranks(const struct moot *m, struct lane *lane, const moot_ranks *ranks,
                       bool *here)
{
    *here = ranks->count == 0;
    for (size_t i = 0; i < ranks->count; i++) {
        const int rank = ranks->ranks[i];
        if (rank < 0 || (uint32_t)rank >= m->session.size) {
            return lane_fail(lane, MOOT_ERR_INVALID,
                             "moot_data_place: rank %d is not one of 0..%u", rank,
                             m->session.size - 1);
        }
        *here |= session_member(m, (uint32_t)rank) == m->group.rank;
    }
    return MOOT_OK;
}

static int place(struct moot *m, struct lane *lane, moot_task task,
                 const moot_ranks *ranks)
{
    bool here;
    struct wait_item item;
    struct wait wait = {.want = WANT_DATA, .items = &item, .count = 1};
    struct handle *handle;
    int error = check_ranks(m, lane, ranks, &here);
    if (error != MOOT_OK) {
        return error;
    }
    if (!here) {
        error = task_handle_find(m, task.id, &handle);
        return error == MOOT_OK
                   ? error
                   : task_handle_refuse(lane, "moot_data_place", 0, 1, error);
    }
    error = task_wait_locked(m, lane, "moot_data_place", &task, 0, &wait, NULL);
    return wait.over || error == MOOT_ERR_TIMEOUT ? MOOT_OK : error;
}

int moot_data_place(moot *m, moot_task task, moot_ranks ranks)
{
    if (m == NULL || (ranks.ranks == NULL && ranks.count > 0)) {
        return lane_invalid(m, "moot_data_place",
                            "the ranks are NULL, and their count is not 0");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int error = place(m, lane, task, &ranks);
    engine_leave(m);
    return error;
}
