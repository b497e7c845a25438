/* reclaim_all.h - what the files that drop tasks offer the other rooms, and each other.
 *
 * Included by rooms.h, behind the state that all rooms share.
 */
#ifndef CONSENSUS_RECLAIM_RECLAIM_ALL_H
#define CONSENSUS_RECLAIM_RECLAIM_ALL_H

#include "consensus/core.h"

/* --- drop.c, drop_round.c -------------------------------------------------------- */

bool drop_is_on(const struct core *core);
void drop_news(struct core *core); /* something may have become droppable */
void drop_turn(struct core *core);
uint64_t drop_deadline(const struct core *core);
void drop_take(struct core *core, uint32_t from, const struct message_released *said);
void drop_say(struct core *core, uint32_t to, enum released_what what,
              const struct chunk_name *name, struct message_released said);
bool drop_was_recent(const struct core *core, const struct chunk_name *name);
/* A once task that was dropped; what comes about it is late. */
bool drop_once_is_gone(const struct core *core, const moot_hash *hash);
void drop_note_once(struct core *core, const moot_hash *hash); /* and now it is */
void drop_late(struct core *core, uint32_t from, const struct message *message);
/* Until the outcome; takes it. */
void drop_hold(struct core *core, struct held *held);
void drop_left(struct core *core, struct chunk *chunk);
void drop_enter_view(struct core *core);
void drop_doubt(struct core *core); /* behind the rest of entering a view */
void drop_release(struct core *core);
/* It is decided whether all drop it. */
bool drop_is_leaving(const struct core *core, const struct task *task);
bool drop_place_is_leaving(const struct core *core, roll_place place);
/* Of the lowest member. */
void drop_begin_round(struct core *core); /* if none is open, and there is reason */
void drop_take_account(struct core *core, uint32_t from,
                       const struct message_released *said);
void drop_forget_offers(struct core *core);
/* There is no such chunk any more. */
void drop_void_offer(struct core *core, const struct chunk_name *name);

/* --- cut.c ----------------------------------------------------------------------- */

/* Cuts what all members hold, if memory is short here. */
void cut_own(struct core *core);
/* A peer has cut its lane so, which is equal here: cuts likewise.  False: not yet. */
bool cut_take(struct core *core, uint32_t from, const struct announced *what);
/* A peer has cut a chunk that is one here, too. */
void cut_hear(struct core *core, uint32_t from, struct chunk *chunk);
void cut_tell(struct core *core);

/* --- drop_count.c ---------------------------------------------------------------- */

bool drop_is_released(const struct core *core, const struct task *task);
void drop_count_one(struct core *core, struct task *task);
void drop_take_back(struct core *core, struct task *task);
/* Something has happened that may let it be dropped. */
static inline void drop_count(struct core *core, struct task *task)
{
    bool in_use = task->users > 0 || task->counted;
    if (task->let_go && !in_use && core->drop.counts) {
        drop_count_one(core, task);
    }
}
/* Something is about to happen that may keep it. */
static inline void drop_touch(struct core *core, struct task *task)
{
    if (task->counted) {
        drop_take_back(core, task);
    }
}
/* All of it is counted, and all members hold what takes its results: it is released. */
bool drop_is_all_quiet(const struct core *core, uint32_t lane,
                       const struct chunk *chunk);
/* What takes its results is offered by all, as far as is counted. */
enum feeds { FEEDS_NO, FEEDS_YES, FEEDS_MAYBE };
enum feeds drop_feeds_offered(const struct core *core, uint32_t lane,
                              const struct chunk *chunk);
void drop_note_place(struct core *core, const struct task *task); /* on the roll: new */
void drop_note_stub(struct core *core, const struct stub *stub);  /* likewise */
/* Those of the chunk around it. */
struct chunk_facts *drop_facts_at(struct core *core, roll_place place);
/* All members hold what takes the chunk's results. */
bool drop_takers_are_held(const struct core *core, uint32_t lane,
                          const struct chunk *chunk);
/* Those of a stretch of a lane of which nothing is forgotten, counted anew. */
struct chunk_facts drop_facts_of(struct core *core, uint32_t lane, uint64_t first,
                                 uint32_t count);
void drop_note_none(struct core *core, const struct task *task); /* it has none there */
void drop_forget_counts(struct core *core); /* in a new view all begins anew */

#endif
