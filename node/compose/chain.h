/* chain.h - the order of a sequential queue: each batch after the one before.
 *
 * A chain keeps the tasks of its last batch, with a handle of its own to each.  What
 * comes next is ordered after all of them, by edges if these are few, and otherwise by
 * a join: a task that does nothing, comes after them, and that the next batch comes
 * after.  A join is a task like any other, whose key is the digest of what it joins.
 *
 * Tasks that were spawned before they come to the chain are added to the last batch.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_CHAIN_H
#define NODE_COMPOSE_CHAIN_H

#include "node/compose/ticket.h"
#include "node/context/context.h"
#include "node/spawn/spawn.h"

struct moot_queue;

struct chain_link {
    struct task *task;
    uint64_t id; /* the chain's own handle to it */
};
struct chain {
    struct chain_link *links; /* the last batch */
    size_t count, room;
};

void chain_release(struct moot *m, struct chain *chain);
/* The same where handles no longer matter. */
void chain_free(struct chain *chain);
/* One more task in the last batch, if it is not there; false without memory. */
bool chain_add(struct moot *m, struct chain *chain, struct task *task);

/* Adds what a single task comes after to its facts, which are in the lane's scratch. */
int chain_order_spawn(struct moot *m, struct lane *lane, struct moot_queue *queue,
                      struct task_facts *facts);

/* Orders a batch after the last, and gives the links that are the last one once it has
 * been passed on.  On failure the batch is as it was or has some of the order. */
int chain_order_batch(struct moot *m, struct lane *lane, struct moot_queue *queue,
                      const struct ticket_list *batch, struct chain *next);
/* Room for so many links; false without memory. */
bool chain_reserve(struct chain *chain, size_t count);
/* One task, to which the link has a handle, takes the place of the last batch; there is
 * room for it. */
void chain_advance_to(struct moot *m, struct chain *chain, struct chain_link link);
/* `next`, which is empty then, takes the place of the last batch. */
void chain_advance(struct moot *m, struct chain *chain, struct chain *next);

/* The kernel of joins. */
void chain_kernel_init(struct kernel *kernel);

#endif
