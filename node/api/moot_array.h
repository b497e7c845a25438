/* moot_array.h - task arrays: many tasks of one kernel, spawned by one call.
 *
 *     moot_array a;
 *     moot_array_spawn(m, &(moot_array_spec){.kernel = k, .count = 1000000}, &a);
 *     moot_array_wait(m, a, MOOT_FOREVER);
 *
 * The kernel runs once for each *element* 0 .. count - 1, and asks which one it is by
 * moot_call_index().  A *spread* says which rank runs which element, its *home*.  A
 * rank computes no hash, keeps no record and sends no byte for an element that others
 * run, so an array of a million elements costs each rank its own share and one message.
 *
 * Every rank spawns the array, as it spawns tasks; equal specs in one scope are one
 * array.  A rank that skips it, because its program is over or has gone another way,
 * gives its share up when somebody waits for the array, and those who have spawned it
 * run that, too; so they do with the share of a rank that has died or left.
 *
 * A rank may spawn a part of an array, by moot_array_spawn_some(), and more of it
 * later. It runs what it has spawned of its share; the rest of that it gives up when
 * somebody waits for the array, and those who have spawned it run it.  Elements that
 * nobody has spawned wait for somebody who does.  The wait for the array ends with
 * MOOT_ERR_NOT_HELD when no rank can go on and some are still missing; whoever spawns
 * these later runs nothing of them.
 *
 * An array may have *candidates*: these ranks are its homes then, and no other rank
 * runs any of it.  All may spawn it, wait for it, read it and take from it.  What one
 * of them leaves goes to those of them who have spawned it; when none is there any more
 * the wait ends with MOOT_ERR_NO_CANDIDATE, and when none of them spawns it with
 * NOT_HELD.
 *
 * An element is pure, unless its kernel is once: it makes its result of the arguments,
 * the index and its inputs alone.  It has no children; a task may have arrays of them
 * (moot_call_array_spawn).  If it fails it is tried again as the kernel's retries say,
 * on the rank that ran it.  Queues do not delay an array.
 *
 * An element of a kernel with MOOT_KERNEL_ONCE starts at most once, ever, whoever dies:
 * it may have effects outside.  Such an array needs a .key, and all ranks spawn it as a
 * whole.  Before a rank begins the elements of a home a quorum accepts it, at the cost
 * of a once task.  If it dies in the midst of them, those elements of the home that are
 * not known to have ended end MAYBE_RAN, begun or not, and with them the array; all
 * others run.  If it dies before, others run them.  A result that is lost is not made
 * again.
 *
 * An array of a portable kernel is run by all ranks that have the kernel, also if one
 * rank alone has spawned all of it and waits: the others take its spec in place of
 * giving their share up.  Of what they do not have they run nothing: such a rank needs
 * the maps of the array's inputs (registered by the same name and version), and holds,
 * by spawn or by spec, the arrays that it takes; tasks that it takes come along.  The
 * spec goes out from ranks that have spawned the whole array: what nobody has spawned
 * of one in parts runs nowhere.  What a rank runs so stays in its memory until the
 * scope of the array ends: spawn such arrays in scopes.  If the array has candidates
 * these alone run it so.
 *
 * In a later session (moot_session.h) the homes of an array are the ranks of that
 * session, and its hash covers them: equal specs are one array in sessions of the same
 * ranks.  Arrays of the session before stay valid, and may be taken from and read.
 *
 * Elements may take elements of other arrays, which a *map* names:
 *
 *     moot_map_window near = {-1, 1, MOOT_EDGE_CUT};
 *     moot_array_input last = {.array = before, .map = MOOT_MAP_WINDOW,
 *                              .map_args = &near, .map_args_size = sizeof(near)};
 *     moot_array_spawn(m, &(moot_array_spec){.kernel = k, .count = n, .inputs = &last,
 *                                            .input_count = 1}, &next);
 *
 * Maps are built in, or the program's own (moot_map_register).
 *
 * An element runs when it has its inputs, and does not wait for the other elements of
 * the arrays that it takes from.  Homes send each other what is taken unasked, several
 * results in one message.  An element fails if one that it takes has failed.  An input
 * may be a single task, too: each element takes its result.
 *
 * An array's handle is that of a task, its end: (moot_task){array.id} may be waited for
 * with tasks (moot_task_wait_all, moot_task_wait_any), watched, asked about
 * (moot_task_info), and be what others come `after`.  Its data, as moot_task_fetch
 * gives them, are the library's own: it is no input of a task.
 *
 * Elements run by the priority of their array, among those of other arrays and tasks;
 * of one priority after the tasks, and the oldest array first.
 *
 * A rank keeps 8 bytes for each element of its share from the spawn on, and some 60 if
 * the array takes others: 10^8 elements on one rank are 0.8 GB before any of them runs.
 * Spread larger arrays over more ranks, or give an element more to do.
 *
 * Results stay where they were made until the array is released.  moot_array_at() makes
 * one of them a task: to be fetched, or to be an input of others.  That task comes
 * after the whole array.  Of an array of which an element has failed no element can be
 * read.  If the element's home did not run it, or is gone, who reads it may run its
 * kernel again; so may who needs it as an input, and what it was made of is then made
 * again first if that is gone, too.  A rank that has not spawned the array finds its
 * elements by its hash (moot_array_find).
 */
#ifndef NODE_API_MOOT_ARRAY_H
#define NODE_API_MOOT_ARRAY_H

#include "node/api/moot.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct moot_array {
    uint64_t id;
} moot_array;

/* The indices from `first` on, `count` of them. */
typedef struct moot_range {
    uint64_t first, count;
} moot_range;

enum moot_spread_kind {
    MOOT_SPREAD_BLOCK,  /* a rank has neighbours */
    MOOT_SPREAD_CYCLIC, /* blocks go round the ranks */
    MOOT_SPREAD_HASHED  /* a rank has what a fixed shuffle gives it */
};

typedef struct moot_spread {
    enum moot_spread_kind kind;
    uint64_t block; /* CYCLIC: elements of a block; 0 is 1.  Else 0 */
} moot_spread;

/* A map: which elements of an input an element takes, in order. */
typedef struct moot_map_id {
    uint64_t id;
} moot_map_id;

#ifdef __cplusplus
#define MOOT_MAP_NUMBER(number) (moot_map_id{number})
#else
#define MOOT_MAP_NUMBER(number) ((moot_map_id){number})
#endif
#define MOOT_MAP_SAME MOOT_MAP_NUMBER(0)      /* element i takes element i */
#define MOOT_MAP_ALL MOOT_MAP_NUMBER(1)       /* each takes all */
#define MOOT_MAP_WINDOW MOOT_MAP_NUMBER(2)    /* map_args: a moot_map_window */
#define MOOT_MAP_SHIFT MOOT_MAP_NUMBER(3)     /* a moot_map_shift */
#define MOOT_MAP_TRANSPOSE MOOT_MAP_NUMBER(4) /* a moot_map_transpose */
#define MOOT_MAP_BLOCKS MOOT_MAP_NUMBER(5)    /* a moot_map_blocks */

enum moot_edge {
    MOOT_EDGE_CUT, /* what lies beyond the ends is left out */
    MOOT_EDGE_WRAP /* is taken from the other end, once: arrays of equal counts */
};
/* Element i takes i + low to i + high. */
typedef struct moot_map_window {
    int64_t low, high;
    uint64_t edges; /* enum moot_edge */
} moot_map_window;
/* Element i takes i + by. */
typedef struct moot_map_shift {
    int64_t by;
    uint64_t edges;
} moot_map_shift;
/* (r, c) of `rows` x `columns`, row by row, takes (c, r) of `columns` x `rows`. */
typedef struct moot_map_transpose {
    uint64_t rows, columns;
} moot_map_transpose;

/* Element i takes `size` elements from i * size on; the last block may be shorter. */
typedef struct moot_map_blocks {
    uint64_t size;
} moot_map_blocks;

/* One function of a program's map, of an array of `count` elements that takes from one
 * of `source_count`.  Writes the ranges of its answer to `out`, of which there is
 * `room` for so many, in the order in which they are taken, and returns how many there
 * are.  Of more than `room` it writes the first, and is called again with room for all.
 * Negative if there is no answer: with such arguments, or for arrays of such counts. */
typedef int (*moot_map_fn)(void *user, const void *args, size_t args_size,
                           uint64_t element, uint64_t count, uint64_t source_count,
                           moot_range *out, size_t room);

/* A map of the program's own.
 *
 * Each function is a pure one of its arguments, the same on all ranks: what it says is
 * kept, and used for every array of that shape.  `args` are the bytes of .map_args, and
 * part of the array's hash; `user` is not, and may differ.  They are called while a
 * call of the library or its helper thread has the library's lock: they are short, do
 * not block, and call nothing of moot.h.
 *
 * .targets is the inverse of .sources: of an element of the input, which elements of
 * the array take it, in any order, at least once.  Without it each rank calls .sources
 * for all elements, once for a shape, of an array of up to 2^20 elements.  With it a
 * rank calls either for its own share alone.
 *
 * An inverse that is wrong, or gives no answer, costs time, and never a result.  Whom
 * it leaves out has what it takes when the input's whole array has ended, and it has
 * asked for it; whom it names in vain is sent something.  With MOOT_VERIFY above 0 a
 * rank compares the two for the elements that it touches, once for a shape, and reports
 * the first that differs. */
typedef struct moot_map {
    size_t size;      /* sizeof(moot_map), or 0 */
    const char *name; /* 1 to 128 bytes, not "moot." and more; copied */
    uint32_t version; /* part of the hash of the arrays that use it, as the name is */
    moot_map_fn sources; /* which elements of the input this one takes; required */
    moot_map_fn targets; /* NULL: it is worked out */
    void *user;          /* given to both */
} moot_map;

/* Registers a map before arrays take by it, alike on every rank: a rank that says
 * another name or version spawns other arrays.  An equal one (name, version, functions,
 * user) has one id, however often it is registered.
 * Errors: INVALID (also another map of that name), LIMIT (more than 1024, a name that
 * is too long), NO_MEMORY. */
MOOT_API int moot_map_register(moot *m, const moot_map *map, moot_map_id *out);

enum { MOOT_ARRAY_INPUTS_MAX = 16 };

/* Each element takes some of another array's elements, or the result of one task: one
 * of the two is given, the other zero.  A rank gets the task's result once for all of
 * its elements. */
typedef struct moot_array_input {
    moot_array array;
    moot_task task;
    moot_map_id map;      /* of an array; zero: element i takes element i */
    const void *map_args; /* copied */
    size_t map_args_size;
} moot_array_input;

typedef struct moot_array_spec {
    size_t size; /* sizeof(moot_array_spec), or 0 */
    moot_kernel_id kernel;
    uint64_t count;   /* 1 to 2^32 */
    const void *args; /* the same for all elements; copied; as in moot_task_spec */
    size_t args_size;
    const moot_array_input *inputs; /* the kernel has them in this order, those of one
                                       input in the order of its map */
    size_t input_count;             /* up to MOOT_ARRAY_INPUTS_MAX */
    const void *key; /* makes equal specs distinct arrays; copied; as in a task's */
    size_t key_size;
    moot_spread spread;
    moot_ranks candidates; /* these ranks alone run it, and are its homes; none: the
                              ranks of the session are; as in moot_task_spec, copied */
    const char *pset;      /* in place of candidates: the processes of this set */
    int32_t priority;  /* of its elements, among elements and tasks; above 0, what they
                          take gets it, too, wherever that runs */
    uint32_t flags;    /* none yet: 0 */
    const char *label; /* for people; copied */
    /* An array of as many elements at whose homes these are to be, index by index, so
     * that they take each other's results from their own memory; 0: none.  .spread is
     * zero or that array's, which this one has then.  The hash covers the *place* of
     * that array, as moot_task_spec.beside says.  Its candidates are this one's, which
     * names none.  Not waited for, not an input. */
    moot_array beside;
} moot_array_spec;

/* Spawns an array; the handle is the caller's to release.  The hash covers all of the
 * spec but priority, flags and label.  Equal specs are one array, which has the highest
 * priority that this rank has spawned it with, or what takes it.
 * By a map that is built in all ranks are refused an array of which any element takes
 * what there is not, or too much.  By one of the program's own a rank is refused it for
 * elements of its own; ranks that are not have them fail.
 * Errors: INVALID (also a kernel that is idempotent, or non-deterministic and not once;
 * a map that names elements that there are not), NO_KEY (a once kernel, and no .key),
 * STALE and FOREIGN (the array or task of an input, or .beside), STATE (inside a
 * kernel, or parked), LIMIT (an element takes more than
 * 4096; a rank's share is more than 2^20 inputs), NO_MEMORY, CLOSED, DECLINED,
 * KERNEL_CONFLICT, NO_CANDIDATE, and what had ended the moot; as moot_task_spawn. */
#define moot_array_spawn(m, ...) moot_array_spawn_at((m), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_array_spawn_at(moot *m, const moot_array_spec *spec, moot_array *out,
                                 const char *site);

/* Likewise, but this rank spawns these elements alone: the others are for other ranks
 * to spawn.  Ranges may overlap and be in any order; other ranks may name some of them,
 * too.  A rank may call it again while it has a handle of the array, and so spawn more
 * of it; moot_array_spawn() spawns the rest.  Each call gives a handle.
 * Errors: as moot_array_spawn; INVALID (no range, an empty one, or one beyond the
 * count), LIMIT (the part has more than 4096 pieces: in a cyclic spread a range is one
 * for each rank, in a shuffled one nearly one for each element, or for each element
 * that is left out, whichever are fewer); INVALID of a once kernel, too. */
#define moot_array_spawn_some(m, ...)                                                  \
    moot_array_spawn_some_at((m), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_array_spawn_some_at(moot *m, const moot_array_spec *spec,
                                      const moot_range *ranges, size_t range_count,
                                      moot_array *out, const char *site);

/* Waits until all elements have ended, wherever they run; as moot_task_wait.
 * TASK_FAILED if one of them failed: moot_last_error(m) names one, and says why on the
 * rank that ran it.  MAYBE_RAN if some of a once kernel may have run, and how they
 * ended is not known.  NOT_HELD if no rank, of its candidates, has spawned some of
 * them, and none can go on to do so; NO_CANDIDATE if no candidate is there any more.
 * CRASHED if as many ranks as MOOT_CRASHES says died in elements of it: what the dead
 * had of it no other rank runs. */
MOOT_API int moot_array_wait(moot *m, moot_array array, moot_duration timeout);

/* Asks that no element begins any more, on any rank; as moot_task_cancel.  Those that
 * have ended keep their results, for arrays that take them; an element that takes
 * another one fails.  One that runs may ask moot_call_cancelled().  The wait ends when
 * none runs any more: CANCELLED, or, if all had begun, as if nobody had asked.  A rank
 * that spawns the array later runs nothing of it.  The arrays that it takes from go on.
 * Errors: STALE, FOREIGN, INVALID, NO_MEMORY. */
MOOT_API int moot_array_cancel(moot *m, moot_array array);

/* A task whose result is that of element `index`, for the caller to release.  Local,
 * and waits for nothing.  INVALID (no such element), STALE, FOREIGN, and as
 * moot_task_spawn. */
#define moot_array_at(m, ...) moot_array_at_at((m), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_array_at_at(moot *m, moot_array array, uint64_t index, moot_task *out,
                              const char *site);

/* The array's hash, by which other ranks and later runs find it.  STALE, FOREIGN,
 * INVALID (a task's handle). */
MOOT_API int moot_array_hash(moot *m, moot_array array, moot_hash *out);

/* The same for an array that this rank perhaps never spawned, nor heard of, by its
 * hash.  Of an array that this program holds it is moot_array_at().  Else the task
 * comes after the array, and fails (TASK_FAILED) if no rank ever holds that (its story
 * says NOT_HELD), or if there is no such element.  RESULT_LOST: the rank that had the
 * result is gone, and none that has spawned the array makes it again.  Every rank that
 * spawns what takes such a task calls this for it.  Does not wait.  INVALID (the hash
 * is none of an array), and as moot_task_spawn. */
#define moot_array_find(m, ...) moot_array_find_at((m), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_array_find_at(moot *m, const moot_hash *array, uint64_t index,
                                moot_task *out, const char *site);

/* Combines the results of all elements: a tree of tasks of `combine`'s kernel, each
 * with up to MOOT_REDUCE_WAYS inputs in the order of the elements, whose shape depends
 * on the count alone.  So its result has the same bytes at every number of ranks, also
 * where the kernel is not associative in its last bits (sums of floating point).  Each
 * level is an array at the homes of this one, whose candidates it does not have; `out`
 * is the task that gives the result, for the caller to release.  Of `combine` count
 * kernel, args, key, priority and label.  Does not wait. Errors: INVALID (also what an
 * array cannot be of: inputs, after, owner, candidates, beside, flags), STALE, FOREIGN,
 * and as moot_array_spawn. */
#define moot_array_reduce(m, ...) moot_array_reduce_at((m), __VA_ARGS__, MOOT_SITE)
enum { MOOT_REDUCE_WAYS = 8 };
MOOT_API int moot_array_reduce_at(moot *m, moot_array array,
                                  const moot_task_spec *combine, moot_task *out,
                                  const char *site);

/* Ends the handle.  Elements that have not ended do so all the same.  STALE, FOREIGN,
 * INVALID (a task's handle). */
MOOT_API int moot_array_release(moot *m, moot_array array);

/* The same inside a kernel, of the running task's children, as moot_call_spawn: nobody
 * else spawns the array, so the rank that runs the task runs all of its elements (other
 * ranks give up theirs at once).  An element of an array has no children.
 * Errors: as moot_array_spawn and moot_call_spawn. */
#define moot_call_array_spawn(call, ...)                                               \
    moot_call_array_spawn_at((call), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_call_array_spawn_at(moot_call *call, const moot_array_spec *spec,
                                      moot_array *out, const char *site);
/* Waits for all elements of an array that the task has spawned; the thread runs other
 * tasks meanwhile.  Errors: as moot_call_wait. */
MOOT_API int moot_call_array_wait(moot_call *call, moot_array array);
/* A child whose result is that of an element of such an array: for moot_call_wait(), or
 * an input of other children.  Errors: INVALID (no such element), NOT_CHILD, STALE,
 * FOREIGN, and as moot_call_spawn. */
#define moot_call_array_at(call, ...)                                                  \
    moot_call_array_at_at((call), __VA_ARGS__, MOOT_SITE)
MOOT_API int moot_call_array_at_at(moot_call *call, moot_array array, uint64_t index,
                                   moot_task *out, const char *site);

/* The kernel's element, and how many there are; in a task that is none, 0 and 1. */
MOOT_API uint64_t moot_call_index(const moot_call *call);
MOOT_API uint64_t moot_call_count(const moot_call *call);

#ifdef __cplusplus
}
#endif

#endif
