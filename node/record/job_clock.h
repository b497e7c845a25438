/* job_clock.h - the time that events are told by: one zero for all ranks.
 *
 * Zero is when rank 0 called moot_open.  Rank 0 offers two readings of that moment with
 * its knobs, and each rank reckons from them.  The ranks of rank 0's host share its
 * CLOCK_MONOTONIC, so they agree exactly.  Another host's ranks compare wall clocks
 * once, at the open: they are off by as much as those clocks differ, and later by as
 * much as the two hosts' CLOCK_MONOTONIC drift apart.
 */
#ifndef NODE_RECORD_JOB_CLOCK_H
#define NODE_RECORD_JOB_CLOCK_H

#include "node/context/context.h"

struct job_clock {
    uint64_t monotonic_ns;
    int64_t wall_ns;
};

/* This rank's readings of now, to be offered to all. */
struct job_clock job_clock_read(void);
/* Rank 0's, and whether this rank shares its host. */
void job_clock_take(struct moot *m, const struct job_clock *zero, bool same_host);
/* Now (m->now_ns), since that. */
int64_t job_clock_now(const struct moot *m);

#endif
