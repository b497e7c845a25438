/* workers.c - see workers.h. */
#include "node/schedule/workers.h"

#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/schedule/exec.h"

#include <stdlib.h>

/* --- Workers -------------------------------------------------------------------- */

static bool worker_stops(struct moot *m, void *context)
{
    (void)context;
    return m->stop;
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
    while (!m->stop) {
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
    m->workers = calloc(count ? count : 1, sizeof(*m->workers));
    if (m->workers == NULL) {
        return false;
    }
    while (m->worker_count < count) {
        if (!progress_start_thread(&m->workers[m->worker_count], worker_main, m)) {
            return false;
        }
        m->worker_count++;
    }
    return true;
}

/* --- The stand-in --------------------------------------------------------------- */

static bool is_left_alone(const struct moot *m)
{
    if ((m->ready.live == 0 && m->going_on == NULL && m->resting.count == 0) ||
        m->worker_count > 0 || m->program_waits > 0 || m->closing) {
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
    while (!m->stop) {
        exec_here(lane, is_left_alone(m));
        if (!lane->here || !exec_one(m, lane, EXEC_RELUCTANT_ROUNDS)) {
            exec_here(lane, false);
            pthread_cond_wait(&m->left_alone, &m->bond->lock);
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
    if (!m->standing_in) {
        m->standing_in = progress_start_thread(&m->stand_in, stand_in_main, m);
    }
    pthread_cond_signal(&m->left_alone);
}

void workers_join(struct moot *m)
{
    if (m->standing_in) {
        pthread_cond_signal(&m->left_alone);
        pthread_join(m->stand_in, NULL);
        m->standing_in = false;
    }
    for (uint32_t i = 0; i < m->worker_count; i++) {
        pthread_join(m->workers[i], NULL);
    }
    m->worker_count = 0;
    free(m->workers);
    m->workers = NULL;
}
