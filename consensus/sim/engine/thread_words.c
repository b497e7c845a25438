/* thread_words.c - a lane's wait for many tasks, as node/schedule/many.c does it.
 *
 * The core is told that the lane waits for all of them; when it has said that it has
 * what words tell, what has not ended is needed, each.  Where node/ wants more tasks
 * than a few, two are enough here.
 */
#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "consensus/sim/engine/sim_internal.h"

enum { WORDED_MIN = 2, WORDED_MAX = 64 };

void words_begin(struct host *host, uint32_t lane, const struct program_step *step)
{
    struct sim_thread *state = &host->lanes[lane];
    void *tasks[WORDED_MAX];
    struct core_event event = {.type = CORE_EV_AWAIT};
    state->awaits = state->words_in = false;
    state->worded = 0;
    if (step->op != PROGRAM_WAIT_ALL || step->tasks.count < WORDED_MIN ||
        step->tasks.count > WORDED_MAX || state->cut != MOOT_OK) {
        return;
    }
    host_flush(host);
    for (uint32_t i = 0; i < step->tasks.count && !host->undone; i++) {
        const uint32_t task = step->tasks.items[i];
        void *entry = host->records[task].entry != NULL ? host_enter(host, task) : NULL;
        if (entry != NULL && core_may_await(host->core, lane, entry)) {
            tasks[event.u.await.count++] = entry;
            state->worded |= UINT64_C(1) << i;
        }
    }
    event.u.await.lane = lane;
    event.u.await.tasks = tasks;
    event.u.await.behind = CORE_NEVER;
    state->awaits = event.u.await.count >= WORDED_MIN && !host->undone &&
                    host_step(host, &event) == MOOT_OK;
    if (!state->awaits) {
        state->worded = 0;
    }
}

bool words_may_tell(const struct host *host, uint32_t lane, uint32_t i)
{
    return i < WORDED_MAX && (host->lanes[lane].worded >> i & 1) != 0;
}

void words_take(struct host *host, uint32_t lane, const struct program_step *step)
{
    for (uint32_t i = 0; i < step->tasks.count; i++) {
        struct record *record = &host->records[step->tasks.items[i]];
        record->done |= words_may_tell(host, lane, i) && record->kept;
    }
}

/* A task that has run here is needed, too: so it is pushed to those whom no word told.
 */
void words_ask(struct host *host, uint32_t lane, const struct program_step *step)
{
    struct sim_thread *state = &host->lanes[lane];
    struct core_event event = {.type = CORE_EV_AWAIT};
    state->words_in = false;
    for (uint32_t i = 0; i < step->tasks.count && !host->undone; i++) {
        const struct record *record = &host->records[step->tasks.items[i]];
        if (words_may_tell(host, lane, i) && (!record->kept || record->ended)) {
            state->worded &= ~(UINT64_C(1) << i);
            lane_need(host, lane, step->tasks.items[i], CORE_EV_NEED);
        }
    }
    event.u.await.lane = lane;
    if (!host->undone && state->awaits) {
        host_step(host, &event);
    }
}

void words_end(struct host *host, uint32_t lane)
{
    struct sim_thread *state = &host->lanes[lane];
    struct core_event event = {.type = CORE_EV_UNAWAIT};
    event.u.await.lane = lane;
    if (state->awaits && !host->undone) {
        host_step(host, &event);
    }
    state->awaits = state->words_in = false;
    state->worded = 0;
}
