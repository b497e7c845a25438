/* window.c - see window.h. */
#include "node/spawn/window.h"

#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "node/engine/clock.h"
#include "node/engine/dispatch.h"
#include "node/engine/lane.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/explain/rank_snapshot.h"
#include "node/explain/snapshot_query.h"
#include "node/explain/spawn_table.h"
#include "node/members/members.h"
#include "node/schedule/exec.h"
#include "node/schedule/ready.h"
#include "node/session/session.h"
#include "node/spawn/backpressure.h"
#include "node/spawn/spawn_batch.h"
#include "node/tasks/task.h"

enum { WINDOW_PARTS = 8, WINDOW_DROPS = 8, WINDOW_AHEAD = 256, WINDOW_CHUNKS = 64 };
enum { WINDOW_NEAR_TASKS = 1024, WINDOW_LINGER_NS = 20000 };
enum { WINDOW_FALLS = 16, WINDOW_STEP = 8192 };

uint64_t window_drop_above(uint64_t window, bool survives)
{
    uint64_t tasks = window / WINDOW_DROPS;
    bool far = !survives && tasks > WINDOW_NEAR_TASKS;
    return window > 0 ? (far ? WINDOW_NEAR_TASKS : tasks) + 1 : 0;
}

uint64_t window_lot_after(uint64_t window)
{
    return window > 0 ? window / WINDOW_DROPS + 1 : 0;
}

uint64_t window_pass_after(uint64_t window) { return window > 0 ? window / 2 + 1 : 0; }

uint8_t window_chunk_mask(uint64_t window)
{
    uint32_t mask = UINT8_MAX;
    while (window > 0 && mask > 1 && (mask + 1) * WINDOW_CHUNKS > window) {
        mask /= 2;
    }
    return (uint8_t)mask;
}

/* Whether to press on, for so many bytes. */
static bool is_worth_it(struct press *press, const struct payloads *payloads,
                        uint64_t now_ns)
{
    if (press->freed != payloads->let_go_freed) {
        *press = (struct press){.freed = payloads->let_go_freed};
    }
    if (payloads->let_go_bytes <= press->in_vain_bytes + WINDOW_RESULT_BYTES) {
        press->since_ns = 0;
        return false;
    }
    press->since_ns = press->since_ns == 0 ? now_ns : press->since_ns;
    bool in_vain = now_ns - press->since_ns >= WINDOW_PRESS_NS;
    press->in_vain_bytes = in_vain ? payloads->let_go_bytes : press->in_vain_bytes;
    return !in_vain;
}

void window_open(struct moot *m) { m->spawn.window_bound = (uint64_t)m->knobs.window; }

uint32_t window_press(struct moot *m)
{
    if (!is_worth_it(&m->spawn.press, &m->store.payloads, m->now_ns)) {
        return 0;
    }
    uint64_t bytes = m->store.payloads.let_go_bytes;
    uint64_t together = WINDOW_PIECE_BYTES * core_stats(m->core)->tasks / bytes;
    return together < 1 ? 1 : together < UINT32_MAX ? (uint32_t)together : UINT32_MAX;
}

static bool is_leaving(const struct moot *m, const moot_hash *hash,
                       const struct task_facts *facts)
{
    if (!core_any_leaving(m->core)) {
        return false;
    }
    bool leaving = core_is_leaving(m->core, hash);
    for (size_t i = 0; i < facts->reg.input_count && !leaving; i++) {
        const struct task *input =
            facts->input_tasks != NULL ? facts->input_tasks[i] : NULL;
        const void *entry = input != NULL ? task_entry(input) : NULL;
        leaving = entry != NULL ? core_entry_is_leaving(m->core, entry)
                                : core_is_leaving(m->core, &facts->reg.inputs[i]);
    }
    return leaving;
}

void window_wait_while_leaving(struct moot *m, struct lane *lane, const moot_hash *hash,
                               const struct task_facts *facts)
{
    struct idle idle = {0};
    if (is_leaving(m, hash, facts)) {
        lane_forget_inputs(lane, facts->reg.input_count);
    }
    while (is_leaving(m, hash, facts) && m->engine.fatal == 0 && !m->engine.closing) {
        if (!progress_drive_free(m)) {
            progress_idle(m, &idle, CORE_NEVER);
        }
    }
    progress_hand_over(m);
}

static bool is_full(const struct moot *m, uint64_t bound)
{
    return core_stats(m->core)->tasks >= bound;
}

static bool can_help(const struct moot *m)
{
    const struct core_stats *stats = core_stats(m->core);
    return stats->let_go * 2 > stats->tasks && m->engine.fatal == 0 &&
           !m->engine.closing;
}

/* --- Waiting for room ------------------------------------------------------------ */

/* Whose answers count.  Where nothing is dropped before its scope ends nobody's does.
 */
static uint64_t peers_to_ask(const struct moot *m)
{
    uint64_t peers = 0;
    const uint32_t ever = transport_group_ever(&m->group);
    bool drops = ever <= PATIENCE_RANKS_MAX && core_reclaims(m->core);
    for (uint32_t rank = 0; drops && rank < ever; rank++) {
        bool here = members_is_here(m, rank) && !m->members.all[rank].left;
        peers |= (uint64_t)(here && rank != m->group.rank) << rank;
    }
    return peers;
}

static void ask(struct moot *m, uint64_t ranks)
{
    for (uint32_t rank = 0; rank < PATIENCE_RANKS_MAX && ranks >> rank != 0; rank++) {
        struct message message = {.type = MESSAGE_INQUIRY};
        message.u.inquiry.number = INQUIRY_OF_REST;
        if (ranks >> rank & 1) {
            outbox_add_own(m, rank, &message);
        }
    }
}

static void hear_account(struct moot *m, uint32_t from,
                         const struct message_account *said)
{
    Moot__Account *account =
        from < PATIENCE_RANKS_MAX ? account_read(said->bytes, said->size) : NULL;
    if (account != NULL) {
        patience_hear(&m->spawn.patience, from,
                      account->closed                       ? PATIENCE_CLOSED
                      : account->running > account->stopped ? PATIENCE_COMPUTES
                      : account->rests                      ? PATIENCE_RESTS
                                                            : PATIENCE_GOES_ON);
    }
    account_free(account);
}

/* A rank that was removed is not asked. */
bool window_take_account(struct moot *m, uint32_t from, const struct message *message)
{
    const struct message_account *said = &message->u.account;
    if (members_is_here(m, from)) {
        if (said->number == INQUIRY_OF_REST) {
            hear_account(m, from, said);
        } else if (said->number == INQUIRY_OF_SESSION) {
            session_take_record(m, from, said);
        } else if (said->number == INQUIRY_OF_SPAWNS) {
            spawn_table_hear(m, from, said);
        } else {
            inquiry_on_account(m, from, said);
        }
    }
    return false;
}

/* Counts what moves here. */
static uint64_t moves(const struct moot *m)
{
    return core_stats(m->core)->forgotten + m->counts.run;
}

static enum patience_verdict judge(struct moot *m, uint64_t now_ns)
{
    bool computes =
        m->schedule.running > m->schedule.kernel_waits; /* on another thread */
    enum patience_verdict verdict =
        patience_look(&m->spawn.patience, now_ns, moves(m), peers_to_ask(m), computes);
    if (verdict == PATIENCE_ASK) {
        ask(m, m->spawn.patience.to_ask);
    }
    return verdict;
}

/* PATIENCE_WAIT: there is room now. */
static enum patience_verdict wait_for_room(struct moot *m, struct lane *lane,
                                           uint64_t target)
{
    struct idle idle = {0};
    enum patience_verdict verdict = PATIENCE_WAIT;
    while (is_full(m, target) && can_help(m)) {
        bool moved = progress_drive_free(m);
        moved |= exec_one(m, lane, idle.rounds);
        uint64_t now_ns = clock_ns();
        verdict = judge(m, now_ns);
        if (verdict == PATIENCE_USELESS || verdict == PATIENCE_LONG) {
            return verdict;
        }
        if (moved || verdict == PATIENCE_ASK) {
            idle.rounds = 0;
        } else {
            progress_idle(m, &idle, now_ns + PATIENCE_TURN_NS);
        }
    }
    return is_full(m, target) ? PATIENCE_USELESS : PATIENCE_WAIT;
}

static bool is_enough(struct moot *m, void *context)
{
    const uint64_t *target = context;
    return core_unfinished(m->core) <= *target || m->engine.closing;
}

static bool run_ready(struct moot *m, struct lane *lane, uint64_t *target)
{
    if (ready_any(m)) {
        engine_settle(m);
    }
    bool ran = exec_some(m, lane, 0, is_enough, target);
    progress_send_free(m);
    return ran;
}

/* Nothing is ready, and something has ended not long ago: what is unfinished is likely
 * to go on soon.  More spawns would but lengthen the queue behind it, which costs
 * memory and caches.  Who waits in vain does so once. */
static bool lingers(struct moot *m)
{
    struct spawn_linger *linger = &m->spawn.linger;
    if (linger->ends != m->engine.end_count) {
        *linger = (struct spawn_linger){m->engine.end_count, m->now_ns};
    }
    return m->now_ns - linger->since_ns < WINDOW_LINGER_NS && !m->engine.driven &&
           m->engine.fatal == 0;
}

/* Runs what is ready until a quarter of what may be unfinished is free. */
static void run_some(struct moot *m, struct lane *lane, uint64_t ahead)
{
    if (core_unfinished(m->core) <= ahead || lane->call != NULL) {
        return;
    }
    uint64_t target = ahead - ahead / 4;
    exec_here(lane, true);
    do {
        progress_drive_between(m); /* what is unfinished may wait for its inputs */
    } while (!is_enough(m, &target) && (run_ready(m, lane, &target) || lingers(m)));
    if (!is_enough(m, &ahead)) {
        progress_give_way(m); /* to who makes what is waited for */
    }
    exec_here(lane, false);
}

/* What was needed lately is likely to be needed again: the bound grows by half of what
 * is remembered, or by so much as it would in a window of the default size, and falls
 * back in steps of a 16th.  Who has waited for so long that nobody knows why does not
 * wait often. */
static uint64_t next_bound(const struct moot *m, uint64_t window,
                           enum patience_verdict verdict)
{
    uint64_t part = window / WINDOW_PARTS + 1, bound = m->spawn.window_bound;
    if (verdict == PATIENCE_WAIT) {
        bound -= bound / WINDOW_FALLS;
        return bound > window ? bound : window;
    }
    uint64_t tasks = core_stats(m->core)->tasks, step = tasks / 2;
    bool often = verdict == PATIENCE_USELESS;
    step = (step < WINDOW_STEP) == often ? step : WINDOW_STEP;
    return tasks + (step > part ? step : part);
}

static bool any_lacks_room(const struct moot *m)
{
    const struct lane *lane = m->engine.lanes;
    while (lane != NULL && !lane->lacks_room) {
        lane = lane->next;
    }
    return lane != NULL;
}

/* How it ended.  Threads wait together: one's patience is all others'. */
static enum patience_verdict stay(struct moot *m, struct lane *lane, uint64_t target)
{
    if (!can_help(m)) {
        return PATIENCE_USELESS;
    }
    if (!any_lacks_room(m)) {
        patience_begin(&m->spawn.patience, clock_ns(), moves(m),
                       core_stats(m->core)->forgotten);
    }
    lane->lacks_room = true;
    enum patience_verdict verdict = wait_for_room(m, lane, target);
    lane->lacks_room = false;
    return verdict;
}

HOT void window_make_room(struct moot *m, struct lane *lane)
{
    uint64_t window = (uint64_t)m->knobs.window;
    if (window == 0) {
        return;
    }
    run_some(m, lane, window / WINDOW_AHEAD + 1);
    if (!is_full(m, m->spawn.window_bound)) {
        return;
    }
    uint64_t target = m->spawn.window_bound - m->spawn.window_bound / WINDOW_PARTS;
    engine_settle(m);
    exec_here(lane, true);
    enum patience_verdict verdict = stay(m, lane, target);
    progress_hand_over(m);
    exec_here(lane, false);
    m->spawn.window_bound = next_bound(m, window, verdict);
}
