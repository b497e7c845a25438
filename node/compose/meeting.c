/* meeting.c - see meeting.h. */
#include "node/compose/meeting.h"

#include "node/compose/task_wait.h"
#include "node/engine/engine.h"
#include "proto/error.h"

#include <assert.h>

/* The threads of a rank come to its meetings one at a time: which of two comes first
 * would be chance, and the n-th of one rank is the n-th of all. */
static int arrive(struct moot *m, struct lane *lane, const char *call,
                  const moot_hash *purpose)
{
    struct meetings *meetings = &m->schedule.meetings;
    const struct core_event event = {.type = CORE_EV_MEET, .hash = *purpose};
    assert(meetings->number >= meetings->met);
    if (meetings->number > meetings->met) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "%s: another thread of this rank waits for all ranks", call);
    }
    meetings->number++;
    int error = engine_step(m, &event);
    if (error != MOOT_OK) {
        meetings->number--;
        return lane_fail(lane, error, "%s: %s", call, error_text(error));
    }
    return MOOT_OK;
}

static int outcome(struct moot *m, struct lane *lane, const char *call, uint64_t number)
{
    const struct meetings *meetings = &m->schedule.meetings;
    if (meetings->met < number) {
        return lane_fail(lane, m->engine.fatal, "%s: %s", call,
                         text_get(&m->engine.fatal_story));
    }
    if (meetings->code != MOOT_OK) {
        return lane_fail(lane, meetings->code,
                         "%s: all ranks have come to meeting %llu, but not all by the "
                         "same call, or in the same scope: look at what each rank "
                         "calls there",
                         call, (unsigned long long)number);
    }
    return MOOT_OK;
}

int meeting_run(struct moot *m, struct lane *lane, const char *call,
                const moot_hash *purpose, uint64_t *number)
{
    int error = task_wait_check(m, lane, call, MOOT_FOREVER);
    if (error == MOOT_OK && m->engine.fatal != 0) {
        error = lane_fail(lane, m->engine.fatal, "%s: %s", call,
                          text_get(&m->engine.fatal_story));
    }
    if (error == MOOT_OK) {
        error = arrive(m, lane, call, purpose);
    }
    if (error != MOOT_OK) {
        return error;
    }
    *number = m->schedule.meetings.number;
    struct wait wait = {
        .want = WANT_DONE, .lane = lane, .deadline_ns = CORE_NEVER, .meeting = *number};
    error = wait_run(m, &wait);
    return error == MOOT_OK ? outcome(m, lane, call, *number) : error;
}
