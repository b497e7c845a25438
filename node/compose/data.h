/* data.h - data handles: chains of versions, each the result of a task.
 *
 * A handle is a slot that holds a task handle on the newest version.  All that accesses
 * do to a task is to fill in its inputs, before spawn.c sees it; the protocol knows of
 * no data.  moot_data.h is the contract, and says where a version may be changed in
 * place.
 *
 * The parts of a result (a task that writes several handles) stand in one payload, each
 * at a multiple of 64, behind a head that says where; the kernel 'moot.part', whose
 * argument is a part's number, makes one part a result of its own.  It is registered
 * with the first such task, alike on every rank.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_DATA_H
#define NODE_COMPOSE_DATA_H

#include "node/api/moot.h"

struct moot;

#define DATA_PART_KERNEL "moot.part"

void datas_release(struct moot *m);

/* The part kernel's body. */
int data_part(moot_call *call, void *user);

#endif
