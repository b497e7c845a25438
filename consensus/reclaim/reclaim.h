/* reclaim.h - the room that forgets: scopes that have ended on every rank, and chunks
 * that every rank has released before (PROTOCOL.md, "Forgetting").
 *
 * Writes core->reclaim, and takes tasks out of the tables, lists and rolls of the rooms
 * below.  Called within a step, on its thread; calls ownership/, gossip/ and state/.
 */
#ifndef CONSENSUS_RECLAIM_RECLAIM_H
#define CONSENSUS_RECLAIM_RECLAIM_H

#include "consensus/state/state.h"

/* --- reclaim_hold.c --------------------------------------------------------------- */

/* As state_hold() and its parts. */
void reclaim_hold(const struct core *core);
void reclaim_hold_fields(const struct core *core);

/* --- scope.c ---------------------------------------------------------------------- */

int scope_on_close(struct core *core, const moot_hash *hash);
int scope_on_release(struct core *core, const moot_hash *hash);
/* A message about a task of a scope that has ended: its sender is told. */
void scope_late(struct core *core, uint32_t from, const struct message *message);
void scope_on_released(struct core *core, uint32_t from, const struct message *message);
void scope_enter_view(struct core *core, const struct view *view);
/* Those of which a member of this view may not know yet. */
void scope_tell_ended(struct core *core, uint32_t rank);
/* Drops some of what has ended.  Before anything is said in a step, because what is
 * said may borrow from the records. */
void scope_forget(struct core *core);
void scope_turn(struct core *core);

/* --- reclaim_round.c -------------------------------------------------------------- */

/* Asks all about what all have offered, if no round is open; for the lowest member.
 * Once its own outcomes of the last round have been taken (AGENDA_ROUND): what took a
 * chunk's results may be gone with them. */
void reclaim_begin_round(struct core *core);

/* --- reclaim.c -------------------------------------------------------------------- */

void reclaim_begin(struct core *core); /* of a core that has its options */
void reclaim_turn(struct core *core);
uint64_t reclaim_deadline(const struct core *core);
void reclaim_late(struct core *core, uint32_t from, const struct message *message);
/* Until the outcome; takes it. */
void reclaim_keep_back(struct core *core, struct held *held);
void reclaim_left(struct core *core, struct chunk *chunk);
void reclaim_enter_view(struct core *core);
void reclaim_doubt(struct core *core); /* behind the rest of entering a view */
/* A chunk that was leaving when this view began, and stays, each once; NULL: no more.
 */
struct chunk *reclaim_next_stayed(struct core *core, uint32_t *lane);
void reclaim_release(struct core *core);
void reclaim_forget_all(struct core *core); /* a reload begins */

/* --- lot.c ------------------------------------------------------------------------ */

void lot_on_lot(struct core *core, uint32_t from, const struct message_lot *lot);
/* A task that was leaving in a lot when this view began, and stays, each once; NULL: no
 * more. */
struct task_record *lot_next_stayed(struct core *core);

/* --- split.c ---------------------------------------------------------------------- */

/* Cuts likewise what peers have cut and is equal here. */
void split_take_heard(struct core *core);
void split_tell(struct core *core);

#endif
