/* queue.h - the stacks of task queues: what a spawn goes through before it is
 * registered.
 *
 * A stack belongs to a thread (struct lane) or to a running kernel (struct moot_call),
 * and only that thread touches it.  A batch of tickets moves outwards from queue to
 * queue until one keeps it or it is registered; what bulk and custom queues keep are
 * lists of tickets (ticket.h), what sequential ones keep is the last batch (chain.h).
 * Where no queue keeps anything, because all that are open are sequential, a spawn
 * needs no ticket: it is given the chain's order and registered at once.
 *
 * The functions of custom queues are the program's, so the lock is released around
 * them.  While one runs, spawns of its thread enter above that queue (`entry`), and the
 * stack keeps its shape.  A kernel's may wait for children, and come back on another
 * thread: what follows such a call asks for the lane anew.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_QUEUE_H
#define NODE_COMPOSE_QUEUE_H

#include "node/compose/bulk_region.h"
#include "node/compose/chain.h"
#include "node/compose/queue_line.h"
#include "node/compose/ticket.h"

struct moot_queue {
    struct moot_queue *up; /* that it was opened in; NULL: none */
    struct moot *m;
    enum queue_kind kind;
    uint32_t depth;
    uint16_t line;       /* of what goes through it */
    bool inherited;      /* by a kernel */
    bool direct;         /* it and all above are sequential */
    bool passed_by;      /* custom: its functions are called no more */
    uint32_t calls;      /* of its functions, that run */
    uint64_t batches;    /* custom: that it was given */
    struct chain *chain; /* sequential: its own, or that of the one it is in */
    struct chain own;    /* and that, of the outermost of adjoining ones; bulk: tasks
                            that were spawned again */
    struct ticket_list kept; /* bulk, custom */
    struct region region;    /* bulk: without tickets, and then none is kept */
    moot_queue_custom custom;
    void *state;
};

/* With the first thing that a kernel has to do with queues: opens those of its task. */
int queue_inherit(struct moot *m, struct lane *lane);
/* A spawn whose facts are checked; `queued`: not past the queues. */
int queue_spawn(struct moot *m, struct lane *lane, bool queued,
                struct task_facts *facts, moot_task *out);
/* Enters at `queue`, whatever is open (NULL: registers it at once). */
int queue_spawn_at(struct moot *m, struct lane *lane, struct moot_queue *queue,
                   struct task_facts *facts, struct spawned *out);
/* Passes a batch, which is empty then, to `to` (NULL: registers it).  The first error,
 * with the lane's error text. */
int queue_pass(struct moot *m, struct lane *lane, struct moot_queue *to,
               struct ticket_list *batch);

int queue_open(struct moot *m, struct lane *lane, enum queue_kind kind,
               const moot_queue_custom *custom);
int queue_close(struct moot *m, struct lane *lane);
/* Closes all of this thread's, for moot_close; of a kernel that returns. */
int queue_close_all(struct moot *m, struct lane *lane);
/* The thread ends: what its queues keep is registered past custom ones. */
void queue_abandon(struct moot *m, struct lane *lane);
/* The context closes: what they keep is dropped. */
void queue_free_all(struct moot *m, struct lane *lane);

/* What it has goes up, in one batch. */
int queue_pass_kept(struct moot *m, struct lane *lane, struct moot_queue *queue);
/* Of this thread, or of the kernel that runs on it. */
struct queue_stack *queue_stack_of(struct lane *lane);

/* queue_custom.c: the program's functions.  They release the lock. */
int queue_custom_open(struct lane *lane, struct moot_queue *queue,
                      const moot_queue_custom *custom);
int queue_custom_submit(struct lane *lane, struct moot_queue *queue,
                        struct ticket_list *batch);
int queue_custom_flush(struct lane *lane, struct moot_queue *queue); /* it has one */
int queue_custom_close(struct lane *lane, struct moot_queue *queue);

/* The thread is about to wait for these: those that its own queues have are to go up,
 * or the wait is STATE. */
int queue_before_wait(struct moot *m, struct lane *lane, const moot_task *tasks,
                      size_t count, const char *call);

#endif
