/* close.c - see close.h.
 *
 * A rank that leaves ends its program and service as one that closes; but it waits
 * until nothing is lost by its going, not until all have closed, and keeps its memory.
 * One that has said at the end of a session that it goes, and is closed instead,
 * leaves.
 *
 * The order matters.  First the program's other waits end (CLOSED), and their threads
 * leave, running to its end whatever kernel they are in; then the core is told that all
 * lanes have ended, and this thread serves and runs what is left until every rank has
 * closed; then what is queued goes out, and ranks say farewell; then threads are joined
 * and memory goes.
 *
 * After a fatal end (strict divergence, a stall with abort, a broken transport) there
 * is nothing to wait for: what is queued gets a moment to leave, and that is all.
 */
#include "node/api/close.h"

#include "node/checkpoint/checkpoint.h"
#include "node/compose/data.h"
#include "node/compose/element_read.h"
#include "node/compose/queue.h"
#include "node/compose/queue_line.h"
#include "node/compose/stretch.h"
#include "node/engine/engine.h"
#include "node/engine/inbox.h"
#include "node/engine/lane_scope.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/explain/exit_report.h"
#include "node/explain/holdup.h"
#include "node/explain/leaks.h"
#include "node/explain/metrics.h"
#include "node/explain/report.h"
#include "node/explain/snapshot_query.h"
#include "node/explain/spawn_table.h"
#include "node/explain/usr1.h"
#include "node/faults/faults.h"
#include "node/members/members.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "node/schedule/element_parts.h"
#include "node/schedule/exec.h"
#include "node/schedule/unstarted.h"
#include "node/schedule/wait.h"
#include "node/schedule/workers.h"
#include "node/service/dismissal.h"
#include "node/service/sigterm.h"
#include "node/service/status_socket.h"
#include "node/session/session.h"
#include "node/spawn/early_motions.h"
#include "node/tasks/board.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/family.h"
#include "node/tasks/handle.h"
#include "node/tasks/kernel.h"
#include "node/tasks/map.h"
#include "node/tasks/own_elements.h"
#include "node/tasks/source.h"
#include "node/tasks/task_list.h"

#include <sched.h>
#include <stdlib.h>

/* How long queued frames may take to leave: for peers that read, and for peers that may
 * not. */
#define FLUSH_NS UINT64_C(10000000000)
#define FLUSH_FATAL_NS UINT64_C(500000000)
/* How long the lowest rank waits for what the others have spawned, if it is to tell. */
#define TABLE_NS UINT64_C(200000000)
/* How long farewells may take, and the last of them to leave. */
#define PART_NS UINT64_C(20000000000)
#define LINGER_NS UINT64_C(50000000)

/* Drives and runs tasks until `done`. */
static void serve_until(struct moot *m, struct lane *lane, bool (*done)(struct moot *m),
                        uint64_t until_ns)
{
    struct idle idle = {0};
    exec_here(lane, true);
    while (!done(m) && clock_ns() < until_ns) {
        bool moved = progress_drive_free(m);
        if (done(m)) {
            break;
        }
        if (exec_one(m, lane, idle.rounds) || moved) {
            idle.rounds = 0;
        } else {
            progress_idle(m, &idle, until_ns);
        }
    }
    exec_here(lane, false);
    progress_hand_over(m);
}

/* Only this thread is left inside a public call. */
static bool is_alone(struct moot *m)
{
    return __atomic_load_n(&m->engine.callers, __ATOMIC_ACQUIRE) == 1 &&
           m->schedule.running == 0;
}

static bool program_left(struct moot *m)
{
    return m->schedule.program_waits == 0 || m->engine.fatal != 0;
}

static bool is_over(struct moot *m)
{
    return m->engine.adjourned || m->engine.fatal != 0;
}

/* What is under way to a rank that was removed and perhaps stands still may never
 * arrive. */
static bool is_flushed(struct moot *m)
{
    const struct transport_ops *wire = m->transport->ops;
    bool empty = outbox_empty(m);
    if (m->members.gone == 0) {
        return empty && wire->flushed(m->transport);
    }
    for (uint32_t rank = 0; empty && rank < m->group.size; rank++) {
        empty = !members_is_here(m, rank) ||
                wire->backlog(m->transport, m->group.uids[rank]) == 0;
    }
    return empty;
}

/* Says farewell and waits for everyone's.  Who is not heard of by then is left behind.
 */
static void part(struct moot *m, struct lane *lane)
{
    members_say_goodbye(m);
    serve_until(m, lane, members_all_left, clock_ns() + PART_NS);
    if (!members_all_left(m)) {
        m->transport->ops->go_alone(m->transport);
    }
    serve_until(m, lane, is_flushed, clock_ns() + LINGER_NS);
}

/* The core's answer to the word that all lanes have ended, or that this rank goes. */
static int end_core(struct moot *m, enum core_event_type how)
{
    while (m->schedule.lingering != NULL) {
        wait_end_linger(m, m->schedule.lingering);
    }
    struct core_event event = {.type = how};
    event.u.close.exit_code = 0;
    return engine_step(m, &event);
}

static void stop_threads(struct moot *m)
{
    __atomic_store_n(&m->engine.stop, true, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&m->engine.changed);
    engine_unlock(m);
    workers_join(m);
    progress_join_helper(m);
    lookout_join(m);
}

/* A thread that has ended meanwhile may be telling a watch of it still. */
static void leave_alone(struct moot *m)
{
    observe_tell(m); /* the last of it */
    while (!is_alone(m)) {
        engine_unlock(m);
        sched_yield();
        engine_lock(m);
    }
    lanes_leave(m);
    m->bond->m = NULL;
}

/* The program's other waits end, and their threads leave. */
static void end_program(struct moot *m, struct lane *lane)
{
    leaks_close(m);
    engine_begin_closing(m);
    trace_closing(m);
    progress_ended(m);
    report_wait_begins(m, m->engine.closing_ns);
    progress_wake(m);
    serve_until(m, lane, program_left, CORE_NEVER);
}

/* To the last word to the others; from then on this rank is none of them. */
static void end_service(struct moot *m, struct lane *lane, enum core_event_type how)
{
    if (m->engine.fatal == 0) {
        checkpoint_flush(m);
        spawn_table_send(m); /* before the word that this rank has closed */
        if (end_core(m, how) == MOOT_OK && how == CORE_EV_LEAVE) {
            unstarted_give_back(m);
        }
        serve_until(m, lane, is_over, CORE_NEVER);
        if (how == CORE_EV_LEAVE) {
            checkpoint_finish(m);
        }
    }
    if (m->engine.fatal == 0 && how == CORE_EV_CLOSE) {
        serve_until(m, lane, spawn_table_is_here, clock_ns() + TABLE_NS);
        spawn_table_tell(m);
    }
    uint64_t patience_ns = m->engine.fatal == 0 ? FLUSH_NS : FLUSH_FATAL_NS;
    serve_until(m, lane, is_flushed, clock_ns() + patience_ns);
    checkpoint_flush(m);
    if (m->engine.fatal == 0 && !m->members.departed) {
        part(m, lane);
    }
    summary_write(m, m->engine.fatal);
    metrics_write(m, m->engine.fatal);
    trace_close(m);
    engine_end(m);
}

int close_check(struct moot *m, struct lane *lane, const char *call)
{
    if (observe_is_telling(lane)) {
        return observe_refuse(lane, call);
    }
    if (lane->call != NULL) {
        return lane_fail(lane, MOOT_ERR_STATE, "%s inside a kernel", call);
    }
    if (!m->engine.closing) {
        queue_close_all(m, lane); /* whose functions may let another close first */
    }
    if (m->engine.closing && !m->engine.ended) {
        return lane_fail(lane, MOOT_ERR_STATE, "another thread closes this context");
    }
    return MOOT_OK;
}

int leave_check(struct moot *m, struct lane *lane, const char *call)
{
    const char *stays = members_stays(m);
    return stays == NULL ? MOOT_OK
                         : lane_fail(lane, MOOT_ERR_UNSUPPORTED, "%s: %s", call, stays);
}

int leave_context(struct moot *m, struct lane *lane)
{
    dismissal_begins(m);
    end_program(m, lane);
    end_service(m, lane, CORE_EV_LEAVE);
    session_leave(m);
    const int code = m->engine.fatal;
    if (code != 0) {
        lane_fail(lane, code, "%s", text_get(&m->engine.fatal_story));
    }
    return code;
}

void leave_as_asked(struct moot *m, struct lane *lane)
{
    if (lane->call != NULL || observe_is_telling(lane) || m->engine.closing) {
        return;
    }
    queue_close_all(m, lane); /* whose functions may let another close first */
    if (m->engine.closing) {
        return;
    }
    (void)leave_context(m, lane); /* the call that this is in has a story of its own */
}

int close_context(struct moot *m, struct lane *lane)
{
    if (!m->engine.ended && m->session.goes) {
        (void)leave_context(m, lane); /* others wait until it is no member (M7) */
    } else if (!m->engine.ended) {
        end_program(m, lane);
        end_service(m, lane, CORE_EV_CLOSE);
    }
    serve_until(m, lane, is_alone, CORE_NEVER);
    int code = m->engine.fatal;
    if (code != 0) { /* for moot_last_error(m) and (NULL) */
        lane_fail(lane, code, "%s", text_get(&m->engine.fatal_story));
        thread_fail(code, "%s", text_get(&m->engine.fatal_story));
    }
    stop_threads(m);
    engine_lock(m);
    leave_alone(m);
    engine_unlock(m);
    usr1_leave();
    sigterm_leave();
    context_free(m);
    return code;
}

/* Before any task goes: results that its elements and sources keep, too. */
static void let_results_go(void *context, struct task *task)
{
    elements_free(context, task);
    if (task->seldom != NULL) {
        source_free_all(task);
    }
}

/* Nobody is left to read what was lent; tasks that read one element share its result.
 */
static void forget_borrowers(void *context, struct task *task)
{
    (void)context;
    if (task->payload != NULL) {
        task->payload->references = 0;
    }
}

static void count_owner(void *context, struct task *task)
{
    (void)context;
    if (task->payload != NULL) {
        payload_hold(task->payload);
    }
}

static void free_task(void *context, struct task *task)
{
    (void)context;
    task_drop_args(task);
    if (task->seldom != NULL) {
        free(task->seldom->verdict_story);
        family_free(task);
        payload_free(task->seldom->partial);
    }
    payload_drop(task->payload);
}

void context_free(struct moot *m)
{
    if (m == NULL) {
        return;
    }
    board_release(m);
    bool quiet = m->transport == NULL || m->transport->ops->free(m->transport);
    checkpoint_release(m);
    faults_release(m);
    trace_abandon(m);
    outbox_free(m->engine.outbox, quiet);
    inbox_free(m->engine.inbox, quiet);
    door_close(m);
    inquiry_release(m);
    spawn_table_release(m);
    members_release(m);
    session_release(m);
    if (m->core != NULL) {
        task_each(m, let_results_go, m);
        task_each(m, forget_borrowers, NULL);
        task_each(m, count_owner, NULL);
        task_each(m, free_task, NULL);
    }
    links_end(m);
    founders_end(m);
    maps_release(m);
    reads_release(m);
    stretches_release(m);
    parts_release(m);
    exec_release(m);
    handles_release(&m->tasks.handles);
    early_release(m);
    kernels_release(&m->tasks.kernels);
    queue_lines_release(&m->compose.queue_lines);
    scopes_release(m);
    datas_release(m);
    rankset_release(&m->schedule.meetings.came);
    free(m->schedule.meetings.words);
    free(m->listing.bytes);
    free(m->listing.kept);
    observe_release(m);
    transport_group_release(&m->group);
    free(m->tasks.sites);
    core_free(m->core); /* and with it the records of tasks */
    pool_release(&m->store.pool);
    payloads_release(&m->store.payloads);
    free(m->engine.laters);
    reports_release(m);
    text_release(&m->engine.fatal_story);
    pthread_cond_destroy(&m->engine.changed);
    pthread_cond_destroy(&m->schedule.left_alone);
    pthread_cond_destroy(&m->engine.roused);
    bond_drop(m->bond);
    free(m);
}
