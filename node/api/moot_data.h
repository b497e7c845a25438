/* moot_data.h - data handles: tasks ordered by what they read and write.
 *
 * The sequential task flow that users of StarPU and PaRSEC know.  A program names its
 * data once and says with each task how it uses them; that order of accesses is the
 * order in which the tasks may be thought to run:
 *
 *     moot_data_new(m, (moot_task){0}, &x);
 *     moot_data_spawn(m, &make, &(moot_access){x, MOOT_WRITE}, 1, NULL);
 *     moot_data_spawn(m, &scale, &(moot_access){x, MOOT_READWRITE}, 1, NULL);
 *     moot_data_version(m, x, &task);      // and fetch it
 *
 * A handle stands for a chain of *versions*, each of which is a task's result.  A task
 * that reads gets the version of the moment at which it is spawned; a task that writes
 * makes the next one.  So a task runs after the writer before it (a true dependence),
 * and nothing else orders it: a writer does not wait for the readers of the version
 * before, which stays what it is for everyone who holds it, as results do.  An access
 * list only fills in a spec's inputs.  The task's hash is that of a task with these
 * inputs, so ranks that agree on their accesses agree on their tasks, and one may use
 * handles where another names the inputs.
 *
 * The kernel sees, as its inputs in this order, one for each access that reads, and
 * then the spec's own.  A task that writes one handle has the new version as its
 * result; to change a version a kernel calls moot_call_update().  A task that writes
 * several makes a result of parts, moot_call_parts(), one for each access that writes,
 * in their order; each part becomes a version by a small task of its own, so that its
 * readers are sent that part alone.
 *
 * In place.  moot_call_update() gives the very bytes of the last version, without a
 * copy, where nobody can see them again: that version came from another rank, no other
 * task here still reads it, no handle is on it (its borrows included), and the kernel
 * may not be run again after a failure.  The rank that made a version keeps it, for its
 * peers may ask for it at any time: one that diverged, or one that must run the next
 * task again because its owner died.  So where the next writer runs on that same rank
 * the bytes are copied.
 *
 * Where.  Each version is a task of its own, whose chair is drawn anew: a chain of
 * updates walks from rank to rank, and its bytes with it.  A handle that is opened with
 * MOOT_DATA_BESIDE has its versions made beside each other (moot_task_spec.beside): at
 * the first one's chair, so that the datum stays there, and what changes is sent to it.
 * Use it for large data that many tasks change in turn; one rank then does the work of
 * the chain.
 *
 * Handles are local, and cost no message.  The accesses to one handle are ordered as
 * the calls are made; two threads that use one handle must say themselves whose call is
 * first.  What moot.h says of every call holds here.
 */
#ifndef NODE_API_MOOT_DATA_H
#define NODE_API_MOOT_DATA_H

#include "node/api/moot.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct moot_data {
    uint64_t id;
} moot_data;

enum moot_access_mode { MOOT_READ = 1, MOOT_WRITE = 2, MOOT_READWRITE = 3 };

typedef struct moot_access {
    moot_data data;
    enum moot_access_mode mode;
} moot_access;

/* A handle whose first version is `first`'s result; a zero `first`: it has none, and
 * must be written before it is read.  The caller's handle on `first` stays the
 * caller's. Errors: INVALID, STALE or FOREIGN (first), LIMIT, NO_MEMORY. */
MOOT_API int moot_data_new(moot *m, moot_task first, moot_data *out);
enum {
    /* Each task that writes the handle has its chair where that of the version before
     * is, unless its spec says itself who may own it or beside which task it is to be;
     * of several such handles the first in the list counts.  A part of a result is
     * beside the version before it.  Tasks' hashes cover it: it is to be alike on all
     * ranks. */
    MOOT_DATA_BESIDE = 1
};
/* The same with flags.  Errors: those of moot_data_new, and INVALID (unknown bits). */
MOOT_API int moot_data_new_with(moot *m, moot_task first, uint32_t flags,
                                moot_data *out);
/* Ends the handle and its hold on the newest version; tasks that were spawned go on.
 * Handles that are left are ended by moot_close.  STALE, INVALID. */
MOOT_API int moot_data_release(moot *m, moot_data data);
/* A task handle on the newest version, for the caller to release; to wait for it, fetch
 * it, or use it as an input.  STATE if it has none yet; STALE, NO_MEMORY. */
MOOT_API int moot_data_version(moot *m, moot_data data, moot_task *out);

/* Spawns the task whose inputs are the versions that the accesses read, and then the
 * spec's own; the handles that it writes have new versions from then on.  `out`: a
 * handle on the task, for the caller to release, or NULL if none is wanted.
 * Errors: those of moot_task_spawn, and INVALID (a handle twice, a mode that is none),
 * STALE (a handle), STATE (it is read and has no version yet).  On an error no handle
 * has a new version. */
#define moot_data_spawn(m, ...) moot_data_spawn_at((m), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_data_spawn_at(moot *m, const moot_task_spec *spec,
                                const moot_access *accesses, size_t count,
                                moot_task *out, const char *site);

/* --- Inside a kernel -------------------------------------------------------------- */

/* Makes input i the result: a buffer as moot_call_output() gives, with the input's
 * bytes and size; the input's own memory where that is safe (see above), else a copy.
 * After that moot_call_input(call, i) is this buffer.  Called for another input, or
 * followed by moot_call_output(), it drops what was there.  NULL: no such input, or no
 * memory. For an empty input it returns a pointer that must not be used. */
MOOT_API void *moot_call_update(moot_call *call, size_t i);
/* The result of a task that writes `count` handles: room for parts of these sizes, each
 * aligned to 64 bytes, whose places are written to `parts`.  All are to be filled
 * before the kernel returns.  Like moot_call_output otherwise.  Errors: INVALID, LIMIT
 * (more than 64), NO_MEMORY. */
MOOT_API int moot_call_parts(moot_call *call, size_t count, const size_t *sizes,
                             void **parts);

#ifdef __cplusplus
}
#endif
#endif
