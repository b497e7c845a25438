/* data_task.h - tasks of data: naming, holding and running them. */
#ifndef NODE_REFERENCE_DATA_TASK_H
#define NODE_REFERENCE_DATA_TASK_H

#include "node/context/context.h"
#include "node/reference/data_facts.h"

/* The body of 'moot.data'. */
int data_run(moot_call *call, void *user);

/* Data, and where this rank has them from. */
struct data_source {
    struct data_facts facts;
    struct payload *bytes; /* taken over; NULL: they are in a file, */
    const char *path;      /* of this name; NULL without one */
};

/* The program spawns their task here.  Under the engine lock; the lane's error text
 * says why it fails. */
int data_spawn(struct moot *m, struct lane *lane, const struct data_source *source,
               const char *site, moot_task *out);
/* This rank holds it, though its program has not spawned it.  Under the lock. */
int data_take_in(struct moot *m, const struct data_source *source);
/* Their task's; this rank need not have them. */
moot_hash data_hash(struct moot *m, const struct data_facts *facts);

#endif
