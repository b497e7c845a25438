/* api_checkpoint.c - the public calls that have what is finished stored, and name what
 * is.  Those of kernels stand in node/schedule/found.c.
 */
#include "node/api/moot_checkpoint.h"

#include "node/checkpoint/checkpoint.h"
#include "node/checkpoint/snapshots.h"
#include "node/compose/task_wait.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "proto/error.h"
#include "proto/limits.h"

#include <string.h>

int moot_checkpoint_flush(moot *m)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_checkpoint_flush", "");
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

/* --- Snapshots -------------------------------------------------------------------- */

static int check_snapshot(struct moot *m, struct lane *lane, const char *call,
                          const char *name)
{
    if (name[0] == '\0' || strlen(name) > LIMIT_SNAPSHOT_NAME_BYTES) {
        return lane_fail(lane, name[0] == '\0' ? MOOT_ERR_INVALID : MOOT_ERR_LIMIT,
                         "%s: a snapshot's name has 1 to %u bytes", call,
                         LIMIT_SNAPSHOT_NAME_BYTES);
    }
    if (m->engine.ended) {
        return lane_fail(lane, MOOT_ERR_CLOSED, "%s", engine_closed_why(m));
    }
    if (!checkpoint_is_on(m)) {
        return checkpoint_refuse(lane, call);
    }
    return MOOT_OK;
}

/* Waits until the snapshot is there, or is not. */
static int wait_for_snapshot(struct moot *m, struct lane *lane, const char *call,
                             struct snapshot_ask *ask, moot_duration timeout)
{
    int error = task_wait_check(m, lane, call, timeout);
    if (error != MOOT_OK) {
        return error;
    }
    checkpoint_flush(m);
    error = snapshots_ask(m, ask);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, "%s: %s", call, error_text(error));
    }
    struct wait wait = {.want = WANT_DONE,
                        .lane = lane,
                        .deadline_ns = timeout == 0 || timeout == MOOT_FOREVER
                                           ? CORE_NEVER
                                           : m->now_ns + (uint64_t)timeout,
                        .said = &ask->over,
                        .goes_on = true};
    error = wait_run(m, &wait);
    snapshots_withdraw(m, ask);
    if (error == MOOT_OK && !ask->over) {
        return lane_fail(lane, m->engine.fatal, "%s: %s", call,
                         text_get(&m->engine.fatal_story));
    }
    return error == MOOT_OK ? error
                            : lane_fail(lane, error, "%s: %s", call, error_text(error));
}

int moot_checkpoint(moot *m, const moot_checkpoint_options *options, moot_hash *id)
{
    static const char call[] = "moot_checkpoint";
    moot_checkpoint_options room = {.size = sizeof(room)};
    const moot_checkpoint_options *given =
        options != NULL ? sized_checkpoint(options, &room) : &room;
    if (m == NULL || given == NULL) {
        return lane_invalid(m, call, SIZED_REFUSAL(moot_checkpoint_options));
    }
    struct snapshot_ask ask = {.name = given->name != NULL ? given->name : "snapshot"};
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = check_snapshot(m, lane, call, ask.name);
    if (error == MOOT_OK) {
        error = wait_for_snapshot(m, lane, call, &ask, given->timeout);
    }
    if (error == MOOT_OK && ask.status != MOOT_OK) {
        error = lane_fail(lane, ask.status,
                          "%s: snapshot '%s' could not be written by rank %u, whose "
                          "report says why; results stay as they are",
                          call, ask.name, ask.rank);
    }
    engine_leave(m);
    if (error == MOOT_OK && id != NULL) {
        *id = ask.id;
    }
    return error;
}

int moot_checkpoint_find(moot *m, const char *name, moot_hash *id)
{
    static const char call[] = "moot_checkpoint_find";
    struct text why = {0};
    if (m == NULL || name == NULL || id == NULL) {
        return lane_invalid(m, call,
                            name == NULL ? "the name is NULL" : "the output is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = check_snapshot(m, lane, call, name);
    if (error == MOOT_OK && !snapshots_find(m, name, id, &why)) {
        error = lane_fail(lane, MOOT_ERR_FILE, "%s: %s", call, text_get(&why));
    }
    engine_leave(m);
    text_release(&why);
    return error;
}
