/* moot.h - the public interface of libmoot.
 *
 * Every rank of an SPMD program runs the whole program and spawns the same tasks; a
 * task's hash says which one rank runs it, and its result goes from peer to peer. Where
 * the ranks diverge they vote, and the program goes on.
 *
 *     moot *m;
 *     moot_open(NULL, &m);
 *     moot_kernel_register(m, &(moot_kernel){.name = "square", .fn = square}, &k);
 *     moot_task_spec spec = {.kernel = k, .args = &x, .args_size = sizeof(x)};
 *     moot_task_spawn(m, &spec, &t);
 *     moot_task_fetch(m, t, MOOT_FOREVER, &data, &size);
 *     moot_close(m);
 *
 * Conventions, which hold for every function unless it says otherwise:
 *  - it returns MOOT_OK (0) or a negative MOOT_ERR_* (moot_error.h), never aborts and,
 *    but for reports (moot_report_fn), never prints; on failure its outputs are
 *    untouched and nothing has happened, and moot_last_error() tells the long story;
 *  - it is local: other ranks need not call it;
 *  - it may be called from any thread; a thread becomes a *lane* with its first
 *    top-level spawn, wait or park, and should end, wait, or call moot_park() when it
 *    stops spawning;
 *  - a struct that a program fills is zero by default: a zero field means the
 *    documented default.  Its first field is its `size`, sizeof or 0 (small ones that
 *    have none never grow, and are filled as `= {0}`, in C++ `= {}`); 0 is what the
 *    first release of this ABI had, so a field that came later, which says so, needs
 *    it.  Structs grow behind their last field only, and programs and libraries of
 *    different releases take each other's, but for a field that is set and that the
 *    library does not know: INVALID.  MOOT_INIT(type) is such a struct, empty, with its
 *    size set;
 *  - a struct that a program gets need not be initialised; the calls are macros that
 *    say its size (`..._sized`);
 *  - data that it returns are borrowed until the named release; strings until the next
 *    call of the same thread;
 *  - sizes are bytes, durations nanoseconds, and both are 64 bits.
 */
#ifndef NODE_API_MOOT_H
#define NODE_API_MOOT_H

#include "hashing/moot_hash.h"
#include "proto/moot_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOOT_VERSION_MAJOR 0
#define MOOT_VERSION_MINOR 1
#define MOOT_VERSION_PATCH 0

#if defined(__GNUC__)
#define MOOT_API __attribute__((visibility("default")))
#else
#define MOOT_API
#endif

/* An empty struct of a type that a program fills, with its size: for a variable in a
 * function, whose fields are then set one by one, which C++ compiles, too:
 *
 *     moot_kernel kernel = MOOT_INIT(moot_kernel);
 *     kernel.name = "square";
 *     kernel.fn = square;
 */
#ifdef __cplusplus
#define MOOT_INIT(type)                                                                \
    ([] {                                                                              \
        type empty_ = type();                                                          \
        empty_.size = sizeof(type);                                                    \
        return empty_;                                                                 \
    }())
#else
#define MOOT_INIT(type) ((type){.size = sizeof(type)})
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct moot moot;           /* one rank's membership of one moot */
typedef struct moot_call moot_call; /* one running kernel; valid inside it only */

/* Handles.  Zero is never a valid handle.  A handle names its context: another
 * context's is refused with MOOT_ERR_FOREIGN, a released one with MOOT_ERR_STALE. */
typedef struct moot_task {
    uint64_t id;
} moot_task;
typedef struct moot_kernel_id {
    uint64_t id;
} moot_kernel_id;

typedef int64_t moot_duration; /* nanoseconds */
#define MOOT_FOREVER INT64_MAX
#define MOOT_MILLISECONDS(n) ((moot_duration)(n)*1000000)
#define MOOT_SECONDS(n) ((moot_duration)(n)*1000000000)

/* --- Opening and closing ---------------------------------------------------------- */

/* Where stall and divergence reports go: whole text, NUL-terminated, one call a report,
 * from the thread that found it, with no lock held; never once moot_close has returned.
 */
typedef void (*moot_report_fn)(void *user, const char *text);

typedef struct moot_options {
    size_t size;           /* sizeof(moot_options), or 0 */
    moot_report_fn report; /* NULL: standard error */
    void *report_user;
    /* "NAME=VALUE" strings for any knob (moot-knobs(7)), NULL-terminated; they win over
     * environment and files.  Rank 0's values are everyone's. */
    const char *const *knobs;
} moot_options;

/* Joins the moot of all ranks of MPI_COMM_WORLD.  Collective.  Initialises MPI (with
 * MPI_THREAD_MULTIPLE) if nobody did, and then moot_close() finalises it.  `options`
 * may be NULL.  Errors: INVALID, CONFIG (a malformed knob: moot_last_error(NULL) says
 * which), TRANSPORT, PROTOCOL, NO_MEMORY, LIMIT.  See moot_mpi.h for other
 * communicators. */
MOOT_API int moot_open(const moot_options *options, moot **out);

/* Leaves.  Collective.  Ends the program's spawning, goes on serving peers until every
 * rank has closed, and frees everything, `m` included, whatever it returns (except
 * INVALID for NULL and STATE below).  Tasks that nobody waited for run before it
 * returns.  Returns STATE, having done nothing, when called inside a kernel or while
 * another thread closes; threads that wait are woken with MOOT_ERR_CLOSED first.
 * Waits for no rank that has died or was voted out, and after such a loss leaves MPI as
 * it is: MPI_Finalize could wait for them, so do not call it, and end by exit().
 * Returns what had ended the moot, if something had: for this rank FENCED or NO_QUORUM,
 * for everyone DIVERGED, STALLED, TRANSPORT (so does a moot over which the program
 * called MPI_Finalize), NO_MEMORY, PROTOCOL; moot_last_error(m) has the story, and so
 * has moot_last_error(NULL). */
MOOT_API int moot_close(moot *m);

/* This rank goes, now, and the others go on without it: not collective.  Ends the
 * program's spawning as moot_close does; gives back to the others the tasks that they
 * can run and that it has not started, finishes those that it has, hands over what it
 * made, and returns once they have agreed to go on without it.  Nothing is lost by it,
 * nothing runs again, and a once task that was given back is started once.  (Tasks that
 * no other rank holds it runs first; where it is the last one, it ends as by
 * moot_close.) What it has fetched stays borrowed; every other call gets CLOSED;
 * moot_close(m) is still to be called, waits for nobody, and frees everything.  Over
 * MPI, MPI is then left as it is, on all ranks, as after a loss: see moot_close.
 * MOOT_EVENT_RANK_LEFT tells the others.  A rank that dies meanwhile has died as any
 * other.
 * Returns STATE as moot_close does; UNSUPPORTED, having done nothing, in strict mode,
 * and under a launcher that ends the whole job when one rank ends (a plain mpirun);
 * CLOSED, if it has left before; and what had ended the moot for it, if something had.
 */
MOOT_API int moot_leave(moot *m);

/* In the present session (moot_session.h): 0 .. size-1, or MOOT_ERR_INVALID.  The rank
 * of a process that has come since the session began lies behind that. */
MOOT_API int moot_rank(const moot *m);
MOOT_API int moot_size(const moot *m);
/* 1 while that rank belongs to the moot, 0 once it has died, left or was voted out,
 * INVALID if there is no such rank.  What one rank has learnt another may still have
 * to. Local.
 */
MOOT_API int moot_present(moot *m, int rank);

MOOT_API const char *moot_strerror(int code); /* static text, never NULL */
MOOT_API const char *moot_err_name(int code); /* "MOOT_ERR_STALE"; never NULL */
/* The long story of this thread's last failed call on m (NULL: of moot_open and
 * moot_close), "" if none.  m may be closed: its moot_close() that failed, and waits
 * that this ended, have their stories still, until the thread opens or joins another
 * moot.  Borrowed until this thread's next call. */
MOOT_API const char *moot_last_error(const moot *m);

/* --- Kernels ---------------------------------------------------------------------- */

/* A kernel's body.  Returns MOOT_OK, or what moot_call_fail() returned, or any other
 * nonzero code, which fails the task: its waits end with MOOT_ERR_TASK_FAILED, and the
 * code is in the story and in moot_task_info.  It may run on any thread of any rank and
 * must not keep what moot_call_* returned. */
typedef int (*moot_kernel_fn)(moot_call *call, void *user);

enum {
    MOOT_KERNEL_ONCE = 1,       /* may never run twice: owners need a quorum first */
    MOOT_KERNEL_IDEMPOTENT = 2, /* with ONCE: may be re-run if its owner died */
    MOOT_KERNEL_PORTABLE = 4,   /* any rank may run it, given its spec */
    MOOT_KERNEL_NONDETERMINISTIC = 8 /* a second run may give other bytes */
};

typedef struct moot_kernel {
    size_t size;       /* sizeof(moot_kernel), or 0 */
    const char *name;  /* 1..128 bytes; copied */
    uint32_t version;  /* part of every task's identity */
    moot_kernel_fn fn; /* required */
    void *user;        /* given to fn */
    uint32_t flags;
    /* A run that fails is made again on the same rank, up to so many times, before the
     * task fails; not with ONCE, unless IDEMPOTENT.  Ranks may differ in both. */
    uint32_t retries; /* up to 1000 */
    /* Before the first of these; before each later one twice as long. */
    moot_duration retry_backoff;
} moot_kernel;

/* Registers a kernel, alike on every rank, before the first task that uses it.
 * Errors: INVALID, KERNEL_EXISTS (same name), LIMIT, NO_MEMORY. */
MOOT_API int moot_kernel_register(moot *m, const moot_kernel *kernel,
                                  moot_kernel_id *out);

/* --- Inside a kernel -------------------------------------------------------------- */

/* The task's argument bytes, aligned for any type; NULL and 0 if it has none.  `size`
 * may be NULL, here and for inputs. */
MOOT_API const void *moot_call_args(const moot_call *call, size_t *size);
MOOT_API size_t moot_call_input_count(const moot_call *call);
/* Input i's result, aligned for any type; NULL with *size 0 for an empty result or an
 * index out of range. */
MOOT_API const void *moot_call_input(const moot_call *call, size_t i, size_t *size);
/* The hash of the task that input i is the result of, until the kernel returns; NULL if
 * the index is out of range.  If it is an element of an array, for an element, the hash
 * of that one, as moot_call_hash() gives it there; NULL also without memory.  Does not
 * block. */
MOOT_API const moot_hash *moot_call_input_hash(const moot_call *call, size_t i);
/* The result's buffer, `size` bytes, uninitialised, aligned to 64; to be filled before
 * the kernel returns.  Called again it gives a new buffer and drops the old one.  Size
 * 0 makes an empty result and returns a pointer that must not be used.  NULL: no
 * memory.  A kernel that never calls it fails with MOOT_ERR_NO_OUTPUT. */
MOOT_API void *moot_call_output(moot_call *call, size_t size);
/* Records why the task fails and returns `code` (made MOOT_ERR_KERNEL_CODE if it is 0)
 * for the kernel to return.  `why` is copied. */
MOOT_API int moot_call_fail(moot_call *call, int code, const char *why);
/* True once somebody has cancelled the task (moot_task_cancel) and the moot has told
 * this rank, which was too late to keep it from starting.  A kernel that then returns
 * MOOT_ERR_CANCELLED ends it as cancelled; any other end counts as ever.  Cheap: a long
 * kernel asks as often as it likes. */
MOOT_API bool moot_call_cancelled(const moot_call *call);
MOOT_API moot *moot_call_context(const moot_call *call);
/* The running task's hash: with a once kernel, the token that fences its effect. */
MOOT_API const moot_hash *moot_call_hash(const moot_call *call);

/* --- Tasks ------------------------------------------------------------------------ */

/* A set of candidate ranks.  Zero means every rank. */
typedef struct moot_ranks {
    const int *ranks; /* may repeat, any order; copied */
    size_t count;
} moot_ranks;

/* An explicit owner: MOOT_ON(rank).  Zero means any. */
typedef struct moot_place {
    int rank_plus_one;
} moot_place;
#ifdef __cplusplus
#define MOOT_ON(rank) (moot_place{(rank) + 1})
#else
#define MOOT_ON(rank) ((moot_place){(rank) + 1})
#endif

enum {
    /* The spawn stands under a condition that other ranks may decide otherwise, so a
     * vote may start at once.  It asserts nothing; a wrong hint costs two messages. */
    MOOT_TASK_CONDITIONAL = 1,
    /* Submitted at once, past the queues that are open (moot_queue.h). */
    MOOT_TASK_NO_QUEUE = 2
};

typedef struct moot_task_spec {
    size_t size; /* sizeof(moot_task_spec), or 0 */
    moot_kernel_id kernel;
    /* Up to 1 MiB; copied, and hashed by each rank that spawns the task, a nanosecond
     * or more a byte (64 KiB: 70 to 90 us).  What is large is better a task's result.
     */
    const void *args;
    size_t args_size;
    const moot_task *inputs; /* their results are the kernel's inputs, in this order */
    size_t input_count;
    const moot_hash *input_hashes; /* more inputs, behind those: tasks that this rank */
    size_t input_hash_count;       /* never spawned, by hash */
    const moot_task *after; /* must have ended well before this one starts; no data;
                               with the inputs 4096 at most */
    size_t after_count;
    const void *key; /* makes equal specs distinct tasks; up to 256 bytes; copied */
    size_t key_size;
    /* The candidate set of one.  If the kernel is not portable, that rank must spawn
     * the task itself: nobody else sends it the spec. */
    moot_place owner;
    moot_ranks candidates; /* who may own it; not together with owner */
    int32_t priority;      /* higher first, on the rank that runs it; above 0, what it
                              waits for gets it, too, wherever that runs */
    uint32_t flags;
    const char *label; /* for people; up to 64 bytes, the rest is cut; copied */
    const char *pset;  /* in place of candidates: the processes of this set
                          (moot_session.h).  The hash covers these, not the name.
                          Came later: it counts only where .size is said */
    /* A task at whose chair this one's is to be, too, whoever dies: so who owned that
     * one owns this, if it spawns both, and takes its result from its own memory.  The
     * candidates are that task's; not together with owner, candidates or pset.  The
     * hash covers the *place* of that task, which all have that are beside each other.
     * 24 bits of a hash say it; 50 are left to tell tasks apart that share place and
     * named scope.  Not waited for, not an input.  Came later, as pset did */
    moot_task beside;
} moot_task_spec;

/* Spawns a task.  Equal specs in one scope are one task: the same handle value is not
 * promised, but the same task is, and each spawn has its own reference to release.
 *
 * Errors: INVALID, STALE or FOREIGN (an input), CANCELLED (an input, by a reload),
 * UNKNOWN_KERNEL, KERNEL_MISMATCH, NO_KEY, LIMIT, DECLINED, NO_CANDIDATE (each rank
 * that may own it is gone; with MOOT_DIVERGENCE=strict a wait for it ends so instead),
 * SCOPE_CLOSED, RESULT_LOST (a once task that has been forgotten), CLOSED, DIVERGED,
 * STALLED, TRANSPORT, NO_QUORUM, FENCED, NO_MEMORY; STATE inside a kernel, where
 * moot_call_spawn is the call. */
#define moot_task_spawn(m, ...) moot_task_spawn_at((m), __VA_ARGS__, MOOT_SITE)
#define MOOT_SITE MOOT_SITE_(__FILE__, __LINE__)
#define MOOT_SITE_(file, line) MOOT_SITE__(file, line)
#define MOOT_SITE__(file, line) file ":" #line
/* What moot_task_spawn calls.  `site` is "file:line", for reports; it is copied. */
MOOT_API int moot_task_spawn_at(moot *m, const moot_task_spec *spec, moot_task *out,
                                const char *site);

/* A continuation: spawns `spec` with `t`'s result as its first input, before those that
 * the spec names.  It is a task like any other, with one owner, and runs where that is,
 * as soon as its inputs are there; if `t` fails, so does it, with the chain of causes.
 * Every rank that spawned `t` should spawn it, too.  Does not wait; `t` may be released
 * at once.  Errors as moot_task_spawn. */
#define moot_task_then(m, t, ...) moot_task_then_at((m), (t), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_task_then_at(moot *m, moot_task t, const moot_task_spec *spec,
                               moot_task *out, const char *site);

/* Spawns a child of the running task; its scope is that task, so only this task spawns
 * it.  `out` is the child's handle on this rank.  Errors as moot_task_spawn. */
#define moot_call_spawn(call, ...) moot_call_spawn_at((call), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_call_spawn_at(moot_call *call, const moot_task_spec *spec,
                                moot_task *out, const char *site);
/* Waits for a child and borrows its result until the kernel returns.  The thread runs
 * other tasks meanwhile, and this one may go on on another.  Errors: NOT_CHILD for any
 * other task (at once), LIMIT when 1023 kernels of the rank wait already, and those of
 * moot_task_fetch.  A kernel that returns the error as it is keeps its story: the
 * task's own ends with the child's. */
MOOT_API int moot_call_wait(moot_call *call, moot_task child, const void **data,
                            size_t *size);
/* Waits for all of these children, and for their results, so that moot_call_wait() of
 * each then returns at once.  Returns when all have ended: MOOT_OK, or the first error
 * by index.  Each of them counts as waited for.  Errors as moot_call_wait; a handle
 * that is refused is so before anything is waited for.  A `count` of 0 is MOOT_OK. */
MOOT_API int moot_call_wait_all(moot_call *call, const moot_task *children,
                                size_t count);

/* A handle to the task with this hash, spawned here or not.  A wait for one that no
 * rank will ever hold ends in MOOT_ERR_NOT_HELD.  Errors: INVALID, SCOPE_CLOSED (its
 * scope has ended on every rank, and it is forgotten), NO_MEMORY. */
MOOT_API int moot_task_find(moot *m, const moot_hash *hash, moot_task *out);
/* A handle to the task that this spec is, without a spawn: moot_spec_hash() and
 * moot_task_find() in one.  The spec is read as if this thread spawned it now, so the
 * open scope counts, and inside a kernel it names a child of the running task.  Errors
 * and reports tell its kernel and label, unlike those of what is found by its hash. The
 * caller releases the handle.  Does not block, and asks nobody.  Errors: those of a
 * spec that cannot be spawned (INVALID, STALE, FOREIGN, UNKNOWN_KERNEL, NO_KEY, LIMIT),
 * and those of moot_task_find. */
MOOT_API int moot_task_name(moot *m, const moot_task_spec *spec, moot_task *out);

/* Waits until the task is done, running other tasks meanwhile.  `timeout` 0 polls.
 * Errors: TIMEOUT; TASK_FAILED or CANCELLED (the task's own); NOT_HELD, CYCLE,
 * NO_CANDIDATE, MAYBE_RAN, RESULT_LOST, NO_QUORUM, FENCED (how the moot ended the
 * wait); FILE (a once task's stored end cannot be read now); KERNEL_MISMATCH; DIVERGED;
 * CLOSED; STALLED; TRANSPORT; NO_MEMORY; STALE, FOREIGN, INVALID; STATE inside a
 * kernel.  NOT_HELD is found at once where every rank has closed or declined; otherwise
 * only while every rank is in a wait without a timeout, for one that may wake could
 * spawn it yet.  It is decided for all ranks: who spawns the task later does not run
 * it, and waits for it likewise. */
MOOT_API int moot_task_wait(moot *m, moot_task t, moot_duration timeout);
/* Waits for all of them; the first error by index, after all have ended (TIMEOUT when
 * time runs out first). */
MOOT_API int moot_task_wait_all(moot *m, const moot_task *t, size_t count,
                                moot_duration timeout);
/* Waits until one of them has ended; *which is its index, and the return value is its.
 * INVALID if count is 0. */
MOOT_API int moot_task_wait_any(moot *m, const moot_task *t, size_t count,
                                moot_duration timeout, size_t *which);
/* Waits until at least one of them has ended, and writes the indices of all that have
 * by then, ascending, to `indices` (room for `count`) and how many to *done.  Returns
 * the first error among these, by index; TIMEOUT if none ended in time, and then
 * nothing is written.  INVALID if count is 0. */
MOOT_API int moot_task_wait_some(moot *m, const moot_task *t, size_t count,
                                 moot_duration timeout, size_t *indices, size_t *done);
/* Waits and borrows the result, without a copy, until the handle is released.  An empty
 * result gives a non-NULL pointer and size 0.  The data of a task that ran elsewhere
 * may have yet to come after a moot_task_wait, which moves none: a `timeout` of 0 is
 * then TIMEOUT.  `size` may be NULL.  Errors as moot_task_wait. */
MOOT_API int moot_task_fetch(moot *m, moot_task t, moot_duration timeout,
                             const void **data, size_t *size);
/* Waits for all of them and borrows their results, each until its handle is released.
 * Other ranks are asked once for each result, where moot_task_wait_all() and a fetch of
 * each ask twice: for the end, and then for the bytes.  `data` and `sizes` have room
 * for `count`, and either may be NULL.
 *
 * Returns when all have ended: MOOT_OK, or the first error by index.  Then data[i] and
 * sizes[i] are set for every task that ended well, and are NULL and 0 for every other.
 * After any other error (TIMEOUT, a handle that is refused, STATE, CLOSED) both arrays
 * are untouched, and nothing is borrowed.  Blocks, and its errors are those of
 * moot_task_fetch. */
MOOT_API int moot_task_fetch_all(moot *m, const moot_task *t, size_t count,
                                 moot_duration timeout, const void **data,
                                 size_t *sizes);
/* Waits and copies the result to `buffer`, of `buffer_size` bytes.  Borrows nothing:
 * the copy outlives the handle.  *size is the result's size; `size` may be NULL.  LIMIT
 * if the buffer is too small: nothing is copied, and *size says how many bytes it
 * needs.  A `buffer` of NULL with a size of 0 asks for that.  Blocks; other errors as
 * moot_task_fetch, and then *size is untouched. */
MOOT_API int moot_task_fetch_into(moot *m, moot_task t, moot_duration timeout,
                                  void *buffer, size_t buffer_size, size_t *size);
/* Ends the borrow and the handle; the task goes on.  Handles not released are by
 * moot_close.  Who is to survive the loss of ranks holds what it has fetched until it
 * has what comes of it: what is made from what has been forgotten cannot be made again,
 * and ends with RESULT_LOST.  When every rank has released a task, and what takes its
 * result, or is half of MOOT_WINDOW past it and has not spawned it, the ranks forget it
 * once they remember many, or their results take much memory: spawned again it is run
 * again or, if it is a once task, refused with RESULT_LOST.  NOT_HELD ends the wait of
 * a rank that does so when the others have done it before, and that may not own it. */
MOOT_API int moot_task_release(moot *m, moot_task t);
/* Releases each of them, as moot_task_release(), or none if a handle is refused (STALE,
 * FOREIGN).  A handle that stands there twice is released once.  Does not block. */
MOOT_API int moot_task_release_all(moot *m, const moot_task *t, size_t count);
/* Asks the task's owner, whoever that is or will be, to end it if it has not started.
 * Returns at once; the task's wait tells how it went, the same on every rank:
 * CANCELLED, or its result if that was too late, for a result that anybody has taken
 * stays.  A kernel that runs may ask moot_call_cancelled().  Dependents of a cancelled
 * task fail with TASK_FAILED and a story that names who cancelled it.  Where no rank
 * has spawned the task yet, it is cancelled as soon as one does.  Any rank may cancel
 * any task, repeatedly; what is asked for by a rank that dies in that moment may die
 * with it. A kernel may cancel, too.  Errors: STALE, FOREIGN, INVALID, NO_MEMORY. */
MOOT_API int moot_task_cancel(moot *m, moot_task t);
/* Cancels each of them, or none if a handle is refused. */
MOOT_API int moot_task_cancel_all(moot *m, const moot_task *t, size_t count);
/* Cancels all that this rank has spawned, nested tasks included, that has not ended,
 * and whose label begins with `prefix`; "" is all, labelled or not.  Released handles
 * do not matter.  What is spawned afterwards is not cancelled. */
MOOT_API int moot_task_cancel_label(moot *m, const char *prefix);

enum moot_task_state {
    MOOT_TASK_WAITING, /* for inputs, or for another rank */
    MOOT_TASK_READY,
    MOOT_TASK_RUNNING,
    MOOT_TASK_DONE,
    MOOT_TASK_FAILED
};

typedef struct moot_task_info {
    moot_hash hash;
    enum moot_task_state state;
    int owner;        /* rank, or -1 while this rank does not know */
    int chair;        /* rank, or -1 */
    int cancelled_by; /* rank that has cancelled it, in time or not; or -1, also where
                         this rank was only sent its end (the story names it) */
    /* How the owner came by it, once known here: "claim" (no vote), or the evidence on
     * which the chair yielded: "closed", "declined", "hint", "nested", "blocked",
     * "timeout", "quiet"; "none" before. */
    const char *decided;
    /* MOOT_ERR_NONDETERMINISTIC: a run of it on rank `second` gave other bytes than its
     * owner's, as far as this rank knows (MOOT_VERIFY); else MOOT_OK and -1. */
    int check, second;
    int status;               /* MOOT_OK, or the error that the task ended with */
    const char *story;        /* causes, the first last (of elements first); or "" */
    uint64_t size;            /* of the result, once known: of another rank's that only
                                 a wait for many told of, once it is fetched */
    const char *label, *site; /* "" if none; strings live until the release */
    const char *kernel;       /* its name; "" where the task is known by its hash */
    /* The root cause of its failure, where that is a kernel's: the code that this
     * kernel returned or gave moot_call_fail (NO_OUTPUT and NO_MEMORY stand for a
     * missing result), and the rank that it ran on.  0 and -1 if there is none, or it
     * is not known here.  Came later: 0 and 0 from a library that lacks them. */
    int code, code_rank;
} moot_task_info;
/* moot_task_info(m, t, &info): the type's name is also the call's, so the call is a
 * function-like macro over this function. */
MOOT_API int moot_task_info_sized(moot *m, moot_task t, moot_task_info *out,
                                  size_t size);
#define moot_task_info(m, t, out)                                                      \
    moot_task_info_sized((m), (t), (out), sizeof(moot_task_info))

/* The hash that this spec has when spawned now by this thread (its open scope counts).
 */
MOOT_API int moot_spec_hash(moot *m, const moot_task_spec *spec, moot_hash *out);
/* "I took the other branch": this rank will never spawn that task.  Binding: spawning
 * it later fails with DECLINED.  STATE if it is held already. */
MOOT_API int moot_decline(moot *m, const moot_hash *hash);

/* Opens a group on this thread: what it spawns outside kernels from here on belongs to
 * it, and to the groups around it.  STATE inside a kernel; LIMIT at 64 deep; NO_MEMORY.
 */
MOOT_API int moot_group_open(moot *m);
/* Waits until all tasks of this thread's innermost group have ended, and all that they
 * spawned, and so on, on whatever rank those run, and ends the group.  Returns the
 * first error: of the tasks that this thread spawned, in their order, else of those
 * that they left running, one generation after the other.  A child that its parent
 * waited for is the parent's affair: only what it left running itself counts.  An error
 * ends the group as well; but after TIMEOUT, and where the wait was refused (as
 * moot_task_wait), it is as it was, and may be closed again. Of a parent that ran on a
 * rank that died since, children that had not been given to another rank are NOT_HELD.
 * STATE if no group is open.  A thread that ends leaves its groups without waiting. */
MOOT_API int moot_group_close(moot *m, moot_duration timeout);

/* Opens a named scope for this thread's spawns, inside the one open now; specs in
 * different scopes are different tasks.  A name may be used once on a rank: reopening a
 * closed scope is SCOPE_CLOSED.  Threads may have the same scope open.  LIMIT at 32
 * deep. */
MOOT_API int moot_scope_open(moot *m, const char *name);
/* Closes this thread's innermost scope: this rank spawns no more in it once every
 * thread has closed it.  When every rank has closed it and released its handles on the
 * scope's tasks, and they have run, the moot forgets them: a spawn or a find that names
 * one by its hash is then SCOPE_CLOSED.  STATE if none is open. */
MOOT_API int moot_scope_close(moot *m);

/* The bracket around code of this thread that may block outside moot (an MPI_Barrier, a
 * lock, pthread_join and any other wait for a thread): it lets the moot treat this lane
 * as not about to spawn, and has another thread run what this rank owns meanwhile (not
 * with MOOT_PROGRESS=caller, where a rank whose threads are all outside moot serves
 * nobody: moot_mpi_wait does).  It may spawn when it is back, so a wait for a task that
 * nobody has spawned does not end NOT_HELD meanwhile (moot_barrier is no such place).
 * STATE if parked already / not parked; INVALID on a thread inside a kernel. */
MOOT_API int moot_park(moot *m);
MOOT_API int moot_unpark(moot *m);

/* Collective: returns when every rank has come to this call, as often as this rank has,
 * or has closed its moot or died.  Runs tasks and serves peers meanwhile, so that,
 * other than with MPI_Barrier, nobody who asks this rank for something waits for it.
 * A rank that never comes is named by the stall report.
 *
 * Errors: STATE in a kernel or a watch, on a parked thread, while another thread of
 * this rank is in a collective call, or where another rank is in another one
 * (moot_scope_tasks(3)); CLOSED; and what ends every wait, such as NO_QUORUM and
 * FENCED.
 */
MOOT_API int moot_barrier(moot *m);

/* --- Figures ---------------------------------------------------------------------- */

/* Counted on this rank since moot_open. */
typedef struct moot_stats {
    uint64_t tasks_spawned; /* top level and nested, duplicates not counted */
    uint64_t tasks_run;     /* kernels started here */
    uint64_t tasks_failed;
    uint64_t tasks_retried;  /* runs that failed and were made again */
    uint64_t votes;          /* yields that this rank cast as chair */
    uint64_t votes_by[8];    /* closed declined hint nested blocked timeout quiet, 0 */
    uint64_t motions;        /* sent to other ranks */
    uint64_t results_pushed; /* sent unasked */
    uint64_t results_answered;
    uint64_t results_received;
    uint64_t gossip_messages;    /* ROLL, WANT, HASHES, STATE sent */
    uint64_t heartbeat_messages; /* HEARTBEAT, GRANT sent */
    uint64_t messages_sent;      /* of every kind */
    uint64_t frames_sent, bytes_sent, frames_received, bytes_received;
    uint64_t frames_refused; /* malformed: counted, reported, dropped */
    uint64_t stalls;         /* stall reports printed */
    uint64_t violations;     /* invariants that a peer broke; 0 in a healthy moot */
    uint64_t ranks_lost;     /* that died, or were voted out */
    /* MOOT_VERIFY: tasks run here a second time, and differences found here. */
    uint64_t tasks_verified, tasks_nondeterministic;
    uint64_t tasks_taken_over; /* run here because their chair was lost */
    uint64_t tasks_crashed; /* that this rank, as chair, ended with CRASHED: a task is
                               counted by one rank, and is none of tasks_failed */
    /* Frames that the wire brought and that were dropped unread: under a uid that
     * nobody of the job has; not sealed by the rank that they name, or changed on the
     * way; and come before. */
    uint64_t frames_of_strangers, frames_forged, frames_repeated;
    /* Large results (MOOT_TREE_FANOUT): others' that were passed on here; ranks that
     * this one, whose result they want, sent to others that have it. */
    uint64_t results_relayed, results_referred;
    /* On a wire of streams (tcp, moot_stream.h): such as others began and that were
     * closed, since they did not prove in time to be of the job; and such as announced
     * what is no frame. */
    uint64_t streams_refused, streams_broken;
    /* On a wire that may lose frames, as one of your own that says so does: frames, or
     * pieces of larger ones, that the peer has to acknowledge; and how often one of
     * them was sent again, since the wire lost or delayed it or the answer. */
    uint64_t frames_linked, frames_resent;
    /* MOOT_CHECKPOINT: tasks of this rank that did not run, since their results were
     * found, and what they took when they ran; results that it stored, and their bytes;
     * and records that were lost: damaged ones, which were dropped, and such as the
     * disk did not take, or the bound (MOOT_CHECKPOINT_MIB). */
    uint64_t tasks_found, tasks_found_ns, results_stored, bytes_stored, records_lost;
    /* Kernels registered here of which another rank has another build. */
    uint64_t kernels_rebuilt;
    /* Ranks that were found to differ here (moot_state_signature), this one included;
     * and ranks whose announcements came otherwise than they say. */
    uint64_t signatures_differing, rolls_differing;
    /* How often this rank went back to a snapshot (moot_checkpoint_reload), and its
     * runs of kernels before the last time, which tasks_run counts, too. */
    uint64_t reloads, tasks_undone;
    /* Elements of task arrays (moot_array.h) that ended on this rank: all, those of
     * them that failed or were cancelled, and those that are in another rank's share,
     * which had given them up or was lost.  An array is one of tasks_run beside, on the
     * rank that ends it. */
    uint64_t elements_run, elements_failed, elements_taken;
} moot_stats;
#define moot_stats_get(m, out) moot_stats_get_sized((m), (out), sizeof(moot_stats))
MOOT_API int moot_stats_get_sized(const moot *m, moot_stats *out, size_t size);

#ifdef __cplusplus
}
#endif

#include "node/api/moot_checkpoint.h"
#include "node/api/moot_data.h"
#include "node/api/moot_queue.h"
#include "node/api/moot_session.h"
#include "node/api/moot_watch.h"

#endif
