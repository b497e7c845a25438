/* termination.h - the room that says in which state this rank is, and finds out that
 * nothing moves any more: NOT_HELD, CYCLE, and the end of the whole run (PROTOCOL.md,
 * QUIET and T1a).
 *
 * Writes core->termination.  Called within a step, on its thread; calls reclaim/ and
 * the rooms below.
 */
#ifndef CONSENSUS_TERMINATION_TERMINATION_H
#define CONSENSUS_TERMINATION_TERMINATION_H

#include "consensus/state/state.h"

/* --- termination_hold.c ----------------------------------------------------------- */

/* As state_hold() and its parts. */
void termination_hold(const struct core *core);
void termination_hold_fields(const struct core *core);

/* --- announce.c ------------------------------------------------------------------- */

/* Announces partial chunks and this rank's state if they are due. */
void announce_state(struct core *core);
uint64_t announce_deadline(const struct core *core);
/* This rank rests, and so do all below it in the tree. */
bool announce_below_rests(const struct core *core);
void announce_on_state(struct core *core, uint32_t from, const struct message *message);

/* --- close_reduce.c --------------------------------------------------------------- */

void close_reduce_turn(struct core *core); /* this rank has closed */
void close_reduce_on_census(struct core *core, uint32_t from,
                            const struct message_census *census);
void close_reduce_reset(struct core *core); /* another view, another tree */
void close_reduce_count(struct core *core); /* at adjourn: what the root has counted */

/* --- termination.c ---------------------------------------------------------------- */

/* While polls find nothing they are made ever more seldom, up to so long apart. */
#define POLL_PAUSE_MAX_NS 1000000000ull
bool termination_resting(const struct core *core);
void termination_forget_all(struct core *core); /* a reload begins */
void termination_enter_view(struct core *core); /* no round is open in it */
void termination_turn(struct core *core);       /* polls if it is this rank's turn to */
uint64_t termination_deadline(const struct core *core);
void termination_look_again(struct core *core); /* something changed: poll soon */
void termination_on_poll(struct core *core, uint32_t from,
                         const struct message_poll *poll);
void termination_on_pollr(struct core *core, uint32_t from,
                          const struct message *message);
void termination_on_resolve(struct core *core, const moot_hash *hash,
                            const struct message_resolve *resolve);
void termination_on_chase(struct core *core, struct task_record *task,
                          const struct message_chase *chase);
void termination_on_adjourn(struct core *core, const struct message_adjourn *adjourn);

#endif
