/* run_late.h - ranks for which a job waits, and of which no rank can tell: they have
 * not opened their moot, or the others have voted them out, and outlived them.
 *
 * A moot is opened by all ranks, and no vote ends that: a rank that stands still before
 * it has come keeps all others.  After MOOT_STALL `moot run` says which ranks have not
 * come, and again at growing intervals.
 *
 * A rank that was voted out may go on by itself, and is given the time for it.  But the
 * job is over when all others have ended: three seconds later `moot run` says that it
 * waits for it, and after MOOT_STALL, five seconds at least, it ends it.
 */
#ifndef NODE_CLI_RUN_LATE_H
#define NODE_CLI_RUN_LATE_H

#include "node/launch/outcome.h"

struct run_line;

struct run_late_job {
    const char *ends, *sheets; /* folders */
    int64_t stall_ns;          /* MOOT_STALL, or KNOB_NEVER */
    const bool *lost;          /* by rank: with its host; NULL: none was */
    struct run_line *line;     /* NULL: there is none */
};

struct run_late {
    unsigned looks;
    uint64_t due_ns, pause_ns; /* when it is told of an opening again */
    bool told;
    uint64_t since_ns; /* when ranks were found that the others outlived; 0: none is, */
    uint64_t end_ns;   /* and when they are ended; 0: that was not told yet */
};

/* Looks now and then; true: the job's last ranks, which the others outlived, are to be
 * ended. */
bool run_late_look(struct run_late *late, const struct run_late_job *job,
                   const struct outcome *outcome);

#endif
