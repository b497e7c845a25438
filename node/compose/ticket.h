/* ticket.h - a task that was spawned, and that a queue has yet to submit.
 *
 * The task's record exists and is filled in, so that there is a handle, a hash and an
 * info, but the core does not know that this rank holds it: it is *pending*.  The
 * ticket keeps what registering it takes besides the record.  It also keeps the task
 * and its inputs in use (task_handle.h), and its scope open, so that nothing of these
 * is forgotten meanwhile though the program releases and closes them.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_TICKET_H
#define NODE_COMPOSE_TICKET_H

#include "node/context/context.h"

struct moot_queue;

struct moot_ticket {
    struct moot_ticket *prev, *next; /* in a list */
    struct moot_queue *queue;        /* custom: that has it; NULL: on its way */
    struct moot *m;
    struct task *task;
    uint64_t batch;       /* custom: with which it came there */
    struct task **inputs; /* data inputs, then `after` */
    uint32_t input_count, after_count;
    uint32_t use_count; /* of its inputs, that it has begun to need */
    moot_hash scope, parent_hash;
    struct rankset candidates;
    uint32_t place;
    bool begun, has_candidates, scope_kept, hint;
};

struct ticket_list {
    struct moot_ticket *first, *last;
    size_t count;
};

void ticket_list_add(struct ticket_list *list, struct moot_ticket *ticket);
void ticket_list_remove(struct ticket_list *list, struct moot_ticket *ticket);
/* Appends `from`, which is then empty. */
void ticket_list_move(struct ticket_list *to, struct ticket_list *from);

/* The task keeps the place that it has: this program has spawned it before.  One that
 * is held by a peer's spec alone goes through the queues, as its place on the roll, and
 * what is kept together with it, must not depend on whether a peer was faster. */
bool ticket_is_spawned(const struct task *task, const struct task_facts *facts);
/* A ticket for a task that has been entered and is not spawned so: fills its record in
 * unless it is held.  NULL without memory. */
struct moot_ticket *ticket_new(struct moot *m, struct task *task,
                               const struct task_facts *facts);
/* The task comes after these, too.  LIMIT, NO_MEMORY, and then not after some. */
int ticket_order(struct moot_ticket *ticket, struct task *const *after, size_t count);
/* Registers the task and frees the ticket, whatever it returns; the lane's error text
 * is set. */
int ticket_submit(struct moot_ticket *ticket, struct lane *lane);
/* Its task will not be spawned.  Frees the ticket. */
void ticket_drop(struct moot_ticket *ticket);
void ticket_list_drop(struct ticket_list *list);

#endif
