/* api.c - the public calls: check, lock, call, unlock.
 *
 * What a call does stands in the rooms behind it; here is only what all of them share.
 * A call with a NULL context or output returns INVALID before anything is touched.
 */
#include "node/api/moot.h"

#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "node/api/close.h"
#include "node/compose/queue.h"
#include "node/compose/submit.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/engine/lane_scope.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/explain/exit_report.h"
#include "node/explain/report.h"
#include "node/members/members.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "node/schedule/task_handle.h"
#include "node/schedule/wait.h"
#include "node/spawn/early_motions.h"
#include "node/spawn/spawn.h"
#include "node/spawn/window.h"
#include "node/tasks/handle.h"
#include "node/tasks/kernel.h"
#include "node/tasks/task.h"
#include "proto/error.h"

#include <stdlib.h>
#include <string.h>

/* --- Closing, and who one is ---------------------------------------------------- */

int moot_close(moot *m)
{
    if (m == NULL) {
        return lane_invalid(NULL, "moot_close", "");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int error = close_check(m, lane, "moot_close");
    if (error != MOOT_OK) {
        engine_leave(m);
        return error;
    }
    return close_context(m, lane);
}

int moot_leave(moot *m)
{
    if (m == NULL) {
        return lane_invalid(NULL, "moot_leave", "");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = leave_check(m, lane, "moot_leave");
    error = error == MOOT_OK ? close_check(m, lane, "moot_leave") : error;
    if (error == MOOT_OK && m->engine.ended) {
        error = lane_fail(lane, MOOT_ERR_CLOSED, "this rank has left already");
    }
    error = error == MOOT_OK ? leave_context(m, lane) : error;
    engine_leave(m);
    return error;
}

int moot_rank(const moot *m)
{
    return m != NULL ? (int)m->session.rank : MOOT_ERR_INVALID;
}

int moot_size(const moot *m)
{
    return m != NULL ? (int)m->session.size : MOOT_ERR_INVALID;
}

int moot_present(moot *m, int rank)
{
    if (m == NULL || rank < 0 || (uint32_t)rank >= m->session.size) {
        return lane_invalid(m, "moot_present", "there is no such rank");
    }
    if (engine_enter(m) == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int present = members_is_here(m, session_member(m, (uint32_t)rank));
    engine_leave(m);
    return present;
}

const char *moot_strerror(int code) { return error_text(code); }

const char *moot_err_name(int code) { return error_name(code); }

const char *moot_last_error(const moot *m)
{
    return m != NULL ? lane_error(m) : thread_error();
}

/* --- Kernels -------------------------------------------------------------------- */

static int check_registration(struct lane *lane, const moot_kernel *kernel)
{
    const uint32_t known = MOOT_KERNEL_ONCE | MOOT_KERNEL_IDEMPOTENT |
                           MOOT_KERNEL_PORTABLE | MOOT_KERNEL_NONDETERMINISTIC;
    if (kernel->name == NULL || kernel->name[0] == '\0') {
        return lane_fail(lane, MOOT_ERR_INVALID, "a kernel needs a .name");
    }
    if (strnlen(kernel->name, LIMIT_KERNEL_NAME_BYTES + 1) > LIMIT_KERNEL_NAME_BYTES) {
        return lane_fail(lane, MOOT_ERR_LIMIT, "a kernel's .name has at most %u bytes",
                         LIMIT_KERNEL_NAME_BYTES);
    }
    if (kernel->fn == NULL) {
        return lane_fail(lane, MOOT_ERR_INVALID, "kernel '%s' has no .fn",
                         kernel->name);
    }
    if ((kernel->flags & ~known) != 0) {
        return lane_fail(lane, MOOT_ERR_INVALID, "kernel '%s': unknown .flags %#x",
                         kernel->name, kernel->flags);
    }
    bool single = (kernel->flags & (MOOT_KERNEL_ONCE | MOOT_KERNEL_IDEMPOTENT)) ==
                  MOOT_KERNEL_ONCE;
    if (kernel->retries > 0 && single) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "kernel '%s' is once, and not idempotent: it cannot have "
                         ".retries",
                         kernel->name);
    }
    if (kernel->retries > LIMIT_RETRIES || kernel->retry_backoff < 0) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "kernel '%s': more than %u .retries, or a negative "
                         ".retry_backoff",
                         kernel->name, LIMIT_RETRIES);
    }
    return MOOT_OK;
}

static int register_kernel(struct moot *m, struct lane *lane, const moot_kernel *kernel,
                           moot_kernel_id *out)
{
    int error = check_registration(lane, kernel);
    if (error != MOOT_OK) {
        return error;
    }
    if (kernel_find(&m->tasks.kernels, kernel->name) != NULL) {
        return lane_fail(lane, MOOT_ERR_KERNEL_EXISTS, "kernel '%s': %s", kernel->name,
                         error_text(MOOT_ERR_KERNEL_EXISTS));
    }
    if (m->tasks.kernels.count == LIMIT_KERNELS + KERNELS_OWN) {
        return lane_fail(lane, MOOT_ERR_LIMIT, "no more than %u kernels",
                         LIMIT_KERNELS);
    }
    struct kernel *added = kernel_add(&m->tasks.kernels, kernel);
    if (added == NULL) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for kernel '%s'",
                         kernel->name);
    }
    added->id = handle_of_kernel(&m->tasks.handles, m->tasks.kernels.count - 1);
    if (added->conflict || added->rebuilt) { /* heard of before: all must learn it */
        outbox_tell_kernel(m, added);
    }
    inbox_say_rebuilt(m, added);
    out->id = added->id;
    early_take(m, added, EARLY_MOTIONS_MAX);
    return MOOT_OK;
}

int moot_kernel_register(moot *m, const moot_kernel *kernel, moot_kernel_id *out)
{
    if (m == NULL || kernel == NULL || out == NULL) {
        return lane_invalid(m, "moot_kernel_register",
                            kernel == NULL ? "the kernel is NULL"
                                           : "the output is NULL");
    }
    moot_kernel room;
    kernel = sized_kernel(kernel, &room);
    if (kernel == NULL) {
        return lane_invalid(m, "moot_kernel_register", SIZED_REFUSAL(moot_kernel));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = register_kernel(m, lane, kernel, out);
    engine_leave(m);
    return error;
}

/* --- Spawning ------------------------------------------------------------------- */

HOT int moot_task_spawn_at(moot *m, const moot_task_spec *spec, moot_task *out,
                           const char *site)
{
    if (m == NULL || spec == NULL || out == NULL) {
        return lane_invalid(m, "moot_task_spawn",
                            spec == NULL ? "the spec is NULL" : "the output is NULL");
    }
    moot_task_spec room;
    spec = sized_spec(spec, &room);
    if (spec == NULL) {
        return lane_invalid(m, "moot_task_spawn", SIZED_REFUSAL(moot_task_spec));
    }
    struct lane *lane = engine_enter_unsettled(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = spawn_soon(m, lane, spec, site, out);
    if (error != MOOT_OK) {
        lane_name_call(lane, "moot_task_spawn");
    }
    engine_leave(m);
    return error;
}

int moot_spec_hash(moot *m, const moot_task_spec *spec, moot_hash *out)
{
    if (m == NULL || spec == NULL || out == NULL) {
        return lane_invalid(m, "moot_spec_hash",
                            spec == NULL ? "the spec is NULL" : "the output is NULL");
    }
    moot_task_spec room;
    spec = sized_spec(spec, &room);
    if (spec == NULL) {
        return lane_invalid(m, "moot_spec_hash", SIZED_REFUSAL(moot_task_spec));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = spawn_hash(m, lane, spec, out);
    if (error != MOOT_OK) {
        lane_name_call(lane, "moot_spec_hash");
    }
    engine_leave(m);
    return error;
}

static int find_by_hash(struct moot *m, struct lane *lane, const moot_hash *hash,
                        moot_task *out)
{
    static const struct task_facts no_inputs;
    if (core_any_leaving(m->core)) {
        window_wait_while_leaving(m, lane, hash, &no_inputs);
    }
    if (core_forgotten(m->core, hash)) {
        char digits[MOOT_HASH_TEXT_BYTES];
        return lane_fail(lane, MOOT_ERR_SCOPE_CLOSED,
                         "task %.8s is of a scope that has ended on every rank",
                         hash_format(hash, digits));
    }
    struct task *task = task_enter(m, hash);
    if (task != NULL) {
        observe_named(m, task);
    }
    uint64_t id = task != NULL ? task_handle_new(m, task, NULL) : 0;
    if (id == 0) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for a handle");
    }
    core_name(m->core, task_entry(task));
    out->id = id;
    return MOOT_OK;
}

int moot_task_find(moot *m, const moot_hash *hash, moot_task *out)
{
    if (m == NULL || hash == NULL || out == NULL) {
        return lane_invalid(m, "moot_task_find",
                            hash == NULL ? "the hash is NULL" : "the output is NULL");
    }
    if (hash_is_zero(hash)) {
        return lane_invalid(m, "moot_task_find", "the hash is zero, which no task has");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = find_by_hash(m, lane, hash, out);
    engine_leave(m);
    return error;
}

/* A handle to the task that `spec` would be. */
static int find_by_spec(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                        moot_task *out)
{
    moot_hash hash;
    int error = spawn_hash(m, lane, spec, &hash);
    error = error == MOOT_OK ? find_by_hash(m, lane, &hash, out) : error;
    struct handle *handle;
    uint32_t number = 0;
    if (error == MOOT_OK &&
        handle_find(&m->tasks.handles, out->id, &handle) == MOOT_OK &&
        handle_find_kernel(&m->tasks.handles, spec->kernel.id, &number) == MOOT_OK) {
        task_note_named(m, handle->task, m->tasks.kernels.items[number], spec->label);
    }
    return error;
}

int moot_task_name(moot *m, const moot_task_spec *spec, moot_task *out)
{
    if (m == NULL || spec == NULL || out == NULL) {
        return lane_invalid(m, "moot_task_name",
                            spec == NULL ? "the spec is NULL" : "the output is NULL");
    }
    moot_task_spec room;
    spec = sized_spec(spec, &room);
    if (spec == NULL) {
        return lane_invalid(m, "moot_task_name", SIZED_REFUSAL(moot_task_spec));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = find_by_spec(m, lane, spec, out);
    if (error != MOOT_OK) {
        lane_name_call(lane, "moot_task_name");
    }
    engine_leave(m);
    return error;
}

static int decline(struct moot *m, struct lane *lane, const moot_hash *hash)
{
    struct core_event event = {.type = CORE_EV_DECLINE, .hash = *hash};
    int error = engine_step(m, &event);
    if (error != MOOT_OK) {
        lane_fail(lane, error, "%s",
                  error == MOOT_ERR_STATE
                      ? "a task that this rank has spawned cannot be declined"
                      : error_text(error));
    }
    return error;
}

int moot_decline(moot *m, const moot_hash *hash)
{
    if (m == NULL || hash == NULL) {
        return lane_invalid(m, "moot_decline", "the hash is NULL");
    }
    if (hash_is_zero(hash)) {
        return lane_invalid(m, "moot_decline", "the hash is zero, which no task has");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = decline(m, lane, hash);
    engine_leave(m);
    return error;
}

/* --- Scopes and parking --------------------------------------------------------- */

static int open_scope(struct moot *m, struct lane *lane, const char *name)
{
    if (observe_is_telling(lane)) {
        return observe_refuse(lane, "moot_scope_open");
    }
    if (lane->call != NULL) {
        return lane_fail(lane, MOOT_ERR_STATE, "inside a kernel the scope is the task");
    }
    if (name[0] == '\0' ||
        strnlen(name, LIMIT_SCOPE_NAME_BYTES + 1) > LIMIT_SCOPE_NAME_BYTES) {
        return lane_fail(lane, name[0] == '\0' ? MOOT_ERR_INVALID : MOOT_ERR_LIMIT,
                         "a scope's name has 1 to %u bytes", LIMIT_SCOPE_NAME_BYTES);
    }
    return scope_open(m, lane, name);
}

int moot_scope_open(moot *m, const char *name)
{
    if (m == NULL || name == NULL) {
        return lane_invalid(m, "moot_scope_open", "the name is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = open_scope(m, lane, name);
    engine_leave(m);
    return error;
}

int moot_scope_close(moot *m)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_scope_close", "");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = observe_refuse(lane, "moot_scope_close");
    if (error == MOOT_OK) {
        error = lane->call != NULL ? lane_fail(lane, MOOT_ERR_STATE,
                                               "inside a kernel the scope is the task")
                                   : scope_close(m, lane);
    }
    engine_leave(m);
    return error;
}

static int set_parked(struct moot *m, struct lane *lane, bool parked)
{
    if (observe_is_telling(lane)) {
        return observe_refuse(lane, parked ? "moot_park" : "moot_unpark");
    }
    if (lane->call != NULL) {
        return lane_fail(lane, MOOT_ERR_INVALID, "a kernel cannot park its thread");
    }
    if (lane->parked == parked) {
        return lane_fail(lane, MOOT_ERR_STATE, "this thread is %s",
                         parked ? "parked already" : "not parked");
    }
    int error = lane_enrol(m, lane);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, "%s", error_text(error));
    }
    lane->parked = parked;
    trace_park(m, parked);
    lane_set_state(m, lane, parked ? CORE_LANE_PARKED : CORE_LANE_RUNNING);
    progress_drive_free(m); /* peers should hear of it before the thread blocks */
    return MOOT_OK;
}

static int park(const char *call, moot *m, bool parked)
{
    if (m == NULL) {
        return lane_invalid(m, call, "");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = set_parked(m, lane, parked);
    engine_leave(m);
    return error;
}

int moot_park(moot *m) { return park("moot_park", m, true); }

int moot_unpark(moot *m) { return park("moot_unpark", m, false); }

/* --- Figures -------------------------------------------------------------------- */

int moot_stats_get_sized(const moot *m, moot_stats *out, size_t size)
{
    if (m == NULL || out == NULL) {
        return lane_invalid(m, "moot_stats_get", "the output is NULL");
    }
    if (!SIZED_ADMITS(size, moot_stats, tasks_taken_over)) {
        return lane_invalid(m, "moot_stats_get", SIZED_REFUSAL_OUT(moot_stats));
    }
    moot_stats stats;
    struct moot *context = m->bond->m;
    if (engine_enter(context) == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    stats_fill(context, &stats);
    engine_leave(context);
    sized_give(out, size, &stats, sizeof(stats));
    return MOOT_OK;
}
