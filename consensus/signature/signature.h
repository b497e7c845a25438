/* signature.h - the room that compares what ranks say of themselves (PROTOCOL.md,
 * *Signatures of state*, D1 to D5).
 *
 * A program may give a signature of its state at each step, in steps that ascend.
 * Ranks tell each other theirs, with heartbeats and when they close; who holds the same
 * step with another signature is told, and so is everyone else, by rank and step.  With
 * a heartbeat a rank also says how many ROLLs it has sent the receiver, and their sum.
 * All of it is advice: nothing in the protocol follows from it.
 *
 * Writes core->signature and what peers said of themselves.  Called within a step, on
 * its thread; calls state/ alone.
 */
#ifndef CONSENSUS_SIGNATURE_SIGNATURE_H
#define CONSENSUS_SIGNATURE_SIGNATURE_H

#include "consensus/state/state.h"

/* --- signature.c ------------------------------------------------------------------ */

void signature_end(struct core *core);
/* A reload begins: the program's steps may begin anew. */
void signature_forget_all(struct core *core);
/* The program's own: MOOT_ERR_STATE if the step does not ascend, INVALID if it is
 * beyond what a message can say. */
int signature_give(struct core *core, uint64_t step, const moot_hash *hash);
/* Signatures for the present round of heartbeats; NULL: none. */
const struct message_signatures *signature_tell(struct core *core);
void signature_hear(struct core *core, uint32_t from,
                    const struct message_signatures *said);
/* Tells what is left once the program has closed, and takes up what has waited. */
void signature_turn(struct core *core);
uint64_t signature_deadline(const struct core *core);
/* The rank adjourns: nothing more will be heard. */
void signature_settle(struct core *core);
/* A GRANT to that rank, and one that came. */
void signature_put_grant(const struct core *core, uint32_t to,
                         struct message_grant *grant);
void signature_on_grant(struct core *core, const struct message_grant *grant);

/* --- kept_signatures.c ------------------------------------------------------------ */

/* NULL if that step is not kept. */
const struct kept_signature *kept_find(const struct signatures *kept, uint64_t step);
/* Adds a step that is not kept, and drops another if there are too many: of those that
 * are not the latest, one that is not the latest of those divisible as often by two.
 * Without memory the core is broken. */
struct kept_signature *kept_add(struct core *core, struct signatures **kept,
                                uint64_t step, const moot_hash *hash);

/* --- rolls.c ---------------------------------------------------------------------- */

/* A ROLL went out, or came in. */
void signature_roll_sent(struct core *core, uint32_t to,
                         const struct message_roll *roll);
void signature_roll_came(struct core *core, uint32_t from,
                         const struct message_roll *roll);
void signature_rolls_put(const struct core *core, uint32_t to,
                         struct message_heartbeat *heartbeat);
void signature_rolls_claimed(struct core *core, uint32_t from,
                             const struct message_heartbeat *heartbeat);
void signature_enter_view(struct core *core);

#endif
