/* spawn_table.h - where the ranks' programs spawned different tasks, told at the close.
 *
 * With MOOT_DIVERGENCE_TABLE=1 each rank keeps, for each line and kernel, how many
 * tasks its program spawned there, a sum of their hashes, which does not depend on the
 * order, and the arguments of the first ones.  At the close they send that to the
 * lowest rank, which compares: a line where all sums are the same is left out.  It
 * costs a rank some hundred bytes a line, and its close one message.
 *
 * Wanted divergence looks like a mistake until one sees where it is.  Two mistakes are
 * told apart: another kernel at the same line, and arguments that are the same but for
 * some bytes, which most often are padding.
 */
#ifndef NODE_EXPLAIN_SPAWN_TABLE_H
#define NODE_EXPLAIN_SPAWN_TABLE_H

#include "node/config/text.h"
#include "node/explain/rank_snapshot.h"

struct spawn_table;

/* If the knob asks for it: m->explain.table; false without memory. */
bool spawn_table_open(struct moot *m);
void spawn_table_release(struct moot *m);

/* The program spawned a task that this rank did not hold. */
void spawn_table_add(struct moot *m, const moot_hash *hash,
                     const struct task_facts *facts);

/* At the close, in this order: all tell the lowest member, before they say that they
 * have closed, so that it has most often heard them when all have; */
void spawn_table_send(struct moot *m);
/* it waits for the rest, and the others for nothing; */
bool spawn_table_is_here(struct moot *m);
void spawn_table_hear(struct moot *m, uint32_t from,
                      const struct message_account *said);
/* and tells what differs. */
void spawn_table_tell(struct moot *m);

/* The text of what `ranks` accounts have; NULL: that rank has told nothing. */
void spawn_table_compose(struct text *text, Moot__Account *const *accounts,
                         uint32_t ranks);

#endif
