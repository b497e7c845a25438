/* moot_queue.h - task queues: how a region of a program submits its tasks.
 *
 * A queue stands between a spawn and the moot.  Each thread has a stack of them; a
 * spawn enters the innermost, and what leaves that goes up to the one that it was
 * opened in, until it is submitted.  Without a queue a spawn submits at once.
 *
 *     moot_queue_open(m, MOOT_QUEUE_SEQUENTIAL);
 *     moot_task_spawn(m, &a, &ta);
 *     moot_queue_open(m, MOOT_QUEUE_BULK);
 *     moot_task_spawn(m, &b, &tb);
 *     moot_task_spawn(m, &c, &tc);
 *     moot_queue_close(m);
 *     moot_task_spawn(m, &d, &td);
 *     moot_queue_close(m);          a before b and c, b beside c, both before d
 *
 * What moves between queues is a *batch*: a single spawn is a batch of one, and a bulk
 * region that closes passes on all that it collected as one.
 *
 *   sequential  starts each task of a batch after all tasks of the batch before it have
 *               ended well, and leaves the tasks of one batch to themselves;
 *   bulk        collects, and at its close passes on one batch;
 *   custom      does what its functions do.
 *
 * The order that follows, S(..) being a sequential region, B(..) a bulk one, < "ends
 * before the other starts", and || "in any order":
 *
 *   S(a b c)                 a < b < c
 *   B(a b c)                 a || b || c, none before the close (on its owner)
 *   S(a S(b c) d)            a < b < c < d: a chain in a chain is a stretch of it
 *   S(a B(b c) d)            a < b, a < c, b < d, c < d, b || c
 *   B(S(a b) S(c d) e)       a < b, c < d; the two chains and e beside each other
 *   S(a B(S(b c) S(d e)) f)  a < all of b c d e < f;  b < c, d < e;  chains beside
 *   B(a B(b) c)              as B(a b c)
 *
 * A chain goes by what was submitted through it, so a task that was spawned before
 * (equal specs are one task) keeps its place and only holds back what comes after it.
 * A portable task that only peers have spawned so far goes through the queues as any
 * other; it may run here already, and then it is not ordered after what came before.
 * Tasks of one region that take each other's results are ordered by that, too.
 * A failed task fails what is ordered after it, as with `.after`.  After a death a pure
 * task whose result is lost runs again, perhaps later than what came after it.
 *
 * *Queues say when, not what.*  No task's hash depends on a queue, so ranks that use
 * different queues, or none, still agree on their tasks.  What a task comes after is
 * what its owner's program had in the batch before it; what these come after is for
 * their owners to say.  So where ranks differ in a region, a < b < c on one of them
 * makes a < c only if the owner of b has a < b, too.  Ranks that declare contrary
 * orders make a cycle, which ends in MOOT_ERR_CYCLE.  Where a batch of many follows a
 * batch of many, the chain puts a task of its own in between (kernel "moot.join", no
 * data), which is spawned like any other: on ranks that form the same batches it is the
 * same task, and otherwise it is one that they differ in.
 *
 * *Handles are there at once*, also of tasks that a queue still has: these have hash
 * and info, may be named as inputs and after, released and cancelled.  A thread that
 * waits for a task which a bulk region of its own still collects gets MOOT_ERR_STATE:
 * it would wait for itself.  If a custom queue has it, that is asked to let go first
 * (.flush).  Another thread that waits for it waits.  A wait for a task that takes the
 * result of such a one (spawned past the queues) ends in MOOT_ERR_NOT_HELD if no other
 * rank has spawned that.
 *
 * *Kernels inherit.*  What a running task spawns goes through queues like those that
 * the task itself was spawned through on the rank that runs it, but for its own: a task
 * of a sequential region makes a chain of its children, one of a bulk region collects
 * them and submits when it waits for one of them, and when it returns.  The children's
 * order has nothing to do with that of the tasks around their parent, so a task that
 * waits for its children is never behind them.  A kernel may open queues on top of
 * these, closes them itself, and leaves those still open to be closed when it returns.
 * A portable task that its rank never spawned has none to inherit.
 * MOOT_TASK_NO_QUEUE in a spec submits that one task past all queues, and its children,
 * too.
 *
 * Functions return as in moot.h and are local.  A queue belongs to the thread, or to
 * the running kernel, that opened it.
 */
#ifndef NODE_API_MOOT_QUEUE_H
#define NODE_API_MOOT_QUEUE_H

#include "node/api/moot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum moot_queue_kind { MOOT_QUEUE_SEQUENTIAL = 1, MOOT_QUEUE_BULK };

/* Opens a queue inside the one that is open now.  Errors: INVALID (kind), LIMIT at 64
 * deep, STATE inside a custom queue's function, CLOSED, NO_MEMORY. */
MOOT_API int moot_queue_open(moot *m, enum moot_queue_kind kind);

/* Closes this thread's innermost queue: what it still has goes up.  Does not wait for
 * tasks.  STATE if none is open (in a kernel: that the kernel opened), and inside a
 * custom queue's function.
 *
 * Specs are checked when they are spawned; what can fail later is rare (DECLINED,
 * NO_CANDIDATE, NO_MEMORY, the end of the moot).  Then this returns the first error,
 * moot_last_error() says which task of how many it was and where it was spawned, and
 * the others are submitted all the same (none of a batch for whose order there is no
 * memory): the wait for the failed one ends as one for any task that this rank does not
 * hold.
 *
 * A thread that ends closes its queues, without calling custom ones, and so does
 * moot_close for the thread that calls it; what other threads' queues still have then
 * is not spawned. */
MOOT_API int moot_queue_close(moot *m);

/* --- Queues of one's own --------------------------------------------------------- */

typedef struct moot_queue moot_queue;   /* an open one, for its functions to name */
typedef struct moot_ticket moot_ticket; /* a spawned task that has not gone up yet */

enum {
    /* Tasks spawned through it have one of its kind for their children.  Its functions
     * are then called in kernels, on any thread, at the same time, and `.user` must
     * live until moot_close. */
    MOOT_QUEUE_INHERITED = 1
};

/* What a custom queue does.  All functions are called on the thread that spawns, with
 * no lock held, and return MOOT_OK or an error, which the public call that led to them
 * returns.  They may call anything that their thread may call, moot_task_wait outside
 * kernels included, except moot_queue_open and _close; what they spawn goes to the
 * queue above. */
typedef struct moot_queue_custom {
    size_t size;      /* sizeof(moot_queue_custom), or 0 */
    const char *name; /* for people; required; borrowed while it is open or inherited */
    /* A queue begins: *state, `user` if this is NULL, is what the others are given.
     * Optional. */
    int (*open)(moot_queue *queue, void *user, void **state);
    /* A batch came.  The tickets are the queue's until it passes them to moot_queue_up,
     * now or in a later call of its functions, in any order and grouping; the array is
     * valid during the call only.  Required. */
    int (*submit)(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                  void *state);
    /* The thread is about to wait for a task that the queue has: it should pass that up
     * now; if it does not, the wait is STATE.  Optional. */
    int (*flush)(moot_queue *queue, void *state);
    /* The last call: to pass up what is left and free `state`.  What it leaves goes up
     * as one batch in the order in which it came.  Optional. */
    int (*close)(moot_queue *queue, void *state);
    uint32_t flags; /* MOOT_QUEUE_INHERITED */
    void *user;
} moot_queue_custom;

/* Opens a queue with these functions, which are copied.  Errors as moot_queue_open, and
 * what .open returns. */
MOOT_API int moot_queue_open_custom(moot *m, const moot_queue_custom *custom);

/* Passes these tickets up as one batch; they are not valid afterwards.  Only within a
 * function of the queue.  Errors: INVALID (one is not this queue's, or named twice:
 * nothing happened), STATE; else the first of what submitting them met, as
 * moot_queue_close. */
MOOT_API int moot_queue_up(moot_queue *queue, moot_ticket *const *tickets,
                           size_t count);

/* The context that the queue was opened on. */
MOOT_API moot *moot_queue_context(const moot_queue *queue);

/* What a ticket stands for.  Borrowed until the ticket goes up. */
typedef struct moot_ticket_view {
    moot_hash hash;
    const char *kernel; /* its name */
    const void *args;
    size_t args_size;
    int32_t priority;
    const char *label, *site; /* "" if none */
} moot_ticket_view;
#define moot_ticket_look(ticket, out)                                                  \
    moot_ticket_look_sized((ticket), (out), sizeof(moot_ticket_view))
MOOT_API int moot_ticket_look_sized(const moot_ticket *ticket, moot_ticket_view *out,
                                    size_t size);

/* A handle to its task: a reference of the queue's own, to be released. */
MOOT_API int moot_ticket_task(moot_ticket *ticket, moot_task *out);

/* A spec may be rewritten where that leaves the task the same: more tasks that it comes
 * after, another label, another priority.  STALE, FOREIGN; LIMIT beyond 4096 inputs and
 * after; NO_MEMORY. */
MOOT_API int moot_ticket_after(moot_ticket *ticket, const moot_task *tasks,
                               size_t count);
MOOT_API int moot_ticket_label(moot_ticket *ticket, const char *label);
MOOT_API int moot_ticket_priority(moot_ticket *ticket, int32_t priority);

#ifdef __cplusplus
}
#endif
#endif
