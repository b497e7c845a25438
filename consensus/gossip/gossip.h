/* gossip.h - the room that knows who holds which tasks (PROTOCOL.md, G1 to G5).
 *
 * The room keeps this rank's roll, announces it in chunks, and compares what peers
 * announce with it.  In strict mode it finds the first difference.  All of it is
 * advice: no owner follows from it.
 *
 * Writes core->gossip, the lanes behind it, and what peers announced.  Called within a
 * step, on its thread; calls state/, and signature/ with each ROLL.
 */
#ifndef CONSENSUS_GOSSIP_GOSSIP_H
#define CONSENSUS_GOSSIP_GOSSIP_H

#include "consensus/state/state.h"

/* --- gossip.c --------------------------------------------------------------------- */

void gossip_begin(struct core *core); /* of a core that is all zero */
void gossip_enter_view(struct core *core);
/* A newcomer's first view has been reported: how long the rolls were before its time.
 */
void gossip_note_before(struct core *core);
/* A reload begins: rolls are empty, and lanes stand as they stood. */
void gossip_forget_all(struct core *core);
void gossip_end(struct core *core);
void gossip_end_lanes(struct core *core); /* no lane spawns any more */
/* False: nothing was learnt since it was asked last.  *of: whose tasks are known better
 * now; NOBODY: those of several ranks. */
bool gossip_take_news(struct core *core, uint32_t *of);

/* --- gossip_hold.c ---------------------------------------------------------------- */

/* As state_hold() and its parts. */
void gossip_hold(const struct core *core);
void gossip_hold_fields(const struct core *core);
void gossip_hold_peer(const struct core *core, const struct peer *peer);

/* --- disseminate.c ---------------------------------------------------------------- */

void disseminate_enter(struct core *core); /* a view: takes this rank's place in it */
void disseminate_turn(struct core *core);
uint64_t disseminate_deadline(const struct core *core);
bool disseminate_is_done(const struct core *core);

/* --- roll.c ----------------------------------------------------------------------- */

struct lane_record *lane_enter(struct core *core,
                               uint32_t number); /* NULL: limit, memory */
bool roll_append(struct core *core, struct lane_record *lane, uint32_t number,
                 struct task_record *task);
bool roll_append_stub(struct core *core,
                      struct stub *stub); /* its place has the lane */
/* Nothing says that it will not hold it: so far its roll is ours, or shorter.  A guess,
 * good for pushes only. */
bool roll_agrees_so_far(const struct core *core, const struct task_record *task,
                        uint32_t rank);
void roll_on_roll(struct core *core, uint32_t from, const struct message_roll *roll);
void roll_on_want(struct core *core, uint32_t from, const struct message_want *want);
void roll_on_hashes(struct core *core, uint32_t from,
                    const struct message_hashes *hashes);
/* Looks again at what peers announced and nothing of ours matched. */
void roll_resolve(struct core *core);
bool roll_is_told(const struct core *core); /* peers have heard of all of it */
bool roll_resolved(const struct core *core, uint32_t rank);
void roll_want_of_closed(struct core *core);
void roll_count_common(struct core *core);
/* Counts a task that this rank chairs, as one that all hold or some.  `known`: or a
 * stub. */
void roll_count_chaired(struct core *core, const void *known);
/* False if some of it is forgotten. */
bool roll_sum_of(const struct core *core, const struct lane_record *lane,
                 uint64_t first, uint32_t count, struct rollsum *sum);
void roll_announce(struct core *core, uint32_t lane, const struct chunk *chunk);
void roll_enter_view(struct core *core); /* all of it is announced again */
/* Members that the view before did not have, whose members are `before`, are told all.
 */
void roll_tell_newcomers(struct core *core, const struct rankset *before);
void roll_release(struct core *core);

/* --- beginning.c ------------------------------------------------------------------ */

/* A newcomer's first view names where its roll begins. */
void roll_begin(struct core *core);
/* Members that the view before did not have, whose members are `before`, begin with a
 * chunk. */
void roll_cut_for_newcomers(struct core *core, const struct rankset *before);

/* --- segments.c ------------------------------------------------------------------- */

/* The one that has not been dropped; NULL if there is none. */
struct chunk *roll_find_chunk(const struct core *core, const struct chunk_name *name,
                              uint32_t *lane);
void roll_index(struct core *core); /* chunks have come in between others */
/* Takes out the chunks of which nothing is left.  Returns where the chunk that stood at
 * `at`, or the next that stays, stands then. */
uint32_t roll_compact(struct core *core, struct lane_record *lane, uint32_t at);

/* --- strict.c --------------------------------------------------------------------- */

void strict_turn(struct core *core);
/* No comparison is under way that may still find a difference. */
bool strict_settled(const struct core *core);
/* All ranks rest: what others have announced behind the end of this roll is a
 * difference, too.  False: nothing is to be found by that, or it was looked for. */
bool strict_all_rest(struct core *core);
uint64_t strict_deadline(const struct core *core);
void strict_on_diverged(struct core *core, uint32_t from,
                        const struct message_diverged *diverged);
/* Announces what there is of the last chunk. */
void roll_tell_partial(struct core *core);

#endif
