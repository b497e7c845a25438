/* sessions.h - a random program of sessions on virtual ranks.
 *
 * Two to four sessions.  In each every rank spawns most of a few tasks: anybody's, one
 * rank's own by MOOT_ON, of a process set, once tasks, some of which were named in an
 * earlier session already.  It waits for most, defines and deletes sets, and goes on to
 * the next session, or leaves.  It spawns task arrays, too (session_arrays.h).  One
 * rank may be killed at any moment.
 *
 * These must be true: a result is right; a wait ends ill only for a reason (all that
 * may run it are gone, or a once task's rank died, or the ranks that are left are too
 * few to be certain of a death on another host); a once task starts once in all
 * sessions, and another task runs once where nobody died; the ranks that have not died
 * agree, for each session, on its processes and on all sets, with their indices; a rank
 * is its place among the processes; who leaves is in no later session; all close well.
 */
#ifndef TESTS_VIRTUAL_SESSIONS_H
#define TESTS_VIRTUAL_SESSIONS_H

#include "node/api/moot.h"

#include <stdbool.h>
#include <stdint.h>

enum { SESSIONS_MAX = 5, SESSION_TASKS = 24, SESSION_RANKS = 8 };

/* The book to which all ranks of a run write, who share one thread; zero at first. */
struct sessions_ledger {
    uint64_t seed;
    uint32_t ranks;
    bool forgets; /* the window is small: who comes to a task late has it run again */
    uint32_t runs[SESSIONS_MAX][SESSION_TASKS];
    moot_hash sets[SESSIONS_MAX][SESSION_RANKS]; /* as a process saw them, */
    bool saw[SESSIONS_MAX][SESSION_RANKS];
    uint32_t wrong;
};

/* Plays a rank's part, and closes. */
void sessions_play(struct sessions_ledger *ledger, moot *m);
/* Compares what the ranks that have not died saw; returns how much is wrong, as told.
 */
uint32_t sessions_judge(struct sessions_ledger *ledger, const bool *died);

#endif
