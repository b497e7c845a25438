/* moot_session.h - sessions: stretches of a program between which its world changes.
 *
 * A moot begins with its first session, in which the ranks are those that opened it.
 * moot_session_next() is where a program lets the world change: all ranks come to it,
 * those that are to go do so, and those that stay are numbered anew, from 0 on without
 * gaps.  It is one moot all the while.  Tasks, results and handles stay; a once task
 * that has run does not run in a later session; what those who left had made is with
 * those who stayed.
 *
 * A *process* keeps its name for good: "a_3" is the fourth that opened the moot, its
 * rank in the first session was 3; "b_0" is the first of those that the launcher has
 * started when the job first grew (moot_grow()).  Ranks of a session stand in the order
 * of their processes.  What a program gives and is given are ranks of its present
 * session; only what is written for people (stories, reports, `moot state`) and plans
 * of faults call a rank by its number in the first session for ever.
 *
 * Process sets are named sets of processes, alike on all ranks of a session.  There
 * are, by index:
 *
 *     0  mpi://WORLD    all of the present session
 *     1  mpi://SELF     this process
 *     2  moot://all_1   all of the first session; one more, moot://all_N, with each
 *                       session, and whenever newcomers are let in, if the processes
 *                       are others than those of the last such set
 *     3  moot://host/NAME_1   those of them that are on the host NAME: one set for each
 *                       host, behind the first moot://all_N; with each later one a
 *                       further set, moot://host/NAME_k, for every host on which then
 *                       are others than in its last set
 *
 * NAME is what the host's processes call it: as their launcher does, or else as their
 * system.  A space, a slash, a control character and a byte beyond ASCII stands in it
 * as `_`, and behind 71 bytes it is cut; hosts whose names are equal then are one.
 *
 * Indices and names never change.  WORLD and SELF are of the session; another set stays
 * as it was defined, and is invalid once a process of it is gone.  A program defines
 * sets of its own by moot_pset_define().  A set's name may stand where a task's
 * candidates do (moot_task_spec.pset).
 */
#ifndef NODE_API_MOOT_SESSION_H
#define NODE_API_MOOT_SESSION_H

#include "node/api/moot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Sessions --------------------------------------------------------------------- */

typedef struct moot_session_options {
    size_t size;    /* sizeof(moot_session_options), or 0 */
    uint64_t leave; /* not 0: this rank is in no further session */
    uint64_t grow;  /* so many more processes the next session is to have, as by
                       moot_grow(); where ranks say it differently the most counts.
                       Over MPI all who stay start them, where MOOT_MAX has room and no
                       rank has died (moot_session(3)) */
} moot_session_options;

typedef struct moot_session_info {
    uint64_t number; /* of the session, from 1 */
    int rank, size;  /* in it; a rank of -1: this rank has left, and this is the session
                        that it was in last; one of `size` or more: this rank has come
                        since it began, and is in the next */
    /* Why it began: "opened"; then "unchanged", where the processes are the same, or
     * as processes went in good order, died, and came, in this order: "left", "lost",
     * "joined", "left and lost", "left, lost and joined", ... */
    const char *why;
    const char *process; /* this process's name, "a_3" */
} moot_session_info;

/* Ends this session and begins the next one.  Collective: returns when every rank of
 * the moot has come to this call, closed, left or died.  Before it returns, the tasks
 * that any rank owned when it came have run; a task that no rank is known to own, as
 * nobody has asked for it, may run in a later session.  Runs tasks and serves peers
 * meanwhile.  All ranks that return have the same processes in the new session; one
 * that dies from here on belongs to it, and is not present (moot_present).
 *
 * With options->leave this rank goes as by moot_leave(): only moot_close() is left to
 * it.  `options` may be NULL; `out` may be NULL, its strings live until moot_close().
 *
 * Errors: INVALID; STATE as moot_barrier(), also where another rank is in another
 * collective call; with leave UNSUPPORTED as moot_leave(), and nothing was done;
 * CLOSED; NO_MEMORY; and what ends every wait, such as NO_QUORUM and FENCED. */
#define moot_session_next(m, ...)                                                      \
    moot_session_next_sized((m), __VA_ARGS__, sizeof(moot_session_info))
MOOT_API int moot_session_next_sized(moot *m, const moot_session_options *options,
                                     moot_session_info *out, size_t size);

/* Asks the launcher for `count` more processes, which run the program from its
 * beginning: moot_open() makes them members of the moot, one by one, while this session
 * goes on.  A newcomer's rank lies behind moot_size() until the next session, in which
 * it is one of all; MOOT_EVENT_RANK_JOINED tells the others of it.  What is done it
 * finds, and does not run again; of meetings (moot_barrier() and all that is
 * collective) those count for it that come behind the beginning of this session.
 * Where the job was started with `moot run --joins session` a newcomer waits in
 * moot_open() until all ranks end this session, and is in the next one from there on.
 *
 * Returns when the launcher has said whether it starts them, at most ten seconds later;
 * that they have come is not waited for.  Any rank may call it.  `options` is NULL.
 *
 * Errors: INVALID; UNSUPPORTED (the job was not started with `moot run --max`, or its
 * transport or launcher cannot; over MPI ranks join with the next session only; or this
 * process has closed a moot, which a newcomer would open first, in vain); LIMIT
 * (more than --max at a time, or more newcomers than a job takes in all its life, which
 * is 64); TRANSPORT (the launcher does not answer); CLOSED; NO_MEMORY. */
typedef struct moot_grow_options moot_grow_options;
MOOT_API int moot_grow(moot *m, int count, const moot_grow_options *options);

/* The present session.  Local.  Strings live until moot_close().  After this rank has
 * left: the one that it was in last, with a rank of -1.  Errors: INVALID, NO_MEMORY. */
#define moot_session_info_get(m, out)                                                  \
    moot_session_info_get_sized((m), (out), sizeof(moot_session_info))
MOOT_API int moot_session_info_get_sized(moot *m, moot_session_info *out, size_t size);

/* --- Process sets ----------------------------------------------------------------- */

typedef struct moot_pset_info {
    const char *name;
    bool valid; /* each process of it is present, as far as this rank knows, and it has
                   not been deleted */
    const char *const *processes; /* .size names, in the order of the processes */
    const int *ranks; /* .size: theirs in the session with which the set began; -1: it
                         was gone already.  Of moot://all_N and moot://host/NAME_k those
                         which they would have in a session of all_N's processes */
    size_t size;
} moot_pset_info;

/* How many sets there are; 0 if m is NULL or there is no memory.  Local. */
MOOT_API size_t moot_pset_count(moot *m);
/* A set, by its index.  What is given lives until the next moot_session_next(), or
 * moot_close().  Local.  Errors: INVALID (no such set), NO_MEMORY. */
#define moot_pset_info(m, index, out)                                                  \
    moot_pset_info_sized((m), (index), (out), sizeof(moot_pset_info))
MOOT_API int moot_pset_info_sized(moot *m, size_t index, moot_pset_info *out,
                                  size_t size);

/* From the next session on there is a set of this name, of the processes that have
 * these ranks now: the next moot_session_next() tells all ranks.  One rank may call it,
 * or several alike.  Where several define a name otherwise one of them counts, the same
 * for all, and MOOT_EVENT_PSET_REFUSED tells the others.  A process that is gone by
 * then makes a set that is invalid.  Local.
 *
 * Errors: INVALID (an empty name, or one of over 64 bytes, with a space or control
 * character, or that begins with mpi:// or moot://; there is a set of this name, or
 * was; no ranks, or one that is not in this session); LIMIT (this rank has more to tell
 * than 32 KiB); CLOSED; NO_MEMORY. */
MOOT_API int moot_pset_define(moot *m, const char *name, const moot_ranks *ranks);
/* From the next session on this set of the program's own is invalid for good; one that
 * this rank has defined since the last boundary is not told to anybody.  Local. Errors:
 * INVALID (no such set, or not the program's), CLOSED, NO_MEMORY. */
MOOT_API int moot_pset_delete(moot *m, const char *name);

#ifdef __cplusplus
}
#endif
#endif
