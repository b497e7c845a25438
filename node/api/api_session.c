/* api_session.c - the public calls about sessions and process sets.
 *
 * A session ends with two meetings.  To the first all ranks come when they have run
 * what they own, those that are to go among them.  To the second those come that stay;
 * who goes leaves instead, as by moot_leave(), and leaving counts as closing.  So the
 * outcome of the second names the processes of the next session, alike for all of them,
 * and survives the death of any rank, as that of every meeting does.  What is left is
 * to wait until those who go are no members any more.  (A rank that has closed stays a
 * member until all have, and is in no session after that.)
 */
#include "node/api/moot_session.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/api/close.h"
#include "node/compose/meet_wait.h"
#include "node/compose/task_wait.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/schedule/wait.h"
#include "node/session/session.h"

#include <string.h>

static const char NEXT[] = "moot_session_next";

/* The story goes to the context's thread if there is a context. */
static int invalid(const moot *m, const char *call, const char *what)
{
    struct lane *lane = m != NULL ? lane_of_thread(m->bond) : NULL;
    if (lane != NULL) {
        return lane_fail(lane, MOOT_ERR_INVALID, "%s: %s", call, what);
    }
    return thread_fail(MOOT_ERR_INVALID, "%s: %s", call,
                       m != NULL ? what : "the moot is NULL");
}

static int no_memory(struct lane *lane, const char *call)
{
    return lane_fail(lane, MOOT_ERR_NO_MEMORY, "%s: no memory", call);
}

/* --- The next session ------------------------------------------------------------- */

static bool has_run_all(const struct moot *m) { return core_unfinished(m->core) == 0; }

static bool is_among_its_own(const struct moot *m)
{
    return session_others_are_gone(m, &m->schedule.meetings.came);
}

static int wait_until(struct moot *m, struct lane *lane,
                      bool (*until)(const struct moot *m), bool goes_on)
{
    struct wait wait = {.want = WANT_DONE,
                        .lane = lane,
                        .deadline_ns = CORE_NEVER,
                        .until = until,
                        .goes_on = goes_on};
    int error = task_wait_check(m, lane, NEXT, MOOT_FOREVER);
    error = error == MOOT_OK ? wait_run(m, &wait) : error;
    if (error == MOOT_OK && m->engine.fatal != 0) {
        error = lane_fail(lane, m->engine.fatal, "%s: %s", NEXT,
                          text_get(&m->engine.fatal_story));
    }
    return error;
}

static int meet(struct moot *m, struct lane *lane, const char *purpose)
{
    uint64_t number;
    const moot_hash hash = digest_bytes(purpose, strlen(purpose));
    return meet_wait_run(m, lane, NEXT, &hash, &number);
}

static int go(struct moot *m, struct lane *lane)
{
    const int error = leave_context(m, lane);
    session_leave(m);
    return error;
}

static int stay(struct moot *m, struct lane *lane)
{
    int error = session_end(m, &m->schedule.meetings.came)
                    ? meet(m, lane, "session of those who stay")
                    : no_memory(lane, NEXT);
    /* Others may be in the next session already, and wait for what this rank is yet to
     * spawn in it: nobody is to take that for what no rank holds. */
    error = error == MOOT_OK ? wait_until(m, lane, is_among_its_own, true) : error;
    if (error == MOOT_OK && !session_begin(m, &m->schedule.meetings.came)) {
        error = no_memory(lane, NEXT);
    }
    return error;
}

static int next(struct moot *m, struct lane *lane, bool leaves)
{
    if (lane->call != NULL) {
        return lane_fail(lane, MOOT_ERR_STATE, "%s inside a kernel", NEXT);
    }
    int error = leaves ? leave_check(m, lane, NEXT) : MOOT_OK;
    if (error == MOOT_OK && leaves) {
        error = close_check(m, lane, NEXT); /* its queues pass on what they hold */
    }
    error = error == MOOT_OK ? wait_until(m, lane, has_run_all, false) : error;
    error = error == MOOT_OK ? meet(m, lane, "end of a session") : error;
    /* Those who have just come may have made this rank the owner of more. */
    error = error == MOOT_OK ? wait_until(m, lane, has_run_all, false) : error;
    if (error != MOOT_OK) {
        return error;
    }
    return leaves ? go(m, lane) : stay(m, lane);
}

int moot_session_next_sized(moot *m, const moot_session_options *options,
                            moot_session_info *out, size_t size)
{
    static const moot_session_options none;
    moot_session_options room;
    options = sized_session(options != NULL ? options : &none, &room);
    if (m == NULL || options == NULL ||
        (out != NULL && !SIZED_ADMITS(size, moot_session_info, process))) {
        return invalid(m, NEXT, SIZED_REFUSAL);
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    moot_session_info info;
    int error = next(m, lane, options->leave != 0);
    if (error == MOOT_OK && !session_show(m, &info)) {
        error = no_memory(lane, NEXT);
    }
    if (error == MOOT_OK && out != NULL) {
        sized_give(out, size, &info, sizeof(info));
    }
    engine_leave(m);
    return error;
}

/* --- Looks ------------------------------------------------------------------------ */

int moot_session_info_get_sized(moot *m, moot_session_info *out, size_t size)
{
    const char *call = "moot_session_info_get";
    if (m == NULL || out == NULL || !SIZED_ADMITS(size, moot_session_info, process)) {
        return invalid(m, call, out == NULL ? "the output is NULL" : SIZED_REFUSAL);
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    moot_session_info info;
    const int error = session_show(m, &info) ? MOOT_OK : no_memory(lane, call);
    if (error == MOOT_OK) {
        sized_give(out, size, &info, sizeof(info));
    }
    engine_leave(m);
    return error;
}

size_t moot_pset_count(moot *m)
{
    size_t count = 0;
    if (m == NULL) {
        (void)invalid(m, "moot_pset_count", "");
        return 0;
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return 0;
    }
    if (!session_pset_count(m, &count)) {
        (void)no_memory(lane, "moot_pset_count");
    }
    engine_leave(m);
    return count;
}

int moot_pset_info_sized(moot *m, size_t index, moot_pset_info *out, size_t size)
{
    const char *call = "moot_pset_info";
    if (m == NULL || out == NULL || !SIZED_ADMITS(size, moot_pset_info, size)) {
        return invalid(m, call, out == NULL ? "the output is NULL" : SIZED_REFUSAL);
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    size_t count = 0;
    int error = session_pset_count(m, &count) ? MOOT_OK : no_memory(lane, call);
    if (error == MOOT_OK && index >= count) {
        error = lane_fail(lane, MOOT_ERR_INVALID, "%s: there is no set %zu of %zu",
                          call, index, count);
    }
    if (error == MOOT_OK) {
        moot_pset_info info;
        session_pset_show(m, index, &info);
        sized_give(out, size, &info, sizeof(info));
    }
    engine_leave(m);
    return error;
}
