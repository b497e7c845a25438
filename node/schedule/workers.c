/* workers.c - see workers.h. */
#include "node/schedule/workers.h"

#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/schedule/exec.h"
#include "node/schedule/ready.h"

#include <stdlib.h>

/* --- Workers -------------------------------------------------------------------- */

static bool worker_stops(struct moot *m, void *context)
{
    (void)context;
    return m->engine.stop;
}

static void *worker_main(void *argument)
{
    struct moot *m = argument;
    struct lane *lane = lane_of_thread(m->bond);
    if (lane == NULL) {
        return NULL; /* no memory: one worker less, callers still run tasks */
    }
    struct idle idle = {0};
    engine_lock(m);
    exec_here(lane, true);
    while (!m->engine.stop) {
        if (exec_some(m, lane, idle.rounds, worker_stops, NULL)) {
            progress_send_free(m);
            idle.rounds = 0;
        } else if (progress_drive_free(m)) {
            idle.rounds = 0;
        } else {
            progress_idle(m, &idle, CORE_NEVER);
        }
    }
    engine_unlock(m);
    return NULL;
}

bool workers_start(struct moot *m, uint32_t count)
{
    m->schedule.workers = calloc(count ? count : 1, sizeof(*m->schedule.workers));
    if (m->schedule.workers == NULL) {
        return false;
    }
    while (m->schedule.worker_count < count) {
        if (!progress_start_thread(&m->schedule.workers[m->schedule.worker_count],
                                   worker_main, m)) {
            return false;
        }
        m->schedule.worker_count++;
    }
    return true;
}

/* --- The stand-in --------------------------------------------------------------- */

static bool is_left_alone(const struct moot *m)
{
    if ((!ready_any(m) && m->schedule.going_on == NULL &&
         m->schedule.resting.count == 0) ||
        m->schedule.worker_count > 0 || m->schedule.program_waits > 0 ||
        m->engine.closing) {
        return false;
    }
    return lanes_any_parked(m);
}

static void *stand_in_main(void *argument)
{
    struct moot *m = argument;
    struct lane *lane = lane_of_thread(m->bond);
    if (lane == NULL) {
        return NULL; /* no memory: the parked lane runs them when it is back */
    }
    engine_lock(m);
    while (!m->engine.stop) {
        exec_here(lane, is_left_alone(m));
        if (!lane->here || !exec_one(m, lane, EXEC_RELUCTANT_ROUNDS)) {
            exec_here(lane, false);
            pthread_cond_wait(&m->schedule.left_alone, &m->bond->lock);
        }
    }
    engine_unlock(m);
    return NULL;
}

void workers_stand_in(struct moot *m)
{
    if (!is_left_alone(m)) {
        return;
    }
    if (!m->schedule.standing_in) {
        m->schedule.standing_in =
            progress_start_thread(&m->schedule.stand_in, stand_in_main, m);
    }
    pthread_cond_signal(&m->schedule.left_alone);
}

void workers_join(struct moot *m)
{
    if (m->schedule.standing_in) {
        pthread_cond_signal(&m->schedule.left_alone);
        pthread_join(m->schedule.stand_in, NULL);
        m->schedule.standing_in = false;
    }
    for (uint32_t i = 0; i < m->schedule.worker_count; i++) {
        pthread_join(m->schedule.workers[i], NULL);
    }
    m->schedule.worker_count = 0;
    free(m->schedule.workers);
    m->schedule.workers = NULL;
}
