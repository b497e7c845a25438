/* moot_checkpoint.h - results that outlive the job, and kernels' own half-done state.
 *
 * With MOOT_CHECKPOINT=DIR (`moot run --checkpoint DIR`) results are stored by the
 * hashes of their tasks, and a task whose result is there does not run again: a program
 * that was killed is started again, on any number of ranks, and does what is missing.
 * No program has to call anything for that.  What stands here is for programs that say
 * themselves when results are stored, and for kernels that take long.
 *
 *     static int simulate(moot_call *call, void *user)
 *     {
 *         struct state state = {0};
 *         const void *before = moot_call_resume(call, NULL);
 *         if (before != NULL) {
 *             memcpy(&state, before, sizeof(state));
 *         }
 *         while (state.step < STEPS) {
 *             advance(&state);
 *             if (state.step % 1000 == 0) {
 *                 moot_call_checkpoint(call, &state, sizeof(state));
 *             }
 *         }
 *         ...
 *
 * A *snapshot* is a set of stored results with a name, that all ranks have agreed on:
 * it is there or not, whoever dies, and never half.
 *
 * deploy/doc/CHECKPOINTS.md says what is stored, when, and what is found.  Without a
 * checkpoint flushing and storing state do nothing, and succeed.
 */
#ifndef NODE_API_MOOT_CHECKPOINT_H
#define NODE_API_MOOT_CHECKPOINT_H

#include "node/api/moot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Results of this rank that are to be stored are so when this returns: with
 * MOOT_CHECKPOINT_WHEN=call it is what has finished since the call before.  Local; any
 * thread, a kernel's included; blocks until the disk has it, while others go on.  What
 * the disk did not take is counted (moot_stats: records_lost), and no error.
 * Errors: INVALID, NO_MEMORY, CLOSED. */
MOOT_API int moot_checkpoint_flush(moot *m);

/* A zero field is the default. */
typedef struct moot_checkpoint_options {
    size_t size;           /* sizeof(moot_checkpoint_options); 0: the first release's */
    const char *name;      /* of 1 to 64 bytes; NULL: "snapshot" */
    moot_duration timeout; /* 0: for ever */
} moot_checkpoint_options;

/* Makes a snapshot of what all ranks have stored: what was stored on this rank when it
 * is called is in.  `id` (NULL: not wanted) names it for good; another one of the same
 * name does not touch it.  Any rank may ask, alone or with others; ranks that ask for
 * the same name at a time get the same one.  `options` may be NULL.
 * Not collective; any thread, but no kernel; blocks until the snapshot is on the disk,
 * and runs tasks and serves peers meanwhile.  After TIMEOUT it may still come to be.
 * Errors: INVALID (the name is empty), LIMIT (it is too long), STATE (no checkpoint is
 * open; in a kernel), FILE (the disk of a rank fails, or not all ranks have one folder:
 * a report of that rank says why), TIMEOUT, CLOSED, NO_QUORUM, FENCED, NO_MEMORY. */
MOOT_API int moot_checkpoint(moot *m, const moot_checkpoint_options *options,
                             moot_hash *id);

/* The newest whole snapshot of that name in the folder, of this job or an earlier one.
 * Local; any thread; reads the disk.
 * Errors: INVALID, STATE (no checkpoint is open), FILE (there is none;
 * moot_last_error(m) says which there are). */
MOOT_API int moot_checkpoint_find(moot *m, const char *name, moot_hash *id);

/* All ranks go back to that snapshot, whole in the folder, and go on from the call:
 * what it does not name is found no more, but for once tasks, which stay once; what ran
 * is cancelled, and handles of tasks spawned before answer with CANCELLED, or STALE,
 * and are still to be released.
 * Collective: all ranks that have not closed call it with the same id, no scope or
 * queue open; (ranks that asked for a snapshot at different times have been given two:
 * after a moot_barrier() moot_checkpoint_find() gives all the newest); not in a kernel;
 * no other thread of the program spawns meanwhile.  Blocks until kernels that run have
 * returned (moot_call_cancelled() is true, and their waits end). Errors: INVALID, STATE
 * (no checkpoint; in a kernel; a scope is open; ranks have come for other snapshots, or
 * to another call), FILE (there is no such whole snapshot, the disk fails, or this rank
 * may not open the files that it takes, of which one for each rank stays open),
 * UNSUPPORTED (ranks may join at any moment), CLOSED, NO_QUORUM, FENCED, NO_MEMORY. */
MOOT_API int moot_checkpoint_reload(moot *m, const moot_hash *id);

/* The function drops the program's own state: it is called when all have gone back, by
 * the thread that calls moot_checkpoint_reload(), before that returns.  One for a
 * context; NULL: none.  Local.
 * Errors: INVALID, NO_MEMORY. */
typedef void (*moot_reload_fn)(moot *m, void *user);
MOOT_API int moot_checkpoint_on_reload(moot *m, moot_reload_fn fn, void *user);

/* Stores half-done state of the kernel that calls it, in the place of what its task has
 * stored before, which stays until the new one is whole on the disk.  The bytes are
 * copied and written behind; waits while much is on its way to the disk.  The task's
 * result takes the place of all.  What the disk does not take is counted, and no error.
 * Errors: INVALID, NO_MEMORY. */
MOOT_API int moot_call_checkpoint(moot_call *call, const void *state, size_t size);

/* The newest state that a run of this task has stored, in this job on a rank that died,
 * or in one before; NULL if there is none.  It lives as long as the call.  Reads the
 * disk. */
MOOT_API const void *moot_call_resume(moot_call *call, size_t *size);

#ifdef __cplusplus
}
#endif
#endif
