/* api_reload.c - the public calls by which all ranks go back to a snapshot.
 *
 * All ranks meet twice.  The first meeting is for the snapshot: if ranks have come for
 * others, or to something else, nothing has changed.  Then each rank drains its kernels
 * and has its environment on the disk finished, and comes to the core's reload
 * (consensus/PROTOCOL.md, *Reload*), whose mark one of them writes.  No kernel begins
 * before this rank's store has turned to the new generation.
 */
#include "node/api/moot_checkpoint.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/checkpoint/checkpoint.h"
#include "node/checkpoint/snapshots.h"
#include "node/compose/meet_wait.h"
#include "node/compose/task_wait.h"
#include "node/diskstore/diskstore_snapshot.h"
#include "node/engine/engine.h"
#include "node/faults/faults.h"
#include "node/schedule/undo.h"
#include "node/schedule/wait.h"
#include "node/tasks/board.h"
#include "proto/error.h"

#include <string.h>

static const char CALL[] = "moot_checkpoint_reload";

static int check(struct moot *m, struct lane *lane, const moot_hash *id)
{
    if (lane->call != NULL) {
        return lane_fail(lane, MOOT_ERR_STATE, "%s inside a kernel", CALL);
    }
    int error = task_wait_check(m, lane, CALL, MOOT_FOREVER);
    if (error != MOOT_OK) {
        return error;
    }
    if (m->engine.ended) {
        return lane_fail(lane, MOOT_ERR_CLOSED, "%s", engine_closed_why(m));
    }
    if (!checkpoint_is_on(m)) {
        return checkpoint_refuse(lane, CALL);
    }
    if (lane->scope_depth > 0 || lane->queues.top != NULL) {
        return lane_fail(lane, MOOT_ERR_STATE, "%s: a %s is open; close it before",
                         CALL, lane->scope_depth > 0 ? "scope" : "queue");
    }
    if (m->schedule.reload.meets || m->schedule.draining) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "%s: another thread of this rank is in it", CALL);
    }
    struct diskstore_snapshot found;
    struct text why = {0};
    engine_unlock(m);
    const bool has =
        diskstore_may_go_back(m->checkpoint.store, m->group.size, &why) &&
        diskstore_snapshot_find(m->checkpoint.store, NULL, id, &found, &why);
    engine_lock(m);
    error =
        has ? MOOT_OK : lane_fail(lane, MOOT_ERR_FILE, "%s: %s", CALL, text_get(&why));
    text_release(&why);
    return error;
}

static int run_wait(struct moot *m, struct lane *lane, struct wait *wait)
{
    wait->want = WANT_DONE;
    wait->lane = lane;
    wait->deadline_ns = CORE_NEVER;
    int error = wait_run(m, wait);
    if (error == MOOT_OK && m->engine.fatal != 0) {
        error = lane_fail(lane, m->engine.fatal, "%s: %s", CALL,
                          text_get(&m->engine.fatal_story));
    }
    return error;
}

static int meet(struct moot *m, struct lane *lane, const moot_hash *id)
{
    struct {
        char what[16];
        moot_hash id;
    } words = {.what = "reload", .id = *id};
    const moot_hash purpose = digest_bytes(&words, sizeof(words));
    uint64_t number;
    return meet_wait_run(m, lane, CALL, &(struct meet_wait){.purpose = &purpose},
                         &number);
}

static bool see_all(void *context, void *entry)
{
    (void)context;
    (void)entry;
    return false;
}

/* Results of the kernels that are drained are written, too. */
static void freeze(struct moot *m)
{
    checkpoint_flush(m);
    core_each_entry(m->core, see_all, NULL); /* handles of stubs get records */
    engine_unlock(m);
    diskstore_freeze(m->checkpoint.store);
    engine_lock(m);
}

static int come_to_reload(struct moot *m, struct lane *lane, const moot_hash *id)
{
    const struct reload_call *reload = &m->schedule.reload;
    struct core_event event = {.type = CORE_EV_RELOAD, .hash = *id};
    event.u.reload.generation = diskstore_generation(m->checkpoint.store);
    faults_at_point(m, CORE_POINT_CHECKPOINT_RELOAD);
    undo_begin(m);
    int error = engine_step(m, &event);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, "%s: %s", CALL,
                         error == MOOT_ERR_UNSUPPORTED
                             ? "ranks may join at any moment, and have nowhere to go "
                               "back to; let them join at boundaries (--joins session)"
                             : error_text(error));
    }
    error = run_wait(m, lane, &(struct wait){.said = &reload->over});
    undo_end(m);
    if (error == MOOT_OK && reload->status != MOOT_OK) {
        error = lane_fail(lane, reload->status,
                          "%s: %s; results stay as they are, and tasks that ran when "
                          "it was called have been cancelled",
                          CALL, error_text(reload->status));
    }
    return error;
}

/* A rank that cannot read the snapshot must not go on: it might find what is void. */
static int go_back(struct moot *m, struct lane *lane, const moot_hash *id)
{
    struct text why = {0};
    faults_at_point(m, CORE_POINT_CHECKPOINT_RELOAD);
    engine_unlock(m);
    const bool good =
        diskstore_go_back(m->checkpoint.store, m->schedule.reload.generation, id, &why);
    engine_lock(m);
    int error = MOOT_OK;
    if (good) {
        __atomic_store_n(&m->checkpoint.looks, true, __ATOMIC_RELAXED);
    } else {
        engine_fail(m, MOOT_ERR_FILE, "%s: %s", CALL, text_get(&why));
        error = lane_fail(lane, MOOT_ERR_FILE, "%s: %s", CALL, text_get(&why));
    }
    text_release(&why);
    return error;
}

static int reload(struct moot *m, struct lane *lane, const moot_hash *id)
{
    undo_meets(m, true);
    int error = meet(m, lane, id);
    undo_meets(m, false);
    if (error != MOOT_OK) {
        undo_drain(m, false);
        return error != MOOT_ERR_STATE
                   ? error
                   : lane_fail(
                         lane, error,
                         "%s: not all ranks have come to it with this id: some to "
                         "another snapshot, or to another call that waits for all "
                         "ranks; nothing has changed",
                         CALL);
    }
    error =
        run_wait(m, lane, &(struct wait){.until = undo_is_drained, .goes_on = true});
    if (error == MOOT_OK) {
        freeze(m);
        snapshots_go_back(m);
        error = come_to_reload(m, lane, id);
        error = error == MOOT_OK ? go_back(m, lane, id) : error;
        snapshots_went_back(m, m->schedule.reload.over && m->engine.fatal == 0);
    }
    undo_drain(m, false);
    return error;
}

int moot_checkpoint_reload(moot *m, const moot_hash *id)
{
    if (m == NULL || id == NULL) {
        return lane_invalid(m, CALL, "the hash is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const moot_hash copy = *id;
    int error = check(m, lane, &copy);
    if (error == MOOT_OK) {
        board_reload(m, true); /* who dies from here on died in it */
        undo_is_called(m, true);
        error = reload(m, lane, &copy);
        undo_is_called(m, false);
        board_reload(m, false);
    }
    void (*const dropped)(struct moot *, void *) = m->checkpoint.dropped;
    void *const user = m->checkpoint.dropped_user;
    engine_leave(m);
    if (error == MOOT_OK && dropped != NULL) {
        dropped(m, user);
    }
    return error;
}

int moot_checkpoint_on_reload(moot *m, moot_reload_fn fn, void *user)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_checkpoint_on_reload", "");
    }
    if (engine_enter(m) == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    checkpoint_on_reload(m, fn, user);
    engine_leave(m);
    return MOOT_OK;
}
