/* meet_wait.c - see meet_wait.h. */
#include "node/compose/meet_wait.h"

#include "node/compose/task_wait.h"
#include "node/engine/engine.h"
#include "proto/error.h"
#include "proto/limits.h"

static int arrive(struct moot *m, struct lane *lane, const char *call,
                  const struct meet_wait *meet)
{
    if (wait_is_at_meeting(m)) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "%s: another thread of this rank waits for all ranks", call);
    }
    int error = wait_arrive(m, meet->purpose, meet->words, meet->words_size);
    return error == MOOT_OK ? error
                            : lane_fail(lane, error, "%s: %s", call, error_text(error));
}

static int outcome(struct moot *m, struct lane *lane, const char *call, uint64_t number)
{
    const struct meetings *meetings = &m->schedule.meetings;
    if (meetings->met < number) {
        return lane_fail(lane, m->engine.fatal, "%s: %s", call,
                         text_get(&m->engine.fatal_story));
    }
    if (meetings->code != MOOT_OK) {
        return meetings->code == MOOT_ERR_LIMIT
                   ? lane_fail(
                         lane, meetings->code,
                         "%s: what the ranks have to tell all others there is over "
                         "%u bytes together",
                         call, LIMIT_WORDS_BYTES)
                   : lane_fail(
                         lane, meetings->code,
                         "%s: all ranks have come to meeting %llu, but not all by the "
                         "same call, or in the same scope: look at what each rank "
                         "calls there",
                         call, (unsigned long long)number);
    }
    return MOOT_OK;
}

int meet_wait_run(struct moot *m, struct lane *lane, const char *call,
                  const struct meet_wait *meet, uint64_t *number)
{
    int error = task_wait_check(m, lane, call, MOOT_FOREVER);
    if (error == MOOT_OK && m->engine.fatal != 0) {
        error = lane_fail(lane, m->engine.fatal, "%s: %s", call,
                          text_get(&m->engine.fatal_story));
    }
    if (error == MOOT_OK) {
        error = arrive(m, lane, call, meet);
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
