/* moot_watch.h - looking at tasks: all that are known here, and their changes of state;
 * and at ranks that go.
 *
 * Both say what this rank knows.  A rank hears of another's task what it needs, and no
 * more: it knows a task that it has spawned, named by its hash, or taken as an input;
 * it knows the end of one that it ran, waited for, or was sent the result of.
 */
#ifndef NODE_API_MOOT_WATCH_H
#define NODE_API_MOOT_WATCH_H

#include "node/api/moot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- What is known ---------------------------------------------------------------- */

/* moot_task_info() on several at once, of one moment.  Errors as moot_task_info, for
 * the first handle that is wrong, and then nothing is written. */
#define moot_task_info_all(m, tasks, count, infos)                                     \
    moot_task_info_all_sized((m), (tasks), (count), (infos), sizeof(moot_task_info))
MOOT_API int moot_task_info_all_sized(moot *m, const moot_task *tasks, size_t count,
                                      moot_task_info *infos, size_t size);

/* Which tasks; all that is zero admits every task. */
typedef struct moot_task_filter {
    size_t size;              /* sizeof(moot_task_filter), or 0 */
    uint32_t states;          /* 1 << MOOT_TASK_READY and so on */
    const char *kernel;       /* its name */
    const char *label_prefix; /* what the label begins with */
} moot_task_filter;

/* Anything but 0 ends the listing. */
typedef int (*moot_tasks_fn)(void *user, const moot_task_info *info);

/* Calls `fn` for every task that this rank knows and `filter` (NULL: all) admits, the
 * newest first, with no lock held: it may call anything, also moot_task_find() with the
 * hash.  What it is shown was so at one moment; the strings are good during its call.
 * Returns what ended the listing, if `fn` did; else MOOT_OK, INVALID or NO_MEMORY.
 * Copies the records of what it lists. */
MOOT_API int moot_tasks_each(moot *m, const moot_task_filter *filter, moot_tasks_fn fn,
                             void *user);

/* --- What all ranks have spawned -------------------------------------------------- */

/* Collective: once every rank has come to this call (as to moot_barrier()), calls `fn`
 * for every task that any of them has spawned at top level in this thread's innermost
 * scope, or in none where none is open, and that `filter` (NULL: all) admits on a rank
 * that has spawned it.  All ranks are shown the same tasks in the same order: those of
 * the lowest rank first, as it spawned them, each task once.  Of an info, hash, kernel,
 * label and site are alike on all ranks; the rest is what this rank knows, with an
 * empty story.  A task that this rank has not spawned can be found by its hash
 * (moot_task_find()), waited for, and taken as an input.
 *
 * Not shown are tasks of kernels, tasks that queues still collect, and those that have
 * been forgotten because every rank has released them.  A rank that dies meanwhile is
 * shown on all ranks or on none.
 *
 * Returns what ended the listing, if `fn` did (then the other ranks go on); else
 * MOOT_OK, an error as of moot_barrier() (STATE also where ranks have another scope
 * open, or another filter), INVALID, NO_MEMORY.  Costs two messages for each rank, and
 * one list of each to each. */
MOOT_API int moot_scope_tasks(moot *m, const moot_task_filter *filter, moot_tasks_fn fn,
                              void *user);
/* The same as it is now, and for this rank alone: the others need not call it, and
 * answer when one of their threads next waits, or by a worker (MOOT_THREADS).  Ranks
 * that ask at different moments are shown different tasks.  It spawns a task on this
 * rank for each other: UNSUPPORTED unless MOOT_DIVERGENCE is repair. */
MOOT_API int moot_scope_tasks_live(moot *m, const moot_task_filter *filter,
                                   moot_tasks_fn fn, void *user);

/* --- What changes ----------------------------------------------------------------- */

enum moot_event_kind {
    MOOT_EVENT_SPAWNED = 1,  /* registered on this rank: by the program, a kernel, or
                                adopted from a peer's spec */
    MOOT_EVENT_BLOCKED = 2,  /* a thread of the program, or a kernel, waits for it */
    MOOT_EVENT_VOTED = 4,    /* its chair, this rank, gave it to `rank`; or this rank
                                learnt that the chair `rank` gave it to it, again
                                if others ask for it, too */
    MOOT_EVENT_RERUN = 8,    /* it comes to this rank, because its chair is lost */
    MOOT_EVENT_RUNNING = 16, /* its kernel starts on this rank */
    MOOT_EVENT_DONE = 32,    /* its end is known here, and `rank` ran it.  Told once for
                                a task, also where a death has it run again; and only
                                when something here has named it: after its SPAWNED,
                                or when it is found, or taken as an input */
    MOOT_EVENT_FAILED = 64,  /* likewise; or a wait for it cannot end well, which may be
                                told again, and after a DONE whose bytes are lost */
    MOOT_EVENT_CANCELLED = 128,
    /* Events of ranks, not tasks: `rank` says which; no hash, kernel or label. */
    MOOT_EVENT_RANK_DIED = 256,    /* its process has ended, as this rank found */
    MOOT_EVENT_RANK_REMOVED = 512, /* the ranks go on without it: it died, or was voted
                                      out because it was silent or out of reach.  Or
                                      this rank itself is, and the moot ends for it */
    MOOT_EVENT_RANK_LEFT = 1024,   /* it went by moot_leave; or it said farewell, as all
                                      ranks have closed: of many ranks those say it
                                      that this one hears */
    /* Events of process sets (moot_session.h): `label` is the set's name; no hash,
     * rank, kernel or site. */
    MOOT_EVENT_PSET_DEFINED = 2048,  /* it is there, from this session on */
    MOOT_EVENT_PSET_DELETED = 4096,  /* it is invalid, since a program deleted it, */
    MOOT_EVENT_PSET_INVALID = 8192,  /* or since a process of it is gone: `why` */
    MOOT_EVENT_PSET_REFUSED = 16384, /* this rank's definition does not count: `why` */
    /* An event of this rank, `rank`: it was asked to leave, by `moot shrink` or
     * SIGTERM, as `why` says.  A program that watches for it leaves by itself, by
     * moot_leave or at a session's end; for any other the library does, in the next
     * wait. */
    MOOT_EVENT_RANK_ASKED = 32768,
    MOOT_EVENT_RANK_JOINED = 65536, /* an event of ranks: a process that came later is a
                                      member now; `why` is its name, "b_0" */
    MOOT_EVENT_RANK_DIFFERS = 131072 /* an event of ranks: its signature of state is
                                        another (moot_state_signature), or what it says
                                        that it has announced; `why` has the step */
};
#define MOOT_EVENTS_OF_TASKS 255u
/* Without RANK_ASKED: who watches for that has something to do. */
#define MOOT_EVENTS_OF_RANKS                                                           \
    ((unsigned)MOOT_EVENT_RANK_DIED | (unsigned)MOOT_EVENT_RANK_REMOVED |              \
     (unsigned)MOOT_EVENT_RANK_LEFT | (unsigned)MOOT_EVENT_RANK_JOINED |               \
     (unsigned)MOOT_EVENT_RANK_DIFFERS)
#define MOOT_EVENTS_OF_PSETS                                                           \
    ((unsigned)MOOT_EVENT_PSET_DEFINED | (unsigned)MOOT_EVENT_PSET_DELETED |           \
     (unsigned)MOOT_EVENT_PSET_INVALID | (unsigned)MOOT_EVENT_PSET_REFUSED)

typedef struct moot_event {
    enum moot_event_kind kind;
    uint64_t sequence;  /* counts the events of this rank, from 1 */
    moot_duration when; /* since rank 0 called moot_open: one zero for all ranks.  Exact
                           among ranks of one host; a rank elsewhere is off by what its
                           wall clock differs from rank 0's when the moot is opened, and
                           by what the two clocks drift later */
    moot_hash hash;
    int rank;        /* as the kind says, or -1 */
    int status;      /* of an end: MOOT_OK or the error */
    const char *why; /* VOTED: the evidence, as in moot_task_info; FAILED and CANCELLED:
                        the chain of causes; RANK_DIED and RANK_REMOVED: in words,
                        "died of signal 11 ..." with the kernel, as far as known;
                        else "" */
    const char *kernel, *label, *site; /* as far as known, else "" */
} moot_event;

typedef struct moot_watch {
    size_t size;              /* sizeof(moot_watch), or 0 */
    uint32_t kinds;           /* enum moot_event_kind, added up; 0: all of tasks */
    const char *label_prefix; /* NULL: any task; copied.  Not for events of ranks; of
                                 process sets the beginning of the name */
    void (*fn)(void *user, const moot_event *event);
    void *user;
} moot_watch;

typedef struct moot_watch_id {
    uint64_t id;
} moot_watch_id;

/* From now on calls `fn` for every such event of this rank, in their order and one at a
 * time, soon after: on a thread that was in moot when it happened, with no lock held,
 * the event and its strings good during the call.  It should be short, for that thread
 * has work to do.  It may look and cancel.  Refused there with STATE are a spawn, a
 * wait and moot_close(), and what belongs to a thread: queues, groups, scopes, parking.
 *
 * Deaths before that are not told: moot_present() says who is here.  A rank that
 * died is told as DIED where that is seen, which a death on another host may not be,
 * and as REMOVED once the ranks have agreed to go on without it. Errors: INVALID, LIMIT
 * (more than 64), NO_MEMORY. */
MOOT_API int moot_watch_add(moot *m, const moot_watch *watch, moot_watch_id *out);
/* Once it returns `fn` is not called any more; inside `fn` itself it returns at once.
 * moot_close() ends watches, too, after their last events.  STALE, INVALID. */
MOOT_API int moot_watch_remove(moot *m, moot_watch_id id);

/* --- Signatures of state ---------------------------------------------------------- */

/* The program's state at this step has this hash: moot_fingerprint_array() of what the
 * ranks have in common, or any other digest of it.  Ranks tell each other, with their
 * heartbeats and when they close; where two hold the same step with another hash each
 * rank says so once, and tells MOOT_EVENT_RANK_DIFFERS: with three ranks or more the
 * one that most others contradict is named.  So memory that was changed is found, and
 * the step.
 *
 * Steps ascend; ranks come to them at different times, and one that leaves steps out is
 * no difference.  Of many steps in little time some are compared, those that are
 * divisible by a high power of two first.  Local; does not block; a microsecond.
 * Errors: INVALID (a step of 2^63 or more), STATE (the step does not ascend), CLOSED,
 * what ended the moot, as SIGNATURE does for this rank with MOOT_SIGNATURE=fail, and
 * NO_MEMORY. */
MOOT_API int moot_state_signature(moot *m, const moot_hash *hash, uint64_t step);

#ifdef __cplusplus
}
#endif
#endif
