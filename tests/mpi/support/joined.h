/* joined.h - a rank waits until others have come to the moot. */
#ifndef TESTS_MPI_SUPPORT_JOINED_H
#define TESTS_MPI_SUPPORT_JOINED_H

#include "node/api/moot.h"
#include "tests/mpi/support/must.h"

#include <time.h>

static int joined_count; /* ranks that have joined since joined_watch() */

static inline void joined_note(void *user, const moot_event *event)
{
    (void)event;
    (*(int *)user)++;
}

static inline void joined_watch(moot *m)
{
    must(m,
         moot_watch_add(m,
                        &(moot_watch){.kinds = MOOT_EVENT_RANK_JOINED,
                                      .fn = joined_note,
                                      .user = &joined_count},
                        &(moot_watch_id){0}),
         "watch");
}

/* The moot goes on in the waits for a task, though that may have ended. */
static inline void joined_await(moot *m, moot_task task, int count)
{
    while (joined_count < count) {
        must(m, moot_task_wait(m, task, MOOT_FOREVER), "wait");
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

#endif
