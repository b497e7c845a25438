/* termination_private.h - what the files of this room offer each other. */
#ifndef CONSENSUS_TERMINATION_TERMINATION_PRIVATE_H
#define CONSENSUS_TERMINATION_TERMINATION_PRIVATE_H

#include "consensus/termination/termination.h"

/* --- in_flight.c ------------------------------------------------------------------ */

/* Fills in what this rank has sent in this view, and what has come. */
void in_flight_count(const struct core *core, struct message_pollr *answer);
void in_flight_enter_view(struct core *core);

/* --- orphans.c -------------------------------------------------------------------- */

/* How an undecided task without a holder stands among such; false: nobody waits for it.
 */
bool orphan_of(const struct core *core, const struct task_record *task,
               struct message_orphan *out);
/* Is a's wait to fail before b's? */
bool orphan_is_less(const struct message_orphan *a, const moot_hash *hash_of_a,
                    const struct message_orphan *b, const moot_hash *hash_of_b);
/* Does it fail together with the one that is meant, or is it that? */
bool orphan_is_meant(const struct message_orphan *orphan, const moot_hash *hash,
                     const struct message_orphan *meant, const moot_hash *hash_meant);
/* All that this rank chairs, or finds for, and are meant. */
void orphans_fail(struct core *core, const struct message_orphan *meant,
                  const moot_hash *hash);

#endif
