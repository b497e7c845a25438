/* window.c - see window.h. */
#include "window.h"

#include "node/exec.h"
#include "node/progress.h"
#include "node/task.h"

enum { WINDOW_PARTS = 8, WINDOW_DROPS = 8, WINDOW_AHEAD = 256 };

uint64_t window_drop_above(uint64_t window)
{
    return window > 0 ? window / WINDOW_DROPS + 1 : 0;
}

static bool is_leaving(const struct moot *m, const moot_hash *hash,
                       const struct task_facts *facts)
{
    if (!core_any_leaving(m->core)) {
        return false;
    }
    bool leaving = core_is_leaving(m->core, hash);
    for (size_t i = 0; i < facts->input_count && !leaving; i++) {
        const struct task *input =
            facts->input_tasks != NULL ? facts->input_tasks[i] : NULL;
        const void *entry = input != NULL ? task_entry(input) : NULL;
        leaving = entry != NULL ? core_entry_is_leaving(m->core, entry)
                                : core_is_leaving(m->core, &facts->inputs[i]);
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
        if (ran || m->running > 0 || core_stats(m->core)->forgotten != forgotten) {
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

void window_make_room(struct moot *m, struct lane *lane)
{
    uint64_t window = (uint64_t)m->knobs.window;
    if (window == 0) {
        return;
    }
    run_some(m, lane, window / WINDOW_AHEAD + 1);
    if (!is_full(m, m->window_bound)) {
        return;
    }
    uint64_t part = window / WINDOW_PARTS + 1;
    lane_set_state(m, lane, CORE_LANE_TIMED);
    exec_here(lane, true);
    bool room = can_help(m) && wait_for_room(m, lane, m->window_bound - part);
    progress_hand_over(m);
    exec_here(lane, false);
    lane_set_state(m, lane, CORE_LANE_RUNNING);
    if (!room) {
        m->window_bound = core_stats(m->core)->tasks + part;
    } else {
        m->window_bound = window;
    }
}
