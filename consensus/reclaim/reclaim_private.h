/* reclaim_private.h - what the files of this room offer each other. */
#ifndef CONSENSUS_RECLAIM_RECLAIM_PRIVATE_H
#define CONSENSUS_RECLAIM_RECLAIM_PRIVATE_H

#include "consensus/reclaim/reclaim.h"

/* --- scope.c ---------------------------------------------------------------------- */

void scope_send(struct core *core, uint32_t to, const moot_hash *hash,
                struct message_released released);
/* Ends the scope: its tasks are forgotten in the next steps. */
void scope_drop(struct core *core, struct scope_record *scope, bool alike,
                bool from_lowest);
/* All members have answered what this one was asked about it. */
void scope_all_answered(struct core *core, const struct scope_record *scope);

/* --- scope_local.c ---------------------------------------------------------------- */

bool scope_look(struct core *core, struct scope_record *scope);
void scope_on_ask(struct core *core, struct scope_record *scope, uint64_t round);

/* --- scope_global.c --------------------------------------------------------------- */

/* Takes in a member's account of the scope, as the lowest member. */
void scope_take_account(struct core *core, struct scope_record *scope, uint32_t from,
                        const struct message_released *said);
/* At the end of this round of asking; 0: of none. */
void scope_drop_everywhere(struct core *core, struct scope_record *scope, bool alike,
                           uint64_t round);

/* --- forget.c --------------------------------------------------------------------- */

/* Drops some of its tasks, as many as the budget allows; true if there are more. */
enum { FORGET_PER_STEP = 512 };
bool forget_some(struct core *core, struct scope_record *scope, uint32_t *budget);
/* Takes the scope out of what may look at its tasks, and its peers' announcements. */
void forget_begin(struct core *core, struct scope_record *scope);
/* False if it must stay for a while: its kernel runs. */
bool forget_task(struct core *core, struct task_record *task, bool alike);
/* One that is leaving in a lot. */
void forget_of_lot(struct core *core, struct task_record *task);
/* All tasks of a chunk that every member has. */
void forget_chunk(struct core *core, uint32_t lane, struct chunk *chunk);

/* --- reclaim.c -------------------------------------------------------------------- */

void reclaim_take(struct core *core, uint32_t from,
                  const struct message_released *said);
void reclaim_say(struct core *core, uint32_t to, enum released_what what,
                 const struct chunk_name *name, struct message_released said);
bool reclaim_was_recent(const struct core *core, const struct chunk_name *name);

/* --- lot.c ------------------------------------------------------------------------ */

struct chunk_name lot_name(const moot_hash *hashes, uint32_t count);
/* One that is leaving here; NULL: none of this name. */
struct lot *lot_find(const struct core *core, const struct chunk_name *name);
bool lot_is_passed(const struct core *core, const struct message_lot *lot);
/* `passed`: this rank's program is a window past the task. */
bool lot_lets_go(const struct core *core, const struct task_record *task, bool passed);
void lots_begin(struct core *core); /* ranks differ */
/* The outcome; frees it, now or when its tasks have been reported. */
void lot_drop(struct core *core, struct lot *lot);
void lot_keep(struct core *core, struct lot *lot);
/* Newcomers are told which once tasks have been dropped (V4). */
void lots_tell_gone(struct core *core);
void lots_doubt(struct core *core);
void lots_release(struct core *core);

/* --- lot_owner.c ------------------------------------------------------------------ */

void lots_turn(struct core *core);
uint64_t lots_deadline(const struct core *core);
void lot_take_objections(struct core *core, const struct message_lot *said);
/* False: it is about no lot of this rank's. */
bool lot_take_answer(struct core *core, const struct message_released *said);
void lots_enter_view(struct core *core);

/* --- reclaim_round.c -------------------------------------------------------------- */

/* Calls for the lowest member alone. */
void reclaim_take_account(struct core *core, uint32_t from,
                          const struct message_released *said);
void reclaim_forget_offers(struct core *core);
/* There is no such chunk any more. */
void reclaim_void_offer(struct core *core, const struct chunk_name *name);

/* --- split.c ---------------------------------------------------------------------- */

/* Cuts what all members hold, if memory is short here. */
void split_own(struct core *core);

#endif
