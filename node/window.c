/* window.c - see window.h. */
#include "window.h"

#include "hashing/hot.h"
#include "node/exec.h"
#include "node/progress.h"
#include "node/task.h"

enum { WINDOW_PARTS = 8, WINDOW_DROPS = 8, WINDOW_AHEAD = 256, WINDOW_CHUNKS = 64 };
enum { WINDOW_FALLS = 16, WINDOW_STEP = 8192 };

uint64_t window_drop_above(uint64_t window)
{
    return window > 0 ? window / WINDOW_DROPS + 1 : 0;
}

uint8_t window_chunk_mask(uint64_t window)
{
    uint32_t mask = UINT8_MAX;
    while (window > 0 && mask > 1 && (mask + 1) * WINDOW_CHUNKS > window) {
        mask /= 2;
    }
    return (uint8_t)mask;
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

void window_wait_while_leaving(struct moot *m, const moot_hash *hash,
                               const struct task_facts *facts)
{
    struct idle idle = {0};
    while (is_leaving(m, hash, facts) && m->fatal == 0 && !m->closing) {
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
    return stats->let_go * 2 > stats->tasks && m->fatal == 0 && !m->closing;
}

/* True if there is room now. */
static bool wait_for_room(struct moot *m, struct lane *lane, uint64_t target)
{
    struct idle idle = {0};
    uint64_t forgotten = core_stats(m->core)->forgotten, since_ns = clock_ns();
    while (is_full(m, target) && can_help(m)) {
        bool moved = progress_drive_free(m);
        bool ran = exec_one(m, lane, idle.rounds);
        uint64_t now_ns = clock_ns();
        if (ran || m->running > m->kernel_waits ||
            core_stats(m->core)->forgotten != forgotten) {
            forgotten = core_stats(m->core)->forgotten;
            since_ns = now_ns;
        }
        if (now_ns - since_ns > WINDOW_PATIENCE_NS) {
            return false;
        }
        if (moved || ran) {
            idle.rounds = 0;
        } else {
            progress_idle(m, &idle, since_ns + WINDOW_PATIENCE_NS);
        }
    }
    return !is_full(m, target);
}

static bool is_enough(struct moot *m, void *context)
{
    const uint64_t *target = context;
    return core_unfinished(m->core) <= *target || m->closing;
}

static bool run_ready(struct moot *m, struct lane *lane, uint64_t *target)
{
    bool ran = exec_some(m, lane, 0, is_enough, target);
    progress_send_free(m);
    return ran;
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
    } while (!is_enough(m, &target) && run_ready(m, lane, &target));
    exec_here(lane, false);
}

/* What was needed lately is likely to be needed again: the bound grows by half of what
 * is remembered, or by so much as it would in a window of the default size, and falls
 * back in steps of a 16th. */
static uint64_t next_bound(const struct moot *m, uint64_t window, bool room)
{
    uint64_t part = window / WINDOW_PARTS + 1, bound = m->window_bound;
    if (room) {
        bound -= bound / WINDOW_FALLS;
        return bound > window ? bound : window;
    }
    uint64_t tasks = core_stats(m->core)->tasks, step = tasks / 2;
    step = step < WINDOW_STEP ? step : WINDOW_STEP;
    return tasks + (step > part ? step : part);
}

HOT void window_make_room(struct moot *m, struct lane *lane)
{
    uint64_t window = (uint64_t)m->knobs.window;
    if (window == 0) {
        return;
    }
    run_some(m, lane, window / WINDOW_AHEAD + 1);
    if (!is_full(m, m->window_bound)) {
        return;
    }
    uint64_t target = m->window_bound - m->window_bound / WINDOW_PARTS;
    exec_here(lane, true);
    bool room = can_help(m) && wait_for_room(m, lane, target);
    progress_hand_over(m);
    exec_here(lane, false);
    m->window_bound = next_bound(m, window, room);
}
